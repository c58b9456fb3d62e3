"""How good scores are at what they are for, by the measures of scikit-learn, with bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._ranking import Ranking
from likewise.auditing._settings import AuditSettings
from likewise.auditing.inference._intervals import Contributions, Interval, contribute_alone, interval_of_mean
from likewise.auditing.people._bounds import OF_RAREST, bound_by_replicates, bound_r2, bound_recalls, bound_root
from likewise.auditing.people._calibration import calibration_interval, calibration_of, calibration_sums
from likewise.auditing.people._sums import (
    ONE_EACH,
    Curve,
    Floats,
    GroupSums,
    curve,
    group_sums,
    ratio,
    spread_of,
    spread_sums,
)
from likewise.auditing.question._scores import Scores
from likewise.auditing.question._weights import effective_counts, effective_size, mean_of
from likewise.record._internal import PEOPLE_MEASURES, Measure
from likewise.schema import CodedTable

Labels = NDArray[np.integer]
EPSILON = float(np.finfo(np.float64).eps)  # scores are kept this far from 0 and 1 in the log loss, as scikit-learn does
R2_TOLERANCE = 1e-12  # of the sum of squares: a variance below is what rounding leaves of none
DECIDED: Final = ("accuracy", "balanced_accuracy", "f1")
OF_LABELS: Final = ("roc_auc", "average_precision", *DECIDED, "log_loss", "brier", "calibration_error", "score_spread")
OF_NUMBERS: Final = ("score_spread", "r2", "mean_absolute_error", "root_mean_squared_error")
BY_REPLICATES: Final = ("roc_auc", "average_precision", "accuracy", "f1")
MEANS: Final = (
    "log_loss",
    "brier",
    "score_spread",
    "mean_absolute_error",
    "root_mean_squared_error",
)  # or roots of one


def measure_utility(
    labels: Labels, scores: Floats, *, threshold: float = 0.5, weights: Floats | None = None
) -> dict[str, float | None]:
    """Measure how well probabilities, and decisions by them, agree with the labels, which are places of columns."""
    decisions = scores.argmax(axis=1) if scores.ndim == 2 else (scores >= threshold).astype(np.int64)
    times = np.ones(len(labels)) if weights is None else weights
    return point_values(LabelLedger.open(labels, scores, decisions, weights=times), times)


@dataclass(frozen=True, slots=True, eq=False)
class LabelLedger:
    """The sums that measures of probabilities need, and the measures as formulas of them."""

    amounts: Mapping[str, GroupSums]
    curves: Sequence[Curve]
    occurring: NDArray[np.intp]  # labels over which shares of right decisions are averaged
    averaged: NDArray[np.intp]  # labels over which F1 is averaged
    weights: Floats | None = None  # how much each person counts

    @classmethod
    def open(
        cls,
        labels: Labels,
        scores: Floats,
        decisions: Labels | None,
        *,
        weights: Floats | None = None,
        ranking: Ranking | None = None,
    ) -> LabelLedger:
        """Find what each person adds; the bins of the calibration are those of the given weights."""
        ranking = Ranking(scores) if ranking is None else ranking
        n_labels = 2 if scores.ndim == 1 else scores.shape[1]
        is_right = np.zeros(len(labels), np.bool_) if decisions is None else decisions == labels
        counts = np.bincount(labels, weights, n_labels)
        occurring = np.flatnonzero(counts)
        columns = {1: scores} if scores.ndim == 1 else {label: scores[:, label] for label in occurring.tolist()}
        of_all = ranking.levels() if scores.ndim == 1 else None
        found = {
            "label": group_sums([ONE_EACH, is_right, *_losses(labels, scores)], labels, n_labels),
            "bin": calibration_sums(labels, scores, weights=weights, levels=of_all),
            "spread": spread_sums(scores),
        }
        if decisions is not None:
            found["decision"] = group_sums([ONE_EACH], decisions, n_labels)
        curves = [
            curve(labels == label, column, weights, levels=of_all or ranking.levels(label))
            for label, column in columns.items()
        ]
        averaged = np.array([1])
        if scores.ndim > 1:
            decided = 0 if decisions is None else np.bincount(decisions, weights, n_labels)
            averaged = np.flatnonzero(counts + decided)
        return cls(found, curves, occurring, averaged, weights)

    def values(self, sums: Mapping[str, Floats], areas: Floats) -> dict[str, Floats]:
        """Turn sums, shape (..., n_groups, n_amounts), and areas, (..., n_curves, 2), into measures."""
        people, _, losses, squares = np.moveaxis(sums["label"], -1, 0)
        total = people.sum(axis=-1)
        return self.shares(sums, areas) | {
            "log_loss": ratio(losses.sum(axis=-1), total),
            "brier": ratio(squares.sum(axis=-1), total),
            "score_spread": spread_of(sums["spread"]),
        }

    @property
    def counted(self) -> dict[str, GroupSums]:
        """The amounts that :meth:`shares` needs, by the weights of people."""
        label = self.amounts["label"]
        known = dict(self.amounts) | {"label": replace(label, amounts=label.amounts[:2])}
        return {name: one.weighted(self.weights) for name, one in known.items() if name != "spread"}

    def shares(self, sums: Mapping[str, Floats], areas: Floats) -> dict[str, Floats]:
        """Turn sums and areas into those measures that neither losses nor the spread of scores are needed for."""
        people, right = np.moveaxis(sums["label"][..., :2], -1, 0)
        total = people.sum(axis=-1)
        found = {"roc_auc": areas[..., 0].mean(axis=-1), "average_precision": areas[..., 1].mean(axis=-1)}
        if "decision" in sums:
            by_label = ratio(right, people)[..., self.occurring].mean(axis=-1)
            by_f1 = ratio(2 * right, people + sums["decision"][..., 0])[..., self.averaged]
            found["accuracy"] = ratio(right.sum(axis=-1), total)
            found["balanced_accuracy"] = by_label if len(self.occurring) > 1 else np.full_like(total, np.nan)
            found["f1"] = by_f1.mean(axis=-1)
        return found | {"calibration_error": calibration_of(sums["bin"], total)}

    def moves(self, name: str) -> Floats:
        """Return how far ROC AUC, average precision or F1 moves with each person's weight."""
        if name != "f1":
            areas: Floats = np.mean([one.moves() for one in self.curves], axis=0)
            return areas[:, 0 if name == "roc_auc" else 1]
        labels, decisions = self.amounts["label"].groups, self.amounts["decision"].groups
        moved = np.zeros(len(labels))
        for label in self.averaged:
            is_label, is_decided = labels == label, decisions == label
            named = is_label.astype(np.float64) + is_decided
            times = np.ones(len(labels)) if self.weights is None else self.weights
            right, total = is_label & is_decided, float((named * times).sum())
            moved += times * (2 * right - 2 * float(times[right].sum()) / total * named) / total
        return moved / len(self.averaged)


