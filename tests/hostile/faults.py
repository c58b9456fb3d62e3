"""Faults of everything that likewise reads: tables of doors and what is put through them, drawn by number."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import shutil
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

__all__ = ["DOORS", "Call", "Home", "base_call", "draw_call"]

Random = np.random.Generator
COLUMNS: Final = ("--label", "hired", "--sensitive", "race", "--ignore", "name", "--max-continuous-shift", "0.1")
FAST: Final = ("--resamples", "40", "--quiet")
FEATURES: Final = ("--features", "age,hours")
SCORED: Final = (*COLUMNS, *FAST, "--scores", "p")
JUNK: Final[Sequence[Any]] = (
    None,
    -1,
    1e308,
    "x",
    "",
    [],
    {},
    True,
    "<script>alert(1)</script>",
    "inf",
    [[]],
    2**70,
    0.5,
)


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


# ---- files ----


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


def _flip(random: Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for place in random.integers(0, len(changed), int(random.integers(1, 6))):
        changed[place] ^= int(random.integers(1, 256))
    return bytes(changed)


def _cut(random: Random, content: bytes) -> bytes:
    return content[: int(random.integers(0, len(content) * 9 // 10))]


def _insert(piece: bytes) -> Callable[[Random, bytes], bytes]:
    def change(random: Random, content: bytes) -> bytes:
        place = int(random.integers(0, len(content)))
        return content[:place] + piece + content[place:]

    return change


def _fill(random: Random, content: bytes) -> bytes:
    return random.bytes(int(random.integers(1, 500)))


DAMAGE: Final[dict[str, Callable[[Random, bytes], bytes]]] = {
    "bytes flipped": _flip,
    "cut off": _cut,
    "a zero inside": _insert(b"\0"),
    "no UTF-8 inside": _insert(b"\xff\xfe"),
    "an open quote": _insert(b'"'),
    "an escape sequence": _insert(b"\x1b[31m"),
    "noise": _fill,
    "nothing": lambda *_: b"",
    "blanks": lambda *_: b" \n \n",
}


def break_file(random: Random, number: int, home: Home) -> Call:
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

# ---- options ----

NO_COUNT: Final = ("", " ", "abc", "-1", "1.5", "nan", "inf", "1e", "0x", "1,000", "--", "1" * 400)
NO_NUMBER: Final = ("", " ", "abc", "nan", "inf", "-inf", "1e400", "-1", "1.2.3", "0,5", "5 %x", "--")
NO_COLUMN: Final = ("", " ", ",", "nobody", "race,nobody", "race,,sex", "hired", "p", "a\nb", "race;sex", "x" * 300)
NO_CHOICE: Final = ("", " ", "maybe", "ANY!", "0", "any,all", "none ", "\u202e")
NO_FILE: Final = ("", "nobody.toml", "{folder}", "{csv}x", "{parquet}", "x" * 300, "/dev/null/x", "{csv}/x")
NO_MARK: Final = ("", "ab", "é", "\n", '"', "\u202e", "\\t\\t")
OPTIONS: Final[dict[str, Sequence[str]]] = {
    **dict.fromkeys(("--max-discrete-changes", "--resamples", "--max-pairs"), NO_COUNT),
    **dict.fromkeys(("--threshold", "--approval-rate", "--gap-limit", "--scale"), NO_NUMBER),
    "--max-continuous-shift": NO_NUMBER,
    "--limits": ("", " ", "nobody=0.1", "age=", "=1", "age"),
    **dict.fromkeys(("--sensitive", "--discrete", "--continuous", "--must-match"), NO_COLUMN),
    "--scores": ("", " ", ",", "nobody", "p,nobody", "race", "hired", "age", "x" * 300),
    "--row-id": ("", " ", "nobody", "race", "hired", "p"),
    "--text": ("", " ", "nobody", "p,nobody"),
    "--ordinal": ("", "size", "size=", "=S<M", "size=S", "nobody=a<b", "race=red<blue", "size=S<S<M", "size<S"),
    "--bins": ("", "age", "age=", "age=0", "age=x", "race=3", "nobody=4", "age=5,4,3", "age=nan,"),
    "--missing": (*NO_CHOICE, "age=maybe", "nobody=median"),
    "--task": NO_CHOICE,
    **dict.fromkeys(("--rule", "--policy", "--model"), NO_FILE),
    "--pairs": ("", "nobody", "{csv}", "{folder}"),
    "--encoding": ("", " ", "undefined", "klingon", "utf-16", "utf-8\0", "base64", "x" * 300),
    "--delimiter": NO_MARK,
    "--decimal": NO_MARK,
    "--memory-limit": ("", "abc", "-1", "0", "5 XB", "nan GB", "1 byte of"),
    "--positive": ("", "maybe", "yes,no", "\u202e"),
    "--nonsense": ("", "1"),
}
HARMLESS: Final = {  # what may be meant so
    ("--sensitive", "race,,sex"),
}


def break_option(random: Random, number: int, home: Home) -> Call:
    cases = [(name, value) for name, values in OPTIONS.items() for value in values]
    # a fixed shuffle, so that any draw has options of all kinds
    name, value = cases[int(np.random.default_rng(0).permutation(len(cases))[number % len(cases)])]
    args = ["audit", str(home.csv), *SCORED]
    if name in args:  # in its place
        del args[args.index(name) : args.index(name) + 2]
    value = value.format(csv=home.csv, parquet=home.parquet, folder=home.folder) if "{" in value else value
    return Call(f"{name} {value!r:.60}", (*args, f"{name}={value}"), (name, value) not in HARMLESS)


# ---- policies ----

LIMITS: Final = ("max_gap_mean", "max_positive_gap_mean", "max_flip_rate", "min_roc_auc", "min_accuracy", "max_gap_p95")
VALUES: Final = (
    '"0.2"',
    "true",
    "[0.2]",
    "{}",
    "nan",
    "-0.5",
    "1979-05-27",
    "''",
    "1e400",
    "2",
    "",
    "0.2 0.3",
    "_",
    "0x",
)


def _misspell(random: Random, name: str) -> str:
    place = int(random.integers(0, len(name)))
    return name[:place] + str(random.choice(list("aeqz_"))) * int(random.integers(0, 3)) + name[place + 1 :] + "_x"


POLICIES: Final[dict[str, Callable[[Random, str], str]]] = {
    "a misspelt limit": lambda random, name: f"{_misspell(random, name)} = 0.5\n",
    "no such value": lambda random, name: f"{name} = {random.choice(VALUES)}\n",
    "a limit twice": lambda _, name: f"{name} = 0.5\n{name} = 0.6\n",
    "an unknown table": lambda random, name: f"[{_misspell(random, name)}]\n{name} = 0.5\n",
    "no limit": lambda random, _: str(random.choice(["", "\n", "# none\n", "min_pairs = 5\n"])),
    "too few pairs asked": lambda random, name: (
        f"{name} = 0.5\nmin_pairs = {random.choice(['-1', '1.5', 'true', '[]'])}\n"
    ),
    "no TOML": lambda random, name: _insert(b'"=[')(random, f"{name} = 0.5\n".encode()).decode(),
    "a table in a list": lambda _, name: f"[[{name}]]\nx = 1\n",
}


def break_policy(random: Random, number: int, home: Home) -> Call:
    fault = [*POLICIES, *DAMAGE][number % (len(POLICIES) + len(DAMAGE))]
    name = str(random.choice(LIMITS))
    if fault in POLICIES:
        content = POLICIES[fault](random, name).encode()
    else:
        content = DAMAGE[fault](random, f"{name} = 0.5\nmin_pairs = 5\n".encode())
    home.policy_toml.write_bytes(content)
    has_to_fail = fault in POLICIES or fault in ("nothing", "blanks")
    return Call(fault, ("audit", str(home.csv), *SCORED, "--policy", str(home.policy_toml)), has_to_fail)


# ---- records ----


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    return [place for name, one in inside for place in [(*path, name), *_places(one, (*path, name))]]


def break_record(random: Random, number: int, home: Home) -> Call:
    record = json.loads(home.record.read_text())
    places = _places(record)
    path = places[int(random.integers(len(places)))]
    owner = record
    for name in path[:-1]:
        owner = owner[name]
    faults = ("another value", "lost", "twice as long", *DAMAGE, "no JSON number", "deep", "a huge number")
    fault = faults[number % len(faults)]
    if fault == "another value":
        owner[path[-1]] = JUNK[int(random.integers(len(JUNK)))]
    elif fault == "lost":
        del owner[path[-1]]
    elif fault == "twice as long" and isinstance(owner, list):
        owner += owner
    text = json.dumps(record)
    if fault in ("no JSON number", "deep", "a huge number"):
        value = {"no JSON number": "NaN", "deep": "[" * 100_000, "a huge number": "1" + "0" * 400}[fault]
        owner[path[-1]] = "HERE"
        text = json.dumps(record).replace('"HERE"', value, 1)
    home.record.write_bytes(DAMAGE[fault](random, text.encode()) if fault in DAMAGE else text.encode())
    args = ("verify", str(home.record), str(home.csv)) if number % 4 == 3 else ("report", str(home.record))
    has_to_fail = fault in ("noise", "nothing", "blanks", "no JSON number", "deep")
    return Call(f"{fault} at {'.'.join(map(str, path))}", args, has_to_fail)


# ---- models ----


def _zip_of(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


class _Call:
    def __reduce__(self) -> Any:
        return print, ("a pickle was run",)


OTHER_MODELS: Final[dict[str, bytes]] = {
    "a pickle": pickle.dumps(_Call()),
    "an old pickle": pickle.dumps(_Call(), protocol=0),
    "a zip": _zip_of("a.txt", b"x"),
    "a schema of nothing": _zip_of("schema.json", b"{}"),
    "a schema of print": _zip_of(
        "schema.json", b'{"__class__": "print", "__module__": "builtins", "__loader__": "TypeNode"}'
    ),
    "a schema that is none": _zip_of("schema.json", b"[1, 2"),
    "a pickle in a zip": _zip_of("data.pkl", pickle.dumps(_Call())),
}


def break_model(random: Random, number: int, home: Home) -> Call:
    kind = ("skops", "onnx")[number % 2]
    faults = [*DAMAGE, *OTHER_MODELS]
    fault = faults[number // 2 % len(faults)]
    path = home.folder / f"model.{kind}"
    path.write_bytes(OTHER_MODELS[fault] if fault in OTHER_MODELS else DAMAGE[fault](random, path.read_bytes()))
    has_to_fail = fault in OTHER_MODELS or fault in ("noise", "nothing", "blanks")
    return Call(
        f"{kind}: {fault}", ("audit", str(home.csv), *COLUMNS, *FAST, "--model", str(path), *FEATURES), has_to_fail
    )


# ---- folders ----


def break_folder(random: Random, number: int, home: Home) -> Call:
    folder = (home.pairs, home.generator)[number % 2]
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = files[number // 2 % len(files)]
    faults = ("lost", "of another", "twice", *DAMAGE)
    fault = faults[number // 2 // len(files) % len(faults)]
    if fault == "lost":
        path.unlink()
    elif fault == "of another":
        path.write_bytes(files[int(random.integers(len(files)))].read_bytes())
    elif fault == "twice":
        shutil.copy(path, path.with_name(f"x{path.name}"))
    else:
        path.write_bytes(DAMAGE[fault](random, path.read_bytes()))
    has_to_fail = fault in ("lost", "noise", "nothing", "blanks")
    return Call(f"{path.name} {fault}", _use_folder(home, folder), has_to_fail)


def _use_folder(home: Home, folder: Path) -> tuple[str, ...]:
    if folder == home.pairs:
        return "audit", str(home.csv), *SCORED, "--pairs", str(folder)
    return "antidote", str(home.csv), "--load", str(folder), "--quiet"


DOORS: Final[dict[str, Callable[[Random, int, Home], Call]]] = {
    "files": break_file,
    "options": break_option,
    "policies": break_policy,
    "records": break_record,
    "models": break_model,
    "folders": break_folder,
}


def draw_call(door: str, number: int, home: Home) -> Call:
    """Return a call with a fault, which the files of a home now have; the same number gives the same fault."""
    return DOORS[door](np.random.default_rng([list(DOORS).index(door), number]), number, home)


def base_call(door: str, home: Home) -> list[tuple[str, ...]]:
    """Return what the calls of a door are without a fault."""
    asked = ("audit", str(home.csv), *SCORED)
    calls: dict[str, list[tuple[str, ...]]] = {
        "files": [asked, ("audit", str(home.parquet), *SCORED)],
        "options": [asked],
        "policies": [(*asked, "--policy", str(home.policy_toml))],
        "records": [("report", str(home.record)), ("verify", str(home.record), str(home.csv))],
        "models": [
            ("audit", str(home.csv), *COLUMNS, *FAST, "--model", str(home.folder / f"model.{kind}"), *FEATURES)
            for kind in ("skops", "onnx")
        ],
        "folders": [_use_folder(home, home.pairs), _use_folder(home, home.generator)],
    }
    return calls[door]
