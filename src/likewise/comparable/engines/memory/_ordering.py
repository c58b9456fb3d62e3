"""Pairs in order: found in none, they are put in that of their left rows, and of the right ones of each."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled, compiled_with_arrays
from likewise.comparable._pairs import Rows
from likewise.comparable.engines._columns import HALF
from likewise.comparable.engines._problem import join_chunks

FEW: Final = 1 << 19  # pairs, of which two orders stay in the cache
MOST_IN_FOUR_BYTES: Final = 1 << 32  # pairs: the places of more are counted in eight
SHORT: Final = 48  # numbers of which all are compared with all before digits would be counted
SORTED_AT_ONCE: Final = 1 << 15  # numbers of several segments, which fit into the cache
DIGIT_BITS: Final = 11
N_DIGITS: Final = 1 << DIGIT_BITS
LAST_DIGIT: Final = np.uint32(N_DIGITS - 1)
ONE: Final = np.uint32(1)


def order_pairs(parts: list[tuple[Rows, Rows]], n_rows: int) -> tuple[Rows, Rows]:
    """Order the pairs within one table by left row, then right row, emptying the list of parts."""
    n_pairs = sum(len(left) for left, _ in parts)
    if n_pairs <= FEW:
        lefts, rights, by_right = (np.empty(n_pairs, np.int32) for _ in range(3))
        _order_few(*join_chunks(parts), np.zeros((2, n_rows), np.int32), lefts, rights, by_right)
        return lefts, rights
    counts, rights = order_rights(parts, n_rows)
    lefts = np.empty_like(rights)
    repeat_rows(np.arange(n_rows, dtype=np.int32), counts, lefts)
    return lefts, rights


@compiled
def _order_few(left: Any, right: Any, starts: Any, lefts: Any, rights: Any, by_right: Any) -> None:
    """Sort pairs by right row, and then by left row, which keeps the order of the right ones: all in one call."""
    of_left, of_right = starts[0], starts[1]
    for k in range(len(left)):
        of_left[left[k]] += 1
        of_right[right[k]] += 1
    n_left, n_right = np.int32(0), np.int32(0)
    for row in range(len(of_left)):
        of_left[row], n_left = n_left, n_left + of_left[row]
        of_right[row], n_right = n_right, n_right + of_right[row]
    for k in range(len(left)):
        to = np.uint32(of_right[right[k]])  # unsigned: others are tested for counting from the end
        by_right[to] = left[k]
        of_right[right[k]] = to + 1
    start = np.uint32(0)
    for row in range(len(of_left)):
        end = np.uint32(of_right[row])
        for k in range(start, end):
            own = np.uint32(by_right[k])
            to = np.uint32(of_left[own])
            lefts[to], rights[to] = own, row
            of_left[own] = to + 1
        start = end


def order_rights(parts: list[tuple[Rows, Rows]], n_left: int) -> tuple[NDArray[np.int64], Rows]:
    """Put the right rows of pairs in order, emptying the list of parts; also count those of each left row.

    They are put where their left row has room, and those of one row sorted after those of the other.
    """
    n_pairs = sum(len(left) for left, _ in parts)
    starts = np.zeros(n_left + 1, np.uint32 if n_pairs < MOST_IN_FOUR_BYTES else np.uint64)
    for left, _ in parts:
        add_counts(starts[1:], left)
    _sum_up(starts)
    rights = np.empty(n_pairs, np.int32)
    filled = starts[:-1].copy()
    while parts:
        _scatter(*parts.pop(), filled, rights)
    is_long = np.zeros(n_left, np.bool_)
    _sort_short(starts, rights, is_long, np.empty(SHORT, np.uint64))
    if is_long.any():
        sort_segments(starts[:-1][is_long].astype(np.int64), starts[1:][is_long].astype(np.int64), rights)
    return np.diff(starts).astype(np.int64), rights


@compiled
def _sum_up(counts: Any) -> None:
    for row in range(1, len(counts)):
        counts[row] += counts[row - 1]


@compiled
def _sort_short(starts: Any, rights: Any, is_long: Any, some: Any) -> None:
    """Sort the right rows of each left one, but of those with many: each goes to the place that as many are below.

    Nothing there is a branch that cannot be foretold.
    """
    start = np.uint64(starts[0])
    for row in range(len(is_long)):
        end = np.uint64(starts[row + 1])
        is_long[row] = end - start > SHORT
        n = np.uint64(0) if is_long[row] else end - start
        for i in range(n):
            some[i] = np.uint64(rights[start + i]) << HALF | i  # all different, whatever is in the rows
        for i in range(n):
            n_below = np.uint64(0)
            for j in range(n):
                n_below += np.uint64(some[j] < some[i])
            rights[start + n_below] = some[i] >> HALF
        start = end


@compiled
def repeat_rows(rows: Any, counts: Any, left: Any) -> None:
    """Write each row as often as its count says."""
    at = 0
    for k in range(len(rows)):
        for place in range(at, at + counts[k]):
            left[place] = rows[k]
        at += counts[k]


@compiled
def add_counts(counts: Any, rows: Any) -> None:
    """Count each row as often as it is there."""
    for row in rows:
        counts[np.uint32(row)] += ONE


@compiled
def _scatter(left: Any, right: Any, filled: Any, rights: Any) -> None:
    for k in range(len(left)):
        own = np.uint32(left[k])  # unsigned: others are tested for counting from the end
        to = filled[own]
        rights[to] = right[k]
        filled[own] = to + ONE


def sort_segments(starts: NDArray[np.int64], ends: NDArray[np.int64], values: Rows) -> None:
    """Sort each of the segments, which come in order, in place.

    Several short ones at a time: NumPy would have to be called for every one, and keep other threads waiting.
    """
    is_long = ends - starts > SORTED_AT_ONCE
    for start, end in zip(starts[is_long].tolist(), ends[is_long].tolist(), strict=True):
        values[start:end].sort()
    _sort_by_digits(starts[~is_long], ends[~is_long], values)


@compiled_with_arrays
def _sort_by_digits(starts: Any, ends: Any, values: Any) -> None:
    """Sort segments, none of them long, digit by digit, several at a time; ``starts`` are moved on."""
    highest = np.int32(0)
    for value in values:
        highest = max(highest, value)
    k = 0
    # values and the numbers of their segments, by turns
    kept, other = np.empty((2, SORTED_AT_ONCE), np.int32), np.empty((2, SORTED_AT_ONCE), np.int32)
    filled = np.zeros(N_DIGITS + 1, np.uint32)
    while k < len(starts):
        first, n, k_next = starts[k], np.uint64(0), k
        while k_next < len(starts) and ends[k_next] - first <= SORTED_AT_ONCE:
            for place in range(np.uint64(starts[k_next]), np.uint64(ends[k_next])):
                kept[0, n], kept[1, n] = values[place], k_next
                n += np.uint64(1)
            k_next += 1
        shift = np.uint32(0)
        while highest >> shift > 0 and n > 1:
            here, of_here, there, of_there = kept[0], kept[1], other[0], other[1]
            filled[:] = 0
            for place in range(n):
                filled[((np.uint32(here[place]) >> shift) & LAST_DIGIT) + ONE] += ONE
            for digit in range(N_DIGITS):
                filled[digit + 1] += filled[digit]
            for place in range(n):
                number = (np.uint32(here[place]) >> shift) & LAST_DIGIT
                to = filled[number]
                there[to], of_there[to] = here[place], of_here[place]
                filled[number] = to + ONE
            kept, other = other, kept
            shift += np.uint32(DIGIT_BITS)
        for place in range(n):
            own = np.uint32(kept[1, place])
            to = np.uint64(starts[own])
            values[to] = kept[0, place]
            starts[own] += 1
        k = k_next