@dataclass(frozen=True, slots=True, eq=False)
class NumberLedger:
    """The sums that measures of predicted numbers need, and the measures as formulas of them."""

    amounts: Mapping[str, GroupSums]
    curves: Sequence[Curve] = ()
    weights: Floats | None = None  # how much each person counts

    @classmethod
    def open(cls, outcomes: Floats | None, predictions: Floats, weights: Floats | None = None) -> NumberLedger:
        """Find what each person adds."""
        amounts = {"spread": spread_sums(predictions, weights)}
        if outcomes is not None:
            errors = outcomes - predictions
            amounts["error"] = group_sums([ONE_EACH, np.abs(errors), np.square(errors)])
            amounts["outcome"] = spread_sums(outcomes, weights)
        return cls(amounts, weights=weights)

    def values(self, sums: Mapping[str, Floats], areas: Floats) -> dict[str, Floats]:
        """Turn sums, shape (..., n_groups, n_amounts), into measures."""
        found = {"score_spread": spread_of(sums["spread"])}
        if "error" not in sums:
            return found
        total, errors, squares = np.moveaxis(sums["error"][..., 0, :], -1, 0)
        variance = np.square(spread_of(sums["outcome"]))
        is_varied = variance > R2_TOLERANCE * ratio(sums["outcome"][..., 0, 1], total)
        return found | {
            "r2": 1 - ratio(ratio(squares, total), np.where(is_varied, variance, 0.0)),
            "mean_absolute_error": ratio(errors, total),
            "root_mean_squared_error": np.sqrt(ratio(squares, total)),
        }

    @property
    def squares(self) -> tuple[Floats, Floats]:
        """The squared error of each person, and the squared distance of the outcome from the mean."""
        return self.amounts["error"].amounts[2], self.amounts["outcome"].amounts[1]

    def moves(self, name: str) -> Floats:
        """Return how far R² moves with each person's weight."""
        errors, varied = self.squares
        if self.weights is not None:
            errors, varied = errors * self.weights, varied * self.weights
        total, spread = float(errors.sum()), float(varied.sum())
        return (total / spread * varied - errors) / spread


