"""The network that all classifiers share, and people where it computes."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from likewise.nets._inputs import Inputs

ROWS_AT_A_TIME: Final = 16_384


def build_network(n_inputs: int, n_outputs: int, hidden: Sequence[int]) -> nn.Module:
    """Stack linear layers, with a rectifier between any two."""
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise((n_inputs, *hidden, n_outputs)):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


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
    parts = []
    with torch.inference_mode():
        for start in range(0, len(inputs), ROWS_AT_A_TIME):
            logits = network(inputs.dense(slice(start, start + ROWS_AT_A_TIME)).double())
            parts.append(shares_of(logits).cpu().numpy())
    return np.concatenate(parts) if parts else np.empty((0, 2))


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
