"""What may be given: frames and labels of any kind, weights, generators; and what is refused, in a clear line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags
from tests.sizes import sized

from likewise import Comparability, Roles
from likewise.datasets import PlantedDataset
from likewise.exceptions import ParameterError, SchemaError, ScoreError
from likewise.frontier import FrontierSearch
from likewise.frontier._candidates import split
from likewise.learning import AntiDROClassifier, AugmentedClassifier

Search = Callable[..., Any]  # a FrontierSearch, all of whose numbers are known here
# which model is chosen does not matter
ANY_CHOICE = pytest.mark.filterwarnings(
    "ignore::likewise.exceptions.NothingWithinBudget",
)
pytestmark = pytest.mark.filterwarnings("ignore::likewise.exceptions.GainUncertain")  # few rows, to be quick
QUICK: dict[str, Any] = {"n_resamples": 40, "max_loss": 0.5, "random_state": 0}


@given(st.lists(st.integers(2, 30), min_size=2, max_size=4), st.integers(2, 6), st.integers(0, 2**32), st.randoms())
@settings(max_examples=sized(12, 50))
def test_every_fold_has_every_label_and_so_have_the_others(
    counts: list[int], n_folds: int, seed: int, random: Any
) -> None:
    codes = [code for code, count in enumerate(counts) for _ in range(count)]
    random.shuffle(codes)
    labels = np.array(codes)
    fold_of = split(labels, n_folds, seed, by_label=True)
    assert len(set(fold_of.tolist())) == min(n_folds, *counts)
    for fold in set(fold_of.tolist()):
        for part in (labels[fold_of == fold], labels[fold_of != fold]):
            assert set(part.tolist()) == set(codes)


def test_a_label_of_one_row_is_refused(search: Search, planted: PlantedDataset) -> None:
    y = np.where(np.arange(len(planted.train)) == 7, "yes", "no")
    with pytest.raises(SchemaError, match="Only one row has the label 'yes'"):
        search({"gap": [0.0]}).fit(planted.train.X, y)


def test_one_label_is_refused(search: Search, planted: PlantedDataset) -> None:
    with pytest.raises(SchemaError, match="one class only"):
        search({"gap": [0.0]}).fit(planted.train.X, np.ones(len(planted.train)))


def test_labels_may_be_text(search: Search, planted: PlantedDataset) -> None:
    said = np.where(np.asarray(planted.train.y) == 1, "repaid", "lost")
    by_text = search({"gap": [0.0, 0.05]}).fit(planted.train.X, said)
    by_number = search({"gap": [0.0, 0.05]}).fit(planted.train.X, planted.train.y)
    assert by_text.classes_.tolist() == ["lost", "repaid"]
    assert set(by_text.predict(planted.test.X)) == {"lost", "repaid"}
    assert by_text.best_point_.measures == by_number.best_point_.measures


def test_either_label_may_be_the_positive_one(search: Search, planted: PlantedDataset) -> None:
    how: dict[str, Any] = {"n_resamples": 0}
    one, other = (
        search({"gap": [0.0]}, positive=positive, unfairness=unfairness, **how)
        for positive, unfairness in ((1, "gap_mean[1]"), (0, "gap_mean[1]"))
    )
    for found in (one, other):
        found.fit(planted.train.X, planted.train.y)
    utility = "average_precision"
    assert one.best_point_.unfairness == other.best_point_.unfairness
    assert one.best_point_.measures[utility] != other.best_point_.measures[utility]
    with pytest.raises(ValueError, match="positive is 'yes', which is not among the labels"):
        search({"gap": [0.0]}, positive="yes").fit(planted.train.X, planted.train.y)


@pytest.mark.long(2)
@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_frames_of_any_kind_give_the_same(search: Search, planted: PlantedDataset, convert: Any) -> None:
    records = []
    for X in (planted.train.X, convert(planted.train.X)):
        found = search({"gap": [0.0]}).fit(X, planted.train.y)
        records.append([record | {"seconds": 0} for record in found.results_])
        assert found.predict_proba(X).shape == (len(X), 2)
    assert records[0] == records[1]


@ANY_CHOICE
def test_arrays_stay_arrays_for_the_models(planted: PlantedDataset) -> None:
    names = planted.roles.names("continuous")
    X = planted.train.X[list(names)].to_numpy(dtype=np.float64)
    roles = Roles(sensitive="x0", continuous=[f"x{place}" for place in range(1, len(names))], bins={"x0": 2})
    model = LogisticRegression(max_iter=1_000)
    rule = Comparability(max_continuous_shift=0.2)
    found = FrontierSearch(model, {"C": [1e-9, 1e-8]}, base=model, roles=roles, rule=rule, **QUICK)
    found.fit(X, planted.train.y)
    assert found.n_features_in_ == len(names)
    assert found.predict(X).shape == (len(X),)
    assert not hasattr(found.best_estimator_, "feature_names_in_")


@ANY_CHOICE
def test_there_may_be_more_than_two_labels(planted: PlantedDataset, regression: Any) -> None:
    y = np.asarray(planted.train.y) + (np.asarray(planted.train.X["income"]) > planted.train.X["income"].median())
    grid = {"logisticregression__C": [0.01]}
    known: dict[str, Any] = {"base": regression, "roles": planted.roles, "rule": planted.rule, **QUICK}
    found = FrontierSearch(regression, grid, **known).fit(planted.train.X, y)
    assert list(found.frontier_[1].measures) == ["roc_auc", "excess", "gap_mean"]
    with pytest.raises(ScoreError, match=r"gap_mean\[7\] cannot be measured.*The labels are 0, 1, 2"):
        FrontierSearch(regression, grid, unfairness="gap_mean[7]", **known).fit(planted.train.X, y)


@ANY_CHOICE
def test_models_without_probabilities_are_judged_by_what_they_say(planted: PlantedDataset, regression: Any) -> None:
    model = regression.set_params(logisticregression=LinearSVC())
    known: dict[str, Any] = {"base": model, "roles": planted.roles, "rule": planted.rule, **QUICK}
    grid = {"logisticregression__C": [0.01]}
    found = FrontierSearch(model, grid, utility="accuracy", **known)
    point = found.fit(planted.train.X, planted.train.y).frontier_[1]
    assert point.audit is not None
    assert point.measures["gap_mean"].value == point.audit["flip_rate"].value
    assert hasattr(found, "decision_function")
    assert not hasattr(found, "predict_proba")


@ANY_CHOICE
def test_weights_reach_the_models(planted: PlantedDataset, regression: Any) -> None:
    known: dict[str, Any] = {"base": regression, "roles": planted.roles, "rule": planted.rule, **QUICK}
    found = FrontierSearch(regression, {"logisticregression__C": [0.01]}, **known)
    weights = np.where(np.asarray(planted.train.X["gender"]) == planted.train.X["gender"].iloc[0], 1.0, 5.0)
    base = found.fit(planted.train.X, planted.train.y, weights).base_estimator_
    alone = regression.fit(planted.train.X, planted.train.y, logisticregression__sample_weight=weights)
    assert base[-1].coef_ == pytest.approx(alone[-1].coef_)
    deaf = clone(regression).set_params(logisticregression=KNeighborsClassifier())
    with pytest.raises(ParameterError, match="sample_weight is given, but Pipeline takes none"):
        found.set_params(base=deaf).fit(planted.train.X, planted.train.y, weights)


def test_an_unfitted_generator_learns_once_and_again_for_the_chosen(
    planted: PlantedDataset, regression: Any, generator: Any
) -> None:
    model = AugmentedClassifier(regression, generator)
    grid = {"ratio": [0.1], "discard_sensitive": [False, True]}
    found = FrontierSearch(model, grid, folds=2, **QUICK).fit(planted.train.X, planted.train.y)
    n_rows = len(planted.train)
    assert sorted(generator.fits) == [n_rows // 2, n_rows - n_rows // 2, n_rows]  # once for both candidates
    assert not hasattr(generator, "schema_")
    assert not found.best_point_.is_base
    assert found.base_estimator_[-1].coef_.shape[1] > 0
    assert found.best_estimator_.antidotes_.n_sources == n_rows
    again = FrontierSearch(model, grid, folds=2, **QUICK).fit(planted.train.X, planted.train.y)
    assert [point.unfairness for point in again.frontier_] == [point.unfairness for point in found.frontier_]
    assert (again.predict_proba(planted.test.X) == found.predict_proba(planted.test.X)).all()


@pytest.mark.long(2)
@pytest.mark.parametrize("wrap", [FrozenEstimator, lambda generator: generator], ids=["frozen", "fitted"])
def test_a_fitted_generator_is_used_as_it_is(
    planted: PlantedDataset, regression: Any, generator: Any, wrap: Any
) -> None:
    generator.fit(planted.test.X, planted.test.y)
    model = AugmentedClassifier(regression, wrap(generator))
    found = FrontierSearch(model, {"ratio": [0.1, 0.3]}, **QUICK).fit(planted.train.X, planted.train.y)
    assert generator.fits == [len(planted.test)]
    assert found.best_estimator_.generator_.targets_ is generator.targets_


@ANY_CHOICE
def test_a_generator_in_the_grid_learns_once_for_each_of_its_settings(
    planted: PlantedDataset, regression: Any, generator: Any
) -> None:
    model = AugmentedClassifier(regression, generator, ratio=0.1)
    rules = [planted.rule, Comparability(max_discrete_changes=0, max_continuous_shift=0.01)]
    grid = {"generator__rule": rules, "estimator__logisticregression__C": [0.1, 1.0]}
    found = FrontierSearch(model, grid, rule=planted.rule, folds=2, **QUICK).fit(planted.train.X, planted.train.y)
    assert len(generator.fits) == 2 * 2 + (not found.best_point_.is_base)
    assert len(found.frontier_) == 5


def test_a_generator_that_cannot_learn_is_said_to(planted: PlantedDataset, regression: Any, generator: Any) -> None:
    generator.set_params(roles=Roles(sensitive="sex"))
    with pytest.raises(SchemaError, match="sex"):
        FrontierSearch(AugmentedClassifier(regression, generator), {"ratio": [0.1]}, **QUICK).fit(
            planted.train.X, planted.train.y
        )


@ANY_CHOICE
def test_the_base_of_a_network_on_antidotes_is_the_plain_network(planted: PlantedDataset, generator: Any) -> None:
    model = AntiDROClassifier(generator, n_antidotes=1, hidden=(8,), n_iterations=30, device="cpu")
    found = FrontierSearch(model, {"antidote_weight": [0.5]}, folds=2, **QUICK)
    found.fit(planted.train.X, planted.train.y)
    assert found.base_estimator_.antidote_weight == 0


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"utility": "average_precison"}, ValueError, "Did you mean 'average_precision'"),
        ({"utility": "score_spread"}, ValueError, "choose one of 'roc_auc', 'average_precision'"),
        ({"unfairness": "gap_men"}, ValueError, "Did you mean 'gap_mean'"),
        ({"unfairness": ("gap_mean", "roc_auc")}, ValueError, "'roc_auc', which is not a measure of pairs"),
        ({"unfairness": ()}, ValueError, "names no measure"),
        ({"max_loss": 1.5}, ValueError, "For 1.5 percentage points use 0.015"),
        ({"max_loss": -0.1}, ValueError, "max_loss is -0.1"),
        ({"max_loss": "little"}, ValueError, "max_loss is 'little'"),
        ({"folds": 1}, ValueError, "folds is 1; give a whole number, 2 or more"),
        ({"n_resamples": 10}, ValueError, "Give 40 or more"),
        ({"n_resamples": 0, "cautious": True}, ValueError, "cautious needs intervals"),
        ({"grid": {"gaps": [0.1]}}, ValueError, "grid names 'gaps'.*Did you mean 'gap'"),
        ({"grid": {"gap": 0.1}}, TypeError, "grid must be a dict or list of dicts"),
        ({"grid": []}, ValueError, "grid is empty"),
        ({"n_jobs": "a"}, ValueError, "n_jobs is 'a'; use an integer"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0; use an integer"),
        ({"cautious": "no"}, ValueError, "cautious is 'no'; give True or False"),
        ({"base": None}, ValueError, "base is not given, and Lender has neither pairs nor antidotes"),
        ({"base": "logistic"}, TypeError, "neither a classifier nor a regressor"),
        ({"roles": None}, ValueError, r"roles are not given: say which columns are sensitive"),
        ({"roles": {"sensitive": "sex"}}, TypeError, "roles is a dict"),
        ({"rule": "strict"}, ValueError, "give a Comparability"),
    ],
)
def test_odd_arguments_are_refused(
    search: Search, planted: PlantedDataset, options: Any, error: Any, words: str
) -> None:
    grid = options.pop("grid", {"gap": [0.0]})
    with pytest.raises(error, match=words):
        search(grid, **options).fit(planted.train.X, planted.train.y)


def test_what_is_no_model_can_still_be_shown_and_is_refused(planted: PlantedDataset) -> None:
    found = FrontierSearch(OrdinalEncoder(), {"copy_X": [True]}, roles=planted.roles)
    assert "OrdinalEncoder" in found._repr_html_()
    with pytest.raises(TypeError, match=r"OrdinalEncoder.*neither a classifier nor a regressor"):
        found.fit(planted.train.X, planted.train.y)
    assert get_tags(FrontierSearch(LinearRegression())).estimator_type == "regressor"


STRICTER = Comparability(max_discrete_changes=0, max_continuous_shift=0.01)


def test_the_rule_is_that_of_the_estimators_own_generator(
    planted: PlantedDataset, regression: Any, generator: Any
) -> None:
    model = AugmentedClassifier(regression, generator, ratio=0.1)
    other = {"generator": [generator, clone(generator).set_params(rule=STRICTER)]}
    for grid in ({"generator__rule": [STRICTER, planted.rule]}, other):
        with pytest.raises(ParameterError, match="rule is not given, but generators have several") as failure:
            FrontierSearch(model, grid, **QUICK).fit(planted.train.X, planted.train.y)
        assert "\n" not in str(failure.value)
    assert generator.fits == []


@ANY_CHOICE
def test_a_rule_that_is_given_goes_before_those_in_the_grid(
    planted: PlantedDataset, regression: Any, generator: Any
) -> None:
    model = AugmentedClassifier(regression, generator, ratio=0.1)
    grid: dict[str, Any] = {"generator__rule": [STRICTER, planted.rule]}
    found = FrontierSearch(model, grid, rule=planted.rule, **QUICK).fit(planted.train.X, planted.train.y)
    assert found.best_point_.audit is not None
    assert found.best_point_.audit.question.rule == planted.rule
    same = FrontierSearch(model, {"generator__random_state": [1, 2]}, **QUICK).fit(planted.train.X, planted.train.y)
    assert same.best_point_.audit is not None
    assert same.best_point_.audit.question.rule == planted.rule


@ANY_CHOICE
def test_weights_reach_pipelines_where_metadata_are_routed(planted: PlantedDataset, regression: Any) -> None:
    weights = np.arange(len(planted.train)) % 3 + 0.5
    known: dict[str, Any] = {"base": regression, "roles": planted.roles, "rule": planted.rule, **QUICK}
    grid = {"logisticregression__C": [0.1]}
    found = FrontierSearch(regression, grid, **known).fit(planted.train.X, planted.train.y, weights)
    with sklearn.config_context(enable_metadata_routing=True):
        regression[-1].set_fit_request(sample_weight=True)
        regression[0].transformers[0][1].set_fit_request(sample_weight=False)
        routed = FrontierSearch(regression, grid, **known).fit(planted.train.X, planted.train.y, weights)
    assert [one.measures for one in routed.frontier_] == [one.measures for one in found.frontier_]


@ANY_CHOICE
def test_the_base_has_the_luck_of_the_candidates(planted: PlantedDataset, generator: Any) -> None:
    coding = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    forest = make_pipeline(coding, RandomForestClassifier(3, max_depth=2))
    for base in (None, clone(forest)):
        model = AugmentedClassifier(forest, generator, ratio=0.1)
        found = FrontierSearch(model, {"ratio": [0.2]}, base=base, **QUICK).fit(planted.train.X, planted.train.y)
        best = found.best_estimator_ if found.best_point_.is_base else found.best_estimator_.estimator_
        assert found.base_estimator_[-1].random_state == best[-1].random_state < 2**31
