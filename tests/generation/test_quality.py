"""How good made rows are: shares by kind, what they teach, whether they can be told, whether they are copies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from likewise import CodedTable, Comparability, Roles
from likewise.exceptions import GenerationError
from likewise.generation import (
    Antidotes,
    UniformGenerator,
    comparability_ratio,
    copied_share,
    detectability,
    learning_efficacy,
)

ROLES = Roles(sensitive="sex", discrete=["job", "town"], continuous=["age", "pay"])
TREE = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)


@pytest.fixture(scope="module")
def X() -> pd.DataFrame:  # noqa: N802 - what scikit-learn calls a table
    random = np.random.default_rng(0)
    n = 400
    age = random.integers(20, 60, n)
    return pd.DataFrame(
        {
            "sex": random.choice(["f", "m"], n),
            "job": random.choice(["cook", "smith"], n),
            "town": random.choice(["Bonn", "Jena"], n),
            "age": age,
            "pay": 100 * age,  # so that changing one of the two shows
        }
    )


@pytest.fixture(scope="module")
def y(X: pd.DataFrame) -> np.ndarray[Any, Any]:
    return np.where(X["age"] + 10 * (X["job"] == "cook") > 45, "yes", "no")


def made(X: pd.DataFrame, y: Any, rule: Comparability, **amount: Any) -> Antidotes:
    return UniformGenerator(ROLES, rule, random_state=0).fit(X, y).generate(X, y, **amount)


@pytest.fixture(scope="module")
def honest(X: pd.DataFrame, y: Any) -> Antidotes:
    """Change nothing but the sensitive column, on which nothing depends."""
    return made(X, y, Comparability(max_discrete_changes=0, max_continuous_shift=0))


@pytest.fixture(scope="module")
def wild(X: pd.DataFrame, y: Any) -> Antidotes:
    return made(X, y, Comparability(max_discrete_changes=2, max_continuous_shift=1))


def test_ratios_are_by_kind_and_together() -> None:
    sources = CodedTable(sensitive=[[0]] * 4, discrete=[[0, 0]] * 4, ordinal=[[1]] * 4, continuous=[[0.5]] * 4)
    raw = CodedTable(
        sensitive=[[1], [1], [0], [1]],
        discrete=[[0, 1], [1, 1], [0, 0], [0, 0]],
        ordinal=[[2], [1], [1], [3]],
        continuous=[[0.5], [0.52], [0.9], [0.9]],
    )
    assert comparability_ratio(sources, raw, Comparability()) == {
        "discrete": 0.75,
        "ordinal": 0.75,
        "continuous": 0.5,
        "sensitive": 0.75,
        "together": 0.25,
    }


def test_ratios_go_by_the_whole_rule() -> None:
    sources = CodedTable(sensitive=[[0, 0]] * 2, discrete=[[0], [0]])
    raw = CodedTable(sensitive=[[1, 0], [1, 1]], discrete=[[1], [0]])
    rule = Comparability(sensitive_differs="all", must_match=("discrete_0",))
    ratios = comparability_ratio(sources, raw, rule)
    assert (ratios["discrete"], ratios["sensitive"], ratios["together"]) == (0.5, 0.5, 0.5)
    assert ratios["continuous"] == 1


def test_kept_antidotes_are_comparable_in_every_kind(wild: Antidotes) -> None:
    rule = Comparability(max_discrete_changes=2, max_continuous_shift=1)
    assert set(comparability_ratio(wild.sources, wild.table, rule).values()) == {1.0}


def test_no_rows_have_no_ratio() -> None:
    nothing = CodedTable(sensitive=np.empty((0, 1), int))
    assert all(np.isnan(one) for one in comparability_ratio(nothing, nothing, Comparability()).values())
    with pytest.raises(GenerationError, match="1 raw rows and 0 sources"):
        comparability_ratio(nothing, CodedTable(sensitive=[[0]]), Comparability())


def test_good_antidotes_teach_as_much_as_real_rows(X: pd.DataFrame, y: Any, honest: Antidotes, wild: Antidotes) -> None:
    real = learning_efficacy((X, y), X, y, roles=ROLES)
    good, bad = learning_efficacy(honest, X, y), learning_efficacy(wild, X, y)
    assert set(real) == {"accuracy", "balanced_accuracy", "f1"}
    assert real["accuracy"] > 0.95
    for name, value in real.items():
        assert good[name] == pytest.approx(value, abs=0.05)
        assert bad[name] < value


def test_any_classifier_of_frames_can_be_trained(X: pd.DataFrame, y: Any, honest: Antidotes) -> None:
    encode = make_column_transformer((OneHotEncoder(), ["sex", "job", "town"]), remainder="passthrough")
    pipeline = make_pipeline(encode, TREE)
    found = learning_efficacy(honest, X, y, estimator=pipeline)
    assert found["accuracy"] > 0.9
    assert not hasattr(pipeline.steps[-1][1], "tree_")  # a copy was trained


def test_more_than_two_labels_and_labels_in_the_frame(X: pd.DataFrame) -> None:
    y = (X["age"] // 15).to_numpy()
    found = learning_efficacy((X, y), X.assign(y=y), roles=replace(ROLES, label="y"))
    assert 0.5 < found["f1"] <= 1


def test_what_teaches_nothing_is_refused(X: pd.DataFrame, y: Any, honest: Antidotes) -> None:
    with pytest.raises(GenerationError, match="400 training rows with 1 distinct labels"):
        learning_efficacy((X, ["no"] * 400), X, y, roles=ROLES)
    with pytest.raises(GenerationError, match="and 0 test rows"):
        learning_efficacy(honest, X.iloc[:0], y[:0])
    with pytest.raises(TypeError, match="Give \\(X, y\\) and roles="):
        learning_efficacy((X, y), X, y)


def test_antidotes_that_look_real_cannot_be_told(X: pd.DataFrame, honest: Antidotes, wild: Antidotes) -> None:
    assert detectability(honest, X, estimator=TREE) == pytest.approx(0.5, abs=0.1)
    assert detectability(wild, X, estimator=TREE) > 0.8


def test_the_usual_trees_tell_them_as_well(X: pd.DataFrame, wild: Antidotes) -> None:
    found = detectability(wild, X, n_folds=2)
    assert found > 0.8
    assert found == detectability(wild, X, n_folds=2)


def test_sensitive_values_give_nothing_away(X: pd.DataFrame, y: Any) -> None:
    few = X.assign(sex=["m"] * 20 + ["f"] * 380)
    antidotes = made(few, y, Comparability(max_discrete_changes=0, max_continuous_shift=0))
    assert detectability(antidotes, few, estimator=DecisionTreeClassifier(max_depth=1), n_folds=2) < 0.7


def test_a_draw_of_few_rows(X: pd.DataFrame, wild: Antidotes) -> None:
    assert 0 <= detectability(wild, X, estimator=TREE, max_rows=30, n_folds=2, random_state=3) <= 1


def test_too_few_to_tell_is_said(X: pd.DataFrame, y: Any, wild: Antidotes) -> None:
    two = X.iloc[:2].assign(sex=["f", "m"])
    antidotes = made(two, y[:2], Comparability())
    with pytest.raises(GenerationError, match=r"too few for 5 folds\. Generate more antidotes, or lower n_folds"):
        detectability(antidotes, two)
    with pytest.raises(ValueError, match="n_folds is 1; give a whole number, 2 or more"):
        detectability(wild, X, n_folds=1)
    with pytest.raises(GenerationError, match="X has 2 rows, but the antidotes come from 400"):
        detectability(wild, two)


def test_copies_are_counted_in_all_compared_columns() -> None:
    X = pd.DataFrame({"sex": ["f", "m", "f"], "age": [1.0, 1.0, 2.0], "note": ["a", "b", "c"]})
    roles = Roles(sensitive="sex", continuous="age", ignored="note")
    generator = UniformGenerator(roles, Comparability(0, 0), random_state=0).fit(X, [0, 1, 0])
    antidotes = generator.generate(X, [0, 1, 0])
    assert copied_share(antidotes, X) == pytest.approx(2 / 3)  # nobody is m and 2
    assert copied_share(antidotes, X.iloc[2:]) == 0
    assert np.isnan(copied_share(generator.generate(X.iloc[:0], []), X))


def test_copies_are_found_among_rows_of_unseen_categories(X: pd.DataFrame, honest: Antidotes) -> None:
    stranger = X.assign(town="Ulm")
    assert copied_share(honest, stranger) == 0
    assert copied_share(honest, honest.frame) == 1
