"""What ``likewise report`` promises: the page of a record, whole or not at all; every failure a line."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.csv
import pytest

from likewise.report import to_html, to_page

if TYPE_CHECKING:
    from tests.cli.conftest import Run

SCORED = ("--label", "hired", "--sensitive", "race", "--max-continuous-shift", "0.1", "--resamples", "50", "--quiet")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the one audit that the tests copy; empty until the first of them."""
    return tmp_path_factory.mktemp("made") / "audit"


@pytest.fixture
def folder(run: Run, scored_csv: Path, made: Path) -> Path:
    if not made.exists():
        assert run("audit", scored_csv, *SCORED, "--scores", "p", "--row-id", "name", "--out", made).code == 0
    return Path(shutil.copytree(made, scored_csv.with_name("audit")))


def read(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return record


def test_an_audit_comes_with_its_page(folder: Path) -> None:
    assert (folder / "report.html").read_text("utf-8") == to_html(read(folder / "audit.json"))


def test_an_audit_comes_with_a_review_sheet(folder: Path) -> None:
    record = read(folder / "audit.json")
    sheet = pyarrow.csv.read_csv(folder / "review_sheet.csv").to_pydict()
    pairs = record["worst_pairs"]
    assert sheet["pair"] == list(range(1, len(pairs) + 1))
    assert sheet["comparator_job"] == [pair["factors"][2]["right"] for pair in pairs]
    assert {"key", "reviewer", "date", "disposition", "reason", "person_id", "tolerance_age"} <= set(sheet)


def test_the_page_is_written_here(run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (folder / "report.html").read_bytes()
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    outcome = run("report", folder / "audit.json")
    assert (outcome.code, outcome.stdout) == (0, "")
    assert "The report is report.html." in outcome.stderr
    assert (here / "report.html").read_bytes() == page
    assert os.listdir(here) == ["report.html"]
    assert "'report.html' is there already" in run("report", folder / "audit.json").stderr


def test_it_goes_where_it_is_asked_to(run: Run, folder: Path) -> None:
    out = folder.with_name("page.html")
    assert run("report", folder / "audit.json", "--out", out, "--quiet").stderr == ""
    assert out.read_bytes() == (folder / "report.html").read_bytes()


@pytest.mark.long(3)
@pytest.mark.parametrize("name", ["bias-audit", "model-risk"])
def test_a_page_for_a_certain_reader_is_html_or_markdown(
    run: Run, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    record = folder / "audit.json"
    outcome = run("report", record, "--page", name)
    assert (outcome.code, outcome.stdout) == (0, "")
    assert f"The page is {name}.html." in outcome.stderr
    assert (folder.parent / f"{name}.html").read_text("utf-8") == to_page(read(record), name)
    assert run("report", record, "--page", name, "--out", folder / "page.md", "--quiet").stderr == ""
    assert (folder / "page.md").read_text("utf-8") == to_page(read(record), name, form="markdown")


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (("--page", "biasaudit"), "--page is 'biasaudit'; choose one of 'bias-audit', 'model-risk'"),
        (("--page", "model-risk", "--out", "page.pdf"), "give a name that ends in .html or .md"),
        (("--page", "model-risk", "--out", "."), "give a name that ends in .html or .md"),
    ],
)
def test_a_page_that_cannot_be_written_is_a_line(run: Run, folder: Path, asked: tuple[str, ...], reason: str) -> None:
    before = set(os.listdir(folder))
    outcome = run("report", folder / "audit.json", *asked)
    assert outcome.code == 2
    assert reason in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert set(os.listdir(folder)) == before


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read: No such file"),
        (b"{", "is not the record of an audit"),
        (b"\xff\xfe\x00", "is not the record of an audit"),
        (b'{"a": NaN}', "is not the record of an audit"),
        (b"[1, 2]", "is not the record of an audit"),
        (b'{"format": "likewise audit 2"}', "lacks likewise"),
    ],
)
def test_what_is_no_record_is_refused_in_a_line(run: Run, folder: Path, content: bytes | None, reason: str) -> None:
    path = folder / "other.json"
    if content is not None:
        path.write_bytes(content)
    for args in ((path,), (path, folder / "audit.json")):
        outcome = run("report", *args, "--out", folder / "new.html")
        assert outcome.code == 2
        assert reason in outcome.stderr
        assert outcome.stderr.count("\n") == 1
    assert not (folder / "new.html").exists()


