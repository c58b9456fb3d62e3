"""How often each sensitive group, and each intersection of groups, is selected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations as choose
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.inference._intervals import Interval, interval_of_share
from likewise.auditing.people._bounds import count_trials
from likewise.auditing.people._performance import positives_of
from likewise.auditing.question._question import number_combinations
from likewise.auditing.question._reference import Reference
from likewise.auditing.question._scores import Scores
from likewise.exceptions import ScoreError
from likewise.record._internal import GroupRate, Measure
from likewise.schema import CodedTable

FAIRLEARN_MEASURES: Final = (
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
)
MIN_PEOPLE: Final = 30  # of a group whose rate counts
MOST_COLUMNS: Final = 5  # sensitive ones, of which all intersections of two are rated
FEWEST_SCORES: Final = 3  # different ones: decisions have no median to be above


def rate_groups(
    scores: Scores, table: CodedTable, *, reference: Any = None, confidence: float | None = None
) -> tuple[GroupRate, ...]:
    """Rate the groups that each sensitive column parts people into, then those that each two do, and all together.

    Of more than five sensitive columns, intersections of two are left out.

    Parameters
    ----------
    scores : Scores
        With the weights of people, where they have any.
    table : CodedTable
        The people scored, in the same order.
    reference : optional
        Control values, as for :func:`likewise.audit`, whose rate the others' are divided by; by default the highest.
    confidence : float, optional
        Of the intervals of rates and ratios; none are computed by default.

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
    twos = choose(names, 2) if len(names) <= MOST_COLUMNS else ()
    families = dict.fromkeys([*((name,) for name in names), *twos, *([names] if names else [])])
    control, above = Reference.of(reference, table), _above_median(scores)
    return tuple(
        rate for columns in families for rate in _rate_family(scores, above, table, columns, control, confidence)
    )


def _above_median(scores: Scores) -> NDArray[np.bool_] | None:
    """Return who is on the favourable side of the median score; None where scores are decisions, or one per class."""
    if scores.values.ndim > 1 or len(np.unique(scores.values[scores.counting])) < FEWEST_SCORES:
        return None
    return scores.sign * (scores.values - scores.weighing.quantile(scores.values, 0.5)) > 0


