"""The planted data set has the pairs and the unfairness it says it has."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from tests.sizes import sized

from likewise import audit, mine_pairs
from likewise.datasets import PlantedDataset, load_dataset
from likewise.exceptions import SchemaError


def assert_pairs_are_the_planted_ones(dataset: PlantedDataset) -> None:
    schema = dataset.roles.learn(dataset.train.X)
    for split in (dataset.train, dataset.test):
        mined = mine_pairs(schema.encode(split.X, split.y), dataset.rule)
        np.testing.assert_array_equal(mined.left, split.pairs.left)
        np.testing.assert_array_equal(mined.right, split.pairs.right)


@settings(max_examples=sized(10, 40))
@given(st.integers(8, 400), st.integers(0, 2**32 - 1))
def test_exactly_the_planted_pairs_are_mined(n_rows: int, seed: int) -> None:
    dataset = load_dataset("planted", n_rows=n_rows, split_seed=seed, frame="pyarrow")
    assert len(dataset.train) + len(dataset.test) == n_rows
    assert len(dataset.train.pairs) > 0
    assert len(dataset.test.pairs) > 0
    assert_pairs_are_the_planted_ones(dataset)


@pytest.mark.long(3)
@pytest.mark.parametrize(("n_rows", "seed"), [(2_000, 0), (20_000, 1), (150_000, 2)])
def test_exactly_the_planted_pairs_are_mined_from_large_tables(n_rows: int, seed: int) -> None:
    assert_pairs_are_the_planted_ones(load_dataset("planted", n_rows=n_rows, split_seed=seed, frame="pyarrow"))


@settings(max_examples=10)
@given(st.integers(8, 200), st.integers(0, 1000))
def test_the_planted_pairs_are_those_of_the_definition(n_rows: int, seed: int) -> None:
    dataset = load_dataset("planted", n_rows=n_rows, split_seed=seed, frame="pyarrow")
    table = dataset.roles.learn(dataset.train.X).encode(dataset.train.X, dataset.train.y)
    left, right = np.triu_indices(len(table), 1)
    comparable = dataset.rule.holds(table[left], table[right])
    np.testing.assert_array_equal(left[comparable], dataset.train.pairs.left)
    np.testing.assert_array_equal(right[comparable], dataset.train.pairs.right)


@pytest.mark.parametrize("seed", range(3))
def test_nobody_in_one_split_is_comparable_to_anybody_in_the_other(seed: int) -> None:
    dataset = load_dataset("planted", n_rows=5_000, split_seed=seed)
    schema = dataset.roles.learn(dataset.train.X)
    train, test = (schema.encode(split.X, split.y) for split in (dataset.train, dataset.test))
    assert len(mine_pairs(train, test, dataset.rule)) == 0


def test_some_people_have_comparable_people_of_their_own_group_and_of_others() -> None:
    dataset = load_dataset("planted")
    found = audit(dataset.scores, dataset.test.X, dataset.test.y, roles=dataset.roles, rule=dataset.rule)
    excess = found["excess"]
    assert excess.low is not None
    assert excess.value is not None
    assert 0 < excess.low < excess.value < dataset.gap


@pytest.mark.parametrize("gap", [None, 0.0, 0.25, 1.0])
def test_the_gap_between_comparable_people_is_the_planted_one(gap: float | None) -> None:
    dataset = load_dataset("planted", n_rows=4_000)
    expected = dataset.gap if gap is None else gap
    for split in (dataset.train, dataset.test):
        scores = dataset.scores(split.X, gap=gap)
        assert scores.min() >= 0
        assert scores.max() <= 1
        harmed = (split.X["group"] == "green").to_numpy()
        left, right = split.pairs.left, split.pairs.right
        unfair = harmed[left] != harmed[right]
        assert unfair.any()
        assert not unfair.all()
        towards_others = np.where(harmed[left], scores[right] - scores[left], scores[left] - scores[right])
        np.testing.assert_allclose(towards_others[unfair], expected, atol=1e-12)
        np.testing.assert_allclose(scores[left][~unfair], scores[right][~unfair], atol=1e-12)


def test_a_logistic_regression_learns_the_label_and_the_history() -> None:
    dataset = load_dataset("planted", n_rows=20_000)
    assert 0.35 < dataset.train.y.mean() < 0.45
    coding = make_column_transformer(
        (OneHotEncoder(), [*dataset.roles.sensitive, *dataset.roles.discrete]),
        (MinMaxScaler(), list(dataset.roles.continuous)),
    )
    model = make_pipeline(coding, LogisticRegression(max_iter=2_000)).fit(dataset.train.X, dataset.train.y)
    scores = model.predict_proba(dataset.test.X)[:, 1]
    assert roc_auc_score(dataset.test.y, scores) > 0.8
    harmed = (dataset.test.X["group"] == "green").to_numpy()
    left, right = dataset.test.pairs.left, dataset.test.pairs.right
    unfair, gaps = harmed[left] != harmed[right], np.abs(scores[left] - scores[right])
    assert gaps[unfair].mean() > 3 * gaps[~unfair].mean()


def test_the_seed_and_the_size_decide_the_rows() -> None:
    first = load_dataset("planted", n_rows=100, split_seed=1)
    again = load_dataset("planted", n_rows=100, split_seed=1, frame="pyarrow")
    assert pa.Table.from_pandas(first.train.X, preserve_index=False).to_pylist() == again.train.X.to_pylist()
    assert first.checksum == again.checksum
    assert first.checksum != load_dataset("planted", n_rows=100, split_seed=2).checksum


@pytest.mark.parametrize("n_rows", [0, 7, 2_000_001])
def test_a_table_too_small_or_too_large_is_refused(n_rows: int) -> None:
    with pytest.raises(ValueError, match="can have 8 to 2,000,000 rows"):
        load_dataset("planted", n_rows=n_rows)


def test_people_the_score_does_not_know_are_refused() -> None:
    dataset = load_dataset("planted", n_rows=100)
    people = dataset.test.X
    for bad, complaint in [
        (people.drop(columns="age"), r"lacks \['age'\]"),
        (people.assign(group="teal"), "Column 'group' holds 'teal'"),
        (people.assign(income="much"), "Column 'income' holds values that are not numbers"),
        (people.assign(income=float("nan")), "Column 'income' holds values that are not numbers"),
        (people.assign(group=None), "Column 'group' holds a missing value; known values are amber, blue, green"),
        (people.iloc[:, [0, *range(people.shape[1])]], r"duplicate column names\. Give each column"),
        ([1, 2], "X is a list"),
    ]:
        with pytest.raises(SchemaError, match=complaint):
            dataset.scores(bad)
    with pytest.raises(ValueError, match="gap is 2; use a number from 0 to 1"):
        dataset.scores(people, gap=2)
