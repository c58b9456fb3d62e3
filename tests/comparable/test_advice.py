"""Few pairs are explained by the one column that costs most of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likewise import CodedTable, Comparability, count_pairs
from likewise.comparable import _advice, explain_few_pairs

KINDS = ("discrete", "ordinal", "matched", "continuous")


def make_people(seed: int, n_rows: int = 120) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "sensitive": random.integers(0, 2, (n_rows, 1)),
        "discrete": random.integers(0, 3, (n_rows, 2)),
        "ordinal": random.integers(0, 5, (n_rows, 1)),
        "matched": random.integers(0, 4, (n_rows, 1)),
        "continuous": random.random((n_rows, 2)),
        "labels": random.integers(0, 2, n_rows),
    }


@pytest.mark.parametrize("seed", range(4))
def test_the_column_named_is_the_one_without_which_there_are_most_pairs(seed: int) -> None:
    people, rule = make_people(seed), Comparability(0, 0.1)
    table = CodedTable(**people)
    without = {
        name: count_pairs(
            CodedTable(
                **people | {kind: np.delete(people[kind], position, axis=1)},
                names={kind: np.delete(table.names[kind], position).tolist()},
            ),
            rule,
        ).total
        for kind in KINDS
        for position, name in enumerate(table.names[kind])
    }
    name = max(without, key=lambda one: without[one])
    n_pairs = count_pairs(table, rule).total
    assert without[name] >= 2 * n_pairs
    counts = f"{without[name]:,} pairs instead of {n_pairs or 'none'}."
    assert explain_few_pairs(rule, table, n_pairs) == f"Most are lost to {name}: without it there would be {counts}"


def test_limits_by_column_and_columns_that_must_match_are_left_out_with_their_column() -> None:
    table = CodedTable(sensitive=[[0], [1]], continuous=[[0.0, 0.5], [1.0, 0.5]])
    sentence = "Most are lost to continuous_0: without it there would be 1 pair instead of none."
    for rule in (
        Comparability(max_continuous_shift={"continuous_0": 0.1, "continuous_1": 0.2}),
        Comparability(max_continuous_shift=(0.1, 0.2)),
        Comparability(max_continuous_shift=1, must_match=("continuous_0",)),
    ):
        assert explain_few_pairs(rule, table, 0) == sentence


def test_nothing_is_said_where_no_column_costs_half_of_the_pairs_or_counting_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = CodedTable(sensitive=[[0], [1], [1]], continuous=[[0.0], [0.0], [1.0]])
    assert explain_few_pairs(Comparability(), table, 1) is not None
    assert explain_few_pairs(Comparability(max_continuous_shift=1), table, 2) is None
    assert explain_few_pairs(Comparability(), CodedTable(sensitive=[[0], [0]]), 0) is None
    monkeypatch.setattr(_advice, "MOST_ROWS_EXPLAINED", 2)
    assert explain_few_pairs(Comparability(), table, 1) is None
