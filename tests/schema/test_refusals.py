"""Every bad table gets one clear sentence, from likewise and from nobody else."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from likewise.exceptions import SchemaError
from likewise.schema import CodedTable, Roles

INF = float("inf")


@pytest.mark.parametrize(
    ("roles", "data", "message"),
    [
        (
            Roles(continuous="age"),
            {"age": [1.0, None, None]},
            r"^Continuous column 'age' has 2 missing values\. Fill them in, or set "
            r"missing=\{'age': 'median'\} \(the training median\) or 'apart' \(comparable with missing only\)\.$",
        ),
        (Roles(ordinal={"s": ["S", "M"]}), {"s": ["S", None]}, r"Ordinal column 's' has 1 missing value\."),
        (Roles(ordinal={"s": ["S"]}), {"s": ["S", "M"]}, r"'s' holds 'M', which its order \['S'\] does not rank"),
        (Roles(continuous="x", missing="median"), {"x": [None, None]}, "Continuous column 'x' has no values"),
        (Roles(ordinal={"s": ["S"]}, missing="apart"), {"s": [None]}, "Ordinal column 's' has no values"),
        (
            Roles(continuous="x"),
            {"x": [1.0, INF, -INF]},
            r"Column 'x' has 2 infinite values\. Replace them by finite or missing",
        ),
        (Roles(discrete="x"), {"x": [1.0, INF, INF, -INF]}, "Column 'x' has 3 infinite values"),
        (Roles(continuous="x"), {"x": ["1", "2"]}, "Continuous column 'x' holds text, such as '1', '2'"),
        (Roles(continuous="x"), {"x": [True, False]}, "Continuous column 'x' holds booleans"),
        (Roles(continuous="x"), {"x": [2**60, 1]}, r"'x' holds integers beyond 2\*\*53"),
        (Roles(continuous="x"), {"x": [-1e308, 1e308]}, "too wide for float64"),
        (Roles(sensitive="x", bins={"x": 2}), {"x": ["a", "b"]}, "'x' holds text; only numbers can be cut"),
        (Roles(sensitive="x", bins={"x": 2}), {"x": [None, None]}, "no values to cut into bins"),
        (
            Roles(sensitive="x"),
            {"x": [i / 7 for i in range(30)]},
            r"Sensitive column 'x' has 30 distinct fractional numbers, .* bins=\{'x': 4\}",
        ),
        (Roles(discrete="x"), {"x": []}, "The frame has no rows"),
        (Roles(discrete="race"), {"rcae": ["a"]}, r"no column 'race', which is discrete\. Did you mean 'rcae'\?"),
        (Roles(discrete="x"), {"x": [1], "y": [2], "z": [3]}, r"no role: 'y', 'z'\. .* use Roles\.infer\("),
        (Roles(discrete="x", label="income"), {"x": [1], "incme": [2]}, "have no role: 'incme'.*Did you mean 'incme'"),
        (Roles(discrete="x"), {"x": [[1], [2]]}, "Column 'x' holds .* values, which cannot be compared"),
        (Roles(discrete="x"), {"x": [b"a", b"b"]}, "Column 'x' holds .* values, which cannot be compared"),
        (Roles(discrete="x"), {"x": [timedelta(1)]}, "Column 'x' holds .* values, which cannot be compared"),
    ],
)
def test_learning_refuses(make: Callable[..., Any], roles: Roles, data: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        roles.learn(make(data))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, None], r"Continuous column 'x' has 1 missing value\."),
        ([1.0, INF], r"Column 'x' has 1 infinite value\."),
        (["a", "b"], "Column 'x' holds text here and held numbers in training"),
        ([[1], [2]], "cannot be compared"),
    ],
)
def test_coding_refuses(make: Callable[..., Any], column: list[Any], message: str) -> None:
    schema = Roles(continuous="x").learn(make({"x": [1.5, 2.5]}))
    with pytest.raises(SchemaError, match=message):
        schema.encode(make({"x": column}), [0, 0])


def test_coding_names_the_column_that_is_not_there(make: Callable[..., Any]) -> None:
    schema = Roles(discrete="race").learn(make({"race": ["a"]}))
    with pytest.raises(SchemaError, match=r"no column 'race', which is discrete\. Did you mean 'races'\?"):
        schema.encode(make({"races": ["a"]}), [0])


def test_text_is_no_number_in_a_discrete_column_either(make: Callable[..., Any]) -> None:
    schema = Roles(discrete="zip").learn(make({"zip": [1011, 1012]}))
    with pytest.raises(SchemaError, match="Column 'zip' holds text here and held numbers in training"):
        schema.encode(make({"zip": ["1011"]}), [0])


def test_a_column_of_two_types_is_refused() -> None:
    frame = pd.DataFrame({"x": pd.Series([1, "a"], dtype=object)})
    for refuse in (Roles(discrete="x").learn, Roles.infer):
        with pytest.raises(
            SchemaError, match=r"Column 'x' mixes int and str values, .* Give the column one plain type"
        ):
            refuse(frame)
    with pytest.raises(SchemaError, match="Column 'x' mixes bool and int values"):
        Roles(discrete="x").learn(pd.DataFrame({"x": pd.Series([True, 2], dtype=object)}))
    with pytest.raises(SchemaError, match="Column 'x' holds"):
        Roles(discrete="x").learn(pl.DataFrame({"x": pl.Series([1, "a"], dtype=pl.Object)}))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([["a", 1, 2]], columns=["race", "x", "x"]),
        pd.DataFrame([["a", 1, 2]], columns=["collect", "x", "x"]),
        pa.table([pa.array(["a"]), pa.array([1]), pa.array([2])], names=["race", "x", "x"]),
    ],
)
def test_a_name_stands_for_one_column(frame: Any) -> None:
    for refuse in (Roles(discrete="race").learn, Roles.infer):
        with pytest.raises(
            SchemaError, match=r"^The frame has several columns named 'x'\. Give each column its own name\.$"
        ):
            refuse(frame)


def test_names_are_text() -> None:
    with pytest.raises(SchemaError, match="Column names must be text; found 0, 1"):
        Roles.infer(pd.DataFrame({0: [1], 1: [2]}))
    with pytest.raises(SchemaError, match=r"Column names must be text; found \('a', 'b'\)"):
        Roles.infer(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))


def test_no_column_is_nameless(make: Callable[..., Any]) -> None:
    with pytest.raises(SchemaError, match=r"^The frame has a column without a name\. Name it, or drop it\.$"):
        Roles.infer(make({"": [0, 1, 2], "x": ["a", "b", "a"]}))


@pytest.mark.parametrize("name", ["column_names", "columns", "collect", "execute", 'it\'s "so"'])
def test_a_column_may_have_any_name(make: Callable[..., Any], name: str) -> None:
    frame = make({name: ["a", "a", "b"]})
    assert Roles.infer(frame).discrete == (name,)
    assert Roles(discrete=name).learn(frame).categories == {name: ("a", "b")}


@pytest.mark.parametrize("frame", [{"x": [1]}, [[1]], np.zeros((2, 2)), None, "table", pd.Series([1])])
def test_what_is_no_table_is_refused(frame: Any) -> None:
    with pytest.raises(TypeError, match=r"is not a table in memory\. Pass a pandas, polars or pyarrow table"):
        Roles.infer(frame)


def test_a_lazy_frame_has_to_be_collected() -> None:
    with pytest.raises(TypeError, match=r"A polars LazyFrame is not a table in memory\. Collect it first"):
        Roles.infer(pl.LazyFrame({"x": [1]}))


def test_times_finer_than_a_microsecond_are_refused() -> None:
    frame = pa.table({"t": pa.array([1, 2001], pa.timestamp("ns"))})
    with pytest.raises(SchemaError, match="Column 't' has times finer than a microsecond"):
        Roles(continuous="t").learn(frame)


def test_dates_and_times_and_zones_are_not_mixed(make: Callable[..., Any]) -> None:
    day, noon = [date(2020, 1, 1), date(2021, 1, 1)], [datetime(2020, 1, 1), datetime(2021, 1, 1)]
    zoned = [moment.replace(tzinfo=UTC) for moment in noon]
    kinds = {"dates": day, "times": noon, "times with a zone": zoned}
    for roles in (Roles(continuous="t"), Roles(discrete="t")):
        for then, now in itertools.permutations(kinds, 2):
            schema = roles.learn(make({"t": kinds[then]}))
            with pytest.raises(SchemaError, match=f"Column 't' holds {now} here and held {then} in training"):
                schema.encode(make({"t": kinds[now]}), [0, 0])


def test_a_value_absurdly_far_outside_the_range_is_refused(make: Callable[..., Any]) -> None:
    schema = Roles(continuous="x").learn(make({"x": [0.0, 1e-300]}))
    with pytest.raises(SchemaError, match=r"'x' has values too far outside the training range, 0\.0 to 1e-300"):
        schema.encode(make({"x": [1e10]}), [0])


def test_a_form_that_cannot_be_read_is_named() -> None:
    with pytest.raises(SchemaError, match="Column 'x' holds int values in a form that cannot be read"):
        Roles(discrete="x").learn(pd.DataFrame({"x": pd.arrays.SparseArray([0, 1])}))
    with pytest.raises(SchemaError, match=r"Column 'x' holds .*interval.* values, which cannot be compared"):
        Roles(discrete="x").learn(pd.DataFrame({"x": pd.cut([1, 5, 3], 2)}))


def test_plain_arguments_are_checked(make: Callable[..., Any]) -> None:
    schema = Roles(discrete="x").learn(make({"x": [1]}))
    with pytest.raises(ValueError, match="unseen is 'drop'; choose one of 'keep', 'error'"):
        schema.encode(make({"x": [1]}), [0], unseen="drop")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="kind is 'numpy'; choose one of 'pandas', 'polars', 'pyarrow'"):
        schema.decode(schema.encode(make({"x": [1]}), [0]), kind="numpy")  # type: ignore[arg-type]


def test_a_foreign_table_is_not_decoded(make: Callable[..., Any]) -> None:
    schema = Roles(discrete="x").learn(make({"x": [1]}))
    with pytest.raises(SchemaError, match=r"discrete columns are \['discrete_0'\]; this schema's are \['x'\]"):
        schema.decode(CodedTable(discrete=[[0]]))
    with pytest.raises(SchemaError, match=r"Column 'x' has code 5 and only 1 category\."):
        schema.decode(CodedTable(discrete=[[5]], names={"discrete": ("x",)}))


@pytest.mark.parametrize("values", [[f"id {i}" for i in range(1_001)], list(range(1_001))])
def test_a_sensitive_column_of_ids_is_refused(values: list[Any]) -> None:
    frame = pa.table({"who": values})
    with pytest.raises(SchemaError, match=r"'who' has 1,001 distinct values, so many that they identify people"):
        Roles(sensitive="who").learn(frame)
    assert len(Roles(discrete="who").learn(frame).categories["who"]) == 1_001
    assert len(Roles(sensitive="who").learn(frame[:1_000]).categories["who"]) == 1_000


def test_half_a_surrogate_pair_is_named() -> None:
    frame = pd.DataFrame({"job": pd.Series(["cook", "sm\ud800th"], dtype=object)})
    with pytest.raises(SchemaError, match=r"Column 'job' holds 'sm\\ud800th', with half of a surrogate pair"):
        Roles(discrete="job").learn(frame)
