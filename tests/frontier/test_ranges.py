"""What a search does of a model with a weight of fairness: a range of it, refined where the budget ends."""

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
    return load_dataset("planted", n_rows=2_500)


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
        (lambda: WeightRange(2.0, 1.0), "low is 2, but high is 1"),
        (lambda: WeightRange(1.0, 2.0, n_values=1), "n_values is 1"),
    ],
)
def test_odd_ranges_get_one_line(make: Callable[[], WeightRange], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


def test_several_ranges_are_refused(search: Search, planted: PlantedDataset) -> None:
    two = {"gap": WeightRange(0.1, 1.0), "noise": WeightRange(0.1, 1.0)}
    with pytest.raises(ParameterError, match="grid has several ranges"):
        search(two).fit(planted.train.X, planted.train.y)
