"""The thresholds go as far as the pairs fit into the budget, and no further; the page can say why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.explore.conftest import ROLES, RULE, make_people

from likewise.comparable import Comparability, count_pairs
from likewise.exceptions import TooManyPairs
from likewise.explore import _reach
from likewise.explore._reach import Point, find_reach, rule_at
from likewise.schema import CodedTable, Roles

PEOPLE = make_people()
TABLE = ROLES.learn(PEOPLE).encode(PEOPLE)


@pytest.mark.parametrize("budget", [100, 400, 1_000, 3_000])
def test_the_pairs_at_the_end_fit_and_any_step_further_does_not(budget: int) -> None:
    reach = find_reach(TABLE, RULE, budget, "auto")
    assert count_pairs(TABLE, rule_at(RULE, reach.end)).total == reach.n_end <= budget
    if reach.end.changes < reach.most_changes:
        further = Point(reach.end.changes + 1, reach.end.shift)
        assert count_pairs(TABLE, rule_at(RULE, further)).total > budget
    if reach.end.shift < 1:
        doubled = Point(reach.end.changes, min(2 * reach.end.shift, 1.0))
        assert count_pairs(TABLE, rule_at(RULE, doubled)).total > budget
        assert f"{budget:,} held" in reach.why


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

    monkeypatch.setattr(_reach, "count_pairs", count)
    reach = find_reach(table, RULE, budget, "auto")
    assert len(counted) < 30
    assert reach.n_end <= budget
    if reach.end.changes < 300:
        assert count_pairs(table, rule_at(RULE, Point(reach.end.changes + 1, reach.end.shift))).total > budget


def test_with_room_for_all_the_thresholds_end_where_they_mean_nothing_more() -> None:
    reach = find_reach(TABLE, RULE, 10**9, "auto")
    assert reach.end == Point(3, 1.0)
    assert "all the way" in reach.why


def test_a_rule_beyond_the_budget_is_tightened_and_the_page_says_so() -> None:
    reach = find_reach(TABLE, Comparability(max_discrete_changes=3, max_continuous_shift=1.0), 500, "auto")
    assert reach.n_asked > 500
    assert reach.start != reach.asked
    assert "starts at a stricter one" in reach.why


def test_too_many_equal_people_are_told_with_a_remedy() -> None:
    with pytest.raises(TooManyPairs, match="max_pairs"):
        find_reach(TABLE[[0] * 40], Comparability(sensitive_differs="none"), 100, "auto")


def test_several_limits_keep_their_proportions() -> None:
    rule = Comparability(max_continuous_shift={"age": 0.1, "pay": 0.2})
    assert rule_at(rule, Point(2, 0.4)).max_continuous_shift == {"age": 0.2, "pay": 0.4}
    assert rule_at(rule, Point(1, 0.2)) == rule
    in_order = Comparability(max_continuous_shift=(0.1, 0.2))
    assert rule_at(in_order, Point(1, 0.1)).max_continuous_shift == (0.05, 0.1)


def test_without_continuous_columns_the_changes_alone_decide() -> None:
    roles = Roles.from_dict(ROLES.to_dict() | {"continuous": [], "ignored": ["age", "pay"]})
    reach = find_reach(roles.learn(PEOPLE).encode(PEOPLE), RULE, 10**9, "auto")
    assert reach.end.changes == 3
    assert "all the way" in reach.why
