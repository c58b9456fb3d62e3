"""The network that all classifiers share, and training rows on its device."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from likewise.nets._inputs import InputCoding, Inputs

CELLS_AT_A_TIME: Final = 2**22  # rows times inputs that are written out at once


def build_network(n_inputs: int, n_outputs: int, hidden: Sequence[int]) -> nn.Module:
    """Return linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise((n_inputs, *hidden, n_outputs)):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def check_network(network: Any, n_inputs: int, n_outputs: int, *, can_be_frozen: bool = False) -> nn.Module:
    """Refuse a user's network that cannot be trained here, before it fails deep inside."""
    wanted = "Give a function of the number of inputs and outputs that returns a torch module"
    if not isinstance(network, nn.Module):
        raise TypeError(f"network returned a {type(network).__name__}. {wanted}.")
    if not can_be_frozen and not any(parameter.requires_grad for parameter in network.parameters()):
        raise ValueError("network has no trainable weights: all are frozen. Unfreeze some.")
    was_training = network.training
    with torch.no_grad():
        try:
            outputs = network.eval()(torch.zeros(2, n_inputs))
        except RuntimeError as error:
            reason = str(error).split("\n")[0]
            raise ValueError(f"network does not accept rows of {n_inputs} inputs: {reason}. {wanted}.") from None
    network.train(was_training)
    if not isinstance(outputs, torch.Tensor) or outputs.shape != (2, n_outputs):
        found = tuple(outputs.shape) if isinstance(outputs, torch.Tensor) else type(outputs).__name__
        raise ValueError(f"network returns {found} for 2 rows; {n_outputs} outputs per row are needed. {wanted}.")
    return network


class DeviceInputs:
    """Inputs on a device in packed form; rows are written out when needed."""

    def __init__(self, inputs: Inputs, device: torch.device) -> None:
        self._numbers = torch.as_tensor(inputs.numbers).to(device)
        starts = inputs.numbers.shape[1] + np.cumsum([0, *inputs.sizes[:-1]])
        off = inputs.n_inputs  # an extra input for codes without indicator, cut off again
        places = np.where(inputs.codes >= 0, inputs.codes + starts[: inputs.codes.shape[1]], off)
        self._places = torch.as_tensor(places.astype(np.int64)).to(device)
        self.n_inputs = inputs.n_inputs
        self.device = device

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def n_rows_at_a_time(self) -> int:
        """Number of rows to write out at once."""
        return max(CELLS_AT_A_TIME // max(self.n_inputs, 1), 1)

    def chunks(self) -> Iterator[slice]:
        """Yield slices of rows to write out at once; one slice if there are no rows."""
        step = self.n_rows_at_a_time
        yield from (slice(start, start + step) for start in range(0, max(len(self), 1), step))

    def dense(self, rows: torch.Tensor | slice) -> torch.Tensor:
        """Return the inputs of rows, by position."""
        numbers, places = self._numbers[rows], self._places[rows]
        whole = numbers.new_zeros(len(numbers), self.n_inputs + 1)
        whole[:, : numbers.shape[1]] = numbers
        return whole.scatter_(1, places, 1.0)[:, :-1]


def predict_shares(network: nn.Module, inputs: DeviceInputs) -> NDArray[np.float64]:
    """Return the probability of each class, in double precision so that it does not depend on the batch."""
    network = copy.deepcopy(network).double().eval()
    with torch.inference_mode():
        parts = [shares_of(network(inputs.dense(rows).double())).cpu().numpy() for rows in inputs.chunks()]
    return np.concatenate(parts)


def shares_of(logits: torch.Tensor) -> torch.Tensor:
    """Return class probabilities from logits; a single logit is that of the second class."""
    if logits.shape[1] == 1:
        positive = torch.sigmoid(logits)
        return torch.cat([1 - positive, positive], dim=1)
    return torch.softmax(logits, dim=1)


def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the log loss of each row."""
    if logits.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(logits[:, 0], labels.to(logits.dtype), reduction="none")
    return nn.functional.cross_entropy(logits, labels, reduction="none")


def weights_of(network: nn.Module) -> dict[str, NDArray[Any]]:
    """Return the parameters and buffers of a network as arrays, by name."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Training rows in every form that is needed; weights have mean 1, ``train`` and ``held_out`` are row positions."""

    frame: Any
    y: NDArray[Any]
    coding: InputCoding
    inputs: DeviceInputs
    labels: torch.Tensor
    weights: torch.Tensor
    train: NDArray[np.intp]
    held_out: NDArray[np.intp]

    @property
    def device(self) -> torch.device:
        """Device of the tensors."""
        return self.labels.device

    def batch(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return inputs, labels and weights of rows, by position."""
        here = rows.to(self.device)
        return self.inputs.dense(here), self.labels[here], self.weights[here]


class WeightedLoss:
    """The weighted log loss, and nothing else."""

    def __init__(self, network: torch.nn.Module, people: People) -> None:
        self._network, self._people = network, people

    def start_epoch(self, epoch: int) -> None:
        """Do nothing: all epochs are the same."""

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the mean log loss of a batch."""
        inputs, labels, weights = self._people.batch(rows)
        return (weights * loss_of(self._network(inputs), labels)).mean()

    def report(self) -> dict[str, Any]:
        """Add nothing to the history."""
        return {}
