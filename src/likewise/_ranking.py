"""Numbers in order: many are sorted on all cores, range by range, to the same result as on one."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise._memory import n_cores
from likewise._threads import share_work

Floats = NDArray[np.float64]
FEW: Final = 100_000  # numbers that NumPy sorts before a kernel is read from the disk
N_RANGES: Final = 64  # a power of two
SAMPLED: Final = 4_096
MANY: Final = 1_000_000  # numbers that one thread sorts by digits about as soon as several do range by range
DIGIT: Final = 11  # bits that a pass of the sort by digits looks at: the counts of all digits stay in the nearest cache
DIGITS: Final = 1 << DIGIT
LAST_DIGIT: Final = np.uint64(DIGITS - 1)
LEADING: Final = 3 * DIGIT  # bits that tell most numbers apart
SIGN: Final = np.uint64(1 << 63)


def rank_numbers(values: Floats) -> tuple[NDArray[Any], Floats]:
    """Return each number's rank among the distinct ones, and these in ascending order."""
    if len(values) <= FEW:
        distinct, ranks = np.unique(values, return_inverse=True)
        return ranks, distinct
    return rank_many(values)


def rank_many(values: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Rank numbers in compiled code, as :func:`rank_numbers` does."""
    if n_cores() <= 2 or len(values) <= MANY:
        order = np.arange(len(values), dtype=np.int32)
        ordered = values + 0.0  # -0.0 and 0.0 are one value
        _sort_by_digits(order, ordered)
    else:
        order, ordered = np.empty(len(values), np.int32), np.empty(len(values))
        ranges = part_by_range(values + 0.0, ordered, order)
        share_work(lambda number: _sort_by_digits(order[ranges[number]], ordered[ranges[number]]), range(N_RANGES))
    ranks = np.empty(len(values), np.int32)
    n_distinct = _number_ordered(order, ordered, ranks)
    return ranks, ordered[:n_distinct].copy()


def sort_rows(values: NDArray[Any], *, stable: bool = False) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the rows in ascending order of their numbers, and the numbers in that order; equal ones as they come."""
    kind: Literal["stable", "quicksort"] = "stable" if stable else "quicksort"
    if n_cores() == 1 or len(values) <= FEW:
        order = np.argsort(values, kind=kind)
        return order, values[order]
    rows, ordered = np.empty(len(values), np.int32), np.empty(len(values), values.dtype)
    ranges = part_by_range(values, ordered, rows)

    def sort(number: int) -> None:
        some = ranges[number]
        places = np.argsort(ordered[some], kind=kind)
        rows[some], ordered[some] = rows[some][places], ordered[some][places]

    share_work(sort, range(N_RANGES))
    return rows, ordered


def sort_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers in ascending order."""
    if n_cores() == 1 or len(values) <= FEW:
        return np.sort(values)
    ordered = np.empty(len(values), values.dtype)
    ranges = part_by_range(values, ordered, np.empty(0, np.int32))
    share_work(lambda number: ordered[ranges[number]].sort(), range(N_RANGES))
    return ordered


def part_by_range(values: NDArray[Any], ordered: NDArray[Any], order: NDArray[np.int32]) -> list[slice]:
    """Put numbers, and their rows where there is room for these, into ranges as they come; return where each is."""
    n_rows, n_parts = len(values), n_cores()
    splitters = np.sort(values[:: n_rows // SAMPLED])
    splitters = splitters[np.arange(1, N_RANGES) * len(splitters) // N_RANGES]
    parts = [slice(part * n_rows // n_parts, (part + 1) * n_rows // n_parts) for part in range(n_parts)]
    counts, range_of = np.zeros((n_parts, N_RANGES), np.int64), np.empty(n_rows, np.uint8)
    share_work(lambda i: _find_ranges(values[parts[i]], splitters, range_of[parts[i]], counts[i]), range(n_parts))
    ends = np.cumsum(counts.T).reshape(N_RANGES, n_parts)
    filled = np.ascontiguousarray((ends - counts.T).T)

    def place(i: int) -> None:
        _place_rows(values[parts[i]], range_of[parts[i]], parts[i].start, filled[i], order, ordered)

    share_work(place, range(n_parts))
    stops = ends[:, -1].tolist()
    return [slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def _sort_by_digits(rows: NDArray[np.int32], values: Floats) -> None:
    """Sort rows and their numbers by digits, in place: the leading ones, or all where those tell too few apart."""
    bits = values.view(np.uint64)
    if not len(bits):
        return
    # bits come in order as integers once those of negative numbers are turned round; all bits to the right of the span
    keys = bits ^ ((bits.view(np.int64) >> 63).view(np.uint64) | SIGN)
    lowest = keys.min()
    keys -= lowest
    n_bits = int(keys.max()).bit_length()
    some, some_rows = keys, rows
    for n_leading in (LEADING, n_bits):
        some, some_rows = keys, rows
        for shift in range(max(n_bits - n_leading, 0), n_bits, DIGIT):
            there = np.empty_like(keys), np.empty_like(rows)
            _sort_by_digit(some, some_rows, np.uint64(shift), *there)
            some, some_rows = there
        if n_leading >= n_bits or _settle(some, some_rows):
            break
    rows[:] = some_rows
    some = some + lowest
    bits[:] = some ^ (~(some.view(np.int64) >> 63).view(np.uint64) | SIGN)


@compiled
def _sort_by_digit(keys: Any, rows: Any, shift: Any, keys_there: Any, rows_there: Any) -> None:
    """Sort by the digit that starts at a bit, keeping the order of equals."""
    places = np.zeros(DIGITS, np.int64)
    for key in keys:
        places[(key >> shift) & LAST_DIGIT] += 1
    n_before = np.int64(0)
    for digit in range(DIGITS):
        n_here, places[digit] = places[digit], n_before
        n_before += n_here
    for place in range(len(keys)):
        to = places[(keys[place] >> shift) & LAST_DIGIT]
        keys_there[to], rows_there[to] = keys[place], rows[place]
        places[(keys[place] >> shift) & LAST_DIGIT] += 1


@compiled
def _settle(keys: Any, rows: Any) -> Any:
    """Move keys that are still out of place; say whether these were few."""
    n_moves = 0
    for place in range(1, len(keys)):
        key, row, to = keys[place], rows[place], place
        while to > 0 and keys[to - 1] > key:
            keys[to], rows[to] = keys[to - 1], rows[to - 1]
            to -= 1
        keys[to], rows[to] = key, row
        n_moves += place - to
        if n_moves > len(keys):
            return False
    return True


@compiled
def _find_ranges(values: Any, splitters: Any, range_of: Any, counts: Any) -> None:
    """Find the range of each number, and count those of each range; without a branch that cannot be foretold."""
    for row in range(len(values)):
        low, step = np.int64(0), N_RANGES // 2
        while step:
            low += step * np.int64(splitters[low + step - 1] <= values[row])
            step //= 2
        range_of[row] = low
        counts[low] += 1


@compiled
def _place_rows(values: Any, range_of: Any, first_row: Any, filled: Any, order: Any, ordered: Any) -> None:
    """Put numbers, and their rows where these are wanted, where their range has room."""
    for row in range(len(values)):
        place = filled[range_of[row]]
        ordered[place] = values[row]
        if len(order):
            order[place] = first_row + row
        filled[range_of[row]] += 1


@compiled
def _number_ordered(order: Any, ordered: Any, ranks: Any) -> Any:
    """Rank rows given in order of their numbers, and move the distinct numbers to the front; return how many."""
    n_distinct = 0
    for place in range(len(order)):
        if place == 0 or ordered[place] != ordered[n_distinct - 1]:
            ordered[n_distinct] = ordered[place]
            n_distinct += 1
        ranks[order[place]] = n_distinct - 1
    return n_distinct
