"""Intervals of quantiles: all values that the uncertain share of values below may have put at their place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
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
from likewise.auditing.pairs._gaps import quantile_of_sorted
from likewise.auditing.question._weights import WeightedOrder

Floats = NDArray[np.float64]
N_HALVINGS: Final = 50


def quantile_intervals(
    graph: PairGraph,
    values: Floats,
    ordered: Floats | WeightedOrder,
    shares: Sequence[float],
    *,
    confidence: float,
    most: float,
    around: Callable[[float, float], Interval] | None = None,
) -> list[Interval | None]:
    """Bound quantiles: how uncertain the share of values below one is says how far to look to both sides.

    As far as this share would be off, were the quantile there: rare values may all have been missed, or met by chance.
    Where the look goes beyond the largest value there is, only ``most`` is surely enough; beyond the smallest, only 0.
    ``around`` gives the quantiles of all values, where these are a sample. None where too few people count.
    """
    if graph.n_counting < FEWEST_PEOPLE:
        return [None] * len(shares)
    quantile_of = ordered.quantile if isinstance(ordered, WeightedOrder) else partial(quantile_of_sorted, ordered)
    find = around or (lambda low, high: (quantile_of(low), quantile_of(high)))
    looks = [_Look(share, quantile_of(share)) for share in shares]
    for _ in range(3):  # what is uncertain at the ends counts, too: there may be a cliff between
        asked = [(look, end) for look in looks for end in look.new_ends()]
        if not asked:
            break
        n_trials = _trials_below(graph, values, ordered, [(end, look.share) for look, end in asked])
        for (look, _), n in zip(asked, n_trials, strict=True):
            look.n_trials = min(look.n_trials, n)
        for look in dict.fromkeys(look for look, _ in asked):
            look.places = _places(look.share, look.n_trials, confidence, graph.n_counting)
            look.ends = find(*look.places)
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


def _trials_below(
    graph: PairGraph, values: Floats, ordered: Floats | WeightedOrder, asked: Sequence[tuple[float, float]]
) -> list[float]:
    """Return how many independent trials each share of values below a limit is worth, of a quantile of some share."""
    found = [max(graph.n_counting, 1.0)] * len(asked)
    if isinstance(ordered, WeightedOrder):
        for place, (limit, share) in enumerate(asked):
            for is_below in (np.less_equal, np.less):  # one of them may hold for all, where values repeat
                known = next(graph.contribute_to_shares([is_below(values, limit)]))
                if known.of_one > NOTHING:
                    found[place] = count_trials(share, known)
                    break
        return found
    limits: dict[int, float] = {}
    for place, (limit, _) in enumerate(asked):
        for highest in (limit, np.nextafter(limit, -np.inf)):  # up to one of them may be all, where values repeat
            below = np.searchsorted(ordered, highest, side="right") / len(ordered)
            if below * (1 - below) > NOTHING:
                limits[place] = highest
                break
    of_each = graph.contribute_below(values, [*limits.values()])
    for place, known in zip(limits, of_each, strict=True):
        found[place] = count_trials(asked[place][1], known)
    return found
