"""Made rows in frames of the user's own library, columns and types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from likewise import CodedTable, Roles
from likewise.exceptions import SchemaError
from likewise.schema._internal import BinValues, open_frame, overwrite_columns, stack_frames

KINDS: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
}
PEOPLE = pa.table(
    {
        "id": [7, 8, 9],
        "sex": pa.array(["f", "m", "f"]).dictionary_encode(),
        "age": pa.array([20, 30, 40], pa.int16()),
        "note": pa.array([["a"], ["b"], ["c"]]),
    }
)


def values(frame: Any, name: str) -> list[Any]:
    opened = open_frame(frame)
    return opened.cells(name, np.arange(len(opened)))


@pytest.fixture(params=list(KINDS))
def people(request: pytest.FixtureRequest) -> Any:
    return KINDS[request.param](PEOPLE)


def test_only_what_changed_is_replaced(people: Any) -> None:
    made = pa.table({"sex": ["m", "m"], "age": [21, 99]})
    changed = {"sex": np.array([True, False]), "age": np.array([True, False])}
    new = overwrite_columns(people, np.array([0, 2]), made, changed)
    assert type(new) is type(people)
    assert open_frame(new).names == PEOPLE.column_names
    assert values(new, "id") == [7, 9]
    assert values(new, "sex") == ["m", "f"]
    assert values(new, "age") == [21, 40]
    assert [open_frame(new).column(name).dtype for name in ("sex", "age")] == [
        open_frame(people).column(name).dtype for name in ("sex", "age")
    ]


def test_a_row_may_come_often_or_never(people: Any) -> None:
    new = overwrite_columns(people, np.array([2, 2, 2]), pa.table({"age": [1, 2, 3]}))
    assert values(new, "id") == [9, 9, 9]
    assert values(new, "age") == [1, 2, 3]
    assert len(open_frame(overwrite_columns(people, np.array([], np.int64), pa.table({"age": []})))) == 0


def test_a_column_the_frame_lacks_is_left_out(people: Any) -> None:
    new = overwrite_columns(people, np.array([0]), pa.table({"hired": [1]}))
    assert open_frame(new).names == PEOPLE.column_names


def test_what_the_type_cannot_hold_widens_it(people: Any) -> None:
    new = overwrite_columns(people, np.array([0, 1]), pa.table({"age": [20.5, 1e6]}))
    assert values(new, "age") == [20.5, 1e6]


def test_the_index_of_pandas_plays_no_part() -> None:
    frame = PEOPLE.drop_columns("note").to_pandas().set_index(pd.Index([5, 5, 1]))
    new = overwrite_columns(frame, np.array([1, 0]), pa.table({"age": [1, 2]}))
    assert new.index.tolist() == [0, 1]
    assert new["id"].tolist() == [8, 7]
    assert new["age"].tolist() == [1, 2]


def test_frames_are_stacked_in_the_order_of_the_first(people: Any) -> None:
    lower = open_frame(people).select(["note", "age", "sex", "id"])
    stacked = stack_frames(people, lower)
    assert open_frame(stacked).names == PEOPLE.column_names
    assert values(stacked, "age") == [20, 30, 40] * 2
    assert values(stacked, "sex") == ["f", "m", "f"] * 2


def test_types_that_differ_meet_in_one() -> None:
    one = pd.DataFrame({"c": pd.Categorical(["a"]), "n": [1], "t": ["x"]})
    other = pd.DataFrame({"c": pd.Categorical(["b"]), "n": [1.5], "t": ["y"]})
    stacked = stack_frames(one, other)
    assert stacked["c"].tolist() == ["a", "b"]
    assert isinstance(stacked["c"].dtype, pd.CategoricalDtype)
    assert stacked["n"].tolist() == [1, 1.5]
    enums = [pl.DataFrame({"c": pl.Series([v], dtype=pl.Enum([v]))}) for v in ("a", "b")]
    assert stack_frames(*enums)["c"].to_list() == ["a", "b"]
    narrow = [pa.table({"n": pa.array([1], pa.int8())}), pa.table({"n": pa.array([300], pa.int64())})]
    assert stack_frames(*narrow).column("n").to_pylist() == [1, 300]
    assert stack_frames(*reversed(narrow)).column("n").to_pylist() == [300, 1]


def test_frames_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SchemaError, match="Use two frames of one kind with the same columns"):
        stack_frames(pa.table({"a": [1]}), pa.table({"b": [1]}))
    with pytest.raises(SchemaError, match="Use two frames of one kind with the same columns"):
        stack_frames(pa.table({"a": [1]}), pd.DataFrame({"a": [1]}))


def test_numbers_of_groups_are_those_that_occurred() -> None:
    people = pd.DataFrame({"age": [20, 30, 60, None], "sex": ["f", "m", "f", "m"]})
    schema = Roles(sensitive=["sex", "age"], bins={"age": (40, 90)}).learn(people)
    bins = BinValues.learn(people, schema)
    assert [group.tolist() for group in bins.by_column["age"]] == [[20, 30], [60], [], []]
    table = CodedTable(sensitive=[[0, 0], [0, 1], [1, 2], [1, 3]] * 50, names={"sensitive": ("sex", "age")})
    made = schema.decode(table, kind="pyarrow")
    ages = bins.put_into(made, table, np.random.default_rng(0)).column("age").to_pylist()
    assert set(ages[0::4]) == {20, 30}
    assert set(ages[1::4]) == {60}
    assert set(ages[2::4]) == set(ages[3::4]) == {None}  # of 90 or more there was nobody, and missing is missing


@pytest.mark.parametrize(
    ("times", "step"),
    [
        (["2024-01-01", "2024-03-05", "2024-04-09"], "D"),
        (["2024-01-01 05:00", "2024-03-05 05:00", "2024-04-09 05:00"], "D"),
        (["2024-01-01 05:00", "2024-03-05 07:30", "2024-04-09 11:45"], "min"),
        (["2024-01-01 05:00:01", "2024-03-05 07:30:00", "2024-04-09 11:45:59"], "s"),
    ],
)
def test_made_times_are_as_coarse_as_those_of_training(times: list[str], step: str) -> None:
    people = pd.DataFrame({"at": pd.to_datetime(times)})
    schema = Roles(continuous="at").learn(people)
    made = CodedTable(continuous=np.random.default_rng(0).random((50, 1)), names={"continuous": ("at",)})
    found = schema.decode(schema.snap(made))["at"] - pd.Timestamp(times[0])
    assert (found == found.dt.floor(step)).all()
    assert found.nunique() > 20


@pytest.mark.parametrize("dtype", ["int64", "float16", "float32", "float64"])
def test_what_was_snapped_comes_back_from_a_frame_as_it_was(dtype: str) -> None:
    random = np.random.default_rng(0)
    people = pd.DataFrame({"c": random.uniform(-50, 50, 30).astype(dtype)})
    schema = Roles(continuous="c").learn(people)
    made = CodedTable(continuous=random.uniform(-0.5, 1.5, (200, 1)), names={"continuous": ("c",)})
    snapped = schema.snap(made)
    again = schema.encode(schema.decode(snapped, rounded=True), np.zeros(200, int))
    assert np.allclose(snapped.continuous, again.continuous, rtol=0, atol=1e-12)
