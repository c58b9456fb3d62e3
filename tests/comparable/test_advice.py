"""Few pairs are explained by the one column that costs most of them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from likewise import CodedTable, Comparability, Roles, audit, count_pairs
from likewise.comparable import _advice, explain_few_pairs, explain_no_pairs, explain_wide_limits
from likewise.exceptions import NoComparablePairs

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
    told = explain_few_pairs(rule, table, n_pairs)
    assert str(told).startswith(f"Most are lost to {name}: without it there would be {counts}")


def test_limits_by_column_and_columns_that_must_match_are_left_out_with_their_column() -> None:
    table = CodedTable(sensitive=[[0], [1]], continuous=[[0.0, 0.5], [1.0, 0.5]])
    sentence = "Most are lost to continuous_0: without it there would be 1 pair instead of none."
    for rule in (
        Comparability(max_continuous_shift={"continuous_0": 0.1, "continuous_1": 0.2}),
        Comparability(max_continuous_shift=(0.1, 0.2)),
        Comparability(max_continuous_shift=1, must_match=("continuous_0",)),
    ):
        assert explain_few_pairs(rule, table, 0) == sentence


def loans(**columns: Any) -> CodedTable:
    people = pa.table({"sex": ["f", "m"] * 20, **columns})
    return Roles(sensitive="sex", continuous=list(columns)).learn(people).encode(people, [1] * 40)


def test_no_pairs_are_explained_by_the_column_that_costs_most(monkeypatch: pytest.MonkeyPatch) -> None:
    table = loans(income=[1_000 * i for i in range(40)], age=[30, 31] * 20)
    rule = Comparability(max_continuous_shift=1, limits={"income": "900"})
    costly = "Most are lost to income (within 900): without it there would be 400 pairs"
    raised = "To allow more, raise limits (now income: 900) or max_continuous_shift (now 1)"
    assert explain_no_pairs(rule, table) == (
        f"{costly}. {raised}, or ignore columns that do not matter. For example, ignored=['income'] gives 400 pairs."
    )
    share = Comparability(max_continuous_shift={"income": 0.01, "age": 1})
    assert "lost to income (within 390): " in explain_no_pairs(share, table)
    monkeypatch.setattr(_advice, "MOST_ROWS_EXPLAINED", 39)
    assert "pairs among 39 of the rows. To allow" in explain_no_pairs(rule, table)


@pytest.mark.parametrize(("n_discrete", "n_continuous", "n_proposed"), [(12, 8, 1), (5, 4, 2), (9, 1, 2)])
def test_rules_are_proposed_that_give_the_pairs_they_say(n_discrete: int, n_continuous: int, n_proposed: int) -> None:
    random = np.random.default_rng(0)
    columns = {f"d{i}": random.integers(0, 4, 300).astype(str) for i in range(n_discrete)}
    columns |= {f"c{i}": random.random(300) for i in range(n_continuous)}
    people = pa.table({"sex": random.choice(["f", "m"], 300), **columns})
    y = random.integers(0, 2, 300)
    with pytest.raises(NoComparablePairs) as refused:
        audit(random.random(300), people, y, sensitive="sex")
    proposed = re.findall(r"([a-z_]+=[^;]*?) gives ([\d,]+) pairs", str(refused.value))
    assert len(proposed) == n_proposed
    for code, n in proposed:
        settings = eval(f"dict({code.replace(' with ', ', ')})")  # as somebody would paste it
        ignored = tuple(settings.pop("ignored", ()))
        kept = Roles.infer(people, sensitive="sex", ignored=ignored)
        found = count_pairs(kept.learn(people).encode(people, y), Comparability(**settings)).total
        assert found == int(n.replace(",", "")) >= 100


def test_where_no_column_alone_costs_all_pairs_the_narrowest_limit_is_named() -> None:
    table = loans(income=[1_000 * i for i in range(40)], other=[1_000 * i for i in range(40)])
    rule = Comparability(limits={"income": "900", "other": "0.5 of range"})
    assert explain_no_pairs(replace(rule, limits={**rule.limits, "other": "0"}), table).startswith(
        "No column alone excludes all; the narrowest is income (within 900), which 0 % of all pairs of people meet. "
    )


def test_limits_that_exclude_hardly_anybody_are_told_in_units() -> None:
    pressure = [*range(110, 149), 16_020]
    table = loans(pressure=pressure, day=[date(2026, 1, 1) + timedelta(i) for i in [*range(39), 90_000]])
    assert explain_wide_limits(Comparability(), table) == [
        "The limit of pressure is 398 (0.025 of its range, 110 to 16,020), but 90 % of people lie between 112 and 147: "
        "it excludes hardly anybody. Give it in units of the column (limits), such as '0.88'.",
        "The limit of day is 2,250 days (0.025 of its range, 2026-01-01 to 2272-05-31), but 90 % of people lie between "
        "2026-01-03 and 2026-02-07: it excludes hardly anybody. Give it in units of the column (limits), such as '0.88 "
        "days'.",
    ]
    assert explain_wide_limits(Comparability(limits={"pressure": "10", "day": "3 days"}), table) == []
    assert explain_wide_limits(Comparability(limits={"pressure": "10 %", "day": "3 days"}), table) == []
    assert explain_wide_limits(Comparability(max_continuous_shift=1), table) == []  # it is meant
    assert explain_wide_limits(Comparability(limits={"pressure": "50", "day": "3 days"}), table) == [
        "The limit of pressure is 50, but 90 % of people lie between 112 and 147: it excludes hardly anybody. Give a "
        "narrower one."
    ]


def test_nothing_is_said_where_no_column_costs_half_of_the_pairs_or_counting_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = CodedTable(sensitive=[[0], [1], [1]], continuous=[[0.0], [0.0], [1.0]])
    assert explain_few_pairs(Comparability(), table, 1) is not None
    assert explain_few_pairs(Comparability(max_continuous_shift=1), table, 2) is None
    assert explain_few_pairs(Comparability(), CodedTable(sensitive=[[0], [0]]), 0) is None
    monkeypatch.setattr(_advice, "MOST_ROWS_EXPLAINED", 2)
    assert explain_few_pairs(Comparability(), table, 1) is None
