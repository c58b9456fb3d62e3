"""``likewise verify`` agrees with what was computed, and with nothing else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pytest
import skops.io
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from tests.sizes import sized

from likewise.auditing import audit
from likewise.schema import Roles

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ASKED = ("--label", "hired", "--sensitive", "race", "--max-continuous-shift", "0.1", "--resamples", "40")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the one audit whose record the tests copy; empty until the first of them."""
    return tmp_path_factory.mktemp("made") / "audit"


@pytest.fixture
def record(run: Run, scored_csv: Path, made: Path) -> Path:
    if not made.exists():
        policy = made.with_name("policy.toml")
        policy.write_text("max_gap_mean = 0.9\nmin_roc_auc = 0.1\n")
        assert run("audit", scored_csv, *ASKED, "--scores", "p", "--policy", policy, "--out", made).code == 0
    return Path(shutil.copytree(made, scored_csv.with_name("audit"))) / "audit.json"


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    record = json.loads(path.read_text("utf-8"))
    edit(record)
    path.write_text(json.dumps(record), "utf-8")


def test_what_was_computed_agrees(run: Run, record: Path, scored_csv: Path) -> None:
    outcome = run("verify", record, scored_csv)
    assert outcome.code == 0
    assert outcome.stdout.startswith("All ")
    assert "numbers agree (relative tolerance 1e-09)" in outcome.stdout
    met = "all 2 limits met (minimum 30 pairs)."
    assert outcome.stdout.endswith(f"\nRecorded verdict: Pass: {met}\n")
    assert outcome.stderr == ""


def test_it_does_not_matter_where_the_files_lie(run: Run, record: Path, scored_csv: Path) -> None:
    moved = scored_csv.with_name("elsewhere.csv")
    scored_csv.rename(moved)
    assert run("verify", record, moved).code == 0


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a number": (lambda r: r["measures"]["gap_mean"].update(value=0.123), "measures.gap_mean.value: recorded 0.123"),
    "a bound": (lambda r: r["measures"]["gap_q3"].update(high=None), "measures.gap_q3.high: recorded nothing"),
    "a count": (lambda r: r["coverage"][0].update(n_people=1), "coverage[0].n_people: recorded 1, found 300"),
    "a bar": (lambda r: r["distributions"]["slices"][0]["counts"].__setitem__(0, 7), "slices[0].counts[0]: recorded 7"),
    "an edge": (lambda r: r["distributions"]["edges"].pop(), "distributions.edges[]: recorded"),
    "a person": (lambda r: r["person_gaps"]["worst"][0].update(worst_gap=0.5), "worst[0].worst_gap: recorded 0.5"),
    "a name": (lambda r: r["person_gaps"]["worst"][1].update(comparator_id="x"), "worst[1].comparator_id: recorded x"),
    "what came true": (lambda r: r["calibration"][2].update(observed=0.5), "calibration[2].observed: recorded 0.5"),
    "scores": (lambda r: r.update(score_distribution=None), "score_distribution: recorded nothing"),
    "a word": (
        lambda r: r.update(notes=[*r["notes"], "All is well."], note_kinds=[*r["note_kinds"], "sampled"]),
        ": recorded All is well., found (absent)",
    ),
    "evidence": (lambda r: r["worst_pairs"].pop(), "worst_pairs[]: recorded"),
    "the verdict": (lambda r: r["verdict"].update(outcome="fail"), "verdict.outcome: recorded fail, found pass"),
    "the policy": (
        lambda r: r["verdict"]["policy"].update(max_gap_mean=0.5),
        "verdict.checks[0].limit: recorded 0.9, found 0.5",
    ),
    "the seed": (lambda r: r["settings"].update(seed=9), "do not agree"),
    "the rule": (lambda r: r["rule"].update(max_discrete_changes=0), "do not agree"),
}


@pytest.mark.long(6)
@pytest.mark.parametrize("case", CHANGES)
def test_a_changed_record_does_not_agree(run: Run, record: Path, scored_csv: Path, case: str) -> None:
    edit, words = CHANGES[case]
    change(record, edit)
    outcome = run("verify", record, scored_csv)
    assert outcome.code == 1
    assert words in outcome.stdout
    assert "not agree" in outcome.stdout