@pytest.mark.parametrize(
    "damage",
    [
        {"measures": []},
        {"measures": {"gap_mean": {}}},
        {"worst_pairs": [{"gap": 1}]},
        {"directions": [{"origin": 3}]},
        {"person_gaps": None},
        {"distributions": {"edges": [], "slices": [{"n": 1}]}},
        {"coverage": [{"columns": 3}]},
        {"notes": 7},
    ],
)
def test_a_damaged_record_is_refused_in_a_line(run: Run, folder: Path, damage: dict[str, Any]) -> None:
    path = folder / "damaged.json"
    path.write_text(json.dumps(read(folder / "audit.json") | damage), "utf-8")
    outcome = run("report", path)
    assert outcome.code == 2
    assert "as it was written" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_a_place_that_cannot_be_written_to_is_refused(run: Run, folder: Path) -> None:
    record = folder / "audit.json"
    content = record.read_bytes()
    for out, reason in (
        (folder, "is a folder"),
        (folder / "no" / "such.html", "There is no folder"),
        (record, "is there already"),
    ):
        outcome = run("report", record, "--out", out)
        assert outcome.code == 2
        assert reason in outcome.stderr
    assert record.read_bytes() == content
    assert run("report", folder).stderr.startswith("likewise: ")


def test_several_records_are_compared_over_time(run: Run, folder: Path, scored_csv: Path) -> None:
    table = pyarrow.csv.read_csv(scored_csv)
    both = zip(table.column("p").to_pylist(), table.column("race").to_pylist(), strict=True)
    raised = [min(score + 0.3 * (race == "blue"), 1.0) for score, race in both]
    changed = table.drop_columns(["p"]).append_column("p", [raised])
    pyarrow.csv.write_csv(changed, scored_csv)
    later = folder.with_name("later")
    assert run("audit", scored_csv, *SCORED, "--scores", "p", "--row-id", "name", "--out", later).code == 0
    first, last = folder / "audit.json", later / "audit.json"
    trend = folder / "trend.html"
    worse = run("report", first, last, "--out", trend)
    assert (worse.code, worse.stdout) == (1, "")
    assert ": worse.\n" in worse.stderr
    assert "\nWorse: the adjusted gap, race: " in worse.stderr
    assert "the mean gap" not in worse.stderr
    assert "Audits over time" in trend.read_text("utf-8")
    dated = {**read(first), "made_at": "2026-01-01T00:00:00Z"}
    first.write_text(json.dumps(dated), "utf-8")
    turned = run("report", last, first, "--out", folder / "back.html", "--quiet")
    assert turned.code == 2
    assert "not oldest first" in turned.stderr
    assert "--as-given" in turned.stderr
    assert run("report", last, first, "--out", folder / "back.html", "--quiet", "--as-given").code == 0
    by_sex = (*SCORED[:3], "sex", *SCORED[4:])
    other = folder.with_name("by_sex")
    assert run("audit", scored_csv, *by_sex, "--scores", "p", "--row-id", "name", "--out", other).code == 0
    refused = run("report", first, other / "audit.json", "--out", folder / "unlike.html")
    assert refused.code == 2
    assert "differ in their sensitive columns" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert run("report", first, first, last, "--out", folder / "page.html", "--quiet").code == 1


def test_one_bad_record_of_several_is_named(run: Run, folder: Path) -> None:
    bad = folder / "bad.json"
    bad.write_text("{}")
    outcome = run("report", folder / "audit.json", bad, "--out", folder / "trend.html")
    assert (outcome.code, outcome.stderr.count("\n")) == (2, 1)
    assert str(bad) in outcome.stderr
    assert not (folder / "trend.html").exists()
