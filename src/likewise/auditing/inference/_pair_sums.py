"""Sums over pairs by person, and back: in NumPy where pairs are few, compiled where they are many; the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise._memory import n_cores
from likewise._threads import share_work

Floats = NDArray[np.float64]
Rows = NDArray[np.integer]
MOST_ADDED: Final = 1 << 23  # levels that are added up at a time, on all threads together: 8 bytes each, or 16
MOST_INTERPRETED: Final = 100_000  # pairs: NumPy adds up fewer before a kernel is read from the disk
MOST_FLAGS: Final = 8  # of a pair: one byte
WORD: Final = 64  # bits, for counts of several things
FLAGGED_AT_ONCE: Final = 1 << 12
ADDED_AT_ONCE: Final = 1 << 16  # products of three, which stay in the cache until they are added up


def part_values(values: NDArray[Any], mean: float, left: Rows, right: Rows, n_people: int) -> tuple[Floats, Floats]:
    """Return what each pair contributes to the mean of the pairs' values, and the sum of that over everybody's pairs.

    A sum is that of the pairs where a person is left, plus that of those where right.
    """
    if len(left) <= MOST_INTERPRETED:
        parts: Floats = (values - mean) / max(len(values), 1)
        return parts, add_to_people(parts, left, right, n_people)
    parts, of_left, of_right = np.empty(len(values)), np.zeros(n_people), np.zeros(n_people)
    _part(values, mean, float(len(values)), left, right, parts, of_left, of_right)
    of_left += of_right
    return parts, of_left


@compiled
def _part(values: Any, mean: Any, n: Any, left: Any, right: Any, parts: Any, of_left: Any, of_right: Any) -> None:
    for pair in range(len(parts)):
        part = np.divide(values[pair] - mean, n)  # unlike /, never raises
        parts[pair] = part
        of_left[left[pair]] += part
        of_right[right[pair]] += part


def add_to_people(parts: Floats, left: Rows, right: Rows, n_people: int) -> Floats:
    """Return the sum of the parts of everybody's pairs: of those where a person is left, plus of those where right."""
    if len(left) <= MOST_INTERPRETED:
        of_left = np.bincount(left, parts, n_people).astype(np.float64, copy=False)
        return of_left + np.bincount(right, parts, n_people)
    sums: Floats = _add_sides(np.zeros(n_people), np.zeros(n_people), parts, left, right)
    return sums


def _add_sides(of_left: Any, of_right: Any, parts: NDArray[Any], left: Rows, right: Rows) -> Any:
    """Add parts to the left and to the right people, side by side."""
    sides = ((left, of_left), (right, of_right))
    share_work(lambda side: _add(parts, *sides[side]), range(2))
    of_left += of_right
    return of_left


@compiled
def _add(parts: Any, rows: Any, sums: Any) -> None:
    last = len(parts) - 1
    for pair in range(len(rows)):
        sums[rows[pair]] += parts[min(pair, last)]


def count_of_people(left: Rows, right: Rows, n_people: int) -> Rows:
    """Count the pairs that everybody is in."""
    if len(left) <= MOST_INTERPRETED:
        return np.bincount(left, minlength=n_people) + np.bincount(right, minlength=n_people)
    once = np.ones(1, np.int8)
    counts: Rows = _add_sides(np.zeros(n_people, np.int32), np.zeros(n_people, np.int32), once, left, right)
    return counts


