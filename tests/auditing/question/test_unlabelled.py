"""Audits without labels, and of the side of the scores that is favourable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from tests.sizes import sized

from likewise import Audit, Comparability, Policy, Roles, audit, compare_audits
from likewise.comparable import write_pairs
from likewise.exceptions import LikewiseError, ParameterError, ScoreError
from likewise.explore import Explorer
from likewise.record import AuditRecord
from likewise.record._internal import MEASURES
from likewise.report import to_card, to_html, to_junit, to_markdown, to_model_card

ROLES = Roles(sensitive="sex", discrete="job", continuous="age")
RULE = Comparability(max_discrete_changes=0, max_continuous_shift=0.1)
OF_PAIRS = ("pairs", "directions", "coverage", "person_gaps", "fairlearn", "rule", "threshold")


def applicants(n: int = 150, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    sex, job = random.choice(["f", "m"], n), random.choice(["cook", "smith"], n)
    return pd.DataFrame({"sex": sex, "job": job, "age": random.integers(20, 60, n)})


def score(people: pd.DataFrame) -> Any:
    noise = np.random.default_rng(5).uniform(0, 0.3, len(people))
    return np.clip(people["age"].to_numpy() / 80 + 0.1 * (people["sex"] == "m").to_numpy() + noise - 0.1, 0, 1)


PEOPLE = applicants()
P = score(PEOPLE)


def of_pairs(found: Audit) -> dict[str, Any]:
    """Everything that a record says of pairs and groups, without labels."""
    record = found.to_dict()
    worst = [{**one, "label": None} for one in record["worst_pairs"]]
    people = [{**one, "label": None} for one in record["person_gaps"].pop("worst")]
    measures = {
        name: one for name, one in record["measures"].items() if "[" not in name and MEASURES[name].family != "people"
    }
    fairlearn = {name: one for name, one in record["fairlearn"].items() if "parity" in name}
    rates = [(one["values"], one["selection_rate"], one["impact_ratio"]) for one in record["groups"]]
    chosen = {name: record[name] for name in OF_PAIRS} | {"fairlearn": fairlearn}
    return chosen | {"measures": measures, "worst": worst, "people": people, "rates": rates}


@given(seed=st.integers(0, 1000), n=st.integers(20, 60), places=st.sampled_from([0, 1, 6]))
@settings(max_examples=10)
def test_without_labels_pairs_are_those_of_people_who_share_one_label(seed: int, n: int, places: int) -> None:
    pair = pd.DataFrame({"sex": ["f", "m"], "job": ["cook", "cook"], "age": [30, 30]})
    people = pd.concat([pair, applicants(n - 2, seed)], ignore_index=True)  # at least one pair
    scores = np.round(score(people), places)
    scores[:2] = 0, 1
    how: dict[str, Any] = {"roles": ROLES, "rule": RULE, "n_resamples": 40}
    without, constant = audit(scores, people, **how), audit(scores, people, [0] * n, **how)
    assert of_pairs(without) == of_pairs(constant)


@pytest.mark.parametrize("how", [{"max_pairs": 200}, {"max_pairs": 200, "when_too_many": "sample"}])
def test_so_it_is_in_streams_and_samples(how: dict[str, Any]) -> None:
    how |= {"roles": ROLES, "rule": RULE, "n_resamples": 40}
    assert of_pairs(audit(P, PEOPLE, **how)) == of_pairs(audit(P, PEOPLE, [1] * len(P), positive=1, **how))


def test_written_pairs_are_found_again(tmp_path: Path) -> None:
    schema = ROLES.learn(PEOPLE)
    write_pairs(schema.encode(PEOPLE, [0] * len(PEOPLE)), RULE, tmp_path / "pairs")
    how: dict[str, Any] = {"roles": schema, "rule": RULE, "n_resamples": 0}
    assert of_pairs(audit(P, PEOPLE, pairs=tmp_path / "pairs", **how)) == of_pairs(audit(P, PEOPLE, **how))


@pytest.fixture(scope="module")
def found() -> Audit:
    return audit(P, PEOPLE, roles=ROLES, rule=RULE, n_resamples=60)


def test_it_speaks_of_no_labels_and_measures_no_performance(found: Audit) -> None:
    record = found.record
    assert (record.labels, record.calibration, record.score_distribution) == ((), (), None)
    assert [name for name in found.measures if MEASURES[name].family == "people"] == [
        *("score_spread", "matched_share", "impact_ratio")
    ]
    assert not [name for name in found.measures if "[" in name]
    assert "Their outcomes are not known, and not compared." in record.rule_in_words
    assert [note.kind for note in found.notes] == ["coverage", "no_labels"]
    assert AuditRecord.from_dict(found.to_dict()) == AuditRecord.of(record)
    for page in (
        to_html(record),
        to_markdown(record),
        to_model_card(record),
        to_card(record),
        to_junit(record),
        str(found),
    ):
        for words in ("label 0", "Label 0", "by label", "Label,", "positive label", "Model performance"):
            assert words not in page


def test_policies_and_comparisons_work_without_labels(found: Audit) -> None:
    assert found.judge(Policy(max_gap_mean=0.01)).outcome == "fail"
    assert found.judge(Policy(max_gap_mean=1.0, max_flip_rate=1.0)).outcome == "pass"
    assert found.judge(Policy(min_roc_auc=0.0)).outcome == "inconclusive"
    halved = audit(P / 2, PEOPLE, roles=ROLES, rule=RULE, n_resamples=60)
    change = compare_audits(found, halved)["gap_mean"].difference
    assert change.value == pytest.approx(-(found["gap_mean"].value or 0) / 2)
    assert change.high is not None
    labelled = audit(P, PEOPLE, [0] * len(P), roles=ROLES, rule=RULE, n_resamples=0)
    with pytest.raises(ScoreError, match="labels"):
        compare_audits(found, labelled)


def test_the_explorer_has_the_numbers(found: Audit) -> None:
    explorer = Explorer(P, PEOPLE, roles=ROLES, rule=RULE)
    answer = explorer.look({"changes": 0, "shift": 0.1})
    assert (explorer.about()["labels"], len(answer["slices"])) == ([], 1)
    assert answer["n_pairs"] == found.record.pairs.n
    assert answer["slices"][0]["gap_mean"] == found["gap_mean"].value
    assert answer["rule"] == found.record.rule_in_words
    assert b"label" not in explorer.to_csv({"changes": 0, "shift": 0.1}).splitlines()[0]


def test_a_schema_of_labelled_training_rows_serves_people_who_have_none() -> None:
    trained = PEOPLE.assign(repaid=(P > 0.5).astype(int))
    schema = Roles(sensitive="sex", discrete="job", continuous="age", label="repaid").learn(trained)
    how: dict[str, Any] = {"rule": RULE, "n_resamples": 0}
    assert of_pairs(audit(P, PEOPLE, roles=schema, **how)) == of_pairs(audit(P, PEOPLE, roles=ROLES, **how))
    with pytest.raises(LikewiseError, match="repaid"):  # of roles, a missing column is a mistake
        audit(P, PEOPLE, roles=schema.roles, **how)


def test_models_are_asked_for_their_last_label() -> None:
    inputs = PEOPLE[["age"]]
    model = LogisticRegression().fit(inputs, np.where(P > 0.5, "repaid", "late"))
    how: dict[str, Any] = {"roles": ROLES, "rule": RULE, "n_resamples": 0}
    repaid = model.predict_proba(inputs)[:, 1]
    assert of_pairs(audit(model, PEOPLE, **how)) == of_pairs(audit(repaid, PEOPLE, **how))
    late = audit(model, PEOPLE, positive="late", **how)
    np.testing.assert_array_equal(late.question.scores.values, audit(1 - repaid, PEOPLE, **how).question.scores.values)
    several = LogisticRegression().fit(inputs, np.arange(len(P)) % 3)
    with pytest.raises(ScoreError, match="3 labels"):
        audit(several, PEOPLE, **how)


def test_amounts_without_outcomes_need_a_unit() -> None:
    how: dict[str, Any] = {"roles": ROLES, "rule": RULE, "n_resamples": 0, "task": "regression"}
    with pytest.raises(ParameterError, match="unit"):
        audit(1000 * P, PEOPLE, **how)
    assert audit(1000 * P, PEOPLE, scale=1000, **how)["gap_mean"].value == pytest.approx(
        audit(P, PEOPLE, roles=ROLES, rule=RULE, n_resamples=0)["gap_mean"].value
    )


@pytest.mark.long(2)
@pytest.mark.parametrize(
    "words", [list, np.array, pd.Series, lambda one: pd.Series(one, dtype="string"), pd.Categorical]
)
def test_decisions_in_words_are_enough(words: Any) -> None:
    how: dict[str, Any] = {"roles": ROLES, "rule": RULE, "n_resamples": 0}
    decided = np.where(P >= 0.5, "approved", "denied").tolist()
    assert of_pairs(audit(words(decided), PEOPLE, favourable="approved", **how)) == of_pairs(
        audit((P >= 0.5).astype(int), PEOPLE, **how)
    )


@pytest.mark.parametrize(
    ("decided", "favourable", "message"),
    [
        (["approved", "denied"], None, "name the favourable one: favourable='approved'"),
        (["approved", "denied"], "yes", "name the favourable one"),
        (["approved", "denied", "withdrawn"], "approved", "words of 3 kinds"),
        (["approved", None], "approved", "None in others"),
        ([0, 1], "approved", "'low' or 'high'"),
    ],
)
def test_other_decisions_are_refused_in_a_line(decided: list[Any], favourable: Any, message: str) -> None:
    scores = (decided * len(P))[: len(P)]
    with pytest.raises(LikewiseError, match=message):
        audit(scores, PEOPLE, roles=ROLES, rule=RULE, n_resamples=0, favourable=favourable)


def in_favour(found: Audit) -> dict[str, Any]:
    """Everything that depends on which side is favourable, but for the side itself."""
    directions = [{**one, "favours_low": None} for one in found.to_dict()["directions"]]
    parity = {name: one for name, one in found.fairlearn.items() if "parity" in name}
    rates = [(one.values, one.selection_rate, one.impact_ratio) for one in found.groups]
    decided = [(one.left_decision, one.right_decision) for one in found.worst]
    return {"directions": directions, "parity": parity, "rates": rates, "decided": decided}


@pytest.mark.long(3)
@pytest.mark.parametrize("threshold", [0.25, 0.5, 0.625])
def test_a_favourable_label_turns_decisions_and_directions_round(threshold: float) -> None:
    risk = np.floor(7.9 * P) / 8 + 1 / 16  # exact in floats, and none is a threshold
    y = np.random.default_rng(3).integers(0, 2, len(P))
    how: dict[str, Any] = {"roles": ROLES, "rule": RULE, "n_resamples": 40}
    default = audit(risk, PEOPLE, y, favourable=0, threshold=threshold, **how)
    repaid = audit(1 - risk, PEOPLE, 1 - y, threshold=1 - threshold, **how)
    assert in_favour(default) == in_favour(repaid)
    plain = audit(risk, PEOPLE, y, threshold=threshold, **how)
    for name, measure in plain.measures.items():  # gaps and performance do not depend on it
        assert default[name] == measure or name == "impact_ratio", name
    assert audit(risk, PEOPLE, y, favourable=1, threshold=threshold, **how).measures == plain.measures
    assert "approve below" in to_html(default.record)
    assert "worse off" in str(default.directions[0])


@pytest.mark.parametrize("favourable", ["low", 0, False])
def test_without_labels_a_side_of_the_scores_is_favourable(favourable: Any) -> None:
    how: dict[str, Any] = {"roles": ROLES, "rule": RULE, "n_resamples": 40}
    denied = (P >= 0.5).astype(int)
    assert in_favour(audit(denied, PEOPLE, favourable=favourable, **how)) == in_favour(audit(1 - denied, PEOPLE, **how))


@given(rate=st.floats(0, 1))
@settings(max_examples=sized(6, 15))
def test_where_low_scores_are_favourable_a_share_of_the_lowest_is_approved(rate: float) -> None:
    how: dict[str, Any] = {"roles": ROLES, "rule": RULE, "n_resamples": 0, "approval_rate": rate}
    low = audit(P, PEOPLE, favourable="low", **how).question.scores
    high = audit(1 - P, PEOPLE, **how).question.scores
    np.testing.assert_array_equal(low.decisions, high.decisions)


def test_the_explorer_decides_by_the_favourable_side() -> None:
    explorer = Explorer(score, PEOPLE, roles=ROLES, rule=RULE, favourable="low")
    found = audit(P, PEOPLE, roles=ROLES, rule=RULE, favourable="low", n_resamples=0)
    answer = explorer.look({"changes": 0, "shift": 0.1})
    one, other = answer["directions"][0], found.directions[0]
    assert (one["n_lower"], one["n_flips_down"]) == (other.n_lower, other.n_flips_down)
    assert (one["target"], explorer.about()["favours_low"]) == (list(other.target), True)
