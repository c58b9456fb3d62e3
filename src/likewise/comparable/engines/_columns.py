"""Columns as numbers: distinct rows, ranks of values, which values are near, and blocks of discrete columns.

Nearness is the rule's own test, in float64. A rounded difference still grows with the distance, and so does a product
with the larger, so the values near a value are an unbroken run of ranks, and from then on only ranks are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heapreplace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._codes import look_up
from likewise._compiling import compiled, compiled_with_arrays
from likewise._ranking import rank_numbers
from likewise._threads import beside, cut_rows, share_rows, share_work, threads_for
from likewise.comparable._limits import Nearness

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads neighbouring numbers apart
HALF = np.uint64(32)
ZERO = np.uint64(0)
ONE = np.uint64(1)
FEW_SLOTS = 4096
PART_BITS = 4  # of the hashes of rows by which those that repeat are estimated: one row in 16
LARGE = 1 << 18  # rows, of which fewer tell as much
LARGE_PART_BITS = 6
MOST_NUMBERS = 1 << 31


@compiled
def mix(seed: Any, word: Any) -> Any:
    """Stir one word into a hash."""
    mixed = (seed ^ word) * MULTIPLIER
    return mixed ^ (mixed >> HALF)


def number_rows(words: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number the distinct rows in order of first appearance.

    Returns each row's number, and for each number the row where it appeared first. Hashes only find the place to
    look: equality is always checked on the words.
    """
    numbers = np.empty(len(words), np.int32)
    table, firsts = np.full(FEW_SLOTS, -1, np.int32), np.empty(FEW_SLOTS // 2, np.int32)
    row = n_distinct = 0
    while True:  # the table grows as needed, so that few distinct rows stay in the cache
        row, n_distinct = _number_some(words, row, numbers, table, firsts, n_distinct)
        if row == len(words):
            return numbers, firsts[:n_distinct].copy()
        table = np.full(8 * len(table), -1, np.int32)
        _number_some(
            np.take(words, firsts, axis=0),
            0,
            np.empty(n_distinct, np.int32),
            table,
            np.empty(len(table) // 2, np.int32),
            0,
        )
        firsts = np.concatenate([firsts, np.empty(len(table) // 2 - len(firsts), np.int32)])


@compiled
def _number_some(words: Any, row: Any, numbers: Any, table: Any, firsts: Any, n_distinct: Any) -> tuple[Any, Any]:
    """Go on numbering from a row until the table is half full; return the row reached and the numbers given."""
    n_words, mask = words.shape[1], np.uint64(len(table) - 1)
    while row < len(words):
        mixed = ZERO
        for k in range(n_words):
            mixed = mix(mixed, words[row, k])
        slot = mixed & mask
        while table[slot] >= 0:
            first, same = firsts[table[slot]], True
            for k in range(n_words):
                same &= words[first, k] == words[row, k]
            if same:
                break
            slot = (slot + ONE) & mask
        if table[slot] < 0:
            if n_distinct == len(firsts):
                break
            table[slot] = n_distinct
            firsts[n_distinct] = row
            n_distinct += 1
        numbers[row] = table[slot]
        row += 1
    return row, n_distinct


def rank_values(column: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
    """Rank the values of a column: each row's rank, the distinct values in ascending order, and how many are below.

    The last of these is for each distinct value, and in all.
    """
    column = np.ascontiguousarray(column)
    parts, ranks = cut_rows(len(column)), np.empty(len(column), np.int32)
    found, counts = (np.empty((len(parts), FEW_SLOTS // 2), kind) for kind in (np.float64, np.int32))
    n_found = [0] * len(parts)

    def number(i: int) -> None:
        slots = np.full(FEW_SLOTS, -1, np.int32)
        n_found[i] = _number_values(column[parts[i]], slots, found[i], counts[i], ranks[parts[i]])

    share_work(number, range(len(parts)))
    if min(n_found) < 0:  # many values: sorting is quicker
        return rank_numbers(column)
    some = [found[i, :n] for i, n in enumerate(n_found)]
    values = np.sort(some[0]) if len(parts) == 1 else np.unique(np.concatenate(some))
    rank_of = [np.searchsorted(values, numbered).astype(np.int32) for numbered in some]
    share_work(lambda i: look_up(rank_of[i], ranks[parts[i]], ranks[parts[i]]), range(len(parts)))
    below = np.zeros(len(values) + 1, np.int32)
    for i, n in enumerate(n_found):
        below[1:][rank_of[i]] += counts[i, :n]
    return ranks, values, np.cumsum(below, dtype=np.int32)


@compiled
def _number_values(column: Any, slots: Any, found: Any, counts: Any, numbers: Any) -> Any:
    """Number the values of a column in order of first appearance; return how many there are, or -1 for too many."""
    mask, n_found = np.uint64(len(slots) - 1), np.int32(0)
    for row in range(len(column)):
        value = column[row] + 0.0  # -0.0 and 0.0 are one value, but not one bit pattern
        slot = mix(ZERO, np.float64(value).view(np.uint64)) & mask
        number = slots[slot]
        while number >= 0 and found[np.uint32(number)] != value:
            slot = (slot + ONE) & mask
            number = slots[slot]
        if number < 0:
            if n_found == len(found):
                return -1
            number = n_found
            slots[slot], found[number], counts[number] = number, value, 0
            n_found += np.int32(1)
        counts[np.uint32(number)] += 1
        numbers[row] = number
    return n_found


def share_distinct(words: NDArray[np.uint64]) -> float:
    """Estimate how many of the rows are distinct from those of some hashes, a part of all, equal rows together."""
    falls, part = np.empty(len(words), np.bool_), np.uint64(64 - (PART_BITS if len(words) < LARGE else LARGE_PART_BITS))
    share_rows(lambda rows: _falls_in_part(words[rows], part, falls[rows]), len(words))
    some = np.take(words, np.flatnonzero(falls), axis=0)
    return len(number_rows(some)[1]) / max(len(some), 1)


@compiled
def _falls_in_part(words: Any, shift: Any, falls: Any) -> None:
    for row in range(len(words)):
        mixed = ZERO
        for k in range(words.shape[1]):
            mixed = mix(mixed, words[row, k])
        falls[row] = mixed >> shift == ZERO


def number_jointly(columns: Sequence[NDArray[np.integer[Any]]], n_rows: int) -> NDArray[np.int32]:
    """Number rows so that those which agree in all columns have the same number, and no others."""
    numbers: NDArray[np.int32] = np.zeros(n_rows, np.int32)
    n_numbers, together = 1, list[tuple[NDArray[Any], int, int]]()
    for column, (lowest, highest) in zip(columns, spans_of(columns), strict=True):
        n_values = highest - lowest + 1
        if n_numbers * n_values >= MOST_NUMBERS:
            _number_by(numbers, together)
            wide = np.column_stack([numbers, column]).astype(np.int64).view(np.uint64)
            numbers, firsts = number_rows(wide)
            n_numbers = len(firsts)
        elif n_values > 1:
            together.append((column, lowest, n_values))
            n_numbers *= n_values
    _number_by(numbers, together)
    return numbers


def spans_of(columns: Sequence[NDArray[np.integer[Any]]]) -> list[tuple[int, int]]:
    """Return the lowest and the highest code of each column; 0 and 0 of an empty one."""
    if not columns:
        return []
    n_rows = len(columns[0])
    with beside(len(columns) - 1):
        parts = cut_rows(n_rows, is_light=True)
    found = np.zeros((len(columns), len(parts), 2), np.int64)

    def find(i: int) -> None:
        number, part = divmod(i, len(parts))
        some = columns[number][parts[part]]
        if len(some):
            found[number, part] = some.min(), some.max()

    share_work(find, range(len(columns) * len(parts)), n_threads=threads_for(n_rows))
    return [(int(some[:, 0].min()), int(some[:, 1].max())) for some in found]


def _number_by(numbers: NDArray[np.int32], columns: list[tuple[NDArray[Any], int, int]]) -> None:
    """Number rows by what they were numbered by and columns, given the lowest and how many values; empty the list."""

    def number(rows: slice) -> None:
        for column, lowest, n_values in columns:
            _number_both(numbers[rows], column[rows], lowest, n_values)

    share_rows(number, len(numbers), is_light=True)
    columns.clear()


@compiled
def _number_both(numbers: Any, column: Any, lowest: Any, n_values: Any) -> None:
    for row in range(len(numbers)):
        numbers[row] = numbers[row] * n_values + (column[row] - lowest)


@dataclass(frozen=True, slots=True, eq=False)
class NearColumn:
    """Ranks of a column's values, and which of them are near each other."""

    ranks: NDArray[np.int32]  # of each row
    lowest: NDArray[np.int32]  # of each rank
    highest: NDArray[np.int32]
    component: NDArray[np.int32] | None  # of each row: nothing near is of another; None if there is only one
    is_settled: bool  # whether being of one component is all it takes
    selectivity: float  # how many of all pairs are near

    def take(self, rows: NDArray[np.int32]) -> NearColumn:
        """Keep some rows, among which all values occur."""
        component = None if self.component is None else self.component.take(rows)
        return replace(self, ranks=self.ranks.take(rows), component=component)


def rank_near(column: NDArray[np.float64], test: Nearness) -> NearColumn:
    """Rank the values of a column and find which of them are near each other."""
    ranks, values, below = rank_values(column)
    lowest, highest = np.empty(len(values), np.int32), np.empty(len(values), np.int32)
    how = values, test.limit, test.is_ratio
    share_rows(lambda part: _find_lowest(*how, part.start, lowest[part]), len(values))
    share_rows(lambda part: _find_highest(lowest, part.start, highest[part]), len(values), is_light=True)
    component_of = np.empty(len(values), np.int32)
    n_components, is_settled, selectivity = _part_ranks(below, lowest, highest, component_of)
    component = None
    if n_components > 1:
        component = np.empty(len(ranks), np.int32)
        share_rows(lambda part: look_up(component_of, ranks[part], component[part]), len(ranks))
    return NearColumn(ranks, lowest, highest, component, is_settled, selectivity)


@compiled
def _part_ranks(below: Any, lowest: Any, highest: Any, component_of: Any) -> tuple[Any, Any, Any]:
    """Number the components of ranks: how many, whether all in each are near, and how many ordered pairs of rows are.

    Each row is near itself.
    """
    n_components, is_settled, n_near = 0, True, np.float64(0)
    first = 0
    for rank in range(len(lowest)):
        if lowest[rank] == rank:  # nothing below is near
            first = rank
            n_components += 1
        component_of[rank] = n_components - 1
        if rank + 1 == len(lowest) or lowest[rank + 1] == rank + 1:
            is_settled &= highest[first] == rank
        n_here = np.float64(below[rank + 1] - below[rank])
        n_near += n_here * np.float64(below[highest[rank] + 1] - below[lowest[rank]])
    return n_components, is_settled, n_near


@compiled
def _is_far(low: Any, high: Any, limit: Any, is_ratio: Any) -> Any:
    """Say whether two values are not near: by their ratio, of which the limit is the least, or by their difference."""
    return high * limit > low if is_ratio else high - low > limit


@compiled
def _find_lowest(values: Any, limit: Any, is_ratio: Any, first: Any, lowest: Any) -> None:
    """Find the lowest value near each of some, from the first on; all values are ascending.

    Both halves in turns: a step of either has to wait for values that the one before it named.
    """
    middle, end = np.uint64(len(lowest) // 2), np.uint64(len(lowest))
    i, j = ZERO, middle
    low = _find_one_lowest(values, limit, is_ratio, first)
    other_low = _find_one_lowest(values, limit, is_ratio, first + len(lowest) // 2)
    some = values[first:]
    while i < middle and j < end:  # either place of each half moves on, without a branch that cannot be foretold
        is_far = np.uint64(_is_far(values[low], some[i], limit, is_ratio))
        other_is_far = np.uint64(_is_far(values[other_low], some[j], limit, is_ratio))
        lowest[i], lowest[j] = low, other_low
        low, other_low = low + is_far, other_low + other_is_far
        i, j = i + ONE - is_far, j + ONE - other_is_far
    _go_on(values, limit, is_ratio, some, lowest, low, i, middle)
    _go_on(values, limit, is_ratio, some, lowest, other_low, j, end)


@compiled
def _find_one_lowest(values: Any, limit: Any, is_ratio: Any, place: Any) -> Any:
    """Find the lowest value near that at a place."""
    too_low, lowest = -1, place
    while lowest - too_low > 1:
        middle = (lowest + too_low) // 2
        if _is_far(values[middle], values[place], limit, is_ratio):
            too_low = middle
        else:
            lowest = middle
    return np.uint64(lowest)


@compiled
def _go_on(values: Any, limit: Any, is_ratio: Any, some: Any, lowest: Any, low: Any, i: Any, end: Any) -> None:
    """Do the same for the rest of one half."""
    while i < end:
        is_far = np.uint64(_is_far(values[low], some[i], limit, is_ratio))
        lowest[i] = low
        low += is_far
        i += ONE - is_far


@compiled
def _find_highest(lowest: Any, first: Any, highest: Any) -> None:
    """Find the highest rank near each of some, from the first on: the last of those whose lowest one is not above."""
    start, stop = 0, len(lowest)
    while start < stop:
        middle = (start + stop) // 2
        if lowest[middle] < first:
            start = middle + 1
        else:
            stop = middle
    last, end = np.int32(start - 1), first + len(highest)
    for place in range(len(highest)):
        highest[place] = last
    for rank in range(start, len(lowest)):
        if lowest[rank] >= end:
            break
        highest[lowest[rank] - first] = rank
    for place in range(len(highest)):
        last = max(last, highest[place])
        highest[place] = last


@compiled_with_arrays
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


def balance_blocks(spreads: Sequence[float], n_blocks: int) -> list[int]:
    """Assign columns to blocks of about equal total entropy; return the block of each column."""
    thinnest, block_of = [(0, 0.0, block) for block in range(n_blocks)], [0] * len(spreads)
    for column in sorted(range(len(spreads)), key=lambda i: -spreads[i]):
        _, total, block = thinnest[0]  # one without columns, as long as there is any
        block_of[column] = block
        heapreplace(thinnest, (1, total + spreads[column], block))
    return block_of
