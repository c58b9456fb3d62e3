"""Limits on one transition between sensitive values: the numbers of that transition, from the side that is named."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from likewise import Policy, audit, load_dataset
from likewise.auditing import Audit, Direction
from likewise.auditing.policy._verdict import find_transition
from likewise.exceptions import PolicyError
from likewise.record import AuditRecord
from likewise.report import to_html, to_junit, to_markdown


@cache
def lender() -> Audit:
    """The planted lender, who scores "green" lower by 0.1."""
    data = load_dataset("planted")
    scores = np.clip(data.scores(data.test.X) + np.random.default_rng(0).normal(0, 0.05, len(data.test.X)), 0, 1)
    return audit(scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)


def largest() -> tuple[str, Direction]:
    found = lender()
    one = max((one for one in found.directions if one.low is not None), key=lambda one: one.n_lower)
    return one.name(found.record.sensitive), one


def outcome(name: str, **limits: float) -> str:
    return lender().judge(Policy(min_pairs=5, transitions={name: limits})).outcome


def test_a_limit_is_judged_by_the_interval_of_the_transition_it_names() -> None:
    name, one = largest()
    assert one.low is not None
    assert one.high is not None
    assert one.higher_interval is not None
    assert outcome(name, min_signed_gap=one.low - 0.01) == "pass"
    assert outcome(name, min_signed_gap=one.high + 0.01) == "fail"
    assert outcome(name, max_signed_gap=(one.low + one.high) / 2) == "inconclusive"
    assert one.adjusted_low is not None
    assert one.adjusted_high is not None
    assert outcome(name, min_adjusted_gap=one.adjusted_low - 0.01) == "pass"
    assert outcome(name, min_adjusted_gap=one.adjusted_high + 0.01) == "fail"
    assert outcome(name, max_target_better_rate=min(one.higher_interval[1] + 0.01, 1.0)) == "pass"
    assert lender().judge(
        Policy(min_pairs=one.n_pairs + 1, transitions={name: {"min_target_better_rate": 0}})
    ).outcome == ("inconclusive")


def test_the_other_way_round_signs_and_shares_are_the_other_groups() -> None:
    _, one = largest()
    columns = lender().record.sensitive
    back = one.reversed()
    assert find_transition(back.name(columns), {columns: lender().directions}) == (back, back.name(columns))
    there, again = one.measures, back.measures
    assert again["signed_gap"].value == -there["signed_gap"].value  # type: ignore[operator]
    assert there["target_better_rate"].value == one.n_higher / one.n_pairs
    assert again["target_better_rate"].value == one.n_lower / one.n_pairs
    assert again["target_only_rate"].value == one.n_flips_down / one.n_pairs  # type: ignore[operator]
    assert back.reversed() == one
    for measure in (*there.values(), *again.values()):
        assert measure.low <= measure.value <= measure.high  # type: ignore[operator]


@pytest.mark.parametrize("write", [str, lambda name: name.replace("→", "->"), lambda name: name.split(": ")[1]])
def test_arrows_may_be_plain_and_columns_left_out(write: Any) -> None:
    name, one = largest()
    (check,) = lender().judge(Policy(transitions={write(name): {"max_target_better_rate": 1}})).checks
    assert check.part == name
    assert check.measure == one.measures["target_better_rate"]


def test_toml_python_and_plain_data_say_the_same() -> None:
    text = '[{}transitions."sex: m -> f"]\nmin_signed_gap = -0.05\nmax_target_only_rate = 0.1\n'
    policy = Policy(transitions={"sex: m → f": {"min_signed_gap": -0.05, "max_target_only_rate": 0.1}})
    assert Policy.from_toml_text(text.format("")) == Policy.from_toml_text(text.format("policy.")) == policy
    assert Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy
    assert policy != Policy(transitions={"sex: f → m": policy.transitions["sex: m → f"]})


def test_the_record_and_every_report_name_the_transition() -> None:
    name, _ = largest()
    verdict = lender().judge(Policy(transitions={name: {"max_signed_gap": -0.5}}))
    record = lender().to_dict(verdict)
    assert AuditRecord.of(json.loads(json.dumps(record))) == lender().to_record(verdict)
    assert record["verdict"]["checks"][0]["part"] == name
    shown = name.replace(">", "&gt;")
    for text in (to_junit(record), to_html(record), to_markdown(record), str(verdict)):
        assert shown in text
    assert f'name="max_signed_gap[{name}]"' in to_junit(record)


@pytest.mark.parametrize(
    ("transitions", "message"),
    [
        ({"sex": {"max_target_better_rate": 0.5}}, "'sex' is no transition. Write it as 'sex: Male → Female'"),
        ({"a → b": {}}, "Transition 'a → b' has no limits"),
        ({"a → b": 0.5}, "Transition 'a → b' has no limits"),
        (
            {"a → b": {"max_gap_mean": 0.5}},
            "no limit 'max_gap_mean'. Here, max_ or min_ and signed_gap, adjusted_gap",
        ),
        ({"a → b": {"target_better_rate": 0.5}}, "Write max_target_better_rate or min_target_better_rate"),
        ({"a → b": {"max_target_better_rate": 5}}, "Give 0.05 for 5%"),
        ({"a → b": {"max_target_better_rate": 0.1, "min_target_better_rate": 0.2}}, "nothing meets both"),
        ({"a → b": {"max_target_better_rate": 1}, "a  -> b": {"max_target_better_rate": 1}}, "given twice"),
        ("a → b", "map each transition to its limits"),
    ],
)
def test_what_is_no_limit_on_a_transition_is_refused(transitions: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(message)):
        Policy(transitions=transitions)


def test_an_unknown_transition_is_answered_with_those_there_are() -> None:
    columns = lender().record.sensitive
    with pytest.raises(PolicyError, match="There is no transition 'group: red → green'") as caught:
        lender().judge(Policy(transitions={"group: red → green": {"max_target_better_rate": 0.5}}))
    assert f"'{lender().directions[0].name(columns)}'" in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(PolicyError, match="no pair differs in a sensitive column"):
        find_transition("a → b", {("sex",): ()})


@pytest.mark.parametrize("limit", [-5.0, 5.0])
def test_a_limit_in_percent_is_noticed_on_either_side(limit: float) -> None:
    name, _ = largest()
    with pytest.raises(PolicyError, match=f"Give {limit / 100:g} for {limit:g}%"):
        outcome(name, **{"min_signed_gap": limit})
