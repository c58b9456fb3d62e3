"""Numbers of a column: those that stand at some places of their order, and how many decimals they have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise._ranking import FEW
from likewise.schema._table import EXACT

Floats = NDArray[np.float64]

MAX_DECIMALS: Final = 12
N_BINS: Final = 1 << 12  # of about equal width: numbers of a single one are sorted in the nearest caches
AT_ONCE: Final = 1 << 16  # numbers that are rounded at a time


def middle_places(n: int) -> list[int]:
    """Return where the 1st and the 99th percentile stand among sorted numbers: the ends, of a hundred or fewer."""
    outside = (n - 1) // 100
    return [outside, n - 1 - outside]


def numbers_at(numbers: Floats, places: Sequence[int], low: float, high: float) -> list[float]:
    """Return the numbers at some places of the ascending order; the least and the greatest are known."""
    scale = N_BINS / (high - low) if high > low else math.inf
    if len(numbers) <= FEW or not math.isfinite(scale):
        return np.partition(numbers, places)[list(places)].tolist()  # type: ignore[no-any-return]
    counts, is_wanted = np.zeros(N_BINS, np.int64), np.zeros(N_BINS, np.bool_)
    n_low, n_high = _count_bins(numbers, low, high, scale, counts)
    # often many are as low or as high as can be
    inside = np.array([place for place in places if n_low <= place < len(numbers) - n_high], np.int64)
    bins = np.searchsorted(np.cumsum(counts), inside, side="right")
    is_wanted[bins] = True
    taken = np.empty(counts[is_wanted].sum())
    _take_bins(numbers, low, scale, is_wanted, taken)
    n_left = np.cumsum(np.where(is_wanted, 0, counts))  # not taken, of each bin and those below
    among = inside - n_left[bins]
    taken.partition(among)
    found = dict(zip(inside.tolist(), taken[among].tolist(), strict=True))
    return [low if place < n_low else found.get(place, high) for place in places]


def count_decimals(numbers: Floats, largest: float) -> int | None:
    """Return how many decimals all numbers can be written with, or None; the first rows usually decide."""
    decimals = 0
    for some in (numbers[:1000], *(numbers[start : start + AT_ONCE] for start in range(0, len(numbers), AT_ONCE))):
        while np.any(np.round(some, decimals) != some):
            decimals += 1
            if decimals > MAX_DECIMALS or largest * 10.0**decimals > EXACT:
                return None
    return decimals


@compiled
def _bin_of(number: Any, low: Any, scale: Any) -> Any:
    """Return the bin of a number: of two numbers, the lower one is in no higher bin."""
    return min(np.int64((number - low) * scale), N_BINS - 1)


@compiled
def _count_bins(numbers: Any, low: Any, high: Any, scale: Any, counts: Any) -> Any:
    """Count the numbers of each bin, those that are the least, and those that are the greatest."""
    n_low, n_high = 0, 0
    for row in range(len(numbers)):
        number = numbers[row]
        n_low += number == low
        n_high += number == high
        counts[_bin_of(number, low, scale)] += 1
    return n_low, n_high


@compiled
def _take_bins(numbers: Any, low: Any, scale: Any, is_wanted: Any, found: Any) -> None:
    """Take the numbers of some bins, of which there are as many as there is room for."""
    n = 0
    for row in range(len(numbers)):
        if is_wanted[_bin_of(numbers[row], low, scale)]:
            found[n] = numbers[row]
            n += 1
