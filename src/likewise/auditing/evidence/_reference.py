"""Target and control: the sensitive values that others are compared with, and who is worse off in such pairs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import suggest
from likewise.auditing._settings import AuditSettings
from likewise.auditing.inference._intervals import Interval, PairGraph, bound_share, interval_of_mean
from likewise.auditing.pairs._gather import Gathered
from likewise.auditing.pairs._meter import unseen_gap
from likewise.auditing.pairs._summary import ADDED, TransitionSums
from likewise.auditing.question._question import Values, number_combinations
from likewise.auditing.question._scores import Scores
from likewise.auditing.question._weights import mean_of
from likewise.exceptions import ParameterError
from likewise.record._internal import TARGET_MEASURES, Direction, Measure
from likewise.schema import CodedTable

LISTED: Final = 8
Shares = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Reference:
    """The control values of sensitive columns; of two people, the one with more of them is the control."""

    columns: tuple[str, ...]  # all sensitive columns, in the order of the combinations
    values: Mapping[str, tuple[Any, ...]]

    @classmethod
    def of(cls, given: Any, table: CodedTable) -> Reference:
        """Find the column of every value that was given: alone, in a list, or by column; None for no control."""
        given = {} if given is None else given
        names = table.names["sensitive"]
        known = {name: table.categories.get(name, ()) for name in names}
        by_column = given if isinstance(given, Mapping) else {None: given}
        found: dict[str, list[Any]] = {}
        for column, values in by_column.items():
            if column is not None and column not in known:
                raise ParameterError(f"names {column!r}; the sensitive columns are {list(names)}.", "reference")
            for value in values if isinstance(values, list | tuple | set | frozenset) else [values]:
                where, match = _find_value(value, known if column is None else {column: known[column]})
                found.setdefault(where, []).append(match)
        for column, values in found.items():
            if len(set(values)) == len(known[column]):
                raise ParameterError(f"holds all values of '{column}': nobody is left to compare.", "reference")
        return cls(names, {name: tuple(dict.fromkeys(found[name])) for name in names if name in found})

    def __bool__(self) -> bool:
        return bool(self.values)

    def within(self, columns: Sequence[str] | None) -> Reference:
        """Return the control values of some columns, for combinations of these alone; None for all columns."""
        if columns is None:
            return self
        return Reference(tuple(columns), {name: self.values[name] for name in columns if name in self.values})

    def count(self, values: Values, columns: Sequence[str] | None = None) -> int:
        """Count the control values of a combination of sensitive values."""
        names = self.columns if columns is None else columns
        return sum(value in self.values.get(name, ()) for name, value in zip(names, values, strict=True))

    def orient(self, direction: Direction) -> Direction:
        """Return a direction from the target's side; between equals, from the side that is worse off."""
        ahead = self.count(direction.origin) - self.count(direction.target)
        is_turned = ahead < 0 or (ahead == 0 and direction.mean_gap > 0)
        return direction.reversed() if is_turned else direction


