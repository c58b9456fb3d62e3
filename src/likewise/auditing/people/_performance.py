"""How good scores are at what they are for, by the measures of scikit-learn, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._ranking import Levels, Ranking
from likewise.auditing._settings import AuditSettings
from likewise.auditing.inference._intervals import Influence, Interval, influence_of_people, interval_of_mean
from likewise.auditing.people._bounds import (
    bound_area,
    bound_people,
    bound_r2,
    bound_recalls,
    bound_root,
    influence_by_label,
)
from likewise.auditing.people._calibration import Calibration
from likewise.auditing.question._scores import Scores
from likewise.auditing.question._weights import Weights, spread_between, sum_products
from likewise.record._internal import MEASURES, Measure
from likewise.schema import CodedTable

Floats = NDArray[np.float64]
Labels = NDArray[np.integer]
Values = dict[str, float]
EPSILON = float(np.finfo(np.float64).eps)  # scores are kept this far from 0 and 1 in the log loss, as scikit-learn does
R2_TOLERANCE = 1e-12  # of the sum of squares: a variance below is what rounding leaves of none
TINY: Final = 1e-150  # in place of no weight at all, also squared
DECIDED: Final = ("accuracy", "balanced_accuracy", "f1")
OF_LABELS: Final = ("roc_auc", "average_precision", *DECIDED, "log_loss", "brier", "calibration_error", "score_spread")
OF_NUMBERS: Final = ("score_spread", "r2", "mean_absolute_error", "root_mean_squared_error")
BY_LABEL: Final = ("roc_auc", "average_precision", "f1")
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
    ledger = LabelLedger.open(labels, scores, decisions, Weights.of(weights, len(labels)))
    return where_known(ledger.values() | {"score_spread": spread_between(scores, ledger.weights)})


def where_known(values: Values) -> dict[str, float | None]:
    """Return None where there is nothing to measure."""
    return {name: float(value) if math.isfinite(value) else None for name, value in values.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """People at the levels of their scores, of which equal ones count together."""

    levels: Levels
    is_positive: NDArray[np.bool_]
    weights: Weights

    def areas(self) -> Floats:
        """Return ROC AUC and average precision; NaN where one of the two labels is missing."""
        (more, less), (positive, negative) = self._steps()
        if not len(positive) or positive[-1] == 0 or negative[-1] == 0:
            return np.full(2, np.nan)
        roc = sum_products(less, positive - more / 2) / (positive[-1] * negative[-1])
        precision = positive / np.maximum(positive + negative, TINY)  # nobody who counts may be at the top
        return np.array([roc, sum_products(more, precision) / positive[-1]])

    def moves(self) -> Floats:
        """Return how far ROC AUC and average precision move with each person's weight; shape (n_people, 2)."""
        (more, less), (positive, negative) = self._steps()
        n_positive, n_negative = positive[-1], negative[-1]
        people = np.maximum(positive + negative, TINY)
        beaten = (n_negative - negative + less / 2) / n_negative  # of a positive, the share ranked lower
        beating = (positive - more / 2) / n_positive
        precision, shares = positive / people, more / n_positive
        roc, average = sum_products(shares, beaten), sum_products(shares, precision)
        # a person also counts in the precision at every lower score
        raised, lowered = (np.cumsum((shares * one / np.square(people))[::-1])[::-1] for one in (negative, positive))
        of_positive = np.column_stack([(beaten - roc) / n_positive, (precision - average) / n_positive + raised])
        of_negative = np.column_stack([(beating - roc) / n_negative, -lowered])
        steps = self.levels.n - 1 - self.levels.of_rows
        moved: Floats = np.where(self.is_positive[:, None], of_positive[steps], of_negative[steps])
        return moved * self.weights.values[:, None]

    def _steps(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Return the weight of positive and negative people at each level, from the highest, and up to there."""
        at_level = [
            self.weights.take(some).counts(self.levels.of_rows[some], self.levels.n)[::-1].astype(np.float64)
            for some in (np.flatnonzero(self.is_positive), np.flatnonzero(~self.is_positive))
        ]
        return (at_level[0], at_level[1]), (np.cumsum(at_level[0]), np.cumsum(at_level[1]))


@dataclass(frozen=True, slots=True, eq=False)
class LabelLedger:
    """What each person adds to the measures of probabilities."""

    labels: Labels
    decided: Labels | None
    losses: Floats
    squares: Floats  # half the squared distance between probabilities and label
    calibration: Calibration
    curves: Sequence[Curve]
    n_labels: int
    weights: Weights

    @classmethod
    def open(
        cls, labels: Labels, scores: Floats, decided: Labels | None, weights: Weights, ranking: Ranking | None = None
    ) -> LabelLedger:
        """Find what each person adds; the bins of the calibration are those of the weights."""
        ranking = Ranking(scores) if ranking is None else ranking
        n_labels = 2 if scores.ndim == 1 else scores.shape[1]
        columns = [1] if scores.ndim == 1 else np.flatnonzero(weights.counts(labels, n_labels)).tolist()
        levels = [ranking.levels(0 if scores.ndim == 1 else label) for label in columns]
        curves = [Curve(one, labels == label, weights) for label, one in zip(columns, levels, strict=True)]
        calibration = Calibration.of(labels, scores, weights, levels[0] if scores.ndim == 1 else None)
        return cls(labels, decided, *_losses(labels, scores), calibration, curves, n_labels, weights)

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """For whom the decision is the label."""
        assert self.decided is not None  # as who asks knows
        return np.asarray(self.decided == self.labels)

    def values(self) -> Values:
        """Take the measures; NaN where there is nothing to measure."""
        roc, precision = np.mean([one.areas() for one in self.curves], axis=0) if self.curves else (np.nan, np.nan)
        return {
            "roc_auc": roc,
            "average_precision": precision,
            "log_loss": self.weights.mean(self.losses),
            "brier": self.weights.mean(self.squares),
            "calibration_error": self.calibration.error,
        } | ({} if self.decided is None else self._decided_values())

    def _decided_values(self) -> Values:
        people = self.weights.counts(self.labels, self.n_labels)
        recalls = [self.weights.take(some).mean(self.is_right[some]) for some in self._members(people)]
        averaged = [self._f1(label) for label in self._averaged()]
        return {
            "accuracy": self.weights.mean(self.is_right),
            "balanced_accuracy": float(np.mean(recalls)) if len(recalls) > 1 else np.nan,
            "f1": float(np.mean([right / named if named else np.nan for right, named in averaged])),
        }

    def _members(self, people: NDArray[Any]) -> list[NDArray[np.intp]]:
        return [np.flatnonzero(self.labels == label) for label in np.flatnonzero(people)]

    def _averaged(self) -> list[int]:
        """Return the labels over which F1 is averaged: the positive one, or all of several that occur."""
        if self.n_labels == 2 and len(self.curves) == 1:
            return [1]
        counts = [self.weights.counts(one, self.n_labels) for one in (self.labels, self.decided) if one is not None]
        return list(np.flatnonzero(sum(counts)))

    def _f1(self, label: int) -> tuple[float, float]:
        """Return twice the weight of who is decided and has the label, and of who is decided plus who has it."""
        is_label, is_decided = self.labels == label, self.decided == label
        of_both, *of_one = (self.weights.take(one).total for one in (is_label & is_decided, is_label, is_decided))
        return 2 * of_both, sum(of_one)

    def moves(self, name: str) -> Floats:
        """Return how far ROC AUC, average precision or F1 moves with each person's weight."""
        if name != "f1":
            areas: Floats = np.mean([one.moves() for one in self.curves], axis=0)
            return areas[:, 0 if name == "roc_auc" else 1]
        moved = np.zeros(len(self.labels))
        for label in self._averaged():
            is_label, is_decided = self.labels == label, self.decided == label
            right, named = self._f1(label)
            moved += (
                2.0 * (is_label & is_decided) - right / named * (is_label.astype(np.float64) + is_decided)
            ) / named
        return self.weights.times(moved) / len(self._averaged())


@dataclass(frozen=True, slots=True, eq=False)
class NumberLedger:
    """What each person adds to the measures of predicted numbers."""

    errors: Floats
    varied: Floats  # squared distances of the outcomes from their mean
    weights: Weights

    @classmethod
    def open(cls, outcomes: Floats, predictions: Floats, weights: Weights) -> NumberLedger:
        """Find what each person adds."""
        return cls(outcomes - predictions, np.square(outcomes - weights.mean(outcomes)), weights)

    @property
    def squares(self) -> Floats:
        """The squared errors."""
        return np.square(self.errors)

    def values(self) -> Values:
        """Take the measures; NaN where there is nothing to measure."""
        square, variance = self.weights.mean(self.squares), self.weights.mean(self.varied)
        is_varied = variance > R2_TOLERANCE * float(np.abs(self.varied).max(initial=0.0))
        return {
            "r2": 1 - square / variance if is_varied else np.nan,
            "mean_absolute_error": self.weights.mean(np.abs(self.errors)),
            "root_mean_squared_error": math.sqrt(square),
        }

    def moves(self, name: str) -> Floats:  # as of labels
        """Return how far R² moves with each person's weight."""
        errors, varied = (self.weights.times(one) for one in (self.squares, self.varied))
        total, spread = float(errors.sum()), float(varied.sum())
        moved: Floats = (total / spread * varied - errors) / spread
        return moved


Ledger = LabelLedger | NumberLedger


def _losses(labels: Labels, scores: Floats) -> tuple[Floats, Floats]:
    """Return each person's log loss, and the half squared distance between probabilities and label."""
    if scores.ndim == 1:
        kept = np.clip(scores, EPSILON, 1 - EPSILON)
        return -np.log(np.where(labels == 1, kept, 1 - kept)), np.square(scores - (labels == 1))
    of_label = scores[np.arange(len(scores)), labels]
    squares = np.square(scores).sum(axis=1) + 1 - 2 * of_label  # those of all labels, the true one's put right
    return -np.log(np.clip(of_label, EPSILON, 1 - EPSILON)), np.maximum(squares, 0.0) / 2


def measure_people(
    scores: Scores, table: CodedTable, outcomes: NDArray[np.float64] | None, settings: AuditSettings
) -> dict[str, Measure]:
    """Measure performance, calibration and spread, with intervals."""
    names, n_people = list_measures(scores, outcomes), scores.n_people
    if not n_people:
        return {name: Measure(None) for name in names}
    ledger = open_ledger(scores, table, outcomes)
    values = where_known(({} if ledger is None else ledger.values()) | {"score_spread": scores.spread})
    measures = {}
    for name in names:
        value, interval = values[name], None
        if settings.n_resamples and n_people > 1 and value is not None:  # one person never varies
            interval = _bound(name, value, scores, ledger, settings)
        low, high = interval or (None, None)
        measures[name] = Measure(value, low, None if high == math.inf else high, n_people)
    return measures


def _bound(name: str, value: float, scores: Scores, ledger: Ledger | None, settings: AuditSettings) -> Interval | None:
    """Bound a measure by what people, or clusters, move it by."""
    confidence, who = settings.confidence, (scores.weighing, scores.units)
    if isinstance(ledger, LabelLedger):
        if name == "accuracy":
            return bound_people(ledger.is_right, confidence, *who)
        if name == "balanced_accuracy":
            return bound_recalls(ledger.is_right, ledger.labels, confidence, *who)
        if name == "calibration_error":
            return ledger.calibration.interval(scores.units, confidence, settings.n_resamples, settings.seed)
        if name in BY_LABEL:
            return bound_area(value, influence_by_label(ledger.moves(name), ledger.labels, *who), confidence)
    if name == "score_spread" and scores.task == "regression":  # amounts may have long tails
        return bound_root(
            np.square(scores.values - scores.weighing.mean(scores.values)) / scores.scale**2, confidence, *who
        )
    if isinstance(ledger, NumberLedger) and name == "r2":
        return bound_r2(ledger.squares, ledger.varied, confidence, *who)
    if isinstance(ledger, NumberLedger) and name == "root_mean_squared_error":
        return bound_root(ledger.squares, confidence, *who)
    found = influence_on_mean(name, scores, ledger)
    return interval_of_mean(value, found, confidence, 0.0, 1.0 if name in ("brier", "score_spread") else math.inf)


def influence_on_mean(name: str, scores: Scores, ledger: Ledger | None) -> Influence:
    """Return the influence on a mean of ``MEANS``, or on its root."""
    if name == "score_spread" or ledger is None:
        return influence_on_spread(scores)
    who = scores.weighing, scores.units
    if isinstance(ledger, LabelLedger):
        return influence_of_people(ledger.losses if name == "log_loss" else ledger.squares, *who)
    if name == "mean_absolute_error":
        return influence_of_people(np.abs(ledger.errors), *who)
    root = math.sqrt(scores.weighing.mean(ledger.squares))
    return influence_of_people(ledger.squares, *who).scaled(1 / (2 * root) if root else 1.0)


def influence_on_spread(scores: Scores) -> Influence:
    """Return the influence on the standard deviation of the scores."""
    columns = scores.values.reshape(len(scores), -1).T / scores.scale
    squares = sum(np.square(column - scores.weighing.mean(column)) for column in columns)
    squares = squares / (1 if scores.values.ndim == 1 else 2)
    if scores.spread <= EPSILON * float(np.abs(columns).max(initial=0.0)):  # what rounding leaves of none
        return influence_of_people(np.zeros(len(scores)), scores.weighing, scores.units)
    return influence_of_people(squares, scores.weighing, scores.units).scaled(1 / (2 * scores.spread))


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
    return [name for name in MEASURES if name in names]


def open_ledger(scores: Scores, table: CodedTable, outcomes: Floats | None) -> Ledger | None:
    """Find what each person adds to the measures of the task; None where there is nothing to compare scores with."""
    if not scores.has_labels:
        return None if outcomes is None else NumberLedger.open(outcomes, scores.values, scores.weighing)
    labels = table.labels if scores.task == "multiclass" else positives_of(scores, table).astype(np.int64)
    return LabelLedger.open(labels, scores.values, scores.predicted, scores.weighing, scores.ranking)
