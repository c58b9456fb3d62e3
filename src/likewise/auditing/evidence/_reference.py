"""Target and control: who is worse off in such pairs."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._settings import AuditSettings
from likewise.auditing.inference._intervals import Interval, PairGraph, bound_share, interval_of_mean
from likewise.auditing.pairs._gather import Gathered
from likewise.auditing.pairs._meter import unseen_gap
from likewise.auditing.pairs._summary import ADDED, TransitionSums
from likewise.auditing.question._question import Question, number_combinations
from likewise.auditing.question._scores import Scores
from likewise.auditing.question._weights import Weights, mean_of
from likewise.record._internal import Measure, key_of

Shares = dict[str, float | None]
OF_TARGETS: Final = ("signed_gap", "control_only_rate", "target_only_rate")
Rows = NDArray[np.integer[Any]]


def measure_targets(
    question: Question, gathered: Gathered, settings: AuditSettings, part: str | None = None
) -> dict[str, Measure]:
    """Measure the pairs of a target and a control: signed mean gap, and who alone is approved.

    Each sensitive column that a control is named of is measured by itself, and so is a combination that is named.
    """
    reference, scores, table = question.reference, question.scores, question.table
    if not reference or scores.values.ndim > 1:
        return {}
    of_people, combinations = number_combinations(table)
    marks, measures = reference.mark_all(combinations), dict[str, Measure]()
    for at, columns in enumerate(reference.controls):
        named = part if len(reference.controls) == 1 else ", ".join(columns)
        found = _measure_column(question, gathered, settings, of_people, marks >> at & 1)
        measures |= {key_of(name, named): measure for name, measure in found.items()}
    return measures


def _measure_column(
    question: Question,
    gathered: Gathered,
    settings: AuditSettings,
    of_people: Rows,
    is_control: NDArray[np.int64],
) -> dict[str, Measure]:
    """Measure the pairs of which one has a combination that is a control, and the other does not."""
    pairs, scores = gathered.pairs, question.scores
    ahead = is_control[of_people[pairs.left]] - is_control[of_people[pairs.right]]
    chosen = np.flatnonzero(ahead)
    is_left = ahead[chosen] < 0  # the target
    left, right = pairs.left[chosen], pairs.right[chosen]
    target, control = np.where(is_left, left, right), np.where(is_left, right, left)
    gaps = scores.sign * (scores.values[target] - scores.values[control]) / scores.scale
    changes = None if scores.decisions is None else scores.decisions[target] - scores.decisions[control]
    weights = scores.weigh_pairs(left, right)
    sampled = _summarize(gaps, changes, weights)
    n, exact = _sum_transitions(gathered.sums.transitions, is_control, has_decisions=changes is not None)
    bounds: dict[str, Interval | None] = {}
    if settings.n_resamples and len(chosen):
        graph = PairGraph.of(target, control, scores.units, Weights.of(weights, len(target)))
        bounds = _bound(graph, sampled, gaps, changes, scores, settings.confidence)
    return {name: _place(exact[name], sampled[name], bounds.get(name), n, _ends(name, scores)) for name in OF_TARGETS}


def _summarize(
    gaps: NDArray[np.float64], changes: NDArray[np.int64] | None, weights: NDArray[np.float64] | None
) -> Shares:
    if not len(gaps):
        return dict.fromkeys(OF_TARGETS)
    rates = (None, None) if changes is None else (mean_of(changes < 0, weights), mean_of(changes > 0, weights))
    return dict(zip(OF_TARGETS, (mean_of(gaps, weights), *rates), strict=True))


def _sum_transitions(found: TransitionSums, counts: NDArray[np.int64], *, has_decisions: bool) -> tuple[int, Shares]:
    """Add up all pairs of a target and a control, of which the kept ones are a sample."""
    lower, upper = found.keys // len(counts), found.keys % len(counts)
    ahead = np.sign(counts[lower] - counts[upper])  # 1 where the upper combination is the target, as sums have it
    n = int(found.counts[ahead != 0, 0].sum())
    if not n:
        return 0, dict.fromkeys(OF_TARGETS)
    times = found.counts if len(found.added) == len(ADDED) else found.sums[:, len(ADDED) :]  # weights, if there are any
    total, _, _, down, up = times[ahead != 0].sum(axis=0).tolist()
    turned = times[ahead < 0]
    swapped = turned[:, 4].sum().item() - turned[:, 3].sum().item()
    rates = ((down + swapped) / total, (up - swapped) / total) if has_decisions else (None, None)
    mean = float((ahead * found.sums[:, 0]).sum()) / total
    return n, dict(zip(OF_TARGETS, (mean, *rates), strict=True))


def _bound(
    graph: PairGraph,
    sampled: Shares,
    gaps: NDArray[np.float64],
    changes: NDArray[np.int64] | None,
    scores: Scores,
    confidence: float,
) -> dict[str, Interval | None]:
    mean, worse, better = OF_TARGETS
    ends, known = _ends(mean, scores), graph.influence(gaps)
    found = {mean: interval_of_mean(sampled[mean] or 0.0, known, confidence, *ends, unseen_gap(scores))}
    if changes is not None:
        for name, holds in ((worse, changes < 0), (better, changes > 0)):
            of_share = graph.influence(holds)
            found[name] = bound_share(sampled[name] or 0.0, of_share, confidence)
    return found


def _ends(name: str, scores: Scores) -> Interval:
    if name != next(iter(OF_TARGETS)):
        return 0.0, 1.0
    return (-np.inf, np.inf) if scores.task == "regression" else (-1.0, 1.0)


def _place(value: float | None, sampled: float | None, bounds: Interval | None, n: int, ends: Interval) -> Measure:
    """Put the interval of a sample around the value of all pairs."""
    if value is None or sampled is None or bounds is None:
        return Measure(value, n=n)
    moved = value - sampled
    return Measure(value, max(bounds[0] + moved, ends[0]), min(bounds[1] + moved, ends[1]), n)