class HeldCounts:
    """How many of everybody's pairs something holds for, of several things at a time, counted in one pass.

    A person's counts share one word, which is all of a person that the pass has to find in memory.
    """

    def __init__(self, left: Rows, right: Rows, n_pairs_of: NDArray[Any]) -> None:
        most = int(n_pairs_of.max(initial=0))
        self._left, self._right, self._n_pairs_of = left, right, n_pairs_of
        self._n_bits = next(n_bits for n_bits in (8, 16, 32) if most >> n_bits == 0)
        self._counts = np.empty(0, np.uint64)
        self.at_once = min(WORD // self._n_bits, MOST_FLAGS)  # things

    def count(self, holds: Iterator[NDArray[np.bool_]]) -> list[int]:
        """Count the pairs that each of the next few things holds for, and those of everybody; nothing if none is left.

        Of a thing, no more is kept than a bit of each pair.
        """
        flags, held = np.zeros(len(self._left), np.uint8), list[int]()
        for one in islice(holds, self.at_once):
            flags |= one.view(np.uint8) << np.uint8(len(held))
            held.append(int(np.count_nonzero(one)))
        if held:
            self._count(flags, len(held))
        return held

    def count_below(self, values: Floats, limits: Floats) -> list[int]:
        """Count the pairs whose values are up to each of a few limits, and those of everybody."""
        flags, held = np.zeros(len(self._left), np.uint8), np.zeros(len(limits), np.int64)
        _flag_low(values, limits, flags, held)
        self._count(flags, len(limits))
        return held.tolist()

    def _count(self, flags: NDArray[np.uint8], n_things: int) -> None:
        self._counts = np.zeros(len(self._n_pairs_of), np.uint64)
        _count_words(flags, self._left, self._right, _words(n_things, self._n_bits), self._counts)

    def relate(self, place: int, n_held: int, roots: Floats) -> Floats:
        """Return what people contribute to the share of the pairs that one of the things holds for."""
        by_person, last = np.empty(len(roots)), np.uint64((1 << self._n_bits) - 1)
        shift, n = np.uint64(self._n_bits * place), len(self._left)
        _relate(self._counts, shift, last, n_held / n, float(n), self._n_pairs_of, roots, by_person)
        return by_person


@cache
def _words(n_things: int, n_bits: int) -> NDArray[np.uint64]:
    """Return what to add to a word, by the flags of the things that hold."""
    flags = np.arange(1 << n_things, dtype=np.uint64)
    places = range(n_things)
    words: NDArray[np.uint64] = sum(
        ((flags >> np.uint64(place) & np.uint64(1)) << np.uint64(place * n_bits) for place in places),
        np.zeros(len(flags), np.uint64),
    )
    return words


@compiled
def _flag_low(values: Any, limits: Any, flags: Any, n_low: Any) -> None:
    """Flag values that are up to each limit, and count them; a few at a time, which stay in the nearest cache."""
    for start in range(0, len(values), FLAGGED_AT_ONCE):
        some, flags_of_some = values[start : start + FLAGGED_AT_ONCE], flags[start : start + FLAGGED_AT_ONCE]
        for k in range(len(limits)):
            limit, flag, n = limits[k], np.uint8(1 << k), 0
            for pair in range(len(some)):
                is_low = some[pair] <= limit
                flags_of_some[pair] |= flag if is_low else np.uint8(0)
                n += is_low
            n_low[k] += n


@compiled
def _count_words(flags: Any, left: Any, right: Any, words: Any, counts: Any) -> None:
    for pair in range(len(flags)):
        word = words[flags[pair]]
        counts[left[pair]] += word
        counts[right[pair]] += word


@compiled
def _relate(
    counts: Any, shift: Any, last: Any, share: Any, n: Any, n_pairs_of: Any, roots: Any, by_person: Any
) -> None:
    for person in range(len(by_person)):
        count = np.float64((counts[person] >> shift) & last)
        by_person[person] = np.divide(count - share * n_pairs_of[person], n * roots[person])


def add_chains(by_person: Floats, parts: Floats, left: Rows, right: Rows) -> float:
    """Return the sum over pairs of their own part times what each of their two people contributes besides."""
    if len(left) <= MOST_INTERPRETED:
        return float(((by_person[left] - parts) * (by_person[right] - parts) * parts).sum())

    def add(start: int, stop: int) -> Any:
        some, chains = slice(start, stop), np.empty(stop - start)
        _multiply(by_person, parts[some], left[some], right[some], chains)
        return chains.sum()

    return float(sum_in_parts(add, len(left)))


def sum_in_parts(add: Callable[[int, int], Any], n: int) -> Any:
    """Add up numbers a few at a time, as NumPy adds up all of them: it halves what is long, and adds up the halves."""
    parts: list[tuple[int, int]] = []
    tree = _halve(0, n, parts)
    sums: list[Any] = [None] * len(parts)

    def add_some(place: int) -> None:
        sums[place] = add(*parts[place])

    share_work(add_some, range(len(parts)))
    return _join(tree, sums)


def _halve(start: int, stop: int, parts: list[tuple[int, int]]) -> Any:
    if stop - start <= ADDED_AT_ONCE:
        parts.append((start, stop))
        return len(parts) - 1
    half = (stop - start) // 2
    middle = start + half - half % 8
    return _halve(start, middle, parts), _halve(middle, stop, parts)


def _join(tree: Any, sums: list[Any]) -> Any:
    return sums[tree] if isinstance(tree, int) else _join(tree[0], sums) + _join(tree[1], sums)


@compiled
def _multiply(by_person: Any, parts: Any, left: Any, right: Any, chains: Any) -> None:
    for pair in range(len(parts)):
        part = parts[pair]
        chains[pair] = (by_person[left[pair]] - part) * (by_person[right[pair]] - part) * part


def add_to_levels(
    place: Rows, n_levels: int, left: Rows, right: Rows, times: Floats | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return how many pairs begin at each level, and how many end there, by their weights; none at one level alone."""
    if len(left) <= MOST_INTERPRETED:
        first, second = place[left], place[right]
        apart = first != second
        low, high = np.minimum(first, second)[apart], np.maximum(first, second)[apart]
        times = None if times is None else times[apart]
        return np.bincount(low, times, n_levels), np.bincount(high, times, n_levels)
    # whole numbers are the same however they are added up, weights are not
    n_parts = 1 if times is not None else max(min(n_cores(), MOST_ADDED // max(n_levels, 1)), 1)
    weights: NDArray[Any] = np.ones(1, np.int32) if times is None else times
    ends = np.zeros((n_parts, 2, n_levels), np.int32 if times is None else np.float64)

    def add(part: int) -> None:
        some = slice(part * len(left) // n_parts, (part + 1) * len(left) // n_parts)
        _add_levels(place, left[some], right[some], weights, *ends[part])

    share_work(add, range(n_parts))
    lows, highs = ends[0] if n_parts == 1 else ends.sum(axis=0)
    return lows, highs


@compiled
def _add_levels(place: Any, left: Any, right: Any, times: Any, lows: Any, highs: Any) -> None:
    last = len(times) - 1
    for pair in range(len(left)):
        one, other, time = place[left[pair]], place[right[pair]], times[min(pair, last)]
        if one != other:
            lows[min(one, other)] += time
            highs[max(one, other)] += time
