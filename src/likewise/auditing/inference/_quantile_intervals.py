"""Confidence intervals of quantiles: all values that as many independent trials may have put at their place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.inference._intervals import (
    FEWEST_PEOPLE,
    NOTHING,
    Contributions,
    Interval,
    PairGraph,
    count_trials,
    standard_errors,
)
from likewise.auditing.pairs._gaps import quantile_of_sorted
from likewise.auditing.question._weights import WeightedOrder

Floats = NDArray[np.float64]
N_HALVINGS: Final = 50
MOST_LOOKS: Final = 3


@dataclass(slots=True)
class _Bounds:
    """What is known so far of the interval of one quantile."""

    share: float
    places: Interval  # shares of values, between whose quantiles it is
    ends: Interval  # these quantiles
    n_trials: float = math.inf
    tried: set[float] = field(default_factory=set)

    @property
    def untried(self) -> set[float]:
        """The ends that no trials were counted at."""
        return {*self.ends} - self.tried


def quantile_intervals(
    graph: PairGraph,
    values: Floats,
    ordered: Floats | WeightedOrder,
    shares: tuple[float, ...],
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
    known = [_Bounds(share, (share, share), (quantile_of(share),) * 2) for share in shares]
    for _ in range(MOST_LOOKS):  # what is uncertain at the ends counts, too: there may be a cliff between
        limits = sorted(set().union(*(one.untried for one in known)))
        if not limits:
            break
        found = dict(zip(limits, _contribute_below(graph, values, limits), strict=True))
        for one in known:
            if not (ends := one.untried):
                continue
            one.tried |= ends
            one.n_trials = min(one.n_trials, *(_count_trials(graph, one.share, found[end]) for end in ends))
            one.places = _places(one.share, one.n_trials, confidence, graph.n_counting)
            one.ends = find(*one.places)
    return [
        (one.ends[0] if one.places[0] > 0 else 0.0, one.ends[1] if one.places[1] < 1 else max(most, one.ends[1]))
        for one in known
    ]


def _places(share: float, n_trials: float, confidence: float, n_counting: float) -> Interval:
    """Return between which shares of sorted values a quantile is: those of order statistics, 0 and 1 where none does.

    Of n independent values the u-th is below the quantile as often as at least u of n trials succeed. As n is an
    estimate and no whole number, the ends go half a trial further.
    """
    from scipy.special import betainc, ndtr

    n = max(n_trials, 1.0)
    tail = float(ndtr(-standard_errors(min(n, n_counting), confidence)))

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


def _contribute_below(graph: PairGraph, values: Floats, limits: list[float]) -> list[Contributions]:
    """Return what people contribute to the share of values up to each limit; below it, where that holds for all."""
    return [
        found if found.of_one > NOTHING else graph.contribute_to_share(values < limit)
        for limit, found in zip(limits, graph.contribute_to_shares_below(values, limits), strict=True)
    ]


def _count_trials(graph: PairGraph, share: float, below: Contributions) -> float:
    """Return how many independent trials the share of values below a limit is worth."""
    return count_trials(share, below) if below.of_one > NOTHING else max(graph.n_counting, 1.0)
