"""How often each sensitive group, and each intersection of groups, is selected."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.people._performance import positives_of
from likewise.auditing.question._question import number_combinations
from likewise.auditing.question._scores import Scores
from likewise.exceptions import ScoreError
from likewise.record._internal import GroupRate
from likewise.schema import CodedTable

FAIRLEARN_MEASURES: Final = (
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
)
MIN_PEOPLE: Final = 30  # of a group whose rate counts


def rate_groups(scores: Scores, table: CodedTable) -> tuple[GroupRate, ...]:
    """Rate the groups that each sensitive column parts people into, then those that all columns do together.

    Parameters
    ----------
    scores : Scores
    table : CodedTable
        The people scored, in the same order.

    Returns
    -------
    tuple of GroupRate
        Only of values, and of combinations, that occur; in the order of their codes.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import CodedTable
    >>> from likewise.auditing import Scores, rate_groups
    >>> table = CodedTable(sensitive=[[0], [0], [1], [1]], labels=[0, 1, 0, 1])
    >>> scores = Scores(np.array([0.25, 0.75, 0.75, 1.0]), "binary", decisions=np.array([0, 1, 1, 1]))
    >>> [(rate.values, rate.selection_rate, rate.impact_ratio) for rate in rate_groups(scores, table)]
    [((0,), 0.5, 0.5), ((1,), 1.0, 1.0)]
    """
    _refuse_lengths(scores, table)
    names = table.names["sensitive"]
    families = [(name,) for name in names] + ([names] if len(names) > 1 else [])
    return tuple(rate for columns in families for rate in _rate_family(scores, table, columns))


def impact_ratio(rates: Iterable[GroupRate], *, min_people: int = MIN_PEOPLE) -> float | None:
    """Divide the lowest selection rate of a sensitive column's values by the highest; of several columns, the least.

    Parameters
    ----------
    rates : iterable of GroupRate
        Those of intersections are left aside: the more columns, the fewer people in the smallest group.
    min_people : int
        Groups of fewer people are left aside, too: one person would decide.

    Returns
    -------
    float or None
        None where no column has two groups left, or nobody in them is selected.

    Examples
    --------
    >>> from likewise.auditing import GroupRate, impact_ratio
    >>> impact_ratio([GroupRate(("sex",), ("f",), 90, selection_rate=0.2), GroupRate(("sex",), ("m",), 80, 0.4)])
    0.5
    """
    families: dict[tuple[str, ...], list[float]] = {}
    for rate in rates:
        if len(rate.columns) == 1 and rate.n_people >= min_people and rate.selection_rate is not None:
            families.setdefault(rate.columns, []).append(rate.selection_rate)
    ratios = [min(family) / max(family) for family in families.values() if len(family) > 1 and max(family) > 0]
    return min(ratios, default=None)


def fairlearn_measures(scores: Scores, table: CodedTable) -> dict[str, float]:
    """Measure as fairlearn does, if it is installed, how differently groups are treated, by all sensitive columns.

    Parameters
    ----------
    scores : Scores
    table : CodedTable
        The people scored, in the same order.

    Returns
    -------
    dict of str to float
        Difference and ratio of demographic parity and of equalized odds, as fairlearn defines them: it takes rates of
        groups that lack a label for 0. Those it finds no number for are left out. Nothing without fairlearn, without
        decisions, without sensitive columns, or where there are more than two labels.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import CodedTable
    >>> from likewise.auditing import Scores, fairlearn_measures
    >>> table = CodedTable(sensitive=[[0], [0], [1], [1]], labels=[0, 1, 0, 1])
    >>> scores = Scores(np.array([0.25, 0.75, 0.75, 1.0]), "binary", decisions=np.array([0, 1, 1, 1]))
    >>> fairlearn_measures(scores, table).get("demographic_parity_difference", 0.5)
    0.5
    """
    _refuse_lengths(scores, table)
    if scores.task != "binary" or scores.decisions is None or not len(table) or not table.names["sensitive"]:
        return {}
    if find_spec("fairlearn") is None:
        return {}
    # fairlearn itself would take longer than all the rest of an audit; the tests compare with it
    (group, groups), positive = number_combinations(table), positives_of(scores, table)
    of_whom = (np.ones_like(positive), positive, ~positive)
    rates = [_shares(scores.decisions[who], group[who], len(groups)) for who in of_whom]
    (parity, parity_ratio), (true, true_ratio), (false, false_ratio) = map(_spread_of, rates)
    found = (parity, parity_ratio, max(true, false), min(true_ratio, false_ratio))
    return {name: value for name, value in zip(FAIRLEARN_MEASURES, found, strict=True) if np.isfinite(value)}


def _spread_of(rates: list[float | None]) -> tuple[float, float]:
    """Return difference and ratio of the lowest and the highest rate; groups that lack a label count as 0."""
    lowest, highest = (end(rate or 0.0 for rate in rates) for end in (min, max))
    return highest - lowest, lowest / highest if highest else float("nan")


def _rate_family(scores: Scores, table: CodedTable, columns: tuple[str, ...]) -> list[GroupRate]:
    group, combinations = number_combinations(table, columns)
    n_groups = len(combinations)
    absent: list[float | None] = [None] * n_groups
    means = absent if scores.task == "multiclass" else _shares(scores.values, group, n_groups)
    selected, right, wrong = absent, absent, absent
    if scores.task != "multiclass" and scores.decisions is not None:
        selected = _shares(scores.decisions, group, n_groups)
    if scores.task == "binary" and scores.decisions is not None:
        is_positive = positives_of(scores, table)
        right = _shares(scores.decisions[is_positive], group[is_positive], n_groups)
        wrong = _shares(scores.decisions[~is_positive], group[~is_positive], n_groups)
    highest = max((rate for rate in selected if rate is not None), default=0.0)
    return [
        GroupRate(
            columns=columns,
            values=values,
            n_people=n_people,
            selection_rate=rate,
            impact_ratio=rate / highest if rate is not None and highest else None,
            true_positive_rate=true_positive,
            false_positive_rate=false_positive,
            mean_score=mean,
        )
        for values, n_people, rate, true_positive, false_positive, mean in zip(
            combinations, np.bincount(group, minlength=n_groups).tolist(), selected, right, wrong, means, strict=True
        )
    ]


def _shares(amounts: NDArray[Any], group: NDArray[np.int64], n_groups: int) -> list[float | None]:
    """Average by group; None for a group that has nobody."""
    sums, counts = np.bincount(group, amounts, n_groups), np.bincount(group, minlength=n_groups)
    return [float(total / count) if count else None for total, count in zip(sums, counts, strict=True)]


def _refuse_lengths(scores: Scores, table: CodedTable) -> None:
    if len(scores) != len(table):
        raise ScoreError(
            f"The scores are {len(scores):,}, but the table has {len(table):,} rows. Give one per row, in order."
        )
