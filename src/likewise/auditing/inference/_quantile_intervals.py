"""Intervals of quantiles: all values that the uncertain share of values below may have put at their place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.inference._intervals import (
    FEWEST_PEOPLE,
    ROUNDING,
    Interval,
    PairGraph,
    reach_of_student,
)

Floats = NDArray[np.float64]


def quantile_intervals(
    graph: PairGraph,
    values: Floats,
    quantile_of: Callable[[float], float],
    shares: Sequence[float],
    *,
    confidence: float,
    most: float,
    around: Callable[[float, float], Interval],
) -> list[Interval | None]:
    """Bound quantiles: how uncertain the share of values below one is says how far to look to both sides.

    As far as this share would be off, were the quantile there: rare values may all have been missed, or met by chance.
    Where the look goes beyond the largest value there is, only ``most`` is surely enough; beyond the smallest, only 0.
    ``around`` gives two quantiles of all values, of which these may be a sample. None where too few people count.
    """
    if graph.n < FEWEST_PEOPLE - ROUNDING:
        return [None] * len(shares)
    looks = [_Look(share, quantile_of(share)) for share in shares]
    for _ in range(3):  # what is uncertain at the ends counts, too: there may be a cliff between
        asked = [(look, end) for look in looks for end in look.new_ends()]
        if not asked:
            break
        for look, end in asked:
            look.n_trials = min(look.n_trials, _trials_below(graph, values, end))
        for look in dict.fromkeys(look for look, _ in asked):
            look.places = _places(look.share, look.n_trials, confidence, graph.n)
            look.ends = around(*look.places)
    return [look.interval(most) for look in looks]


class _Look:
    """How far it was looked to both sides of a quantile."""

    def __init__(self, share: float, quantile: float) -> None:
        self.share, self.n_trials = share, math.inf
        self.ends, self.places = (quantile, quantile), (share, share)
        self._tried: set[float] = set()

    def new_ends(self) -> set[float]:
        """Return the ends that were not looked at before, as they are from now on."""
        ends = {*self.ends} - self._tried
        self._tried |= ends
        return ends

    def interval(self, most: float) -> Interval:
        """Return the ends, and what is surely enough where there are no values to look at."""
        (low, high), (lowest, highest) = self.places, self.ends
        return lowest if low > 0 else 0.0, highest if high < 1 else max(most, highest)


def _places(share: float, n_trials: float, confidence: float, n_counting: float) -> Interval:
    """Return between which shares of sorted values a quantile is: those of order statistics, 0 and 1 where none does.

    Of n independent values the u-th is below the quantile as often as at least u of n trials succeed. As n is an
    estimate and no whole number, the ends go half a trial further.
    """
    from scipy.special import bdtrik, ndtr

    n = max(n_trials, 1.0)
    tail = float(ndtr(-reach_of_student(min(n, n_counting), confidence)))
    low = max(float(bdtrik(tail, n, share)) - 0.5, 0.0) / n if (1 - share) ** n < tail else 0.0
    high = min(float(bdtrik(1 - tail, n, share)) + 1.5, n) / n if share**n < tail else 1.0
    return low, high


def _trials_below(graph: PairGraph, values: Floats, limit: float) -> float:
    """Return how many independent trials the share of values below a limit is worth."""
    for is_below in (np.less_equal, np.less):  # one of them may hold for all, where values repeat
        holds = is_below(values, limit)
        found, below = graph.influence(holds), graph.mean(holds)
        if found.error:
            return max(below * (1 - below) / found.variance, 1.0)
    return max(graph.n, 1.0)