def impact_ratio(rates: Iterable[GroupRate], *, min_people: int = MIN_PEOPLE) -> float | None:
    """Divide the lowest selection rate of a sensitive column's values by the highest; of several columns, the least.

    Where a column has reference groups, divide by the rate of these instead.

    Parameters
    ----------
    rates : iterable of GroupRate
        Those of intersections are left aside: the more columns, the fewer people in the smallest group.
    min_people : int
        Groups of fewer people are left aside, too, by their effective number where they are weighted: one person would
        decide.

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
    found = _least_ratio(rates, min_people)
    return None if found is None else found[0].rate / found[1].rate


def measure_impact(rates: Iterable[GroupRate], n_people: int, confidence: float | None) -> Measure:
    """Measure the adverse impact ratio of :func:`impact_ratio`, with its interval.

    That holds for two groups which were named before; where the lowest rate of many is compared with the highest, it
    does not allow for that choice.
    """
    found = _least_ratio(rates, MIN_PEOPLE)
    if found is None:
        return Measure(None, n=n_people)
    ratio = found[0].rate / found[1].rate
    if confidence is None:
        return Measure(ratio, n=n_people)
    return Measure(ratio, *bound_ratio(*found, confidence), n=n_people)


@dataclass(frozen=True, slots=True)
class _Selected:
    """Which share of how many people is selected; of an effective number, where they are weighted or in clusters."""

    rate: float
    n: float

    @classmethod
    def of(cls, groups: Sequence[GroupRate]) -> _Selected:
        """Put groups together."""
        known = [(one, one.n_people if one.weight is None else one.weight) for one in groups]
        rate = sum((one.selection_rate or 0.0) * weight for one, weight in known)
        sizes = [one.n_people if one.n_effective is None else one.n_effective for one in groups]
        squares = sum(weight**2 / (size or 1.0) for (_, weight), size in zip(known, sizes, strict=True))
        total = sum(weight for _, weight in known)
        return cls(rate / (total or 1.0), total**2 / (squares or 1.0))


def _least_ratio(rates: Iterable[GroupRate], min_people: int) -> tuple[_Selected, _Selected] | None:
    """Find the group that is selected least, compared with the control group, or with the one selected most."""
    families: dict[tuple[str, ...], list[GroupRate]] = {}
    rates = list(rates)
    has_control = {rate.columns for rate in rates if rate.is_reference}
    for rate in rates:
        n = rate.n_people if rate.weight is None else min(rate.n_people, rate.n_effective or 0.0)
        if len(rate.columns) == 1 and n >= min_people and rate.selection_rate is not None:
            families.setdefault(rate.columns, []).append(rate)
    found = []
    for columns, family in families.items():
        ordered = sorted(family, key=lambda one: one.selection_rate or 0.0)
        controls = [one for one in family if one.is_reference]
        controls = controls if columns in has_control else ordered[-1:]  # a control group may be too small
        targets = [one for one in ordered if one not in controls]
        control = _Selected.of(controls)
        if targets and control.rate > 0:
            found.append((_Selected.of(targets[:1]), control))
    return min(found, key=lambda both: both[0].rate / both[1].rate, default=None)


def bound_ratio(one: _Selected, other: _Selected, confidence: float) -> Interval:
    """Bound the ratio of two rates: the delta method on its logarithm, with a half added to each count."""
    from scipy.special import ndtri

    chosen, others = one.rate * one.n + 0.5, other.rate * other.n + 0.5
    n, n_others = one.n + 0.5, other.n + 0.5
    error = math.sqrt(max(1 / chosen - 1 / n + 1 / others - 1 / n_others, 0.0))
    reach, middle = float(ndtri((1 + confidence) / 2)) * error, (chosen / n) / (others / n_others)
    ratio = one.rate / other.rate
    return min(middle * math.exp(-reach), ratio), max(middle * math.exp(reach), ratio)


def fairlearn_measures(scores: Scores, table: CodedTable) -> dict[str, float]:
    """Measure as fairlearn does how differently groups are treated, by all sensitive columns.

    Parameters
    ----------
    scores : Scores
    table : CodedTable
        The people scored, in the same order.

    Returns
    -------
    dict of str to float
        Difference and ratio of demographic parity and of equalized odds, as fairlearn defines them, of approvals and of
        the favourable label, which need not be the positive one. Rates of groups that lack a label are taken for 0.
        Those without a number are left out. Nothing without decisions, without sensitive columns, or where there are
        more than two labels. Without labels there are no equalized odds.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import CodedTable
    >>> from likewise.auditing import Scores, fairlearn_measures
    >>> table = CodedTable(sensitive=[[0], [0], [1], [1]], labels=[0, 1, 0, 1])
    >>> scores = Scores(np.array([0.25, 0.75, 0.75, 1.0]), "binary", decisions=np.array([0, 1, 1, 1]))
    >>> fairlearn_measures(scores, table)["demographic_parity_difference"]
    0.5
    """
    _refuse_lengths(scores, table)
    if scores.task != "binary" or scores.decisions is None or not len(table) or not table.names["sensitive"]:
        return {}
    group, groups = number_combinations(table)
    found = [*_spread_of(_shares(scores.decisions, group, len(groups), scores.weights))]
    if scores.has_labels:
        rates = [_shares(scores.decisions, group, len(groups), scores.weights, who) for who in _by_merit(scores, table)]
        (true, true_ratio), (false, false_ratio) = map(_spread_of, rates)
        found += [max(true, false), min(true_ratio, false_ratio)]
    return {name: value for name, value in zip(FAIRLEARN_MEASURES, found, strict=False) if np.isfinite(value)}


def _by_merit(scores: Scores, table: CodedTable) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return who has the favourable label, whom it would be right to approve, and who has the other."""
    has_favourable = positives_of(scores, table) != scores.favours_low
    return has_favourable, ~has_favourable


def _spread_of(rates: list[float | None]) -> tuple[float, float]:
    """Return difference and ratio of the lowest and the highest rate; groups that lack a label count as 0."""
    lowest, highest = (end(rate or 0.0 for rate in rates) for end in (min, max))
    return highest - lowest, lowest / highest if highest else float("nan")


