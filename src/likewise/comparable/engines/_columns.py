"""Columns as numbers: distinct rows, ranks of values, which values are near, and which codes fit into few bits.

Nearness is the rule's own test, in float64. A rounded difference still grows with the distance, and so does a product
with the larger, so the values near a value are an unbroken run of ranks, and from then on only ranks are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapreplace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._codes import number_codes, number_together
from likewise._compiling import compiled
from likewise._ranking import order_rows, rank_numbers
from likewise.comparable._limits import Nearness

MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads neighbouring numbers apart
HALF: Final = np.uint64(32)
FEW_VALUES: Final = 1_024  # looked up among these, quicker than their rows are sorted with their places
AT_ONCE: Final = 1 << 14  # rows that stay in the nearest caches
SMALL_CODES: Final = 1 << 16  # codes that span no more are packed as they are, others are numbered first

Rows = NDArray[np.int32]
Floats = NDArray[np.float64]


def mix_columns(columns: Sequence[NDArray[Any]], n_rows: int) -> NDArray[np.uint64]:
    """Hash rows: those that agree in all columns, of eight bytes or of whole numbers, have the same number."""
    mixed = np.zeros(n_rows, np.uint64)
    for start in range(0, n_rows, AT_ONCE):
        some = mixed[start : start + AT_ONCE]
        for column in columns:
            codes = column[start : start + AT_ONCE]
            some ^= codes.view(np.uint64) if codes.dtype.itemsize == 8 else codes.astype(np.uint64)
            some *= MULTIPLIER
            some ^= some >> HALF
    return mixed


def number_rows(columns: Sequence[NDArray[Any]], n_rows: int) -> tuple[Rows, Rows]:
    """Number the distinct rows in order of first appearance.

    Returns each row's number, and for each number the row where it appeared first. Hashes only bring rows together:
    equality is always checked on the columns.
    """
    mixed = mix_columns(columns, n_rows)
    order = order_rows(mixed >> HALF)
    ordered = mixed[order]
    upper = ordered >> HALF
    is_apart = ordered[1:] != ordered[:-1]
    clashes = np.flatnonzero(is_apart & (upper[1:] == upper[:-1]))
    if len(clashes):  # only the upper halves are in order so far
        places = np.flatnonzero(np.isin(upper, upper[clashes]))
        some = order[places]
        order[places] = some[np.argsort(mixed[some], kind="stable")]
        ordered = mixed[order]
        is_apart = ordered[1:] != ordered[:-1]
    alike = np.flatnonzero(~is_apart)
    one, other = order[alike], order[alike + 1]
    if not all(np.array_equal(column[one], column[other]) for column in columns):  # a hash that two rows share
        codes = [np.unique(column, return_inverse=True)[1] for column in columns]
        order = np.argsort(number_together(codes, n_rows)[1], kind="stable").astype(np.int32)
        is_apart = np.logical_or.reduce([column[order[1:]] != column[order[:-1]] for column in columns])
    is_new = np.concatenate([np.ones(min(n_rows, 1), np.bool_), is_apart])
    is_first = np.zeros(n_rows, np.bool_)
    is_first[order[is_new]] = True
    numbers = np.empty(n_rows, np.int32)
    numbers[order] = (np.cumsum(is_first, dtype=np.int32) - 1)[order[is_new]][np.cumsum(is_new) - 1]
    return numbers, np.flatnonzero(is_first).astype(np.int32)


def pack_codes(column: NDArray[np.int32]) -> tuple[NDArray[np.int32], int]:
    """Return codes from 0 on for those of a column, and how many bits they take: none where all are equal."""
    if not len(column):
        return column, 0
    least, most = int(column.min()), int(column.max())
    if most - least < SMALL_CODES:
        return column - np.int32(least), (most - least).bit_length()
    values, numbers = number_codes(column)
    return numbers.astype(np.int32), (len(values) - 1).bit_length()


@dataclass(frozen=True, slots=True, eq=False)
class NearColumn:
    """Ranks of a column's values, and which of them are near each other."""

    ranks: Rows  # of each row
    below: Rows  # how many rows there are below each rank, and in all
    lowest: Rows  # the lowest rank near each
    highest: Rows
    component: Rows | None  # of each row: nothing near is of another; None if there is only one
    is_settled: bool  # whether being of one component is all it takes
    selectivity: float  # how many of all pairs are near

    def cells(self) -> Rows:
        """Cut ranks into cells such that what is near lies in the same or the next one; return that of each rank."""
        steps = np.zeros(len(self.lowest), np.int32)
        start = int(self.highest[0]) + 1
        while start < len(steps):
            steps[start] = 2 if self.lowest[start] == start else 1  # nothing below is near: no next cell to look into
            start = int(self.highest[start]) + 1
        return np.cumsum(steps, dtype=np.int32)


def rank_near(column: Floats, test: Nearness) -> NearColumn:
    """Rank the values of a column and find which of them are near each other."""
    ranks, values, below = _rank_values(column)
    places = np.arange(len(values), dtype=np.int32)
    lowest = np.empty(len(values), np.int32)
    find_lowest(values, test.limit, test.is_ratio, lowest)
    highest = np.cumsum(np.bincount(lowest, minlength=len(values)), dtype=np.int32) - np.int32(1)
    is_first = lowest == places  # nothing below is near
    component_of = np.cumsum(is_first, dtype=np.int32) - np.int32(1)
    lasts = np.append(np.flatnonzero(is_first)[1:], len(values)) - 1
    n_near = np.diff(below).astype(np.float64) @ (below[highest + 1] - below[lowest])
    return NearColumn(
        ranks=ranks,
        below=below,
        lowest=lowest,
        highest=highest,
        component=component_of[ranks] if len(lasts) > 1 else None,
        is_settled=bool((highest[is_first] == lasts).all()),
        selectivity=float(n_near),
    )


def _rank_values(column: Floats) -> tuple[Rows, Floats, Rows]:
    """Return each row's rank, the distinct values in ascending order, and how many are below each, and in all."""
    if len(np.unique(column[:: max(len(column) // (2 * FEW_VALUES), 1)])) > FEW_VALUES:
        return rank_numbers(column)
    values, counts = np.unique(column + 0.0, return_counts=True)  # -0.0 and 0.0 are one value
    below = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return np.searchsorted(values, column).astype(np.int32), values, below


@compiled
def find_lowest(values: Any, limit: Any, is_ratio: Any, lowest: Any) -> None:
    """Write the place of the lowest value near each; all values are ascending."""
    low = np.uint32(0)
    for place in range(len(values)):
        value = values[place]
        # by their ratio, of which the limit is the least, or by their difference
        while value * limit > values[low] if is_ratio else value - values[low] > limit:
            low += np.uint32(1)
        lowest[place] = low


def balance_blocks(spreads: Sequence[float], n_blocks: int) -> list[int]:
    """Assign columns to blocks of about equal total entropy; return the block of each column."""
    thinnest, block_of = [(0, 0.0, block) for block in range(n_blocks)], [0] * len(spreads)
    for column in sorted(range(len(spreads)), key=lambda i: -spreads[i]):
        _, total, block = thinnest[0]  # one without columns, as long as there is any
        block_of[column] = block
        heapreplace(thinnest, (1, total + spreads[column], block))
    return block_of
