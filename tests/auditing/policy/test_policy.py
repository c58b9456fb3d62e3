"""A policy means what it says, refuses what it cannot mean, and is judged on the confidence bound."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import audit, load_dataset
from likewise._format import sum_up
from likewise.auditing import Measure, Policy, Verdict
from likewise.auditing.policy._verdict import judge
from likewise.exceptions import PolicyError
from likewise.record._internal import MEASURES, Note

BOTH_SIDES = ["signed_gap", "adjusted_gap", "target_only_rate", "control_better_rate", "target_better_rate"]
BOTH_SIDES += ["sensitive_part", "sensitive_part_share", "impact_ratio", "score_spread"]
AT_LEAST = ["roc_auc", "average_precision", "accuracy", "balanced_accuracy", "f1", "r2"]
AT_LEAST += ["matched_share", "certified_share"]
LIMITED = [name for name, kind in MEASURES.items() if kind.is_of_whole]
FEW = settings(max_examples=sized(15, 60))
shares = st.floats(0, 1)
limit_names = st.sampled_from([f"{MEASURES[name].sense or 'max'}_{name}" for name in LIMITED])


@st.composite
def measures(draw: st.DrawFn) -> Measure:
    low, value, high = sorted(draw(st.tuples(shares, shares, shares)))
    has_interval = draw(st.booleans())
    return Measure(value, low if has_interval else None, high if has_interval else None, draw(st.integers(0, 100)))


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    limits = draw(st.dictionaries(limit_names, shares, min_size=1, max_size=4))
    return Policy(min_pairs=draw(st.integers(0, 60)), **limits)  # type: ignore[arg-type]  # no transitions


def outcome(measure: Measure, min_pairs: int = 30, **limits: float) -> str:
    policy = Policy(min_pairs=min_pairs, **limits)  # type: ignore[arg-type]  # no transitions
    return judge({"flip_rate": measure}, policy).outcome


@pytest.mark.parametrize("name", LIMITED)
def test_every_measure_can_be_limited_but_not_on_its_better_side(name: str) -> None:
    senses = ["max", "min"] if name in BOTH_SIDES else ["min"] if name in AT_LEAST else ["max"]
    for sense in ("max", "min"):
        if sense in senses:
            assert list(Policy.from_dict({f"{sense}_{name}": 0.5}).limits) == [f"{sense}_{name}"]
        else:
            with pytest.raises(PolicyError, match=rf"the worse side\. Write {senses[0]}_{name}\.$"):
                Policy.from_dict({f"{sense}_{name}": 0.5})


@given(policies())
@FEW
def test_plain_data_gives_the_same_policy(policy: Policy) -> None:
    assert Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy
    assert copy.deepcopy(Policy.from_dict(policy.to_dict())).to_dict() == policy.to_dict()


@given(policies())
@FEW
def test_toml_gives_the_same_policy_at_the_top_and_in_its_table(policy: Policy) -> None:
    text = "\n".join(f"{name} = {value!r}" for name, value in policy.to_dict().items())
    assert Policy.from_toml_text(text) == Policy.from_toml_text(f"[policy]\n{text}") == policy


def test_policies_are_equal_by_content_and_cannot_be_changed() -> None:
    policy = Policy(max_flip_rate=0.05, min_roc_auc=1)
    assert policy == Policy(min_roc_auc=1.0, max_flip_rate=np.float32(0.05).astype(float).round(2))
    assert policy != Policy(max_flip_rate=0.05, min_roc_auc=1, min_pairs=31)
    assert policy != "a policy"
    assert repr(policy) == "Policy(max_flip_rate=0.05, min_roc_auc=1.0, min_pairs=30)"
    with pytest.raises(AttributeError):
        policy.min_pairs = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        policy.limits["max_flip_rate"] = 1  # type: ignore[index]
    with pytest.raises(TypeError):
        hash(policy)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_gap_meen": 0.1}, "'max_gap_meen'. Did you mean 'max_gap_mean'?"),
        ({"flip_rate": 0.1}, "Write max_flip_rate."),
        ({"impact_ratio": 0.8}, "Write max_impact_ratio or min_impact_ratio."),
        ({"min_pair": 3}, "Did you mean 'min_pairs'?"),
        ({"max_": 0.1}, "A policy has no limit 'max_'"),
        ({"x": 0.1}, "max_ or min_ and a measure"),
        ({"max_foo": 0.1}, "no limit 'max_foo'. Limits are max_ or min_ and a measure"),
        ({"max_disparity": 0.1}, "likewise.auditing.MEASURES has their names"),
        ({"max_flip_rate": True}, "max_flip_rate is True"),
        ({"max_flip_rate": "5%"}, "give a finite number"),
        ({"max_flip_rate": None}, "give a finite number"),
        ({"max_flip_rate": math.nan}, "give a finite number"),
        ({"max_gap_mean": math.inf}, "give a finite number"),
        ({"max_gap_mean": 10**400}, "give a finite number"),
        (
            {"max_flip_rate": 5},
            "max_flip_rate is 5, but flip_rate is always at least 0 and at most 1. Give 0.05 for 5%.",
        ),
        ({"min_roc_auc": 80}, "Give 0.8 for 80%."),
        ({"max_gap_mean": -0.1}, "gap_mean is always at least 0."),
        ({"min_r2": 1.1}, "r2 is always at most 1."),
        ({"max_excess_flips": -1.5}, "at least -1 and at most 1"),
        ({"max_score_spread": 0.2, "min_score_spread": 0.3}, "min_score_spread is 0.3 and max_score_spread is 0.2"),
        ({"min_pairs": 0.5}, "min_pairs is 0.5"),
        ({"min_pairs": True}, "min_pairs is True"),
        ({"min_pairs": -1}, "min_pairs is -1"),
    ],
)
def test_what_cannot_be_meant_is_refused(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as error:
        Policy.from_dict(limits)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("data", [{1: 0.2}, [("max_flip_rate", 0.2)], None])
def test_what_is_no_mapping_of_names_is_refused(data: Any) -> None:
    with pytest.raises(PolicyError):
        Policy.from_dict(data)


def test_a_policy_can_live_in_a_file_of_its_own_or_in_the_project_file(tmp_path: Path) -> None:
    own, project = tmp_path / "policy.toml", tmp_path / "pyproject.toml"
    own.write_text("\ufeffmax_flip_rate = 0.05\nmin_pairs = 10\n", "utf-8")
    project.write_text("[project]\nname = 'x'\n[tool.likewise.policy]\nmax_flip_rate = 0.05\nmin_pairs = 10\n", "utf-8")
    assert Policy.from_toml(own) == Policy.from_toml(str(project)) == Policy(max_flip_rate=0.05, min_pairs=10)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("policy.toml", b"max_flip_rate = \n", "(at line 1, column 17)"),
        ("policy.toml", b"max_flip_rate = 0.1\nmax_flip_rate = 0.2\n", "is not TOML"),
        ("policy.toml", b"\xff\xfe", "not text in UTF-8"),
        ("policy.toml", b"max_flp_rate = 0.1", "Did you mean 'max_flip_rate'?"),
        ("policy.toml", b"max_flip_rate = 2020-01-01", "max_flip_rate is datetime.date"),
        ("policy.toml", b"policy = 3", "A policy is limits by name"),
        (
            "policy.toml",
            b"min_pairs = 3\n[policy]\nmax_flip_rate = 0.1",
            "'min_pairs' stands beside the table [policy]",
        ),
        ("policy.toml", b"a = " + b"[" * 5_000, "is not TOML"),
        ("pyproject.toml", b"max_flip_rate = 0.1", "no table [tool.likewise.policy]"),
        ("pyproject.toml", b"tool = 1", "no table [tool.likewise.policy]"),
    ],
)
def test_a_bad_file_is_one_line_with_the_place(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PolicyError) as error:
        Policy.from_toml(tmp_path / name)
    assert message in str(error.value)
    assert name in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("path", ["absent.toml", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, path: str) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        Policy.from_toml(tmp_path / path)


@pytest.mark.parametrize(
    ("measure", "limits", "expected"),
    [
        (Measure(0.04, 0.03, 0.05, 99), {"max_flip_rate": 0.05}, "pass"),
        (Measure(0.04, 0.03, 0.06, 99), {"max_flip_rate": 0.05}, "inconclusive"),
        (Measure(0.06, 0.05, 0.07, 99), {"max_flip_rate": 0.05}, "inconclusive"),
        (Measure(0.07, 0.06, 0.08, 99), {"max_flip_rate": 0.05}, "fail"),
        (Measure(0.07, 0.06, 0.08, 99), {"min_f1": 0.06}, "pass"),
        (Measure(0.07, 0.06, 0.08, 99), {"min_f1": 0.065}, "inconclusive"),
        (Measure(0.07, 0.06, 0.08, 99), {"min_f1": 0.09}, "fail"),
        (Measure(0.05, 0.05, 0.05, n=99), {"max_flip_rate": 0.05}, "pass"),
        (Measure(0.1, 0.1, 0.4 - 0.3, n=99), {"max_flip_rate": 0.1}, "pass"),  # 0.10000000000000003
        (Measure(0.05, n=99), {"max_flip_rate": 0.06}, "inconclusive"),  # nothing passes, or fails, without an interval
        (Measure(0.06, n=99), {"max_flip_rate": 0.05}, "inconclusive"),
        (Measure(0.0, 0.0, 0.0, 29), {"max_flip_rate": 0.05}, "inconclusive"),
        (Measure(1.0, 1.0, 1.0, 29), {"max_flip_rate": 0.05}, "inconclusive"),
        (Measure(None, n=99), {"max_flip_rate": 0.05}, "inconclusive"),
        (Measure(math.nan, n=99), {"max_flip_rate": 0.05}, "inconclusive"),
        (Measure(0.04, math.nan, math.nan, 99), {"max_flip_rate": 0.05}, "inconclusive"),
        (Measure(0.2, 0.0, 0.01, 99), {"max_flip_rate": 0.05}, "inconclusive"),  # an interval that misses its value
        (Measure(0.04, 0.03, None, 99), {"max_flip_rate": 0.05}, "inconclusive"),  # no end: it may be anything above
        (Measure(0.07, 0.06, None, 99), {"max_flip_rate": 0.05}, "fail"),
        (Measure(0.07, 0.06, None, 99), {"min_f1": 0.05}, "pass"),
        (Measure(0.04, 0.03, 0.05, 99), {}, "inconclusive"),
        (Measure(0.04, 0.03, 0.05, 99), {"min_roc_auc": 0.5}, "inconclusive"),
    ],
)
def test_a_limit_is_judged_on_the_confidence_bound(measure: Measure, limits: dict[str, float], expected: str) -> None:
    assert judge({"flip_rate": measure, "f1": measure}, Policy.from_dict(limits)).outcome == expected


def test_min_pairs_is_not_asked_of_measures_of_people() -> None:
    for name in [name for name in LIMITED if MEASURES[name].family == "people"]:
        limit = {f"{MEASURES[name].sense or 'max'}_{name}": 0.5}
        assert judge({name: Measure(0.5, 0.5, 0.5, n=3)}, Policy.from_dict(limit)).outcome == "pass"


@given(measures(), shares, shares, limit_names)
@FEW
def test_a_looser_limit_never_judges_harder(measure: Measure, one: float, other: float, name: str) -> None:
    rank = {"fail": 0, "inconclusive": 1, "pass": 2}
    strict, loose = sorted([one, other], reverse=name.startswith("min_"))
    found = {name[4:]: measure}
    harder, softer = (judge(found, Policy(**{name: limit})) for limit in (strict, loose))  # type: ignore[arg-type]
    assert rank[harder.outcome] <= rank[softer.outcome]


@given(measures(), shares)
@FEW
def test_a_wider_interval_never_decides_what_a_narrower_did_not(measure: Measure, limit: float) -> None:
    if measure.value is None or measure.low is None or measure.high is None:
        return
    wider = replace(measure, low=measure.low - 0.1, high=measure.high + 0.1)
    if outcome(wider, max_flip_rate=limit) != "inconclusive":
        assert outcome(measure, max_flip_rate=limit) == outcome(wider, max_flip_rate=limit)


@given(policies(), st.dictionaries(st.sampled_from(LIMITED), measures(), max_size=40))
@FEW
def test_the_worst_check_decides_and_is_told(policy: Policy, found: dict[str, Measure]) -> None:
    verdict = judge(found, policy)
    outcomes = [check.outcome for check in verdict.checks]
    assert [check.name for check in verdict.checks] == list(policy.limits)
    expected = "fail" if "fail" in outcomes else "pass" if outcomes and set(outcomes) == {"pass"} else "inconclusive"
    assert verdict.outcome == expected
    assert verdict.exit_code == {"pass": 0, "fail": 1, "inconclusive": 3}[expected]
    assert str(verdict).lower().startswith(expected)
    assert all(check.reason in str(verdict) for check in verdict.checks if check.outcome != "pass")
    assert json.loads(json.dumps(verdict.to_dict(), allow_nan=False))["outcome"] == expected


def test_reasons_say_the_numbers_as_people_read_them() -> None:
    found = {
        "gap_mean[1]": Measure(0.316, 0.28, 0.35, 193),
        "flip_rate": Measure(0.04, 0.03, 0.06, 193),
        "rank_gap_mean": Measure(0.2, 0.1, 0.25, 12),
        "roc_auc": Measure(0.842, 0.82, 0.861, 1000),
    }
    limits: dict[str, float] = {"max_flip_rate": 0.05, "max_rank_gap_mean": 0.3, "min_roc_auc": 0.8, "max_brier": 0.2}
    policy = Policy(**limits, labels={1: {"max_gap_mean": 0.2}, "x": {"max_excess": 0.1}})  # type: ignore[arg-type]
    assert [check.reason for check in judge(found, policy).checks] == [
        "4.00% (3.00% to 6.00%) cannot be told from the highest allowed, 5%, at this confidence: the interval reaches "
        "to both sides.",
        "Only 12 pairs; the policy requires at least 30.",
        "0.842 (0.820 to 0.861) reaches the lowest allowed, 0.8.",
        "This audit does not measure brier: its task or its settings leave it out.",
        "31.60% (28.00% to 35.00%) is above the highest allowed, 20%.",
        "This audit does not measure excess[x]: no row has the label x, or labels are not matched.",
    ]


def test_a_reason_has_the_decimals_it_takes_to_see_the_difference() -> None:
    [check] = judge({"flip_rate": Measure(0.06, 0.050001, 0.07, n=99)}, Policy(max_flip_rate=0.05)).checks
    assert check.reason == "6.0000% (5.0001% to 7.0000%) is above the highest allowed, 5%."


def test_a_gap_limit_in_percent_is_refused_where_scores_are_probabilities() -> None:
    found = {name: Measure(0.4, 0.3, 0.5, n=99) for name in ("gap_mean", "log_loss")}
    with pytest.raises(PolicyError, match=r"Give 0\.2 for 20%"):
        judge(found, Policy(max_gap_mean=20))
    predicted = {"gap_mean": Measure(1.4, 1.3, 1.5, n=99), "r2": Measure(0.4, 0.3, 0.5, n=99)}
    assert judge(predicted, Policy(max_gap_mean=2)).outcome == "pass"


@pytest.mark.parametrize("text", ["", "min_pairs = 10", "[policy]"])
def test_a_file_without_limits_is_refused_before_anything_is_audited(text: str) -> None:
    with pytest.raises(PolicyError, match=r"sets no limit\. Add one, such as max_gap_mean = 0\.1\."):
        Policy.from_toml_text(text)


def test_facts_are_judged_by_their_value_and_estimates_by_their_interval() -> None:
    found = {name: Measure(0.5, n=99) for name in ("gap_max", "matched_share", "impact_ratio", "gap_mean")}
    policy = Policy(max_gap_max=0.6, min_matched_share=0.4, min_impact_ratio=0.4, max_gap_mean=0.6)
    verdict = judge(found, policy)
    assert [check.outcome for check in verdict.checks] == ["pass"] * 2 + ["inconclusive"] * 2
    assert "no confidence interval" in verdict.checks[-1].reason


@pytest.mark.parametrize(
    ("limit", "takes"),
    [
        ("max_gap_mean", " and at least 10 people on each side of the pairs."),
        ("min_roc_auc", " and at least 10 people of each label."),
        ("min_r2", ", and more people where a few outweigh all others."),
        ("max_mean_absolute_error", " and at least 10 people."),
    ],
)
def test_without_an_interval_the_reason_says_what_it_takes(limit: str, takes: str) -> None:
    check = judge({limit[4:]: Measure(0.5, n=99)}, Policy.from_toml_text(f"{limit} = 0.5")).checks[0]
    assert check.outcome == "inconclusive"
    assert check.reason.endswith(f"that takes an audit with resamples{takes}")


def test_a_policy_without_limits_passes_nothing() -> None:
    verdict = judge({"flip_rate": Measure(0.0, n=99)}, Policy())
    assert isinstance(verdict, Verdict)
    assert str(verdict) == "Inconclusive: the policy sets no limit, so there is nothing to judge."


@pytest.mark.parametrize(
    ("outcomes", "sentence"),
    [
        (["pass"], "Pass: the limit is met."),
        (["pass", "pass"], "Pass: all 2 limits met."),
        (["fail"], "Fail: the limit is not met."),
        (["fail", "fail", "inconclusive"], "Fail: 2 of 3 limits not met, 1 cannot be judged."),
        (["inconclusive"], "Inconclusive: the limit cannot be judged."),
        (["inconclusive", "pass"], "Inconclusive: 1 of 2 limits cannot be judged; the others are met."),
    ],
)
def test_outcomes_are_summed_up_in_a_sentence(outcomes: list[str], sentence: str) -> None:
    assert str(sum_up(outcomes)) == sentence


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_gap_mean": 0.1}, "the limit is met (minimum 40 pairs)."),
        ({"max_gap_mean": 0.1, "max_flip_rate": 0.1}, "all 2 limits met (minimum 40 pairs)."),
        (
            {"max_gap_mean": 0.1, "min_roc_auc": 0.6},
            "all 2 limits met (minimum 40 pairs).",
        ),
        ({"min_roc_auc": 0.6}, "the limit is met."),
        ({"max_gap_mean": 0.1, "min_pairs": 0}, "the limit is met."),
    ],
)
def test_a_pass_says_how_many_pairs_it_counted_in(limits: dict[str, Any], words: str) -> None:
    measures = {name: Measure(0.05, 0.04, 0.06, n=90) for name in ("gap_mean", "flip_rate")}
    measures["roc_auc"] = Measure(0.7, 0.65, 0.75, n=90)
    assert str(judge(measures, Policy(**{"min_pairs": 40} | limits))) == f"Pass: {words}"


@pytest.mark.parametrize("kind", ["collapsed", "derived_column", "alike_groups", "alike_values"])
@pytest.mark.parametrize("name", ["gap_mean", "excess", "excess_flips", "certified_max"])
def test_what_is_noticed_about_the_pairs_doubts_every_measure_of_comparable_people(kind: Any, name: str) -> None:
    measures, policy = {name: Measure(0.01, 0.0, 0.02, 900)}, Policy.from_dict({f"max_{name}": 0.1})
    assert judge(measures, policy).outcome == "pass"
    assert judge(measures, policy, notes=[Note(kind, "Noticed.")]).checks[0].reason == "Noticed."


def test_a_collapsed_model_does_not_pass_by_its_small_gaps() -> None:
    measures = {"gap_mean": Measure(0.0, 0.0, 0.0, n=500), "accuracy": Measure(0.7, 0.68, 0.72, n=900)}
    policy = Policy(max_gap_mean=0.1, min_accuracy=0.6)
    assert judge(measures, policy).outcome == "pass"
    notes = [Note("coverage", "Nobody is left out."), Note("collapsed", "Everybody is scored alike.")]
    doubted = judge(measures, policy, notes=notes)
    assert doubted.outcome == "inconclusive"
    assert [check.outcome for check in doubted.checks] == ["inconclusive", "pass"]
    assert doubted.checks[0].reason == "Everybody is scored alike."
    assert judge(measures, Policy(max_gap_mean=0.1, min_accuracy=0.9), notes=notes).outcome == "fail"


@pytest.mark.parametrize(
    ("found", "limit", "need"),
    [
        (
            Measure(0.04, 0.02, 0.06, 500),
            0.05,
            "about 3,000 more people",
        ),  # the end is twice as far as the limit: 4 times
        (Measure(0.06, 0.04, 0.08, 500), 0.05, "about 3,000 more people"),  # which would show that it is broken
        (Measure(0.04, 0.02, 0.0501, 500), 0.05, "about 21 more people"),
        (Measure(0.04999, 0.02, 0.08, 500), 0.05, "more than 1,000 times as many people"),
    ],
)
def test_an_inconclusive_limit_says_how_many_more_people_it_needs(found: Measure, limit: float, need: str) -> None:
    (check,) = judge({"gap_mean": found}, Policy(max_gap_mean=limit), n_people=1000).checks
    assert check.outcome == "inconclusive"
    assert check.reason.endswith(f" If the value stays as it is, {need} would decide it.")


@pytest.mark.parametrize(
    ("found", "limit"),
    [
        (Measure(0.04, 0.02, 0.045, 500), 0.05),
        (Measure(0.05, 0.02, 0.06, 500), 0.05),
        (Measure(0.04, None, None, 500), 0.05),
        (Measure(0.04, 0.02, None, 500), 0.05),
    ],
)
def test_where_no_number_would_be_true_none_is_given(found: Measure, limit: float) -> None:
    (check,) = judge({"gap_mean": found}, Policy(max_gap_mean=limit), n_people=1000).checks
    assert "more people" not in check.reason


def test_intervals_of_audits_narrow_as_the_number_of_people_says() -> None:
    """Where the reason asks for 4 times as many people, an interval of 4 times as many is about half as wide."""
    widths = []
    for n_rows in (2_000, 8_000):
        data = load_dataset("planted", n_rows=n_rows)
        found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule, baseline=False)[
            "gap_mean"
        ]
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)
    assert 0.35 < widths[1] / widths[0] < 0.65
