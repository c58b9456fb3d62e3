"""The network that all classifiers share, and people where it computes."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from likewise.nets._inputs import Inputs

CELLS_AT_A_TIME: Final = 2**22  # inputs written out at once, rows times their number


def build_network(n_inputs: int, n_outputs: int, hidden: Sequence[int]) -> nn.Module:
    """Stack linear layers, with a rectifier between any two."""
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise((n_inputs, *hidden, n_outputs)):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def check_network(network: Any, n_inputs: int, n_outputs: int, *, can_be_frozen: bool = False) -> nn.Module:
    """Refuse a user's own network that cannot be fitted here, before it fails somewhere inside."""
    wanted = "Give a function that makes a torch module of the number of inputs and of outputs"
    if not isinstance(network, nn.Module):
        raise TypeError(f"network made a {type(network).__name__}. {wanted}.")
    if not can_be_frozen and not any(parameter.requires_grad for parameter in network.parameters()):
        raise ValueError("network has nothing to learn: all of its weights are frozen. Leave some free.")
    was_training = network.training
    with torch.no_grad():
        try:
            outputs = network.eval()(torch.zeros(2, n_inputs))
        except RuntimeError as error:
            reason = str(error).split("\n")[0]
            raise ValueError(f"network does not take rows of {n_inputs} inputs: {reason}. {wanted}.") from None
    network.train(was_training)
    if not isinstance(outputs, torch.Tensor) or outputs.shape != (2, n_outputs):
        found = tuple(outputs.shape) if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        raise ValueError(f"network gives {found} for 2 rows; {n_outputs} for each is needed. {wanted}.")
    return network


class DeviceInputs:
    """Keep inputs on a device, packed, and write out the rows that are asked for."""

    def __init__(self, inputs: Inputs, device: torch.device) -> None:
        self._numbers = torch.as_tensor(inputs.numbers).to(device)
        starts = inputs.numbers.shape[1] + np.cumsum([0, *inputs.sizes[:-1]])
        off = inputs.n_inputs  # one input too many, which is cut off again: where none is on
        places = np.where(inputs.codes >= 0, inputs.codes + starts[: inputs.codes.shape[1]], off)
        self._places = torch.as_tensor(places.astype(np.int64)).to(device)
        self.n_inputs = inputs.n_inputs
        self.device = device

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def n_rows_at_a_time(self) -> int:
        """How many rows can well be written out at once."""
        return max(CELLS_AT_A_TIME // max(self.n_inputs, 1), 1)

    def chunks(self) -> Iterator[slice]:
        """Part the rows into as many as can well be written out at once; of no rows there is one part."""
        step = self.n_rows_at_a_time
        yield from (slice(start, start + step) for start in range(0, max(len(self), 1), step))

    def dense(self, rows: torch.Tensor | slice) -> torch.Tensor:
        """Write out rows, by position."""
        numbers, places = self._numbers[rows], self._places[rows]
        whole = numbers.new_zeros(len(numbers), self.n_inputs + 1)
        whole[:, : numbers.shape[1]] = numbers
        return whole.scatter_(1, places, 1.0)[:, :-1]


def predict_shares(network: nn.Module, inputs: DeviceInputs) -> NDArray[np.float64]:
    """Give the probability of each class, with the network as it is when it is used.

    In double precision: a person alone is scored as among others, to the last digit that anybody looks at.
    """
    network = copy.deepcopy(network).double().eval()
    with torch.inference_mode():
        parts = [shares_of(network(inputs.dense(rows).double())).cpu().numpy() for rows in inputs.chunks()]
    return np.concatenate(parts)


def shares_of(logits: torch.Tensor) -> torch.Tensor:
    """Turn outputs into the probabilities of the classes; a single output is that of the second class."""
    if logits.shape[1] == 1:
        positive = torch.sigmoid(logits)
        return torch.cat([1 - positive, positive], dim=1)
    return torch.softmax(logits, dim=1)


def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Give the log loss of each row."""
    if logits.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(logits[:, 0], labels.to(logits.dtype), reduction="none")
    return nn.functional.cross_entropy(logits, labels, reduction="none")


def weights_of(network: nn.Module) -> dict[str, NDArray[Any]]:
    """Give everything a network learned, by name."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}
