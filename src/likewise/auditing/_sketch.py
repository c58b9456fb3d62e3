"""Quantiles of any number of gaps from counts in narrow buckets: mergeable in any order, within a stated error.

Every power of two is parted into 512 equal buckets, so a bucket's middle is within 1/1024 of whatever lies in it. The
bucket of a number is the front of its bits: no logarithm that another machine might round differently.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._gaps import GAP_TOLERANCE
from likewise.auditing._histograms import round_edges

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

SKETCH_ERROR: Final = 0.001  # of a quantile, relative: 1/1024, told as a round number
DROPPED_BITS: Final = 43  # of the 52 behind the point; 9 remain for 512 buckets
FIRST: Final = int(np.float64(GAP_TOLERANCE).view(np.int64)) >> DROPPED_BITS
FINE_DIGITS: Final = 5  # of the largest gap there can be: so finely are gaps counted for charts


def count_buckets(largest: float) -> int:
    """Say how many buckets reach from 0 to the largest gap there can be."""
    return int(place_in_buckets(np.array([largest], np.float64))[0]) + 1


def place_in_buckets(values: Floats) -> Counts:
    """Find the bucket of each value: 0 for those that differ from nothing by rounding only."""
    fronts = np.ascontiguousarray(values, np.float64).view(np.int64) >> DROPPED_BITS
    return np.where(values <= GAP_TOLERANCE, 0, fronts - FIRST + 1)


def middles(buckets: NDArray[np.integer[Any]]) -> Floats:
    """Give the number that stands for all in a bucket."""
    fronts = buckets.astype(np.int64) - 1 + FIRST
    low, high = ((front << DROPPED_BITS).view(np.float64) for front in (fronts, fronts + 1))
    return np.where(buckets == 0, 0.0, low + (high - low) / 2)


def quantile_of_counts(counts: Counts, share: float, largest: float) -> float:
    """Interpolate between the two nearest values as if they were all there, each known by its bucket.

    ``largest`` is the largest value there is: no quantile is beyond it.
    """
    ends = np.cumsum(counts)
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
    """Say how many fine bins there are; the largest gap is in the last of them."""
    top = largest if np.isfinite(largest) and largest > GAP_TOLERANCE else 1.0
    return int(np.ceil(top / fine_step(largest))) + 1


def merge_fine(counts: Counts, step: float, edges: Floats) -> Counts:
    """Add up fine bins to the bins between ``edges``, along the last axis."""
    n_bins, ratio = len(edges) - 1, round((edges[1] - edges[0]) / step)
    filled = np.zeros((*counts.shape[:-1], max(n_bins * ratio, counts.shape[-1])), np.int64)
    filled[..., : counts.shape[-1]] = counts
    merged: Counts = filled[..., : n_bins * ratio].reshape(*counts.shape[:-1], n_bins, ratio).sum(axis=-1)
    merged[..., -1] += filled[..., n_bins * ratio :].sum(axis=-1)  # the last edge is in the last bin
    return merged


def coarsest_edges(largest: float, step: float) -> Floats:
    """Give round edges up to the largest gap seen, none nearer to each other than the fine bins are."""
    edges = round_edges(largest)
    if round((edges[1] - edges[0]) / step):
        return edges
    power = round(np.log10(step))  # through text, for the nearest floats
    return np.array([float(f"{place}e{power}") for place in range(max(int(np.ceil(largest / step)), 1) + 1)])
