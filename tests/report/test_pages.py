"""The pages that people ask for hold the record's numbers, name what it lacks, and conclude nothing in law."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.report.pages import Page
from tests.report.test_html_safety import HOSTILE, UNSEEN, change_everywhere, shape

from likewise import audit, load_dataset
from likewise.exceptions import ParameterError
from likewise.record import AuditRecord
from likewise.report import to_page
from likewise.report._summary import NO_OPINION

NAMES = ("bias-audit", "model-risk")
KINDS = ("labels", "no labels", "decisions", "numbers", "several labels")
LEAK = re.compile(r"\b(NaN|nan|undefined|None|null|Infinity|inf)\b")
LEGAL = re.compile(
    r"complian|complies|lawful|violat|illegal|prohibited|adverse impact (is|was)|four-fifths", re.IGNORECASE
)


@cache
def record_of(kind: str) -> AuditRecord:
    """Audit the planted people, with what this kind of audit is given."""
    data = load_dataset("planted")
    people, random = data.test, np.random.default_rng(0)
    n = len(people.y)
    scores = data.scores(people.X)
    given: dict[str, dict[str, Any]] = {
        "labels": {"scores": scores, "y": people.y},
        "no labels": {"scores": scores},
        "decisions": {"scores": (scores > 0.5).astype(int)},
        "numbers": {"scores": random.normal(50, 9, n), "y": random.normal(50, 9, n), "task": "regression"},
        "several labels": {"scores": random.dirichlet([2, 2, 2], n), "y": [("a", "b", "c")[i % 3] for i in range(n)]},
    }
    asked = {"y": None, "rule": data.rule, "n_resamples": 40, "n_worst": 3, **given[kind]}
    roles = replace(data.roles, label=None) if asked["y"] is None else data.roles
    return audit(asked.pop("scores"), people.X, asked.pop("y"), roles=roles, **asked).to_record()


def read(record: Any, name: str) -> str:
    """Give a page as text with single blanks."""
    return " ".join(to_page(record, name, form="markdown").split())


def rows_of(page: Page) -> list[list[str]]:
    """Give the cells of every row of a page's tables."""
    rows: list[list[str]] = []
    for one in page.elements:
        if one.tag == "tr":
            rows.append([])
        elif one.tag in ("th", "td") and rows:
            rows[-1].append(" ".join(one.text.split()))
    return rows


