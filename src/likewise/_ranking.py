"""Numbers in order: many are sorted on all cores, to the same result as on one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled, compiled_with_arrays
from likewise._memory import n_cores
from likewise._threads import cut_rows, share_work, take_rows

Floats = NDArray[np.float64]
Keys = NDArray[np.unsignedinteger[Any]]
FEW: Final = 100_000  # numbers that NumPy sorts before a kernel is read from the disk
N_RANGES: Final = 64  # a power of two
SAMPLED: Final = 4_096
DIGIT: Final = 11  # bits that a pass of the sort by digits looks at: the counts of all digits stay in the nearest cache
DIGITS: Final = 1 << DIGIT
LAST_DIGIT: Final = np.uint64(DIGITS - 1)
SHORT: Final = 2 * DIGIT  # bits, of which two digits are sorted soonest
IN_CACHE: Final = 1 << 13  # numbers that are sorted at a time
MOST_MOVES: Final = 8  # of a number, on average: more take longer than to sort by all bits
PARTS_A_CUT: Final = 4  # which threads take as they can
SIGN: Final = np.uint64(1 << 63)
ONE: Final = np.uint64(1)


def rank_numbers(values: Floats) -> tuple[NDArray[Any], Floats]:
    """Return each number's rank among the distinct ones, and these in ascending order."""
    if len(values) <= FEW:
        distinct, ranks = np.unique(values, return_inverse=True)
        return ranks, distinct
    return rank_many(values)


