"""What is uncertain about rank gaps besides the pairs: everybody's rank depends on all other people."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._ranking import Levels, Ranking
from likewise.auditing.question._weights import Weights

Floats = NDArray[np.float64]
Rows = NDArray[np.integer]


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
