"""Numbering the distinct rows of a matrix of words, exactly and in linear time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads neighbouring numbers apart
HALF = np.uint64(32)


@njit(cache=True, nogil=True)
def mix(seed: Any, word: Any) -> Any:
    """Stir one word into a hash."""
    mixed = (seed ^ word) * MULTIPLIER
    return mixed ^ (mixed >> HALF)


@njit(cache=True, nogil=True)
def number_rows(words: Any) -> tuple[Any, Any]:
    """Number the distinct rows in order of first appearance.

    Returns each row's number, and for each number the row where it appeared first. Hashes only find the place to
    look: equality is always checked on the words.
    """
    n_rows, n_words = words.shape
    numbers = np.empty(n_rows, np.int32)
    firsts = np.empty(1024, np.int32)
    table = np.full(4096, -1, np.int32)
    n_distinct = 0
    for row in range(n_rows):
        if n_distinct == len(firsts):  # grown as needed, so that few distinct rows stay in the cache
            longer = np.empty(2 * len(firsts), np.int32)
            longer[:n_distinct] = firsts
            firsts = longer
            table = _rebuild(words, firsts, n_distinct, 2 * len(table))
        slot = _home(words, row, len(table))
        while True:
            number = table[slot]
            if number < 0:
                table[slot] = n_distinct
                firsts[n_distinct] = row
                number = n_distinct
                n_distinct += 1
                break
            same = True
            for k in range(n_words):
                if words[firsts[number], k] != words[row, k]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & (len(table) - 1)
        numbers[row] = number
    return numbers, firsts[:n_distinct].copy()


@njit(cache=True, nogil=True)
def _home(words: Any, row: Any, n_slots: Any) -> Any:
    mixed = np.uint64(0)
    for k in range(words.shape[1]):
        mixed = mix(mixed, words[row, k])
    return np.int64(mixed & np.uint64(n_slots - 1))


@njit(cache=True, nogil=True)
def _rebuild(words: Any, firsts: Any, n_distinct: Any, n_slots: Any) -> Any:
    table = np.full(n_slots, -1, np.int32)
    for number in range(n_distinct):
        slot = _home(words, firsts[number], n_slots)
        while table[slot] >= 0:
            slot = (slot + 1) & (n_slots - 1)
        table[slot] = number
    return table


def number_values(column: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Rank the values of a column: each row's rank, and the distinct values in ascending order."""
    if column.dtype == np.float64:
        column = column + 0.0  # -0.0 and 0.0 are one value, but not one bit pattern
        words = column.view(np.uint64).reshape(-1, 1)
    else:
        words = np.ascontiguousarray(column, np.int64).view(np.uint64).reshape(-1, 1)
    numbers, firsts = number_rows(words)
    values = column[firsts]
    order = np.argsort(values)
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks[numbers], values[order]


def number_jointly(first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.int32]:
    """Number the distinct combinations of two columns of numbers."""
    joint = first.astype(np.uint64) << HALF
    joint |= second.astype(np.uint32)
    numbers: NDArray[np.int32] = number_rows(joint.reshape(-1, 1))[0]
    return numbers
