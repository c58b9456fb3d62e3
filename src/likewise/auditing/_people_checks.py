"""Checks of labels, scores and weights given as plain arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.auditing._tallies import Floats
from likewise.exceptions import ScoreError


def check_labels(
    y: ArrayLike, scores: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return labels as positions, probabilities and weights, or say which of them makes no sense."""
    values = _as_floats(scores, "The scores")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2):
        raise ScoreError(f"The scores have shape {values.shape}. Give one number a person, or one a person and label.")
    if values.size and (values.min() < 0 or values.max() > 1):
        raise ScoreError(
            f"The scores run from {values.min():.6g} to {values.max():.6g}, but probabilities lie from 0 to 1. Give "
            "probabilities; for predicted amounts use measure_errors."
        )
    labels = _as_floats(y, "The labels")
    _refuse_lengths(labels, values)
    n_labels = 2 if values.ndim == 1 else values.shape[1]
    strange = labels[(labels != np.floor(labels)) | (labels < 0) | (labels >= n_labels)]
    if len(strange):
        meaning = "1 for the positive and 0 for the other" if values.ndim == 1 else "positions of columns of the scores"
        raise ScoreError(
            f"The labels hold {strange[0]:g}. With these scores give labels from 0 to {n_labels - 1}: {meaning}."
        )
    return labels.astype(np.int64), values, _check_weights(weights, len(values))


def check_numbers(outcomes: ArrayLike, predictions: ArrayLike, weights: ArrayLike | None) -> tuple[Floats, ...]:
    """Return outcomes, predictions and weights as numbers, or say which of them makes no sense."""
    predicted = _as_floats(predictions, "The predictions")
    if predicted.ndim == 2 and predicted.shape[1] == 1:
        predicted = predicted[:, 0]
    if predicted.ndim != 1:
        raise ScoreError(f"The predictions have shape {predicted.shape}. Give one number a person.")
    true = _as_floats(outcomes, "The outcomes")
    _refuse_lengths(true, predicted)
    return true, predicted, _check_weights(weights, len(predicted))


def _as_floats(given: ArrayLike, what: str) -> Floats:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ScoreError(f"{what} are not numbers. Give one number a person.") from None
    unknown = np.argwhere(~np.isfinite(values))
    if len(unknown):
        where = f", first in row {unknown[0][0]:,} (counted from 0)" if values.ndim else ""
        raise ScoreError(f"{what} are NaN or infinite in {len(unknown):,} places{where}. Leave those people out.")
    return values


def _refuse_lengths(labels: Floats, values: Floats) -> None:
    if labels.ndim != 1 or len(labels) != len(values):
        raise ScoreError(
            f"There are labels or outcomes of shape {labels.shape} for scores of {len(values):,} people. Give one a "
            "person, in the order of the scores."
        )
    if not len(values):
        raise ScoreError("There is nobody to measure: labels and scores are empty. Give at least one person.")


def _check_weights(weights: ArrayLike | None, n_people: int) -> Floats:
    if weights is None:
        return np.ones(n_people)
    times = _as_floats(weights, "The weights")
    if times.shape != (n_people,):
        raise ScoreError(f"The weights have shape {times.shape} for {n_people:,} people. Give one a person.")
    if times.min() < 0 or times.sum() <= 0:
        raise ScoreError(f"The weights run from {times.min():g} to {times.max():g}. Give none below 0, and some above.")
    return times
