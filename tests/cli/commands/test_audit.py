"""What ``likewise audit`` promises: the numbers of the library, judged, written and shown; every failure a line."""

from __future__ import annotations

import hashlib
import json
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import pytest

import likewise
from likewise.auditing import audit
from likewise.comparable import Comparability
from likewise.schema import Roles

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ASKED = ("--label", "hired", "--sensitive", "race")
NEAR = ("--max-continuous-shift", "0.1")
SCORED = (*ASKED, *NEAR, "--scores", "p", "--resamples", "50")
RULE = Comparability(max_continuous_shift=0.1)
FILES = [
    *(
        ".likewise-files.json",
        "audit.json",
        "audit.md",
        "junit.xml",
        "report.html",
        "review_sheet.csv",
        "worst_pairs.parquet",
    ),
]


def read_json(run: Run, *args: object, code: int = 0) -> dict[str, Any]:
    outcome = run("audit", *args, "--json")
    assert outcome.code == code, outcome.stderr
    assert outcome.stdout.count("\n") == 1
    record = json.loads(outcome.stdout, parse_constant=pytest.fail)
    assert isinstance(record, dict)
    return record


def test_decisions_given_as_the_label_are_no_all_clear(run: Run, scored: pa.Table, tmp_path: Path) -> None:
    approved = pc.greater_equal(scored.column("p"), 0.5)
    table = scored.append_column("approved", pc.cast(approved, pa.int64()))
    table = table.append_column("decision", pc.if_else(approved, "approved", "denied"))
    pyarrow.csv.write_csv(table.drop_columns(["p", "hired"]), tmp_path / "decided.csv")
    policy = write_policy(tmp_path, max_flip_rate=0.5, max_gap_mean=0.5)
    asked = ("--label", "decision", "--scores", "approved", "--sensitive", "race", "--ignore", "name", *NEAR)
    outcome = run("audit", tmp_path / "decided.csv", *asked, "--resamples", 50, "--policy", policy)
    assert outcome.code == 3
    assert "audit without labels" in outcome.stdout


def test_without_a_label_people_are_compared_whatever_their_outcome(run: Run, scored: pa.Table, tmp_path: Path) -> None:
    approved = pc.if_else(pc.greater_equal(scored.column("p"), 0.5), "approved", "denied")
    file = tmp_path / "decided.csv"
    pyarrow.csv.write_csv(scored.append_column("decision", approved).drop_columns(["p", "hired"]), file)
    columns = ("--sensitive", "race", "--row-id", "name", *NEAR, "--scores", "decision")
    asked = (*columns, "--favourable", "approved", "--resamples", 50)
    policy = write_policy(tmp_path, max_flip_rate=0.01)
    outcome = run("audit", file, *asked, "--policy", policy, "--out", tmp_path / "audit")
    assert outcome.code == 1
    assert "no labels" in outcome.stdout
    assert "ROC AUC" not in outcome.stdout
    record = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert record["command"]["label"] is None
    assert record["measures"]["flip_rate"]["value"] > 0.01
    assert run("verify", tmp_path / "audit" / "audit.json", file).code == 0
    assert run("pairs", file, *columns, "--out", tmp_path / "pairs").code == 0
    again = read_json(run, file, *asked, "--set", f"pairs={tmp_path / 'pairs'}")
    assert again["measures"] == record["measures"]
    listed = tmp_path / "pairs.csv"
    assert "hired" not in run("pairs", file, *columns, "--out", listed).stdout
    assert "label" not in listed.read_text().splitlines()[0]
    refused = run("audit", file, *columns)
    assert refused.code == 2
    assert "--favourable approved" in refused.stderr


def test_low_scores_may_be_favourable(run: Run, scored_csv: Path) -> None:
    high, low = (read_json(run, scored_csv, *SCORED, "--favourable", one) for one in ("yes", "no"))
    rates = [[one["selection_rate"] for one in record["groups"]] for record in (high, low)]
    assert rates[1] == pytest.approx([1 - rate for rate in rates[0]])
    assert (high["settings"]["favourable"], low["settings"]["favourable"], low["favours_low"]) == ("yes", "no", True)
    assert low["directions"][0]["target"] == high["directions"][0]["origin"]
    assert low["directions"][0]["mean_gap"] == pytest.approx(high["directions"][0]["mean_gap"])
    wrong = run("audit", scored_csv, *SCORED, "--favourable", "maybe")
    assert wrong.code == 2
    assert "--favourable" in wrong.stderr


