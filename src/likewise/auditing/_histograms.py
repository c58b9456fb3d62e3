"""Values counted in bins with round edges, so that a chart needs no pair."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._gaps import GAP_TOLERANCE

MOST_BINS: Final = 50
STEPS: Final = (1, 2, 5)  # times a power of ten

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def round_edges(largest: float) -> Floats:
    """Part 0 to ``largest`` by the smallest round step that gives no more than 50 bins; there are 21 at least."""
    if not np.isfinite(largest) or largest <= GAP_TOLERANCE:
        largest = 1.0  # nobody differs: shown against all that a gap between two probabilities can be
    power = int(np.floor(np.log10(largest / MOST_BINS)))
    steps = ((step, shift) for shift in (power - 1, power, power + 1, power + 2) for step in STEPS)
    step, power = next((step, shift) for step, shift in steps if _count_bins(largest, step, shift) <= MOST_BINS)
    # through text: the float nearest to 0.06, where 3 times 0.02 is 0.06000000000000001 at times
    return np.array([float(f"{place * step}e{power}") for place in range(_count_bins(largest, step, power) + 1)])


def _count_bins(largest: float, step: int, power: int) -> int:
    return int(np.ceil(largest / float(f"{step}e{power}") - GAP_TOLERANCE))


def count_by_group(values: Floats, groups: NDArray[np.integer], n_groups: int, edges: Floats) -> Counts:
    """Count values by group and bin, shape (n_groups, n_bins).

    A value on an edge is in the bin that begins there, the last edge's in the last bin; 0.9 - 0.8, which is a little
    less than 0.1 in floats, is on the edge 0.1, on every machine.
    """
    n_bins = len(edges) - 1
    step = (edges[-1] - edges[0]) / n_bins
    places = np.clip((values - edges[0]) / step + GAP_TOLERANCE, 0, n_bins - 1).astype(np.int64)
    return np.bincount(groups * n_bins + places, minlength=n_groups * n_bins).reshape(n_groups, n_bins)


def count_in_bins(values: Floats, edges: Floats) -> Counts:
    """Count values by bin."""
    counts: Counts = count_by_group(values, np.zeros(len(values), np.int64), 1, edges)[0]
    return counts