Ledger = LabelLedger | NumberLedger


def point_values(ledger: Ledger, weights: Floats) -> dict[str, float | None]:
    """Measure the people as they are; None where there is nothing to measure."""
    sums = {name: one.add_up(weights) for name, one in ledger.amounts.items()}
    areas = np.array([one.areas(weights) for one in ledger.curves]).reshape(-1, 2)
    found = ledger.values(sums, areas)
    return {name: float(value) if np.isfinite(value) else None for name, value in found.items()}


def _losses(labels: Labels, scores: Floats) -> tuple[Floats, Floats]:
    """Return each person's log loss, and the half squared distance between probabilities and label."""
    if scores.ndim == 1:
        kept = np.clip(scores, EPSILON, 1 - EPSILON)
        return -np.log(np.where(labels == 1, kept, 1 - kept)), np.square(scores - (labels == 1))
    of_label = scores[np.arange(len(scores)), labels]
    squares = np.square(scores).sum(axis=1) + 1 - 2 * of_label  # those of all labels, the true one's put right
    return -np.log(np.clip(of_label, EPSILON, 1 - EPSILON)), np.maximum(squares, 0.0) / 2


def measure_people(
    scores: Scores,
    table: CodedTable,
    outcomes: NDArray[np.float64] | None,
    settings: AuditSettings,
) -> dict[str, Measure]:
    """Measure performance, calibration and spread, with intervals from bootstrap resamples of people."""
    n_people, confidence = scores.n_people, settings.confidence
    names = list_measures(scores, outcomes)
    if not n_people:
        return {name: Measure(None) for name in names}
    ledger = open_ledger(scores, table, outcomes)
    weights = np.ones(len(scores)) if scores.weights is None else scores.weights
    found = point_values(ledger, weights) | {"score_spread": scores.spread}
    bounds: dict[str, Interval | None] = {}
    if settings.n_resamples and n_people > 1:  # one person never varies
        if isinstance(ledger, LabelLedger):
            bounds = _bound_by_replicates(ledger, found, weights, settings)
        for name in names:
            value = found[name]
            if value is not None and name not in bounds:
                bounds[name] = _bound(name, value, scores, ledger, confidence)
    measures = {}
    for name in names:
        low, high = bounds.get(name) or (None, None)
        measures[name] = Measure(found[name], low, None if high == math.inf else high, n_people)
    return measures


def _bound(name: str, value: float, scores: Scores, ledger: Ledger, confidence: float) -> Interval | None:
    """Bound a measure by what people contribute to it."""
    weights = scores.weights
    if name == "balanced_accuracy":
        label = ledger.amounts["label"]
        return bound_recalls(label.amounts[1], label.groups, confidence, weights)
    if name == "score_spread" and scores.task == "regression":  # amounts may have long tails
        return bound_root(ledger.amounts["spread"].amounts[1] / scores.scale**2, confidence, weights)
    if isinstance(ledger, NumberLedger) and name in ("r2", "root_mean_squared_error"):
        errors, varied = ledger.squares
        of_root = name != "r2"
        return bound_root(errors, confidence, weights) if of_root else bound_r2(errors, varied, confidence, weights)
    known, most = contribute_to_mean(name, scores, ledger), 1.0 if name == "brier" else math.inf
    if name != "score_spread":
        return interval_of_mean(value, known, confidence, 0.0, most)
    variance = interval_of_mean(value**2, known.scaled(2 * value), confidence, 0.0, most)
    return None if variance is None else (math.sqrt(variance[0]), math.sqrt(variance[1]))