def test_a_reference_is_compared_with_and_verified(run: Run, scored_csv: Path, tmp_path: Path) -> None:
    policy = write_policy(tmp_path, min_signed_gap=-0.05)
    asked = (*SCORED, "--reference", "race=blue", "--policy", policy, "--out", tmp_path / "audit")
    outcome = run("audit", scored_csv, *asked)
    assert outcome.code == 1  # blue people are scored higher by 0.2
    assert "Target and control" in outcome.stdout
    assert run("verify", tmp_path / "audit" / "audit.json", scored_csv).code == 0
    record = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert record["settings"]["reference"] == {"race": ["blue"]}
    assert record["measures"]["signed_gap"]["high"] < -0.05
    assert read_json(run, scored_csv, *SCORED, "--reference", "blue")["settings"] == record["settings"]
    wrong = run("audit", scored_csv, *SCORED, "--reference", "pink")
    assert (wrong.code, "--reference is 'pink'" in wrong.stderr) == (2, True)


def test_weights_are_recorded_verified_and_kept_by_a_plan(run: Run, scored: pa.Table, tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    weights = np.arange(len(scored)) % 4 + 0.5
    pyarrow.csv.write_csv(scored.append_column("weight", pa.array(weights)), data)
    found = read_json(run, data, *SCORED, "--weight", "weight")
    assert found["settings"]["sample_weight"] == "weight"
    assert "weight" in found["roles"]["ignored"]
    assert found["weights"]["origin"] == "column 'weight'"
    assert found["weights"]["n_effective"] == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    shown = run("audit", data, *SCORED, "--weight", "weight", "--out", tmp_path / "audit")
    assert "Weighted by column 'weight'" in " ".join(shown.stdout.split())
    assert "weights" in shown.stderr
    assert "Weighted by column" in (tmp_path / "audit" / "report.html").read_text("utf-8")
    assert run("verify", tmp_path / "audit" / "audit.json", data).code == 0
    plan = tmp_path / "plan.json"
    assert run("plan", data, *SCORED, "--weight", "weight", "--out", plan).code == 0
    assert json.loads(run("audit", data, "--plan", plan, "--json").stdout)["plan"]["departures"] == []
    pyarrow.csv.write_csv(scored.append_column("weight", pa.array(weights + 1)), data)
    departures = json.loads(run("audit", data, "--plan", plan, "--json").stdout)["plan"]["departures"]
    assert ("data", "weights (SHA-256)") in {(one["part"], one["name"]) for one in departures}
    assert run("verify", tmp_path / "audit" / "audit.json", data).code == 1


def write_policy(folder: Path, **limits: float) -> Path:
    path = folder / "policy.toml"
    path.write_text("".join(f"{name} = {limit}\n" for name, limit in limits.items()))
    return path


def test_the_record_holds_the_numbers_of_the_library(run: Run, scored: pa.Table, scored_csv: Path) -> None:
    record = read_json(run, scored_csv, *SCORED)
    roles = Roles.infer(scored, label="hired", sensitive="race", ignored="p")
    found = audit("p", scored, roles=roles, rule=RULE, n_resamples=50).to_dict()
    assert record["measures"] == found["measures"]
    assert record["directions"] == found["directions"]
    assert record["data"]["table_checksum"] == found["data"]["table_checksum"]
    assert "p" in record["roles"]["ignored"]
    assert record["data"]["scores"] == "column 'p'"


def test_the_record_says_how_to_have_it_again(run: Run, scored_csv: Path) -> None:
    record = read_json(run, scored_csv, *SCORED, "--decimal", ".", "--threshold", 0.6, "--positive", "no")
    assert record["data"]["file"] == str(scored_csv)
    assert record["data"]["sha256"] == hashlib.sha256(scored_csv.read_bytes()).hexdigest()
    assert record["data"]["model"] is None
    assert record["command"]["decimal"] == "."
    assert (record["threshold"], record["positive"], record["command"]["positive"]) == (0.6, "no", "no")
    assert record["made_at"].endswith("Z")
    assert record["likewise"] == likewise.__version__


def test_out_holds_record_reports_and_evidence(run: Run, scored_csv: Path) -> None:
    out = scored_csv.parent / "deep" / "audit"
    record = read_json(run, scored_csv, *SCORED, "--row-id", "name", "--out", out)
    assert sorted(os.listdir(out)) == FILES
    assert json.loads((out / "audit.json").read_text("utf-8")) == record
    assert (out / "audit.md").read_text("utf-8").startswith("#")
    ElementTree.parse(out / "junit.xml")
    worst = pyarrow.parquet.read_table(out / "worst_pairs.parquet")
    assert worst.num_rows == len(record["worst_pairs"]) > 50
    assert worst.column("left_id").to_pylist() == [pair["left_id"] for pair in record["worst_pairs"]]


def test_the_same_question_writes_the_same_files(run: Run, scored_csv: Path) -> None:
    contents = []
    for name in ("one", "two"):
        out = scored_csv.with_name(name)
        run("audit", scored_csv, *SCORED, "--out", out, "--quiet")
        record = json.loads((out / "audit.json").read_text("utf-8"))
        record.pop("made_at")
        contents.append((record, (out / "worst_pairs.parquet").read_bytes()))
    assert contents[0] == contents[1]


def test_without_out_nothing_is_written(run: Run, scored_csv: Path) -> None:
    assert run("audit", scored_csv, *SCORED).code == 0
    assert os.listdir(scored_csv.parent) == [scored_csv.name]


@pytest.mark.long(3)
@pytest.mark.parametrize(
    ("limits", "code", "outcome"),
    [
        ({"max_gap_mean": 0.9, "max_flip_rate": 1.0}, 0, "pass"),
        ({"max_gap_mean": 0.01, "max_flip_rate": 1.0}, 1, "fail"),
        ({"max_gap_mean": 0.01, "min_pairs": 100_000}, 3, "inconclusive"),
    ],
)
def test_the_verdict_is_the_exit_code_and_is_said_everywhere(
    run: Run, scored_csv: Path, limits: dict[str, float], code: int, outcome: str
) -> None:
    policy, out = write_policy(scored_csv.parent, **limits), scored_csv.with_name("audit")
    result = run("audit", scored_csv, *SCORED, "--policy", policy, "--out", out)
    assert result.code == code
    assert f"\nPolicy: {outcome.capitalize()}: " in result.stdout
    assert result.stdout.rstrip().splitlines()[-1].startswith(outcome.capitalize())
    record = json.loads((out / "audit.json").read_text("utf-8"))
    assert record["verdict"]["outcome"] == outcome
    assert record["verdict"]["policy"]["max_gap_mean"] == limits["max_gap_mean"]
    suite = ElementTree.parse(out / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("failures"), suite.get("skipped")) == {0: ("0", "0"), 1: ("1", "0"), 3: ("0", "1")}[code]


def test_no_comparable_pairs_is_inconclusive_and_a_line(run: Run, scored_csv: Path) -> None:
    scored_csv.write_text("race,age,y,p\na,1.5,0,0.5\nb,99.5,0,0.5\na,50.5,1,0.5\n")
    asked = ("--label", "y", "--sensitive", "race", "--scores", "p", "--continuous", "age")
    outcome = run("audit", scored_csv, *asked, "--out", scored_csv.with_name("audit"), "--quiet")
    assert outcome.code == 3
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("likewise: No comparable pairs among 3 rows.")
    assert "--max-continuous-shift" in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert os.listdir(scored_csv.parent) == [scored_csv.name]


def test_people_read_the_numbers(run: Run, scored_csv: Path) -> None:
    record = read_json(run, scored_csv, *SCORED)
    outcome = run("audit", scored_csv, *SCORED)
    text = " ".join(outcome.stdout.split())
    mean = record["measures"]["gap_mean[yes]"]["value"]
    assert f"{record['pairs']['n_total']:,} comparable pairs among the 300 rows" in text
    assert f"Mean gap {100 * mean:.2f} pp" in text
    for words in (
        "hired = yes (positive)",
        "same-group pair",
        "ROC AUC",
        "Standard deviation of scores",
        "Scored lower",
        "p (Holm)",
    ):
        assert words in text
    for words in ("blue", "race (sensitive)", "Mean rank gap", "different decisions", "This audit covers"):
        assert words in text
    assert "scored by column 'p'" in text
    shown = [line for line in outcome.stdout.splitlines() if line.startswith("* differs")]
    rows = [word for word in shown[0].replace("row ", "").split() if word.isdigit()]
    assert len(rows) == len(set(rows)) >= 4


@pytest.mark.long(3)
@pytest.mark.parametrize("width", [40, 80, 120])
def test_output_keeps_within_the_terminal(
    run: Run, scored_csv: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    policy = write_policy(scored_csv.parent, max_gap_mean=0.1, min_pairs=100_000)
    outcome = run("audit", scored_csv, *SCORED, "--policy", policy)
    assert max(map(len, outcome.stdout.splitlines())) <= width


def test_options_reach_the_audit(run: Run, scored_csv: Path) -> None:
    record = read_json(
        *(run, scored_csv, *SCORED, "--resamples", 0, "--set", "approval_rate=0.25", "--set", "gap_limit=0.3"),
        *("--set", "max_pairs=50", "--max-discrete-changes", 2),
    )
    settings = record["settings"]
    assert (settings["n_resamples"], settings["approval_rate"], settings["gap_limit"]) == (0, 0.25, 0.3)
    assert settings["max_pairs"] == 50
    assert record["pairs"]["n_kept"] == 50 < record["pairs"]["n"] == record["pairs"]["n_total"]
    assert record["rule"]["max_discrete_changes"] == 2
    assert record["measures"]["gap_mean"]["low"] is None


def test_several_labels_take_a_column_each(run: Run, scored_csv: Path) -> None:
    random = np.random.default_rng(0)
    n = 200
    p = random.dirichlet([1, 1, 1], n).round(6)
    p[:, 2] = 1 - p[:, 0] - p[:, 1]
    table = pa.table(
        {
            "race": random.choice(["a", "b"], n),
            "job": random.choice(["u", "v"], n),
            "y": random.choice(["x", "y", "z"], n),
            **{name: p[:, i] for i, name in enumerate(("px", "py", "pz"))},
        }
    )
    pyarrow.csv.write_csv(table, scored_csv)
    asked = (scored_csv, "--label", "y", "--sensitive", "race", "--resamples", 0)
    record = read_json(run, *asked, "--scores", "px,py,pz")
    assert record["task"] == "multiclass"
    assert record["data"]["scores"] == "columns 'px', 'py', 'pz' for the labels x, y, z"
    assert "y = z" in run("audit", *asked, "--scores", "px,py,pz").stdout
    assert "3 labels" in run("audit", *asked, "--scores", "px", "--ignore", "py,pz", "--quiet").stderr


def test_predicted_amounts_are_audited_by_their_spread(run: Run, scored_csv: Path) -> None:
    random = np.random.default_rng(0)
    n = 200
    pay = random.normal(100, 10, n)
    columns = {"race": random.choice(["a", "b"], n), "job": random.choice(["u", "v"], n), "pay": pay}
    pyarrow.csv.write_csv(pa.table({**columns, "p": pay + random.normal(0, 1, n)}), scored_csv)
    asked = (scored_csv, "--label", "pay", "--sensitive", "race", "--scores", "p", "--resamples", 0)
    record = read_json(run, *asked)
    assert record["task"] == "regression"
    assert record["scale"] == pytest.approx(pay.std())
    assert read_json(run, *asked, "--set", "scale=2")["scale"] == 2
    assert "All pairs" in run("audit", *asked).stdout


def test_labels_are_understood_by_the_type_of_their_column(run: Run, scored: pa.Table, scored_csv: Path) -> None:
    is_hired = pc.equal(scored.column("hired"), "yes")
    for column, text, label in ((is_hired, "False", False), (is_hired.cast(pa.int64()), "0", 0)):
        pyarrow.csv.write_csv(scored.set_column(7, "hired", column), scored_csv)
        record = read_json(run, scored_csv, *SCORED, "--positive", text)
        assert record["positive"] is label or record["positive"] == label


BAD_USE: dict[str, tuple[tuple[object, ...], str]] = {
    "no scores": (("{csv}", *ASKED), "Add --scores with the column"),
    "scores and model": (("{csv}", *SCORED, "--model", "m.onnx"), "--scores and --model"),
    "two ways to decide": (
        ("{csv}", *SCORED, "--threshold", 0.5, "--set", "approval_rate=0.5"),
        "--threshold and --set approval-rate both",
    ),
    "trust without model": (("{csv}", *SCORED, "--trust", "a.B"), "name one with --model"),
    "features without model": (("{csv}", *SCORED, "--set", "features=age"), "name one with --model"),
    "unknown scores": (("{csv}", *ASKED, "--scores", "q"), "--scores names column 'q'"),
    "scores that are the label": (("{csv}", *ASKED, "--scores", "hired"), "named by --scores and by --label"),
    "scores that are sensitive": (("{csv}", *ASKED, "--scores", "race"), "named by --scores and by --sensitive"),
    "weights that are the label": (("{csv}", *SCORED, "--weight", "hired"), "named by --weight and by --label"),
    "weights that are the scores": (("{csv}", *SCORED, "--weight", "p"), "named by --scores and by --weight"),
    "weights of text": (("{csv}", *SCORED, "--weight", "job"), "--weight (column 'job') is not made of numbers"),
    "unknown weights": (("{csv}", *SCORED, "--weight", "w"), "--weight names column 'w'"),
    "scores of text": (("{csv}", *ASKED, "--scores", "job"), "are not numbers"),
    "scores outside": (("{csv}", *ASKED, "--scores", "age"), "the share of the range"),
    "no sensitive column": (("{csv}", "--label", "hired", "--scores", "p"), "Add --sensitive"),
    "unknown positive": (("{csv}", *SCORED, "--positive", "maybe"), "'maybe'"),
    "approval rate": (("{csv}", *SCORED, "--set", "approval_rate=2"), "--set approval-rate"),
    "threshold": (("{csv}", *SCORED, "--threshold", "nan"), "--threshold"),
    "gap limit": (("{csv}", *SCORED, "--set", "gap_limit=-1"), "--set gap-limit"),
    "scale": (("{csv}", *SCORED, "--set", "scale=0"), "--set scale"),
    "unit of probabilities": (("{csv}", *SCORED, "--set", "scale=2"), "--set scale is"),
    "gap limit in percent": (("{csv}", *SCORED, "--set", "gap_limit=10"), "--set gap-limit is 10"),
    "too few resamples": (("{csv}", *SCORED, "--resamples", 3), "--resamples is 3, too few"),
    "resamples": (("{csv}", *SCORED, "--resamples", -1), "--resamples"),
    "no pairs allowed": (("{csv}", *SCORED, "--set", "max_pairs=0"), "--set max-pairs"),
    "task": (("{csv}", *SCORED, "--set", "task=guess"), "regression"),
    "task of amounts": (("{csv}", *SCORED, "--set", "task=regression"), "Give them as --label"),
    "out is a file": (("{csv}", *SCORED, "--out", "{folder}/bad.toml"), "is a file"),
    "out is the input": (("{csv}", *SCORED, "--out", "{csv}"), "is the input"),
    "out under a file": (("{csv}", *SCORED, "--out", "{folder}/bad.toml/deep/audit"), "is a file"),
    "a folder in the place of a file": (
        ("{csv}", *SCORED, "--out", "{folder}/full"),
        "audit.md' is no file of an earlier audit",
    ),
    "no policy file": (("{csv}", *SCORED, "--policy", "{folder}/p.toml"), "cannot be read"),
    "broken policy": (("{csv}", *SCORED, "--policy", "{csv}"), "is not TOML"),
    "unknown limit": (("{csv}", *SCORED, "--policy", "{folder}/bad.toml"), "Did you mean 'max_gap_mean'?"),
    "limit in percent": (("{csv}", *SCORED, "--policy", "{folder}/percent.toml"), "percent.toml: max_gap_mean is 20"),
    "no limits": (("{csv}", *SCORED, "--policy", "{folder}/unlimited.toml"), "unlimited.toml sets no limit"),
    "no model file": (("{csv}", *ASKED, "--model", "{folder}/m.onnx"), "There is no model file"),
    "a pickle": (("{csv}", *ASKED, "--model", "{folder}/bad.pkl"), "may run code"),
    "no data": (("{csv}x", *SCORED), "Did you mean"),
}


@pytest.mark.long(3)
@pytest.mark.parametrize("case", BAD_USE)
def test_bad_use_is_one_line_and_exit_code_2(run: Run, scored_csv: Path, case: str) -> None:
    folder = scored_csv.parent
    (folder / "bad.pkl").write_bytes(b"anything")
    (folder / "bad.toml").write_text("max_gap_meen = 0.1\n")
    (folder / "percent.toml").write_text("max_gap_mean = 20\n")
    (folder / "unlimited.toml").write_text("min_pairs = 5\n")
    (folder / "full" / "audit.md").mkdir(parents=True)
    roles = Roles(sensitive="race", ignored=["name", "sex", "job", "size", "age", "hours", "hired", "p"])
    roles.learn(pyarrow.csv.read_csv(scored_csv)).save(folder / "s.json")
    before = sorted(os.listdir(folder))
    args, words = BAD_USE[case]
    outcome = run("audit", *(str(arg).format(csv=scored_csv, folder=folder) for arg in args), "--quiet")
    assert outcome.code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("likewise: ")
    assert outcome.stderr.count("\n") == 1
    assert words in outcome.stderr
    assert sorted(os.listdir(folder)) == before


def test_a_failure_while_writing_leaves_the_old_audit(
    run: Run, scored_csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = scored_csv.with_name("audit")
    assert run("audit", scored_csv, *SCORED, "--out", out, "--quiet").code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pyarrow.csv, "write_csv", fail)
    outcome = run("audit", scored_csv, *SCORED, "--out", out, "--quiet")
    assert (outcome.code, outcome.stdout) == (4, "")  # the machine, not the request
    assert "No space left" in outcome.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    run("audit", scored_csv, *SCORED, "--out", scored_csv.with_name("new"), "--quiet")
    assert not scored_csv.with_name("new").exists()
