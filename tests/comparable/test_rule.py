"""The definition itself, case by case: every engine is tested against it, and this is what it is tested against."""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from likewise import CodedTable, Comparability, Roles, mine_pairs
from likewise.comparable.engines import _problem
from likewise.exceptions import RuleError, TooManyPairs


def person(**changed: Any) -> CodedTable:
    """One row of two columns of each kind."""
    columns: dict[str, Any] = {
        "sensitive": [0, 0],
        "discrete": [0, 0],
        "ordinal": [3, 3],
        "matched": [0, 0],
        "continuous": [0.3, 0.3],
    }
    label = changed.pop("label", 0)
    rows: dict[str, Any] = {kind: [row] for kind, row in (columns | changed).items()}
    return CodedTable(**rows, labels=[label], classes=[0, 1])


def other(**changed: Any) -> CodedTable:
    """Somebody of another group, otherwise the same."""
    return person(**({"sensitive": [1, 1]} | changed))


@pytest.mark.parametrize(
    ("changed", "is_comparable"),
    [
        ({}, True),
        ({"sensitive": [0, 1]}, True),
        ({"sensitive": [0, 0]}, False),
        ({"label": 1}, False),
        ({"discrete": [0, 5]}, True),
        ({"discrete": [5, 5]}, False),
        ({"matched": [0, 1]}, False),
        ({"continuous": [0.4, 0.3]}, True),  # 0.4 - 0.3 > 0.1 in floats
        ({"continuous": [0.2, 0.4]}, True),
        ({"continuous": [0.3, 0.4001]}, False),
        ({"ordinal": [2, 4]}, True),
        ({"ordinal": [1, 3]}, False),
        ({"discrete": [5, 0], "ordinal": [4, 4], "continuous": [0.4, 0.2]}, True),
    ],
)
def test_each_condition_has_its_say(changed: dict[str, Any], is_comparable: bool) -> None:
    rule = Comparability(max_discrete_changes=1, max_continuous_shift=0.1)
    assert rule.holds(person(), other(**changed)).tolist() == [is_comparable]
    assert rule.holds(other(**changed), person()).tolist() == [is_comparable]


@pytest.mark.parametrize(
    ("sensitive", "modes"), [([0, 0], {"none"}), ([0, 1], {"any"}), ([1, 0], {"any"}), ([1, 1], {"any", "all"})]
)
def test_sensitive_columns_differ_as_asked(sensitive: list[int], modes: set[str]) -> None:
    modes_that_hold = {
        mode
        for mode in ("any", "all", "none")
        if Comparability(sensitive_differs=mode).holds(person(), person(sensitive=sensitive)).all()
    }
    assert modes_that_hold == modes


@pytest.mark.parametrize("kind", ["discrete", "ordinal", "continuous"])
def test_columns_that_must_match_do(kind: str) -> None:
    near = {"discrete": [1, 0], "ordinal": [4, 3], "continuous": [0.31, 0.3]}[kind]
    rule = Comparability()
    assert rule.holds(person(), other(**{kind: near})).all()
    assert not replace(rule, must_match=(f"{kind}_0",)).holds(person(), other(**{kind: near})).any()
    assert replace(rule, must_match=(f"{kind}_1",)).holds(person(), other(**{kind: near})).all()


@pytest.mark.parametrize(
    "limit",
    [[0.1, 0.5], (0.1, 0.5), np.array([0.1, 0.5]), {"continuous_1": 0.5, "continuous_0": 0.1}],
)
def test_each_column_can_have_its_own_limit(limit: Any) -> None:
    rule = Comparability(max_continuous_shift=limit)
    assert rule.holds(person(), other(continuous=[0.4, 0.8])).all()
    assert not rule.holds(person(), other(continuous=[0.8, 0.4])).any()


def test_values_of_opposite_ends_are_far_apart_and_no_warning() -> None:
    assert not Comparability().holds(person(continuous=[1.7e308, 0]), other(continuous=[-1.7e308, 0])).any()


def test_any_number_of_changes_may_be_allowed() -> None:
    rule = Comparability(max_discrete_changes=10**30)
    table = CodedTable(sensitive=[[0], [1]], discrete=[[0, 0], [1, 1]])
    assert len(mine_pairs(table, rule)) == 1


@pytest.mark.parametrize(
    "rule",
    [
        Comparability(),
        Comparability(np.int64(2), np.float32(0.5), np.int32(1)),  # type: ignore[arg-type]  # NumPy's numbers are taken, too
        Comparability(max_continuous_shift=[0.1, np.float64(0.2)], must_match=["a"]),  # type: ignore[arg-type]
        Comparability(max_continuous_shift=np.array([0.1, 0.2])),  # type: ignore[arg-type]
        Comparability(max_ordinal_shift=MappingProxyType({"a": 1})),
    ],
)
def test_a_rule_comes_back_from_json_as_it_was(rule: Comparability) -> None:
    assert Comparability.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule


