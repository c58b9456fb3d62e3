"""What is uncertain about rank gaps besides the pairs: everybody's rank depends on all other people."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._ranking import Levels, Ranking
from likewise.auditing.inference._intervals import Interval
from likewise.auditing.question._weights import Weights

Floats = NDArray[np.float64]
Rows = NDArray[np.integer]
COMMON: Final = 5  # of n people with n scores, about one in n pairs has a certain rank gap, and hardly five


def allow_for_ranks(
    interval: Interval, quantile: float, ordered: Floats, n_people: float, confidence: float
) -> Interval:
    """Widen the interval of a quantile of rank gaps: a rank gap is a share of people, and uncertain as such.

    Where scores repeat, many pairs have one and the same rank gap, and the ends of the interval move with it.
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    reach = z * math.sqrt(max(quantile * (1 - quantile), 0.0) / n_people)
    low, high = (
        quantile - math.hypot(quantile - interval[0], reach),
        quantile + math.hypot(interval[1] - quantile, reach),
    )
    starts = np.searchsorted(ordered, interval, side="left")
    ends = np.searchsorted(ordered, interval, side="right")
    # an end between two gaps stands for the further one
    places = max(int(ends[0]) - 1, 0), min(int(starts[1]), len(ordered) - 1)
    for place, sign in zip(places, (-1, 1), strict=True):
        gap = float(ordered[place])
        n_equal = int(np.diff(np.searchsorted(ordered, [gap, np.nextafter(gap, 2.0)]))[0])
        if n_equal * n_people > COMMON * len(ordered):
            moved = gap + sign * z * math.sqrt(gap * (1 - gap) / n_people)
            low, high = (min(low, moved), high) if sign < 0 else (low, max(high, moved))
    return max(low, 0.0), min(high, 1.0)


def contribute_to_ranks(
    left: Rows, right: Rows, ranks: Floats, weights: Weights, people: Weights, ranking: Ranking | None = None
) -> Floats:
    """Return what people contribute to a mean rank gap by standing between the two of a pair, whoever they are.

    Of several columns of ranks a pair's rank gap is the largest one, so it counts in that column. ``weights`` are those
    of the pairs, ``people`` those of everybody, and ``ranking`` is that of the ranks, where it is known.
    """
    columns, ranking = ranks.reshape(len(ranks), -1), ranking or Ranking(ranks)
    found = np.zeros(len(columns))
    chosen = np.zeros(len(left), np.intp)
    if columns.shape[1] > 1:
        chosen = np.abs(columns[left] - columns[right]).argmax(axis=1)
    for number in range(columns.shape[1]):
        levels = ranking.levels(number)
        own = slice(None) if columns.shape[1] == 1 else chosen == number
        lows, highs = _add_to_levels(levels, left[own], right[own], weights.take(own))
        opened = np.append(0, lows[:-1]) - highs  # after a level, up to and with the next
        found += (np.cumsum(opened) + (lows + highs) / 2)[levels.of_rows]
    found /= weights.total or 1.0
    around = found - people.mean(found) if len(found) else found
    by_person: Floats = people.times(around) / (people.total or 1.0)
    return by_person


def _add_to_levels(levels: Levels, left: Rows, right: Rows, weights: Weights) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return how many pairs begin at each level, and how many end there, by their weights; none at one level alone."""
    first, second = levels.of_rows[left], levels.of_rows[right]
    apart = first != second
    low, high = np.minimum(first, second)[apart], np.maximum(first, second)[apart]
    weights = weights.take(apart)
    return weights.counts(low, levels.n), weights.counts(high, levels.n)