def _rate_family(
    scores: Scores,
    above: NDArray[np.bool_] | None,
    table: CodedTable,
    columns: tuple[str, ...],
    reference: Reference,
    confidence: float | None,
) -> list[GroupRate]:
    group, combinations = number_combinations(table, columns)
    n_groups = len(combinations)
    absent: list[float | None] = [None] * n_groups
    weights = scores.weights
    means = absent if scores.task == "multiclass" else _shares(scores.values, group, n_groups, weights)
    scoring = absent if above is None else _shares(above, group, n_groups, weights)
    n_selected: list[int | None] = [None] * n_groups
    selected, right, wrong = absent, absent, absent
    if scores.task != "multiclass" and scores.decisions is not None:
        selected = _shares(scores.decisions, group, n_groups, weights)
        n_selected = np.bincount(group, scores.decisions * scores.counting, n_groups).astype(np.int64).tolist()
    if scores.task == "binary" and scores.has_labels and scores.decisions is not None:
        right, wrong = (_shares(scores.decisions, group, n_groups, weights, who) for who in _by_merit(scores, table))
    counts = np.bincount(group[scores.counting], minlength=n_groups)
    sizes, totals = _effective_sizes(scores, group, n_groups), absent
    if weights is not None:
        totals = list(map(float, np.bincount(group, weights, n_groups)))
    rates = [
        GroupRate(
            columns=columns,
            values=values,
            n_people=n_people,
            selection_rate=rate,
            true_positive_rate=true_positive,
            false_positive_rate=false_positive,
            mean_score=mean,
            is_reference=reference.is_control(columns, values),
            weight=weight,
            n_effective=size,
            n_selected=n_chosen,
            scoring_rate=score_rate,
        )
        for values, n_people, rate, true_positive, false_positive, mean, weight, size, n_chosen, score_rate in zip(
            *(combinations, counts.tolist(), selected, right, wrong, means, totals, sizes, n_selected, scoring),
            strict=True,
        )
        if n_people
    ]
    highest = max(rates, key=lambda one: one.selection_rate or 0.0, default=None)
    controls = [one for one in rates if one.is_reference] or [highest]  # type: ignore[list-item]
    return [_relate(one, controls, confidence) for one in rates]


def _relate(one: GroupRate, controls: Sequence[GroupRate], confidence: float | None) -> GroupRate:
    """Compare a group's rate with that of the control groups."""
    if one.selection_rate is None:
        return one
    own, control = _Selected.of([one]), _Selected.of(controls)
    is_other = one not in controls and control.rate > 0
    return replace(
        one,
        impact_ratio=own.rate / control.rate if control.rate else None,
        selection_interval=None if confidence is None else interval_of_share(own.rate, own.n, confidence),
        impact_interval=bound_ratio(own, control, confidence) if is_other and confidence is not None else None,
    )


def _shares(
    amounts: NDArray[Any],
    group: NDArray[np.int64],
    n_groups: int,
    weights: NDArray[np.float64] | None = None,
    who: NDArray[np.bool_] | None = None,
) -> list[float | None]:
    """Average by group, of some people or all; None for a group that has nobody."""
    if who is not None:
        amounts, group, weights = amounts[who], group[who], None if weights is None else weights[who]
    times = amounts if weights is None else amounts * weights
    sums, counts = np.bincount(group, times, n_groups), np.bincount(group, weights, n_groups)
    return [float(total / count) if count else None for total, count in zip(sums, counts, strict=True)]


def _effective_sizes(scores: Scores, group: NDArray[np.int64], n_groups: int) -> list[float | None]:
    """Return how many people of equal weight, apart from each other, would leave each selection rate as uncertain.

    By weights and clusters alone (Kish), or fewer where large weights, or all of a cluster, go with one decision.
    """
    if scores.weights is None and scores.units.numbers is None:
        return [None] * n_groups
    decided = np.zeros(len(scores), np.bool_)
    if scores.decisions is not None and scores.task != "multiclass":
        decided[:] = scores.decisions
    sizes: list[float | None] = []
    for number in range(n_groups):
        some = np.flatnonzero((group == number) & scores.counting)
        who = scores.weighing.take(some), scores.units.of_some(some)
        sizes.append(float(count_trials(decided[some], *who)) if len(some) else 0.0)
    return sizes


def _refuse_lengths(scores: Scores, table: CodedTable) -> None:
    if len(scores) != len(table):
        raise ScoreError(
            f"The scores are {len(scores):,}, but the table has {len(table):,} rows. Give one per row, in order."
        )
