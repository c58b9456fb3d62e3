"""At every threshold in reach the held pairs that stay are exactly those that mining finds, ties included."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explore.conftest import ROLES, RULES, make_people

from likewise.comparable import mine_pairs
from likewise.explore._distances import measure_distances
from likewise.explore._reach import Point, base_shift, rule_at

PEOPLE = make_people(150)
TABLE = ROLES.learn(PEOPLE).encode(PEOPLE)
HELD = {name: measure_distances(mine_pairs(TABLE, rule_at(rule, Point(3, 1.0))), rule) for name, rule in RULES.items()}
TIES = st.integers(0, 19).map(lambda k: k / 19)  # ages are whole years of a range of 19
SHIFTS = st.one_of(st.floats(0, 1), TIES, st.integers(0, 200).map(lambda k: k * 0.005))


@given(changes=st.integers(0, 3), shift=SHIFTS, is_scaled=st.booleans())
@settings(max_examples=60)
@pytest.mark.parametrize("name", RULES)
def test_what_stays_is_what_mining_finds(name: str, changes: int, shift: float, is_scaled: bool) -> None:
    held, rule = HELD[name], RULES[name]
    share = base_shift(rule) if is_scaled else 1.0  # several limits have their ties elsewhere
    point = Point(changes, shift * share)
    stays = held.within(point)
    mined = mine_pairs(TABLE, rule_at(rule, point))
    assert held.pairs.left[stays].tolist() == mined.left.tolist()
    assert held.pairs.right[stays].tolist() == mined.right.tolist()


def test_a_given_rule_keeps_its_own_pairs() -> None:
    for name, rule in RULES.items():
        stays = HELD[name].within(Point(rule.max_discrete_changes, base_shift(rule)))
        assert stays.sum() == len(mine_pairs(TABLE, rule))
