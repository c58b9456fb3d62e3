"""What a search does by default: a range of weights, no choice on a handful of pairs, nothing worse than no model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from likewise import ConsistentClassifier, FrontierSearch, SmoothedScores, load_dataset
from likewise.datasets import PlantedDataset
from likewise.exceptions import NothingWithinBudget, ParameterError
from likewise.frontier import WeightRange

Search = Callable[..., FrontierSearch]
ANY_CHOICE = pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")


@pytest.fixture(scope="module")
def many() -> PlantedDataset:
    return load_dataset("planted", n_rows=4_000)


@ANY_CHOICE
@pytest.mark.long(2)
@pytest.mark.parametrize("name", ["pair_weight", "smoothing"])
def test_models_with_pairs_and_smoothed_scores_need_no_grid(many: PlantedDataset, regression: Any, name: str) -> None:
    estimator: Any = (
        ConsistentClassifier(regression, many.roles, many.rule)
        if name == "pair_weight"
        else SmoothedScores(regression, many.roles, many.rule, graph="people")
    )
    found = FrontierSearch(estimator, max_loss=0.02, n_resamples=40, random_state=0).fit(many.train.X, many.train.y)
    base, best = found.frontier_[0], found.best_point_
    assert list(best.params) == [name]
    assert best.unfairness.value is not None
    assert base.unfairness.value is not None
    assert best.unfairness.value < 0.8 * base.unfairness.value
    assert best.is_within_budget
    assert type(found.base_estimator_) is type(regression)


def test_a_range_is_refined_where_the_budget_ends(search: Search, planted: PlantedDataset) -> None:
    found = search({"noise": WeightRange(0.01, 1.0, n_values=3, n_refined=3)}, max_loss=0.05)
    with pytest.warns(NothingWithinBudget):
        found.fit(planted.train.X, planted.train.y)
    tried = [point.params["noise"] for point in found.frontier_[1:]]
    assert tried[:3] == [0.01, 0.1, 1.0]
    within = max(point.params["noise"] for point in found.frontier_[1:] if point.is_within_budget)
    beyond = min(point.params["noise"] for point in found.frontier_[1:] if not point.is_within_budget)
    assert len(tried) == 6
    assert beyond / within < 10 ** (1 / 8) + 0.01 * 10  # each value halves the range, in ratios


@pytest.mark.parametrize(
    ("within", "beyond", "next_one"),
    [([1.0], [4.0], 2.0), ([], [0.3, 3.0], 0.1), ([1.0, 2.0], [], None), ([1.0], [0.5], None), ([], [], None)],
)
def test_the_next_value_lies_between(within: list[float], beyond: list[float], next_one: float | None) -> None:
    assert WeightRange(0.1, 10.0).refine(within, beyond) == next_one


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WeightRange(0.0, 1.0), "low is 0.0; give a number, more than 0"),
        (lambda: WeightRange(2.0, 1.0), "high is 1, but low is 2"),
        (lambda: WeightRange(1.0, 2.0, n_values=1), "n_values is 1"),
    ],
)
def test_odd_ranges_get_one_line(make: Callable[[], WeightRange], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


def test_a_model_without_a_weight_needs_a_grid(search: Search, planted: PlantedDataset) -> None:
    with pytest.raises(ParameterError, match="grid is not given, and Lender has no weight that is known here"):
        search(None).fit(planted.train.X, planted.train.y)
    two = {"gap": WeightRange(0.1, 1.0), "noise": WeightRange(0.1, 1.0)}
    with pytest.raises(ParameterError, match="grid has several ranges"):
        search(two).fit(planted.train.X, planted.train.y)


def test_nothing_is_chosen_on_a_handful_of_pairs(search: Search) -> None:
    few = load_dataset("planted", n_rows=800).train
    words = r"too few pairs to choose by \(5 for mean gap \(positive label\) and 4 for .*base was chosen"
    with pytest.warns(NothingWithinBudget, match=words):
        found = search({"gap": [0.05]}, min_pairs=30).fit(few.X, few.y)
    assert found.best_params_ == {}
    assert found.frontier_[1].refused == "few pairs"
    assert "few pairs" in found.summary()


def test_a_model_worse_than_none_is_never_chosen(search: Search, planted: PlantedDataset) -> None:
    found = search({"mood": ["sure"], "gap": [0.0]}, max_loss=0.99)
    with pytest.warns(NothingWithinBudget, match="log loss above that of giving everybody the shares of the labels"):
        found.fit(planted.train.X, planted.train.y)
    assert found.frontier_[1].refused == "no better than none"
