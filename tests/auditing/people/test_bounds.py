"""Intervals of model performance hold where a label is rare and amounts have long tails, or there are none."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.auditing._internal import Units, Weights
from likewise.auditing.people._bounds import (
    FEWEST_CARRYING,
    FEWEST_OF_LABEL,
    bound_area,
    bound_r2,
    bound_recalls,
    bound_root,
    count_carrying,
    count_trials,
    influence_by_label,
)
from likewise.auditing.people._performance import LabelLedger, NumberLedger, measure_utility

N_TABLES = sized(400, 4_000)
Floats = np.ndarray[Any, np.dtype[np.float64]]
Labels = np.ndarray[Any, np.dtype[np.int64]]
AREAS = ("roc_auc", "average_precision")
# few distinct values make ties, also at the threshold
scored = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8)), min_size=2, max_size=20)


def alone(n_people: int) -> tuple[Weights, Units]:
    """Return people who count alike and are independent."""
    return Weights.of(None, n_people), Units(n_people)


def by_differences(measure: Callable[[Floats], float | None], n_people: int) -> Floats:
    """Return how far a measure moves with each person's weight, by giving each a little more and a little less."""
    step, moved = 1e-5, []
    for person in range(n_people):
        weights = np.ones((2, n_people))
        weights[:, person] += [step, -step]
        more, less = (measure(one) for one in weights)
        assert more is not None
        assert less is not None
        moved.append((more - less) / (2 * step))
    return np.array(moved)


@pytest.mark.long(3)
@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "f1"])
@given(people=scored)
def test_what_people_contribute_is_how_far_a_measure_moves_with_them(name: str, people: list[tuple[int, int]]) -> None:
    labels, eighths = map(np.array, zip(*people, (0, 2), (1, 6), strict=True))
    scores = eighths / 8
    ledger = LabelLedger.open(labels, scores, (scores >= 0.5).astype(np.int64), Weights.of(None, len(labels)))
    expected = by_differences(lambda weights: measure_utility(labels, scores, weights=weights)[name], len(labels))
    assert ledger.moves(name) == pytest.approx(expected, abs=1e-6)


def test_of_several_labels_contributions_are_averaged_as_the_measures_are() -> None:
    random = np.random.default_rng(0)
    scores, labels = random.dirichlet([1, 1, 1], 30), np.arange(30) % 3
    ledger = LabelLedger.open(labels, scores, scores.argmax(axis=1), Weights.of(None, 30))
    for name in ("roc_auc", "average_precision", "f1"):
        expected = by_differences(lambda weights, name=name: measure_utility(labels, scores, weights=weights)[name], 30)  # type: ignore[misc]  # bound for the loop
        assert ledger.moves(name) == pytest.approx(expected, abs=1e-6)


def test_r2_moves_with_errors_and_with_outcomes_far_from_the_mean() -> None:
    outcomes, predictions = np.random.default_rng(1).normal(size=(2, 12))

    def measure(weights: Floats) -> float:
        return NumberLedger.open(outcomes, predictions, Weights.of(weights, 12)).values()["r2"]

    expected = by_differences(measure, 12)
    assert NumberLedger.open(outcomes, predictions, Weights.of(None, 12)).moves("r2") == pytest.approx(
        expected, abs=1e-5
    )


def amounts(random: np.random.Generator, n_people: int, spread: float) -> tuple[Floats, Floats]:
    """Draw amounts with two long tails, and predictions that are off by some share of each."""
    predicted = np.sinh(spread * random.normal(size=n_people))
    return predicted * np.exp(0.3 * random.normal(size=n_people)), predicted


def truth_of_amounts(spread: float) -> tuple[float, float]:
    """Return root mean squared error and R², by the moments of normal numbers."""
    square = (math.exp(2 * spread**2) - 1) / 2
    error, noise = square * (math.exp(0.18) - 2 * math.exp(0.045) + 1), square * math.exp(0.18)
    return math.sqrt(error), 1 - error / noise


def test_long_tails_do_not_pass_by_chance() -> None:
    rmse, r2 = truth_of_amounts(1.0)
    passed, covered, bounded = np.zeros(2), np.zeros(2), np.zeros(2)
    for seed in range(N_TABLES):
        outcomes, predicted = amounts(np.random.default_rng(seed), 250, 1.0)
        errors, varied = np.square(outcomes - predicted), np.square(outcomes - outcomes.mean())
        found = bound_root(errors, 0.95, *alone(250)), bound_r2(errors, varied, 0.95, *alone(250))
        for place, (interval, true) in enumerate(zip(found, (rmse, r2), strict=True)):
            if interval is not None:
                bounded[place] += 1
                covered[place] += interval[0] <= true <= interval[1]
                passed[place] += interval[1] < true if place == 0 else interval[0] > true
    noise = 2 * math.sqrt(0.035 / N_TABLES)
    assert (passed / N_TABLES < 0.035 + noise).all()
    assert (covered / bounded > 0.92 - noise).all()
    assert (bounded / N_TABLES > 0.7).all()


def test_a_rare_label_that_is_hardly_ever_decided_right_is_not_taken_for_never() -> None:
    random, truth = np.random.default_rng(0), (0.99 + 0.05) / 2
    labels = np.repeat([1, 0], [300, 12])
    covered = failed = 0
    for _ in range(N_TABLES):
        is_right = random.random(312) < np.where(labels == 1, 0.99, 0.05)
        interval = bound_recalls(is_right, labels, 0.95, *alone(312))
        assert interval is not None
        covered += interval[0] <= truth <= interval[1]
        failed += interval[1] < truth
    noise = 2 * math.sqrt(0.035 / N_TABLES)
    assert covered / N_TABLES > 0.92
    assert failed / N_TABLES < 0.035 + noise


