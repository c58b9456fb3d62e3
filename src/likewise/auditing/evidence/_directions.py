"""Which of two sensitive groups is scored lower in comparable pairs, and whether that could be chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count
from likewise.auditing.inference._intervals import PairGraph, bound_share
from likewise.auditing.inference._signed_gaps import (
    ColumnDifferences,
    Estimate,
    SignedPairs,
    adjust_p_values,
    estimate_gap,
)
from likewise.auditing.pairs._gaps import GAP_TOLERANCE, Pairs, of_people
from likewise.auditing.pairs._meter import ScoredPeople, unseen_gap
from likewise.auditing.pairs._summary import TransitionSums
from likewise.auditing.question._question import number_combinations
from likewise.auditing.question._reference import Reference, Values
from likewise.auditing.question._scores import Scores
from likewise.auditing.question._weights import Units, Weights, mean_of
from likewise.exceptions import ParameterError, ScoreError
from likewise.record._internal import Direction
from likewise.schema import CodedTable

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
MOST_TESTED: Final = 200  # transitions: those with the most pairs
NO_MEAN: Final = 1e-9  # of the mean gap, this share is rounding: gaps that cancel out have no direction


def measure_directions(
    pairs: Pairs,
    table: CodedTable,
    scores: Scores,
    *,
    confidence: float | None = 0.95,
    most: int = MOST_TESTED,
    reference: Any = None,
    columns: Sequence[str] | None = None,
    clusters: Rows | None = None,
) -> tuple[Direction, ...]:
    """Measure the signed gaps of every transition between sensitive values that occurs in the pairs.

    Beside the mean, the adjusted gap is that of people who are alike in every compared column: the intercept of a
    regression of the pairs' signed gaps on their signed differences in these columns.

    Parameters
    ----------
    pairs : ComparablePairs
        Or anything with the row positions ``left`` and ``right``. Same-group pairs are left out.
    table : CodedTable
        The people.
    scores : Scores
        Of all people of the table.
    confidence : float, optional
        Of the intervals, two-sided; None for no intervals.
    most : int
        How many transitions are adjusted and tested: those with the most pairs.
    reference : optional
        Control values, as for :func:`likewise.audit`: of two combinations, the one with fewer of them is the target.
        By default the target is the one that is worse off.
    columns : sequence of str, optional
        Which sensitive columns are compared, whatever the others do; by default all of them together.
    clusters : array of int, shape (n_people,), optional
        The number of the cluster of each person, such as a branch: people of one cluster may be alike in what is not
        seen. By default everybody is independent.

    Returns
    -------
    tuple of Direction
        The transitions with the most pairs first. Empty where people have one score per class: these have no direction.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import CodedTable, Comparability, mine_pairs
    >>> from likewise.auditing import Scores, measure_directions
    >>> table = CodedTable(sensitive=[[0], [1], [1]], categories={"sensitive_0": ("f", "m")})
    >>> pairs = mine_pairs(table, Comparability())
    >>> (found,) = measure_directions(pairs, table, Scores(np.array([0.25, 0.5, 0.75]), "binary"))
    >>> found.origin, found.target, found.n_pairs, found.mean_gap, found.p_value  # too few people for a test
    (('m',), ('f',), 2, -0.375, None)
    """
    check_count("most", most, or_none=False)
    unknown = [name for name in columns or () if name not in table.names["sensitive"]]
    if unknown:
        known = list(table.names["sensitive"])
        raise ParameterError(f"names {unknown[0]!r}; the sensitive columns are {known}.", "columns")
    if scores.values.ndim > 1:
        return ()
    of_people(pairs, scores.values)
    people = ScoredPeople.of(table, scores)
    sums = TransitionSums(len(people.groups), is_weighted=scores.weights is not None)
    for part in people.measure_parts(pairs.left, pairs.right):
        sums.add(part)
    control = Reference.of(reference, table)
    how: dict[str, Any] = {"confidence": confidence, "most": most, "columns": columns, "clusters": clusters}
    return describe_directions(sums, pairs, table, scores, control, **how)


def describe_directions(
    sums: TransitionSums,
    pairs: Pairs,
    table: CodedTable,
    scores: Scores,
    reference: Reference,
    *,
    confidence: float | None,
    most: int = MOST_TESTED,
    columns: Sequence[str] | None = None,
    clusters: Rows | None = None,
) -> tuple[Direction, ...]:
    """Describe every transition by the sums of all pairs, with intervals and tests of the pairs that were kept."""
    if scores.values.ndim > 1:
        return ()
    sums, combinations = _sum_columns(sums, table, columns)
    transitions = _part_pairs(pairs, table, scores, columns)
    number_of = {key: number for number, key in enumerate(transitions.keys.tolist())}
    control = reference.within(columns)
    largest = np.argsort(-sums.counts[:, 0], kind="stable")  # of equal size: in the order of the codes
    units = scores.units if clusters is None else Units.of(clusters, len(table))
    settings = _Settings(confidence, units, unseen_gap(scores))
    described: list[Direction] = []
    for place, index in enumerate(largest.tolist()):
        key = int(sums.keys[index])
        origin, target = (combinations[one] for one in divmod(key, len(combinations)))
        direction = direction_from_sums(origin, target, sums.counts[index], sums.sums[index], scores)
        number = number_of.get(key)
        if place < most and number is not None:
            estimates = _estimate_transition(transitions, number, table, settings)
            direction = _add_precision(direction, estimates, transitions, number)
        described.append(control.orient(direction))
    return adjust_together(described)[0]


def adjust_together(*shown: Sequence[Direction]) -> list[tuple[Direction, ...]]:
    """Adjust the p-values of all directions that are shown together (Holm)."""
    tested = [one.p_value for some in shown for one in some if one.p_value is not None]
    adjusted = iter(adjust_p_values(tested).tolist())
    return [
        tuple(one if one.p_value is None else replace(one, p_adjusted=next(adjusted)) for one in some) for some in shown
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Settings:
    confidence: float | None
    units: Units
    unseen: float


@dataclass(frozen=True, slots=True, eq=False)
class _Transitions:
    """Pairs with the lower combination first; those of one transition lie next to each other."""

    lower: Rows
    upper: Rows
    gaps: Floats  # of the upper over the lower
    weights: Floats | None  # None where all count alike
    starts: NDArray[np.int64]
    means: Floats
    keys: NDArray[np.integer[Any]]  # the number of the lower combination, times how many there are, and of the upper
    scores: Scores

    def span(self, number: int) -> slice:
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def weigh(self, number: int) -> Floats | None:
        """Return the weights of the pairs of one transition."""
        return None if self.weights is None else self.weights[self.span(number)]

    def kinds(self, number: int) -> dict[str, NDArray[np.bool_]]:
        """Return which pairs of a transition have the upper person lower or higher, and alone denied or approved."""
        gaps, decisions, span = self.gaps[self.span(number)], self.scores.decisions, self.span(number)
        found: dict[str, NDArray[np.bool_]] = {"lower": gaps < 0, "higher": gaps > 0}
        if decisions is not None:
            changes = decisions.take(self.upper[span]) - decisions.take(self.lower[span])
            found |= {"flips_down": changes < 0, "flips_up": changes > 0}
        return found


def _part_pairs(pairs: Pairs, table: CodedTable, scores: Scores, columns: Sequence[str] | None) -> _Transitions:
    values, (numbers, combinations) = of_people(pairs, scores.values), number_combinations(table, columns)
    n = len(combinations)
    numbers = numbers.astype(np.min_scalar_type(n * n))  # numbers of two bytes are sorted soonest
    first, second = numbers[pairs.left], numbers[pairs.right]
    kinds, is_turned = np.minimum(first, second) * n + np.maximum(first, second), first > second
    kinds[first == second] = n * n
    order = np.argsort(kinds, kind="stable")[: np.count_nonzero(first != second)]
    kinds, left, right, is_turned = kinds[order], pairs.left[order], pairs.right[order], is_turned[order]
    gaps = scores.sign * (values[right] - values[left]) / scores.scale
    gaps[np.abs(gaps) <= GAP_TOLERANCE] = 0.0  # models give one row at two places two scores
    np.negative(gaps, out=gaps, where=is_turned)
    lower, upper = np.where(is_turned, right, left), np.where(is_turned, left, right)
    kinds, starts = np.unique(kinds, return_index=True)
    starts = np.append(starts, len(gaps))
    weights = scores.weigh_pairs(lower, upper)
    n_wrong = np.count_nonzero(~np.isfinite(gaps if weights is None else gaps * weights))
    if n_wrong:  # scores are numbers, and may be too far apart
        raise ScoreError(f"The signed gaps are NaN or infinite in {n_wrong:,} places.")
    sums, reach, times = _add_spans(gaps, weights, starts)
    return _Transitions(
        lower,
        upper,
        gaps,
        weights,
        starts,
        np.where(np.abs(sums) > NO_MEAN * reach, sums, 0.0) / times,
        kinds,
        scores,
    )


def _add_spans(gaps: Floats, weights: Floats | None, starts: NDArray[np.int64]) -> Floats:
    """Add up the gaps of each transition, the same without signs, and what the pairs weigh."""
    sizes = np.diff(starts)
    numbers, once = np.repeat(np.arange(len(sizes)), sizes), np.ones(len(gaps))
    amounts = (one if weights is None else one * weights for one in (gaps, np.abs(gaps), once))
    return np.array([np.bincount(numbers, one, len(sizes)) for one in amounts])


def _estimate_transition(
    transitions: _Transitions, number: int, table: CodedTable, settings: _Settings
) -> dict[str, Any]:
    """Estimate the mean and the adjusted gap of a transition, bound them and the shares, and test the latter."""
    span, weights, mean = transitions.span(number), transitions.weigh(number), float(transitions.means[number])
    weighing = Weights.of(weights, len(transitions.gaps[span]))
    pairs = SignedPairs(transitions.lower[span], transitions.upper[span], transitions.gaps[span], weighing)
    columns, end = ColumnDifferences(pairs, table), np.inf if transitions.scores.task == "regression" else 1.0
    sides, n_units = _renumber(settings.units.take(pairs.origin), settings.units.take(pairs.target))
    are_clusters = settings.units.numbers is not None
    graph = PairGraph.of(*sides, Units(n_units, np.arange(n_units) if are_clusters else None), weighing)
    plain, adjusted = (estimate_gap(pairs, one, graph, settings.unseen) for one in (ColumnDifferences(pairs), columns))
    found: dict[str, Any] = {"balance": tuple(columns.balance)}
    if adjusted is not None:
        found |= {"adjusted_gap": adjusted.value, "p_value": adjusted.p_value}
    if settings.confidence is None:
        return found
    for prefix, one in (("", replace(plain or Estimate(mean), value=mean)), ("adjusted_", adjusted)):
        low, high = (one and one.interval(settings.confidence, end)) or (None, None)
        found |= {f"{prefix}low": low, f"{prefix}high": high}
    for name, holds in transitions.kinds(number).items():
        found[f"{name}_interval"] = bound_share(graph.mean(holds), graph.influence(holds), settings.confidence)
    return found


def _renumber(lower: Rows, upper: Rows) -> tuple[tuple[Rows, Rows], int]:
    """Number the units of one transition by themselves, where all would be many more, and count them."""
    n = 1 + int(max(lower.max(), upper.max()))
    if n <= 4 * len(lower):
        return (lower, upper), n
    is_there = np.zeros(n, np.bool_)
    is_there[lower], is_there[upper] = True, True
    number_of = np.cumsum(is_there, dtype=np.int32)
    number_of -= 1
    return (number_of.take(lower), number_of.take(upper)), int(number_of[-1]) + 1


def _sum_columns(
    sums: TransitionSums, table: CodedTable, columns: Sequence[str] | None
) -> tuple[TransitionSums, list[Values]]:
    """Add up sums of all sensitive columns by some of them; return also the combinations of these."""
    _, whole = number_combinations(table)
    if columns is None or tuple(columns) == table.names["sensitive"]:
        return sums, whole
    places = [table.names["sensitive"].index(name) for name in columns]
    _, combinations = number_combinations(table, columns)
    number_of = {values: number for number, values in enumerate(combinations)}
    numbers = np.array([number_of[tuple(one[place] for place in places)] for one in whole], np.int64)
    return sums.renumber(numbers, len(combinations)), combinations


def direction_from_sums(
    origin: Values, target: Values, counts: NDArray[np.int64], sums: Floats, scores: Scores
) -> Direction:
    """Return a direction, without a test, from the counts and sums of one transition (``COUNTED``, ``ADDED``)."""
    n, n_lower, n_higher, n_down, n_up = counts.tolist()
    signed, absolute, *weights = sums.tolist()
    has_decisions, total = scores.decisions is not None, weights[0] if weights else n
    names = ("lower_share", "higher_share", *(("flips_down_share", "flips_up_share") * has_decisions))
    shares = {name: weight / total for name, weight in zip(names, weights[1:], strict=False)}
    return Direction(
        origin=origin,
        target=target,
        n_pairs=n,
        n_lower=n_lower,
        n_higher=n_higher,
        n_equal=n - n_lower - n_higher,
        n_flips_down=n_down if has_decisions else None,
        n_flips_up=n_up if has_decisions else None,
        mean_gap=signed / total if abs(signed) > NO_MEAN * absolute else 0.0,
        favours_low=scores.favours_low,
        **shares,
    )


def _add_precision(exact: Direction, estimates: Mapping[str, Any], transitions: _Transitions, number: int) -> Direction:
    """Put the intervals of the kept pairs around the numbers of all pairs, and add the test."""
    moved, weights = exact.mean_gap - float(transitions.means[number]), transitions.weigh(number)
    found = dict(estimates)
    if found.get("low") is not None:
        end = np.inf if transitions.scores.task == "regression" else 1.0
        found["low"] = min(max(found["low"] + moved, -end), exact.mean_gap)
        found["high"] = max(min(found["high"] + moved, end), exact.mean_gap)
    for name, holds in transitions.kinds(number).items():
        ends, share = found.get(f"{name}_interval"), exact.share_of(name) or 0.0
        if ends is not None:
            away = share - mean_of(holds, weights)
            found[f"{name}_interval"] = min(max(ends[0] + away, 0.0), share), max(min(ends[1] + away, 1.0), share)
    return replace(exact, **found)
