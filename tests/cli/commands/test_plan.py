"""A plan is sealed without scores; an audit under it says so, and says where it departed from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import skops.io
from sklearn.dummy import DummyClassifier

from likewise._files import hash_file
from likewise.cli import _outputs
from likewise.record._internal import SealedPlan, read_as

if TYPE_CHECKING:
    from tests.cli.conftest import Outcome, Run

ASKED = ("--label", "hired", "--sensitive", "race", "--row-id", "name")
RULE = ("--max-continuous-shift", "0.1")
MEASURED = ("--resamples", "40", "--scores", "p")
SEALED = "2026-01-02T03:04:05Z"


@pytest.fixture
def policy(scored_csv: Path) -> Path:
    path = scored_csv.with_name("policy.toml")
    path.write_text("max_gap_mean = 0.9\nmin_roc_auc = 0.1\n")
    return path


@pytest.fixture
def plan(run: Run, scored_csv: Path, policy: Path) -> Path:
    return seal(run, scored_csv, "--policy", policy)


def seal(run: Run, data: Path, *more: object, name: str = "plan.json") -> Path:
    path = data.with_name(name)
    outcome = run("plan", data, *ASKED, *RULE, *MEASURED, *more, "--out", path, "-q")
    assert outcome.code == 0, outcome.stderr
    return path


def departures(outcome: Outcome) -> set[tuple[str, str]]:
    assert outcome.code in (0, 1, 3), outcome.stderr
    return {(one["part"], one["name"]) for one in json.loads(outcome.stdout)["plan"]["departures"]}


def audit(run: Run, data: Path, plan: Path, *more: object) -> Outcome:
    return run("audit", data, "--plan", plan, *more, "--json", "-q")


def rewrite(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")


def test_an_audit_under_a_plan_needs_nothing_else_and_departs_in_nothing(
    run: Run, scored_csv: Path, plan: Path, policy: Path
) -> None:
    under = json.loads(audit(run, scored_csv, plan).stdout)
    sealed = json.loads(plan.read_text("utf-8"))
    assert under["plan"] == {"sealed": sealed, "departures": []}
    asked = run("audit", scored_csv, *ASKED, *RULE, *MEASURED, "--policy", policy, "--json", "-q")
    alone = json.loads(asked.stdout)
    assert "plan" not in alone
    assert {**under, "made_at": 0} == {**alone, "made_at": 0, "plan": under["plan"]}


def test_a_plan_holds_what_an_audit_is_made_of(plan: Path, scored_csv: Path) -> None:
    sealed = json.loads(plan.read_text("utf-8"))
    assert sealed["scores_used"] == "no"
    assert sealed["roles"]["sensitive"] == ["race"]
    assert sealed["rule"]["max_continuous_shift"] == 0.1
    assert sealed["policy"]["max_gap_mean"] == 0.9
    assert sealed["settings"]["n_resamples"] == 40
    assert sealed["command"]["scores"] == ["p"]
    assert sealed["data"]["files"] == [{"file": str(scored_csv), "sha256": hash_file(scored_csv)}]
    assert {"likewise", "versions", "sealed_at", "checksum"} <= set(sealed)


@pytest.mark.parametrize("scores", [["low"] * 300, [0.5] * 300, None])
def test_scores_play_no_part_in_a_plan(
    run: Run, people: pa.Table, scored_csv: Path, monkeypatch: pytest.MonkeyPatch, scores: list[Any] | None
) -> None:
    monkeypatch.setattr("likewise.cli.commands._plan.now", lambda: SEALED)
    first = json.loads(seal(run, scored_csv, name="first.json").read_text("utf-8"))
    pyarrow.csv.write_csv(people if scores is None else people.append_column("p", pa.array(scores)), scored_csv)
    second = json.loads(seal(run, scored_csv, name="second.json").read_text("utf-8"))
    for one in (first, second):
        del one["checksum"], one["data"]["files"], one["data"]["has_scores"]
    assert first == second


def test_scores_may_come_after_the_plan(run: Run, people: pa.Table, scored_csv: Path) -> None:
    later = scored_csv.with_name("later.csv")
    scored_csv.rename(later)
    pyarrow.csv.write_csv(people, scored_csv)
    outcome = run("plan", scored_csv, *ASKED, *RULE, *MEASURED, "--out", scored_csv.with_name("plan.json"))
    assert "Column 'p' is not in the table yet" in outcome.stderr
    assert departures(audit(run, later, scored_csv.with_name("plan.json"))) == set()
    missing = audit(run, scored_csv, scored_csv.with_name("plan.json"))
    assert missing.code == 2
    assert missing.stderr.count("\n") == 1
    assert "has no column 'p', which the plan names" in missing.stderr


@pytest.mark.long(6)
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("--threshold", "0.6"), {("settings", "threshold")}),
        (("--threshold", "0"), {("settings", "threshold")}),
        (("--set", "gap_limit=0.1"), set()),
        (("--resamples", "0", "--set", "max_pairs=60"), {("settings", "n_resamples"), ("settings", "max_pairs")}),
        (("--max-discrete-changes", "2", *RULE), {("rule", "max_discrete_changes")}),
        ((*ASKED, "--ignore", "size"), {("columns", "ignored"), ("columns", "discrete")}),
    ],
)
def test_what_is_given_beside_the_plan_is_a_departure(
    run: Run, scored_csv: Path, plan: Path, given: tuple[str, ...], expected: set[tuple[str, str]]
) -> None:
    assert departures(audit(run, scored_csv, plan, *given)) == expected


def test_other_scores_are_a_departure(run: Run, scored: pa.Table, scored_csv: Path) -> None:
    pyarrow.csv.write_csv(scored.append_column("q", scored.column("p")), scored_csv)
    plan = seal(run, scored_csv, "--ignore", "q")
    found = departures(audit(run, scored_csv, plan, "--scores", "q"))
    assert found == {("scores", "columns")}


def test_an_option_with_its_default_replaces_what_was_planned(run: Run, scored_csv: Path) -> None:
    plan = seal(run, scored_csv, "--set", "gap_limit=0.2")
    assert departures(audit(run, scored_csv, plan)) == set()
    assert departures(audit(run, scored_csv, plan, "--set", "gap_limit=0.1")) == {("settings", "gap_limit")}


def test_another_policy_is_a_departure(run: Run, scored_csv: Path, plan: Path, policy: Path) -> None:
    policy.write_text("max_gap_mean = 0.95\nmin_roc_auc = 0.1\n")
    assert departures(audit(run, scored_csv, plan)) == set()
    assert departures(audit(run, scored_csv, plan, "--policy", policy)) == {("policy", "max_gap_mean")}


def test_other_people_and_other_scores_are_departures(run: Run, scored: pa.Table, scored_csv: Path, plan: Path) -> None:
    pyarrow.csv.write_csv(scored.slice(0, 290), scored_csv)
    found = departures(audit(run, scored_csv, plan))
    assert found == {("data", "rows"), ("data", "people as compared (SHA-256)")}
    turned = pa.array(scored.column("p").to_pylist()[::-1])
    pyarrow.csv.write_csv(scored.drop_columns(["p"]).append_column("p", turned), scored_csv)
    assert departures(audit(run, scored_csv, plan)) == {("data", "files (SHA-256), of the same people")}


def test_a_column_that_was_added_since_is_a_departure(run: Run, scored: pa.Table, scored_csv: Path) -> None:
    plan = seal(run, scored_csv)
    pyarrow.csv.write_csv(scored.append_column("new", scored.column("job")), scored_csv)
    found = departures(audit(run, scored_csv, plan))
    assert found == {("columns", "ignored"), ("data", "files (SHA-256), of the same people")}


def test_other_versions_are_departures(run: Run, scored_csv: Path, plan: Path) -> None:
    sealed = json.loads(plan.read_text("utf-8"))
    older = SealedPlan.from_dict(sealed).to_dict()
    older["versions"] = {**older["versions"], "numpy": "0.0.1"}
    older["checksum"] = read_as(SealedPlan, older).compute_checksum()
    rewrite(plan, **older)
    assert departures(audit(run, scored_csv, plan)) == {("versions", "numpy")}


def test_departures_are_on_the_terminal_the_page_and_the_markdown(run: Run, scored_csv: Path, plan: Path) -> None:
    out = scored_csv.with_name("audit")
    shown = run("audit", scored_csv, "--plan", plan, "--threshold", "0.6", "--out", out, "-q").stdout
    assert "1 departure from it" in shown
    assert "- settings, threshold: planned (none), found 0.6" in shown
    page = (out / "report.html").read_text("utf-8")
    assert "Departures from the plan" in page
    assert "without using scores; 1 departure from it" in page
    assert "| settings | threshold | - | 0.6 |" in (out / "audit.md").read_text("utf-8")


def test_a_model_is_planned_and_not_run(run: Run, people: pa.Table, csv: Path) -> None:
    ages = people.column("age").to_numpy().reshape(-1, 1)
    files = [csv.with_name(name) for name in ("model.skops", "other.skops")]
    for file, constant in zip(files, ("yes", "no"), strict=True):
        model = DummyClassifier(strategy="constant", constant=constant)
        skops.io.dump(model.fit(ages, people.column("hired").to_numpy(zero_copy_only=False)), file)
    plan = csv.with_name("plan.json")
    asked = ("--set", "features=age", "--resamples", "0")
    assert run("plan", csv, *ASKED, *RULE, *asked, "--model", files[0], "--out", plan, "-q").code == 0
    assert departures(audit(run, csv, plan, "--model", files[0])) == set()
    assert departures(audit(run, csv, plan, "--model", files[1])) == {("scores", "model (SHA-256)")}
    without = audit(run, csv, plan)
    assert without.code == 2
    assert "Give that file with --model" in without.stderr


def test_decisions_in_words_and_a_control_group_can_be_planned(run: Run, scored: pa.Table, scored_csv: Path) -> None:
    words = pa.array(["approved" if one > 0.5 else "denied" for one in scored.column("p").to_pylist()])
    table = scored.drop_columns(["p", "hired"]).append_column("decision", words)
    data = scored_csv.with_name("decided.parquet")
    pyarrow.parquet.write_table(table, data)
    plan = data.with_name("plan.json")
    asked = ("--sensitive", "race", "--row-id", "name", *RULE, "--resamples", "40", "--reference", "blue")
    decided = ("--scores", "decision", "--favourable", "approved")
    assert run("plan", data, *asked, *decided, "--out", plan, "-q").code == 0
    assert json.loads(plan.read_text("utf-8"))["settings"]["reference"] == {"race": ["blue"]}
    assert departures(audit(run, data, plan)) == set()


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        ({"rule_in_words": "any"}, "it was changed after it was sealed"),
        ({"rule": {"max_discrete_changes": 5}}, "it was changed after it was sealed"),
        ({"format": "likewise audit 1"}, "its format is 'likewise audit 1'"),
        ({"seen": 1}, "unknown entry 'seen'"),
        ({"settings": 3}, "settings is 3"),
    ],
)
def test_an_edited_plan_is_refused_in_one_line(
    run: Run, scored_csv: Path, plan: Path, edit: dict[str, Any], complaint: str
) -> None:
    rewrite(plan, **edit)
    outcome = audit(run, scored_csv, plan)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert outcome.stderr.count("\n") == 1
    assert complaint in outcome.stderr


@pytest.mark.long(5)
@pytest.mark.parametrize(
    "edit",
    [
        {"roles": {"race": ["race"]}},
        {"policy": {"max_nothing": 0.1}},
        {"data": {"files": [], "n_rows": 0, "table_checksum": "", "has_scores": True}},
        {"command.text": {"race": "given", "none": "x"}},
        {"command.label": "absent"},
        {"command.encoding": "none"},
        {"command.threshold": 1e300},
        {"settings.n_resamples": 10**12},
        {"settings.reference": {"race": ["absent"]}},
    ],
)
def test_a_plan_that_was_altered_and_sealed_again_is_refused_in_one_line_or_departed_from(
    run: Run, scored_csv: Path, plan: Path, edit: dict[str, Any]
) -> None:
    sealed = json.loads(plan.read_text("utf-8"))
    for name, value in edit.items():
        part, _, inner = name.partition(".")
        sealed[part] = {**sealed[part], inner: value} if inner else value
    sealed["checksum"] = read_as(SealedPlan, sealed).compute_checksum()
    plan.write_text(json.dumps(sealed), "utf-8")
    outcome = audit(run, scored_csv, plan)
    if outcome.code == 2:
        assert (outcome.stdout, outcome.stderr.count("\n")) == ("", 1)
    else:
        assert departures(outcome)


def test_a_plan_of_the_future_is_refused(
    run: Run, scored_csv: Path, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_outputs, "now", lambda: SEALED)
    outcome = audit(run, scored_csv, plan)
    assert outcome.code == 2
    assert "Correct the clock" in outcome.stderr


def test_a_plan_is_not_overwritten(run: Run, scored_csv: Path, plan: Path) -> None:
    before = plan.read_bytes()
    outcome = run("plan", scored_csv, *ASKED, *MEASURED, "--out", plan)
    assert (outcome.code, outcome.stderr.count("\n")) == (2, 1)
    assert plan.read_bytes() == before


@pytest.mark.parametrize(
    ("option", "given"), [("--memory-limit", ("--memory-limit", "1 GB")), ("--set pairs", ("--set", "pairs=folder"))]
)
def test_how_pairs_are_searched_for_is_no_part_of_a_plan(
    run: Run, scored_csv: Path, option: str, given: tuple[str, str]
) -> None:
    outcome = run("plan", scored_csv, *ASKED, *MEASURED, *given, "--out", scored_csv.with_name("plan.json"))
    assert (outcome.code, outcome.stderr.count("\n")) == (2, 1)
    assert f"{option}: it is no part of a plan" in outcome.stderr


@pytest.fixture
def record(run: Run, scored_csv: Path, plan: Path) -> Path:
    out = scored_csv.with_name("audit")
    assert run("audit", scored_csv, "--plan", plan, "--threshold", "0.6", "--out", out, "-q").code == 0
    return out / "audit.json"


def test_verify_checks_the_plan_and_its_departures(run: Run, record: Path, scored_csv: Path, plan: Path) -> None:
    outcome = run("verify", record, scored_csv, "--plan", plan)
    assert outcome.code == 0, outcome.stdout
    assert "\nPlan: Sealed " in outcome.stdout
    found = json.loads(record.read_text("utf-8"))
    rewrite(record, plan=found["plan"] | {"departures": []})
    hidden = run("verify", record, scored_csv)
    assert hidden.code == 1
    assert "plan.departures" in hidden.stdout
    sealed = found["plan"]["sealed"]
    rewrite(record, plan=found["plan"] | {"sealed": sealed | {"rule_in_words": "any"}})
    changed = run("verify", record, scored_csv)
    assert changed.code == 1
    assert "The plan in the record was changed after it was sealed" in changed.stdout


def test_verify_names_another_plan_and_one_made_after_the_audit(run: Run, record: Path, scored_csv: Path) -> None:
    other = seal(run, scored_csv, "--set", "gap_limit=0.3", name="other.json")
    outcome = run("verify", record, scored_csv, "--plan", other)
    assert outcome.code == 1
    assert f"The audit was made under another plan than '{other}'." in outcome.stdout
    rewrite(record, made_at=SEALED)
    late = run("verify", record, scored_csv)
    assert late.code == 1
    assert f"after the audit, made at {SEALED}" in late.stdout


def test_verify_says_when_the_record_names_no_plan(run: Run, record: Path, scored_csv: Path, plan: Path) -> None:
    found = json.loads(record.read_text("utf-8"))
    del found["plan"]
    record.write_text(json.dumps(found), "utf-8")
    assert run("verify", record, scored_csv).code == 0
    outcome = run("verify", record, scored_csv, "--plan", plan)
    assert outcome.code == 1
    assert "names no plan" in outcome.stdout


def test_a_column_made_from_the_score_is_confirmed_in_the_audit_or_in_the_plan(run: Run, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    p = random.random(300).round(4)
    people = {"sex": random.choice(["f", "m"], 300), "age": random.integers(18, 80, 300), "p": p, "approved": p >= 0.5}
    pyarrow.csv.write_csv(pa.table(people), tmp_path / "made.csv")
    (tmp_path / "policy.toml").write_text("max_gap_mean = 0.9\nmin_pairs = 1\n")
    policy = ("--policy", tmp_path / "policy.toml", "--quiet")
    asked = (tmp_path / "made.csv", "--sensitive", "sex", "--scores", "p", *policy)
    doubted = run("audit", *asked)
    assert doubted.code == 3
    assert "--confirm approved" in " ".join(doubted.stdout.split())
    assert run("audit", *asked, "--confirm", "approved", "--out", tmp_path / "out").code == 0
    assert run("verify", tmp_path / "out" / "audit.json", tmp_path / "made.csv").code == 0
    assert run("plan", *asked, "--confirm", "approved", "--out", tmp_path / "plan.json").code == 0
    assert run("audit", tmp_path / "made.csv", "--plan", tmp_path / "plan.json", "--quiet").code == 0
