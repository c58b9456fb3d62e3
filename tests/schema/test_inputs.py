"""Labels come from a column or apart, and keep their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from likewise.exceptions import SchemaError
from likewise.schema import Roles

SCHEMA = Roles(discrete="x", label="y").learn(pa.table({"x": [1, 2, 3]}))
FRAME = pa.table({"x": [1, 2, 3]})


@pytest.mark.parametrize(
    "y",
    [
        [2, 0, 2],
        (2, 0, 2),
        np.array([2, 0, 2], np.int8),
        np.array([2.0, 0.0, 2.0]),
        np.array([2, 0, 2], object),
        pd.Series([2, 0, 2], index=[7, 7, 1]),
        pd.Series([2, 0, 2], dtype="Int64"),
        pd.Categorical([2, 0, 2]),
        pl.Series([2, 0, 2]),
        pa.array([2, 0, 2]),
        pa.chunked_array([[2], [0, 2]]),
    ],
    ids=lambda y: f"{type(y).__module__}.{type(y).__name__}",
)
def test_labels_in_any_form(y: Any) -> None:
    table = SCHEMA.encode(FRAME, y)
    assert table.labels.tolist() == [1, 0, 1]
    assert table.classes.tolist() == [0, 2]
    assert table.classes.dtype.kind == "i"


@pytest.mark.parametrize(("y", "classes"), [(["no", "yes", "no"], ["no", "yes"]), ([True, False, True], [False, True])])
def test_labels_keep_their_values(y: list[Any], classes: list[Any]) -> None:
    assert SCHEMA.encode(FRAME, y).classes.tolist() == classes
    assert SCHEMA.encode(FRAME, np.array(y)).classes.tolist() == classes
    assert SCHEMA.encode(FRAME, pd.Series(y)).classes.tolist() == classes
    assert SCHEMA.encode(pa.table({"x": [1, 2, 3], "y": y})).classes.tolist() == classes


def test_rows_and_labels_meet_by_position_whatever_the_index_says() -> None:
    frame = pd.DataFrame({"x": [1, 2, 3]}, index=[9, 3, 9])
    table = SCHEMA.encode(frame, pd.Series([0, 1, 1], index=[3, 9, 9]))
    assert table.discrete.ravel().tolist() == [0, 1, 2]
    assert table.labels.tolist() == [0, 1, 1]
    assert table.row_ids.tolist() == [0, 1, 2]


def test_labels_given_apart_count_more_than_the_column() -> None:
    assert SCHEMA.encode(pa.table({"x": [1, 2], "y": [0, 1]}), [1, 1]).classes.tolist() == [1]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], r"^y has 2 labels for 3 rows\. Pass one label per row\.$"),
        ([0, None, None], r"^Label 'y' is missing in 2 rows\. Drop those rows, or label them\.$"),
        ([None, None, None], "Label 'y' is missing in 3 rows"),
        (pa.array([0.0, np.nan, None]), "Label 'y' is missing in 2 rows"),
        (np.array([0.0, np.nan, 1.0]), "Label 'y' is missing in 1 row\\."),
        ([0.5, 0.25, 1.0], r"Labels are classes, but 'y' holds fractional numbers, such as 0\.5, 0\.25"),
        ([0, "one", 1], "Column 'y' mixes int and str values"),
        (np.zeros((3, 1)), r"y has shape \(3, 1\)"),
        (7, "y is a int"),
        ({0, 1, 2}, "y is a set"),
        ("yes", "y is a str"),
        ([[1], [2], [3]], "'y' holds list<item: int64> values"),
    ],
)
def test_bad_labels_are_refused(y: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        SCHEMA.encode(FRAME, y)


def test_no_labels_at_all(make: Callable[..., Any]) -> None:
    with pytest.raises(SchemaError, match=r"the table has no column 'y'\. Pass them as y\."):
        SCHEMA.encode(make({"x": [1]}))
    with pytest.raises(SchemaError, match=r"the roles name no label column\. Pass them as y\."):
        Roles(discrete="x").learn(make({"x": [1]})).encode(make({"x": [1]}))


def test_learning_checks_the_labels(make: Callable[..., Any]) -> None:
    with pytest.raises(SchemaError, match="Label 'y' is missing in 1 row"):
        Roles(discrete="x", label="y").learn(make({"x": [1, 2], "y": ["a", None]}))
    with pytest.raises(SchemaError, match="y has 1 label for 2 rows"):
        Roles(discrete="x").learn(make({"x": [1, 2]}), [0])


def test_row_ids_are_unique_and_there(make: Callable[..., Any]) -> None:
    roles = Roles(discrete="x", row_id="id")
    with pytest.raises(SchemaError, match=r"Row id 'id' repeats 1 time\. Give every row its own id\."):
        roles.learn(make({"x": [1, 2, 3], "id": ["a", "a", "b"]}))
    with pytest.raises(SchemaError, match="Row id 'id' is missing in 1 row\\."):
        roles.learn(make({"x": [1, 2], "id": ["a", None]}))
    for ids in (pa.array([1.0, np.nan]), pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))):
        with pytest.raises(SchemaError, match="Row id 'id' is missing in 1 row"):
            roles.learn(pa.table({"x": [1, 2], "id": ids}))
    with pytest.raises(SchemaError, match="no column 'id', which is the row_id"):
        roles.learn(make({"x": [1, 2]}))


def test_rows_without_ids_are_called_by_position(make: Callable[..., Any]) -> None:
    frame = make({"x": [5, 6]})
    assert Roles(discrete="x").learn(frame).encode(frame, [0, 1]).row_ids.tolist() == [0, 1]
