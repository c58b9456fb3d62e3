"""What a schema coded comes back as it was: values, order of columns, dtypes, kind of frame."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.schema import CodedTable, Roles
from likewise.schema._internal import array_of

MAKERS: dict[str, Callable[[Any], Any]] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}

TEXT = st.none() | st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=4)
DECIMAL = st.builds(lambda digits, places: digits / 10**places, st.integers(-(10**6), 10**6), st.integers(0, 6))
FLOAT = st.floats(-1e6, 1e6, allow_subnormal=False)


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(found, pd.DataFrame):
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
    else:
        assert found.equals(expected)
        assert found.schema == expected.schema


def with_text(kind: str, texts: list[str | None]) -> Any:
    """A column of text, though all of it may be missing."""
    if kind == "pyarrow":
        return pa.array(texts, pa.large_string())
    return pd.Series(texts, dtype="str") if kind == "pandas" else pl.Series(texts, dtype=pl.String)


@settings(max_examples=sized(7, 30))
@given(
    rows=st.lists(st.tuples(TEXT, st.integers(-(2**50), 2**50), DECIMAL, st.booleans()), min_size=1, max_size=8),
    n_training=st.integers(1, 8),
    kind=st.sampled_from(sorted(MAKERS)),
)
def test_coding_loses_nothing(rows: list[tuple[Any, ...]], n_training: int, kind: str) -> None:
    texts, age, pay, flag = map(list, zip(*rows, strict=True))
    job = with_text(kind, texts)
    frame = MAKERS[kind]({"note": job, "pay": pay, "age": age, "job": job, "flag": flag, "y": age})
    roles = Roles(sensitive="flag", discrete="job", continuous=["age", "pay"], ignored="note", label="y")
    schema = roles.learn(frame[:n_training])
    names = ["pay", "age", "job", "flag", "y"]
    same(schema.decode(schema.encode(frame)), frame[names] if kind == "pandas" else frame.select(names))


@settings(max_examples=sized(12, 50))
@given(st.lists(FLOAT, min_size=1, max_size=8), st.integers(1, 8))
def test_any_number_comes_back_within_a_hair_of_the_range(numbers: list[float], n_training: int) -> None:
    frame = pa.table({"x": numbers})
    schema = Roles(continuous="x").learn(frame[:n_training])
    low, high = schema.ranges["x"]
    found = schema.decode(schema.encode(frame, [0] * len(numbers)))["x"].to_numpy()
    width = max(high - low or 1.0, *(abs(x - low) for x in numbers))
    # two neighbouring floats may be further apart than that, when the range is small and far from 0
    allowed = 1e-12 * width + np.spacing(np.abs(numbers)) + np.spacing(abs(low))
    assert (np.abs(found - numbers) <= allowed).all()


TIMES = pd.Series([datetime(2020, 1, 1, 10), None])

DTYPES: dict[str, Any] = {
    "pandas object": pd.DataFrame({"x": pd.Series(["b", None, "a"], dtype=object)}),
    "pandas object of numbers": pd.DataFrame({"x": pd.Series([3, None, 1], dtype=object)}),
    "pandas object of dates": pd.DataFrame({"x": pd.Series([date(2020, 1, 1), None], dtype=object)}),
    "pandas str": pd.DataFrame({"x": pd.Series(["b", None, "a"], dtype="str")}),
    "pandas string": pd.DataFrame({"x": pd.Series(["b", None, "a"], dtype="string")}),
    "pandas string[python]": pd.DataFrame({"x": pd.Series(["b", None, "a"], dtype="string[python]")}),
    "pandas category": pd.DataFrame({"x": pd.Categorical(["b", None, "a"], categories=["c", "b", "a"])}),
    "pandas ordered": pd.DataFrame({"x": pd.Categorical(["b", "a"], categories=["b", "a", "c"], ordered=True)}),
    "pandas category of numbers": pd.DataFrame({"x": pd.Categorical([3, 1, 3])}),
    "pandas category of dates": pd.DataFrame({"x": TIMES.astype("category")}),
    "pandas boolean": pd.DataFrame({"x": pd.Series([True, None, False], dtype="boolean")}),
    "pandas bool": pd.DataFrame({"x": [True, False]}),
    "pandas Int64": pd.DataFrame({"x": pd.Series([2**62 + 1, None, 1], dtype="Int64")}),
    "pandas int8": pd.DataFrame({"x": pd.Series([3, 1], dtype="int8")}),
    "pandas uint64": pd.DataFrame({"x": pd.Series([2**64 - 1, 1], dtype="uint64")}),
    "pandas float32": pd.DataFrame({"x": pd.Series([0.1, None], dtype="float32")}),
    "pandas Float64": pd.DataFrame({"x": pd.Series([0.1, None], dtype="Float64")}),
    "pandas int64[pyarrow]": pd.DataFrame({"x": pd.Series([1, None], dtype="int64[pyarrow]")}),
    "pandas datetime": pd.DataFrame({"x": TIMES}),
    "pandas datetime[ns]": pd.DataFrame({"x": TIMES.astype("datetime64[ns]")}),
    "pandas zoned": pd.DataFrame({"x": TIMES.dt.tz_localize("Europe/Paris")}),
    "polars String": pl.DataFrame({"x": ["b", None, "a"]}),
    "polars Categorical": pl.DataFrame({"x": pl.Series(["b", None, "a"], dtype=pl.Categorical)}),
    "polars Enum": pl.DataFrame({"x": pl.Series(["b", None, "a"], dtype=pl.Enum(["a", "c", "b"]))}),
    "polars Boolean": pl.DataFrame({"x": [True, None]}),
    "polars UInt8": pl.DataFrame({"x": pl.Series([3, None], dtype=pl.UInt8)}),
    "polars Float32": pl.DataFrame({"x": pl.Series([0.1, None], dtype=pl.Float32)}),
    "polars Date": pl.DataFrame({"x": [date(2020, 1, 1), None]}),
    "polars Datetime": pl.DataFrame({"x": pl.Series([datetime(2020, 1, 1), None], dtype=pl.Datetime("ms"))}),
    "polars zoned": pl.DataFrame({"x": pl.Series([datetime(2020, 1, 1)]).dt.replace_time_zone("Europe/Paris")}),
    "polars Decimal": pl.DataFrame({"x": [Decimal("1.20"), None]}),
    "polars Null": pl.DataFrame({"x": [None, None]}),
    "pyarrow string": pa.table({"x": ["b", None]}),
    "pyarrow large_string": pa.table({"x": pa.array(["b", None], pa.large_string())}),
    "pyarrow string_view": pa.table({"x": pa.array(["b", None], pa.string_view())}),
    "pyarrow dictionary": pa.table({"x": pa.array(["b", None, "a", "b"]).dictionary_encode()}),
    "pyarrow small dictionary": pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), [5, 7])}),
    "pyarrow int16": pa.table({"x": pa.array([1, None], pa.int16())}),
    "pyarrow float": pa.table({"x": pa.array([0.1, None], pa.float32())}),
    "pyarrow halffloat": pa.table({"x": pa.array([0.5, None], pa.float16())}),
    "pyarrow date64": pa.table({"x": pa.array([date(2020, 1, 1), None], pa.date64())}),
    "pyarrow timestamp": pa.table({"x": pa.array([datetime(2020, 1, 1, tzinfo=UTC)], pa.timestamp("s", "UTC"))}),
    "pyarrow decimal": pa.table({"x": pa.array([Decimal("1.20"), None])}),
    "pyarrow bool": pa.table({"x": [True, None]}),
}
MEASURABLE = (
    "numbers", "Int64", "int8", "float32", "Float64", "[pyarrow]", "datetime", "datetime[ns]", "zoned", "UInt8",
    "Float32", "Date", "Datetime", "int16", "float", "date64", "timestamp", "decimal", "Decimal", "halffloat", "dates",
)  # fmt: skip


@pytest.mark.long(4)
@pytest.mark.parametrize("role", ["sensitive", "discrete", "matched"])
@pytest.mark.parametrize("name", DTYPES)
def test_categories_of_every_dtype_come_back(name: str, role: str) -> None:
    frame = DTYPES[name]
    schema = Roles(**{role: "x"}).learn(frame)  # type: ignore[arg-type]
    same(schema.decode(schema.encode(frame, [0] * len(frame))), frame)


@pytest.mark.long(4)
@pytest.mark.parametrize("name", [name for name in DTYPES if name.endswith(MEASURABLE) and name != "pandas Int64"])
def test_numbers_of_every_dtype_come_back(name: str) -> None:
    frame = DTYPES[name]
    schema = Roles(continuous="x", missing="apart").learn(frame)
    same(schema.decode(schema.encode(frame, [0] * len(frame))), frame)


@pytest.mark.long(4)
@pytest.mark.parametrize("name", [name for name in DTYPES if not re.search("Null|loat|ecimal", name)])
@pytest.mark.parametrize("role", ["label", "row_id"])
def test_labels_and_row_ids_of_every_dtype_come_back(name: str, role: str) -> None:
    frame = DTYPES[name][:1]
    schema = Roles(**{role: "x"}).learn(frame)  # type: ignore[arg-type]
    same(schema.decode(schema.encode(frame, None if role == "label" else [0])), frame)


def test_ranks_come_back(make: Callable[..., Any]) -> None:
    frame = make({"size": ["M", None, "S"]})
    schema = Roles(ordinal={"size": ["S", "M", "L"]}, missing="apart").learn(frame)
    same(schema.decode(schema.encode(frame, [0] * 3)), frame)


def test_columns_keep_their_order_and_only_ignored_ones_are_left_out(make: Callable[..., Any]) -> None:
    frame = make({"y": ["no", "yes"], "note": ["a", "b"], "age": [1, 2], "id": [7, 9], "sex": ["f", "m"]})
    schema = Roles(sensitive="sex", continuous="age", ignored="note", label="y", row_id="id").learn(frame)
    names = ["y", "age", "id", "sex"]
    same(
        schema.decode(schema.encode(frame)[[1, 0]]),
        make({"y": ["yes", "no"], "age": [2, 1], "id": [9, 7], "sex": ["m", "f"]}),
    )
    assert list(schema.decode(schema.encode(frame), kind="pandas").columns) == names


def test_labels_given_apart_are_not_decoded(make: Callable[..., Any]) -> None:
    frame = make({"x": [1, 2]})
    same((schema := Roles(discrete="x", label="y").learn(frame)).decode(schema.encode(frame, [0, 1])), frame)


@pytest.mark.parametrize("wanted", ["pandas", "polars", "pyarrow"])
def test_another_kind_of_frame_on_request(make: Callable[..., Any], wanted: Any) -> None:
    data = {"sex": ["f", "m"], "age": [20, 31], "pay": [1.25, 2.5]}
    schema = Roles(sensitive="sex", continuous=["age", "pay"]).learn(make(data))
    found = schema.decode(schema.encode(make(data), [0, 1]), kind=wanted)
    assert type(found) is type(MAKERS[wanted](data))
    assert pa.table(found).to_pydict() == data


@pytest.mark.parametrize("name", [name for name in DTYPES if "ateg" in name or "Enum" in name or "dictionary" in name])
@pytest.mark.parametrize("wanted", ["pandas", "polars", "pyarrow"])
def test_categorical_columns_in_another_kind_of_frame(name: str, wanted: Any) -> None:
    frame = DTYPES[name]
    schema = Roles(discrete="x").learn(frame)
    found = schema.decode(schema.encode(frame, [0] * len(frame)), kind=wanted)
    assert [str(v) for v in pa.table(found)["x"].to_pylist()] == [str(v) for v in pa.table(frame)["x"].to_pylist()]


@pytest.mark.parametrize("name", ["pandas category", "polars Enum", "pyarrow dictionary", "polars Categorical"])
def test_unseen_categories_come_back_in_categorical_columns(name: str) -> None:
    frame = DTYPES[name]
    schema = Roles(discrete="x").learn(frame)
    other = pa.table({"x": ["new", "a", None]})
    assert pa.table(schema.decode(schema.encode(other, [0] * 3)))["x"].to_pylist() == ["new", "a", None]


def test_unseen_missing_values_come_back(make: Callable[..., Any]) -> None:
    schema = Roles(discrete=["flag", "n"]).learn(make({"flag": [True, False], "n": [1, 2]}))
    other = pa.table({"flag": [None, True], "n": [2, None]})
    assert pa.table(schema.decode(schema.encode(other, [0, 0]))).to_pydict() == other.to_pydict()


def test_binned_columns_come_back_as_text(make: Callable[..., Any]) -> None:
    frame = make({"age": [20, 40, None]})
    schema = Roles(sensitive="age", bins={"age": [30]}).learn(frame)
    found = schema.decode(schema.encode(frame, [0] * 3))
    assert pa.table(found)["age"].to_pylist() == ["under 30", "30 or more", None]


def test_made_rows_look_like_real_ones(make: Callable[..., Any]) -> None:
    frame = make({"age": [20, 60], "pay": [1.25, 2.5], "day": [date(2020, 1, 1), date(2020, 1, 11)]})
    schema = Roles(continuous=["age", "pay", "day"]).learn(frame)
    made = CodedTable(continuous=[[0.511, 0.511, 0.511]], names={"continuous": ("age", "pay", "day")})
    found = pa.table(schema.decode(made, rounded=True)).to_pylist()
    assert found == [{"age": 40, "pay": 1.89, "day": date(2020, 1, 6)}]
    assert pa.table(schema.decode(made))["pay"].to_pylist() == [1.88875]


def test_a_number_too_large_for_its_type_is_kept(make: Callable[..., Any]) -> None:
    frame = pa.table({"x": pa.array([1, 100], pa.int8())})
    schema = Roles(continuous="x").learn(frame)
    other = make({"x": [300]})
    assert pa.table(schema.decode(schema.encode(other, [0])))["x"].to_pylist() == [300]


@pytest.mark.parametrize("role", ["continuous", "discrete"])
@pytest.mark.parametrize(
    "frame",
    [
        pa.table({"x": pa.array([date(2020, 1, 1), date(2021, 1, 1)], pa.date64())}),
        pd.DataFrame({"x": pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"]).astype("datetime64[ns]"))}),
    ],
    ids=["milliseconds", "categories of nanoseconds"],
)
def test_times_in_other_units_come_back(frame: Any, role: str) -> None:
    roles: dict[str, Any] = {role: "x"}
    schema = Roles(**roles).learn(frame)
    assert schema.decode(schema.encode(frame, [0, 1])).equals(frame)


def test_one_unit_for_all_dates() -> None:
    days = [date(2020, 1, 1), date(2020, 7, 1), date(2021, 1, 1)]
    short, long = (pa.table({"x": pa.array(days, unit)}) for unit in (pa.date32(), pa.date64()))
    codes = [Roles(continuous="x").learn(short).encode(frame, [0] * 3).continuous.tolist() for frame in (short, long)]
    assert codes[0] == codes[1]


def test_an_untidy_dictionary_means_what_its_rows_mean() -> None:
    untidy = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None], pa.int8()), pa.array(["b", None, "b", "a"]))
    frame = pa.table({"x": untidy})
    schema = Roles(discrete="x").learn(frame)
    table = schema.encode(frame, [0] * 5)
    assert schema.categories == {"x": ("a", "b", None)}
    assert table.discrete.ravel().tolist() == [1, 2, 1, 0, 2]
    back = schema.decode(table)["x"]
    assert back.to_pylist() == frame["x"].to_pylist()
    assert back.type == frame["x"].type


@given(
    st.one_of(
        *(
            st.lists(st.none() | values)
            for values in (st.integers(), st.floats(), st.booleans(), st.text(st.characters(codec="utf-8")), st.dates())
        ),
        st.lists(st.none() | st.integers(-5, 5) | st.floats(0, 1)),
    )
)
def test_plain_values_become_the_array_that_arrow_makes_of_them(values: list[Any]) -> None:
    try:
        expected = pa.array(values)
    except (pa.ArrowException, OverflowError) as error:
        with pytest.raises(type(error)):
            array_of(values)
        return
    found = array_of(values)
    found.validate(full=True)
    assert found.type == expected.type
    assert found.null_count == expected.null_count
    assert list(map(repr, found.to_pylist())) == list(map(repr, expected.to_pylist()))
