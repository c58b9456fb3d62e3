"""Failures are one line and exit code 2; help teaches; nothing is left half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import likewise
from likewise._checks import name_parameters, parameter
from likewise.cli import _main, main
from likewise.cli._main import COMMANDS
from likewise.cli._options import spell_option
from likewise.cli.commands import _pairs
from likewise.datasets import list_datasets
from likewise.exceptions import DatasetUnavailable

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ASKED = ("--label", "hired", "--sensitive", "race")

OPTIONS = (
    *("--label", "--sensitive", "--discrete", "--continuous", "--ordinal", "--must-match", "--ignore", "--row-id"),
    *("--bins", "--missing", "--encoding", "--decimal", "--set", "delimiter", "--max-discrete-changes"),
    *("--max-continuous-shift", "--limits", "--rule", "--limit", "--sample"),
    *("--seed", "--count", "--out", "--json", "--quiet"),
)


def test_the_first_screen_of_help_is_what_a_newcomer_needs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Start with likewise audit --help" in run("--help").stdout
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("audit", "--help").stdout.splitlines()
    first = " ".join(lines[:30])
    for name in ("DATA", "--label", "--sensitive", "--scores", "--model", "--policy", "--out"):
        assert f" {name} " in first
    assert "audit people.csv --label hired --sensitive race,sex --scores p" in first
    assert sum(line.startswith("│ --") for line in lines) <= 40


def test_what_is_seldom_needed_is_set_by_name(run: Run, scored_csv: Path) -> None:
    asked = ("audit", scored_csv, *ASKED, "--scores", "p", "--resamples", "0", "--quiet")
    settings = json.loads(run(*asked, "--json", "--set", "gap-limit=0.3", "--set", "max_pairs=7").stdout)["settings"]
    assert (settings["gap_limit"], settings["max_pairs"]) == (0.3, 7)
    for wrong, why in (
        ("gap_limt=1", "Did you mean 'gap_limit'?"),
        ("scale", "not NAME=VALUE"),
        ("scale=x", "a number"),
    ):
        outcome = run(*asked, "--set", wrong)
        assert (outcome.code, outcome.stderr.count("\n")) == (2, 1)
        assert why in outcome.stderr


def test_help_explains_a_pair_gives_an_example_and_every_option(run: Run) -> None:
    outcome = run("pairs", "--help")
    assert outcome.code == 0
    for words in (
        "Two people are comparable (a matched pair) when",
        "likewise pairs people.csv",
        "0.025",
        "NaN",
        *OPTIONS,
    ):
        assert words in outcome.stdout


def test_alone_it_shows_its_commands(run: Run) -> None:
    for args in ((), ("--help",), ("-h",)):
        outcome = run(*args)
        assert outcome.code == 0
        assert "pairs" in outcome.stdout
        assert "datasets" in outcome.stdout


def test_the_version_is_that_of_the_package(run: Run) -> None:
    assert run("--version").stdout == f"likewise {likewise.__version__}\n"


BAD_USE = {
    "no data": (("pairs", "--label", "y"), "Missing argument 'DATA'"),
    "no sensitive column": (("pairs", "{csv}", "--label", "hired"), "Add --sensitive"),
    "unknown option": (("pairs", "{csv}", "--lable", "hired"), "--label"),
    "unknown command": (("piars",), "pairs"),
    "negative limit": (("pairs", "{csv}", *ASKED, "--limit", "-1"), "--limit"),
    "limit and sample": (("pairs", "{csv}", *ASKED, "--limit", "1", "--sample", "1"), "--limit and --sample"),
    "count and out": (("pairs", "{csv}", *ASKED, "--count", "--out", "x.csv"), "--count"),
    "unknown label": (("pairs", "{csv}", "--label", "hried", "--sensitive", "race"), "Did you mean 'hired'?"),
    "unknown column": (("pairs", "{csv}", "--label", "hired", "--sensitive", "Race"), "Did you mean 'race'?"),
    "unknown row id": (("pairs", "{csv}", *ASKED, "--row-id", "nmae"), "Did you mean 'name'?"),
    "two roles": (("pairs", "{csv}", *ASKED, "--discrete", "race"), "two roles"),
    "no number": (("pairs", "{csv}", *ASKED, "--max-continuous-shift", "far"), "valid number"),
    "no finite shift": (("pairs", "{csv}", *ASKED, "--max-continuous-shift", "nan"), "--max-continuous-shift"),
    "negative shift": (("pairs", "{csv}", *ASKED, "--max-continuous-shift", "-1"), "0 or more"),
    "limit of a category": (("pairs", "{csv}", *ASKED, "--limits", "job=1"), "is discrete"),
    "text as amounts": (("pairs", "{csv}", *ASKED, "--continuous", "job"), "'job'"),
    "unknown policy": (("pairs", "{csv}", *ASKED, "--missing", "guess"), "'median'"),
    "bins without column": (("pairs", "{csv}", *ASKED, "--bins", "4"), "COLUMN=VALUE"),
    "bins of text": (("pairs", "{csv}", *ASKED, "--bins", "race=4"), "'race'"),
    "order without column": (("pairs", "{csv}", *ASKED, "--ordinal", "S<M"), "names no column"),
    "order of other values": (("pairs", "{csv}", *ASKED, "--ordinal", "age=young<old"), "does not fit"),
    "order that lacks a value": (("pairs", "{csv}", *ASKED, "--ordinal", "size=S<M"), "'L'"),
    "repeated row id": (("pairs", "{csv}", *ASKED, "--row-id", "job"), "'job'"),
    "no file": (("pairs", "{csv}x", *ASKED), "Did you mean"),
    "a folder": (("pairs", "{folder}", *ASKED), "is a folder"),
    "a data set": (("pairs", "adult", *ASKED), "data sets that likewise knows"),
    "no folder for out": (("pairs", "{csv}", *ASKED, "--out", "{folder}/no/x.csv"), "no folder"),
    "out to a folder": (("pairs", "{csv}", *ASKED, "--out", "{folder}/taken.csv"), "is a folder"),
    "out of unknown kind": (("pairs", "{csv}", *ASKED, "--out", "{folder}/x.json"), ".parquet or .csv"),
    "empty shift": (("pairs", "{csv}", *ASKED, "--limits", ""), "--limits is ''"),
    "empty column": (("pairs", "{csv}", *ASKED, "--ignore", " "), "which is empty"),
    "empty delimiter": (("pairs", "{csv}", *ASKED, "--set", "delimiter=,,"), "--set delimiter is ''"),
    "no letters": (("pairs", "{csv}", *ASKED, "--encoding", "undefined"), "not a text encoding"),
    "no encoding": (("pairs", "{csv}", *ASKED, "--encoding", "\0"), "not a text encoding"),
    "generator and load": (("antidote", "{csv}", "--load", "g", "--generator", "gibbs"), "--generator"),
    "only without out": (("antidote", "{csv}", *ASKED, "--generator", "uniform", "--only"), "--only"),
    "formulas without out": (("antidote", "{csv}", *ASKED, "--generator", "uniform", "--defuse-formulas"), "--out"),
    "out over the data": (("pairs", "{csv}", *ASKED, "--out", "{csv}"), "which is the input"),
}


@pytest.mark.long(3)
@pytest.mark.parametrize("case", BAD_USE)
def test_bad_use_is_one_line_and_exit_code_2(run: Run, csv: Path, case: str) -> None:
    (csv.parent / "taken.csv").mkdir()
    args, words = BAD_USE[case]
    outcome = run(*(arg.format(csv=csv, folder=csv.parent) for arg in args), *(("--quiet",) if len(args) > 1 else ()))
    assert outcome.code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("likewise: ")
    assert outcome.stderr.count("\n") == 1
    assert words in outcome.stderr
    assert sorted(path.name for path in csv.parent.iterdir()) == ["people.csv", "taken.csv"]


def test_the_remedy_is_an_option_and_not_an_argument_of_the_library(run: Run, csv: Path) -> None:
    csv.write_text("pay,y\n" + "".join(f"{i}.5,0\n" for i in range(200)))
    outcome = run("pairs", csv, "--label", "y", "--sensitive", "pay", "--quiet")
    assert outcome.code == 2
    assert "--bins pay=4" in outcome.stderr


def test_a_folder_that_may_not_be_written_to_is_refused_early(
    run: Run, csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    outcome = run("pairs", csv, *ASKED, "--out", csv.with_name("x.csv"), "--quiet")
    assert outcome.code == 2
    assert "is not writable" in outcome.stderr


def test_control_characters_of_a_file_do_not_reach_the_terminal(run: Run, csv: Path) -> None:
    csv.write_text("race,j\x1b[2Job,y\n" + "a\x1b[31m,u,0\nb,u,0\n" * 30)
    outcome = run("pairs", csv, "--label", "y", "--sensitive", "race")
    assert outcome.code == 0
    assert "\x1b" not in outcome.stdout + outcome.stderr


def break_search(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def search(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(_pairs, "search", search)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DatasetUnavailable("Not here.\nGet it."), 2),
        (KeyboardInterrupt(), 130),
        (OSError(28, "No space left on device"), 4),
        (MemoryError(), 4),
    ],
)
def test_a_failure_on_the_way_leaves_one_line_and_no_file(
    run: Run, csv: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    out = csv.with_name("pairs.csv")
    break_search(monkeypatch, error)
    outcome = run("pairs", csv, *ASKED, "--out", out, "--quiet")
    assert outcome.code == code
    assert outcome.stderr.startswith("likewise: ")
    assert outcome.stderr.count("\n") == 1
    assert [path.name for path in csv.parent.iterdir()] == ["people.csv"]


def test_what_may_not_be_read_is_named(run: Run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_search(monkeypatch, PermissionError(13, "Permission denied", b"secret.csv"))
    outcome = run("pairs", csv, *ASKED, "--quiet")
    assert outcome.code == 2
    assert outcome.stderr == "likewise: the operating system reports of 'secret.csv': Permission denied.\n"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere addresses are not limited")
def test_a_limit_too_low_for_the_libraries_is_out_of_memory_and_no_interrupt(csv: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(likewise.__file__).parents[1])}
    asked = [sys.executable, "-m", "likewise.cli", "pairs", str(csv), *ASKED]
    limited = ["sh", "-c", 'ulimit -v 400000 && exec "$@"', "sh", *asked]
    done = subprocess.run(limited, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("likewise: out of memory: this process is limited to 410 MB of addresses (ulimit -v)")
    assert done.stderr.count("\n") == 1


def test_an_error_of_a_library_under_a_limit_is_out_of_memory(
    run: Run, csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_main, "address_limit", lambda: 10**9)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    break_search(monkeypatch, RuntimeError("can't start new thread"))
    outcome = run("pairs", csv, *ASKED, "--quiet")
    assert outcome.code == 4
    assert "limited to 1,000 MB of addresses (ulimit -v) (RuntimeError: can't start new thread)." in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert os.environ["OPENBLAS_NUM_THREADS"]  # else it raises the signal of Ctrl-C where it cannot start threads


def test_ctrl_c_inside_compiled_code_is_ctrl_c(run: Run, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped = SystemError("returned a result with an exception set")
    wrapped.__cause__ = KeyboardInterrupt()
    break_search(monkeypatch, wrapped)
    assert run("pairs", csv, *ASKED).code == 130


def test_a_mistake_of_ours_is_not_hidden_and_no_verdict(
    csv: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    break_search(monkeypatch, ZeroDivisionError())
    with pytest.raises(SystemExit) as stopped:
        main(["pairs", str(csv), *ASKED, "--quiet"])
    assert stopped.value.code == 4
    assert "ZeroDivisionError" in capsys.readouterr().err


def start(*args: str, **settings: object) -> subprocess.Popen[bytes]:
    source = Path(likewise.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": str(source), "PYTHONUNBUFFERED": "1"}
    # settings of every kind, which no overload describes
    return subprocess.Popen([sys.executable, "-m", "likewise.cli", *args], env=environment, **settings)  # type: ignore[call-overload, no-any-return]


@pytest.mark.skipif(os.name == "nt", reason="pipes and signals of POSIX")
def test_a_reader_that_leaves_is_no_reason_to_complain() -> None:
    process = start("datasets", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as errors:
        assert errors.read() == b""
    process.wait()


def test_datasets_lists_what_the_library_knows(run: Run) -> None:
    records = list_datasets()
    listed = json.loads(run("datasets", "--json").stdout)["datasets"]
    assert [one["name"] for one in listed] == [record.name for record in records]
    assert all(one["licence"] and one["n_rows"] and isinstance(one["is_local"], bool) for one in listed)
    text = run("datasets").stdout
    for record in records:
        assert record.name in text
        assert f"{record.n_rows:,}" in text


def test_the_list_of_commands_needs_no_heavy_library() -> None:
    heavy = ("numpy", "rich", "pyarrow", "sklearn", "numba", "pandas")
    code = (
        "import sys\nfrom likewise.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n"
        f"    print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    source = Path(likewise.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "Commands:" in done.stdout
    assert done.stderr == "[]\n"


def test_every_command_in_the_list_is_there(run: Run) -> None:
    for name in COMMANDS:
        assert f"Usage: likewise {name}" in run(name, "--help").stdout


def test_messages_name_parameters_as_options() -> None:
    assert parameter("max_pairs") == "max_pairs"
    assert parameter("bins", {"age": 4}) == "bins={'age': 4}"
    with name_parameters(spell_option):
        assert parameter("random_state") == "--seed"
        assert parameter("sensitive_differs", "any") == "sensitive_differs = 'any' in the file of --rule"
        assert parameter("task", "binary") == "--set task=binary"
        assert parameter("bins", {"age": 4}) == "--bins age=4"


@pytest.mark.parametrize("columns", ["0", "-5", "1", "99999999", "1e3", "\u0664\u0660", ""])
def test_a_width_that_no_terminal_has_is_as_none(run: Run, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.delenv("COLUMNS")
    usual = run("datasets")
    monkeypatch.setenv("COLUMNS", columns)
    assert run("datasets") == usual
    assert len(usual.stdout) > 500