def rank_many(values: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Rank numbers in compiled code, as :func:`rank_numbers` does."""
    ranks, distinct, _ = rank_and_count(values)
    return ranks, distinct


def rank_and_count(values: Floats) -> tuple[NDArray[np.int32], Floats, NDArray[np.int32]]:
    """Return each number's rank, the distinct ones in ascending order, and how many are below each, and in all."""
    if not len(values):
        return np.empty(0, np.int32), np.empty(0), np.zeros(1, np.int32)
    keys, lowest, n_bits = _find_keys(values)
    keys, rows, parts, n_distinct = _sort_long(keys, lowest, n_bits, keys)
    n_before = np.cumsum([0, *n_distinct])
    ranks, distinct = np.empty(len(values), np.int32), np.empty(n_before[-1])
    below = np.empty(len(distinct) + 1, np.int32)
    below[-1] = len(values)

    def number(i: int) -> None:
        _number_ordered(keys, rows, parts[i].start, parts[i].stop, n_before[i], ranks, distinct, below)

    share_work(number, range(len(parts)))
    return ranks, distinct, below


def _find_keys(values: NDArray[Any]) -> tuple[NDArray[np.uint64], np.uint64, int]:
    """Return whole numbers in the order of some numbers, the lowest of them, and how many bits they span."""
    if values.dtype == np.uint64:
        return values.copy(), values.min(), int(values.max() - values.min()).bit_length()
    parts, keys = cut_rows(len(values)), np.empty(len(values), np.uint64)
    spans = np.empty((len(parts), 2), np.uint64)
    share_work(lambda i: _write_keys(values[parts[i]], keys[parts[i]], spans[i]), range(len(parts)))
    return keys, spans[:, 0].min(), int(spans[:, 1].max() - spans[:, 0].min()).bit_length()


def sort_keys(keys: Keys, lowest: Any, n_bits: int, room: Keys | None = None) -> tuple[Keys, NDArray[np.int32]]:
    """Sort whole numbers that span so many bits: the numbers in order, and their rows; equals keep their order.

    Each thread counts and moves the digits of some numbers. Keys are overwritten, unless there is other room.
    """
    room = keys if room is None else room
    if n_bits > SHORT:
        return _sort_long(keys, lowest, n_bits, room)[:2]
    parts, rows = cut_rows(len(keys)), np.empty(0, np.int32)
    keys_there, rows_there = np.empty_like(keys), np.empty(len(keys), np.int32)
    for shift in range(0, max(n_bits, 1), DIGIT):
        _sort_by_digit(parts, keys, rows, lowest, np.uint64(shift), keys_there, rows_there)
        keys, keys_there, room = keys_there, room, keys_there
        rows, rows_there = rows_there, np.empty(len(keys), np.int32)
    return keys, rows


def _sort_long(
    keys: Keys, lowest: Any, n_bits: int, room: Keys
) -> tuple[Keys, NDArray[np.int32], list[slice], NDArray[np.int64]]:
    """Sort keys of many bits; also say how many distinct ones are in each part of them. Equal keys are in one part.

    They are moved by their leading digit first. What has the same one, or the next few, fits into the cache of the
    thread that sorts it.
    """
    if len(keys) <= FEW:
        there, rows, n_distinct = keys.copy(), np.arange(len(keys), dtype=np.int32), np.zeros(1, np.int64)
        _sort_part(there, rows, room, np.empty_like(rows), 0, np.array([len(keys)]), n_distinct)
        return there, rows, [slice(0, len(keys))], n_distinct
    cuts, shift = cut_rows(len(keys)), np.uint64(max(n_bits - DIGIT, 0))
    keys_there, rows_there, rows = np.empty_like(keys), np.empty(len(keys), np.int32), np.empty(0, np.int32)
    ends = _sort_by_digit(cuts, keys, rows, lowest, shift, keys_there, rows_there)
    rows, n_parts = np.empty(len(keys), np.int32), PARTS_A_CUT * len(cuts)
    wanted = np.searchsorted(ends, np.arange(1, n_parts) * len(keys) // n_parts) + 1
    digits = np.unique([0, *wanted, DIGITS]).tolist()  # a part has whole digits
    parts = [slice(int(ends[first - 1]) if first else 0, int(ends[end - 1])) for first, end in pairwise(digits)]
    n_distinct = np.zeros(len(parts), np.int64)

    def sort(i: int) -> None:
        some = ends[digits[i] : digits[i + 1]]
        _sort_part(keys_there, rows_there, room, rows, parts[i].start, some, n_distinct[i : i + 1])

    share_work(sort, range(len(parts)))
    return keys_there, rows_there, parts, n_distinct


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The level of each number among the distinct ones, of which the lowest is 0."""

    of_rows: NDArray[np.int32]
    n: int  # distinct numbers
    below: NDArray[np.int32] | None = None  # how many rows there are below each, and in all, where that is known

    @classmethod
    def of(cls, values: Floats) -> Levels:
        """Rank numbers."""
        ranks, distinct = rank_numbers(values)
        return cls(ranks.astype(np.int32, copy=False), len(distinct))

    def count(self, weights: Floats | None = None) -> NDArray[Any]:
        """Count the rows of each level, or add up their weights."""
        if weights is None and self.below is not None:
            return np.diff(self.below)
        return np.bincount(self.of_rows, weights, self.n)

    def descend(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return the rows from the highest level to the lowest, equals as they come, and which of them end a level."""
        lower, is_last = (self.n - 1 - self.of_rows).view(np.uint32), np.zeros(len(self.of_rows), np.bool_)
        is_last[np.cumsum(self.count()[::-1]) - 1] = True
        if len(lower) <= FEW:
            return np.argsort(lower, kind="stable").astype(np.int32), is_last
        return sort_keys(lower, np.uint32(0), (self.n - 1).bit_length())[1], is_last


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


def sort_rows(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the rows in ascending order of their numbers, and the numbers in that order; equal ones as they come.

    Numbers are finite floats, or unsigned of 64 bits.
    """
    values = np.ascontiguousarray(values)  # each thread that takes some would copy all
    if len(values) <= FEW:
        order = np.argsort(values, kind="stable")
        return order, values[order]
    rows = sort_keys(*_find_keys(values))[1]
    return rows, take_rows(values, rows)


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
    n_rows = len(values)
    splitters = np.sort(values[:: n_rows // SAMPLED])
    splitters = splitters[np.arange(1, N_RANGES) * len(splitters) // N_RANGES]
    parts = cut_rows(n_rows)
    n_parts = len(parts)
    counts, range_of = np.zeros((n_parts, N_RANGES), np.int64), np.empty(n_rows, np.uint8)
    share_work(lambda i: _find_ranges(values[parts[i]], splitters, range_of[parts[i]], counts[i]), range(n_parts))
    ends = np.cumsum(counts.T).reshape(N_RANGES, n_parts)
    filled = np.ascontiguousarray((ends - counts.T).T)

    def place(i: int) -> None:
        _place_rows(values[parts[i]], range_of[parts[i]], parts[i].start, filled[i], order, ordered)

    share_work(place, range(n_parts))
    stops = ends[:, -1].tolist()
    return [slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def _sort_by_digit(
    parts: list[slice], keys: Any, rows: Any, lowest: Any, shift: Any, keys_there: Any, rows_there: Any
) -> NDArray[np.int64]:
    """Sort by the digit that starts at a bit, keeping the order of equals; return where each digit ends."""
    counts = np.empty((len(parts), DIGITS), np.int64)
    share_work(lambda i: _count_digits(keys[parts[i]], lowest, shift, counts[i]), range(len(parts)))
    ends = np.cumsum(counts.T).reshape(DIGITS, len(parts))
    filled = (np.ascontiguousarray(ends.T) - counts).astype(np.uint64)

    def move(i: int) -> None:
        _move_keys(keys, rows, parts[i].start, parts[i].stop, lowest, shift, filled[i], keys_there, rows_there)

    share_work(move, range(len(parts)))
    return ends[:, -1]


@compiled
def _write_keys(values: Any, keys: Any, span: Any) -> None:
    """Write numbers as whole ones in the same order, and the lowest and highest of these."""
    lowest, highest = ~np.uint64(0), np.uint64(0)
    for row in range(len(values)):
        value = values[row] + 0.0  # -0.0 and 0.0 are one value
        bits = np.float64(value).view(np.uint64)
        key = ~bits if bits & SIGN else bits | SIGN
        keys[row] = key
        lowest, highest = min(lowest, key), max(highest, key)
    span[0], span[1] = lowest, highest


@compiled
def _count_digits(keys: Any, lowest: Any, shift: Any, counts: Any) -> None:
    counts[:] = 0
    for key in keys:
        counts[((key - lowest) >> shift) & LAST_DIGIT] += 1


@compiled
def _move_keys(
    keys: Any, rows: Any, start: Any, stop: Any, lowest: Any, shift: Any, filled: Any, keys_there: Any, rows_there: Any
) -> None:
    """Move keys and their rows, which are their places where none are given, to where their digit has room."""
    for place in range(np.uint64(start), np.uint64(stop)):
        digit = ((keys[place] - lowest) >> shift) & LAST_DIGIT
        to = filled[digit]
        keys_there[to], rows_there[to] = keys[place], rows[place] if len(rows) else place
        filled[digit] = to + ONE


@compiled_with_arrays
def _sort_part(keys: Any, rows: Any, more_keys: Any, more_rows: Any, start: Any, stops: Any, n_distinct: Any) -> None:
    """Sort keys and their rows, given where those of each digit stop: a few digits at a time; count distinct keys."""
    filled = np.empty(DIGITS, np.uint64)
    for digit in range(len(stops)):
        stop = stops[digit]
        if stop - start < IN_CACHE and digit + 1 < len(stops):
            continue
        _sort_few(keys, rows, more_keys, more_rows, start, stop, filled)
        n_changes = np.uint64(start < stop)
        for place in range(np.uint64(start), np.uint64(max(stop, start + 1) - 1)):
            n_changes += np.uint64(keys[place] != keys[place + ONE])
        n_distinct[0] += n_changes
        start = stop


@compiled
def _sort_few(keys: Any, rows: Any, more_keys: Any, more_rows: Any, start: Any, stop: Any, filled: Any) -> None:
    """Sort keys at some places by the leading bits in which they differ; by all, if that leaves many out of place."""
    if start == stop:
        return
    lowest = highest = keys[start]
    for place in range(np.uint64(start), np.uint64(stop)):
        lowest, highest = min(lowest, keys[place]), max(highest, keys[place])
    n_bits = 0
    while n_bits < 64 and (highest - lowest) >> np.uint64(n_bits):
        n_bits += 1
    n_passes = 2
    while n_bits:
        width = min((n_bits + n_passes - 1) // n_passes, DIGIT)
        first_bit = max(n_bits - n_passes * width, 0)
        for k in range(0, n_passes, 2):  # there and back
            shift = np.uint64(first_bit + k * width)
            _move_by_digit(keys, rows, more_keys, more_rows, start, stop, lowest, shift, width, filled)
            shift += np.uint64(width)
            _move_by_digit(more_keys, more_rows, keys, rows, start, stop, lowest, shift, width, filled)
        if not first_bit or _settle(keys, rows, start, stop):
            break
        n_passes = 6


@compiled
def _move_by_digit(
    keys: Any,
    rows: Any,
    keys_there: Any,
    rows_there: Any,
    start: Any,
    stop: Any,
    lowest: Any,
    shift: Any,
    width: Any,
    filled: Any,
) -> None:
    """Move keys and their rows to where the digit of so many bits has room, keeping the order of equals."""
    last, first, end = (ONE << np.uint64(width)) - ONE, np.uint64(start), np.uint64(stop)
    for digit in range(last + ONE):
        filled[digit] = 0
    for place in range(first, end):  # unsigned numbers: others are tested for counting from the end
        filled[((keys[place] - lowest) >> shift) & last] += ONE
    at = first
    for digit in range(last + ONE):
        filled[digit], at = at, at + filled[digit]
    for place in range(first, end):
        digit = ((keys[place] - lowest) >> shift) & last
        to = filled[digit]
        keys_there[to], rows_there[to] = keys[place], rows[place]
        filled[digit] = to + ONE


@compiled
def _settle(keys: Any, rows: Any, start: Any, stop: Any) -> Any:
    """Move keys that are still out of place; say whether these were few."""
    first, most = np.uint64(start), np.uint64(MOST_MOVES * (stop - start))
    n_moves = np.uint64(0)
    for place in range(first + ONE, np.uint64(stop)):
        if keys[place - ONE] <= keys[place]:
            continue
        key, row, to = keys[place], rows[place], np.uint64(place)
        while to > first and keys[to - ONE] > key:
            keys[to], rows[to] = keys[to - ONE], rows[to - ONE]
            to -= ONE
        keys[to], rows[to] = key, row
        n_moves += place - to
        if n_moves > most:
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
def _number_ordered(
    keys: Any, rows: Any, start: Any, stop: Any, n_before: Any, ranks: Any, distinct: Any, below: Any
) -> None:
    """Rank the rows at some places of the order, before which there are so many distinct keys."""
    rank = np.uint64(n_before)  # of the next distinct one
    for place in range(np.uint64(start), np.uint64(stop)):
        key = keys[place]
        if place == 0 or key != keys[place - ONE]:
            distinct[rank] = np.uint64(key & ~SIGN if key & SIGN else ~key).view(np.float64)
            below[rank] = place
            rank += ONE
        ranks[np.uint32(rows[place])] = rank - ONE
