"""Equality is equality, ties follow the precision of the data, and missing values are comparable with missing only."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.sizes import sized

from likewise import CodedTable, Comparability, Roles, count_pairs, mine_pairs
from likewise.comparable.engines import _exhaustive

LOCAL = ("small tables", "compiled")
WAYS = (*LOCAL, "spark")
everywhere = pytest.mark.parametrize("find", WAYS, indirect=True)


@pytest.fixture(params=sized(LOCAL, WAYS))  # a test with the mark `everywhere` asks every way also in the small draw
def find(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[list[int]]]:
    """Find pairs by every way there is, and hold them against the definition."""
    way: Any = request.param
    spark = request.getfixturevalue("spark") if way.startswith("spark") else None
    if way == "compiled":
        monkeypatch.setattr(_exhaustive, "MOST_COMPARISONS", -1)

    def find(table: CodedTable, rule: Comparability) -> list[list[int]]:
        left, right = np.triu_indices(len(table), 1)
        holds = rule.holds(table[left], table[right])
        expected = np.column_stack([left[holds], right[holds]]).tolist()
        if way == "spark":
            from tests.spark.test_search import found, to_frame

            from likewise.spark._search import find_pairs

            assert found(find_pairs(to_frame(spark, table), rule, table)) == expected
        else:
            pairs = mine_pairs(table, rule)
            assert np.column_stack([pairs.left, pairs.right]).tolist() == expected
            assert count_pairs(table, rule).total == len(expected)
        result: list[list[int]] = expected
        return result

    return find


def people(**columns: Any) -> tuple[CodedTable, tuple[str, ...]]:
    """Encode numbers of people who differ in sex, one after the other."""
    frame = pa.table({"sex": ["f", "m"] * (len(next(iter(columns.values()))) // 2), **columns})
    names = tuple(columns)
    return Roles(sensitive="sex", continuous=names, missing="apart").learn(frame).encode(frame, [0] * len(frame)), names


@pytest.mark.parametrize("rule", [Comparability(must_match=("pay",)), Comparability(max_continuous_shift=0)])
def test_columns_that_must_be_equal_are_equal_beside_an_outlier(find: Any, rule: Comparability) -> None:
    table, _ = people(pay=[1_000.0, 1_500.0, 1_000.0, 1e12, 1_500.0, 1_500.0])
    assert find(table, rule) == [[1, 4], [4, 5]]


@everywhere
def test_times_that_must_match_do_to_the_microsecond(find: Any) -> None:
    seconds = np.array([0, 2, 0, 2, 90 * 365 * 86_400, 0]) * 1_000_000
    table, _ = people(seen=pa.array(seconds, pa.timestamp("us")))
    assert find(table, Comparability(must_match=("seen",))) == [[0, 5], [2, 5]]


@pytest.mark.parametrize(
    ("find", "kind"),
    [*product(WAYS, ["float32"]), *product(sized(LOCAL, WAYS), ["float64", "float16"])],
    indirect=["find"],
)
def test_steps_of_a_grid_are_ties_in_every_float(find: Any, kind: str) -> None:
    table, _ = people(share=pa.array((np.arange(42) * 0.025).astype(kind)))
    assert find(table, Comparability(max_continuous_shift=1 / 41)) == [[i, i + 1] for i in range(41)]


def test_cents_far_from_zero_are_ties(find: Any) -> None:
    table, _ = people(balance=1e9 + np.arange(42) / 100)
    assert find(table, Comparability(max_continuous_shift=1 / 41)) == [[i, i + 1] for i in range(41)]


def test_arrays_of_short_floats_keep_their_ties(find: Any) -> None:
    values = (np.arange(40, dtype=np.float32) * np.float32(0.025))[:, None]
    table = CodedTable(sensitive=np.arange(40)[:, None] % 2, continuous=values)
    assert find(table, Comparability(max_continuous_shift=0.025)) == [[i, i + 1] for i in range(39)]


@pytest.mark.parametrize(
    ("find", "limit"),
    [*product(WAYS, [1e300]), *product(sized(LOCAL, WAYS), [0, 1, 1_000_000, 3e9])],
    indirect=["find"],
)
def test_a_missing_rank_is_comparable_with_missing_only(find: Any, limit: float) -> None:
    frame = pa.table({"sex": ["f", "m", "f", "m"], "size": ["lo", None, None, "hi"]})
    roles = Roles(sensitive="sex", ordinal={"size": ["lo", "hi"]}, missing="apart")
    table = roles.learn(frame).encode(frame, [0] * 4)
    expected = [[1, 2]] if limit < 1 else [[0, 3], [1, 2]]
    assert find(table, Comparability(max_ordinal_shift=limit)) == expected


@everywhere
def test_a_missing_amount_is_no_value_however_far_out(find: Any) -> None:
    roles = Roles(sensitive="sex", continuous="pay", missing="apart")
    schema = roles.learn(pa.table({"sex": ["f", "m"], "pay": [0.0, 1.0]}))
    there = pa.table({"sex": ["f", "m", "f", "m", "f", "m"], "pay": [None, -1e9, -1e9 - 0.5, None, -1e9 + 0.5, 0.5]})
    table = schema.encode(there, [0] * 6)
    assert find(table, Comparability(max_continuous_shift=1.0)) == [[0, 3], [1, 2], [1, 4]]
    decoded = schema.decode(table, kind="pyarrow").column("pay").to_pylist()
    assert decoded == [None, -1e9, -1e9 - 0.5, None, -1e9 + 0.5, 0.5]


def test_a_table_of_another_precision_has_another_checksum() -> None:
    from likewise.schema._internal import hash_table

    values = np.arange(4, dtype=np.float32)[:, None] / np.float32(3)
    tables = [CodedTable(sensitive=[[0], [1]] * 2, continuous=given) for given in (values, values.astype(np.float64))]
    assert hash_table(tables[0]) != hash_table(tables[1])
