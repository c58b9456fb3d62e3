"""A network that remembers some of the moved rows it was fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn


class Recorder:
    """Build a network for a classifier that attacks its rows, and keep some rows of every step, before and after."""

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
        self._seen: list[NDArray[np.float32]] = []  # as they are, moved, as they are, moved, ...

    def build(self, n_inputs: int, n_outputs: int) -> nn.Module:
        """Make the network of the paper, with an ear at its inputs."""
        layers = [nn.Linear(n_inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, n_outputs)]
        network = nn.Sequential(*layers)
        network.register_forward_pre_hook(self._listen)
        return network

    def label(self, real: NDArray[np.float32], y: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[Any]]:
        """Give the moved rows, each with the label of the real row it was."""
        place = {row.tobytes(): position for position, row in enumerate(np.ascontiguousarray(real))}
        before, after = np.concatenate(self._seen[0::2]), np.concatenate(self._seen[1::2])
        found = [place[row.tobytes()] for row in np.ascontiguousarray(before)]
        return after, y[found]

    def _listen(self, network: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        if network.training and torch.is_grad_enabled():  # attacks and evaluations are not
            self._seen.append(inputs[0][: self._n_rows].detach().numpy().copy())
