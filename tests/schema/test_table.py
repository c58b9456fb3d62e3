"""The coded table refuses nonsense, takes rows, and speaks the codes of another table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise.exceptions import SchemaError
from likewise.schema import CodedTable


def test_what_is_left_out_is_empty() -> None:
    table = CodedTable(labels=[0, 1])
    assert table.discrete.shape == (2, 0)
    assert table.row_ids.tolist() == [0, 1]
    assert len(CodedTable()) == 0


@pytest.mark.parametrize("rows", [[2, 0, 2], np.array([2, 0]), np.array([True, False, True]), slice(1, 3), 1, -1, []])
def test_rows_are_taken_from_every_part(rows: Any) -> None:
    table = CodedTable(
        sensitive=[[0], [1], [2]], continuous=[[0.1], [0.2], [0.3]], labels=[0, 1, 1], row_ids=["a", "b", "c"]
    )
    taken = table[rows]
    positions = np.arange(3)[[rows] if isinstance(rows, int) else rows]
    assert taken.sensitive.ravel().tolist() == positions.tolist()
    assert taken.continuous.ravel().tolist() == table.continuous[positions].ravel().tolist()
    assert taken.row_ids.tolist() == table.row_ids[positions].tolist()
    assert taken.classes.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"discrete": [[1], [2]], "labels": [0]}, r"'discrete' has shape \(2, 1\)"),
        ({"discrete": [1, 2], "labels": [0, 0]}, r"'discrete' has shape \(2,\)"),
        ({"discrete": [["a"]]}, "'discrete' holds .* values; category codes"),
        ({"continuous": [[np.nan]]}, r"'continuous_0' is NaN or infinite in 1 row\."),
        ({"continuous": [["a"]]}, "'continuous' holds <U1 values; numbers are needed"),
        ({"discrete": [[1], [1, 2]]}, r"'discrete' has rows of different lengths\. Make all rows equally long"),
        ({"discrete": [[2**31]]}, "'discrete' runs from 2147483648 to 2147483648; codes must fit in 32 bits"),
        ({"sensitive": np.array([[2**64 - 1]], np.uint64)}, "'sensitive' runs from 18446744073709551615 to"),
        ({"ordinal": [[-(2**31) - 1]]}, "'ordinal' runs from -2147483649 to"),
        ({"labels": [2**40]}, "'labels' runs from .* codes must fit in 32 bits"),
        ({"labels": [0, -1]}, r"'labels' run from -1 to 0; they must be positions, from 0, in 1 class"),
        ({"labels": [0, 2], "classes": ["no", "yes"]}, "'labels' run from 0 to 2; .* in 2 classes"),
        ({"labels": [0.0, 1.0]}, "'labels' holds float64 values; category codes"),
        ({"labels": 5}, r"'labels' has shape \(\)"),
        ({"labels": [[0, 0]]}, r"'labels' has shape \(1, 2\); this table has 1 row\."),
        ({"labels": [0], "row_ids": ["a", "b"]}, "'row_ids' has shape"),
        ({"discrete": [[1]], "names": {"discrete": ("a", "b")}}, r"2 names for 1 discrete column\."),
        ({"discrete": [[1]], "names": {"discreet": ("a",)}}, "names has no kind 'discreet'; .*Did you mean 'discrete'"),
    ],
)
def test_nonsense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        CodedTable(**arguments)


def test_alignment_makes_equal_codes_mean_equal_values() -> None:
    names = {"discrete": ("job",)}
    left = CodedTable(discrete=[[0], [1]], labels=[0, 0], names=names, categories={"job": ("cook", "judge")})
    right = CodedTable(discrete=[[0], [1]], labels=[0, 0], names=names, categories={"job": ("judge", "smith")})
    aligned = right.aligned_to(left)
    assert aligned.discrete.ravel().tolist() == [1, 2]
    assert aligned.categories["job"] == ("cook", "judge", "smith")
    assert left.aligned_to(left) is left


@pytest.mark.parametrize("code", [-1, 2])
def test_codes_without_a_category_are_not_aligned(code: int) -> None:
    left = CodedTable(discrete=[[0]], categories={"discrete_0": ("a", "b")})
    right = CodedTable(discrete=[[0], [code]], categories={"discrete_0": ("b", "c")})
    with pytest.raises(SchemaError, match=r"'discrete_0' has codes from .* to .*, but only 2 categories"):
        right.aligned_to(left)


def test_labels_of_two_types_are_not_compared() -> None:
    with pytest.raises(SchemaError, match=r"labels are \[0, 1\] in one table and \['no', 'yes'\] in the other"):
        CodedTable(labels=[0, 1]).aligned_to(CodedTable(labels=[0, 1], classes=["no", "yes"]))
    truth = CodedTable(labels=[0, 1], classes=[False, True])
    assert CodedTable(labels=[1, 1]).aligned_to(truth).labels.tolist() == [1, 1]


def test_labels_are_aligned_by_value() -> None:
    left = CodedTable(labels=[0, 1], classes=["no", "yes"])
    right = CodedTable(labels=[0, 0], classes=["yes"])
    assert right.aligned_to(left).labels.tolist() == [1, 1]


def test_ranks_of_two_orders_are_not_compared() -> None:
    names = {"ordinal": ("size",)}
    left = CodedTable(ordinal=[[0]], names=names, categories={"size": ("S", "L")})
    right = CodedTable(ordinal=[[0]], names=names, categories={"size": ("S", "M", "L")})
    with pytest.raises(SchemaError, match="Ordinal column 'size' has two orders"):
        right.aligned_to(left)
    with pytest.raises(SchemaError, match="different discrete columns"):
        CodedTable(discrete=[[0]]).aligned_to(left)
