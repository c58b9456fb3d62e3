"""Intervals of quantiles: all values that the uncertain share of values below may have put at their place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.inference._intervals import (
    FEWEST_PEOPLE,
    NOTHING,
    Interval,
    PairGraph,
    count_trials,
    reach_of_student,
)

Floats = NDArray[np.float64]
N_HALVINGS: Final = 50


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
    if graph.n_counting < FEWEST_PEOPLE:
        return [None] * len(shares)
    looks = [_Look(share, quantile_of(share)) for share in shares]
    for _ in range(3):  # what is uncertain at the ends counts, too: there may be a cliff between
        asked = [(look, end) for look in looks for end in look.new_ends()]
        if not asked:
            break
        for look, end in asked:
            look.n_trials = min(look.n_trials, _trials_below(graph, values, end, look.share))
        for look in dict.fromkeys(look for look, _ in asked):
            look.places = _places(look.share, look.n_trials, confidence, graph.n_counting)
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
    from scipy.special import betainc, ndtr

    n = max(n_trials, 1.0)
    tail = float(ndtr(-reach_of_student(min(n, n_counting), confidence)))

    def find_place(chance: float) -> float:
        """Halve what is between the ends; scipy's own search takes a fifth of a second to import."""
        least, most = 1.0, n
        for _ in range(N_HALVINGS):
            middle = (least + most) / 2
            least, most = (middle, most) if betainc(middle, n - middle + 1, share) > chance else (least, middle)
        return least

    low, high = 0.0, 1.0
    if (1 - share) ** n < tail:
        low = max(find_place(1 - tail) - 1.5, 0.0) / n
    if share**n < tail:
        high = min(find_place(tail) + 0.5, n) / n
    return low, high


def _trials_below(graph: PairGraph, values: Floats, limit: float, share: float) -> float:
    """Return how many independent trials the share of values below a limit is worth, of a quantile of some share."""
    for is_below in (np.less_equal, np.less):  # one of them may hold for all, where values repeat
        found = graph.contribute_to_share(is_below(values, limit))
        if found.of_one > NOTHING:
            return count_trials(share, found)
    return max(graph.n_counting, 1.0)
