"""The audit as a whole: what it promises about its numbers, its notes and its record."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise import Audit, Comparability, Policy, Roles, audit
from likewise.auditing import (
    MEASURES,
    Measure,
    describe_gaps,
    fairlearn_measures,
    find_partnered,
    impact_ratio,
    measure_coverage,
    measure_directions,
    rate_groups,
)
from likewise.datasets import PlantedDataset
from likewise.exceptions import NoComparablePairs, PolicyError, ScoresCollapsed, TableFileError


def test_the_planted_unfairness_is_found(planted: PlantedDataset, found: Audit) -> None:
    assert found.pairs.left.tolist() == planted.test.pairs.left.tolist()
    assert found["gap_max"].value == pytest.approx(planted.gap)
    assert found["same_group_gap_mean"].value == 0
    harmed = [direction for direction in found.directions if direction.mean_gap < 0]
    assert harmed
    assert all("green" in direction.target for direction in harmed)
    assert all("green" not in direction.origin for direction in harmed)


@settings(max_examples=4)
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_no_number(planted: PlantedDataset, how: dict[str, Any], random: Any) -> None:
    order = list(range(len(planted.test)))
    random.shuffle(order)
    scores = planted.scores(planted.test.X)
    options = {**how, "n_resamples": 0}
    moved = {**options, "X": planted.test.X.iloc[order], "y": planted.test.y.iloc[order]}
    one, other = audit(scores, **options), audit(scores[order], **moved)
    for name, measure in one.measures.items():
        assert other[name].value == (None if measure.value is None else pytest.approx(measure.value, abs=1e-12)), name
    place = np.argsort(order)
    assert other.person_gaps[place] == pytest.approx(one.person_gaps, nan_ok=True)


def test_an_audit_of_all_pairs_can_be_copied(planted: PlantedDataset, how: dict[str, Any]) -> None:
    found = audit(planted.scores, **how | {"n_resamples": 0, "max_pairs": 50})
    assert found.summary is not None
    for copied in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert copied.to_dict() == found.to_dict()
        assert copied.summary is not None
        assert len(copied.summary.kept.to_columns()["key"]) == 0  # they are among its pairs


def test_one_seed_gives_the_same_record_and_another_other_draws(
    planted: PlantedDataset, how: dict[str, Any], found: Audit
) -> None:
    again = audit(planted.scores, **how)
    assert json.dumps(again.to_dict(), allow_nan=False) == json.dumps(found.to_dict(), allow_nan=False)
    other = audit(planted.scores, **how, random_state=1)
    assert {name: one for name, one in other.measures.items() if name != "calibration_error"} == {
        name: one for name, one in found.measures.items() if name != "calibration_error"
    }
    assert other["calibration_error"].value == found["calibration_error"].value
    assert other["calibration_error"].high != found["calibration_error"].high  # of draws


def test_a_value_lies_in_its_interval(found: Audit) -> None:
    for name, measure in found.measures.items():
        if measure.value is not None and measure.low is not None and measure.high is not None:
            assert measure.low - 1e-9 <= measure.value <= measure.high + 1e-9, name


def test_every_measure_has_a_name_that_a_policy_knows_and_words(found: Audit) -> None:
    assert {name.partition("[")[0] for name in found.measures} <= set(MEASURES)
    assert all(kind.words and kind.title for kind in MEASURES.values())


def test_a_measure_of_a_label_is_named_by_the_two_or_by_one_text(found: Audit) -> None:
    for name, kind in MEASURES.items():
        if kind.is_by_label and name in found.measures:
            assert found[name, 1] is found[f"{name}[1]"]
    assert found["gap_mean", 0].n + found["gap_mean", 1].n == found["gap_mean"].n


def test_a_constant_model_has_no_gap_and_is_called_collapsed(planted: PlantedDataset, how: dict[str, Any]) -> None:
    with pytest.warns(ScoresCollapsed, match="everybody is scored exactly alike"):
        constant = audit(np.full(len(planted.test), 0.4), **how)
    assert constant["gap_max"].value == 0
    assert constant["rank_gap_mean"].value == 0
    assert constant.is_collapsed
    assert constant.notes[0].kind == "collapsed"


def test_a_useful_model_is_not_called_collapsed(found: Audit) -> None:
    assert not found.is_collapsed
    assert all(note.kind != "collapsed" for note in found.notes)


def test_squeezing_scores_leaves_rank_gaps_as_they_are(
    planted: PlantedDataset, how: dict[str, Any], found: Audit
) -> None:
    squeezed = audit(0.5 + 0.1 * (planted.scores(planted.test.X) - 0.5), **how)
    assert squeezed["gap_mean"].value == pytest.approx(0.1 * found["gap_mean"].value)  # type: ignore[operator]
    assert squeezed["rank_gap_mean"].value == pytest.approx(found["rank_gap_mean"].value, abs=0.002)


def test_the_audit_says_whom_it_speaks_for(planted: PlantedDataset, found: Audit) -> None:
    partnered = np.union1d(planted.test.pairs.left, planted.test.pairs.right)
    assert found["matched_share"] == Measure(len(partnered) / len(planted.test), n=len(planted.test))
    assert any(f"the {len(partnered)} of 500 people" in note.text for note in found.notes)
    assert np.isfinite(found.person_gaps).sum() == len(partnered)


def test_the_worst_gap_of_a_person_is_that_of_her_worst_pair(found: Audit) -> None:
    for person in range(0, 500, 7):
        own = found.gaps[(found.pairs.left == person) | (found.pairs.right == person)]
        assert found.person_gaps[person] == pytest.approx(own.max() if len(own) else np.nan, nan_ok=True)


def test_every_part_is_what_the_plain_functions_say(planted: PlantedDataset, how: dict[str, Any]) -> None:
    found = audit(planted.scores, **how, gap_limit=0.02, n_worst=7, random_state=3)
    pairs, table, scores = found.pairs, found.question.table, found.question.scores
    assert found.coverage == measure_coverage(find_partnered(pairs, len(table)), table)
    assert found.directions == measure_directions(pairs, table, scores)
    assert found.groups == rate_groups(scores, table, confidence=0.95)
    assert found["impact_ratio"].value == impact_ratio(found.groups)
    assert found.fairlearn == fairlearn_measures(scores, table)
    assert found["gap_share_above"].value == describe_gaps(found.gaps, limit=0.02)["share_above"]
    assert len(found.worst) == 7
    assert all(case.gap == pytest.approx(found["gap_max"].value) for case in found.worst)


def test_few_pairs_of_a_label_and_an_approval_rate_that_is_not_met_are_told(
    planted: PlantedDataset, how: dict[str, Any]
) -> None:
    rare = np.zeros(len(planted.test), int)
    rare[[planted.test.pairs.left[0], planted.test.pairs.right[0]]] = 1
    found = audit(planted.scores, **{**how, "y": rare})
    assert any(note.text.startswith("Only 1 pair has the label 1: too few") for note in found.notes)
    two_scores = np.where(np.arange(len(rare)) < 100, 0.9, 0.1)
    tied = audit(two_scores, **how, approval_rate=0.5)
    assert "Asked to approve 50.0%, 20.0% are: people with equal scores are treated alike." in [
        note.text for note in tied.notes
    ]
    met = audit(two_scores, **how, approval_rate=0.2)
    assert not any("Asked to approve" in note.text for note in met.notes)


def test_predicted_amounts_are_told_in_their_unit_everywhere(planted: PlantedDataset, how: dict[str, Any]) -> None:
    income = planted.test.X["income"].to_numpy(float)
    amounts = {**how, "y": income, "task": "regression", "scores": income * (0.5 + planted.scores(planted.test.X))}
    one, other = (audit(**amounts, scale=scale) for scale in (1.0, 1000.0))
    for name in ("gap_mean", "gap_q95", "score_spread"):
        for end in ("value", "low"):
            assert getattr(one[name], end) == pytest.approx(1000 * getattr(other[name], end)), (name, end)
    assert [d.mean_gap for d in one.directions] == pytest.approx([1000 * d.mean_gap for d in other.directions])
    assert one["root_mean_squared_error"] == other["root_mean_squared_error"]
    assert one.is_collapsed == other.is_collapsed


def test_the_checksum_of_the_table_names_its_content(
    planted: PlantedDataset, how: dict[str, Any], found: Audit
) -> None:
    known = found.record.data.table_checksum
    for column, value in (("income", 1.0), ("group", "green"), ("housing", "own")):
        changed = planted.test.X.copy()
        changed[column] = changed[column].where(np.arange(len(changed)) != 3, value)
        if changed.equals(planted.test.X):
            continue
        assert audit(planted.scores, **{**how, "X": changed}).record.data.table_checksum != known
    y = planted.test.y.copy()
    y.iloc[3] = 1 - y.iloc[3]
    assert audit(planted.scores, **{**how, "y": y}).record.data.table_checksum != known


def test_a_saved_audit_is_the_folder_that_the_command_line_reads(
    planted: PlantedDataset, how: dict[str, Any], tmp_path: Path
) -> None:
    found = audit(planted.scores, **how)
    verdict = found.judge(Policy(max_gap_mean=0.5))
    found.save(tmp_path / "audit", verdict=verdict)
    found.save(tmp_path / "audit", verdict=verdict)  # in the place of its own, unchanged
    assert json.loads((tmp_path / "audit/audit.json").read_text("utf-8")) == found.to_dict(verdict)
    names = {"audit.json", "audit.md", "junit.xml", "report.html", "review_sheet.csv", "worst_pairs.parquet"}
    assert {path.name for path in (tmp_path / "audit").iterdir() if not path.name.startswith(".")} == names
    command = [sys.executable, "-m", "likewise.cli", "report", "audit/audit.json", "--out", "again.html"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    page = found.to_html(tmp_path / "page.html", verdict=verdict)
    assert (tmp_path / "page.html").read_text("utf-8") == page == found.to_html(verdict=verdict)
    for write in (found.save, found.to_html):
        with pytest.raises(TableFileError, match=r"page\.html"):
            write(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == page


def test_without_pairs_there_is_no_audit_but_advice(planted: PlantedDataset, how: dict[str, Any]) -> None:
    apart = planted.test.X.assign(income=np.arange(500.0) * 1_000)
    strict = {**how, "X": apart, "roles": planted.roles, "rule": Comparability(0, 0.0)}
    with pytest.raises(NoComparablePairs, match=r"Most are lost to income \(equal\): .* To allow more, raise max_con"):
        audit(planted.scores, **strict)
    everybody_alike = planted.test.X.assign(group="blue", gender="male")
    with pytest.raises(NoComparablePairs, match="No two people with the same repaid differ in group or gender"):
        audit(planted.scores, **{**how, "X": everybody_alike})


def test_pairs_within_groups_have_no_direction_and_no_baseline(planted: PlantedDataset, how: dict[str, Any]) -> None:
    within = {**how, "rule": Comparability(sensitive_differs="none")}
    found = audit(planted.scores, **within)
    assert found.directions == ()
    assert "same_group_gap_mean" not in found.measures
    assert any("no direction" in note.text for note in found.notes)


def test_one_person_in_most_pairs_is_named() -> None:
    people = pd.DataFrame({"name": [f"p{i}" for i in range(40)], "sex": ["f"] + ["m"] * 39, "y": [1] * 40})
    roles = Roles(sensitive="sex", row_id="name", label="y")
    found = audit(np.linspace(0, 1, 40), people, roles=roles, n_resamples=50)
    notes = {note.kind: note.text for note in found.notes}
    assert notes["one_person"] == "One person is in 100% of the pairs, which decides much of what follows."
    assert notes["that_person"] == "The person in 100% of the pairs: name p0."
    assert found["gap_mean"].low is found["gap_mean"].high is None  # 39 pairs, but one person


def test_the_record_is_plain_json_and_complete(found: Audit) -> None:
    verdict = found.judge(Policy(max_gap_mean=0.2))
    record = json.loads(json.dumps(found.to_dict(verdict), allow_nan=False))
    assert record["format"] == "likewise audit 2"
    assert record["pairs"]["n"] == len(found.pairs)
    assert record["measures"]["gap_mean"]["value"] == found["gap_mean"].value
    assert record["verdict"]["outcome"] == verdict.outcome
    assert {"python", "numpy", "scikit-learn", "numba"} <= set(record["versions"])
    assert Roles.from_dict(record["roles"]) == found.question.schema.roles
    assert Comparability.from_dict(record["rule"]) == found.question.rule


def test_progress_is_told_step_by_step(planted: PlantedDataset, how: dict[str, Any]) -> None:
    steps: list[tuple[str, float]] = []
    audit(planted.scores, **how, progress=lambda step, share: steps.append((step, share)))
    assert len({step for step, _ in steps}) >= 4
    assert all(0 <= share <= 1 for _, share in steps)


def test_a_policy_may_be_a_file(found: Audit, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("max_gap_mean = 0.01\n", "utf-8")
    assert found.judge(path).outcome == found.judge(str(path)).outcome == "fail"
    with pytest.raises(PolicyError, match="not dict"):
        found.judge({"max_gap_mean": 0.01})  # type: ignore[arg-type]


def test_an_unknown_measure_is_named_with_the_nearest(found: Audit) -> None:
    with pytest.raises(KeyError, match="MEASURES has all names"):
        found["disparity"]
    with pytest.raises(KeyError, match="Did you mean 'gap_mean'"):
        found["gap_meen"]


def test_a_rule_by_which_the_control_is_no_better_is_told_and_needs_one_control() -> None:
    random = np.random.default_rng(0)
    people = pd.DataFrame({"sex": random.choice(["f", "m"], 80), "dti": random.integers(20, 40, 80)})
    scores, y = random.integers(0, 10, 80) / 10, random.integers(0, 2, 80)
    rule = Comparability(limits={"dti": "5 points"}, no_better=("dti",))
    how: dict[str, Any] = {"roles": Roles(sensitive="sex", continuous="dti"), "rule": rule, "n_resamples": 0}
    with pytest.raises(ValueError, match="a control who is no better than the target, and reference names none"):
        audit(scores, people, y, **how)
    how["reference"] = "m"
    found = audit(scores, people, y, **how)
    assert "the control has no lower dti than the target" in found.record.rule_in_words
    turned = audit(1 - scores, people, y, favourable="low", **how)  # of a model that predicts default
    assert turned["gap_mean"].value == pytest.approx(found["gap_mean"].value)
    with pytest.raises(ValueError, match="better off"):
        audit(np.column_stack([1 - scores, scores]), people, y, task="multiclass", **how)


def test_a_limit_stretched_by_an_outlier_is_noted() -> None:
    random = np.random.default_rng(0)
    people = pd.DataFrame({"sex": random.choice(["f", "m"], 60), "pressure": random.integers(100, 160, 60)})
    people.loc[0, "pressure"] = 16_020
    scores, y = random.random(60), random.integers(0, 2, 60)
    how: dict[str, Any] = {"roles": Roles(sensitive="sex", continuous="pressure"), "n_resamples": 0}
    wide = audit(scores, people, y, **how)
    told = next(str(note) for note in wide.notes if note.kind == "wide_limit")
    assert told.startswith("The limit of pressure is 398 (")
    narrow = audit(scores, people, y, rule=Comparability(limits={"pressure": "10"}), **how)
    assert not [note for note in narrow.notes if note.kind == "wide_limit"]


def test_a_band_around_the_threshold_is_told_and_needs_one() -> None:
    random = np.random.default_rng(1)
    people = pd.DataFrame({"sex": random.choice(["f", "m"], 60)})
    scores, y = random.integers(0, 11, 60) / 10, random.integers(0, 2, 60)
    how: dict[str, Any] = {"roles": Roles(sensitive="sex"), "n_resamples": 0, "threshold": 0.6}
    found = audit(scores, people, y, rule=Comparability(score_band=0.2), **how)
    assert "the control, or either without one, is scored within 0.2 of the threshold" in found.record.rule_in_words
    with pytest.raises(NoComparablePairs, match=r"Without score_band there would be \d+ pairs"):
        audit(np.where(scores == 0.6, 0.7, scores), people, y, rule=Comparability(score_band=0), **how)
    with pytest.raises(ValueError, match="near the threshold, and there is none"):
        audit(scores, people, scores + 0.5, rule=Comparability(score_band=0.1), roles=how["roles"])
