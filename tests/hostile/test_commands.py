"""What any command refuses, it refuses in one line that speaks of options and files, in no word of Python's."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Run, run
from tests.hostile.faults import COLUMNS, FAST, FEATURES, SCORED, Home
from tests.hostile.test_campaign import home, sound
from tests.sizes import sized

from likewise import Comparability, Roles
from likewise.auditing._internal import AuditSettings
from likewise.cli._main import load_command

__all__ = ["home", "run", "sound"]

Rows = list[list[str]]
PARAMETERS = {*AuditSettings.arguments(), *Comparability.__slots__, *Roles.__dataclass_fields__}
WORDS = (
    *("y", "X", "None", "True", "False", "frame", "array", "dict", "tuple", "codec"),
    *("decision_function", "ScoredRows"),
)
PYTHON = re.compile(
    rf"\b({'|'.join((*WORDS, *(name for name in PARAMETERS if '_' in name)))})\b|\w\(|\w=\{{|\*\*|\(nan"
)
QUOTED = re.compile(r"'[^']*'|\[[^\]]*\]")  # values, which may be anything
ODD = (
    *("", "abc", "-1", "1.5", "2", "1e400", "0.3", "2 GB", "nobody", "race", "hired", "name", "age,hours", "age=x"),
    *("nan", "1,000", "1e", "race,nobody", "a\nb", "x" * 300, "\u202e", "--", "/dev/null/x", "5 XB", "size=S"),
    *("size=S<M", "yes", "none", "regression", "sample", "utf-16"),
    *("{csv}", "{model_skops}", "{folder}", "{record}"),
)
APART = ("--help",)


def people(home: Home, change: Callable[[Rows], Rows]) -> str:
    """Write the people of a home, changed, to another file."""
    path = home.folder / "others.csv"
    rows = change([line.split(",") for line in home.csv.read_text().splitlines()])
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    return str(path)


def lacking(home: Home, column: str) -> str:
    """Write people without a column."""
    return people(home, lambda rows: [[*row[:at], *row[at + 1 :]] for row in rows for at in [rows[0].index(column)]])


def incomplete(home: Home) -> str:
    """Write people of whom one has no hours."""
    return people(home, lambda rows: [rows[0], [*rows[1][:5], "", *rows[1][6:]], *rows[2:]])


def renamed(home: Home) -> str:
    """Write people whose positive label is another word."""
    return people(home, lambda rows: [[one.replace("yes", "ja") for one in row] for row in rows])


def audited(home: Home, *args: object, table: str = "") -> tuple[object, ...]:
    return "audit", table or home.csv, *COLUMNS, *FAST, *args


def loaded(home: Home, table: str) -> tuple[object, ...]:
    return "antidote", table, "--load", home.generator, "--quiet"


REFUSED: dict[str, Callable[[Home], tuple[object, ...]]] = {
    "a number is missing": lambda home: audited(home, "--scores", "p", "--missing", "refuse", table=incomplete(home)),
    "a number is missing where it was not": lambda home: ("verify", home.record, incomplete(home)),
    "a number is missing for a generator": lambda home: loaded(home, incomplete(home)),
    "no label to verify": lambda home: ("verify", home.record, lacking(home, "hired")),
    "no label for a generator": lambda home: loaded(home, lacking(home, "hired")),
    "no column for a generator": lambda home: loaded(home, lacking(home, "hours")),
    "scores beyond 1": lambda home: audited(home, "--scores", "hours"),
    "a label that the model lacks": lambda home: audited(
        home, "--model", home.model_skops, *FEATURES, "--positive", "ja", table=renamed(home)
    ),
    "outcomes in words": lambda home: audited(home, "--scores", "p", "--set", "task=regression"),
    "bins of nothing": lambda home: audited(home, "--scores", "p", "--bins", "age=nan,"),
    "no such device": lambda home: ("antidote", home.csv, *COLUMNS, "--quiet", "--device", "tpu"),
    "a record that is no text": lambda home: ("report", home.parquet),
    "a plan that is no text": lambda home: audited(home, "--scores", "p", "--plan", home.parquet),
}


def python_in(message: str) -> list[str]:
    """List what only makes sense in Python; quoted values and lists of them are not looked at."""
    return [found.group() for found in PYTHON.finditer(QUOTED.sub("", message))]


@pytest.mark.parametrize("fault", REFUSED)
def test_a_refusal_is_one_line_without_a_word_of_python(run: Run, home: Home, fault: str) -> None:
    outcome = run(*REFUSED[fault](home))
    assert (outcome.code, outcome.stderr.count("\n")) == (2, 1), outcome.stderr
    assert python_in(outcome.stderr) == [], outcome.stderr


def test_little_memory_is_not_called_none(run: Run, home: Home) -> None:
    outcome = run(*audited(home, "--scores", "p", "--memory-limit", "9 KB"))
    assert (outcome.code, outcome.stderr) == (0, "")


CALLS: dict[str, Callable[[Home], tuple[object, ...]]] = {
    "audit": lambda home: ("audit", home.csv, *SCORED),
    "plan": lambda home: ("plan", home.csv, *SCORED),
    "pairs": lambda home: ("pairs", home.csv, *COLUMNS, "--quiet"),
    "antidote": lambda home: ("antidote", home.csv, *COLUMNS, "--generator", "uniform", "--quiet"),
    "report": lambda home: ("report", home.record),
    "verify": lambda home: ("verify", home.record, home.csv),
    "review": lambda home: ("review", "sheet", home.audit, "--out", "sheet.csv"),
}


def draw_call(random: np.random.Generator, home: Home) -> list[str]:
    """Draw a command, and one of its options with a value from a list of odd ones."""
    command = str(random.choice(list(CALLS)))
    options: list[Any] = [one for one in load_command(command).params if one.opts[0] not in (*APART, "FILE")]
    chosen = options[random.integers(len(options))]
    name = next((one for one in chosen.opts if one.startswith("--")), None)
    args = [str(one) for one in CALLS[command](home)]
    value = str(random.choice(ODD))
    value = str(getattr(home, value[1:-1])) if value.startswith("{") else value
    if name is None:  # an argument
        return [command, value, *args[2:]]
    if name in args and not getattr(chosen, "is_flag", False):
        del args[args.index(name) : args.index(name) + 2]
    return [*args, name] if getattr(chosen, "is_flag", False) else [*args, f"{name}={value}"]


def test_any_option_of_any_command_is_refused_in_such_a_line_or_works(
    run: Run, sound: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(5)
    for number in range(sized(12, 600)):
        home = Home(Path(shutil.copytree(sound.folder, tmp_path / f"home{number}")))
        monkeypatch.chdir(home.folder)  # whose files may be written over
        args = draw_call(random, home)
        outcome = run(*args)
        assert outcome.code in (0, 1, 2, 3), (args, outcome.stderr)
        assert "Traceback" not in outcome.stderr, args
        if outcome.code == 2:
            assert outcome.stderr.count("\n") == 1, (args, outcome.stderr)
            assert python_in(outcome.stderr) == [], (args, outcome.stderr)
