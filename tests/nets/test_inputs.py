"""Network inputs: encoding of frames, inferred roles, and rows on a device."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from tests.sizes import sized

from likewise import Roles
from likewise.nets._internal import DeviceInputs, InputCoding, guess_roles

PEOPLE = {
    "age": [20, 30, 60, 40],
    "job": ["cook", "smith", "cook", "judge"],
    "grade": ["low", "high", "middle", "low"],
    "sex": ["f", "m", "f", "m"],
    "hired": [0, 1, 1, 0],
}
ROLES = Roles(
    sensitive="sex", discrete="job", continuous="age", ordinal={"grade": ("low", "middle", "high")}, label="hired"
)


def test_numbers_are_scaled_and_categories_indicated_as_scikit_learn_does() -> None:
    frame = pd.DataFrame(PEOPLE)
    for scaling, scaler in {"range": MinMaxScaler(), "deviation": StandardScaler()}.items():
        coding = InputCoding.learn(
            frame, Roles(discrete=["job", "sex"], continuous="age", ignored=["grade", "hired"]), scaling
        )
        expected = np.hstack(
            [scaler.fit_transform(frame[["age"]]), OneHotEncoder().fit_transform(frame[["job", "sex"]]).toarray()]
        )
        np.testing.assert_allclose(coding.encode(frame).dense(), expected, atol=1e-6)
        assert coding.names == ("age", "job=cook", "job=judge", "job=smith", "sex=f", "sex=m")


def test_numbers_stay_as_they_are_without_scaling() -> None:
    coding = InputCoding.learn(pa.table(PEOPLE), ROLES, "none")
    assert coding.encode(pa.table(PEOPLE)).numbers.tolist() == [[20, 0], [30, 2], [60, 1], [40, 0]]


def test_ranks_are_numbers_and_the_label_is_no_input() -> None:
    coding = InputCoding.learn(pa.table(PEOPLE), ROLES)
    assert coding.names[:2] == ("age", "grade")
    assert not [name for name in coding.names if name.startswith("hired")]
    assert coding.encode(pa.table(PEOPLE)).numbers[:, 1].tolist() == [0.0, 1.0, 0.5, 0.0]


def test_a_column_knows_its_inputs() -> None:
    coding = InputCoding.learn(pa.table(PEOPLE), ROLES)
    named = {column: [coding.names[at] for at in coding.positions(column)] for column in ("sex", "age", "job")}
    assert named == {"sex": ["sex=f", "sex=m"], "age": ["age"], "job": ["job=cook", "job=judge", "job=smith"]}


def test_a_category_that_training_did_not_have_turns_no_indicator_on() -> None:
    coding = InputCoding.learn(pa.table({"job": ["cook", "smith"]}))
    assert coding.encode(pa.table({"job": ["judge", "cook"]})).dense().tolist() == [[0, 0], [1, 0]]


def test_a_missing_number_held_apart_has_an_indicator_of_its_own() -> None:
    roles = Roles(continuous=["age", "height"], missing={"age": "apart"})
    frame = pa.table({"age": [20.0, None, 40.0], "height": [1.5, 1.7, 1.6]})
    coding = InputCoding.learn(frame, roles, "deviation")
    assert coding.names == ("age", "height", "age missing")
    dense = coding.encode(frame).dense()
    assert dense[:, 0].tolist() == [-1.0, 0.0, 1.0]
    assert dense[:, 2].tolist() == [0.0, 1.0, 0.0]
    assert coding.positions("age").tolist() == [0, 2]


def test_a_column_may_have_the_name_of_an_indicator() -> None:
    frame = pa.table({"age": [20.0, None, 40.0], "age missing": ["no", "yes", "no"]})
    coding = InputCoding.learn(frame, Roles(continuous="age", discrete="age missing", missing={"age": "apart"}))
    assert coding.encode(frame).dense()[:, 1:].tolist() == [[1, 0, 0], [0, 1, 1], [1, 0, 0]]
    assert coding.positions("age").tolist() == [0, 3]
    assert coding.positions("age missing").tolist() == [1, 2]


def test_a_binned_sensitive_column_is_a_number_to_the_network() -> None:
    coding = InputCoding.learn(
        pa.table(PEOPLE), Roles(sensitive="age", bins={"age": 2}, ignored=["job", "grade", "sex", "hired"])
    )
    assert coding.encode(pa.table(PEOPLE)).dense().ravel().tolist() == [0.0, 0.25, 1.0, 0.5]


def test_a_binned_column_may_have_missing_values() -> None:
    frame = pa.table({"age": [20.0, None, 60.0]})
    coding = InputCoding.learn(frame, Roles(sensitive="age", bins={"age": 2}))
    assert coding.encode(frame).dense().tolist() == [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_same_people_are_the_same_inputs_in_every_library(make: Any) -> None:
    expected = InputCoding.learn(pa.table(PEOPLE), ROLES).encode(pa.table(PEOPLE)).dense()
    np.testing.assert_array_equal(InputCoding.learn(make(PEOPLE), ROLES).encode(make(PEOPLE)).dense(), expected)


def test_a_coding_comes_back_from_json() -> None:
    coding = InputCoding.learn(pa.table(PEOPLE), ROLES, "deviation")
    again = InputCoding.from_dict(json.loads(json.dumps(coding.to_dict())))
    np.testing.assert_array_equal(again.encode(pa.table(PEOPLE)).dense(), coding.encode(pa.table(PEOPLE)).dense())


@settings(max_examples=sized(6, 25))
@given(st.data())
def test_rows_on_a_device_are_the_rows_written_out(data: st.DataObject) -> None:
    import torch

    n = data.draw(st.integers(1, 12))
    texts = st.lists(st.sampled_from("abcd"), min_size=n, max_size=n)
    numbers = st.lists(st.floats(-5, 5), min_size=n, max_size=n)
    frame = pa.table({"one": data.draw(texts), "two": data.draw(texts), "x": data.draw(numbers)})
    other = pa.table({"one": data.draw(texts), "two": data.draw(texts), "x": data.draw(numbers)})
    coding = InputCoding.learn(frame, Roles(discrete=["one", "two"], continuous="x"))
    inputs = coding.encode(other)
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=5)), np.int64)
    dense = DeviceInputs(inputs, torch.device("cpu")).dense(torch.from_numpy(rows))
    np.testing.assert_array_equal(dense.numpy(), inputs.dense()[rows])


def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "rank": np.arange(30)[::-1],
            "wage": np.linspace(1, 2, 30),
            "job": ["cook", "smith", "tailor"] * 10,
            "name": [f"person {i}" for i in range(30)],
            "empty": [np.nan] * 30,
            "id": np.arange(30) + 2**60,
        }
    )


def test_numbers_that_count_the_rows_are_learned_from() -> None:
    roles = guess_roles(people())
    assert set(roles.continuous) == {"rank", "wage"}
    assert roles.discrete == ("job",)
    assert set(roles.ignored) == {"name", "empty", "id"}


def test_what_is_given_stays() -> None:
    roles = guess_roles(people(), sensitive="job", ignored=["rank", "gone"])
    assert roles.sensitive == ("job",)
    assert roles.continuous == ("wage",)
    assert set(roles.ignored) == {"rank", "gone", "name", "empty", "id"}