def test_numbers_may_differ_in_their_last_digits(run: Run, record: Path, scored_csv: Path) -> None:
    change(record, lambda r: r["measures"]["gap_mean"].update(value=r["measures"]["gap_mean"]["value"] * (1 + 1e-12)))
    assert run("verify", record, scored_csv).code == 0
    change(record, lambda r: r["measures"]["gap_mean"].update(value=r["measures"]["gap_mean"]["value"] * (1 + 1e-8)))
    outcome = run("verify", record, scored_csv)
    assert outcome.code == 1
    assert "1 of" in outcome.stdout


def test_other_data_is_said_first_and_computed_all_the_same(
    run: Run, record: Path, scored: pa.Table, scored_csv: Path
) -> None:
    pyarrow.csv.write_csv(scored.slice(0, 290), scored_csv)
    outcome = run("verify", record, scored_csv)
    assert outcome.code == 1
    assert outcome.stdout.startswith("The data is not what was audited: ")
    assert "data.n_rows: recorded 300, found 290" in outcome.stdout
    assert max(map(len, outcome.stdout.splitlines()[1:])) <= 100
    assert outcome.stdout.splitlines()[-1].startswith("  ... and ")
    text = scored_csv.read_text()
    scored_csv.write_text(text.splitlines()[0] + "\n" + "\n".join(text.splitlines()[1:3]) + "\n")
    outcome = run("verify", record, scored_csv)
    assert (outcome.code, outcome.stdout.count("\n")) == (1, 4)
    assert "Nothing agrees: No comparable pairs" in outcome.stdout


def test_the_same_rows_in_another_file_are_told_apart(run: Run, record: Path, scored_csv: Path) -> None:
    scored_csv.write_text(scored_csv.read_text() + "\n")
    outcome = run("verify", record, scored_csv)
    assert outcome.code == 1
    assert outcome.stdout.startswith("The data is not what was audited: ")
    assert "\nAll " in outcome.stdout


def test_a_checksum_that_the_report_prints_is_checked(run: Run, record: Path, scored_csv: Path) -> None:
    change(record, lambda r: r["data"].update(sha256="0" * 64))
    outcome = run("verify", record, scored_csv)
    assert outcome.code == 1
    assert f"SHA-256 on record  {'0' * 64}" in outcome.stdout


def test_what_is_not_recomputed_is_said(run: Run, record: Path, scored_csv: Path) -> None:
    assert "not recomputed: the time of the audit, names of files." in run("verify", record, scored_csv).stdout
    review = {
        "pair": 1,
        "key": "k5d41402abc4b",
        "reviewer": "A",
        "date": "2026-01-01",
        "disposition": "explained",
        "reason": "b",
    }
    for disposition in ("explained", "unresolved"):
        review["disposition"] = disposition
        change(record, lambda r: r.update(reviews=[review]))
        outcome = run("verify", record, scored_csv)
        assert outcome.code == 0, outcome.stdout + outcome.stderr
        assert "what 1 review found (reviewers, dates, dispositions, reasons)." in outcome.stdout


def test_other_versions_are_a_note(run: Run, record: Path, scored_csv: Path) -> None:
    change(record, lambda r: (r["versions"].update(numpy="1.0"), r.update(likewise="0.0.1")))
    outcome = run("verify", record, scored_csv)
    assert outcome.code == 0
    assert "Other versions: likewise 0.0.1 then and " in outcome.stderr
    assert "numpy 1.0 then and " in outcome.stderr


def test_how_the_file_was_read_goes_with_the_record(run: Run, scored: pa.Table, scored_csv: Path) -> None:
    text = scored_csv.read_text().replace(",", ";").replace(".", ",").replace("blue", "bläu")
    scored_csv.write_bytes(text.encode("cp1252"))
    reading = ("--set", "delimiter=;", "--decimal", ",", "--encoding", "cp1252")
    out = scored_csv.with_name("audit")
    assert run("audit", scored_csv, *ASKED, *reading, "--scores", "p", "--out", out).code == 0
    assert run("verify", out / "audit.json", scored_csv).code == 0


class Stranger(DummyClassifier):  # type: ignore[misc]  # scikit-learn ships no types
    pass


def test_a_model_is_asked_for_and_told_from_another(run: Run, scored: pa.Table, scored_csv: Path) -> None:
    people, y = scored.select(["age", "hours"]).to_pandas(), scored.column("hired").to_numpy()
    model, out = scored_csv.with_name("m.skops"), scored_csv.with_name("audit")
    skops.io.dump(LogisticRegression().fit(people, y), model)
    assert run("audit", scored_csv, *ASKED, "--ignore", "p", "--model", model, "--out", out).code == 0
    record = out / "audit.json"
    assert run("verify", record, scored_csv, "--model", model).code == 0
    without = run("verify", record, scored_csv)
    assert without.code == 2
    assert "Give that file with --model" in without.stderr
    skops.io.dump(LogisticRegression(C=0.01).fit(people, y), model)
    other = run("verify", record, scored_csv, "--model", model)
    assert other.code == 1
    assert other.stdout.startswith("The model is not what was audited: ")


