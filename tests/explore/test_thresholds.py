"""Thresholds go as far as the pairs fit the budget; at each of them the held pairs are those that mining finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explore.conftest import ROLES, RULE, RULES, make_people
from tests.sizes import sized

from likewise.comparable import Comparability, count_pairs, mine_pairs
from likewise.exceptions import TooManyPairs
from likewise.explore import _thresholds
from likewise.explore._thresholds import (
    Thresholds,
    base_shift,
    find_reach,
    list_tolerances,
    measure_distances,
    rule_at,
)
from likewise.schema import CodedTable, Roles

PEOPLE = make_people()
TABLE = ROLES.learn(PEOPLE).encode(PEOPLE)


@pytest.mark.parametrize("budget", [100, 400, 1_000, 3_000])
def test_the_pairs_at_the_end_fit_and_any_step_further_does_not(budget: int) -> None:
    reach = find_reach(TABLE, RULE, budget)
    assert count_pairs(TABLE, rule_at(RULE, reach.end)).total == reach.n_end <= budget
    if reach.end.changes < reach.most_changes:
        further = Thresholds(reach.end.changes + 1, reach.end.shift)
        assert count_pairs(TABLE, rule_at(RULE, further)).total > budget
    if reach.end.shift < 1:
        doubled = Thresholds(reach.end.changes, min(2 * reach.end.shift, 1.0))
        assert count_pairs(TABLE, rule_at(RULE, doubled)).total > budget
        assert f"{budget:,} held" in reach.why


@pytest.mark.long(2)
@pytest.mark.parametrize("budget", [200, 10**9])
def test_hundreds_of_columns_are_not_tried_one_by_one(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    many = {f"column {i}": random.choice(["no", "yes"], 40) for i in range(300)}
    people = pa.table({"sex": ["f", "m"] * 20, "hired": [0] * 20 + [1] * 20, **many})
    table = Roles(sensitive="sex", discrete=list(many), label="hired").learn(people).encode(people)
    counted: list[Comparability] = []

    def count(table: CodedTable, rule: Comparability, **how: Any) -> Any:
        counted.append(rule)
        return count_pairs(table, rule, **how)

    monkeypatch.setattr(_thresholds, "count_pairs", count)
    reach = find_reach(table, RULE, budget)
    assert len(counted) < 30
    assert reach.n_end <= budget
    if reach.end.changes < 300:
        assert count_pairs(table, rule_at(RULE, Thresholds(reach.end.changes + 1, reach.end.shift))).total > budget


def test_with_room_for_all_the_thresholds_end_where_they_mean_nothing_more() -> None:
    reach = find_reach(TABLE, RULE, 10**9)
    assert reach.end == Thresholds(3, 1.0)
    assert "full range" in reach.why


def test_a_rule_beyond_the_budget_is_tightened_and_the_page_says_so() -> None:
    reach = find_reach(TABLE, Comparability(max_discrete_changes=3, max_continuous_shift=1.0), 500)
    assert reach.n_asked > 500
    assert reach.start != reach.asked
    assert "starts at a stricter one" in reach.why


def test_too_many_equal_people_are_told_with_a_remedy() -> None:
    with pytest.raises(TooManyPairs, match="max_pairs"):
        find_reach(TABLE[[0] * 40], Comparability(sensitive_differs="none"), 100)


def test_several_limits_keep_their_proportions() -> None:
    rule = Comparability(max_continuous_shift={"age": 0.1, "pay": 0.2})
    assert rule_at(rule, Thresholds(2, 0.4)).max_continuous_shift == {"age": 0.2, "pay": 0.4}
    assert rule_at(rule, Thresholds(1, 0.2)) == rule
    in_order = Comparability(max_continuous_shift=(0.1, 0.2))
    assert rule_at(in_order, Thresholds(1, 0.1)).max_continuous_shift == (0.05, 0.1)


def test_without_continuous_columns_the_changes_alone_decide() -> None:
    roles = Roles.from_dict(ROLES.to_dict() | {"continuous": [], "ignored": ["age", "pay"]})
    reach = find_reach(roles.learn(PEOPLE).encode(PEOPLE), RULE, 10**9)
    assert reach.end.changes == 3
    assert "full range" in reach.why


FEWER = make_people(150)
SMALL = ROLES.learn(FEWER).encode(FEWER)
HELD = {
    name: measure_distances(mine_pairs(SMALL, rule_at(rule, Thresholds(3, 1.0))), rule) for name, rule in RULES.items()
}
TIES = st.integers(0, 19).map(lambda k: k / 19)  # ages are whole years of a range of 19
SHIFTS = st.one_of(st.floats(0, 1), TIES, st.integers(0, 200).map(lambda k: k * 0.005))


@pytest.mark.long(3)
@given(changes=st.integers(0, 3), shift=SHIFTS, is_scaled=st.booleans())
@settings(max_examples=sized(10, 60))
@pytest.mark.parametrize("name", RULES)
def test_what_stays_is_what_mining_finds(name: str, changes: int, shift: float, is_scaled: bool) -> None:
    held, rule = HELD[name], RULES[name]
    share = base_shift(rule) if is_scaled else 1.0  # several limits have their ties elsewhere
    point = Thresholds(changes, shift * share)
    stays = held.within(point)
    mined = mine_pairs(SMALL, rule_at(rule, point))
    assert held.pairs.left[stays].tolist() == mined.left.tolist()
    assert held.pairs.right[stays].tolist() == mined.right.tolist()


def test_a_given_rule_keeps_its_own_pairs() -> None:
    for name, rule in RULES.items():
        stays = HELD[name].within(Thresholds(rule.max_discrete_changes, base_shift(rule)))
        assert stays.sum() == len(mine_pairs(SMALL, rule))


@pytest.mark.parametrize("name", RULES)
def test_the_tolerance_of_one_column_keeps_the_pairs_that_mining_finds(name: str) -> None:
    rule = RULES[name]
    reach = find_reach(SMALL, rule, 10**9)
    everything = measure_distances(mine_pairs(SMALL, rule_at(rule, reach.end)), rule)
    for one in list_tolerances(SMALL, rule, reach):
        for amount in (0.0, one.most / 3, 1.0 if one.most > 1 else one.most / 2, one.start, one.most):
            point = Thresholds(2, base_shift(rule), ((one.column, one.limit(amount)),))
            stays, mined = everything.within(point), mine_pairs(SMALL, rule_at(rule, point))
            assert everything.pairs.left[stays].tolist() == mined.left.tolist(), (one, amount)
            assert everything.pairs.right[stays].tolist() == mined.right.tolist()


def test_every_tolerance_of_a_rule_can_be_moved() -> None:
    for name, rule in RULES.items():
        named = {one.column for one in list_tolerances(SMALL, rule, find_reach(SMALL, rule, 10**9))}
        fixed = {"age", "pay", "size"} if name == "limits in order" else set(rule.must_match)
        assert named == {"age", "pay", "size"} - fixed