def _find_value(value: Any, known: Mapping[str, tuple[Any, ...]]) -> tuple[str, Any]:
    """Return column and category of a value, which a command line gives as text."""
    found = [
        (name, category)
        for name, categories in known.items()
        for category in categories
        if (isinstance(value, Hashable) and category == value) or (isinstance(value, str) and str(category) == value)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        both = " and ".join(f"'{name}'" for name, _ in found)
        raise ParameterError(f"is {value!r}, a value of {both}. Name the column: {{column: value}}.", "reference")
    listed = [str(category) for categories in known.values() for category in categories]
    shown = ", ".join(listed[:LISTED]) + (", ..." if len(listed) > LISTED else "")
    raise ParameterError(
        f"is {value!r}, which no sensitive column has; they have {shown}.{suggest(str(value), listed)}", "reference"
    )


def measure_targets(
    reference: Reference, gathered: Gathered, table: CodedTable, scores: Scores, settings: AuditSettings
) -> dict[str, Measure]:
    """Measure the pairs of a target and a control: signed mean gap, and who alone is approved."""
    if not reference or scores.values.ndim > 1:
        return {}
    of_people, combinations = number_combinations(table)
    counts = np.array([reference.count(values) for values in combinations], np.int64)
    pairs = gathered.pairs
    ahead = counts[of_people[pairs.left]] - counts[of_people[pairs.right]]
    chosen = np.flatnonzero(ahead)
    is_left = ahead[chosen] < 0  # the target
    left, right = pairs.left[chosen], pairs.right[chosen]
    target, control = np.where(is_left, left, right), np.where(is_left, right, left)
    gaps = scores.sign * (scores.values[target] - scores.values[control]) / scores.scale
    changes = None if scores.decisions is None else scores.decisions[target] - scores.decisions[control]
    weights = scores.weigh_pairs(left, right)
    sampled = _summarize(gaps, changes, weights)
    n, exact = len(chosen), sampled
    if gathered.summary is not None:
        n, exact = _sum_transitions(gathered.summary.transitions, counts, has_decisions=changes is not None)
    bounds: dict[str, Interval | None] = {}
    if settings.n_resamples and len(chosen):
        graph = PairGraph.of(target, control, len(table), weights)
        bounds = _bound(graph, sampled, gaps, changes, scores, settings.confidence)
    return {
        name: _place(exact[name], sampled[name], bounds.get(name), n, _ends(name, scores)) for name in TARGET_MEASURES
    }


def _summarize(
    gaps: NDArray[np.float64], changes: NDArray[np.int64] | None, weights: NDArray[np.float64] | None
) -> Shares:
    if not len(gaps):
        return dict.fromkeys(TARGET_MEASURES)
    rates = (None, None) if changes is None else (mean_of(changes < 0, weights), mean_of(changes > 0, weights))
    return dict(zip(TARGET_MEASURES, (mean_of(gaps, weights), *rates), strict=True))


def _sum_transitions(found: TransitionSums, counts: NDArray[np.int64], *, has_decisions: bool) -> tuple[int, Shares]:
    """Add up all pairs of a target and a control, of which the kept ones are a sample."""
    lower, upper = found.keys // len(counts), found.keys % len(counts)
    ahead = np.sign(counts[lower] - counts[upper])  # 1 where the upper combination is the target, as sums have it
    n = int(found.counts[ahead != 0, 0].sum())
    if not n:
        return 0, dict.fromkeys(TARGET_MEASURES)
    times = found.counts if len(found.added) == len(ADDED) else found.sums[:, len(ADDED) :]  # weights, if there are any
    total, _, _, down, up = times[ahead != 0].sum(axis=0).tolist()
    turned = times[ahead < 0]
    swapped = turned[:, 4].sum().item() - turned[:, 3].sum().item()
    rates = ((down + swapped) / total, (up - swapped) / total) if has_decisions else (None, None)
    mean = float((ahead * found.sums[:, 0]).sum()) / total
    return n, dict(zip(TARGET_MEASURES, (mean, *rates), strict=True))


def _bound(
    graph: PairGraph,
    sampled: Shares,
    gaps: NDArray[np.float64],
    changes: NDArray[np.int64] | None,
    scores: Scores,
    confidence: float,
) -> dict[str, Interval | None]:
    mean, worse, better = TARGET_MEASURES
    ends, known = _ends(mean, scores), graph.contribute(gaps)
    found = {mean: interval_of_mean(sampled[mean] or 0.0, known, confidence, *ends, unseen_gap(scores))}
    if changes is not None:
        for name, holds in ((worse, changes < 0), (better, changes > 0)):
            of_share = graph.contribute(holds)
            found[name] = bound_share(sampled[name] or 0.0, of_share, confidence)
    return found


def _ends(name: str, scores: Scores) -> Interval:
    if name != next(iter(TARGET_MEASURES)):
        return 0.0, 1.0
    return (-np.inf, np.inf) if scores.task == "regression" else (-1.0, 1.0)


def _place(value: float | None, sampled: float | None, bounds: Interval | None, n: int, ends: Interval) -> Measure:
    """Put the interval of a sample around the value of all pairs."""
    if value is None or sampled is None or bounds is None:
        return Measure(value, n=n)
    moved = value - sampled
    return Measure(value, max(bounds[0] + moved, ends[0]), min(bounds[1] + moved, ends[1]), n)
