"""The people a network is fitted to, as it sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from likewise.nets._inputs import InputCoding
from likewise.nets._network import DeviceInputs, loss_of

__all__ = ["People", "WeightedLoss"]


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Hold the rows to fit to, in every form that is needed.

    Parameters
    ----------
    frame : frame
        As the user gave it, or made of an array.
    y : array
        The labels as given.
    coding : InputCoding
    inputs : DeviceInputs
    labels : tensor of int
        Positions in the classes.
    weights : tensor of float
        With mean 1.
    train, held_out : array of int
        Which rows to fit to, and which to look at only.
    """

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
        """Where the tensors are."""
        return self.labels.device

    def batch(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Give inputs, labels and weights of rows, by position."""
        here = rows.to(self.device)
        return self.inputs.dense(here), self.labels[here], self.weights[here]


class WeightedLoss:
    """Make the log loss smaller, and nothing else."""

    def __init__(self, network: torch.nn.Module, people: People) -> None:
        self._network, self._people = network, people

    def start_epoch(self, epoch: int) -> None:
        """Do nothing: every epoch is the same."""

    def loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Give the mean log loss of a batch."""
        inputs, labels, weights = self._people.batch(rows)
        return (weights * loss_of(self._network(inputs), labels)).mean()

    def report(self) -> dict[str, Any]:
        """Add nothing to the record."""
        return {}
