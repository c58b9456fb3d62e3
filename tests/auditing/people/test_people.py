"""Measures of people have intervals from the weights that pairs get, and the intervals cover the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.sizes import sized

from likewise.auditing import Scores
from likewise.auditing._internal import AuditSettings
from likewise.auditing.people._performance import influence_on_spread, measure_people, measure_utility
from likewise.record._internal import MEASURES, Measure
from likewise.schema import CodedTable


def binary(values: Any, **more: Any) -> Scores:
    values = np.asarray(values, np.float64)
    return Scores(values, "binary", (values >= 0.5).astype(np.int64), 0.5, positive=1, **more)


def measure(scores: Scores, labels: Any, outcomes: Any = None, **settings: Any) -> dict[str, Measure]:
    chosen = AuditSettings(**{"n_resamples": 100} | settings)
    return measure_people(scores, CodedTable(labels=labels), outcomes, chosen)


def some_people(n_people: int, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    scores = random.random(n_people)
    return scores, (random.random(n_people) < scores).astype(int)


def test_each_task_has_its_measures_in_the_order_of_all() -> None:
    scores, y = some_people(30)
    three = np.column_stack([scores / 2, scores / 2, 1 - scores])
    decided = set(measure_utility(y, scores))
    tasks = {
        "binary": (measure(binary(scores), y), decided),
        "undecided": (
            measure(Scores(scores, "binary"), y),
            decided - {"accuracy", "balanced_accuracy", "f1"},
        ),
        "multiclass": (measure(Scores(three, "multiclass", three.argmax(axis=1)), np.arange(30) % 3), decided),
        "regression": (
            measure(Scores(scores, "regression"), y, y + 0.5),
            {"score_spread", "r2", "mean_absolute_error", "root_mean_squared_error"},
        ),
        "no outcomes": (measure(Scores(scores, "regression"), y), {"score_spread"}),
    }
    for found, names in tasks.values():
        assert list(found) == [name for name in MEASURES if name in names]
        for one in found.values():
            assert one.n == 30
            assert one.value is not None
            assert one.low is not None
            assert one.high is not None
            assert one.low <= one.value <= one.high


def test_values_are_those_of_the_plain_functions() -> None:
    scores, y = some_people(60)
    found = measure(binary(scores), y, n_resamples=0)
    assert {name: one.value for name, one in found.items()} == pytest.approx(measure_utility(y, scores))


def test_the_positive_label_may_be_the_first() -> None:
    scores, y = some_people(40)
    first = Scores(scores, "binary", (scores >= 0.5).astype(np.int64), 0.5, positive=0)
    assert measure(first, 1 - y) == measure(binary(scores), y)


def test_the_spread_is_in_the_unit_of_the_gaps() -> None:
    amounts, outcomes = np.arange(20.0), np.arange(20.0) + 1
    whole = measure(Scores(amounts, "regression"), np.zeros(20, int), outcomes)
    scaled = measure(Scores(amounts, "regression", scale=4.0), np.zeros(20, int), outcomes)
    assert scaled["score_spread"].value == Scores(amounts, "regression", scale=4.0).spread
    of_scaled, of_whole = (influence_on_spread(Scores(amounts, "regression", scale=scale)) for scale in (4.0, 1.0))
    assert of_scaled.by_unit == pytest.approx(of_whole.by_unit / 4)
    assert scaled["mean_absolute_error"] == whole["mean_absolute_error"]


def test_no_replicates_no_intervals() -> None:
    found = measure(binary([0.2, 0.7, 0.9]), [0, 0, 1], n_resamples=0)
    assert {(one.low, one.high) for one in found.values()} == {(None, None)}


@pytest.mark.parametrize("label", [0, 1])
def test_one_label_only_leaves_out_what_needs_both(label: int) -> None:
    found = measure(binary([0.2, 0.6, 0.9] * 4), [label] * 12)
    absent = {name for name, one in found.items() if one.value is None}
    assert absent == {"roc_auc", "average_precision", "balanced_accuracy"}
    assert {found[name].n for name in absent} == {12}
    assert found["brier"].low is not None


def test_one_person_has_no_interval_and_nobody_no_measure() -> None:
    alone = measure(binary([0.7]), [1])
    assert alone["accuracy"].value == 1.0
    assert {(one.low, one.high) for one in alone.values()} == {(None, None)}
    nobody = measure(binary([]), [])
    assert {(one.value, one.n) for one in nobody.values()} == {(None, 0)}


def test_constant_scores_have_no_spread_in_any_replicate() -> None:
    found = measure(binary([0.3] * 20), [0, 1] * 10)
    assert found["score_spread"].value == pytest.approx(0.0, abs=1e-12)
    assert (influence_on_spread(binary([0.3] * 20)).by_unit == 0).all()
    auc = found["roc_auc"]
    assert (auc.value, auc.low, auc.high) == (0.5, 0.5, 0.5)


def test_being_always_right_so_far_is_not_being_always_right() -> None:
    accuracy = measure(binary([0.1, 0.9] * 10), [0, 1] * 10)["accuracy"]
    assert accuracy.value == accuracy.high == 1.0
    assert accuracy.low is not None
    assert 0.75 < accuracy.low < 0.95


def test_an_order_without_fault_so_far_rests_on_the_rarer_label() -> None:
    scores = np.arange(40) / 40
    few, many = (measure(binary(scores), (scores >= cut).astype(int))["roc_auc"] for cut in (0.75, 0.5))
    assert few.value == many.value == 1.0
    assert few.low is not None
    assert many.low is not None
    assert few.low < many.low < 1.0


# Of 80 tables, fewer than 83% hold the truth with a probability of 4e-5 if each does with 0.95, and with 0.87 if it
# does with 0.78; whether intervals are too wide, only the long run can tell.
N_TABLES, LEAST_COVERED, MOST_COVERED = sized((80, 0.83, 1.0), (200, 0.90, 0.99))


def covered(truth: dict[str, float], bend: float) -> dict[str, float]:
    """Simulate tables of 400 people scored uniformly, and say how often each interval has the truth in it."""
    inside = dict.fromkeys(truth, 0)
    for seed in range(N_TABLES):
        random = np.random.default_rng(seed)
        scores = random.random(400)
        y = (random.random(400) < scores**bend).astype(int)
        found = measure(binary(scores), y, n_resamples=200, seed=seed)
        for name, value in truth.items():
            low, high = found[name].low, found[name].high
            assert low is not None
            assert high is not None
            inside[name] += low <= value <= high
    return {name: n / N_TABLES for name, n in inside.items()}


def test_intervals_cover_the_truth() -> None:
    truth = {
        "roc_auc": 5 / 6,
        "accuracy": 3 / 4,
        "brier": 1 / 6,
        "f1": 3 / 4,
        "log_loss": 1 / 2,
        "score_spread": 12**-0.5,
    }
    for name, share in covered(truth | {"calibration_error": 0.0}, bend=1.0).items():
        assert LEAST_COVERED <= share <= MOST_COVERED, name


def test_intervals_of_the_calibration_error_cover_an_error_that_is_there() -> None:
    # the score is a, the label's chance a squared: they part by a - a squared, whose mean over all is 1 / 6
    share = covered({"calibration_error": 1 / 6}, bend=2.0)["calibration_error"]
    assert LEAST_COVERED <= share <= MOST_COVERED
