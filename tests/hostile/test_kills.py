"""A command that is killed leaves nothing that the next run does not clear, and no half of an answer under its name."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from tests.hostile.faults import COLUMNS, SCORED
from tests.sizes import sized

import likewise
from likewise.cli import main

COMMANDS: dict[str, tuple[str, ...]] = {
    "audit": ("audit", "{csv}", *SCORED, "--out", "{out}/audit"),
    "pairs": ("pairs", "{csv}", *COLUMNS, "--quiet", "--out", "{out}/pairs.parquet"),
    "pairs to a folder": ("pairs", "{csv}", *COLUMNS, "--quiet", "--out", "{out}/pairs"),
    "antidotes": ("antidote", "{csv}", *COLUMNS, "--generator", "uniform", "--quiet", "--out", "{out}/rows.parquet"),
    "antidotes to a folder": (
        "antidote",
        "{csv}",
        *COLUMNS,
        "--generator",
        "uniform",
        "--quiet",
        "--out",
        "{out}/rows",
    ),
    "report": ("report", "{record}", "--out", "{out}/page.html", "--quiet"),
    "a generator": ("antidote", "{csv}", *COLUMNS, "--generator", "uniform", "--quiet", "--save", "{out}/generator"),
}
NOT_ALIKE = (
    "audit.json",
    "report.html",
    "audit.md",
    "junit.xml",
    ".likewise-files.json",
)  # they have the time of the run


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = likewise.load_dataset("planted", n_rows=400)
    names = {"group": "race", "purpose": "name"}
    people = data.test.X.assign(hired=data.test.y, p=data.scores(data.test.X)).rename(columns=names)
    path = tmp_path_factory.mktemp("people") / "people.csv"
    people.to_csv(path, index=False)
    run_in(path.parent, path, "audit")
    return path


def parts_of(folder: Path, csv: Path, command: str) -> list[str]:
    return [part.format(csv=csv, out=folder, record=csv.parent / "audit/audit.json") for part in COMMANDS[command]]


def run_in(folder: Path, csv: Path, command: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(parts_of(folder, csv, command))
    assert stop.value.code == 0


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything in a folder by its name; what says when it was made by its name only."""
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: None if path.name in NOT_ALIKE else path.read_bytes() for name, path in files.items()}


@pytest.mark.parametrize("command", COMMANDS)
def test_on_a_full_disk_it_is_exit_code_4_and_nothing_has_the_name(command: str, csv: Path, tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))  # bytes of a file; a semaphore of joblib takes 32
        try:
            main(parts_of(tmp_path, csv, command))
        except SystemExit as stop:
            os._exit(int(stop.code or 0))
        finally:
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
    assert [one.name for one in tmp_path.iterdir() if not one.name.startswith(".")] == []


@pytest.mark.long(2)
@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_any_moment_the_next_run_ends_as_the_first(command: str, csv: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    begun = time.monotonic()
    run_in(whole, csv, command)
    takes = time.monotonic() - begun
    place = list(COMMANDS).index(command)
    random = np.random.default_rng(place)
    for number in range(sized(1, 15)):
        folder = tmp_path / f"killed{number}"
        folder.mkdir()
        if (place + number) % 2:  # over an older answer
            run_in(folder, csv, command)
        child = os.fork()
        if child == 0:
            try:
                main(parts_of(folder, csv, command))
            finally:
                os._exit(0)
        time.sleep(takes * random.random())
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        run_in(folder, csv, command)
        assert contents(folder) == contents(whole)
