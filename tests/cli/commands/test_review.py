"""What ``likewise review merge`` promises: reviews in the record and the report, or every fault a line and no file."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from likewise.record import AuditRecord
from likewise.report import to_html, to_markdown

if TYPE_CHECKING:
    from tests.cli.conftest import Run

SCORED = ("--label", "hired", "--sensitive", "race", "--max-continuous-shift", "0.1", "--resamples", "0", "--quiet")
FILLED = {"reviewer": "A. Lee", "date": "2026-11-17", "disposition": "explained", "reason": "=second income"}


@pytest.fixture
def folder(run: Run, scored_csv: Path) -> Path:
    out = scored_csv.with_name("audit")
    asked = ("--scores", "p", "--row-id", "name", "--out", out)
    assert run("audit", scored_csv, *SCORED, *asked).code == 0
    return out


def fill(folder: Path, name: str, *rows: dict[str, str], lost: int = 0) -> Path:
    with (folder / "review_sheet.csv").open(encoding="utf-8", newline="") as file:
        sheet = list(csv.DictReader(file))
    for row, filled in zip(sheet, rows, strict=False):
        row |= filled
    path = folder.with_name(name)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(sheet[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(sheet[lost:])
    return path


def read(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / "audit.json").read_text("utf-8"))
    return record


@pytest.mark.long(2)
@pytest.mark.parametrize("by_file", [False, True])
def test_reviews_go_into_the_record_and_its_report(run: Run, folder: Path, by_file: bool) -> None:
    out, before = folder.with_name("reviewed"), read(folder)
    lee = fill(folder, "lee.csv", FILLED, FILLED)
    other = fill(folder, "other.csv", FILLED | {"reviewer": "B. Okafor"}, FILLED | {"reviewer": "B. Okafor"})
    outcome = run("review", "merge", folder / "audit.json" if by_file else folder, lee, other, "--out", out)
    assert outcome.code == 0
    assert outcome.stdout.splitlines() == [
        f"Reviewed: 2 of {len(before['worst_pairs'])} pairs (0 resolved, 2 explained, 0 unresolved).",
        "A. Lee and B. Okafor agree on 2 of 2 pairs (100%); Cohen's kappa undefined: one disposition only, N = 2.",
    ]
    assert str(out) in outcome.stderr
    record = read(out)
    assert [(one["pair"], one["reviewer"], one["reason"]) for one in record.pop("reviews")] == [
        (pair, who, "=second income") for pair in (1, 2) for who in ("A. Lee", "B. Okafor")
    ]
    assert record == before == read(folder)
    assert sorted(path.name for path in out.iterdir()) == ["audit.json", "audit.md", "report.html"]
    reviewed = AuditRecord.of(read(out))
    assert (out / "report.html").read_text("utf-8") == to_html(reviewed)
    assert (out / "audit.md").read_text("utf-8") == to_markdown(reviewed)
    assert "| 1 | A. Lee | 2026-11-17 | explained | =second income |" in to_markdown(reviewed)


def test_reviews_are_merged_one_after_the_other_and_verified(run: Run, folder: Path, scored_csv: Path) -> None:
    once, twice = folder.with_name("once"), folder.with_name("twice")
    assert run("review", "merge", folder, fill(folder, "a.csv", FILLED), "--out", once, "--quiet").stderr == ""
    later = fill(folder, "b.csv", FILLED | {"date": "2026-12-01", "disposition": "resolved"})
    assert "1 resolved" in run("review", "merge", once, later, "--out", twice).stdout
    assert len(read(twice)["reviews"]) == 2
    assert run("verify", twice / "audit.json", scored_csv).code == 0


def test_every_fault_is_a_line_and_nothing_is_written(run: Run, folder: Path) -> None:
    sheet = fill(folder, "a.csv", {}, FILLED | {"disposition": "explaned"}, {"reason": "king\nof all"}, lost=1)
    outcome = run("review", "merge", folder, sheet, "--out", folder.with_name("reviewed"))
    assert (outcome.code, outcome.stdout) == (1, "")
    lost, word, changed, last = outcome.stderr.splitlines()
    assert "a.csv lacks pair 1" in lost
    assert "row 2 (pair 2): disposition is 'explaned'" in word
    assert "Did you mean 'explained'?" in word
    assert "row 3 (pair 3): there is a reason but no disposition" in changed
    assert last == "likewise: Nothing was written."
    assert not folder.with_name("reviewed").exists()


def test_many_faults_are_counted(run: Run, folder: Path) -> None:
    wrong = {"disposition": "x", "reviewer": "", "date": ""}
    sheet = fill(folder, "a.csv", *[wrong] * 5)
    outcome = run("review", "merge", folder, sheet, sheet, "--out", folder.with_name("reviewed"))
    assert outcome.code == 1
    assert len(outcome.stderr.splitlines()) == 21
    assert outcome.stderr.endswith("... and 10 more. Nothing was written.\n")


def test_what_cannot_be_read_or_written_is_refused_in_a_line(run: Run, folder: Path) -> None:
    sheet, out = fill(folder, "a.csv", FILLED), folder.with_name("reviewed")
    files = {path: path.read_bytes() for path in folder.iterdir()}
    for args, reason in (
        ((folder, folder.with_name("none.csv"), "--out", out), "cannot be read"),
        ((folder, folder / "audit.md", "--out", out), "is not a review sheet"),
        ((folder, folder / "junit.xml", "--out", out), "its first row has no column 'key'"),
        ((sheet, sheet, "--out", out), "is not the record of an audit"),
        ((folder.parent / "none", sheet, "--out", out), "cannot be read"),
        ((folder, sheet, "--out", folder), "is there already, and is not replaced"),
        ((folder, sheet, "--out", sheet), "is the input"),
        ((folder, sheet), "Missing option '--out'"),
        ((folder, "--out", out), "review merge needs filled-in sheets"),
    ):
        outcome = run("review", "merge", *args)
        assert outcome.code == 2
        assert reason in outcome.stderr
        assert "Traceback" not in outcome.stderr
    assert run("review", "split", folder, sheet, "--out", out).code == 2
    assert not out.exists()
    assert files == {path: path.read_bytes() for path in folder.iterdir()}


def test_a_sheet_is_written_once_more_as_csv_or_workbook(run: Run, folder: Path) -> None:
    pytest.importorskip("openpyxl")
    csv_file, book = folder.with_name("again.csv"), folder.with_name("again.xlsx")
    for out in (csv_file, book):
        outcome = run("review", "sheet", folder, "--out", out)
        assert (outcome.code, outcome.stderr.strip()) == (0, f"The review sheet is in {out}.")
    assert csv_file.read_bytes() == (folder / "review_sheet.csv").read_bytes()
    assert run("review", "merge", folder, csv_file, book, "--out", folder.with_name("merged")).code == 0
    for args, reason in (
        ((folder, "--out", book), "is there already"),
        ((folder, "--out", folder.with_name("sheet.ods")), "Name a file that ends in .csv or .xlsx"),
        ((folder, csv_file, "--out", folder.with_name("new.csv")), "review sheet takes no sheets"),
    ):
        outcome = run("review", "sheet", *args)
        assert (outcome.code, reason in outcome.stderr) == (2, True)
