"""What an audit says of labels that make its numbers mean less than they seem to."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests.sizes import sized

from likewise import Audit, Comparability, Policy, Roles, audit
from likewise.cli.commands._audit_screen import show_audit
from likewise.explore._explorer import Explorer
from likewise.report import to_html, to_markdown, to_model_card, to_page

KINDS = ("label_is_decision", "auc_below_half")
LENIENT = Policy(max_gap_mean=1, max_flip_rate=1, min_roc_auc=0, min_matched_share=0, min_impact_ratio=0)


def applicants(n: int = 200) -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame({"sex": random.choice(["f", "m"], n), "job": random.choice(["cook", "smith"], n)})


def audit_decisions(decisions: Any, y: Any, **others: Any) -> Audit:
    roles = Roles(sensitive="sex", discrete="job")
    how: dict[str, Any] = {"roles": roles, "rule": Comparability(max_discrete_changes=0), "n_resamples": 100}
    return audit(decisions, applicants(len(decisions)), y, **how | others)


def kinds(found: Audit) -> list[str]:
    return [note.kind for note in found.notes if note.kind in KINDS]


def decide(n: int = 200) -> Any:
    return np.random.default_rng(1).integers(0, 2, n)


@pytest.mark.parametrize("words", [("denied", "approved"), ("no", "yes"), (0, 1), (False, True)])
def test_a_label_that_is_the_decision_is_noticed_and_passes_no_policy(words: tuple[Any, Any]) -> None:
    decisions = decide()
    found = audit_decisions(decisions, np.array(words)[decisions])
    assert found["flip_rate"].value == 0  # the false all-clear: a pair shares its label, and so its decision
    assert "label_is_decision" in kinds(found)
    verdict = found.judge(Policy(max_flip_rate=1, min_balanced_accuracy=0, min_matched_share=0, min_impact_ratio=0))
    assert {one.of for one in verdict.select("pass")} <= {"matched_share", "impact_ratio"}
    assert {one.of for one in verdict.select("inconclusive")} >= {"flip_rate"}
    assert all("label" in one.reason for one in verdict.select("inconclusive"))


def test_a_label_decided_at_another_score_is_noticed() -> None:
    scores = np.random.default_rng(1).uniform(size=200)
    assert kinds(audit_decisions(scores, (scores >= 0.8).astype(int))) == ["label_is_decision"]


def test_a_label_that_the_likeliest_class_is_is_noticed() -> None:
    decided = np.random.default_rng(1).integers(0, 3, 200)
    renamed = np.array(["c", "a", "b"])[decided]
    found = audit_decisions(np.eye(3)[decided], renamed)
    assert "label_is_decision" in kinds(found)
    assert found.judge(Policy(max_flip_rate=1)).outcome == "inconclusive"


def test_a_class_that_only_people_without_weight_have_makes_no_label_a_decision() -> None:
    decided, labels = np.tile([0, 1, 1, 2], 50), np.tile(["c", "a", "c", "b"], 50)  # decision 1 goes with two labels
    found = audit_decisions(np.eye(3)[decided], labels, sample_weight=np.where(labels == "b", 0.0, 1.0))
    assert "label_is_decision" not in kinds(found)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=2, max_size=4))
@settings(max_examples=sized(10, 40))
def test_only_labels_that_follow_from_the_scores_are_called_decisions(people: list[tuple[int, int]]) -> None:
    scores, y = np.array([one / 4 for one, _ in people]), np.array([label for _, label in people])
    assume(np.ptp(scores) > 0)  # else the scores have collapsed, which is warned of
    table = pd.DataFrame({"sex": ["f"] * len(y) + ["m"] * len(y)})
    found = audit(np.tile(scores, 2), table, np.tile(y, 2), roles=Roles(sensitive="sex"), n_resamples=0)
    low, high = scores[y == 0], scores[y == 1]
    follows = len(low) and len(high) and (low.max() < high.min() or high.max() < low.min())
    assert ("label_is_decision" in kinds(found)) == bool(follows)


def test_scores_of_the_other_label_are_noticed_and_pass_no_policy() -> None:
    random = np.random.default_rng(2)
    y = random.integers(0, 2, 200)
    scores = np.clip(0.5 - 0.2 * (y - 0.5) + random.normal(0, 0.2, 200), 0, 1)
    found = audit_decisions(scores, y)
    assert kinds(found) == ["auc_below_half"]
    assert "0.2" in str(next(note for note in found.notes if note.kind == "auc_below_half"))
    assert [one.of for one in found.judge(LENIENT).select("pass")] == ["matched_share"]
    assert kinds(audit_decisions(scores, y, positive=0)) == []


def test_an_auc_that_chance_puts_below_a_half_is_noticed_and_judged() -> None:
    random = np.random.default_rng(7)
    y, scores = random.integers(0, 2, 200), random.uniform(size=200)
    if (audit_decisions(scores, y, n_resamples=0)["roc_auc"].value or 0) > 0.5:
        scores = 1 - scores
    found = audit_decisions(scores, y)
    assert found["roc_auc"].high is not None
    assert found["roc_auc"].high > 0.5
    assert kinds(found) == ["auc_below_half"]
    assert found.judge(LENIENT).outcome == "pass"


def test_a_model_that_is_merely_good_is_not_noticed() -> None:
    y = decide()
    scores = np.where(np.arange(200) < 3, 1 - y, y) * 0.8 + 0.1
    assert kinds(audit_decisions(scores, y)) == []


def test_a_label_of_hardly_anybody_is_told_with_how_many_it_takes() -> None:
    scores, labels = np.random.default_rng(1).uniform(size=200), np.repeat([0, 1], [191, 9])
    found = audit_decisions(scores, labels)
    told = [str(note) for note in found.notes if note.kind == "few_people" and "ROC AUC" in str(note)]
    assert len(told) == 1
    assert told[0].startswith("Only 9 people have the label 1: ")
    assert told[0].endswith("It takes at least 10.")
    assert (found["roc_auc"].low, found["balanced_accuracy"].low) == (None, None)
    assert found.judge(Policy(min_roc_auc=0)).outcome == "inconclusive"
    one_more = audit_decisions(scores, np.repeat([0, 1], [190, 10]))
    assert one_more["roc_auc"].low is not None
    assert not [note for note in one_more.notes if "ROC AUC, " in str(note)]


@pytest.mark.parametrize("largest", [10.0, 100.0])
def test_an_amount_that_outweighs_all_others_is_told_with_how_many_people_it_takes(largest: float) -> None:
    predicted = np.random.default_rng(1).normal(10, 1, 200)
    outcomes = predicted + np.random.default_rng(2).normal(size=200)
    outcomes[0] += largest
    found = audit_decisions(predicted, outcomes, task="regression")
    told = [str(note) for note in found.notes if "outweigh all others" in str(note)]
    assert len(told) == (largest > 10)
    assert (found["root_mean_squared_error"].high is None) == (found["r2"].high is None) == bool(told)
    assert found["mean_absolute_error"].high is not None
    if told:
        assert "200 people count as 1.0. There is no confidence interval" in told[0]
        assert "of root_mean_squared_error and r2. " in told[0]
        assert told[0].endswith("It takes 5, or about 970 people like these.")
        assert found.judge(Policy(max_root_mean_squared_error=1e6)).outcome == "inconclusive"


BAD = ["default", "loan_default", "isChurn", "FRAUD", "denied", "rejected", "two_year_recid", "arrested", "drop_out"]
BAD += ["delinq_2yrs", "paid_late", "failed", "no_show", "charge_off"]
GOOD = ("repaid", "no_recidivism", "not_denied", "hired", "latest_offer", "badge", "income", "y")


def audit_outcome(name: str, **others: Any) -> Audit:
    random = np.random.default_rng(7)
    people = applicants(400).assign(**{name: random.integers(0, 2, 400)})
    scores = np.clip(people[name] * 0.2 + random.uniform(0, 0.8, 400), 0, 1)
    roles = Roles(sensitive="sex", discrete="job", label=name)
    return audit(scores.to_numpy(), people, **{"roles": roles, "n_resamples": 50, "reference": "f", **others})


@pytest.mark.parametrize("name", [*BAD, *GOOD])
def test_who_is_worse_off_by_an_outcome_that_reads_as_bad_passes_only_once_it_is_said(name: str) -> None:
    policy = Policy(min_impact_ratio=0, min_signed_gap=-1, max_flip_rate=1)
    for favourable in (None, 0, 1):
        found = audit_outcome(name, favourable=favourable)
        noted = [note for note in found.notes if note.kind == "favourable_assumed"]
        assert bool(noted) == (name in BAD and favourable is None)
        outcomes = {one.of: one.outcome for one in found.judge(policy).checks}
        doubted = "inconclusive" if noted else "pass"
        assert outcomes == {"impact_ratio": doubted, "signed_gap": doubted, "flip_rate": "pass"}
        assert all("favourable=0 or favourable=1" in note.text for note in noted)


def test_the_name_of_a_series_and_the_positive_value_read_as_bad_too() -> None:
    people = audit_outcome("y").question.frame
    how: dict[str, Any] = {"roles": Roles(sensitive="sex", discrete="job"), "n_resamples": 0}
    for y in (people["y"].rename("default"), np.where(people["y"] == 1, "defaulted", "a")):
        found = audit(np.linspace(0, 1, 400), people.drop(columns="y"), y, **how)
        assert "favourable_assumed" in [note.kind for note in found.notes]


@pytest.mark.parametrize(
    ("options", "direction"),
    [
        ({}, "Decision threshold: approve at or above 0.5"),
        ({"favourable": 0}, "Decision threshold: approve below 0.5"),
        ({"task": "regression", "scale": 1.0}, "Higher scores are better"),
        ({"task": "regression", "scale": 1.0, "favourable": "low"}, "Lower scores are better"),
    ],
)
def test_every_surface_says_in_which_direction_decisions_go(options: dict[str, Any], direction: str) -> None:
    found = audit_outcome("hired", **options, reference=None)
    record, printed = found.record, StringIO()
    Console(width=300, file=printed).print(show_audit(record, 300))
    surfaces = [str(found), printed.getvalue(), to_markdown(record), to_html(record), to_model_card(record)]
    surfaces += [to_page(record, "model-risk", form="markdown")]
    explored = Explorer(found.question.scores.values, found.question.frame, roles=found.question.schema, **options)
    surfaces.append(explored.about()["direction"])
    for one in surfaces:
        assert direction in one
