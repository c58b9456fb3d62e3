"""People and an encoder that the tests of LCIFR share."""

from __future__ import annotations

import pyarrow as pa
import torch
from torch import nn

from likewise.schema import Roles

ROLES = Roles(sensitive=["sex", "race"], discrete="job", continuous=["age", "pay"])
PEOPLE = pa.table(
    {
        "sex": ["f", "m", "f", "m", "f", "m"] * 10,
        "race": ["a", "b", "c", "a", "b", "c"] * 10,
        "job": ["cook", "smith", "cook", "cook", "smith", "smith"] * 10,
        "age": [float(20 + i % 37) for i in range(60)],
        "pay": [float(i * i % 101) for i in range(60)],
    }
)
LABELS = [int(i * i % 101 > 40 or i % 37 > 25) for i in range(60)]


class Probe(nn.Module):  # type: ignore[misc]  # torch is not followed when types are checked
    """An encoder that draws, keeps statistics, and notes in what mode it ran."""

    def __init__(self, n_inputs: int, n_latent: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_inputs, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, n_latent)
        )
        self.modes: list[bool] = []

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        self.modes.append(self.training)
        return self.layers(inputs)