def test_trust_is_never_taken_from_the_record(run: Run, scored: pa.Table, scored_csv: Path) -> None:
    people, y = scored.select(["age", "hours"]).to_pandas(), scored.column("hired").to_numpy()
    model, out = scored_csv.with_name("m.skops"), scored_csv.with_name("audit")
    skops.io.dump(Stranger(strategy="prior").fit(people, y), model)
    trust = ("--trust", *skops.io.get_untrusted_types(file=model))
    assert run("audit", scored_csv, *ASKED, "--ignore", "p", "--model", model, *trust, "--out", out).code == 0
    refused = run("verify", out / "audit.json", scored_csv, "--model", model)
    assert refused.code == 2
    assert "--trust" in refused.stderr
    assert run("verify", out / "audit.json", scored_csv, "--model", model, *trust).code == 0


def test_what_cannot_be_checked_is_one_line_and_exit_code_2(run: Run, record: Path, scored_csv: Path) -> None:
    folder = scored_csv.parent
    whole = record.read_text("utf-8")
    (folder / "cut.json").write_text(whole[: len(whole) // 2])
    (folder / "nan.json").write_text(whole.replace('"threshold": 0.5', '"threshold": NaN'))
    (folder / "list.json").write_text("[1, 2]")
    (folder / "foreign.json").write_text('{"format": "other"}')
    (folder / "latin.json").write_bytes('{"é": 1}'.encode("latin-1"))
    for name, edit in EDITS.items():
        (folder / f"{name}.json").write_text(whole)
        change(folder / f"{name}.json", edit)
    found = audit("p", pyarrow.csv.read_csv(scored_csv), roles=ROLES, n_resamples=0).to_dict()
    (folder / "python.json").write_text(json.dumps(found))
    before = sorted(os.listdir(folder))
    names = ["cut", "nan", "list", "foreign", "latin", "python", "not there", *sized(list(EDITS)[::3], list(EDITS))]
    for path in [*(folder / f"{name}.json" for name in names), folder]:
        outcome = run("verify", path, scored_csv, "--quiet")
        assert outcome.code == 2, path
        assert outcome.stdout == "", path
        assert outcome.stderr.startswith("likewise: "), path
        assert outcome.stderr.count("\n") == 1, path
        assert any(named in outcome.stderr for named in (str(path), str(scored_csv), "--encoding")), path
        assert ".." not in outcome.stderr.replace(str(folder), ""), path
        assert "frame" not in outcome.stderr, path
    assert run("verify", record, folder / "no.csv").code == 2
    assert run("verify", record, scored_csv, "--model", folder / "m.onnx").code == 2
    assert sorted(os.listdir(folder)) == before


ROLES = Roles(
    sensitive="race", discrete=["sex", "job", "size"], continuous=["age", "hours"], label="hired", ignored="name"
)
EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "no roles": lambda r: r.pop("roles"),
    "odd roles": lambda r: r["roles"].update(colour=["race"]),
    "no settings": lambda r: r.update(settings=[]),
    "no seed": lambda r: r["settings"].pop("seed"),
    "odd seed": lambda r: r["settings"].update(seed="x"),
    "odd confidence": lambda r: r["settings"].update(confidence=7),
    "odd rule": lambda r: r["rule"].update(max_discrete_changes=-1),
    "odd threshold": lambda r: r["command"].update(threshold="high"),
    "odd policy": lambda r: r.update(policy={"max_joy": 1}),
    "odd label": lambda r: r["command"].update(label="nobody"),
    "odd encoding": lambda r: r["command"].update(encoding="runes"),
    "encoding that is a number": lambda r: r["command"].update(encoding=3),
    "label that is a list": lambda r: r["command"].update(label=["hired"]),
    "policy that is a list": lambda r: r.update(policy=[1]),
    "later format": lambda r: r.update(format="likewise audit 9"),
    "unknown task": lambda r: r["settings"].update(task="guess"),
    "odd model": lambda r: r["data"].update(model="m.onnx"),
    "odd columns": lambda r: r["roles"].update(discrete=["nothing"]),
}