@pytest.mark.long(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_any_audit_makes_every_page_in_both_forms(kind: str, name: str) -> None:
    record = record_of(kind)
    html, markdown = to_page(record, name), to_page(record, name, form="markdown")
    assert html == to_page(record.to_dict(), name)
    titles = [one.text for tag in ("h1", "h2") for one in Page(html).find(tag)]
    assert [line.lstrip("# ") for line in markdown.splitlines() if line.startswith("#")] == titles
    assert [one.attributes["href"] for one in Page(html).find("a")][1:] == [
        f"#{one.attributes['id']}" for one in Page(html).find("section")
    ]
    said = markdown.partition("## How to reproduce")[0]  # that part shows JSON
    assert LEAK.findall(said) == []
    assert LEGAL.findall(said) == []
    assert NO_OPINION in said


def test_a_bias_audit_has_every_group_of_the_record_with_its_numbers() -> None:
    record = record_of("labels")
    rows = rows_of(Page(to_page(record, "bias-audit")))
    assert {len(one.columns) for one in record.groups} == {1, 2}
    best = {
        (columns, rate): max(getattr(one, rate) for one in record.groups if one.columns == columns)
        for columns in {one.columns for one in record.groups}
        for rate in ("selection_rate", "scoring_rate")
    }
    for group in record.groups:
        name = ", ".join(f"{c} = {v}" for c, v in zip(group.columns, group.values, strict=True))
        (found,) = (row for row in rows if row[0] == name)
        assert found[1:3] == [f"{group.n_people:,}", f"{group.n_selected:,}"]
        assert found[3].startswith(f"{group.selection_rate:.2%} (")
        assert found[4].startswith(f"{group.selection_rate / best[group.columns, 'selection_rate']:.3f}")
        scoring = group.scoring_rate / best[group.columns, "scoring_rate"]
        assert found[5:] == [f"{group.scoring_rate:.2%}", f"{scoring:.3f}"]
    text = read(record, "bias-audit")
    assert "relative to the most selected group with known values: group = blue." in text
    assert "above the median score of everybody" in text


def test_decisions_have_no_scoring_rate_and_numbers_have_no_selection_rate() -> None:
    assert "Scoring rate" not in read(record_of("decisions"), "bias-audit")
    numbers = read(record_of("numbers"), "bias-audit")
    assert "Scoring rate" in numbers
    assert "| Selected |" not in numbers


@pytest.mark.long(3)
@pytest.mark.parametrize("seed", range(3))
def test_people_with_missing_values_are_counted(seed: int) -> None:
    data = load_dataset("planted")
    random, X = np.random.default_rng(seed), data.test.X.copy()
    absent = {name: random.random(len(X)) < share for name, share in (("group", 0.1), ("gender", 0.05 * seed))}
    for name, mask in absent.items():
        X[name] = X[name].astype(object).where(~mask, None)
    found = audit(data.scores(data.test.X), X, data.test.y, roles=data.roles, rule=data.rule, n_resamples=0)
    rows = rows_of(Page(to_page(found.to_record(), "bias-audit")))
    for name, mask in (*absent.items(), ("group or gender", absent["group"] | absent["gender"])):
        assert [name, f"{int(mask.sum()):,}"] in rows


def test_the_group_that_ratios_are_relative_to_is_named(record: dict[str, Any]) -> None:
    women, men = record["groups"]
    women |= {"selection_rate": 0.2, "impact_ratio": 0.5}
    men |= {"impact_ratio": 1.0}
    assert "relative to the most selected group with known values: sex = m. **Groups" in read(record, "bias-audit")
    men["values"] = [None]
    assert "group with known values: sex = f. **Groups" in read(record, "bias-audit")
    men |= {"values": ["m"], "selection_rate": 0.0, "impact_ratio": None}
    women |= {"selection_rate": 0.0, "impact_ratio": None}
    assert "Nobody is selected, so there are no impact ratios." in read(record, "bias-audit")


@pytest.mark.parametrize(
    ("kind", "bias", "untested"),
    [
        ("no labels", "The selection rate of a group", "there are no labels to measure them by"),
        ("decisions", "The selection rate of a group", "there are no labels to measure them by"),
        ("numbers", "without a decision threshold select nobody", "Different decisions within pairs: there are no"),
        ("several labels", "With more than two labels no single outcome", "Selection rates and impact ratios: the"),
    ],
)
def test_what_does_not_apply_is_said(kind: str, bias: str, untested: str) -> None:
    record = record_of(kind)
    assert bias in read(record, "bias-audit")
    assert untested in read(record, "model-risk")
    assert untested not in read(record_of("labels"), "model-risk")


def test_a_bias_audit_without_groups_or_intersections_says_so(record: dict[str, Any]) -> None:
    assert "There is one sensitive column, so there are no intersections." in read(record, "bias-audit")
    record["groups"] = []
    assert "No group was measured." in read(record, "bias-audit")


def test_a_validation_has_policy_rule_checksum_and_notes(judged: dict[str, Any]) -> None:
    text = read(judged, "model-risk")
    assert judged["rule_in_words"] in text
    assert judged["data"]["sha256"] in text
    for check in judged["verdict"]["checks"]:
        assert check["outcome"] == "pass" or check["reason"].split(".")[0] in text
    assert judged["notes"][0] in text
    assert "No policy was given" not in text
    assert "confidence intervals" in text


@pytest.mark.parametrize("name", NAMES)
def test_hostile_words_stay_words(judged: dict[str, Any], name: str) -> None:
    judged["notes"] = ["Row 1."]
    usual, hostile = to_page(judged, name), change_everywhere(judged, HOSTILE)
    hostile["notes"][-1] += HOSTILE
    found = to_page(hostile, name)
    assert shape(found) == shape(usual)
    assert not UNSEEN.search(found)
    markdown, plain = (to_page(one, name, form="markdown") for one in (hostile, judged))
    assert "<" not in markdown
    assert not UNSEEN.search(markdown)
    assert len(markdown.splitlines()) == len(plain.splitlines())


def test_an_unknown_page_or_form_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"^page is 'card'; choose one of 'bias-audit', 'model-risk'"):
        to_page(record, "card")
    with pytest.raises(ParameterError, match=r"^form is 'pdf'; choose one of 'html', 'markdown'"):
        to_page(record, "model-risk", form="pdf")  # type: ignore[arg-type]