def contribute_to_mean(name: str, scores: Scores, ledger: Ledger) -> Contributions:
    """Return what people contribute to a mean of ``MEANS``, or to its root, to first order."""
    if name == "score_spread":
        return contribute_to_spread(scores)
    weights = scores.weights
    if isinstance(ledger, LabelLedger):
        return contribute_alone(ledger.amounts["label"].amounts[2 if name == "log_loss" else 3], weights)
    known = contribute_alone(ledger.amounts["error"].amounts[1 if name == "mean_absolute_error" else 2], weights)
    root = math.sqrt(mean_of(ledger.amounts["error"].amounts[2], weights))
    return known if name == "mean_absolute_error" or root == 0 else known.scaled(1 / (2 * root))


def contribute_to_spread(scores: Scores) -> Contributions:
    """Return what people contribute to the standard deviation of the scores."""
    columns = scores.values.reshape(len(scores), -1) / scores.scale
    middle = columns.mean(axis=0) if scores.weights is None else np.average(columns, axis=0, weights=scores.weights)
    squares = np.square(columns - middle).sum(axis=1) / (1 if scores.values.ndim == 1 else 2)
    if scores.spread <= EPSILON * float(np.abs(columns).max(initial=0.0)):  # what rounding leaves of none
        return contribute_alone(np.zeros(len(squares)), scores.weights)
    return contribute_alone(squares, scores.weights).scaled(1 / (2 * scores.spread))


def positives_of(scores: Scores, table: CodedTable) -> NDArray[np.bool_]:
    """Return whose label is the positive one: the second of two by default."""
    is_positive: NDArray[np.bool_] = table.labels == (1 if scores.positive is None else scores.positive)
    return is_positive


def list_measures(scores: Scores, outcomes: Floats | None) -> list[str]:
    """Name the measures of this task, in the order of all measures."""
    if not scores.has_labels:
        names = set(OF_NUMBERS if outcomes is not None else OF_NUMBERS[:1])
    else:
        names = set(OF_LABELS).difference(DECIDED if scores.decisions is None else ())
    return [name for name in PEOPLE_MEASURES if name in names]


def open_ledger(scores: Scores, table: CodedTable, outcomes: Floats | None) -> Ledger:
    """Find what each person adds to the measures of the task."""
    if not scores.has_labels:
        return NumberLedger.open(outcomes, scores.values, scores.weights)
    labels = table.labels if scores.task == "multiclass" else positives_of(scores, table).astype(np.int64)
    how: dict[str, Any] = {"weights": scores.weights, "ranking": scores.ranking}
    return LabelLedger.open(labels, scores.values, scores.predicted, **how)


def _bound_by_replicates(
    ledger: LabelLedger, found: Mapping[str, float | None], weights: Floats, settings: AuditSettings
) -> dict[str, Interval | None]:
    """Bound areas, shares and the calibration error by how they vary over bootstrap resamples."""
    from likewise.auditing.inference._bootstrap import resample_people

    sums, areas = resample_people(
        ledger.counted,
        ledger.curves,
        n_people=len(weights),
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )
    replicates, n_rarest, confidence = ledger.shares(sums, areas), count_rarest(ledger), settings.confidence
    weighted_away = share_weighted_away(ledger)
    bounds: dict[str, Interval | None] = {}
    for name in BY_REPLICATES:
        value, n_counting = found.get(name), n_rarest if name in OF_RAREST else effective_size(weights)
        if value is not None:
            bounds[name] = bound_by_replicates(
                name, value, replicates[name], n_counting, confidence, weighted_away=weighted_away
            )
    value = found["calibration_error"]
    if value is not None:
        drawn = sums["label"][..., 0].sum(axis=-1)
        among_all = ledger.amounts["bin"].add_up(weights) / weights.sum()
        shares = ratio(sums["bin"], drawn[:, None, None])
        bounds["calibration_error"] = calibration_interval(
            value, replicates["calibration_error"], shares, among_all, confidence
        )
    return bounds


def count_rarest(ledger: LabelLedger) -> float:
    """Count, effectively, the people of the rarest label that occurs, which averages over labels depend on."""
    labels = ledger.amounts["label"].groups
    counts = effective_counts(labels, ledger.weights)
    return float(counts[counts > 0].min(initial=len(labels)))


def share_weighted_away(ledger: LabelLedger) -> float:
    """Return the share of people that uneven weights take away, effectively, among those of each label."""
    if ledger.weights is None:
        return 0.0
    counts = effective_counts(ledger.amounts["label"].groups, ledger.weights)
    return max(1 - float(counts.sum()) / max(int(np.count_nonzero(ledger.weights)), 1), 0.0)
