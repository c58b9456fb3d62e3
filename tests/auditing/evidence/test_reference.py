"""Target and control: directions, rates and measures are stated from the target's side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import Audit, CodedTable, Comparability, Policy, Roles, audit
from likewise.auditing import GroupRate, Scores, impact_ratio, rate_groups
from likewise.auditing.evidence._groups import measure_impact
from likewise.exceptions import LikewiseError, ParameterError
from likewise.explore import Explorer
from likewise.report import to_html, to_markdown

RULE = Comparability(max_discrete_changes=0, max_continuous_shift=0.1)
ROLES = Roles(sensitive=["race", "sex"], continuous="age")


def applicants(n: int = 200) -> pd.DataFrame:
    random = np.random.default_rng(4)
    race, sex = random.choice(["blue", "green", "red"], n), random.choice(["f", "m"], n)
    return pd.DataFrame({"race": race, "sex": sex, "age": random.integers(20, 60, n)})


PEOPLE = applicants()
P = np.clip(0.2 + 0.3 * (PEOPLE.race == "red") + PEOPLE.age / 150 + np.random.default_rng(1).normal(0, 0.1, 200), 0, 1)


def audited(**others: Any) -> Audit:
    how: dict[str, Any] = {"roles": ROLES, "rule": RULE, "n_resamples": 50}
    return audit(P.to_numpy(), PEOPLE, **how | others)


def signed_by_hand(found: Audit, control: str) -> Any:
    """Return target minus control of every pair with one of each, by the definition."""
    race = PEOPLE.race.to_numpy()
    pairs = [(a, b) for a, b in zip(found.pairs.left, found.pairs.right, strict=True)]
    pairs += [(b, a) for a, b in pairs]
    return np.array([P[a] - P[b] for a, b in pairs if race[b] == control and race[a] != control])


@pytest.mark.long(3)
@pytest.mark.parametrize("how", [{}, {"max_pairs": 300}, {"favourable": "low"}])
def test_measures_are_those_of_all_pairs_of_a_target_and_a_control(how: dict[str, Any]) -> None:
    whole = audited(n_resamples=0)
    gaps = signed_by_hand(whole, "red") * (-1 if how.get("favourable") == "low" else 1)
    found = audited(reference="red", **how)
    mean = found["signed_gap"]
    assert mean.value == pytest.approx(gaps.mean())
    assert mean.n == len(gaps)
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low <= gaps.mean() <= mean.high
    race, approved = PEOPLE.race.to_numpy(), (P.to_numpy() >= 0.5) == (how.get("favourable") != "low")
    sides = [(a, b) for a, b in zip(whole.pairs.left, whole.pairs.right, strict=True) if "red" in (race[a], race[b])]
    sides = [(a, b) if race[b] == "red" else (b, a) for a, b in sides if race[a] != race[b]]
    only_control = np.mean([approved[b] and not approved[a] for a, b in sides])
    only_target = np.mean([approved[a] and not approved[b] for a, b in sides])
    assert found["control_only_rate"].value == pytest.approx(only_control)
    assert found["target_only_rate"].value == pytest.approx(only_target)


def test_directions_are_stated_from_the_targets_side_and_lose_nothing() -> None:
    plain, found = audited(), audited(reference={"race": "green"})
    targets = [
        one for one in found.directions if "green" in (one.origin[0], one.target[0]) and one.origin[0] != one.target[0]
    ]
    assert targets
    assert all(one.origin[0] == "green" for one in targets)
    assert any(one.mean_gap > 0 for one in targets)  # red people are better off: that stays shown
    assert {frozenset((one.origin, one.target)) for one in found.directions} == {
        frozenset((one.origin, one.target)) for one in plain.directions
    }
    known = {
        (one.origin, one.target): one for both in ((one, one.reversed()) for one in plain.directions) for one in both
    }
    assert all(known[one.origin, one.target] == one for one in found.directions)
    assert all(one.lean <= 0 for one in found.directions if one not in targets)


def test_rates_are_compared_with_those_of_the_control() -> None:
    found = audited(reference={"race": ["red", "blue"], "sex": "f"})
    rates = {one.values: one for one in found.groups}
    approved, race = P.to_numpy() >= 0.5, PEOPLE.race.to_numpy()
    control = approved[race != "green"].mean()
    assert rates["green",].impact_ratio == pytest.approx(approved[race == "green"].mean() / control)
    assert [values for values, one in rates.items() if one.is_reference] == [*(("blue",), ("red",), ("f",))]
    assert found.record.settings.reference == {"race": ("red", "blue"), "sex": ("f",)}
    expected = min(rates["green",].impact_ratio or 9, rates["m",].impact_ratio or 9)
    assert found["impact_ratio"].value == pytest.approx(expected)


def test_pages_and_explorer_speak_of_target_and_control() -> None:
    found = audited(reference="red")
    page, text = to_html(found.record), to_markdown(found.record, rows=True)
    for words in ("Only the control approved", "(control)", "it is under “From”"):
        assert words in page
        assert words in text.replace("\\", "")
    explorer = Explorer(P.to_numpy(), PEOPLE, roles=ROLES, rule=RULE, reference="red")
    answer = explorer.look({"changes": 0, "shift": 0.1})
    ends = {(tuple(one["origin"]), tuple(one["target"])) for one in answer["directions"]}
    named = {(one.origin, one.target) for one in found.directions}
    assert {frozenset(one) for one in ends} == {frozenset(one) for one in named}
    controls = {one for one in named if "red" in one[0] and "red" not in one[1]}
    assert controls
    assert controls <= ends


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("pink", "no sensitive column has; they have blue, green, red"),
        ("gren", "Did you mean 'green'"),
        (["red", "green", "blue"], "all values of 'race'"),
        ({"age": 30}, "names 'age'"),
        ({"sex": "red"}, "no sensitive column has; they have f, m"),
    ],
)
def test_a_wrong_reference_is_refused_in_a_line(reference: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        audited(reference=reference, n_resamples=0)


def test_zero_is_a_value_like_any_other() -> None:
    people = PEOPLE.assign(sex=(PEOPLE.sex == "f").astype(int))
    found = audit(P.to_numpy(), people, roles=ROLES, rule=RULE, n_resamples=0, reference={"sex": 0})
    assert audit(P.to_numpy(), people, roles=ROLES, rule=RULE, n_resamples=0, reference=0).measures == found.measures
    assert found.record.settings.reference == {"sex": (0,)}
    assert found["signed_gap"].n > 0


def test_a_control_group_that_is_too_small_is_not_replaced_by_another() -> None:
    sizes = {"blue": 20, "green": 50, "red": 60}
    rates = [
        GroupRate(("race",), (name,), n, 0.5 if name != "green" else 0.3, is_reference=name == "blue")
        for name, n in sizes.items()
    ]
    assert impact_ratio(rates) is None
    assert impact_ratio(rates, min_people=10) == pytest.approx(0.6)


def test_a_value_of_two_columns_needs_its_column() -> None:
    people = PEOPLE.assign(sex=np.where(PEOPLE.sex == "f", "red", "m"))
    with pytest.raises(LikewiseError, match=r"'race' and 'sex'\. Name the column"):
        audit(P.to_numpy(), people, roles=ROLES, rule=RULE, n_resamples=0, reference="red")


def test_policies_limit_directions() -> None:
    found = audited(reference="red")
    assert found.judge(Policy(min_signed_gap=-0.05)).outcome == "fail"
    assert found.judge(Policy(min_signed_gap=-0.9, max_control_only_rate=0.99)).outcome == "pass"
    assert found.judge(Policy(max_control_only_rate=0.01)).outcome == "fail"
    unnamed = audited().judge(Policy(min_signed_gap=-0.05))
    assert unnamed.outcome == "inconclusive"
    assert "no reference" in unnamed.checks[0].reason
    with pytest.raises(LikewiseError, match="at most 1"):
        Policy(max_control_only_rate=5)


def test_the_impact_ratio_is_judged_by_its_interval() -> None:
    def outcome(chosen: int, others: int, n: int) -> str:
        people = pd.DataFrame({"sex": ["f"] * n + ["m"] * n, "job": 1})
        scores = np.concatenate([np.arange(n) < chosen, np.arange(n) < others]).astype(int)
        roles = Roles(sensitive="sex", discrete="job")
        return audit(scores, people, roles=roles, n_resamples=40).judge(Policy(min_impact_ratio=0.8)).outcome

    assert outcome(35, 40, 50) == "inconclusive"  # 0.875 of few people
    assert outcome(380, 400, 500) == "pass"
    assert outcome(10, 40, 50) == "fail"
    assert outcome(0, 40, 50) == "fail"


@given(st.integers(0, 60), st.integers(1, 60))
@settings(max_examples=sized(10, 40))
def test_the_ratio_is_within_its_interval_and_turns_round(chosen: int, others: int) -> None:
    one, other = (GroupRate(("sex",), (name,), 60, k / 60) for name, k in (("f", chosen), ("m", others)))
    found = measure_impact([one, other], 120, 0.95)
    assert found.value == impact_ratio([one, other])
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= (found.value or 0) <= found.high


def test_the_interval_of_the_ratio_covers_it_as_often_as_it_says() -> None:
    random = np.random.default_rng(8)
    n, rates, n_tries = 80, (0.3, 0.5), 1500
    drawn = random.binomial(n, rates, size=(n_tries, 2)) / n
    n_covered = 0
    for low_rate, high_rate in drawn:
        groups = [
            GroupRate(("sex",), ("f",), n, float(low_rate)),
            GroupRate(("sex",), ("m",), n, float(high_rate), is_reference=True),
        ]
        found = measure_impact(groups, 2 * n, 0.95)
        n_covered += (found.low or 0) <= rates[0] / rates[1] <= (found.high or 0)
    assert 0.935 <= n_covered / n_tries <= 0.97


def test_rates_have_intervals_where_asked_for() -> None:
    table = CodedTable(sensitive=[[0], [0], [1], [1]])
    scores = Scores(np.array([0.0, 1.0, 1.0, 1.0]), "binary", decisions=np.array([0, 1, 1, 1]))
    assert all(one.selection_interval is None for one in rate_groups(scores, table))
    low, high = (one.selection_interval or (9, 9) for one in rate_groups(scores, table, confidence=0.9))
    assert low[0] < 0.5 < low[1]
    assert (low[0] < high[0], high[1]) == (True, 1.0)


def rates_by_hand(found: Audit, is_control: Any) -> tuple[float, float, int]:
    """Return how often only the control, and only the target, is approved in the pairs that have one of each."""
    approved = P.to_numpy() >= 0.5
    sides = [(a, b) for a, b in zip(found.pairs.left, found.pairs.right, strict=True) if is_control[a] != is_control[b]]
    sides = [(a, b) if is_control[b] else (b, a) for a, b in sides]
    only_control = np.mean([approved[b] and not approved[a] for a, b in sides])
    return float(only_control), float(np.mean([approved[a] and not approved[b] for a, b in sides])), len(sides)


def test_each_column_has_its_own_control_and_a_combination_only_where_it_is_named() -> None:
    reference = {"race": "red", "sex": "m", ("sex", "race"): ("m", "blue")}
    found = audited(reference=reference, n_resamples=0)
    joint = (PEOPLE.race == "blue") & (PEOPLE.sex == "m")
    for part, is_control in {"race": PEOPLE.race == "red", "sex": PEOPLE.sex == "m", "race, sex": joint}.items():
        control, target, n = rates_by_hand(found, is_control.to_numpy())
        assert found[f"control_only_rate[{part}]"].value == pytest.approx(control)
        assert found[f"target_only_rate[{part}]"].value == pytest.approx(target)
        assert found[f"signed_gap[{part}]"].n == n
    assert found.record.settings.reference == {"race": ("red",), "sex": ("m",), "race, sex": (("blue", "m"),)}
    again = audited(reference=found.record.settings.reference, n_resamples=0)
    assert again.measures == found.measures
    assert audited(reference=reference | {("sex", "race"): "m, blue"}, n_resamples=0).measures == again.measures
    assert [one.values for one in found.groups if one.is_reference and len(one.columns) == 2] == [("blue", "m")]


@pytest.mark.parametrize(
    ("reference", "message"),
    [({("race", "age"): ("red", 30)}, "names"), ({"race, sex": "red"}, "give a value of each of")],
)
def test_a_wrong_combination_is_refused_in_a_line(reference: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        audited(reference=reference, n_resamples=0)
