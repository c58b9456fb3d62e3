"""The promises of a search: the right model, chosen by rows it never saw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from likewise import UniformGenerator, audit, compare_audits, load_dataset
from likewise.datasets import PlantedDataset
from likewise.exceptions import NothingWithinBudget
from likewise.frontier import FrontierPoint, FrontierSearch
from likewise.learning import AugmentedClassifier

Search = Callable[..., Any]  # a FrontierSearch, all of whose numbers are known here
pytestmark = pytest.mark.filterwarnings("ignore::likewise.exceptions.GainUncertain")  # few rows, to be quick
GRID = {"gap": [0.0, 0.05], "noise": [0.0, 0.4]}


@pytest.mark.long(2)
@pytest.mark.parametrize("cautious", [False, True])
def test_the_least_unfair_lender_within_the_budget_is_chosen(
    search: Search, planted: PlantedDataset, cautious: bool
) -> None:
    found = search(GRID, max_loss=0.03, cautious=cautious).fit(planted.train.X, planted.train.y)
    base, *others = found.frontier_
    assert base.is_base
    assert len(others) == 4
    best = found.best_point_
    for point in others:
        error = (point.loss.high - point.loss.low) / 2 / 1.96
        budget = 0.03 - error if cautious else max(0.03, error)
        assert point.is_within_budget == (point.loss.value <= budget)
        assert not point.is_within_budget or point.unfairness.value >= best.unfairness.value
    assert found.best_params_ == {"gap": 0.0, "noise": 0.0}
    assert found.best_estimator_.gap == found.best_params_["gap"]


def test_numbers_are_those_of_the_audit_of_all_rows_scored_out_of_fold(search: Search) -> None:
    planted = load_dataset("planted", n_rows=3_000)  # few pairs have no interval
    found = search({"gap": [0.02]}).fit(planted.train.X, planted.train.y)
    _, point = found.frontier_
    how: dict[str, Any] = {"roles": planted.roles.learn(planted.train.X), "rule": planted.rule, "n_resamples": 40}
    before, after = (
        audit(planted.scores(planted.train.X, gap=gap), planted.train.X, planted.train.y, **how) for gap in (0.1, 0.02)
    )
    assert list(point.measures) == ["average_precision", "gap_mean"]
    for name, measure in point.measures.items():
        assert measure.value == pytest.approx(after[name].value)
    change = compare_audits(after, before)  # what the base has more
    assert point.loss.value == pytest.approx(change["average_precision"].difference.value)
    assert point.gain.value == pytest.approx(change["gap_mean"].difference.value)
    assert point.gain.low == pytest.approx(change["gap_mean"].difference.low)
    assert point.gain.low <= point.gain.value <= point.gain.high


def test_no_model_scores_rows_that_it_has_seen(search: Search, planted: PlantedDataset, lender: Any) -> None:
    X = planted.train.X.assign(row=np.arange(len(planted.train)))
    roles = replace(planted.roles, ignored=(*planted.roles.ignored, "row"))
    found = search(GRID, roles=roles, folds=3).fit(X, planted.train.y)
    everybody = set(range(len(X)))
    folds = [set(np.flatnonzero(found.fold_of_ == k).tolist()) for k in range(3)]
    assert set.union(*folds) == everybody
    *scoring, base, best = lender.seen
    assert len(scoring) == 3 * 5
    for k, seen in enumerate(scoring):
        assert seen == everybody - folds[k % 3]
    assert base == best == everybody


def test_the_same_seed_gives_the_same_search(search: Search, planted: PlantedDataset) -> None:
    def records(seed: int) -> list[dict[str, Any]]:
        found = search({"gap": [0.0], "noise": [0.0, 0.1]}, random_state=seed).fit(planted.train.X, planted.train.y)
        return [record | {"seconds": 0} for record in found.results_]

    assert records(1) == records(1)
    assert records(1) != records(2)


def test_a_failed_candidate_is_shown_and_the_search_goes_on(search: Search, planted: PlantedDataset) -> None:
    told: list[FrontierPoint] = []
    grid = [{"gap": [0.0], "mood": ["ill", "strange"]}, {"gap": [0.05]}]
    found = search(grid, progress=told.append).fit(planted.train.X, planted.train.y)
    assert [point.error for point in found.frontier_[:2]] == [None, "ValueError: This lender is ill."]
    assert "NaN" in str(found.frontier_[2].error)
    assert found.best_params_ == {"gap": 0.05}
    assert [point.params for point in told] == [point.params for point in found.frontier_]
    assert "This lender is ill" in found.summary()


def test_where_all_candidates_fail_the_first_error_is_raised(search: Search, planted: PlantedDataset) -> None:
    with pytest.raises(ValueError, match="This lender is ill"):
        search({"mood": ["ill", "strange"]}).fit(planted.train.X, planted.train.y)


def test_a_base_that_fails_is_no_base(search: Search, planted: PlantedDataset, lender: Any) -> None:
    with pytest.raises(ValueError, match="This lender is ill"):
        search(GRID, base=lender(mood="ill")).fit(planted.train.X, planted.train.y)


def test_an_interrupted_search_knows_nothing(search: Search, planted: PlantedDataset) -> None:
    found = search({"gap": [0.0]}).fit(planted.train.X, planted.train.y)
    with pytest.raises(KeyboardInterrupt):
        found.set_params(grid={"mood": ["well", "gone"]}).fit(planted.train.X, planted.train.y)
    assert [name for name in vars(found) if name.endswith("_")] == []


def test_a_collapsed_model_is_never_chosen(search: Search, planted: PlantedDataset) -> None:
    grid = {"mood": ["constant", "well"], "gap": [0.05]}
    found = search(grid, max_loss=0.99).fit(planted.train.X, planted.train.y)
    collapsed = found.frontier_[1]
    assert collapsed.is_collapsed
    assert collapsed.is_within_budget
    assert collapsed.measures["gap_mean"].value == 0
    assert not collapsed.is_efficient
    assert found.best_params_ == {"gap": 0.05, "mood": "well"}


@pytest.mark.parametrize(
    ("grid", "options", "words"),
    [
        ({"noise": [0.4, 0.9], "gap": [0.0]}, {}, "noise=0.4, loses"),
        ({"noise": [0.4], "gap": [0.0]}, {"cautious": True}, "No candidate loses at most 0.05 of average precision"),
        ({"gap": [0.2]}, {"max_loss": 0.2}, "is less unfair than the base"),
        ({"mood": ["constant"]}, {}, "failed or gives all people nearly the same score"),
    ],
)
def test_where_nothing_is_worth_it_the_base_is_chosen_with_a_warning(
    search: Search, planted: PlantedDataset, grid: Any, options: Any, words: str
) -> None:
    with pytest.warns(NothingWithinBudget, match=words):
        found = search(grid, **options).fit(planted.train.X, planted.train.y)
    assert found.best_point_ is found.frontier_[0]
    assert found.best_params_ == {}
    assert found.best_estimator_ is found.base_estimator_


def test_a_loss_that_is_lower_is_better_is_known(search: Search, planted: PlantedDataset) -> None:
    found = search({"gap": [0.0], "noise": [0.0, 0.3]}, utility="log_loss", max_loss=0.1).fit(
        planted.train.X, planted.train.y
    )
    base, plain, noisy = found.frontier_
    levels = [point.measures["log_loss"].value for point in (base, noisy)]
    assert noisy.loss.value == pytest.approx(levels[1] - levels[0])
    assert noisy.loss.value > 0.1 > plain.loss.value
    assert found.best_params_ == {"gap": 0.0, "noise": 0.0}


def test_the_loss_on_the_same_people_is_known_better_than_the_two_utilities(
    search: Search, planted: PlantedDataset
) -> None:
    point = search({"gap": [0.05]}).fit(planted.train.X, planted.train.y).frontier_[1]
    assert point.loss.low <= point.loss.value <= point.loss.high
    utility = point.measures["average_precision"]
    assert point.loss.high - point.loss.low < 0.5 * (utility.high - utility.low)


def test_unfairness_may_be_other_measures(search: Search, planted: PlantedDataset) -> None:
    found = search({"gap": [0.0]}, unfairness=("flip_rate", "gap_q95"), n_resamples=0)
    point = found.fit(planted.train.X, planted.train.y).best_point_
    assert list(point.gains) == ["flip_rate", "gap_q95"]
    assert point.unfairness == point.audit["flip_rate"]
    assert point.loss.low is None
    one = search({"gap": [0.0]}, unfairness="rank_gap_mean").fit(planted.train.X, planted.train.y)
    assert one.best_point_.unfairness == one.best_point_.audit["rank_gap_mean"]


def test_it_is_a_classifier_like_any_other(search: Search, planted: PlantedDataset) -> None:
    found = search({"gap": [0.0]})
    copied = clone(found).set_params(estimator__noise=0.1)
    assert copied.get_params()["estimator__noise"] == 0.1
    assert found.get_params()["estimator__noise"] == 0.0
    scores = cross_val_predict(found, planted.train.X, planted.train.y, cv=2, method="predict_proba")
    assert scores[:, 1] == pytest.approx(planted.scores(planted.train.X, gap=0.0))
    found.fit(planted.train.X, planted.train.y)
    assert (found.predict_proba(planted.test.X) == found.best_estimator_.predict_proba(planted.test.X)).all()
    assert (found.predict(planted.test.X) == found.best_estimator_.predict(planted.test.X)).all()
    assert not hasattr(found, "decision_function")


@pytest.mark.slow
def test_processes_of_their_own_change_nothing(planted: PlantedDataset, regression: Any) -> None:
    model = AugmentedClassifier(regression, UniformGenerator(planted.roles, planted.rule))

    def records(n_jobs: int | None) -> list[dict[str, Any]]:
        found = FrontierSearch(
            model,
            {"ratio": [0.5, 2.0]},
            unfairness="gap_mean",
            max_loss=0.1,
            folds=2,
            n_resamples=40,
            n_jobs=n_jobs,
            random_state=0,
        )
        return [record | {"seconds": 0} for record in found.fit(planted.train.X, planted.train.y).results_]

    assert records(2) == records(None)
