"""Numbering the distinct rows of a matrix of words, exactly and in linear time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads neighbouring numbers apart
HALF = np.uint64(32)
ZERO = np.uint64(0)
ONE = np.uint64(1)
FEW_SLOTS = 4096
MOST_NUMBERS = 1 << 31


@njit(cache=True, nogil=True)
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
        _number_some(words[firsts], 0, np.empty(n_distinct, np.int32), table, np.empty(len(table) // 2, np.int32), 0)
        firsts = np.concatenate([firsts, np.empty(len(table) // 2 - len(firsts), np.int32)])


@njit(cache=True, nogil=True)
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


def number_jointly(columns: Sequence[NDArray[np.int32]], n_rows: int) -> NDArray[np.int32]:
    """Give equal numbers to rows that agree in all of several columns, and to no others."""
    numbers, n_numbers = np.zeros(n_rows, np.int64), 1
    for column in columns:
        lowest, highest = int(column.min(initial=0)), int(column.max(initial=0))
        if n_numbers * (highest - lowest + 1) >= MOST_NUMBERS:
            wide = np.column_stack([numbers, column.astype(np.int64)]).view(np.uint64)
            numbers, firsts = number_rows(wide)
            numbers, n_numbers = numbers.astype(np.int64), len(firsts)
        else:
            n_values = highest - lowest + 1
            numbers = numbers * n_values + (column - np.int64(lowest))
            n_numbers *= n_values
    return numbers.astype(np.int32)
