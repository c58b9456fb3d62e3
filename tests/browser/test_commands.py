"""The pages as the command line makes them, opened as a person would open them."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from playwright.sync_api import expect
from tests.browser import hostile
from tests.browser.conftest import Open
from tests.browser.looking import scrolls_sideways, spread_out, squeeze

from likewise.cli import main

COLUMNS = ("--label", "repaid", "--sensitive", "group,gender", "--scores", "p")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("commands")


@pytest.fixture(scope="session")
def people(loans: Any, folder: Path) -> Path:
    path = folder / "people.csv"
    table = loans.train.X.assign(repaid=loans.train.y, p=loans.scores(loans.train.X), fairer=0.5)
    table["fairer"] = loans.scores(loans.train.X, gap=0.01)
    table.to_csv(path, index=False)
    return path


def run(*args: object) -> None:
    with pytest.raises(SystemExit) as stop:
        main([str(arg) for arg in args])
    assert stop.value.code == 0


@pytest.fixture(scope="session")
def audited(people: Path, folder: Path) -> Path:
    run("audit", people, *COLUMNS, "--ignore", "fairer", "--resamples", "60", "--out", folder / "base", "--quiet")
    return folder / "base"


def test_an_audit_leaves_a_page_that_opens_from_disk_with_its_numbers(open_page: Open, audited: Path) -> None:
    record = json.loads((audited / "audit.json").read_text(encoding="utf-8"))
    page = open_page(audited / "report.html")
    spread_out(page)
    text = squeeze(page.locator("main").inner_text())
    assert "people.csv" in page.locator("header").inner_text()
    assert record["data"]["sha256"] in text
    assert f"{100 * record['measures']['gap_mean[0]']['value']:.2f} pp" in text
    assert record["rule_in_words"] in text


def test_a_report_of_two_records_shows_what_changed(open_page: Open, people: Path, audited: Path, folder: Path) -> None:
    after = [*COLUMNS[:-1], "fairer", "--ignore", "p", "--resamples", "60", "--out", folder / "after", "--quiet"]
    run("audit", people, *after)
    run("report", audited / "audit.json", folder / "after" / "audit.json", "--out", folder / "both.html")
    page = open_page(folder / "both.html")
    spread_out(page)
    text = squeeze(page.locator("#measures").inner_text())
    for one in (audited, folder / "after"):
        record = json.loads((one / "audit.json").read_text(encoding="utf-8"))
        assert f"{100 * record['measures']['gap_mean']['value']:.2f} pp" in text


def test_a_hostile_file_with_a_hostile_name_is_reported_as_text(open_page: Open, folder: Path) -> None:
    table = hostile.make_people()
    table = table.append_column("p", pa.array([i % 10 / 10 for i in range(len(table))]))
    names = [hostile.SENSITIVE, hostile.DISCRETE, hostile.LONG_COLUMN, "<u class=hacked>rank", hostile.CONTINUOUS]
    table = table.rename_columns([*names, hostile.LABEL, hostile.ROW_ID, "p"])
    path = folder / "<img class=hacked src=x onerror=window.hacked=1>'\"&.csv"
    pyarrow.csv.write_csv(table, path)
    columns = ["--label", hostile.LABEL, "--sensitive", hostile.SENSITIVE, "--scores", "p", "--row-id", hostile.ROW_ID]
    rule = ["--max-discrete-changes", "3", "--max-continuous-shift", "0.5", "--resamples", "60", "--quiet"]
    run("audit", path, *columns, *rule, "--out", folder / "<b class=hacked>out")
    page = open_page(folder / "<b class=hacked>out" / "report.html")
    spread_out(page)
    assert page.evaluate("() => window.hacked === undefined && !document.querySelector('.hacked, img')")
    assert path.name[-30:] in page.locator("header").inner_text()
    assert not scrolls_sideways(page)


@pytest.fixture
def explorer(people: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the real command in a process of its own, and wait for the address it prints."""
    command = [sys.executable, "-m", "likewise.cli", "explore", str(people), *COLUMNS, "--ignore", "fairer"]
    with subprocess.Popen(
        [*command, "--no-browser", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", process.stdout.readline())
        assert address is not None
        yield process, address.group()
        process.kill()


def test_the_explorer_starts_saves_a_rule_that_audits_alike_and_ends_with_ctrl_c(
    open_page: Open, explorer: tuple[subprocess.Popen[str], str], people: Path, folder: Path
) -> None:
    process, address = explorer
    page = open_page(address)
    expect(page.locator("#pairs tr").first).to_be_attached()
    before = page.locator("#rule-words").inner_text()
    page.locator("#shift-number").fill("0.06")
    expect(page.locator("#rule-words")).not_to_have_text(before)
    n_pairs = page.locator("#figures dd b").first.inner_text()
    with page.expect_download() as saved:
        page.locator("#export-toml").click()
    shutil.copy(saved.value.path(), folder / "policy.toml")
    saved_as = ("--rule", folder / "policy.toml", "--policy", folder / "policy.toml", "--out", folder / "again")
    run("audit", people, *COLUMNS, "--ignore", "fairer", *saved_as, "--resamples", "60", "--quiet")
    record = json.loads((folder / "again" / "audit.json").read_text(encoding="utf-8"))
    assert f"{record['pairs']['n']:,}" == n_pairs
    assert record["verdict"]["outcome"] == "pass"
    page.close()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode in (0, 130)
    assert "Traceback" not in out + err
