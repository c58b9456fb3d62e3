"""No command replaces, mixes or removes what is not its own: it refuses in one line, before it works."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from tests.cli.conftest import Run, run
from tests.hostile.faults import COLUMNS, SCORED, Home
from tests.hostile.test_campaign import home, sound

from likewise._files import new_folder
from likewise.cli import main

__all__ = ["home", "run", "sound"]

Arguments = tuple[object, ...]
SHEET = "review_sheet.csv"


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(one.relative_to(folder)): one.read_bytes() if one.is_file() else None for one in folder.rglob("*")}


def put(path: Path, text: str = "years of work") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def audit_into(home: Home, folder: Path, data: Path | None = None) -> Arguments:
    return "audit", data or home.csv, *SCORED, "--out", folder


def beside(name: str) -> Callable[[Home], Arguments]:
    """Audit into an audit that has another file."""
    return lambda home: audit_into(home, put(home.audit / name).parents[name.count("/")])


def alone(name: str) -> Callable[[Home], Arguments]:
    """Audit into a folder that has only this file, whose name is one of ours."""
    return lambda home: audit_into(home, put(home.folder / "other" / name).parent)


def filled_in(home: Home) -> str:
    """Return the review sheet with one disposition."""
    lines = (home.audit / SHEET).read_text().splitlines()
    cells = lines[1].split(",")
    cells[2:6] = "A. Lee", "2026-11-17", "explained", "income"
    return "\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n"


def into_filled_in(home: Home) -> Arguments:
    return audit_into(home, put(home.audit / SHEET, filled_in(home)).parent)


def into_reviewed(home: Home) -> Arguments:
    filled = put(home.folder / "lee.csv", filled_in(home))
    with pytest.raises(SystemExit) as stop, redirect_stdout(None), redirect_stderr(None):
        main(["review", "merge", str(home.audit), str(filled), "--out", str(home.folder / "reviewed")])
    assert stop.value.code == 0
    return audit_into(home, home.folder / "reviewed")


def into_folder_of_people(home: Home) -> Arguments:
    people = home.folder / "people"
    people.mkdir()
    home.parquet.rename(people / "part.parquet")
    return audit_into(home, people, people)


def within_people(home: Home) -> Arguments:
    _, people, *options = into_folder_of_people(home)
    return "audit", people, *options[:-1], home.folder / "people" / "audit"


REFUSED: dict[str, Callable[[Home], Arguments]] = {
    "a thesis": beside("thesis.part"),
    "a folder called .part": beside("sub.part/deep.txt"),
    "a file of pytest": alone("junit.xml"),
    "a file of npm": alone("audit.json"),
    "a filled-in sheet": into_filled_in,
    "a reviewed audit": into_reviewed,
    "the folder of the table": lambda home: audit_into(home, home.folder),
    "the people themselves": into_folder_of_people,
    "within the people": within_people,
    "the evidence that is read": lambda home: audit_into(home, home.audit, home.audit / "worst_pairs.parquet"),
    "a file": lambda home: audit_into(home, home.csv),
    "a generator": lambda home: audit_into(home, home.generator),
    "a generator over an audit": lambda home: ("antidote", home.csv, *COLUMNS, "--save", home.audit, "--quiet"),
    "a report over a table": lambda home: ("report", home.record, "--out", home.csv),
    "a page over a record": lambda home: (
        "report",
        home.record,
        "--page",
        "model-risk",
        "--out",
        home.audit / "audit.md",
    ),
    "a plan over a table": lambda home: ("plan", home.csv, *SCORED, "--out", home.csv),
    "a plan over a plan": lambda home: ("plan", home.csv, *SCORED, "--out", put(home.folder / "plan.json")),
    "a sheet over a sheet": lambda home: ("review", "sheet", home.audit, "--out", home.audit / SHEET),
    "pairs over a table": lambda home: ("pairs", home.csv, *COLUMNS, "--quiet", "--out", home.csv),
    "antidotes over a table": lambda home: ("antidote", home.csv, *COLUMNS, "--quiet", "--out", home.parquet),
    "pairs over another folder": lambda home: ("pairs", home.csv, *COLUMNS, "--quiet", "--out", home.generator),
    "a pipe to write": lambda home: ("report", home.record, "--out", pipe(home, "page.html")),
    "a pipe of people": lambda home: ("audit", pipe(home, "pipe.csv"), *SCORED),
    "a pipe of limits": lambda home: ("audit", home.csv, *SCORED, "--policy", pipe(home, "pipe.toml")),
    "a pipe of a record": lambda home: ("report", pipe(home, "pipe.json")),
    "a pipe of a model": lambda home: ("audit", home.csv, *COLUMNS, "--model", pipe(home, "pipe.skops")),
    "a pipe of a sheet": lambda home: (
        *("review", "merge", home.audit, pipe(home, "pipe.csv"), "--out", home.folder / "merged"),
    ),
    "an output that is not in UTF-8": lambda home: audit_into(home, home.folder / os.fsdecode(b"caf\xe9")),
    "an input that is not in UTF-8": lambda home: ("audit", home.csv.rename(odd_name(home)), *SCORED),
    "a file of people that is not in UTF-8": lambda home: ("audit", odd_name(home, "p/").parent, *SCORED),
}


def pipe(home: Home, name: str) -> Path:
    os.mkfifo(home.folder / name)
    return home.folder / name


def odd_name(home: Home, folder: str = "") -> Path:
    path = home.folder / folder / os.fsdecode(b"caf\xe9.parquet")
    if folder:
        path.parent.mkdir()
        home.parquet.rename(path)
    return path


@pytest.mark.skipif(os.name != "posix", reason="pipes, and names in any bytes, are posix")
@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_in_one_line_and_nothing_has_changed(run: Run, home: Home, what: str) -> None:
    asked = REFUSED[what](home)
    before = tree(home.folder)
    outcome = run(*asked)
    assert (outcome.code, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1), outcome.stderr
    assert tree(home.folder) == before


def test_an_audit_that_nobody_changed_is_replaced_day_after_day(run: Run, home: Home) -> None:
    files = set(os.listdir(home.audit))
    for _ in range(2):
        outcome = run(*audit_into(home, home.audit))
        assert outcome.code == 0, outcome.stderr
    assert set(os.listdir(home.audit)) == files


def test_while_another_run_writes_a_folder_it_is_refused(run: Run, home: Home) -> None:
    with new_folder(home.audit, "audit"):
        before = tree(home.folder)
        outcome = run(*audit_into(home, home.audit))
        assert (outcome.code, outcome.stderr.count("\n")) == (2, 1)
        assert "Another run is writing" in outcome.stderr
        assert tree(home.folder) == before


@pytest.mark.skipif(os.name != "posix", reason="only there are processes copied")
@pytest.mark.parametrize("command", ["plan", "review sheet", "audit"])
def test_of_two_processes_at_once_one_writes_and_the_other_is_refused(home: Home, command: str) -> None:
    asked = {
        "plan": ("plan", home.csv, *SCORED, "--out", home.folder / "plan.json"),
        "review sheet": ("review", "sheet", home.audit, "--out", home.folder / "sheet.csv"),
        "audit": audit_into(home, home.folder / "new"),
    }[command]
    gate, go = os.pipe()
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            code = 99
            try:
                os.close(go)
                os.read(gate, 1)  # which ends when the other end is closed: both begin then
                main([str(one) for one in asked])
            except SystemExit as stop:
                code = int(stop.code or 0)
            finally:
                os._exit(code)
        children.append(child)
    os.close(go)
    os.close(gate)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    assert codes == [0, 2] or (command == "audit" and codes == [0, 0])  # one after the other
    assert not [name for name in os.listdir(home.folder) if name.startswith(".")]
