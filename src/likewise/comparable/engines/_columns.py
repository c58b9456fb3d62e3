"""Columns as numbers: distinct rows, ranks of values, which values are near, and blocks of discrete columns.

Nearness is the rule's own test, in float64. A rounded difference still grows with the distance, and so does a product
with the larger, so the values near a value are an unbroken run of ranks, and from then on only ranks are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise._ranking import rank_many
from likewise.comparable._limits import Nearness

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads neighbouring numbers apart
HALF = np.uint64(32)
ZERO = np.uint64(0)
ONE = np.uint64(1)
FEW_SLOTS = 4096
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


def rank_values(column: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Rank the values of a column: each row's rank, and the distinct values in ascending order."""
    column = np.ascontiguousarray(column)
    table, is_used = np.empty(FEW_SLOTS), np.zeros(FEW_SLOTS, np.bool_)
    slots = np.empty(len(column), np.int32)
    if not _place_values(column, table, is_used, slots):  # many values: sorting is quicker
        return rank_many(column)
    used = np.flatnonzero(is_used)
    order = np.argsort(table[used])
    rank_of = np.empty(FEW_SLOTS, np.int32)
    rank_of[used[order]] = np.arange(len(used), dtype=np.int32)
    look_up(rank_of, slots, slots)
    return slots, table[used[order]]


@compiled
def look_up(numbers: Any, codes: Any, found: Any) -> None:
    """Write the number of each code."""
    for row in range(len(codes)):
        found[row] = numbers[codes[row]]


@compiled
def _place_values(column: Any, table: Any, is_used: Any, slots: Any) -> Any:
    """Find each value's slot in a hash table; say whether that did not fill it too much."""
    mask, n_free = np.uint64(len(table) - 1), len(table) // 2
    for row in range(len(column)):
        value = column[row] + 0.0  # -0.0 and 0.0 are one value, but not one bit pattern
        slot = mix(ZERO, np.float64(value).view(np.uint64)) & mask
        while is_used[slot] and table[slot] != value:
            slot = (slot + ONE) & mask
        if not is_used[slot]:
            if n_free == 0:
                return False
            is_used[slot], table[slot] = True, value
            n_free -= 1
        slots[row] = slot
    return True


def share_distinct(words: NDArray[np.uint64]) -> float:
    """Estimate how many of the rows are distinct from those whose hash is one in sixteen, equal rows together."""
    some = np.take(words, np.flatnonzero(_falls_in_sixteenth(words)), axis=0)
    return len(number_rows(some)[1]) / max(len(some), 1)


@compiled
def _falls_in_sixteenth(words: Any) -> Any:
    falls = np.empty(len(words), np.bool_)
    for row in range(len(words)):
        mixed = ZERO
        for k in range(words.shape[1]):
            mixed = mix(mixed, words[row, k])
        falls[row] = mixed >> np.uint64(60) == ZERO
    return falls


def number_jointly(columns: Sequence[NDArray[np.integer[Any]]], n_rows: int) -> NDArray[np.int32]:
    """Number rows so that those which agree in all columns have the same number, and no others."""
    numbers: NDArray[np.int32] = np.zeros(n_rows, np.int32)
    n_numbers = 1
    for column in columns:
        lowest, highest = span_of(column)
        if n_numbers * (highest - lowest + 1) >= MOST_NUMBERS:
            wide = np.column_stack([numbers, column]).astype(np.int64).view(np.uint64)
            numbers, firsts = number_rows(wide)
            n_numbers = len(firsts)
        else:
            _number_both(numbers, column, lowest, highest - lowest + 1)
            n_numbers *= highest - lowest + 1
    return numbers


def span_of(column: NDArray[np.integer[Any]]) -> tuple[int, int]:
    """Return the lowest and the highest code of a column; 0 and 0 of an empty one."""
    if not len(column):
        return 0, 0
    lowest, highest = _find_span(column)
    return int(lowest), int(highest)


@compiled
def _find_span(column: Any) -> tuple[Any, Any]:
    lowest = highest = column[0]
    for code in column:
        lowest, highest = min(lowest, code), max(highest, code)
    return lowest, highest


@compiled
def _number_both(numbers: Any, column: Any, lowest: Any, n_values: Any) -> None:
    """Number rows by what they were numbered by and a column of so many values."""
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


def rank_near(column: NDArray[np.float64], test: Nearness) -> NearColumn:
    """Rank the values of a column and find which of them are near each other."""
    ranks, values = rank_values(column)
    lowest, highest = (_reach_by_ratio if test.is_ratio else _reach)(values, test.limit)
    starts = lowest == np.arange(len(values), dtype=np.int32)  # nothing below is near
    first = np.flatnonzero(starts)
    component = None
    if len(first) > 1:
        component = np.empty(len(ranks), np.int32)
        look_up(np.cumsum(starts, dtype=np.int32) - np.int32(1), ranks, component)
    last = np.append(first[1:], len(values)) - 1
    return NearColumn(
        ranks=ranks,
        lowest=lowest,
        highest=highest,
        component=component,
        is_settled=bool((highest[first] == last[: len(first)]).all()),
        selectivity=float(_count_near(ranks, lowest, highest)),
    )


@compiled
def _count_near(ranks: Any, lowest: Any, highest: Any) -> Any:
    """Count the ordered pairs of rows that are near each other, a row with itself included."""
    below = np.zeros(len(lowest) + 1, np.int32)
    for rank in ranks:
        below[rank + 1] += 1
    for rank in range(len(lowest)):
        below[rank + 1] += below[rank]
    n_near = np.int64(0)
    for rank in range(len(lowest)):
        n_here = np.int64(below[rank + 1] - below[rank])
        n_near += n_here * np.int64(below[highest[rank] + 1] - below[lowest[rank]])
    return n_near


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
def _reach_by_ratio(values: Any, least: Any) -> tuple[Any, Any]:
    """Find, for each of the ascending values, the lowest that is at least that share of it, and the highest."""
    n_values = len(values)
    lowest, highest = np.empty(n_values, np.int32), np.empty(n_values, np.int32)
    low = high = 0
    for rank in range(n_values):
        while values[rank] * least > values[low]:
            low += 1
        while high + 1 < n_values and values[high + 1] * least <= values[rank]:
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


def spread_of(counts: NDArray[np.int64]) -> float:
    """Entropy of a column, from how often each of its values occurs."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def balance_blocks(spreads: Sequence[float], n_blocks: int) -> list[int]:
    """Assign columns to blocks of about equal total entropy; return the block of each column."""
    totals, n_columns, block_of = [0.0] * n_blocks, [0] * n_blocks, [0] * len(spreads)
    for column in sorted(range(len(spreads)), key=lambda i: -spreads[i]):
        thinnest = min(range(n_blocks), key=lambda block: (n_columns[block] > 0, totals[block]))
        block_of[column] = thinnest
        totals[thinnest] += spreads[column]
        n_columns[thinnest] += 1
    return block_of
