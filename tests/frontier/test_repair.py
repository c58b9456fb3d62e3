"""What repair promises: the user's own model, less unfair within the loss, and audits on rows that no choice saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.sizes import sized

from likewise import Comparability, FrontierSearch, Repair, Roles, audit, repair
from likewise.exceptions import LikewiseError, NoComparablePairs, ParameterError, SchemaError
from likewise.frontier import replay_search

pytestmark = pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")
ROLES = Roles(sensitive="sex", discrete="job", continuous="age", ignored="height")
QUICK: dict[str, Any] = {"folds": 2, "random_state": 0, "progress": False}


def draw(n: int, seed: int = 0, effect: float = 1.5) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Draw people; women are approved less often, and their height gives them away."""
    random = np.random.default_rng(seed)
    is_woman = random.random(n) < 0.5
    people = pd.DataFrame(
        {
            "sex": np.where(is_woman, "f", "m"),
            "job": random.choice(["clerk", "nurse", "smith"], n),
            "age": random.integers(20, 60, n),
            "height": np.where(is_woman, 166, 180) + random.normal(0, 5, n),
        }
    )
    logit = (people["age"] - 40) / 10 - effect * is_woman
    return people, (random.random(n) < 1 / (1 + np.exp(-logit))).astype(int)


def coding(*words: str) -> Any:
    codes = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer((codes, list(words)), (StandardScaler(), ["age", "height"]))


def linear() -> Any:
    """A pipeline that names its columns, the sensitive one among them."""
    return make_pipeline(coding("sex", "job"), LogisticRegression())


@pytest.fixture(scope="module")
def repaired() -> Repair:
    return repair(linear(), *draw(800), roles=ROLES, max_loss=0.05, **QUICK)


def test_the_model_is_less_unfair_on_rows_that_neither_it_nor_a_choice_saw(repaired: Repair) -> None:
    X, y = draw(6_000, seed=1)
    found = [audit(one, X, y, roles=ROLES, n_resamples=0) for one in (repaired.search.base_estimator_, repaired.model)]
    excess = [one["excess"].value or 0.0 for one in found]
    assert excess[0] > 0.1
    assert excess[1] < excess[0] / 2
    assert (found[0]["average_precision"].value or 0) - (found[1]["average_precision"].value or 0) < 0.08


def test_the_audits_are_of_held_out_rows_that_the_models_were_not_fitted_to(repaired: Repair) -> None:
    X, y = draw(800)
    rest = np.setdiff1d(np.arange(800), repaired.held_out)
    assert len(repaired.held_out) == pytest.approx(200, abs=1)
    plain = clone(linear()).fit(X.iloc[rest], y[rest])
    schema = ROLES.learn(X.iloc[rest])
    there = X.iloc[repaired.held_out], y[repaired.held_out]
    for model, found in ((plain, repaired.before), (repaired.model, repaired.after)):
        again = audit(model, *there, roles=schema, n_resamples=0)
        assert again["gap_mean"].value == pytest.approx(found["gap_mean"].value)
        assert again["roc_auc"].value == pytest.approx(found["roc_auc"].value)


def test_the_model_is_of_the_users_own_class_and_the_recipe_makes_it_again(repaired: Repair) -> None:
    X, y = draw(800)
    rest = np.setdiff1d(np.arange(800), repaired.held_out)
    assert [type(step) for _, step in repaired.model.steps] == [type(step) for _, step in linear().steps]
    assert repaired.columns == ("job", "age", "height")
    scores = repaired.model.predict_proba(X[list(repaired.columns)])
    again = clone(repaired.recipe).fit(X.iloc[rest], y[rest]).estimator_
    assert again.predict_proba(X[list(repaired.columns)]) == pytest.approx(scores)


def test_it_says_in_plain_lines_what_was_done_and_what_each_step_did(repaired: Repair, tmp_path: Path) -> None:
    text = str(repaired)
    assert max(map(len, text.splitlines())) <= 120
    for words in (
        repaired.search.best_point_.name,
        "It does not see sex.",
        "On 200 rows that no choice saw",
        "before",
        "as it was",
        "without the sensitive columns",
        "smoothed targets (",
        "pairs in the loss (",
        "Chosen: the least of excess and then of mean gap",
    ):
        assert words in text
    page = repaired.to_html(tmp_path / "repair.html")
    assert (tmp_path / "repair.html").read_text(encoding="utf-8") == page


def test_the_same_seed_gives_the_same(repaired: Repair) -> None:
    again = repair(linear(), *draw(800), roles=ROLES, max_loss=0.05, **QUICK)
    assert str(again) == str(repaired)
    assert again.after.to_dict()["measures"] == repaired.after.to_dict()["measures"]


@pytest.mark.parametrize("form", ["inferred", "polars", "beside", "named", "weights"])
def test_people_come_in_many_forms(repaired: Repair, form: str) -> None:
    X, y = draw(400)
    X["height"] = X["height"].round(-1)
    model, given = make_pipeline(coding("sex", "job"), GaussianNB()), {"max_loss": 0.1, **QUICK}
    if form == "beside":
        model = make_pipeline(coding("job"), GaussianNB())
        found = repair(model, X.drop(columns="sex"), y, sensitive_features=X["sex"], **given)
    elif form == "named":
        found = repair(model, X.assign(paid=y), "paid", roles=ROLES, **given)
    elif form == "weights":
        found = repair(model, X, y, roles=ROLES, sample_weight=np.arange(400) % 3 + 0.5, **given)
    else:
        found = repair(model, pl.from_pandas(X) if form == "polars" else X, y, sensitive=["sex"], **given)
    assert found.columns == ("job", "age", "height")
    assert not found.search.best_point_.is_base
    assert found.after.record.sensitive == ("sex",)
    table = X if form != "polars" else pl.from_pandas(X)
    assert np.isfinite(found.model.predict_proba(table[list(found.columns)])).all()


