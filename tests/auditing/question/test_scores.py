"""Scores come as arrays, columns, models or functions; what is no score is refused in a sentence."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from likewise import Audit, Comparability, Roles, audit
from likewise.auditing.question import _scores
from likewise.auditing.question._scores import _threshold_for
from likewise.datasets import PlantedDataset
from likewise.exceptions import LikewiseError, SchemaError, ScoreError

LIMITS: dict[str, Any] = {"n_resamples": 0, "n_worst": 3}


def measured(found: Audit) -> dict[str, float | None]:
    places = {f"[{label}]": f"[{place}]" for place, label in enumerate(found.record.labels)}
    return {
        name.partition("[")[0] + places.get(name[name.find("[") :], ""): measure.value
        for name, measure in found.measures.items()
    }


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


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_function_that_changes_its_table_changes_neither_the_caller_s_nor_the_audit(library: Any) -> None:
    values = {"sex": ["f", "m"] * 20, "age": np.arange(40.0), "hired": [0, 1, 1, 0] * 10}

    def score(people: Any) -> Any:
        if library is pd.DataFrame:
            people["age"] *= 0
            people.loc[:, "sex"] = "x"
            people.insert(0, "new", 1)
            people.index = people.index[::-1]
        else:
            people[0, "age"] = 7.0
            people.insert_column(0, pl.Series("new", [1] * 40))
        return np.linspace(0, 1, 40)

    roles, rule = Roles(sensitive="sex", continuous="age", label="hired"), Comparability(max_continuous_shift=0.9)
    people = library(values)
    found = audit(score, people, roles=roles, rule=rule, **LIMITS)
    assert people.equals(library(values))
    expected = audit(np.linspace(0, 1, 40), library(values), roles=roles, rule=rule, **LIMITS)
    assert (measured(found), found.worst) == (measured(expected), expected.worst)


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
    assert turned["gap_mean", "yes"].value == pytest.approx(expected["gap_mean[1]"])


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


class Model:
    """Say what one is told to."""

    def __init__(self, classes: Any, probabilities: Any) -> None:
        self.classes_, self.probabilities = classes, probabilities

    def predict_proba(self, people: Any) -> Any:
        return self.probabilities


def test_labels_said_by_a_model_without_probabilities_are_yes_where_they_are_the_positive_one(
    planted: PlantedDataset, how: dict[str, Any]
) -> None:
    options = {**how, **LIMITS, "y": np.where(planted.test.y == 1, "yes", "no")}
    train = planted.train.X[["income"]]
    model = RidgeClassifier().fit(train, np.where(train["income"] > train["income"].median(), "yes", "no"))
    said = model.predict(planted.test.X[["income"]])
    for label in ("yes", "no"):
        scores = audit(model, **options, positive=label).question.scores.values
        assert scores.tolist() == (said == label).astype(float).tolist()


@pytest.mark.parametrize("label", [0, 1])
def test_of_two_columns_that_of_the_positive_label_counts_also_where_all_have_one_label(
    label: int, planted: PlantedDataset, how: dict[str, Any]
) -> None:
    scores = planted.scores(planted.test.X)
    options = {**how, **LIMITS, "y": np.full(len(scores), label)}
    for positive, expected in ((None, scores), (1, scores), (0, 1 - scores)):
        found = audit(np.column_stack([1 - scores, scores]), **options, positive=positive)
        assert found.question.scores.values == pytest.approx(expected)
    with pytest.raises(ScoreError, match="which of the two columns"):
        audit(np.column_stack([1 - scores, scores]), **{**options, "y": ["repaid"] * 500, "positive": "repaid"})


def test_the_positive_label_is_no_text_where_labels_are_numbers(planted: PlantedDataset, how: dict[str, Any]) -> None:
    with pytest.raises(ScoreError, match="No row has the positive label '1'; the labels are"):
        audit(planted.scores, **{**how, "y": np.ones(500, int), "positive": "1"})


@pytest.mark.parametrize("labels", [("1.5", "2.5"), (Decimal(0), Decimal(1)), (date(2020, 1, 1), date(2021, 1, 1))])
def test_labels_of_any_type_are_labels(labels: Any, planted: PlantedDataset, how: dict[str, Any]) -> None:
    found = audit(planted.scores, **{**how, **LIMITS, "y": [labels[one] for one in planted.test.y]})
    assert found.question.scores.task == "binary"
    assert set(found.record.labels) == set(labels)
    assert measured(found) == measured(audit(planted.scores, **{**how, **LIMITS}))


def test_scores_that_differ_by_rounding_are_equal(planted: PlantedDataset, how: dict[str, Any]) -> None:
    scores = np.round(planted.scores(planted.test.X), 1)
    noisy = scores * (1 + np.random.default_rng(0).choice([-1e-15, 0, 1e-15], len(scores)))
    options = {**how, **LIMITS, "approval_rate": 0.4}
    one, other = (audit(given, **options) for given in (scores, noisy))
    for name in ("rank_gap_mean", "flip_rate", "accuracy"):
        assert other[name].value == pytest.approx(one[name].value, abs=1e-12), name
    assert audit(np.where(scores > 0.5, 1 + 1e-12, scores), **options)["gap_max"].value <= 1  # type: ignore[operator]  # it is known


def test_scores_far_smaller_than_one_are_not_rounded_to_each_other() -> None:
    people = pd.DataFrame({"sex": ["f", "m"], "y": [1, 1]})
    with pytest.warns(match="collapsed"):
        found = audit([1e-30, 2e-30], people, roles=Roles(sensitive="sex", label="y"), **LIMITS)
    assert found["rank_gap_mean"].value == 0.5


def test_what_a_task_has_no_use_for_is_refused() -> None:
    people = pd.DataFrame({"sex": ["f", "m"] * 3, "grade": list("xyz") * 2, "pay": np.arange(6) + 0.5})
    grades, pay = (
        Roles(sensitive="sex", label="grade", ignored="pay"),
        Roles(sensitive="sex", label="pay", ignored="grade"),
    )
    for idle in ({"threshold": 0.5}, {"approval_rate": 0.5}, {"positive": "x"}):
        with pytest.raises(ValueError, match=f"{next(iter(idle))} is .*, but a multiclass task"):
            audit(np.full((6, 3), 1 / 3), people, roles=grades, **idle)
    with pytest.raises(ValueError, match="positive is 1, but a regression task"):
        audit(np.arange(6.0), people, roles=pay, positive=1)


def test_several_labels_are_measured_by_total_variation() -> None:
    random = np.random.default_rng(0)
    people = pd.DataFrame({"sex": ["f", "m"] * 60, "job": list("abc") * 40, "grade": list("xyz") * 40})
    scores = random.dirichlet([1, 1, 1], 120)
    found = audit(scores, people, roles=Roles(sensitive="sex", matched="job", label="grade"), **LIMITS)
    left, right = found.pairs.left, found.pairs.right
    assert found["gap_mean"].value == pytest.approx(np.abs(scores[left] - scores[right]).sum(axis=1).mean() / 2)
    assert found["flip_rate"].value == np.mean(scores[left].argmax(axis=1) != scores[right].argmax(axis=1))
    assert found["gap_mean", "z"].n < found["gap_mean"].n
    assert found.directions == ()


def test_the_columns_of_a_model_are_put_in_the_order_of_the_labels() -> None:
    people = pd.DataFrame({"sex": ["f", "m"] * 30, "grade": list("xyz") * 20})
    scores = np.random.default_rng(0).dirichlet([1, 1, 1], 60)
    roles = Roles(sensitive="sex", label="grade")
    expected = measured(audit(scores, people, roles=roles, **LIMITS))
    assert measured(audit(Model(["z", "x", "y"], scores[:, [2, 0, 1]]), people, roles=roles, **LIMITS)) == expected
    with pytest.raises(ScoreError, match="also knows the labels"):
        audit(Model(list("wxyz"), np.full((60, 4), 0.25)), people, roles=roles)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("labels", [["a", "b", "c"], [2, 5, 7], ["no", "yes"], [0, 1]])
def test_columns_that_are_called_by_labels_are_taken_by_name(frame: Any, labels: list[Any]) -> None:
    random = np.random.default_rng(0)
    people = pd.DataFrame({"sex": random.choice(["f", "m"], 60), "y": np.resize(labels, 60)})
    shares = random.dirichlet(np.ones(len(labels)), 60)
    asked: dict[str, Any] = {"roles": Roles(sensitive="sex", label="y"), **LIMITS}
    expected = measured(audit(shares, people, **asked))

    def called(names: list[Any], columns: Any) -> Any:
        names = names if frame is pd.DataFrame else list(map(str, names))
        return frame(dict(zip(names, columns, strict=True)))

    turned = called(labels[::-1], shares.T[::-1])
    for scores in (turned, lambda _: turned, called(labels, shares.T)):
        assert measured(audit(scores, people, **asked)) == expected
    for strange in ([*labels[:-1], "other"], [f"p_{label}" for label in labels]):
        with pytest.raises(ScoreError, match=r"but labels are .*Name each column by its label"):
            audit(called(strange, shares.T), people, **asked)
    numbered = pd.DataFrame(shares) if frame is pd.DataFrame else pl.DataFrame(shares)
    assert measured(audit(numbered, people, **asked)) == expected


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
    scores, random = np.array(tenths) / 10, np.random.default_rng(len(tenths))
    times = random.integers(0, 4, len(tenths))
    times[0] += 1
    for weights, people in (
        (None, scores),
        (times.astype(float), scores.repeat(times)),
        (times / 7, scores.repeat(times)),
    ):
        threshold = _threshold_for(scores, rate, weights)
        approved = [float((people >= one).mean()) for one in np.unique(people)]
        nearest = min(approved, key=lambda share: (round(abs(share - rate), 12), -share)) if rate else 0.0
        assert float((people >= threshold).mean()) == nearest


def test_an_approval_rate_decides_who_is_approved(planted: PlantedDataset, how: dict[str, Any]) -> None:
    found = audit(planted.scores, **{**how, **LIMITS, "approval_rate": 0.3})
    assert found.question.scores.decisions is not None
    assert found.question.scores.decisions.mean() == pytest.approx(0.3, abs=0.05)


def failing(people: Any) -> Any:
    raise ValueError("no such people.")


BAD: list[tuple[str, Any, dict[str, Any], str]] = [
    ("too few", lambda s: s[:-1], {}, "The scores are 499, but the table has 500 rows"),
    ("NaN", lambda s: np.where(np.arange(len(s)) == 7, np.nan, s), {}, "in 1 of 500 rows, first in row 7"),
    ("outside", lambda s: 5 * s - 1, {}, "run from -.* but probabilities lie from 0 to 1"),
    (
        "text",
        lambda s: ["high"] * len(s),
        {},
        "are not numbers but words .'high'.. Give .* the model itself; .* name the favourable one",
    ),
    ("not fitted", lambda s: LogisticRegression(), {}, "LogisticRegression is not fitted.* Fit it first"),
    ("failing sentence", lambda s: failing, {}, r"ValueError: no such people\. Check"),
    ("no such column", lambda s: "probability", {}, "There is no column 'probability'"),
    ("three axes", lambda s: np.zeros((len(s), 2, 2)), {}, "have shape"),
    ("three columns", lambda s: np.tile(s[:, None], 3), {}, "have 3 columns; for a binary task"),
    ("failing function", lambda s: lambda people: people["salary"], {}, "cannot score this table: KeyError"),
    ("positive unknown", lambda s: s, {"positive": "yes"}, "No row has the positive label 'yes'; the labels"),
    ("scale", lambda s: s, {"scale": 2.0}, "scale is for task='regression'"),
    ("both", lambda s: s, {"threshold": 0.5, "approval_rate": 0.5}, "give one of them"),
    ("rate", lambda s: s, {"approval_rate": 30}, "a share from 0 to 1"),
    ("task", lambda s: s, {"task": "ranking"}, "choose one of 'auto', 'binary'"),
    ("limit in percent", lambda s: s, {"gap_limit": 10}, "gaps between probabilities are at most 1"),
    ("threshold in percent", lambda s: s, {"threshold": 50}, "threshold is 50, but probabilities lie from 0 to 1"),
    ("two models", lambda s: np.column_stack([s / 2, s]), {}, "add up to .*, not to 1"),
    ("Arrow with gaps", lambda s: pa.array([None, *s[1:]]), {}, "in 1 of 500 rows, first in row 0"),
    ("rows of two lengths", lambda s: Model([0, 1], [[0.5]] * 499 + [[0.1, 0.9]]), {}, "are not numbers"),
    ("several outputs", lambda s: Model([[0, 1], [0, 1]], [[[0.5, 0.5]] * 500] * 2), {}, "have shape"),
    (
        "other labels",
        lambda s: Model(["no", "yes"], [[0.5, 0.5]] * 500),
        {},
        "knows the labels .*no.*, not the positive",
    ),
    ("large seed", lambda s: s, {"random_state": 2**64}, r"at most 19 digits"),
    ("compared column", lambda s: "income", {}, "'income' holds the scores, but its role is continuous"),
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


def test_decisions_in_place_of_scores_are_told(planted: PlantedDataset, how: dict[str, Any]) -> None:
    numbers = planted.train.X.select_dtypes("number")
    model = RidgeClassifier().fit(numbers, planted.train.y)
    [note] = [note.text for note in audit(model, **{**how, **LIMITS}).notes if note.kind == "decisions_only"]
    assert note.startswith("All scores (model RidgeClassifier) are 0 or 1")
    assert not any("decisions are compared" in note.text for note in audit(planted.scores, **{**how, **LIMITS}).notes)


def test_one_label_only_is_told(planted: PlantedDataset, how: dict[str, Any]) -> None:
    X, scores = planted.test.X, planted.scores(planted.test.X)
    found = audit(scores, **{**how, **LIMITS, "y": np.ones(len(X), int)})
    assert found["roc_auc"].value is None
    assert found["gap_mean", 1] == found["gap_mean"]
    assert "gap_mean[0]" not in found.measures
    assert any("Every row has the label 1" in note.text for note in found.notes)
    with pytest.raises(ScoreError, match="which label the scores are about"):
        audit(scores, **{**how, "y": ["repaid"] * len(X)})
    told = audit(scores, **{**how, **LIMITS, "y": ["repaid"] * len(X), "positive": "repaid"})
    assert told["gap_mean", "repaid"].value == found["gap_mean"].value


def test_three_labels_with_one_score_ask_for_more() -> None:
    people = pd.DataFrame({"sex": ["f", "m"] * 3, "grade": list("xyz") * 2})
    with pytest.raises(ScoreError, match=r"3 labels .* and one column of scores"):
        audit(np.full(6, 0.5), people, roles=Roles(sensitive="sex", label="grade"))
    with pytest.raises(ScoreError, match=r"add up to 0\.6"):
        audit(np.full((6, 3), 0.2), people, roles=Roles(sensitive="sex", label="grade"))


def test_which_label_the_scores_are_about_is_said_where_it_was_guessed(
    planted: PlantedDataset, how: dict[str, Any]
) -> None:
    options = {**how, **LIMITS, "y": np.where(planted.test.y == 1, "approved", "denied")}
    assert any("the probability of 'denied'" in note.text for note in audit(planted.scores, **options).notes)
    for named in ({**options, "positive": "approved"}, {**how, **LIMITS}):
        assert not any("are taken for" in note.text for note in audit(planted.scores, **named).notes)


def amounts(n: int = 120) -> tuple[pa.Table, Any, dict[str, Any]]:
    random = np.random.default_rng(0)
    people = pa.table({"sex": random.integers(2, size=n).astype(str), "case": random.integers(5, size=n).astype(str)})
    how = {"roles": Roles(sensitive=["sex"], discrete=["case"]), "rule": Comparability(max_discrete_changes=0)}
    return people, random.normal(size=n), {**how, **LIMITS}


@pytest.mark.parametrize("offset", [1e6, 1e10, 1e13, 1e14])
def test_an_offset_leaves_the_gaps_of_amounts_as_they_are(offset: float) -> None:
    people, scores, how = amounts()
    how |= {"task": "regression", "scale": 1.0}
    near, far = (audit(scores + shift, people, scores, **how)["gap_mean"].value for shift in (0.0, offset))
    assert far == pytest.approx(near, rel=1e-3)  # at 1e14 a float has one digit behind the point


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (lambda given: np.ma.array(given, mask=given > 0.9), "are masked in"),
        (lambda given: given + 0j, "are complex numbers"),
        (lambda given: given * 1e160, "Give them in a larger unit"),
        (lambda given: np.full(len(given), 10**400, object), "are not numbers"),
    ],
)
def test_scores_that_would_lose_a_part_are_refused(scores: Any, message: str) -> None:
    people, given, how = amounts()
    with pytest.raises(ScoreError, match=message):
        audit(scores(given), people, given, task="regression", **how)


def test_outcomes_without_a_standard_deviation_in_floats_are_refused() -> None:
    people, given, how = amounts()
    with pytest.raises(ScoreError, match="in a larger unit"):
        audit(given, people, given * 1e160, task="regression", **how)


def test_a_tensor_with_gradients_is_a_score() -> None:
    torch = pytest.importorskip("torch")
    people, given, how = amounts()
    shares = 1 / (1 + np.exp(-given))
    labels = (given > 0).astype(int)
    of_tensor = audit(torch.tensor(shares, requires_grad=True), people, labels, **how)
    assert measured(of_tensor) == measured(audit(shares, people, labels, **how))


def test_scores_are_ranked_as_they_are_joined() -> None:
    random = np.random.default_rng(0)
    scores = random.integers(-3, 40, 2_000) / 7
    scores += scores * random.integers(0, 3, 2_000) * 1e-13
    scores[:2] = -0.0
    joined, levels = _scores.join_rounded(scores)
    assert joined == pytest.approx(scores, rel=1e-12)
    assert not np.signbit(joined[joined == 0]).any()
    distinct, ranks = np.unique(joined, return_inverse=True)
    assert len(distinct) == 43
    assert levels.of_rows.tolist() == ranks.tolist()
    assert levels.count().tolist() == np.bincount(ranks).tolist()


@pytest.mark.parametrize("form", [list, np.asarray, pd.Series, lambda one: pd.Series(one, name="sex"), pl.Series])
def test_sensitive_columns_alone_are_enough_in_the_table_or_beside_it(form: Any) -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame({"job": random.choice(["cook", "smith"], 200), "pay": random.integers(10, 40, 200)})
    sex, y = random.choice(["f", "m"], 200), (X["pay"] + random.integers(0, 20, 200) > 35).astype(int)
    model = LogisticRegression().fit(X[["pay"]].to_numpy(), y)  # knows no names of columns: what is it shown?
    both = X.assign(sex=sex, hired=y, id=range(1000, 1200))
    roles = Roles.infer(both, sensitive="sex", label="hired")

    def score(people: Any) -> Any:
        assert "sex" not in people.columns or people.equals(both)
        return model.predict_proba(people[["pay"]].to_numpy())[:, 1]

    expected = audit(score, both, roles=roles, **LIMITS)
    beside = form(sex.tolist())
    found = [
        audit(score, both, "hired", sensitive="sex", **LIMITS),
        audit(score, X, y, sensitive_features=beside, **LIMITS),
    ]
    for one in found:
        assert one.measures == expected.measures
        assert len(one.pairs) > 100
        assert one.roles.discrete == ("job",)
        (note,) = [note for note in one.notes if note.kind == "roles_inferred"]
        assert "discrete job; continuous pay" in note.text
    assert "ignored id" in " ".join(map(str, found[0].notes))
    for wrong, message in (
        ({}, r"sensitive names no column\. Write sensitive='sex'"),
        ({"roles": roles, "sensitive": "sex"}, "sensitive excludes roles"),
        ({"sensitive": "sx"}, "Did you mean 'sex'"),
        ({"sensitive_features": pd.Series(sex, name="sex")}, "'sex', which X has as well"),
    ):
        with pytest.raises(LikewiseError, match=message):
            audit(score, both, "hired", **wrong)