def test_amounts_that_a_few_people_make_up_have_no_interval() -> None:
    squares = np.ones(50)
    squares[0] = 1_000.0
    assert count_carrying(squares) < FEWEST_CARRYING
    assert bound_root(squares, 0.95, *alone(50)) is None
    assert bound_r2(squares, np.arange(50.0), 0.95, *alone(50)) is None
    assert bound_r2(np.arange(50.0), squares, 0.95, *alone(50)) is None
    assert bound_root(np.ones(50), 0.95, *alone(50)) == pytest.approx((1.0, 1.0))
    assert count_carrying(np.ones(50)) == pytest.approx(50)


def test_predictions_without_a_fault_leave_no_error() -> None:
    assert bound_root(np.zeros(20), 0.95, *alone(20)) == (0.0, 0.0)
    assert bound_r2(np.zeros(20), np.arange(20.0), 0.95, *alone(20)) == (1.0, 1.0)


@pytest.mark.parametrize("n_rare", [1, FEWEST_OF_LABEL - 1, FEWEST_OF_LABEL])
def test_a_label_of_hardly_anybody_leaves_no_interval(n_rare: int) -> None:
    labels = np.repeat([0, 1], [40, n_rare])
    is_bounded = n_rare >= FEWEST_OF_LABEL
    who = alone(len(labels))
    found = influence_by_label(np.linspace(-1, 1, len(labels)), labels, *who)
    assert found.n == pytest.approx(n_rare)
    assert (bound_recalls(labels == 0, labels, 0.95, *who) is not None) == is_bounded
    assert (bound_area(0.7, found, 0.95) is not None) == is_bounded


def test_people_of_a_rare_label_are_the_degrees_of_freedom_where_they_vary() -> None:
    labels = np.repeat([0, 1], [400, 12])
    moves = np.where(labels == 1, np.tile([0.1, -0.1], 206), 0.0)
    found = influence_by_label(moves, labels, *alone(412))
    assert found.freedom == pytest.approx(11)
    assert found.variance == pytest.approx(12 * 0.01 * (12 / 11) ** 2)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=4, max_size=20))
def test_people_of_one_cluster_are_one_trial_where_they_are_alike(people: list[tuple[bool, int]]) -> None:
    holds, clusters = map(np.array, zip(*people, (True, 5), (False, 6), strict=True))
    n = len(holds)
    alike = np.zeros(7, np.bool_)
    alike[clusters] = holds
    holds = alike[clusters]  # all of a cluster as its last one
    found = count_trials(holds, Weights.of(None, n), Units.of(clusters, n))
    share = holds.mean()
    sums = np.bincount(clusters, holds - share)
    assert found == pytest.approx(min(n, share * (1 - share) * n**2 / float(np.square(sums).sum())))
    assert count_trials(holds, *alone(n)) == pytest.approx(n)


# ---- areas ----


def draw_weighted(random: np.random.Generator, n_people: int) -> tuple[Labels, Floats, Floats]:
    """Draw labels, scores and weights that grow with the score: a wrong one at the top is rare and costs much."""
    merit = random.normal(size=n_people)
    labels = (random.random(n_people) < 1 / (1 + np.exp(-1.5 * merit))).astype(np.int64)
    return labels, 1 / (1 + np.exp(-merit)), np.exp(0.6 * merit + 0.3 * random.normal(size=n_people))


def bound_areas(labels: Labels, scores: Floats, weights: Floats) -> dict[str, float]:
    """Return the lower end of both areas."""
    who = Weights.of(weights, len(labels)), Units(len(labels))
    ledger = LabelLedger.open(labels, scores, None, who[0])
    values = ledger.values()
    found = {name: influence_by_label(ledger.moves(name), labels, *who) for name in AREAS}
    return {name: (bound_area(values[name], found[name], 0.95) or (0.0, 0.0))[0] for name in AREAS}


def test_areas_of_weighted_people_seldom_pass_a_limit_at_the_truth() -> None:
    random = np.random.default_rng(0)
    labels, scores, weights = draw_weighted(random, sized(100_000, 1_000_000))
    truth = measure_utility(labels, scores, weights=weights)
    n_tables = sized(60, 1_500)
    n_passed = dict.fromkeys(AREAS, 0)
    for _ in range(n_tables):
        labels, scores, weights = draw_weighted(random, 300)
        for name, low in bound_areas(labels, scores, weights / weights.mean()).items():
            n_passed[name] += low > (truth[name] or 0.0)
    assert max(n_passed.values()) <= n_tables * 0.035 + 2 * math.sqrt(n_tables * 0.035)


def test_an_area_of_1_that_nothing_contradicts_has_an_interval_and_one_of_equal_scores_has_none_but_itself() -> None:
    labels = np.repeat([0, 1], 20)
    for scores, ends in ((labels.astype(np.float64), (0.7, 1.0)), (np.full(40, 0.3), (0.5, 0.5))):
        ledger = LabelLedger.open(labels, scores, None, Weights.of(None, 40))
        found = influence_by_label(ledger.moves("roc_auc"), labels, *alone(40))
        low, high = bound_area(ledger.values()["roc_auc"], found, 0.95) or (0.0, 0.0)
        assert ends[0] <= low <= high == ends[1]
