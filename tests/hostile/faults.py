"""Faults of tables and of the files that hold them, drawn by number."""

from __future__ import annotations

import gzip
import random as stdlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from tests.hostile.mutations import change_bytes

__all__ = ["Call", "Home", "break_file"]

Random = np.random.Generator
COLUMNS: Final = ("--label", "hired", "--sensitive", "race", "--ignore", "name", "--max-continuous-shift", "0.1")
FAST: Final = ("--resamples", "40", "--quiet")
FEATURES: Final = ("--set", "features=age,hours")
SCORED: Final = (*COLUMNS, *FAST, "--scores", "p")


@dataclass(frozen=True)
class Home:
    """A folder with one sound file of each kind."""

    folder: Path

    def __getattr__(self, name: str) -> Path:
        return self.folder / {"csv": "people.csv", "parquet": "people.parquet", "record": "audit/audit.json"}.get(
            name, name.replace("_", ".", 1) if name.startswith(("model", "policy")) else name
        )


@dataclass(frozen=True)
class Call:
    """A command, and whether it has to be refused; damage at random may turn out to be harmless."""

    fault: str
    args: tuple[str, ...]
    has_to_fail: bool


def _in_cell(name: str, value: str) -> Callable[[Random, list[list[str]]], list[list[str]]]:
    def change(random: Random, rows: list[list[str]]) -> list[list[str]]:
        rows[int(random.integers(1, len(rows)))][rows[0].index(name)] = value
        return rows

    return change


def _lose_column(random: Random, rows: list[list[str]]) -> list[list[str]]:
    place = rows[0].index(str(random.choice(["hired", "race", "p"])))
    return [row[:place] + row[place + 1 :] for row in rows]


def _repeat_name(random: Random, rows: list[list[str]]) -> list[list[str]]:
    one, other = random.choice(len(rows[0]), 2, replace=False)
    rows[0][one] = rows[0][other]
    return rows


def _lengthen_row(random: Random, rows: list[list[str]]) -> list[list[str]]:
    rows[int(random.integers(1, len(rows)))] += ["more"] * int(random.integers(1, 4))
    return rows


def _shorten_row(random: Random, rows: list[list[str]]) -> list[list[str]]:
    row = int(random.integers(1, len(rows)))
    rows[row] = rows[row][: int(random.integers(1, len(rows[row])))]
    return rows


TABLE_FAULTS: Final[dict[str, Callable[[Random, list[list[str]]], list[list[str]]]]] = {
    **{
        f"score {value!r}": _in_cell("p", value)
        for value in ("abc", "nan", "inf", "", "1.5", "-0.1", "1e400", "0,5", "½")
    },
    **{f"label {value!r}": _in_cell("hired", value) for value in ("", "maybe")},
    "a column is lost": _lose_column,
    "a name twice": _repeat_name,
    "a longer row": _lengthen_row,
    "a shorter row": _shorten_row,
    "a header only": lambda _, rows: rows[:1],
    "no header": lambda _, rows: rows[1:],
    "one person": lambda _, rows: rows[:2],
}


DAMAGE: Final[dict[str, Callable[[Random, bytes], bytes]]] = {
    "bytes changed": lambda random, content: change_bytes(random_of(random), content),
    "cut off": lambda random, content: content[: int(random.integers(0, len(content) * 9 // 10))],
    "noise": lambda random, _: random.bytes(int(random.integers(1, 500))),
    "nothing": lambda *_: b"",
    "blanks": lambda *_: b" \n \n",
}


def random_of(random: Random) -> stdlib.Random:
    """Return random numbers as mutations draw them."""
    return stdlib.Random(int(random.integers(2**32)))


def break_file(number: int, home: Home) -> Call:
    """Return a call with a fault, which the files of a home now have; the same number gives the same fault."""
    random = np.random.default_rng(number)
    kinds = [
        *TABLE_FAULTS,
        *(f"{kind}: {name}" for kind in ("csv", "csv.gz", "parquet") for name in DAMAGE),
        *ODD_FILES,
    ]
    fault = kinds[number % len(kinds)]
    kind, _, damage = fault.partition(": ")
    if fault in TABLE_FAULTS:
        rows = TABLE_FAULTS[fault](random, [line.split(",") for line in home.csv.read_text().splitlines()])
        home.csv.write_text("".join(",".join(row) + "\n" for row in rows))
        return Call(fault, ("audit", str(home.csv), *SCORED), has_to_fail=True)
    if fault in ODD_FILES:
        return Call(fault, ("audit", str(ODD_FILES[fault](home)), *SCORED), has_to_fail=True)
    path = home.folder / f"damaged.{kind}"
    sound = home.parquet.read_bytes() if kind == "parquet" else home.csv.read_bytes()
    path.write_bytes(DAMAGE[damage](random, gzip.compress(sound, mtime=0) if kind == "csv.gz" else sound))
    has_to_fail = damage in ("noise", "nothing", "blanks") or (kind != "csv" and damage == "cut off")
    return Call(fault, ("audit", str(path), *SCORED), has_to_fail)


def _in_place_of(name: str, kind: str) -> Callable[[Home], Path]:
    def make(home: Home) -> Path:
        path = home.folder / name
        shutil.copy(getattr(home, kind), path)
        return path

    return make


def _empty_folder(home: Home) -> Path:
    path = home.folder / "empty"
    path.mkdir()
    return path


def _link_to_itself(home: Home) -> Path:
    path = home.folder / "loop.csv"
    path.symlink_to(path)
    return path


ODD_FILES: Final[dict[str, Callable[[Home], Path]]] = {
    "a Parquet file called CSV": _in_place_of("odd.csv", "parquet"),
    "a CSV file called Parquet": _in_place_of("odd.parquet", "csv"),
    "a CSV file called gzip": _in_place_of("odd.csv.gz", "csv"),
    "another ending": _in_place_of("people.xlsx", "csv"),
    "no ending": _in_place_of("people", "csv"),
    "a folder without tables": _empty_folder,
    "no file": lambda home: home.folder / "nobody.csv",
    "a link to itself": _link_to_itself,
    "a name too long": lambda home: home.folder / ("x" * 300 + ".csv"),
    "a name with a zero": lambda home: home.folder / "a\0b.csv",
}
