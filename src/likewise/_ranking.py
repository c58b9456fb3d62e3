"""Numbers in order: their ranks, and the levels of a column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
HALF: Final = np.uint64(32)


def rank_numbers(values: Floats) -> tuple[NDArray[np.int32], Floats, NDArray[np.int32]]:
    """Return each number's rank, the distinct ones in ascending order, and how many are below each, and in all."""
    values = values + 0.0  # -0.0 and 0.0 are one value
    order = np.argsort(values)
    ordered, is_first = values[order], np.ones(len(values), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    ranks = np.empty(len(values), np.int32)
    ranks[order] = np.cumsum(is_first, dtype=np.int32) - np.int32(1)
    return ranks, ordered[is_first], np.append(np.flatnonzero(is_first), len(values)).astype(np.int32)


def order_rows(codes: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
    """Return the rows in ascending order of codes from 0 to 2^32 - 1, equal ones as they come."""
    both = codes.astype(np.uint64) << HALF
    both |= np.arange(len(codes), dtype=np.uint64)
    both.sort()
    return both.astype(np.uint32).view(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The level of each number among the distinct ones, of which the lowest is 0."""

    of_rows: NDArray[np.int32]
    below: NDArray[np.int32]  # how many rows there are below each, and in all

    @classmethod
    def of(cls, values: Floats) -> Levels:
        """Rank numbers."""
        ranks, _, below = rank_numbers(values)
        return cls(ranks, below)

    @property
    def n(self) -> int:
        """How many distinct numbers there are."""
        return len(self.below) - 1

    def count(self, weights: Floats | None = None) -> NDArray[Any]:
        """Count the rows of each level, or add up their weights."""
        return np.diff(self.below) if weights is None else np.bincount(self.of_rows, weights, self.n)


class Ranking:
    """The levels of columns of numbers, found when somebody asks, and once."""

    def __init__(self, values: Floats) -> None:
        self._values, self._known = values, dict[int, Levels]()

    def take(self, known: Iterable[Levels]) -> None:
        """Take levels that were found before, of each column."""
        self._known = dict(enumerate(known))

    def levels(self, column: int = 0) -> Levels:
        """Return the levels of a column, or of the only one."""
        if column not in self._known:
            self._known[column] = Levels.of(self._values if self._values.ndim == 1 else self._values[:, column])
        return self._known[column]
