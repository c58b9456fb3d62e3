"""Whatever a file or a request says, its reader returns something or refuses it in one line of ours.

Here each reader gets the first cases of ``make fuzz`` and those that ever failed; hypothesis looks for tables in
tests/cli/test_tables.py.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import pytest
from tests.hostile import fuzzing
from tests.hostile.cases import Case, Fault, Progress, Reader, State, load_progress, save_progress
from tests.hostile.fuzzing import KEPT, READERS, TABLE, draw_case, find_fault, fuzz_readers, write_table
from tests.sizes import sized

from likewise.exceptions import LikewiseError

SLOW = ("generators", "records", "sheets", "classifiers", "adversarial", "models", "logs")
FAULT = "JSONDecodeError in outside"


@pytest.fixture(scope="module", params=READERS)
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Reader]:
    return request.param, READERS[request.param](tmp_path_factory.mktemp(request.param))


@pytest.mark.part(2)
def test_every_case_is_read_or_refused_in_one_line(
    reader: tuple[str, Reader], caplog: pytest.LogCaptureFixture
) -> None:
    name, read = reader
    caplog.set_level(logging.CRITICAL)
    n_cases = sized(10, 1_000) if name in SLOW else sized(40, 5_000)
    cases = {f"drawn {number}": draw_case(read, name, number) for number in range(n_cases)}
    cases |= {f"kept {fault.number}": fault.case for fault in load_progress(KEPT).get(name, Progress()).faults}
    faults = {which: find_fault(read, case) for which, case in cases.items()}
    assert {which: fault for which, fault in faults.items() if fault is not None} == {}


def test_cases_of_every_reader_are_kept_byte_for_byte(reader: tuple[str, Reader], tmp_path: Path) -> None:
    name, read = reader
    faults = [Fault(FAULT, number, State.OPEN, draw_case(read, name, number)) for number in range(5)]
    save_progress({name: Progress(5, 0.5, faults)}, tmp_path / "fuzzed.json")
    assert load_progress(tmp_path / "fuzzed.json") == {name: Progress(5, 0.5, faults)}


def test_the_table_is_that_of_what_is_kept() -> None:
    assert TABLE.read_text() == write_table(load_progress(KEPT))


# ---- runs ----


def _draw(random: object) -> Case:
    return Case({"audit.json": b"["})


def _fail(case: Case) -> None:
    json.loads(case.files["audit.json"])


def _run(folder: Path, reader: Reader, seconds: float = 0.01) -> tuple[int, Progress, str]:
    """Fuzz a reader of records with one fault kept as mended; return faults seen, what is kept, and the table's row."""
    path, table = folder / "fuzzed.json", folder / "fuzzing.md"
    if not path.exists():
        save_progress({"records": Progress(7, 0.0, [Fault(FAULT, 3, State.MENDED, Case({"audit.json": b"{"}))])}, path)
    n_faults = fuzz_readers({"records": lambda _: reader}, seconds, path, table)
    return n_faults, load_progress(path)["records"], table.read_text().splitlines()[-1]


def test_a_fault_whose_name_is_kept_is_seen_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    n_faults, mine, row = _run(tmp_path, Reader(_draw, _fail))
    shown = capsys.readouterr().out
    assert n_faults == 1
    assert [fault.state for fault in mine.faults] == [State.OPEN]
    assert row.endswith("| 1 | 1 |")
    assert shown.count(f"records 3: {FAULT}\n") == 1
    assert f"records: {FAULT}: {mine.n_cases - 7 + 1:,} cases in this run" in shown


def test_another_case_of_a_mended_fault_is_printed_kept_and_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail_as_drawn(case: Case) -> None:
        if case == _draw(None):
            _fail(case)

    n_faults, mine, row = _run(tmp_path, Reader(_draw, fail_as_drawn))
    assert n_faults == 1
    assert [(fault.number, fault.state) for fault in mine.faults] == [(3, State.MENDED), (7, State.OPEN)]
    assert row.endswith("| 1 | 1 |")
    assert capsys.readouterr().out.count(f"records 7: {FAULT}\n") == 1


def test_a_fault_is_mended_once_all_its_kept_cases_are_read(tmp_path: Path) -> None:
    assert _run(tmp_path, Reader(_draw, _fail))[0] == 1
    assert _run(tmp_path, Reader(_draw, _fail), seconds=0.0)[0] == 1
    n_faults, mine, row = _run(tmp_path, Reader(_draw, lambda _: None), seconds=0.0)
    assert n_faults == 0
    assert [fault.state for fault in mine.faults] == [State.MENDED]
    assert row.endswith("| 1 | 0 |")


def test_a_kept_case_that_fails_otherwise_is_another_fault(tmp_path: Path) -> None:
    def fail_otherwise(case: Case) -> None:
        raise KeyError

    n_faults, mine, row = _run(tmp_path, Reader(_draw, fail_otherwise), seconds=0.0)
    assert n_faults == 1
    expected = [(FAULT, State.MENDED), ("KeyError in outside", State.OPEN)]
    assert [(fault.name, fault.state) for fault in mine.faults] == expected
    assert row.endswith("| 2 | 1 |")


@pytest.mark.parametrize("n_faults", [0, 1, 2])
def test_a_run_that_saw_faults_exits_with_1(n_faults: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fuzzing", "--readers", "records"])
    monkeypatch.setattr(fuzzing, "_prepare_process", lambda: None)
    monkeypatch.setattr(fuzzing, "fuzz_readers", lambda makers, seconds: n_faults)
    assert fuzzing.main() == min(n_faults, 1)


def test_an_error_of_python_and_a_refusal_without_a_word_are_faults() -> None:
    def refuse(case: Case) -> None:
        raise LikewiseError(case.how["message"])

    assert find_fault(Reader(_draw, _fail), _draw(None)) == FAULT
    no, one = (Case({}, {"message": message}) for message in ("", "one"))
    assert find_fault(Reader(_draw, refuse), no) == "without a word: LikewiseError in outside"
    assert find_fault(Reader(_draw, refuse), one) is None
    assert str(LikewiseError("one\n  two")) == "one two"  # whatever value it shows
