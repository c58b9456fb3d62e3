"""Pairs in order: found in none, they are put in that of their left rows, and of the right ones of each."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled, compiled_with_arrays
from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import join_chunks

FEW: Final = 1 << 19  # pairs, of which two orders stay in the cache
SHORT: Final = 24  # numbers that are sorted before digits would be counted
SORTED_AT_ONCE: Final = 1 << 15  # numbers of several segments, which fit into the cache; a longer one goes by itself
DIGIT_BITS: Final = 11
N_DIGITS: Final = 1 << DIGIT_BITS


def order_pairs(parts: list[tuple[Rows, Rows]], n_rows: int) -> tuple[Rows, Rows]:
    """Order the pairs within one table by left row, then right row, emptying the list of parts."""
    n_pairs = sum(len(left) for left, _ in parts)
    if n_pairs <= FEW:
        lefts, rights, by_right = (np.empty(n_pairs, np.int32) for _ in range(3))
        _order_few(*join_chunks(parts), np.zeros((2, n_rows), np.int32), lefts, rights, by_right)
        return lefts, rights
    return _order_many(parts, n_rows)


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


def _order_many(parts: list[tuple[Rows, Rows]], n_rows: int) -> tuple[Rows, Rows]:
    """Put pairs, too many for the cache, where their left row has room; then sort those of one row after the other."""
    starts = np.zeros(n_rows + 1, np.int64)
    for left, _ in parts:
        add_counts(starts[1:], left)
    _sum_up(starts)
    lefts, rights = (np.empty(int(starts[-1]), np.int32) for _ in range(2))
    filled = starts[:-1].copy()
    while parts:
        _scatter(*parts.pop(), filled, rights)
    is_long = np.zeros(n_rows, np.bool_)
    _sort_short(starts, lefts, rights, is_long)
    if is_long.any():
        sort_segments(starts[:-1][is_long], starts[1:][is_long], rights)
    return lefts, rights


def order_rights(parts: list[tuple[Rows, Rows]], n_left: int) -> tuple[NDArray[np.int64], Rows]:
    """Put the right rows of pairs in order, emptying the list of parts; also count those of each left row."""
    counts = np.zeros(n_left, np.int64)
    for left, _ in parts:
        add_counts(counts, left)
    ends = np.cumsum(counts)
    rights = np.empty(int(counts.sum()), np.int32)
    filled = ends - counts
    while parts:
        _scatter(*parts.pop(), filled, rights)
    sort_segments(ends - counts, ends, rights)
    return counts, rights


@compiled
def _sum_up(counts: Any) -> None:
    for row in range(1, len(counts)):
        counts[row] += counts[row - 1]


@compiled
def _sort_short(starts: Any, lefts: Any, rights: Any, is_long: Any) -> None:
    """Write the left row of each pair, and sort the right ones of each row but of those with many."""
    for row in range(len(is_long)):
        start, end = starts[row], starts[row + 1]
        is_long[row] = end - start > SHORT
        for place in range(start, end):
            lefts[place] = row
        for place in range(start + 1, start if is_long[row] else end):
            right, to = rights[place], place
            while to > start and rights[to - 1] > right:
                rights[to] = rights[to - 1]
                to -= 1
            rights[to] = right


@compiled
def add_counts(counts: Any, rows: Any) -> None:
    """Count each row as often as it is there."""
    for row in rows:
        counts[row] += 1


@compiled
def _scatter(left: Any, right: Any, filled: Any, rights: Any) -> None:
    for k in range(len(left)):
        rights[filled[left[k]]] = right[k]
        filled[left[k]] += 1


@compiled_with_arrays
def sort_segments(starts: Any, ends: Any, values: Any) -> None:
    """Sort each of the segments, which come in order, in place: digit by digit, several segments at a time.

    NumPy would have to be called for every few of them, and keep other threads waiting. ``starts`` are moved on.
    """
    highest = np.int32(0)
    for value in values:
        highest = max(highest, value)
    longest, k = SORTED_AT_ONCE, 0
    for segment in range(len(starts)):
        longest = max(longest, ends[segment] - starts[segment])
    # values and the numbers of their segments, by turns
    kept, other = np.empty((2, longest), np.int32), np.empty((2, longest), np.int32)
    filled = np.zeros(N_DIGITS + 1, np.int64)
    while k < len(starts):
        first, n, k_next = starts[k], 0, k
        while k_next < len(starts) and ends[k_next] - first <= longest:
            for place in range(starts[k_next], ends[k_next]):
                kept[0, n], kept[1, n] = values[place], k_next
                n += 1
            k_next += 1
        shift = 0
        while highest >> shift > 0 and n > 1:
            filled[:] = 0
            for place in range(n):
                filled[((kept[0, place] >> shift) & (N_DIGITS - 1)) + 1] += 1
            for digit in range(N_DIGITS):
                filled[digit + 1] += filled[digit]
            for place in range(n):
                digit = (kept[0, place] >> shift) & (N_DIGITS - 1)
                to = filled[digit]
                other[0, to], other[1, to] = kept[0, place], kept[1, place]
                filled[digit] = to + 1
            kept, other = other, kept
            shift += DIGIT_BITS
        for place in range(n):
            segment = kept[1, place]
            values[starts[segment]] = kept[0, place]
            starts[segment] += 1
        k = k_next
