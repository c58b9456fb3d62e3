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
    """Part 0 to the largest gap by the smallest round step that gives no more than 50 bins; there are 21 at least.

    Parameters
    ----------
    largest : float
        Where it is 0, or no number, bins reach to 1.

    Returns
    -------
    array of float
        One edge more than there are bins.

    Examples
    --------
    >>> from likewise.auditing._internal import round_edges
    >>> round_edges(0.38)[[0, 1, 2, -1]].tolist()
    [0.0, 0.01, 0.02, 0.38]
    """
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
    """Find the bin of each value.

    A value on an edge is in the bin that begins there, the last edge's in the last bin; 0.9 - 0.8, which is a little
    less than 0.1 in floats, is on the edge 0.1, on every machine.

    Parameters
    ----------
    values : array of float
    edges : array of float
        Equally far apart, as :func:`round_edges` gives them.

    Returns
    -------
    array of int

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.auditing._internal import place_in_bins
    >>> place_in_bins(np.array([0.0, 0.9 - 0.8, 0.2]), np.array([0.0, 0.1, 0.2])).tolist()
    [0, 1, 1]
    """
    n_bins = len(edges) - 1
    step = (edges[-1] - edges[0]) / n_bins
    places: Counts = np.clip((values - edges[0]) / step + GAP_TOLERANCE, 0, n_bins - 1).astype(np.int64)
    return places


def count_by_group(values: Floats, groups: NDArray[np.integer], n_groups: int, edges: Floats) -> Counts:
    """Count values by group and bin, shape (n_groups, n_bins)."""
    n_bins = len(edges) - 1
    numbers = groups * n_bins + place_in_bins(values, edges)
    return np.bincount(numbers, minlength=n_groups * n_bins).reshape(n_groups, n_bins)


def count_in_bins(values: Floats, edges: Floats) -> Counts:
    """Count values by bin."""
    counts: Counts = count_by_group(values, np.zeros(len(values), np.int64), 1, edges)[0]
    return counts
