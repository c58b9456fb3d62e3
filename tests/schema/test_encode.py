"""Coding says the same of every kind of frame, and refuses in plain words what it cannot say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from likewise import Comparability
from likewise.exceptions import SchemaError
from likewise.schema import Roles

PEOPLE: dict[str, list[Any]] = {
    "id": ["p", "q", "r", "s"],
    "sex": ["m", "f", "m", None],
    "job": ["smith", "cook", None, "cook"],
    "age": [20, 40, 60, 30],
    "size": ["L", "S", "M", "S"],
    "town": [3, 1, 1, 3],
    "hired": ["yes", "no", "yes", "no"],
}
ROLES = Roles(
    sensitive="sex",
    discrete="job",
    continuous="age",
    ordinal={"size": ["S", "M", "L"]},
    matched="town",
    label="hired",
    row_id="id",
)


def test_every_kind_of_column_is_coded(make: Callable[..., Any]) -> None:
    schema = ROLES.learn(make(PEOPLE))
    table = schema.encode(make(PEOPLE))
    assert schema.categories == {
        "sex": ("f", "m", None),
        "job": ("cook", "smith", None),
        "size": ("S", "M", "L"),
        "town": (1, 3),
    }
    assert schema.ranges == {"age": (20.0, 60.0)}
    assert table.sensitive.ravel().tolist() == [1, 0, 1, 2]
    assert table.discrete.ravel().tolist() == [1, 0, 2, 0]
    assert table.ordinal.ravel().tolist() == [2, 0, 1, 0]
    assert table.matched.ravel().tolist() == [1, 0, 0, 1]
    assert table.continuous.ravel().tolist() == [0.0, 0.5, 1.0, 0.25]
    assert table.labels.tolist() == [1, 0, 1, 0]
    assert table.classes.tolist() == ["no", "yes"]
    assert table.row_ids.tolist() == ["p", "q", "r", "s"]
    assert table.names["discrete"] == ("job",)


def test_categories_are_the_schemas_own_when_none_is_new(make: Callable[..., Any]) -> None:
    schema = ROLES.learn(make(PEOPLE))
    table = schema.encode(make(PEOPLE))
    assert all(table.categories[name] is schema.categories[name] for name in ("sex", "job", "size", "town"))


def test_order_and_extra_columns_do_not_matter(make: Callable[..., Any]) -> None:
    schema = ROLES.learn(make(PEOPLE))
    turned = {"extra": [[1], [2], [3], [4]]} | dict(reversed(PEOPLE.items()))
    table, expected = schema.encode(make(turned)), schema.encode(make(PEOPLE))
    assert np.array_equal(table.discrete, expected.discrete)
    assert np.array_equal(table.labels, expected.labels)


def test_frames_of_different_libraries_agree() -> None:
    tables = [ROLES.learn(make(PEOPLE)).encode(pa.table(PEOPLE)) for make in (pd.DataFrame, pl.DataFrame, pa.table)]
    for table in tables[1:]:
        assert table.categories == tables[0].categories
        assert np.array_equal(table.continuous, tables[0].continuous)


def test_unseen_categories_come_after_the_learned_ones_in_sorted_order(make: Callable[..., Any]) -> None:
    schema = Roles(discrete="job").learn(make({"job": ["smith", "cook"]}))
    table = schema.encode(make({"job": ["weaver", "judge", None, "cook"]}), [0] * 4)
    assert table.categories["job"] == ("cook", "smith", "judge", "weaver", None)
    assert table.discrete.ravel().tolist() == [3, 2, 4, 0]
    assert schema.categories["job"] == ("cook", "smith")


def test_unseen_categories_are_comparable_across_tables(make: Callable[..., Any]) -> None:
    schema = Roles(discrete="job").learn(make({"job": ["cook"]}))
    left = schema.encode(make({"job": ["weaver", "judge"]}), [0, 0])
    right = schema.encode(make({"job": ["weaver", "weaver"]}), [0, 0])
    rule = Comparability(max_discrete_changes=0, sensitive_differs="none")
    assert rule.holds(left, right).tolist() == [True, False]


def test_unseen_categories_can_be_refused(make: Callable[..., Any]) -> None:
    schema = Roles(discrete="job").learn(make({"job": ["cook"]}))
    with pytest.raises(SchemaError, match=r"Column 'job' has categories not seen in training: 'judge', missing\."):
        schema.encode(make({"job": ["judge", None]}), [0, 0], unseen="error")


def test_a_value_without_rank_is_always_refused(make: Callable[..., Any]) -> None:
    schema = Roles(ordinal={"size": ["S", "M"]}).learn(make({"size": ["S", "M"]}))
    with pytest.raises(
        SchemaError, match=r"Ordinal column 'size' holds 'XL', which its order \['S', 'M'\] does not rank"
    ):
        schema.encode(make({"size": ["XL"]}), [0])


def test_whole_numbers_stay_themselves_when_pandas_made_them_floats() -> None:
    schema = Roles(discrete="town").learn(pd.DataFrame({"town": [1, 2]}))
    table = schema.encode(pd.DataFrame({"town": [2.0, None, 1.0]}), [0] * 3)
    assert table.discrete.ravel().tolist() == [1, 2, 0]


def test_values_outside_the_range_lie_outside_0_1(make: Callable[..., Any]) -> None:
    schema = Roles(continuous="age").learn(make({"age": [20, 40]}))
    assert schema.encode(make({"age": [10, 60]}), [0, 0]).continuous.ravel().tolist() == [-0.5, 2.0]


def test_a_constant_column_is_shifted_and_not_scaled(make: Callable[..., Any]) -> None:
    schema = Roles(continuous="age", discrete="job").learn(make({"age": [20, 20], "job": ["cook", "cook"]}))
    table = schema.encode(make({"age": [20, 23], "job": ["cook", "cook"]}), [0, 0])
    assert table.continuous.ravel().tolist() == [0.0, 3.0]
    assert table.discrete.ravel().tolist() == [0, 0]


def test_one_row_and_one_class_are_enough(make: Callable[..., Any]) -> None:
    schema = Roles(sensitive="sex", continuous="age").learn(make({"sex": ["f"], "age": [3.5]}), ["yes"])
    assert schema.encode(make({"sex": ["f"], "age": [3.5]}), ["yes"]).classes.tolist() == ["yes"]


def test_an_empty_frame_becomes_an_empty_table(make: Callable[..., Any]) -> None:
    schema = ROLES.learn(make(PEOPLE))
    for empty in (make(PEOPLE)[:0], make({name: [] for name in PEOPLE})):
        assert len(schema.encode(empty)) == 0


def test_times_are_compared_like_numbers(make: Callable[..., Any]) -> None:
    days = [date(2020, 1, 1), date(2020, 1, 3), date(2020, 1, 2)]
    hours = [datetime(2020, 1, 1, hour, tzinfo=UTC) for hour in (0, 10, 5)]
    frame = make({"day": days, "hour": hours})
    table = Roles(continuous=["day", "hour"]).learn(frame).encode(frame, [0] * 3)
    assert table.continuous.tolist() == [[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]


def test_missing_values_by_policy(make: Callable[..., Any]) -> None:
    frame = make({"age": [10.0, 20.0, 50.0, None], "size": ["S", "M", "M", None]})
    order = {"size": ["S", "M", "L"]}
    median = Roles(continuous="age", ordinal=order, missing="median").learn(frame).encode(frame, [0] * 4)
    assert median.continuous.ravel().tolist() == [0.0, 0.25, 1.0, 0.25]
    assert median.ordinal.ravel().tolist() == [0, 1, 1, 1]
    apart = Roles(continuous="age", ordinal=order, missing="apart").learn(frame).encode(frame, [0] * 4)
    assert apart.continuous[3, 0] == -1e9
    assert apart.ordinal[3, 0] == -1_000_000
    rule = Comparability(max_continuous_shift=1, max_ordinal_shift=100, sensitive_differs="none")
    assert rule.holds(apart[[0, 3, 3]], apart[[1, 3, 0]]).tolist() == [True, True, False]
    far_out = Roles(continuous="age", ignored="size", missing="apart").learn(frame)
    far = far_out.encode(make({"age": [10.0 - 4e10], "size": ["S"]}), [0])
    assert far.continuous[0, 0] == np.nextafter(-1e9, 0)  # so far out, but not missing
    both = {"age": "apart", "size": "median"}
    mixed = Roles(continuous="age", ordinal=order, missing=both).learn(frame).encode(frame, [0] * 4)  # type: ignore[arg-type]
    assert (mixed.continuous[3, 0], mixed.ordinal[3, 0]) == (-1e9, 1)


def test_the_training_median_fills_other_frames(make: Callable[..., Any]) -> None:
    schema = Roles(continuous="age", missing="median").learn(make({"age": [0, 10, 40]}))
    assert schema.encode(make({"age": [40.0, None]}), [0, 0]).continuous.ravel().tolist() == [1.0, 0.25]


def test_nan_is_missing() -> None:
    for frame in (pl.DataFrame({"x": [1.5, float("nan")]}), pa.table({"x": [1.5, float("nan")]})):
        with pytest.raises(SchemaError, match=r"Continuous column 'x' has 1 missing value\."):
            Roles(continuous="x").learn(frame)
        assert Roles(discrete="x").learn(frame).categories == {"x": (1.5, None)}


def test_sensitive_numbers_are_binned_on_request(make: Callable[..., Any]) -> None:
    frame = make({"age": [20, 25, 30, 45, 64, 65, 80, None]})
    cut = Roles(sensitive="age", bins={"age": [25, 45, 65.5]}).learn(frame)
    assert cut.categories["age"] == ("under 25", "25 to under 45", "45 to under 65.5", "65.5 or more", None)
    assert cut.encode(frame, [0] * 8).sensitive.ravel().tolist() == [0, 1, 1, 2, 2, 2, 3, 4]
    counted = Roles(sensitive="age", bins={"age": 2}).learn(make({"age": [1, 2, 3, 4]}))
    table = counted.encode(make({"age": [1, 2, 3, 4, -5, 99]}), [0] * 6)
    assert table.sensitive.ravel().tolist() == [0, 0, 1, 1, 0, 1]
    assert counted.categories["age"] == ("under 3", "3 or more")
    assert counted.encode(make({"age": [1.0, None]}), [0, 0]).categories["age"] == ("under 3", "3 or more", None)


def test_a_constant_has_one_bin(make: Callable[..., Any]) -> None:
    assert Roles(sensitive="x", bins={"x": 3}).learn(make({"x": [5, 5]})).categories["x"] == ("any number",)


@pytest.mark.long(3)
def test_many_different_categories_work(make: Callable[..., Any]) -> None:
    names = [f"name {i}" for i in range(50_000)]
    schema = Roles(discrete="name").learn(make({"name": names}))
    codes = schema.encode(make({"name": names[::-1]}), [0] * len(names)).discrete.ravel()
    assert [schema.categories["name"][code] for code in codes[:3]] == names[:-4:-1]
    assert len(np.unique(codes)) == len(names)


def test_categorical_columns_count_only_what_occurs() -> None:
    values = pd.Categorical(["b", None, "c"], categories=["c", "b", "a"])
    schema = Roles(discrete="x").learn(pd.DataFrame({"x": values}))
    assert schema.categories["x"] == ("b", "c", None)
    assert schema.encode(pl.DataFrame({"x": ["c", "b"]}), [0, 0]).discrete.ravel().tolist() == [1, 0]


def test_chunks_of_an_arrow_table_are_one_column() -> None:
    parts = [pa.table({"x": pa.array(values).dictionary_encode()}) for values in (["b", "a"], ["c", "b"])]
    frame = pa.concat_tables(parts)
    assert Roles(discrete="x").learn(frame).encode(frame, [0] * 4).discrete.ravel().tolist() == [1, 0, 2, 1]


def test_the_frame_is_left_as_it_was() -> None:
    frame = pd.DataFrame({"x": [1.0, np.nan, 3.0], "c": ["a", None, "b"]})
    before = frame.copy()
    table = Roles(continuous="x", discrete="c", missing="apart").learn(frame).encode(frame, [0, 1, 0])
    table.continuous[:] = 7.0
    pd.testing.assert_frame_equal(frame, before)
