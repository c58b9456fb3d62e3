"""Limits on what columns make of the mean gap: judged by intervals, and only where gaps are split."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.sizes import sized

from likewise import Audit, Policy, attribute_gaps, audit, load_dataset
from likewise.exceptions import PolicyError
from likewise.record import AuditRecord
from likewise.report import to_html, to_junit


class Lender:
    """Scores the group "green" lower by 0.1, and every year of a loan by 0.04; sees no more."""

    feature_names_in_ = ("group", "duration")

    def predict(self, people: Any) -> Any:
        return 0.8 - 0.1 * (people["group"] == "green") - 0.04 * people["duration"] / 12


@cache
def whole() -> Audit:
    data = load_dataset("planted")
    return audit(Lender().predict, data.test.X, data.test.y, roles=data.roles, rule=data.rule)


@cache
def split() -> Audit:
    return attribute_gaps(whole(), Lender().predict).audit


def part(audit: Audit, column: str) -> Any:
    assert audit.record.attribution is not None
    return next(one for one in audit.record.attribution.columns if one.column == column)


def test_the_parts_have_intervals_that_hold_their_values() -> None:
    for one in split().record.attribution.columns:  # type: ignore[union-attr]
        assert one.part is not None
        assert one.part_share is not None
        assert one.part.value == pytest.approx(one.mean_part, abs=1e-12)
        assert one.part.low <= one.mean_part <= one.part.high  # type: ignore[operator]
        assert one.part_share.value == pytest.approx(one.mean_part / whole().gaps.mean(), abs=1e-12)
    sensitive = [part(split(), name).mean_part for name in ("group", "gender")]
    assert split()["sensitive_part"].value == pytest.approx(sum(sensitive), abs=1e-12)
    assert split()["sensitive_part_share"].value == pytest.approx(sum(sensitive) / whole().gaps.mean(), abs=1e-12)


def test_intervals_cover_the_parts_of_the_people_that_tables_are_drawn_from() -> None:
    data, n = load_dataset("planted", n_rows=sized(8_000, 20_000)), sized(6, 300)

    def measure(rows: Any) -> Any:
        frame, y, lender = data.test.X.iloc[rows].reset_index(drop=True), data.test.y[rows], Lender().predict
        found = audit(lender, frame, y, roles=data.roles, rule=data.rule, baseline=False, n_resamples=40)
        return attribute_gaps(found, Lender().predict).audit.measures

    everybody, random = np.arange(len(data.test.X)), np.random.default_rng(0)
    truth = measure(everybody)
    tables = [measure(random.choice(everybody, sized(400, 1000), replace=False)) for _ in range(n)]
    for name in ("sensitive_part", "sensitive_part_share"):
        held = [one[name].low <= truth[name].value <= one[name].high for one in tables]
        assert np.mean(held) >= sized(0.8, 0.9)


def test_a_limit_is_judged_by_the_interval_of_the_column() -> None:
    one = part(split(), "duration").part_share

    def outcome(column: str, **limits: float) -> str:
        return split().judge(Policy(columns={column: limits})).outcome

    assert outcome("duration", max_part_share=one.high) == "pass"
    assert outcome("duration", max_part_share=one.low - 1e-4) == "fail"
    assert outcome("duration", max_part_share=(one.low + one.high) / 2) == "inconclusive"
    assert split().judge(Policy(max_sensitive_part_share=0.5)).outcome == "fail"


def test_a_column_that_the_model_does_not_see_makes_nothing() -> None:
    found = attribute_gaps(whole(), _Named()).audit
    check = found.judge(Policy(columns={"gender": {"max_part": 0.0}})).checks[0]
    assert (check.outcome, check.measure.value) == ("pass", 0.0)
    seen = split().judge(Policy(columns={"gender": {"max_part": 0.0}})).checks[0]  # seen, so it may make something
    assert seen.outcome == "inconclusive"


class _Named(Lender):
    """The same, asked like a classifier for the columns it names."""

    classes_ = np.array([0, 1])

    def predict_proba(self, people: Any) -> Any:
        scores = np.asarray(super().predict(people), np.float64)
        return np.column_stack([1 - scores, scores])


def test_without_parts_a_limit_on_them_says_what_to_do() -> None:
    verdict = whole().judge(Policy(max_sensitive_part=0.5, columns={"duration": {"max_part": 0.5}}))
    assert [one.outcome for one in verdict.checks] == ["inconclusive"] * 2
    assert all("attribute_gaps, or likewise audit --attribute" in one.reason for one in verdict.checks)


def test_limits_on_columns_are_in_the_record_the_report_and_junit() -> None:
    verdict = split().judge(Policy(columns={"duration": {"max_part": 0.0001}}))
    plain = json.loads(json.dumps(split().to_dict(verdict)))
    assert plain["verdict"]["checks"][0]["part"] == "duration"
    record = AuditRecord.from_dict(plain)
    assert record.to_dict() == plain
    assert record.verdict is not None
    assert record.verdict.checks[0].full_name == "max_part[duration]"
    assert "Part of the mean gap, duration" in to_html(plain)
    assert 'name="max_part[duration]"' in to_junit(plain)


def test_policies_with_columns_are_written_and_read() -> None:
    text = "min_certified_share = 0.95\n[columns.postcode]\nmax_part_share = 0.2\n"
    policy = Policy.from_toml_text(text)
    assert policy == Policy(min_certified_share=0.95, columns={"postcode": {"max_part_share": 0.2}})
    assert Policy.from_dict(policy.to_dict()) == policy
    assert Policy.from_toml_text("[columns.postcode]\nmax_part_share = 0.2\n").has_limits


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["postcode"], "map each column to its limits"),
        ({1: {"max_part": 0.1}}, "1 is no name of a column"),
        ({"postcode": {}}, "Column 'postcode' has no limits"),
        ({"postcode": {"max_gap_mean": 0.1}}, "Here, max_ or min_ and part or part_share can be limited"),
        ({"postcode": {"max_part": "much"}}, "give a finite number"),
    ],
)
def test_what_is_no_limit_on_a_column_is_refused(columns: Any, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        Policy(columns=columns)


def test_a_column_that_the_audit_does_not_have_is_refused() -> None:
    with pytest.raises(
        PolicyError, match=r"column 'durration', which the audit does not have. Did you mean 'duration'"
    ):
        split().judge(Policy(columns={"durration": {"max_part": 0.1}}))
