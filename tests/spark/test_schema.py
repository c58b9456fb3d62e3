"""A schema learned in Spark is the schema that the whole frame teaches in memory."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import likewise.spark
from likewise.exceptions import SchemaError
from likewise.schema import Roles
from likewise.spark._schema import as_numbers, describe_numbers, find_ordered

N = 500
ROLES = Roles(
    sensitive=["sex", "age", "half"],
    discrete=["job", "code", "flag"],
    continuous=["x", "cents", "gappy", "big", "day", "moment", "money"],
    ordinal={"size": ["S", "M", "L"]},
    row_id="id",
    label="hired",
    ignored="note",
    bins={"age": 4},
    missing={"gappy": "median"},
)


def some_missing(random: np.random.Generator, values: Any) -> list[Any]:
    return [None if is_missing else value for value, is_missing in zip(values, random.random(N) < 0.1, strict=True)]


@pytest.fixture(scope="module")
def whole() -> pa.Table:
    random = np.random.default_rng(0)
    money = pa.array([round(float(one), 2) for one in random.normal(size=N)]).cast(pa.decimal128(10, 2))
    columns = {
        "sex": some_missing(random, random.choice(["f", "m"], N).tolist()),
        "age": random.integers(18, 90, N),
        "half": some_missing(random, random.choice([0.5, 1.0, float("nan")], N).tolist()),
        "job": some_missing(random, random.choice(list("abcdefgh"), N).tolist()),
        "code": pa.array(random.integers(0, 5, N), pa.int16()),
        "flag": random.random(N) < 0.5,
        "x": random.normal(size=N),
        "cents": np.round(random.normal(size=N) * 100, 2),
        "gappy": some_missing(random, np.round(random.normal(size=N), 3).tolist()),
        "big": random.integers(-(2**40), 2**40, N),
        "day": [datetime.date(2000, 1, 1) + datetime.timedelta(int(day)) for day in random.integers(0, 9000, N)],
        "moment": pa.array(random.integers(0, 10**15, N), pa.timestamp("us", "UTC")),
        "money": money,
        "size": random.choice(["S", "M", "L"], N, p=[0.6, 0.3, 0.1]),
        "id": [f"p{row}" for row in range(N)],
        "hired": random.integers(0, 2, N),
        "note": ["x"] * N,
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def frame(spark: Any, whole: pa.Table) -> Any:
    return spark.createDataFrame(whole).repartition(3)


def test_every_column_teaches_the_same(frame: Any) -> None:
    learned = likewise.spark.learn(ROLES, frame)
    assert learned.to_json() == ROLES.learn(frame.toArrow()).to_json()


def test_numbers_at_any_place_of_a_long_column_are_found_exactly(spark: Any, whole: pa.Table) -> None:
    frame = spark.createDataFrame(whole.select(["x", "age"])).coalesce(2)
    numbers = as_numbers(frame, {"x": "continuous", "age": "continuous"}).persist()
    known = describe_numbers(numbers)
    places = [[0, (N - 1) // 2, N // 2], [7, N - 1]]
    found = find_ordered(numbers, known, places, few=10)  # as if 10 were as many as the driver takes
    numbers.unpersist()
    wanted = [np.sort(whole.column(name).to_numpy())[one] for name, one in zip(["x", "age"], places, strict=True)]
    assert found == [one.tolist() for one in wanted]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"discrete": ["job", "height"]}, "no column 'height'"),
        ({"ignored": ()}, "no role: 'note'"),
        ({"missing": "refuse"}, "Continuous column 'gappy' has .* missing values"),
    ],
)
def test_what_cannot_be_learned_is_refused_in_words(frame: Any, change: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        likewise.spark.learn(replace(ROLES, **change), frame)


def test_a_table_in_memory_is_no_spark_frame(whole: pa.Table) -> None:
    with pytest.raises(TypeError, match=r"not a Spark DataFrame. Pass one"):
        likewise.spark.learn(ROLES, whole)
