"""Selection and scoring rates among people whose group is known, as a bias audit of hiring tools counts them."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.question._question import number_combinations
from likewise.auditing.question._scores import Scores
from likewise.auditing.question._weights import WeightedOrder
from likewise.record._internal import KnownGroup, KnownGroups, UnknownCount
from likewise.schema import CodedTable

MOST_COLUMNS: Final = 5  # sensitive ones, of which all intersections of two are rated
FEWEST_SCORES: Final = 3  # different ones: decisions have no median to be above


def rate_known_groups(scores: Scores, table: CodedTable) -> KnownGroups | None:
    """Rate the groups by each sensitive column, by each two, and by all; None where people have a score per class.

    The highest rate, by which the others are divided, is that of a group without an unknown (missing) value, and only
    such groups are rated; people with an unknown value are counted.
    """
    names = table.names["sensitive"]
    if scores.values.ndim > 1 or not names:
        return None
    twos = list(combinations(names, 2)) if len(names) <= MOST_COLUMNS else []
    families = list(dict.fromkeys([*((name,) for name in names), *twos, names]))
    median, above = None, None
    if len(np.unique(scores.values[scores.counting])) >= FEWEST_SCORES:
        median = _median(scores)
        above = scores.sign * (scores.values - median) > 0
    groups: list[KnownGroup] = []
    unknown: list[UnknownCount] = []
    for columns in families:
        numbers, values = number_combinations(table, columns)
        is_known = np.array([None not in one for one in values], np.bool_)
        unknown.append(UnknownCount(columns, int(np.count_nonzero(~is_known[numbers] & scores.counting))))
        groups += _rate(columns, numbers, values, is_known, (scores.decisions, above), scores)
    return KnownGroups(median, tuple(groups), tuple(unknown))


def _median(scores: Scores) -> float:
    if scores.weights is None:
        return float(np.median(scores.values))
    return WeightedOrder.of(scores.values, scores.weights).quantile(0.5)


def _rate(
    columns: tuple[str, ...],
    numbers: NDArray[np.int64],
    values: list[tuple[Any, ...]],
    is_known: NDArray[np.bool_],
    selected: tuple[NDArray[Any] | None, NDArray[np.bool_] | None],  # by decision, and by the median score
    scores: Scores,
) -> list[KnownGroup]:
    """Rate known groups by the weights of people; numbers of people are as they are."""
    n_people, counting = np.bincount(numbers[scores.counting], minlength=len(values)), scores.counting
    counts = [None if one is None else np.bincount(numbers, one * counting, len(values)) for one in selected]
    rates = [None if one is None else one / np.maximum(n_people, 1) for one in counts]
    if scores.weights is not None:
        totals = np.maximum(np.bincount(numbers, scores.weights, len(values)), np.finfo(np.float64).tiny)
        sums = (None if one is None else np.bincount(numbers, one * scores.weights, len(values)) for one in selected)
        rates = [None if one is None else one / totals for one in sums]
    highest = [None if one is None else float(one[is_known].max(initial=0.0)) for one in rates]
    found = []
    for place in np.flatnonzero(is_known & (n_people > 0)).tolist():
        selection, scoring = (None if one is None else float(one[place]) for one in rates)
        ratios = [
            None if rate is None or not most else rate / most
            for rate, most in zip((selection, scoring), highest, strict=True)
        ]
        found.append(
            KnownGroup(
                columns=columns,
                values=values[place],
                n_people=int(n_people[place]),
                n_selected=None if counts[0] is None else round(float(counts[0][place])),
                selection_rate=selection,
                impact_ratio=ratios[0],
                n_above=None if counts[1] is None else round(float(counts[1][place])),
                scoring_rate=scoring,
                scoring_ratio=ratios[1],
            )
        )
    return found