def test_a_rule_is_not_changed_from_outside() -> None:
    limits = [0.1, 0.2]
    rule = Comparability(max_continuous_shift=limits)
    limits[0] = 9.0
    assert rule == Comparability(max_continuous_shift=[0.1, 0.2])
    assert len({rule, Comparability(max_continuous_shift=(0.1, 0.2))}) == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_discrete_changes": -1}, "max_discrete_changes is -1; give a whole number"),
        ({"max_discrete_changes": 1.0}, "max_discrete_changes is 1.0"),
        ({"max_discrete_changes": True}, "max_discrete_changes is True"),
        ({"max_continuous_shift": -0.1}, "max_continuous_shift is given as -0.1; give a finite number"),
        ({"max_continuous_shift": "0.1"}, "max_continuous_shift is given as '0.1'"),
        ({"max_continuous_shift": [0.1, float("nan")]}, "max_continuous_shift is given as nan"),
        ({"max_continuous_shift": {"a": float("inf")}}, "max_continuous_shift is given as inf"),
        ({"max_continuous_shift": 5}, "max_continuous_shift is given as 5, but it is a share .* give 0.05 for 5%"),
        ({"max_continuous_shift": {"a": 0.1, "b": 2}}, "max_continuous_shift is given as 2, but it is a share"),
        ({"max_continuous_shift": [0.1, 1.5]}, "max_continuous_shift is given as 1.5, but it is a share"),
        ({"max_ordinal_shift": None}, "max_ordinal_shift is given as None"),
        ({"max_ordinal_shift": True}, "max_ordinal_shift is given as True"),
        ({"max_ordinal_shift": np.array([[1.0]])}, r"max_ordinal_shift is given as \[1.0\]"),
        ({"sensitive_differs": "some"}, "sensitive_differs is 'some'; choose 'any', 'all' or 'none'"),
        ({"must_match": "age"}, "must_match is the text 'age'; give a sequence"),
    ],
)
def test_rules_without_sense_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError, match=message):
        Comparability(**parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_continuous_shift": [0.1]}, "max_continuous_shift has 1 limits for the columns"),
        ({"max_continuous_shift": {"continuous_0": 1}}, r"max_continuous_shift gives no limit for \['continuous_1'\]"),
        ({"max_ordinal_shift": {"age": 1}}, r"max_ordinal_shift names unknown columns \['age'\]; the columns are"),
    ],
)
def test_rules_that_do_not_fit_the_table_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError, match=message):
        Comparability(**parameters).holds(person(), other())


def test_a_shift_of_one_allows_the_whole_range_and_ranks_have_no_such_end() -> None:
    rule = Comparability(max_continuous_shift=0.49 * (1 / 0.49) + 1e-15, max_ordinal_shift=5)
    assert rule.holds(person(continuous=[0, 0], ordinal=[0, 0]), other(continuous=[1, 1], ordinal=[5, 5])).all()


def test_a_rule_has_no_other_parts() -> None:
    with pytest.raises(RuleError, match=r"A rule has no \['max_shift'\]; it has \['max_discrete_changes'"):
        Comparability.from_dict({"max_shift": 1})


def test_as_many_rows_on_either_side() -> None:
    with pytest.raises(RuleError, match="1 rows on the left and 2 on the right"):
        Comparability().holds(person(), person()[[0, 0]])


def test_more_rows_than_positions_can_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_problem, "MOST_ROWS", 3)
    three = CodedTable(sensitive=[[0], [1], [2]])
    assert len(mine_pairs(three, Comparability())) == 3
    with pytest.raises(TooManyPairs, match="6 rows, but at most 3 can be searched at a time"):
        mine_pairs(three, three, Comparability())


@pytest.mark.parametrize(
    ("rule", "roles", "words"),
    [
        (
            Comparability(sensitive_differs="all", max_continuous_shift={"age": 0.1}),
            Roles(sensitive=["sex", "race"], continuous="age", label="hired"),
            "Comparable people have the same hired; different sex and race; "
            "continuous columns at most age=0.1 of their range apart.",
        ),
        (
            Comparability(max_discrete_changes=0, must_match=("town",), sensitive_differs="none"),
            Roles(sensitive="sex", discrete=["job", "town"], matched="year"),
            "Comparable people have the same label; the same sex; the same year; the same town; "
            "at most 0 of 1 discrete column changed.",
        ),
        (
            Comparability(max_discrete_changes=2, max_ordinal_shift=1),
            Roles(sensitive="sex", discrete="job", ordinal={"size": ["S", "M"]}, label="y"),
            "Comparable people have the same y; different sex; ordinal columns at most 1 apart in rank.",
        ),
    ],
)
def test_the_rule_can_be_said_in_words(rule: Comparability, roles: Roles, words: str) -> None:
    assert rule.describe(roles) == words
