"""Sums over pairs by person, and back: in NumPy where pairs are few, compiled where they are many; the same bytes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled

Floats = NDArray[np.float64]
Rows = NDArray[np.integer]
MOST_INTERPRETED: Final = 100_000  # pairs: NumPy adds up fewer before a kernel is read from the disk


def add_to_people(parts: Floats, left: Rows, right: Rows, n_people: int) -> Floats:
    """Return the sum of the parts of everybody's pairs: of those where a person is left, plus of those where right."""
    if len(left) <= MOST_INTERPRETED:
        of_left = np.bincount(left, parts, n_people).astype(np.float64, copy=False)
        return of_left + np.bincount(right, parts, n_people)
    of_left, of_right = np.zeros(n_people), np.zeros(n_people)
    _add(parts, left, right, of_left, of_right)
    of_left += of_right
    return of_left


@compiled
def _add(parts: Any, left: Any, right: Any, of_left: Any, of_right: Any) -> None:
    for pair in range(len(parts)):
        part = parts[pair]
        of_left[left[pair]] += part
        of_right[right[pair]] += part


def take_from_people(by_person: Floats, parts: Floats, left: Rows, right: Rows) -> tuple[Floats, Floats]:
    """Return what the two people of each pair contribute besides the pair itself."""
    if len(left) <= MOST_INTERPRETED:
        return by_person[left] - parts, by_person[right] - parts
    of_left, of_right = np.empty(len(left)), np.empty(len(left))
    _take(by_person, parts, left, right, of_left, of_right)
    return of_left, of_right


@compiled
def _take(by_person: Any, parts: Any, left: Any, right: Any, of_left: Any, of_right: Any) -> None:
    for pair in range(len(parts)):
        of_left[pair] = by_person[left[pair]] - parts[pair]
        of_right[pair] = by_person[right[pair]] - parts[pair]


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
    lows, highs = np.zeros(n_levels), np.zeros(n_levels)
    _add_levels(place, left, right, np.ones(1) if times is None else times, lows, highs)
    return lows, highs


@compiled
def _add_levels(place: Any, left: Any, right: Any, times: Any, lows: Any, highs: Any) -> None:
    last = len(times) - 1
    for pair in range(len(left)):
        one, other, time = place[left[pair]], place[right[pair]], times[min(pair, last)]
        if one != other:
            lows[min(one, other)] += time
            highs[max(one, other)] += time
