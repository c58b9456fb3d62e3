"""Gaps counted in bins: narrow ones that quantiles are read from, and round ones for charts.

For quantiles, every power of two is split into 512 equal buckets, so that the middle of a bucket is within 1/1024 of
everything in it. The bucket of a number is the front of its bits: no logarithm that another machine might round
differently. Counts can be merged in any order.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.pairs._gaps import GAP_TOLERANCE
from likewise.auditing.question._weights import place_of_share

MOST_BINS: Final = 50
STEPS: Final = (1, 2, 5)  # times a power of ten
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
SKETCH_ERROR: Final = 0.001  # of a quantile, relative: 1/1024, told as a round number
DROPPED_BITS: Final = 43  # of the 52 behind the point; 9 remain for 512 buckets
FIRST: Final = int(np.float64(GAP_TOLERANCE).view(np.int64)) >> DROPPED_BITS
FINE_DIGITS: Final = 5  # of the largest gap there can be: so finely are gaps counted for charts


def round_edges(largest: float) -> Floats:
    """Return round edges of 21 to 50 equal bins from 0 to the largest gap; to 1 where that is 0 or no number."""
    if not np.isfinite(largest) or largest <= GAP_TOLERANCE:
        largest = 1.0  # nobody differs: shown against all that a gap between two probabilities can be
    power = int(np.floor(np.log10(largest / MOST_BINS)))
    steps = ((step, shift) for shift in (power - 1, power, power + 1, power + 2) for step in STEPS)
    step, power = next((step, shift) for step, shift in steps if _count_bins(largest, step, shift) <= MOST_BINS)
    # through text: the float nearest to 0.06, where 3 times 0.02 is 0.06000000000000001 at times
    return np.array([float(f"{place * step}e{power}") for place in range(_count_bins(largest, step, power) + 1)])


def _count_bins(largest: float, step: int, power: int) -> int:
    return int(np.ceil(largest / float(f"{step}e{power}") - GAP_TOLERANCE))


def place_in_bins(values: Floats, edges: Floats) -> Counts:
    """Return the bin of each value; ``edges`` are equally far apart.

    A value on an edge is in the bin that begins there, the last edge's in the last bin; 0.9 - 0.8, which is a little
    less than 0.1 in floats, is on the edge 0.1, on every machine.
    """
    n_bins = len(edges) - 1
    step = (edges[-1] - edges[0]) / n_bins
    places: Counts = np.clip((values - edges[0]) / step + GAP_TOLERANCE, 0, n_bins - 1).astype(np.int64)
    return places


def count_by_group(
    values: Floats, groups: NDArray[np.integer], n_groups: int, edges: Floats, weights: Floats | None = None
) -> NDArray[Any]:
    """Count values by group and bin, or sum up their weights; shape (n_groups, n_bins)."""
    n_bins = len(edges) - 1
    numbers = groups * n_bins + place_in_bins(values, edges)
    return np.bincount(numbers, weights, n_groups * n_bins).reshape(n_groups, n_bins)


def count_in_bins(values: Floats, edges: Floats, weights: Floats | None = None) -> NDArray[Any]:
    """Count values by bin, or sum up their weights."""
    counts: NDArray[Any] = count_by_group(values, np.zeros(len(values), np.int64), 1, edges, weights)[0]
    return counts


def count_buckets(largest: float) -> int:
    """Return how many buckets reach from 0 to the largest possible gap."""
    return int(place_in_buckets(np.array([largest], np.float64))[0]) + 1


def place_in_buckets(values: Floats) -> Counts:
    """Find the bucket of each value: 0 for those that differ from nothing by rounding only."""
    fronts = np.ascontiguousarray(values, np.float64).view(np.int64) >> DROPPED_BITS
    return np.where(values <= GAP_TOLERANCE, 0, fronts - FIRST + 1)


def middles(buckets: NDArray[np.integer[Any]]) -> Floats:
    """Return the middle of each bucket."""
    fronts = buckets.astype(np.int64) - 1 + FIRST
    low, high = ((front << DROPPED_BITS).view(np.float64) for front in (fronts, fronts + 1))
    return np.where(buckets == 0, 0.0, low + (high - low) / 2)


def quantile_of_counts(counts: NDArray[Any], share: float, largest: float) -> float:
    """Interpolate between the two nearest values as if they were all there, each known by its bucket.

    ``largest`` is the largest value there is: no quantile is beyond it. Of weights in place of counts, the quantile is
    the least value that at least this share of the weight is at or below.
    """
    ends = np.cumsum(counts)
    if counts.dtype.kind == "f":
        return min(float(middles(np.array([place_of_share(ends, share)]))[0]), largest)
    place = share * (int(ends[-1]) - 1)
    low = int(place)
    buckets = np.searchsorted(ends, [low, min(low + 1, int(ends[-1]) - 1)], side="right")
    one, other = np.minimum(middles(buckets), largest).tolist()
    return float(one + (other - one) * (place - low))


def fine_step(largest: float) -> float:
    """Choose the power of ten that gaps are counted in, before it is known how large they are."""
    top = largest if np.isfinite(largest) and largest > GAP_TOLERANCE else 1.0
    return float(f"1e{int(np.ceil(np.log10(top))) - FINE_DIGITS}")


def count_fine(largest: float) -> int:
    """Return how many fine bins there are; the largest gap is in the last of them."""
    top = largest if np.isfinite(largest) and largest > GAP_TOLERANCE else 1.0
    return int(np.ceil(top / fine_step(largest))) + 1


def merge_fine(counts: NDArray[Any], step: float, edges: Floats) -> NDArray[Any]:
    """Add up fine bins to the bins between ``edges``, along the last axis."""
    n_bins, ratio = len(edges) - 1, round((edges[1] - edges[0]) / step)
    filled = np.zeros((*counts.shape[:-1], max(n_bins * ratio, counts.shape[-1])), counts.dtype)
    filled[..., : counts.shape[-1]] = counts
    merged: NDArray[Any] = filled[..., : n_bins * ratio].reshape(*counts.shape[:-1], n_bins, ratio).sum(axis=-1)
    merged[..., -1] += filled[..., n_bins * ratio :].sum(axis=-1)  # the last edge is in the last bin
    return merged


def coarsest_edges(largest: float, step: float) -> Floats:
    """Return round edges up to the largest gap seen, no closer together than the fine bins."""
    edges = round_edges(largest)
    if round((edges[1] - edges[0]) / step):
        return edges
    power = round(np.log10(step))  # through text, for the nearest floats
    return np.array([float(f"{place}e{power}") for place in range(max(int(np.ceil(largest / step)), 1) + 1)])
