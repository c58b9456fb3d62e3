"""Scores come as arrays, columns, models or functions; what is no score is refused in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from likewise import Audit, Comparability, Roles, audit
from likewise.auditing._scores import _threshold_for
from likewise.datasets import PlantedDataset
from likewise.exceptions import SchemaError, ScoreError

LIMITS: dict[str, Any] = {"n_resamples": 0, "n_worst": 3}


def measured(found: Audit) -> dict[str, float | None]:
    return {name: measure.value for name, measure in found.measures.items()}


def test_an_array_a_column_a_model_and_a_function_say_the_same(planted: PlantedDataset, how: dict[str, Any]) -> None:
    columns = ["employment", "housing", "income"]
    encoder = make_column_transformer((OneHotEncoder(), columns[:2]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression(max_iter=5_000))
    model.fit(planted.train.X[columns], planted.train.y)  # it never saw a sensitive column
    X = planted.test.X
    scores = model.predict_proba(X[columns])[:, 1]
    options = {**how, **LIMITS}
    expected = measured(audit(scores, **options))
    assert measured(audit(model, **options)) == expected
    assert measured(audit(lambda people: model.predict_proba(people[columns])[:, 1], **options)) == expected
    assert measured(audit(lambda people: model.predict_proba(people[columns]), **options)) == expected
    assert measured(audit(pd.Series(scores, index=X.index[::-1]), **options)) == expected  # rows meet by position
    with_column = {**options, "X": X.assign(p=scores)}
    assert measured(audit("p", **with_column)) == expected
    polars = {**with_column, "X": pl.from_pandas(with_column["X"]), "y": pl.Series(planted.test.y.to_numpy())}
    assert measured(audit("p", **polars)) == expected


def test_a_column_of_scores_is_never_compared() -> None:
    people = pd.DataFrame({"sex": ["f", "m"] * 20, "p": np.linspace(0, 1, 40), "hired": [0, 1, 1, 0] * 10})
    found = audit("p", people, roles=Roles(sensitive="sex", label="hired"), **LIMITS)
    assert len(found.pairs) == 200  # everybody of one label and the other sex, however far apart the scores


def test_labels_may_be_anything_with_an_order(planted: PlantedDataset, how: dict[str, Any]) -> None:
    words = np.where(planted.test.y == 1, "yes", "no")
    options = {**how, **LIMITS}
    expected = measured(audit(planted.scores, **options))
    assert measured(audit(planted.scores, **{**options, "y": words})) == expected
    # the other label's probability, said to be so, is the same again with the two labels changed over
    turned = audit(1 - planted.scores(planted.test.X), **{**options, "y": words, "positive": "no"})
    assert turned["negative_gap_mean"].value == pytest.approx(expected["positive_gap_mean"])


def test_a_model_is_asked_for_the_positive_label() -> None:
    people = pd.DataFrame(
        {
            "sex": ["f", "m"] * 20,
            "age": np.arange(40.0),
            "y": (["bad"] * 3 + ["good"]) * 5 + (["good"] * 3 + ["bad"]) * 5,
        }
    )
    model = LogisticRegression().fit(people[["age"]], people["y"])
    roles = Roles(sensitive="sex", continuous="age", label="y")
    rule = Comparability(max_continuous_shift=0.1)
    good, bad = (audit(model, people, roles=roles, rule=rule, positive=label, **LIMITS) for label in ("good", "bad"))
    assert good.question.scores.values == pytest.approx(1 - bad.question.scores.values)


def test_several_labels_are_measured_by_total_variation() -> None:
    random = np.random.default_rng(0)
    people = pd.DataFrame({"sex": ["f", "m"] * 60, "job": list("abc") * 40, "grade": list("xyz") * 40})
    scores = random.dirichlet([1, 1, 1], 120)
    found = audit(scores, people, roles=Roles(sensitive="sex", matched="job", label="grade"), **LIMITS)
    left, right = found.pairs.left, found.pairs.right
    assert found["gap_mean"].value == pytest.approx(np.abs(scores[left] - scores[right]).sum(axis=1).mean() / 2)
    assert found["flip_rate"].value == np.mean(scores[left].argmax(axis=1) != scores[right].argmax(axis=1))
    assert set(found.by_label) == {"x", "y", "z"}
    assert found.directions == ()
    assert "positive_gap_mean" not in found.measures


def test_predicted_amounts_are_measured_in_spreads_of_the_outcome() -> None:
    people = pd.DataFrame({"sex": ["f", "m"] * 20, "pay": np.linspace(10.5, 50.5, 40)})
    predicted = np.where(people["sex"] == "f", 20.0, 30.0)
    roles = Roles(sensitive="sex", label="pay")
    found = audit(predicted, people, roles=roles, **LIMITS)
    assert found.question.scores.task == "regression"
    assert found["gap_mean"].value == pytest.approx(10 / people["pay"].std(ddof=0))
    assert audit(predicted, people, roles=roles, scale=10, **LIMITS)["gap_mean"].value == 1
    assert found["flip_rate"].value is None
    assert audit(predicted, people, roles=roles, threshold=25, **LIMITS)["flip_rate"].value == 1
    assert {"r2", "mean_absolute_error"} <= set(found.measures)
    model = DummyRegressor().fit(people[["pay"]], people["pay"])
    with pytest.warns(match="collapsed"):
        audit(model, people, roles=roles, **LIMITS)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.floats(0, 1))
def test_an_approval_rate_is_met_as_nearly_as_equal_scores_allow(tenths: list[int], rate: float) -> None:
    scores = np.array(tenths) / 10
    n_wanted = round(rate * len(scores))
    threshold = _threshold_for(scores, rate)
    n_approved = int((scores >= threshold).sum())
    assert n_approved >= n_wanted
    assert int((scores > threshold).sum()) < n_wanted or n_approved == 0


def test_an_approval_rate_decides_who_is_approved(planted: PlantedDataset, how: dict[str, Any]) -> None:
    found = audit(planted.scores, **{**how, **LIMITS, "approval_rate": 0.3})
    assert found.question.scores.decisions is not None
    assert found.question.scores.decisions.mean() == pytest.approx(0.3, abs=0.05)


BAD: list[tuple[str, Any, dict[str, Any], str]] = [
    ("too few", lambda s: s[:-1], {}, "The scores are 499, but the table has 500 rows"),
    ("NaN", lambda s: np.where(np.arange(len(s)) == 7, np.nan, s), {}, "in 1 of 500 rows, first in row 7"),
    ("outside", lambda s: 5 * s - 1, {}, "run from -.* but probabilities lie from 0 to 1"),
    ("text", lambda s: ["high"] * len(s), {}, "are not numbers"),
    ("no such column", lambda s: "probability", {}, "There is no column 'probability'"),
    ("three axes", lambda s: np.zeros((len(s), 2, 2)), {}, "have shape"),
    ("three columns", lambda s: np.tile(s[:, None], 3), {}, "have 3 columns; for a binary task"),
    ("failing function", lambda s: lambda people: people["salary"], {}, "cannot score this table: KeyError"),
    ("positive unknown", lambda s: s, {"positive": "yes"}, "No row has the positive label 'yes'; the labels"),
    ("scale", lambda s: s, {"scale": 2.0}, "scale is for task='regression'"),
    ("both", lambda s: s, {"threshold": 0.5, "approval_rate": 0.5}, "give one of them"),
    ("rate", lambda s: s, {"approval_rate": 30}, "a share from 0 to 1"),
    ("task", lambda s: s, {"task": "ranking"}, "choose one of 'auto', 'binary'"),
    ("confidence", lambda s: s, {"confidence": 95}, "a share between 0 and 1, such as 0.95"),
    ("limit", lambda s: s, {"gap_limit": -1}, "gap_limit is -1"),
    ("pairs", lambda s: s, {"max_pairs": 0}, "max_pairs is 0"),
    ("seed", lambda s: s, {"random_state": -1}, "random_state is -1"),
    ("roles", lambda s: s, {"roles": {"sensitive": "sex"}}, "roles is a dict"),
    ("rule", lambda s: s, {"rule": "near"}, "The rule is 'near'"),
    ("labels short", lambda s: s, {"y": [0, 1]}, "y has 2 labels for 500 rows"),
]


@pytest.mark.parametrize(("scores", "options", "message"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_bad_input_is_one_clear_line(
    scores: Any, options: dict[str, Any], message: str, planted: PlantedDataset, how: dict[str, Any]
) -> None:
    with pytest.raises((ScoreError, SchemaError, ValueError), match=message) as caught:
        audit(scores(planted.scores(planted.test.X)), **{**how, **options})
    assert "\n" not in str(caught.value)


def test_a_model_of_other_columns_is_told_which(planted: PlantedDataset, how: dict[str, Any]) -> None:
    wanted = planted.train.X[["income"]].rename(columns={"income": "incomes"})
    model = LogisticRegression(max_iter=5_000).fit(wanted, planted.train.y)
    with pytest.raises(ScoreError, match=r"columns that the table lacks: 'incomes'\. Did you mean 'income'"):
        audit(model, **how)


def test_one_label_only_is_told(planted: PlantedDataset, how: dict[str, Any]) -> None:
    X, scores = planted.test.X, planted.scores(planted.test.X)
    found = audit(scores, **{**how, **LIMITS, "y": np.ones(len(X), int)})
    assert found["roc_auc"].value is None
    assert found["negative_gap_mean"].value is None
    assert found["positive_gap_mean"].value == found["gap_mean"].value
    assert any("Every row has the label 1" in note for note in found.notes)
    with pytest.raises(ScoreError, match="which label the scores are about"):
        audit(scores, **{**how, "y": ["repaid"] * len(X)})
    told = audit(scores, **{**how, **LIMITS, "y": ["repaid"] * len(X), "positive": "repaid"})
    assert told["positive_gap_mean"].value == found["gap_mean"].value


def test_three_labels_with_one_score_ask_for_more() -> None:
    people = pd.DataFrame({"sex": ["f", "m"] * 3, "grade": list("xyz") * 2})
    with pytest.raises(ScoreError, match=r"3 labels .* and one column of scores"):
        audit(np.full(6, 0.5), people, roles=Roles(sensitive="sex", label="grade"))
    with pytest.raises(ScoreError, match=r"add up to 0\.6"):
        audit(np.full((6, 3), 0.2), people, roles=Roles(sensitive="sex", label="grade"))
