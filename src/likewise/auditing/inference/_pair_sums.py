"""Sums over pairs by person, and back: in NumPy where pairs are few, compiled where they are many; the same bytes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise._memory import n_cores
from likewise._threads import share_rows, share_work

Floats = NDArray[np.float64]
Rows = NDArray[np.integer]
MOST_ADDED: Final = 1 << 23  # levels that are added up at a time, on all threads together: 8 bytes each, or 16
MOST_INTERPRETED: Final = 100_000  # pairs: NumPy adds up fewer before a kernel is read from the disk


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


def count_of_people(left: Rows, right: Rows, n_people: int, holds: NDArray[np.bool_] | None = None) -> Rows:
    """Count the pairs that everybody is in; only those that something holds for, if given."""
    if len(left) <= MOST_INTERPRETED:
        sides = (left, right) if holds is None else (left[holds], right[holds])
        return np.bincount(sides[0], minlength=n_people) + np.bincount(sides[1], minlength=n_people)
    once = np.ones(1, np.int8) if holds is None else holds.view(np.int8)
    counts: Rows = _add_sides(np.zeros(n_people, np.int32), np.zeros(n_people, np.int32), once, left, right)
    return counts


def add_chains(by_person: Floats, parts: Floats, left: Rows, right: Rows) -> float:
    """Return the sum over pairs of their own part times what each of their two people contributes besides."""
    if len(left) <= MOST_INTERPRETED:
        return float(((by_person[left] - parts) * (by_person[right] - parts) * parts).sum())
    chains = np.empty(len(left))
    share_rows(lambda some: _multiply(by_person, parts[some], left[some], right[some], chains[some]), len(left))
    return float(chains.sum())


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
