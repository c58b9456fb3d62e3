"""Columns that have to be near: which values are, worked out once for the distinct ones.

The test is the rule's own, |a - b| <= limit in float64. A rounded difference still grows with the distance, so what is
near a value is an unbroken run of ranks, and from then on ranks are all that is compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise.comparable.engines._numbering import rank_values


@dataclass(frozen=True, slots=True, eq=False)
class NearColumn:
    """Say which values of a column are near each other, by their ranks."""

    ranks: NDArray[np.int32]  # of each row
    lowest: NDArray[np.int32]  # of each rank
    highest: NDArray[np.int32]
    component: NDArray[np.int32] | None  # of each row: nothing near is of another; None if there is only one
    is_settled: bool  # whether being of one component is all it takes
    selectivity: float  # how many of all pairs are near


def rank_near(column: NDArray[np.float64], limit: float) -> NearColumn:
    """Rank the values of a column and find which of them are within a limit of each other."""
    ranks, values = rank_values(column)
    lowest, highest = _reach(values, limit)
    starts = lowest == np.arange(len(values))  # nothing below is near
    component = (np.cumsum(starts, dtype=np.int32) - np.int32(1))[ranks] if np.count_nonzero(starts) > 1 else None
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(values)) - 1
    below = np.concatenate([[0], np.cumsum(np.bincount(ranks, minlength=len(values)))])
    n_near = below[highest + 1] - below[lowest]
    return NearColumn(
        ranks=ranks,
        lowest=lowest,
        highest=highest,
        component=component,
        is_settled=bool((highest[first] == last[: len(first)]).all()),
        selectivity=float((np.diff(below) * n_near).sum()),
    )


@compiled
def _reach(values: Any, limit: Any) -> tuple[Any, Any]:
    """Find, for each of the ascending values, the lowest and the highest one within the limit."""
    n_values = len(values)
    lowest, highest = np.empty(n_values, np.int32), np.empty(n_values, np.int32)
    low = high = 0
    for rank in range(n_values):
        while values[rank] - values[low] > limit:
            low += 1
        while high + 1 < n_values and values[high + 1] - values[rank] <= limit:
            high += 1
        lowest[rank], highest[rank] = low, high
    return lowest, highest


@compiled
def cut_cells(lowest: Any, highest: Any) -> Any:
    """Cut ranks into cells such that what is near lies in the same or the next cell; return the cell of each rank."""
    cells = np.empty(len(lowest), np.int32)
    cell, start = 0, 0
    for rank in range(len(lowest)):
        if rank > highest[start]:
            cell += 2 if lowest[rank] == rank else 1  # nothing below is near: no next cell to look into
            start = rank
        cells[rank] = cell
    return cells
