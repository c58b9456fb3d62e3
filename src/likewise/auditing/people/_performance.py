"""How good scores are at what they are for, by the measures of scikit-learn, with bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.auditing._settings import AuditSettings
from likewise.auditing.inference._intervals import (
    MARGIN,
    PSEUDO_PEOPLE,
    Contributions,
    Interval,
    contribute_alone,
    interval_by_skewness,
    interval_of_mean,
    interval_of_share,
)
from likewise.auditing.people._calibration import calibration_interval, calibration_of, calibration_sums
from likewise.auditing.people._sums import (
    Curve,
    Floats,
    GroupSums,
    check_labels,
    check_numbers,
    curve,
    group_sums,
    ratio,
    spread_of,
    spread_sums,
)
from likewise.auditing.question._scores import Scores
from likewise.auditing.question._weights import mean_of
from likewise.record._internal import PEOPLE_MEASURES, Measure
from likewise.schema import CodedTable

Labels = NDArray[np.integer]
EPSILON = float(np.finfo(np.float64).eps)  # scores are kept this far from 0 and 1 in the log loss, as scikit-learn does
SKEWER: Final = 1.5  # replicates of few people show less skewness than there is
R2_TOLERANCE = 1e-12  # of the sum of squares: a variance below is what rounding leaves of none
DECIDED: Final = ("accuracy", "balanced_accuracy", "f1")
ALL_OR_NOTHING: Final = ("roc_auc", "average_precision", *DECIDED)  # 0 or 1 where one and the same holds for all
OF_LABELS: Final = ("roc_auc", "average_precision", *DECIDED, "log_loss", "brier", "calibration_error", "score_spread")
OF_NUMBERS: Final = ("score_spread", "r2", "mean_absolute_error", "root_mean_squared_error")
OF_RAREST: Final = ("roc_auc", "average_precision", "balanced_accuracy", "f1")  # as certain as the rarest label is seen
MEANS: Final = (
    "log_loss",
    "brier",
    "score_spread",
    "mean_absolute_error",
    "root_mean_squared_error",
)  # or roots of one


def measure_utility(
    y: ArrayLike, scores: ArrayLike, *, threshold: float = 0.5, weights: ArrayLike | None = None
) -> dict[str, float | None]:
    """Measure how well probabilities, and decisions by them, agree with the labels.

    Parameters
    ----------
    y : array of int or bool, shape (n_people,)
        1 for the positive label and 0 for the other; with one column of scores per class, the position of the true one.
    scores : array of float, shape (n_people,) or (n_people, n_classes)
        The probability of the positive label, or of each label.
    threshold : float
        From which score on the decision is yes. Of several labels the likeliest is decided on, at any threshold.
    weights : array of float, shape (n_people,), optional
        How much each person counts; 1, if not given. A weight of 2 is the same as a row twice.

    Returns
    -------
    dict of str to float or None
        ``roc_auc``, ``average_precision``, ``accuracy``, ``balanced_accuracy``, ``f1``, ``log_loss``, ``brier``,
        ``calibration_error`` and ``score_spread``. Of several labels, areas (each label against the rest) and F1 are
        means over the labels that occur, and the Brier score is half the squared distance, so that two columns say
        what one does. None where a measure needs several labels and only one occurs.

    Examples
    --------
    >>> from likewise.auditing import measure_utility
    >>> utility = measure_utility([0, 0, 1, 1], [0.25, 0.75, 0.5, 1.0])
    >>> utility["roc_auc"], utility["accuracy"], utility["brier"]
    (0.75, 0.75, 0.21875)
    """
    labels, values, times = check_labels(y, scores, weights)
    decisions = values.argmax(axis=1) if values.ndim == 2 else (values >= threshold).astype(np.int64)
    return point_values(LabelLedger.open(labels, values, decisions, weights=times), times)


def measure_errors(
    outcomes: ArrayLike, predictions: ArrayLike, *, weights: ArrayLike | None = None
) -> dict[str, float | None]:
    """Measure how far predicted numbers are from the true ones.

    Parameters
    ----------
    outcomes, predictions : array of float, shape (n_people,)
    weights : array of float, shape (n_people,), optional
        How much each person counts; 1, if not given.

    Returns
    -------
    dict of str to float or None
        ``score_spread`` (the standard deviation of the predictions), ``r2`` (None where all outcomes are equal),
        ``mean_absolute_error`` and ``root_mean_squared_error``.

    Examples
    --------
    >>> from likewise.auditing import measure_errors
    >>> measure_errors([1.0, 2.0, 3.0], [1.0, 2.0, 5.0])["mean_absolute_error"]
    0.6666666666666666
    """
    true, predicted, times = check_numbers(outcomes, predictions, weights)
    return point_values(NumberLedger.open(true, predicted), times)


@dataclass(frozen=True, slots=True, eq=False)
class LabelLedger:
    """The sums that measures of probabilities need, and the measures as formulas of them."""

    amounts: Mapping[str, GroupSums]
    curves: Sequence[Curve]
    occurring: NDArray[np.intp]  # labels over which shares of right decisions are averaged
    averaged: NDArray[np.intp]  # labels over which F1 is averaged

    @classmethod
    def open(
        cls, labels: Labels, scores: Floats, decisions: Labels | None, *, weights: Floats | None = None
    ) -> LabelLedger:
        """Find what each person adds; the bins of the calibration are those of the given weights."""
        n_labels = 2 if scores.ndim == 1 else scores.shape[1]
        is_right = np.zeros(len(labels)) if decisions is None else decisions == labels
        of_people = [np.ones(len(labels)), is_right, *_losses(labels, scores)]
        amounts = {
            "label": group_sums(of_people, labels, n_labels),
            "bin": calibration_sums(labels, scores, weights=weights),
            "spread": spread_sums(scores),
        }
        if decisions is not None:
            amounts["decision"] = group_sums([np.ones(len(labels))], decisions, n_labels)
        counts = np.bincount(labels, weights, n_labels)
        occurring = np.flatnonzero(counts)
        if scores.ndim == 1:
            return cls(amounts, [curve(labels == 1, scores)], occurring, np.array([1]))
        decided = 0 if decisions is None else np.bincount(decisions, weights, n_labels)
        curves = [curve(labels == label, scores[:, label]) for label in occurring]
        return cls(amounts, curves, occurring, np.flatnonzero(counts + decided))

    def values(self, sums: Mapping[str, Floats], areas: Floats) -> dict[str, Floats]:
        """Turn sums, shape (..., n_groups, n_amounts), and areas, (..., n_curves, 2), into measures."""
        people, right, losses, squares = np.moveaxis(sums["label"], -1, 0)
        total = people.sum(axis=-1)
        found = {"roc_auc": areas[..., 0].mean(axis=-1), "average_precision": areas[..., 1].mean(axis=-1)}
        if "decision" in sums:
            by_label = ratio(right, people)[..., self.occurring].mean(axis=-1)
            by_f1 = ratio(2 * right, people + sums["decision"][..., 0])[..., self.averaged]
            found["accuracy"] = ratio(right.sum(axis=-1), total)
            found["balanced_accuracy"] = by_label if len(self.occurring) > 1 else np.full_like(total, np.nan)
            found["f1"] = by_f1.mean(axis=-1)
        return found | {
            "log_loss": ratio(losses.sum(axis=-1), total),
            "brier": ratio(squares.sum(axis=-1), total),
            "calibration_error": calibration_of(sums["bin"], total),
            "score_spread": spread_of(sums["spread"]),
        }


@dataclass(frozen=True, slots=True, eq=False)
class NumberLedger:
    """The sums that measures of predicted numbers need, and the measures as formulas of them."""

    amounts: Mapping[str, GroupSums]
    curves: Sequence[Curve] = ()

    @classmethod
    def open(cls, outcomes: Floats | None, predictions: Floats) -> NumberLedger:
        """Find what each person adds."""
        amounts = {"spread": spread_sums(predictions)}
        if outcomes is not None:
            errors = outcomes - predictions
            amounts["error"] = group_sums([np.ones(len(errors)), np.abs(errors), np.square(errors)])
            amounts["outcome"] = spread_sums(outcomes)
        return cls(amounts)

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


@dataclass(frozen=True, slots=True, eq=False)
class PeopleMeasures:
    """The measures of people, and what each contributes to the standard deviation of the scores."""

    measures: dict[str, Measure]
    spread_contributions: Floats


def measure_people(
    scores: Scores,
    table: CodedTable,
    outcomes: NDArray[np.float64] | None,
    settings: AuditSettings,
) -> PeopleMeasures:
    """Measure performance, calibration and spread, with intervals from bootstrap resamples of people."""
    n_people, n_resamples, confidence = scores.n_people, settings.n_resamples, settings.confidence
    if not n_people:
        return PeopleMeasures({name: Measure(None) for name in _applying(scores, outcomes)}, np.empty(0))
    ledger = open_ledger(scores, table, outcomes)
    found = point_values(ledger, weights_of(scores)) | {"score_spread": scores.spread}
    replicates, calibration = _replicate(ledger, scores, settings)
    replicates["score_spread"] /= scores.scale
    n_rarest = count_rarest(ledger, scores)
    measures = {}
    for name in _applying(scores, outcomes):
        value, interval = found[name], None
        if value is not None and n_resamples and n_people > 1:  # one person never varies
            if name == "calibration_error":
                interval = calibration_interval(value, replicates[name], *calibration, confidence)
            elif name in MEANS:
                most = 1.0 if name == "brier" else math.inf
                interval = interval_of_mean(value, contribute_to_mean(name, scores, ledger), confidence, 0.0, most)
            else:
                n_counting = n_rarest if name in OF_RAREST else scores.n_effective
                interval = _interval(name, value, replicates[name], n_counting, confidence)
        low, high = interval or (None, None)
        measures[name] = Measure(value, low, None if high == math.inf else high, n_people)
    return PeopleMeasures(measures, _contribute_to_spread(scores).by_person)


def contribute_to_mean(name: str, scores: Scores, ledger: Ledger) -> Contributions:
    """Return what people contribute to a mean of ``MEANS``, or to its root, to first order."""
    if name == "score_spread":
        return _contribute_to_spread(scores)
    weights = scores.weights
    if isinstance(ledger, LabelLedger):
        return contribute_alone(ledger.amounts["label"].amounts[:, 2 if name == "log_loss" else 3], weights)
    known = contribute_alone(ledger.amounts["error"].amounts[:, 1 if name == "mean_absolute_error" else 2], weights)
    root = math.sqrt(mean_of(ledger.amounts["error"].amounts[:, 2], weights))
    return known if name == "mean_absolute_error" or root == 0 else known.scaled(1 / (2 * root))


def _contribute_to_spread(scores: Scores) -> Contributions:
    columns = scores.values.reshape(len(scores), -1) / scores.scale
    middle = columns.mean(axis=0) if scores.weights is None else np.average(columns, axis=0, weights=scores.weights)
    squares = np.square(columns - middle).sum(axis=1) / (1 if scores.values.ndim == 1 else 2)
    if scores.spread <= EPSILON * float(np.abs(columns).max(initial=0.0)):  # what rounding leaves of none
        return contribute_alone(np.zeros(len(squares)), scores.weights)
    return contribute_alone(squares, scores.weights).scaled(1 / (2 * scores.spread))


def replicate_people(
    scores: Scores, table: CodedTable, outcomes: NDArray[np.float64] | None, settings: AuditSettings
) -> dict[str, Floats]:
    """Measure in every replicate; the same seed gives everybody the same weights, whatever the scores."""
    replicates, _ = _replicate(open_ledger(scores, table, outcomes), scores, settings)
    return replicates | {"score_spread": replicates["score_spread"] / scores.scale}


def positives_of(scores: Scores, table: CodedTable) -> NDArray[np.bool_]:
    """Return whose label is the positive one: the second of two by default."""
    is_positive: NDArray[np.bool_] = table.labels == (1 if scores.positive is None else scores.positive)
    return is_positive


def _applying(scores: Scores, outcomes: Floats | None) -> list[str]:
    """Name the measures of this task, in the order of all measures."""
    if not scores.has_labels:
        names = set(OF_NUMBERS if outcomes is not None else OF_NUMBERS[:1])
    else:
        names = set(OF_LABELS).difference(DECIDED if scores.decisions is None else ())
    return [name for name in PEOPLE_MEASURES if name in names]


def open_ledger(scores: Scores, table: CodedTable, outcomes: Floats | None) -> Ledger:
    """Find what each person adds to the measures of the task."""
    if not scores.has_labels:
        return NumberLedger.open(outcomes, scores.values)
    labels = table.labels if scores.task == "multiclass" else positives_of(scores, table).astype(np.int64)
    return LabelLedger.open(labels, scores.values, scores.predicted, weights=scores.weights)


def weights_of(scores: Scores) -> Floats:
    """Return how much each person counts."""
    return np.ones(len(scores)) if scores.weights is None else scores.weights


def _replicate(
    ledger: Ledger, scores: Scores, settings: AuditSettings
) -> tuple[dict[str, Floats], tuple[Floats, Floats]]:
    """Measure in every replicate; for the calibration, also sum its bins there and among all people."""
    from likewise.auditing.inference._bootstrap import resample_people

    sums, areas = resample_people(
        {name: one.weighted(scores.weights) for name, one in ledger.amounts.items()},
        [one.weighted(scores.weights) for one in ledger.curves],
        n_people=len(scores),
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )
    replicates = ledger.values(sums, areas)
    if isinstance(ledger, NumberLedger):
        return replicates, (np.empty(0), np.empty(0))
    drawn = sums["label"][..., 0].sum(axis=-1)
    weights = weights_of(scores)
    among_all = ledger.amounts["bin"].add_up(weights) / weights.sum()
    return replicates, (ratio(sums["bin"], drawn[:, None, None]), among_all)


def count_rarest(ledger: Ledger, scores: Scores) -> float:
    """Count, effectively, the people of the rarest label that occurs, which averages over labels depend on."""
    if "label" not in ledger.amounts:
        return scores.n_effective
    labels, weights = ledger.amounts["label"].groups, scores.weights
    counts: NDArray[np.number] = np.bincount(labels, weights)
    if weights is not None:
        counts = np.square(counts) / np.maximum(np.bincount(labels, np.square(weights)), np.finfo(np.float64).tiny)
    return float(counts[counts > 0].min(initial=scores.n_effective))


def describe_replicates(deviations: Floats, n_people: float) -> tuple[float, tuple[float, float]] | None:
    """Return standard error of an estimate, and its least and largest skewness; None where too few replicates do."""
    known = deviations[np.isfinite(deviations)]
    if 2 * len(known) < len(deviations) or not len(known):
        return None
    error, n = float(known.std()), max(n_people, 2.0)
    skewness = float(((known - known.mean()) ** 3).mean()) / error**3 if error > 0 else 0.0
    by_chance = 6 / len(known)  # what replicates without skewness show, squared
    lean = SKEWER * skewness**3 / (skewness**2 + by_chance)
    return error * math.sqrt(n / (n - 1)), (lean, lean)


def _interval(name: str, value: float, replicates: Floats, n_counting: float, confidence: float) -> Interval | None:
    """Bound a measure of people, of whom as many count as have the rarest label, where that is what matters."""
    described = describe_replicates(replicates - value, n_counting)
    if described is None:
        return None
    error, skewness = described
    if name not in ALL_OR_NOTHING:
        return interval_by_skewness(value, error, skewness, n_counting, confidence, -math.inf, 1.0)
    if error == 0 and 0 < value < 1:  # everybody is scored alike
        return value, value
    variance, at_most = error**2, value * (1 - value) / n_counting
    if name == "f1":  # no share of people: its variance may well be smaller, and replicates show it whole
        variance /= MARGIN**2
    else:
        variance += max(PSEUDO_PEOPLE / (n_counting + PSEUDO_PEOPLE) * (at_most - variance), 0.0)
    # replicates of people who are all alike say nothing
    n_trials = value * (1 - value) / variance if variance > 0 and 0 < value < 1 else n_counting
    low, high = interval_of_share(value, n_trials, confidence, n_counting)
    if name == "average_precision":  # of few people it is too high, by about as much as replicates are higher still
        too_high = 2 * max(float(np.nanmean(replicates)) - value, 0.0)
        low = min(low, interval_of_share(max(value - too_high, 0.0), n_trials, confidence, n_counting)[0])
    return low, high
