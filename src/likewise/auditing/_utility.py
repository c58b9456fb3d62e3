"""How good the scores are at what they are for, by the measures of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.auditing._calibration import calibration_of, tally_calibration
from likewise.auditing._people_checks import check_labels, check_numbers
from likewise.auditing._tallies import Curve, Floats, Tally, curve, ratio, spread_of, tally, tally_spread

Labels = NDArray[np.integer]
EPSILON = float(np.finfo(np.float64).eps)  # scores are kept this far from 0 and 1 in the log loss, as scikit-learn does
R2_TOLERANCE = 1e-12  # of the sum of squares: a variance below is what rounding leaves of none


def measure_utility(
    y: ArrayLike, scores: ArrayLike, *, threshold: float = 0.5, weights: ArrayLike | None = None
) -> dict[str, float | None]:
    """Measure how well probabilities, and decisions by them, agree with the labels.

    Parameters
    ----------
    y : array of int or bool, shape (n_people,)
        1 for the positive label and 0 for the other; with one column of scores a label, the position of the true one.
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
    """The sums that measures of probabilities rest on, and the measures as formulas of them."""

    tallies: Mapping[str, Tally]
    curves: Sequence[Curve]
    occurring: NDArray[np.intp]  # labels over which shares of right decisions are averaged
    averaged: NDArray[np.intp]  # labels over which F1 is averaged

    @classmethod
    def open(
        cls, labels: Labels, scores: Floats, decisions: Labels | None, *, weights: Floats | None = None
    ) -> LabelLedger:
        """Find what each person adds. Bins of the calibration are those of the given weights."""
        n_labels = 2 if scores.ndim == 1 else scores.shape[1]
        is_right = np.zeros(len(labels)) if decisions is None else decisions == labels
        amounts = [np.ones(len(labels)), is_right, *_losses(labels, scores)]
        tallies = {
            "label": tally(amounts, labels, n_labels),
            "bin": tally_calibration(labels, scores, weights=weights),
            "spread": tally_spread(scores),
        }
        if decisions is not None:
            tallies["decision"] = tally([np.ones(len(labels))], decisions, n_labels)
        counts = np.bincount(labels, weights, n_labels)
        occurring = np.flatnonzero(counts)
        if scores.ndim == 1:
            return cls(tallies, [curve(labels == 1, scores)], occurring, np.array([1]))
        decided = 0 if decisions is None else np.bincount(decisions, weights, n_labels)
        curves = [curve(labels == label, scores[:, label]) for label in occurring]
        return cls(tallies, curves, occurring, np.flatnonzero(counts + decided))

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
    """The sums that measures of predicted numbers rest on, and the measures as formulas of them."""

    tallies: Mapping[str, Tally]
    curves: Sequence[Curve] = ()

    @classmethod
    def open(cls, outcomes: Floats | None, predictions: Floats) -> NumberLedger:
        """Find what each person adds."""
        tallies = {"spread": tally_spread(predictions)}
        if outcomes is not None:
            errors = outcomes - predictions
            tallies["error"] = tally([np.ones(len(errors)), np.abs(errors), np.square(errors)])
            tallies["outcome"] = tally_spread(outcomes)
        return cls(tallies)

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
    sums = {name: one.add_up(weights) for name, one in ledger.tallies.items()}
    areas = np.array([one.areas(weights) for one in ledger.curves]).reshape(-1, 2)
    found = ledger.values(sums, areas)
    return {name: float(value) if np.isfinite(value) else None for name, value in found.items()}


def _losses(labels: Labels, scores: Floats) -> tuple[Floats, Floats]:
    """Give each person's log loss, and the half squared distance between probabilities and label."""
    if scores.ndim == 1:
        kept = np.clip(scores, EPSILON, 1 - EPSILON)
        return -np.log(np.where(labels == 1, kept, 1 - kept)), np.square(scores - (labels == 1))
    of_label = scores[np.arange(len(scores)), labels]
    squares = np.square(scores).sum(axis=1) + 1 - 2 * of_label  # those of all labels, the true one's put right
    return -np.log(np.clip(of_label, EPSILON, 1 - EPSILON)), np.maximum(squares, 0.0) / 2
