"""Cells of a table, each measured in a process of its own and stored as soon as it is there."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import likewise
from mining import describe_machine, store

HERE: Final = Path(__file__).parent
LIBRARIES: Final = ("numpy", "scikit-learn", "torch", "pandas")
ONE_THREAD: Final = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}

Results = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """What to measure, and by which program: a script beside this one, its arguments, and the Python to run it."""

    name: str
    script: str
    arguments: tuple[str, ...] = ()
    python: str = sys.executable


def measure_cells(cells: list[Cell], results: Results, path: Path, options: argparse.Namespace) -> None:
    """Measure what is wanted and not stored yet; a cell that fails is shown, and the others go on."""
    results |= {"machine": describe_machine(), "versions": _list_versions()}
    for cell in cells:
        is_there = "failed" not in results["cells"].get(cell.name, {"failed": ""})
        if not cell.name.startswith(tuple(options.only)) or (is_there and not options.again):
            continue
        print(f"{cell.name} ...", end=" ", flush=True)
        started = time.perf_counter()
        found = run_script(cell)
        results["cells"][cell.name] = found | {"seconds_in_all": round(time.perf_counter() - started, 1)}
        print(found.get("failed", f"{time.perf_counter() - started:.0f} s"), flush=True)
        store(results, path)


def run_script(cell: Cell) -> Results:
    """Run a program on one thread, and read the line of JSON that it ends with."""
    command = [cell.python, "-W", "ignore", str(HERE / cell.script), *cell.arguments]
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | ONE_THREAD)
    if ended.returncode == 0:
        found: Results = json.loads(ended.stdout.splitlines()[-1])
        return found
    print(ended.stderr, file=sys.stderr)
    last = (ended.stderr.strip().splitlines() or [f"ended with {ended.returncode}"])[-1]
    return {"failed": last.split(":")[0]}  # the rest may name files of this computer


def open_results(path: Path) -> Results:
    """Go on with what is stored, if it was measured on such a machine as this."""
    if not path.exists():
        return {"machine": "", "versions": {}, "cells": {}}
    stored: Results = json.loads(path.read_text())
    return stored


def refuse_other_machine(results: Results, path: Path) -> None:
    """Ratios between machines mean nothing."""
    if results["cells"] and results["machine"] != describe_machine():
        raise SystemExit(
            f"The stored results come from another machine ({results['machine']}). Ratios between machines mean "
            f"nothing: move {path.name} away, or give another folder with --results."
        )


def read_arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rivals", help="a Python that has inFairness; this one, if it has it and none is given")
    parser.add_argument("--only", help="some cells only (how they begin), with semicolons")
    parser.add_argument("--again", action="store_true", help="measure anew what is stored")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the readable table anew")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="the folder to write to")
    options = parser.parse_args()
    if options.rivals is None and find_spec("inFairness") is not None:
        options.rivals = sys.executable
    options.only = [prefix.strip() for prefix in options.only.split(";")] if options.only else [""]
    return options


def write_markdown(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def judge(figure: float | None, most: float) -> list[str]:
    """Say what was wanted, what was found, and whether that is so."""
    if figure is None:
        return [f"≤ {most:g}x", "-", "not measured"]
    return [f"≤ {most:g}x", f"{figure:.2f}x", "yes" if figure <= most else "**no**"]


def _list_versions() -> Results:
    known = {"python": platform.python_version(), "likewise": likewise.__version__}
    return known | {name: version(name) for name in LIBRARIES}
