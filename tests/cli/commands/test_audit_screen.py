"""What a person reads on the terminal: nothing hidden, nothing doubtful, the verdict on top and last."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ASKED = ("--sensitive", "race", "--max-continuous-shift", "0.1", "--resamples", "0")
SCORED = ("--label", "hired", *ASKED, "--scores", "p")


def test_a_column_called_score_does_not_hide_the_scores(run: Run, scored: pa.Table, scored_csv: Path) -> None:
    pyarrow.csv.write_csv(scored.rename_columns({"age": "score"}), scored_csv)
    text = run("audit", scored_csv, *SCORED).stdout
    lines = [line.split() for line in text.partition("Worst pairs")[2].splitlines()]
    assert [line[0] for line in lines if line and line[0].startswith("score")] == ["score", "score"]
    scores = next(line for line in lines if line and line[0] == "score")
    assert scores[1:3] == ["of", "p"]


def test_the_rule_is_part_of_what_is_found(run: Run, scored_csv: Path) -> None:
    text = " ".join(run("audit", scored_csv, *SCORED, "--quiet").stdout.split())
    assert "Comparable people have the same hired; different race; at most 1 of" in text


def test_the_column_of_scores_is_called_so(run: Run, scored_csv: Path) -> None:
    told = [line.split() for line in run("audit", scored_csv, *SCORED).stderr.splitlines()]
    assert ["scores", "p", "given"] in told
    assert not any(line[:2] == ["ignored", "p"] for line in told)


def test_it_says_once_for_whom_it_speaks_and_how_rows_are_counted(run: Run, scored_csv: Path) -> None:
    text = " ".join(run("audit", scored_csv, *SCORED).stdout.split())
    assert text.count("Unmatched people are not covered") == 1
    assert text.index("Unmatched people are not covered") < text.index("Mean gap")
    assert "rows count from 0" in text


def test_the_verdict_is_among_the_answers_on_top_and_the_last_line(run: Run, scored_csv: Path) -> None:
    policy = scored_csv.with_name("policy.toml")
    policy.write_text("max_gap_mean = 0.9\nmax_flip_rate = 0\n")
    text, verdict = (
        run("audit", scored_csv, *SCORED, "--resamples", 50, "--policy", policy).stdout,
        "Fail: 1 of 2 limits not met.",
    )
    assert text.index(f"Policy: {verdict}\n") < text.index("max_gap_mean ")
    assert text.splitlines()[-1] == verdict


@pytest.mark.parametrize("limit", ["max_gap_mean = 0", "min_roc_auc = 1"])
def test_a_failed_limit_prints_nobody_unless_asked(run: Run, scored_csv: Path, tmp_path: Path, limit: str) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(limit)
    asked = (*SCORED, "--row-id", "name", "--resamples", 50, "--policy", policy, "--out", tmp_path / "audit")
    shown, people = run("audit", scored_csv, *asked), re.compile(r"\bp\d+\b")
    assert shown.code == 1
    assert "The worst pairs are left out" in shown.stdout
    written = "".join((tmp_path / "audit" / name).read_text("utf-8") for name in ("audit.md", "junit.xml"))
    assert not people.search(shown.stdout + shown.stderr + written)
    assert people.search(run("audit", scored_csv, *asked, "--set", "rows=true").stdout)
    assert people.search((tmp_path / "audit" / "report.html").read_text("utf-8"))


def test_pairs_without_a_gap_are_no_worst_pairs(run: Run, scored: pa.Table, scored_csv: Path) -> None:
    flat = scored.set_column(scored.num_columns - 1, "p", pa.array([0.5] * scored.num_rows))
    pyarrow.csv.write_csv(flat, scored_csv)
    out = scored_csv.with_name("audit")
    text = run("audit", scored_csv, *SCORED, "--out", out).stdout
    assert "Worst pairs" not in text
    for page in ("audit.md", "report.html"):
        assert "All comparable people have equal scores." in (out / page).read_text("utf-8")
    assert (out / "review_sheet.csv").read_text("utf-8").count("\n") == 1
    assert text.index("The scores have collapsed") < text.index("Mean gap")


def test_amounts_have_a_unit_and_comparable_people_need_not_earn_the_same(
    run: Run, scored: pa.Table, scored_csv: Path
) -> None:
    pay = pc.add(pc.multiply(scored.column("hours"), 10.0), 0.5)
    pyarrow.csv.write_csv(scored.append_column("pay", pay), scored_csv)
    outcome = run("audit", scored_csv, "--label", "pay", *ASKED, "--scores", "hours", "--ignore", "p,name,hired")
    text = " ".join(outcome.stdout.split())
    unit = np.std(pay.to_numpy())
    assert f"A gap of 100% is a difference of {unit:,.6g}" in text
    assert "same pay" not in text + outcome.stderr
    assert "race people matched score" in text


def test_each_of_several_labels_is_named_with_its_column(run: Run, scored: pa.Table, scored_csv: Path) -> None:
    thirds = pa.array(np.full(scored.num_rows, 1 / 3))
    table = scored.append_column("q", thirds).append_column("r", thirds).set_column(8, "p", thirds)
    labels = pa.array(np.resize(["a", "b", "c"], scored.num_rows))
    pyarrow.csv.write_csv(table.set_column(7, "hired", labels), scored_csv)
    text = " ".join(run("audit", scored_csv, "--label", "hired", *ASKED, "--scores", "q,p,r").stdout.split())
    assert "columns 'q', 'p', 'r' for the labels a, b, c" in text
    assert "race people matched ─" in text


@pytest.mark.long(3)
@pytest.mark.parametrize("width", [80, 100, 140])
def test_values_and_intervals_are_not_broken_on_a_usual_terminal(
    run: Run, scored: pa.Table, scored_csv: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    long = {"blue": "Married-civ-spouse", "green": "Married-spouse-absent", "red": "Never-married"}
    values = pa.array([long[one] for one in scored.column("race").to_pylist()])
    pyarrow.csv.write_csv(scored.set_column(1, "race", values), scored_csv)
    text = run("audit", scored_csv, *SCORED[:-4], "--resamples", 40, "--scores", "p").stdout
    directions = text.partition("Scored lower")[2].partition("Worst pairs")[0]
    assert "Married-spouse-absent " in directions
    directions, _, beside = directions.partition("Regression beside")
    assert "\n  " not in directions.partition("──\n")[2].rstrip()
    assert "\n  " not in beside.partition("──\n")[2].partition("\n\n")[0]
    groups = text.partition("race ")[2].partition("Scored lower")[0]
    assert groups.count("Married-spouse-absent ") == 1
    assert all(len(line.split()[-1]) == len("0.123") for line in groups.partition("──\n")[2].strip().splitlines()[:3])
    assert all(line.count("(") == line.count(")") for line in text.splitlines() if "%" in line or " pp" in line)


def test_where_the_other_worst_pairs_are_is_said(run: Run, scored_csv: Path, tmp_path: Path) -> None:
    text = run("audit", scored_csv, *SCORED, "--out", tmp_path / "audit").stdout
    n_shown = text.partition("Worst pairs")[2].count(" row ") // 2
    n_others = len(pd.read_csv(tmp_path / "audit" / "review_sheet.csv")) - n_shown
    assert n_shown > 0 < n_others
    assert f"{n_others} more worst pairs are in" in text
    assert "more worst pairs" not in run("audit", scored_csv, *SCORED).stdout