def test_arrays_stay_arrays_and_numbers_may_be_sensitive() -> None:
    X, y = draw(400)
    numbers = np.column_stack([X["sex"] == "f", X["age"], X["height"].round(-1)]).astype(float)
    found = repair(LogisticRegression(max_iter=500), numbers, y, sensitive="x0", max_loss=0.05, **QUICK)
    assert found.columns == ("x1", "x2")
    assert found.model.predict(numbers[:, 1:]).shape == (400,)


@pytest.mark.parametrize("model", [Ridge(), LinearRegression()], ids=str)
def test_outcomes_are_repaired_as_well(model: Any) -> None:
    X, _ = draw(500)
    pay = X["age"] - 8.0 * (X["sex"] == "f") + np.random.default_rng(1).normal(0, 2, 500)
    found = repair(make_pipeline(coding("sex"), model), X, pay, roles=ROLES, max_loss=0.5, **QUICK)
    before, after = (one["excess"].value or 0.0 for one in (found.before, found.after))
    assert after < before / 2
    assert "R²" in str(found)


def test_where_nobody_is_treated_differently_little_is_lost() -> None:
    losses = []
    for seed in range(2):
        X, y = draw(300, seed=seed, effect=0.0)
        found = repair(linear(), X, y, roles=ROLES, **QUICK)
        there = draw(4_000, seed=99, effect=0.0)
        models = found.search.base_estimator_, found.model
        before, after = (audit(one, *there, roles=ROLES, n_resamples=0)["average_precision"].value for one in models)
        losses.append((before or 0) - (after or 0))
    assert np.mean(losses) < 0.02


def test_an_estimator_without_weights_does_what_it_can() -> None:
    found = repair(make_pipeline(linear()[0], KNeighborsClassifier(20)), *draw(400), roles=ROLES, **QUICK)
    assert {point.name for point in found.search.frontier_} <= {"base", "without the sensitive columns"}


def test_a_log_of_it_is_repeated(tmp_path: Path) -> None:
    X, y = draw(300)
    log = tmp_path / "log.jsonl"
    found = repair(linear(), X, y, roles=ROLES, log=log, **QUICK)
    rest = np.setdiff1d(np.arange(300), found.held_out)
    again = replay_search(log, X.iloc[rest], y[rest], estimator=linear())
    assert not again.differences, str(again)
    assert again.n_models == len(found.search.frontier_)


@given(st.integers(0, 2**16), st.sampled_from([0.0, 0.01, 0.2]))
@settings(max_examples=sized(2, 15), deadline=None)
def test_what_is_chosen_is_within_the_budget_and_no_worse_out_of_fold(seed: int, max_loss: float) -> None:
    X, y = draw(200, seed)
    search = FrontierSearch(linear(), roles=ROLES, folds=2, max_loss=max_loss, random_state=0).fit(X, y)
    base, best = search.frontier_[0], search.best_point_
    error = ((best.loss.high or 0.0) - (best.loss.low or 0.0)) / 2 / 1.96
    assert (best.loss.value or 0.0) <= max(max_loss, error) + 1e-9
    assert best is base or max(best.unfairness.value or 0, 0) <= max(base.unfairness.value or 0, 0) + error + 0.1


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, ParameterError, "sensitive names no column"),
        ({"sensitive": "gender"}, SchemaError, "gender"),
        ({"sensitive": "sex", "roles": ROLES}, ParameterError, "sensitive excludes roles"),
        ({"sensitive": "sex", "max_loss": -0.1}, ParameterError, "max_loss is -0.1"),
        ({"sensitive": "sex", "max_loss": 5}, ParameterError, "For 5 percentage points use 0.05"),
        ({"sensitive": "sex", "test_fraction": 1.5}, ParameterError, "test_fraction is 1.5"),
        ({"sensitive": "sex", "sample_weight": np.ones(3)}, ParameterError, "sample_weight has shape"),
        ({"sensitive": "sex", "sample_weight": "age"}, ParameterError, "sample_weight"),
        ({"sensitive": "sex", "folds": 1}, ParameterError, "folds is 1"),
        ({"sensitive": "sex", "utility": "auc"}, ParameterError, "utility is 'auc'"),
        ({"sensitive": "sex", "y": "paid"}, ParameterError, "y names column 'paid', which X does not have"),
        ({"sensitive": "sex", "model": RandomForestClassifier}, TypeError, "neither a classifier nor a regressor"),
        ({"sensitive": "sex", "y": np.ones(60)}, SchemaError, "one class only"),
        ({"sensitive": "sex", "y": np.eye(60)[0]}, LikewiseError, "Only one row has the label|Add"),
        ({"sensitive": "sex", "X": draw(60)[0].assign(age=[np.nan, *[30.0] * 59])}, LikewiseError, "contains NaN"),
        ({"roles": ROLES, "rule": Comparability(limits={"age": 0.0})}, NoComparablePairs, "No comparable pairs"),
    ],
)
def test_odd_arguments_get_one_line(options: Any, error: type[Exception], words: str) -> None:
    X, y = draw(60)
    if "rule" in options:
        X["age"] = np.arange(60)
    given = {"model": linear(), "X": X, "y": y, **options}
    with pytest.raises(error, match=words) as refused:
        repair(given.pop("model"), given.pop("X"), given.pop("y"), **(QUICK | given))
    assert "\n" not in str(refused.value)
