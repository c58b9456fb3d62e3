"""Measures of people are scikit-learn's, weights are repetitions, and what cannot be measured is None."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from tests.sizes import sized

from likewise.auditing._internal import Weights
from likewise.auditing.people import _performance as performance

Arrays = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]


def measure_utility(y: Any, scores: Any, weights: Any = None, threshold: float = 0.5) -> dict[str, Any]:
    times = None if weights is None else np.asarray(weights, np.float64)
    labels, values = np.asarray(y), np.asarray(scores, np.float64)
    return performance.measure_utility(labels, values, threshold=threshold, weights=times)


def measure_errors(true: Any, predicted: Any, weights: Any = None) -> dict[str, Any]:
    times = Weights.of(weights, len(true))
    return performance.where_known(performance.NumberLedger.open(true, predicted, times).values())


# few distinct values make ties, also at the threshold, at 0 and at 1
probabilities = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.floats(0, 1, width=32))


@st.composite
def people(draw: st.DrawFn) -> Arrays:
    """Draw labels of both kinds, scores and whole weights."""
    rows = draw(st.lists(st.tuples(st.integers(0, 1), probabilities, st.integers(0, 3)), min_size=1, max_size=25))
    ends = [(label, draw(probabilities), draw(st.integers(1, 3))) for label in (0, 1)]
    labels, scores, weights = zip(*rows, *ends, strict=True)
    return np.array(labels), np.array(scores), np.array(weights)


@st.composite
def people_of_three_labels(draw: st.DrawFn) -> Arrays:
    parts = st.tuples(*[st.integers(0, 4)] * 3).filter(any)
    rows = draw(st.lists(st.tuples(st.integers(0, 2), parts, st.integers(0, 3)), min_size=1, max_size=25))
    ends = [(label, draw(parts), draw(st.integers(1, 3))) for label in (0, 1, 2)]
    labels, shares, weights = zip(*rows, *ends, strict=True)
    return np.array(labels), np.array([np.array(share) / sum(share) for share in shares]), np.array(weights)


def by_scikit_learn(y: Any, scores: Any, weights: Any) -> dict[str, float]:
    decided, how = (scores >= 0.5).astype(int), {"sample_weight": weights}
    mean = np.average(scores, weights=weights)
    return {
        "roc_auc": metrics.roc_auc_score(y, scores, **how),
        "average_precision": metrics.average_precision_score(y, scores, **how),
        "accuracy": metrics.accuracy_score(y, decided, **how),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, decided, **how),
        "f1": metrics.f1_score(y, decided, **how),
        "log_loss": metrics.log_loss(y, scores, **how),
        "brier": metrics.brier_score_loss(y, scores, **how),
        "score_spread": np.sqrt(np.average((scores - mean) ** 2, weights=weights)),
    }


@settings(max_examples=sized(8, 60))
@given(people())
def test_measures_are_those_of_scikit_learn(given: Arrays) -> None:
    y, scores, weights = given
    found = measure_utility(y, scores, weights=weights)
    del found["calibration_error"]  # scikit-learn has none
    assert found == pytest.approx(by_scikit_learn(y, scores, weights), abs=1e-9)


@settings(max_examples=sized(8, 60))
@given(people_of_three_labels())
def test_measures_of_several_labels_are_those_of_scikit_learn(given: Arrays) -> None:
    y, scores, weights = given
    decided, how = scores.argmax(axis=1), {"sample_weight": weights}
    found = measure_utility(y, scores, weights=weights)
    one_hot = np.eye(3)[y]
    assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(one_hot, scores, average="macro", **how))
    assert found["average_precision"] == pytest.approx(metrics.average_precision_score(one_hot, scores, **how))
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(y, decided, **how))
    assert found["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(y, decided, **how))
    assert found["f1"] == pytest.approx(metrics.f1_score(y, decided, average="macro", **how))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, scores, labels=[0, 1, 2], **how))
    distances = ((scores - one_hot) ** 2).sum(axis=1)
    assert found["brier"] == pytest.approx(np.average(distances, weights=weights) / 2, abs=1e-12)


@settings(max_examples=sized(8, 60))
@given(st.one_of(people(), people_of_three_labels()))
def test_a_weight_is_a_repetition(given: Arrays) -> None:
    y, scores, weights = given
    weighted = measure_utility(y, scores, weights=weights)
    assert weighted == pytest.approx(measure_utility(y.repeat(weights), scores.repeat(weights, axis=0)), abs=1e-9)


def test_a_sure_and_wrong_score_costs_much_but_not_everything() -> None:
    loss = measure_utility([0, 1], [1.0, 0.0])["log_loss"]
    assert loss == pytest.approx(-np.log(np.finfo(float).eps))


def test_f1_is_none_where_nobody_is_or_is_called_positive() -> None:
    assert measure_utility([0, 0], [0.1, 0.2])["f1"] is None


def test_the_threshold_itself_is_a_yes() -> None:
    assert measure_utility([1], [0.3], threshold=0.3)["accuracy"] == 1.0


def test_labels_that_nobody_has_are_left_out_of_averages() -> None:
    scores = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1]])
    found = measure_utility([0, 1, 0], scores)
    assert found["balanced_accuracy"] == 0.75
    assert found["roc_auc"] == 1.0
    assert found["f1"] == pytest.approx(2 / 3)


numbers = st.floats(-100, 100, allow_subnormal=False).map(lambda value: round(value, 3))


@settings(max_examples=sized(8, 60))
@given(st.lists(st.tuples(numbers, numbers, st.integers(1, 3)), min_size=2, max_size=25))
def test_errors_are_those_of_scikit_learn(rows: list[tuple[float, float, int]]) -> None:
    true, predicted, weights = np.array(rows).T
    found = measure_errors(true, predicted, weights=weights)
    how = {"sample_weight": weights}
    assert found["mean_absolute_error"] == pytest.approx(metrics.mean_absolute_error(true, predicted, **how))
    assert found["root_mean_squared_error"] == pytest.approx(metrics.mean_squared_error(true, predicted, **how) ** 0.5)
    if len(set(true)) == 1:
        assert found["r2"] is None
    else:
        assert found["r2"] == pytest.approx(metrics.r2_score(true, predicted, **how), rel=1e-6, abs=1e-6)
    repeated = measure_errors(true.repeat(weights.astype(int)), predicted.repeat(weights.astype(int)))
    for name, value in found.items():
        assert value == (None if value is None else pytest.approx(repeated[name], rel=1e-6, abs=1e-6)), name
