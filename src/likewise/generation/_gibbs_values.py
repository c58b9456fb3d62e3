"""The values continuous columns had in training, and moves from one to another nearby."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from likewise.comparable._internal import SHIFT_TOLERANCE


@dataclass(frozen=True, slots=True, eq=False)
class ObservedValues:
    """Keep the different values of each continuous column, and how often each came."""

    values: tuple[Any, ...]  # tensors, ascending
    ends: tuple[Any, ...]  # how many rows have this value or a lower one

    @classmethod
    def learn(cls, continuous: NDArray[np.float64], device: Any) -> ObservedValues:
        """Count the values of each column."""
        found = [np.unique(column, return_counts=True) for column in continuous.T]
        return cls.of([values for values, _ in found], [np.cumsum(counts) for _, counts in found], device)

    @classmethod
    def of(cls, values: Sequence[Any], ends: Sequence[Any], device: Any) -> ObservedValues:
        """Put arrays on a device."""
        return cls(
            tuple(torch.as_tensor(one, dtype=torch.float64, device=device) for one in values),
            tuple(torch.as_tensor(one, dtype=torch.int64, device=device) for one in ends),
        )

    def move(self, continuous: Any, limits: Sequence[float], share: float, random: Any) -> Any:
        """Put, for a share of the rows in each column, the value of a random training row not farther than the limit.

        A common value is drawn more often than a rare one, so that 0 stays 0 where nearly everybody has 0.
        """
        moved = continuous.clone()
        for position, (values, ends) in enumerate(zip(self.values, self.ends, strict=True)):
            # the tolerance is for ties; half of it is left to whatever rounds the values later
            limit = limits[position] - SHIFT_TOLERANCE / 2
            column = continuous[:, position].contiguous()
            starts = torch.cat([ends.new_zeros(1), ends])
            first = starts[torch.searchsorted(values, column - limit)]
            n_near = starts[torch.searchsorted(values, column + limit, right=True)] - first
            chance, pick = random.rand_twice(len(column))
            row = first + (pick * n_near).to(torch.int64).minimum(n_near - 1)
            drawn = values[torch.searchsorted(ends, row, right=True).clamp(0, len(values) - 1)]
            moved[:, position] = torch.where((chance < share) & (n_near > 0), drawn, column)
        return moved
