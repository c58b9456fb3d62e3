"""A moved threshold gives the numbers of an audit with that rule, to the last bit, whatever the rule is made of."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explore.conftest import ROLES, RULE, RULES, controls, make_people, score_people

from likewise.auditing import Audit, audit
from likewise.exceptions import NoComparablePairs, RuleError, ScoreError
from likewise.explore import Explorer
from likewise.schema import Roles

PEOPLE = make_people()


@cache
def explorer_of(name: str) -> Explorer:
    return Explorer(score_people, PEOPLE, roles=ROLES, rule=RULES[name], **controls(name))


def audit_at(explorer: Explorer, changes: int, shift: float, limit: float, **others: Any) -> Audit | None:
    rule = explorer.rule(changes, shift)
    how: dict[str, Any] = {"n_resamples": 0, "n_worst": 25, "gap_limit": limit}
    try:
        return audit(score_people, PEOPLE, roles=ROLES, rule=rule, **how, **others)
    except NoComparablePairs:
        return None


def agrees(answer: dict[str, Any], found: Audit) -> None:
    assert answer["n_pairs"] == len(found.pairs)
    assert answer["matched_share"] == pytest.approx(found["matched_share"].value)
    for label, one in zip((None, *found.record.labels), answer["slices"], strict=True):
        assert one["n"] == found["gap_mean", label].n
        for name in ("gap_mean", "gap_median", "gap_q3", "gap_q95", "gap_max", "gap_share_above", "rank_gap_mean"):
            assert one.get(name) == pytest.approx(found[name, label].value), (label, name)
        assert one.get("flip_rate") == pytest.approx(found["flip_rate", label].value)
        within, excess = (found.record.measures_of(label).get(name) for name in ("same_group_gap_mean", "excess"))
        if one["n"] and within is not None and excess is not None and within.n:  # sums in another order
            assert one["n_within"] == within.n
            assert one["same_group_gap_mean"] == pytest.approx(within.value)
            assert one.get("excess") == (None if excess.value is None else pytest.approx(excess.value))
        else:
            assert "excess" not in one
    assert answer["pairs"][0]["gap"] == pytest.approx(found["gap_max"].value)
    names = ("n_pairs", "n_lower", "n_higher", "n_equal", "n_flips_down", "n_flips_up")
    told = [[*one["origin"], *one["target"], *(one[name] for name in names)] for one in answer["directions"]]
    sides = zip(found.directions, answer["directions"], strict=True)  # an audit turns them by the adjusted gap
    same = [one if list(one.origin) == list(other["origin"]) else one.reversed() for one, other in sides]
    assert told == [[*one.origin, *one.target, *(getattr(one, name) for name in names)] for one in same]
    assert [one["mean_gap"] for one in answer["directions"]] == pytest.approx([one.mean_gap for one in same])
    partners = [(one["columns"], one["values"], one["n_with_partner"]) for one in answer["partners"]]
    assert partners == [(list(one.columns), list(one.values), one.n_with_partner) for one in found.coverage]
    assert sum(answer["counts"]) == answer["n_pairs"]


def test_at_the_loosest_rule_its_bars_are_those_of_the_report() -> None:
    explorer = explorer_of(next(iter(RULES)))
    end = explorer.reach.end
    found = audit_at(explorer, end.changes, end.shift, 0.1)
    assert found is not None
    shown = found.to_dict()["distributions"]
    assert explorer.about()["edges"] == shown["edges"]
    assert explorer.look({"changes": end.changes, "shift": end.shift})["counts"] == shown["slices"][0]["counts"]


@pytest.mark.long(3)
@given(data=st.data())
@settings(max_examples=3)  # an audit takes a while; test_distances.py looks at many more thresholds
@pytest.mark.parametrize("name", RULES)
def test_every_rule_in_reach_has_the_numbers_of_an_audit(name: str, data: st.DataObject) -> None:
    explorer = explorer_of(name)
    end = explorer.reach.end
    changes = data.draw(st.integers(0, end.changes), "changes")
    shift = data.draw(st.integers(0, 200).map(lambda k: min(k * 0.005, end.shift)), "shift")
    limit = data.draw(st.sampled_from([0.1, 0.2, 0.0]), "limit")
    answer = explorer.look({"changes": changes, "shift": shift, "limit": limit})
    found = audit_at(explorer, changes, shift, limit, **controls(name))
    if found is None:
        assert answer["n_pairs"] == 0
        assert answer["pairs"] == []
        assert answer["slices"][0] == {"label": None, "is_positive": None, "n": 0}
    else:
        agrees(answer, found)


def test_beyond_the_end_is_refused_and_not_guessed() -> None:
    explorer = Explorer(score_people, PEOPLE, roles=ROLES, rule=replace(RULE, max_discrete_changes=0), max_pairs=400)
    end = explorer.reach.end
    assert end.shift < 1
    assert end.changes < 3
    with pytest.raises(RuleError, match="in reach"):
        explorer.look({"changes": end.changes, "shift": end.shift * 1.5})
    with pytest.raises(RuleError, match="discrete changes"):
        explorer.look({"changes": end.changes + 1, "shift": end.shift})


def test_a_rule_without_pairs_is_where_one_can_start_to_loosen() -> None:
    people = pa.table({"sex": ["f", "m"], "age": [20, 60], "y": [1, 1], "p": [0.25, 0.75]})
    roles = Roles(sensitive="sex", continuous="age", label="y", ignored="p")
    explorer = Explorer("p", people, roles=roles, positive=1)
    assert explorer.look({"changes": 0, "shift": 0.025})["n_pairs"] == 0
    assert explorer.look({"changes": 0, "shift": 1.0})["pairs"][0]["gap"] == 0.5


def test_no_pairs_at_all_is_told_as_by_an_audit() -> None:
    people = pa.table({"sex": ["f", "f"], "y": [0, 1], "p": [0.25, 0.75]})
    with pytest.raises(NoComparablePairs, match="No comparable pairs among 2 rows"):
        Explorer("p", people, roles=Roles(sensitive="sex", label="y", ignored="p"))


@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_other_tasks_have_their_audits_numbers_too(task: str) -> None:
    random = np.random.default_rng(0)
    n = 120
    people = make_people(n).drop_columns("hired")
    y = random.choice([0, 1, 2], n) if task == "multiclass" else random.normal(0, 10, n)
    scores = random.dirichlet([1, 1, 1], n) if task == "multiclass" else random.normal(0, 10, n)
    roles = Roles.from_dict(ROLES.to_dict() | {"label": None})
    explorer = Explorer(scores, people, y, roles=roles, rule=RULE)
    rule = explorer.rule(2, 0.2)
    found = audit(scores, people, y, roles=roles, rule=rule, baseline=False, n_resamples=0)
    answer = explorer.look({"changes": 2, "shift": 0.2})
    assert answer["n_pairs"] == len(found.pairs)
    assert answer["slices"][0]["gap_mean"] == found["gap_mean"].value
    assert answer["slices"][0]["gap_q3"] == found["gap_q3"].value
    assert len(answer["slices"]) == (4 if task == "multiclass" else 1)
    assert bool(answer["directions"]) == (task == "regression")
    about = explorer.about()
    assert not about["has_model"]
    assert about["labels"] == ([0, 1, 2] if task == "multiclass" else [])
    pair = answer["pairs"][0]
    assert pair["gap"] == found.worst[0].gap
    assert explorer.to_csv({"changes": 2, "shift": 0.2}).count(b"\n") == answer["n_pairs"] + 1


def test_two_people_stand_side_by_side_as_in_an_audit(explorer: Explorer) -> None:
    found = audit_at(explorer, 1, 0.1, 0.1)
    assert found is not None
    for case in found.worst[:5]:
        first, second = sorted((case.left_row, case.right_row))
        shown = explorer.pair(first, second, 1, 0.1)
        assert shown["is_comparable"]
        names = ("column", "role", "left", "right", "differs", "shift", "tolerance")
        told = [[factor[name] for name in names] for factor in shown["factors"]]
        wanted = [[getattr(factor, name) for name in names] for factor in case.factors]
        if first != case.left_row:
            wanted = [[*one[:2], *one[3:1:-1], *one[4:]] for one in wanted]
        assert sorted(told, key=str) == sorted(wanted, key=str)
        assert {shown["left_decision"], shown["right_decision"]} == {case.left_decision, case.right_decision}
    rows = sorted((found.worst[0].left_row, found.worst[0].right_row))
    assert not explorer.pair(rows[0], rows[1], 0, 0.0)["is_comparable"]


def test_rows_that_are_no_pair_are_refused(explorer: Explorer) -> None:
    for rows in ((0, 0), (1, 0), (0, 10**8), (10**8, 10**9)):
        with pytest.raises(RuleError, match="no pair"):
            explorer.pair(*rows, 1, 0.1)
    for rows in ((-1, 2), (0.5, 2), ("0", 1), (True, 1)):  # type: ignore[assignment]  # what a stranger may send
        with pytest.raises(ValueError, match="left"):
            explorer.pair(*rows, 1, 0.1)


def test_without_a_model_what_if_says_so() -> None:
    scores = score_people(PEOPLE)[:, 1]
    explorer = Explorer(scores, PEOPLE, roles=ROLES, rule=RULE)
    with pytest.raises(ScoreError, match="no model"):
        explorer.what_if(0, 1, "left", {"age": 30})


@pytest.mark.parametrize("gap", [0.0, 1e-3, 1.0])
def test_where_nobody_differs_by_much_the_bins_still_have_a_width(gap: float) -> None:
    people = pa.table({"sex": ["f", "m"] * 4, "age": [1.0] * 8, "paid": [float(i) for i in range(8)]})
    roles = Roles(sensitive="sex", continuous="age", label="paid")
    scores = np.tile([0.5, 0.5 + gap], 4)
    explorer = Explorer(scores, people, roles=roles, task="regression", scale=1e12)
    assert np.diff(explorer.about()["edges"]).min() > 0
    assert sum(explorer.look({"changes": 0, "shift": 0.0})["counts"]) == 16


def test_questions_asked_at_once_get_each_its_own_answer(explorer: Explorer) -> None:
    points = [{"changes": changes, "shift": shift} for changes in (0, 1, 2) for shift in (0.0, 0.02, 0.05, 0.1)]
    alone = [explorer.look(point) for point in points]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(explorer.look, points * 3)) == alone * 3


def test_a_tolerance_of_one_column_has_the_numbers_of_an_audit_and_is_in_the_rule_to_take_away() -> None:
    explorer = explorer_of("one limit in units")
    moved = {"age": 2.0, "pay": 0.35}
    answer = explorer.look({"changes": 2, "shift": 0.2, "tolerances": moved})
    rule = explorer.rule(2, 0.2, moved)
    assert dict(rule.limits) == {"age": "2", "pay": "0.35"}
    agrees(answer, audit(score_people, PEOPLE, roles=ROLES, rule=rule, n_resamples=0, n_worst=25, gap_limit=0.1))
    assert '"age" = "2"' in explorer.to_toml({"changes": 2, "shift": 0.2, "tolerances": moved})
    for wrong, why in (
        ({"age": 4.0}, "At most 3 is in reach"),
        ({"job": 1.0}, "no tolerance"),
        ({"age": -1.0}, "tolerances"),
    ):
        with pytest.raises((RuleError, ValueError), match=why):
            explorer.look({"changes": 2, "shift": 0.2, "tolerances": wrong})
