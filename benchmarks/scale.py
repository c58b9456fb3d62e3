"""Measure how far one machine goes, and what Spark costs for the same: time, memory and growth, up to ten million rows.

Run it on a quiet machine, from the environment that ``make test`` makes::

    python benchmarks/scale.py                                   # everything: hours, may be interrupted
    python benchmarks/scale.py --cases adult --rows 1000000 --engines memory
    python benchmarks/scale.py --works "count;sample" --again    # measure anew what is stored
    python benchmarks/scale.py --report                          # only write the tables anew, from stored figures

Each piece of work runs in a process of its own: counting all pairs, drawing 20,000 of them with an estimate of their
number, running over them, writing them to Parquet, auditing people over all their pairs and over a sample. Memory
limits are given as to the functions themselves, and what was used is the kernel's figure. Figures are stored as soon as
they are there (results/scale.json), and what is stored is not measured again. The readable table is results/scale.md.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from _scale_cases import CASES, SIZES, ScaleCase
from _scale_report import write_report
from mining import describe_machine, store

HERE: Final = Path(__file__).parent
ENGINES: Final = ("memory", "spark")  # Spark is asked for audits only
WORKS: Final = ("count", "sample", "stream", "write", "audit, stream", "audit, sample")
MOST_ROWS: Final = {"memory": 10_000_000, "spark": 300_000}  # beyond which it is not asked
LIMITED: Final = ("count", "stream", "audit, stream")  # also measured within given limits
LIMITS: Final = {300_000: ("250 MB", "500 MB"), 1_000_000: ("500 MB", "1 GB"), 10_000_000: ("3 GB",)}
SPARK_LIMITS: Final = {300_000: ("1 GB", "2 GB")}  # of its driver's memory, which Spark itself is told
SECONDS: Final = 2_400

Cell = tuple[str, str, str | None]  # work, engine, memory limit


def main() -> None:
    """Measure what the command line asks for and is not stored yet."""
    options = read_arguments()
    path = HERE / "results" / f"{options.name}.json"
    results = open_results(path)
    for name in options.cases if not options.report else ():
        for n_rows in options.rows:
            if n_rows in CASES[name].sizes:
                measure_table(CASES[name], n_rows, results, path, options)
    write_report(results, path.with_suffix(".md"))
    print(path.with_suffix(".md").read_text())


def measure_table(
    case: ScaleCase, n_rows: int, results: dict[str, Any], path: Path, options: argparse.Namespace
) -> None:
    """Measure everything that is wanted on a table; store each figure at once."""
    stored = results["cells"]
    wanted = [
        cell
        for cell in list_cells(case, n_rows)
        if cell[0] in options.works
        and cell[1] in options.engines
        and (options.again or key_of(case, n_rows, cell) not in stored)
    ]
    if not wanted:
        return
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        command = [sys.executable, str(HERE / "_scale_cases.py"), case.name, str(n_rows), folder]
        subprocess.run(command, check=True)
        for cell in wanted:
            print(f"{case.title}, {n_rows:,} rows: {', '.join(filter(None, cell))} ...", end=" ", flush=True)
            found = run_trial(cell, folder, options.seconds)
            stored[key_of(case, n_rows, cell)] = {"case": case.name, "rows": n_rows, **name_cell(cell), **found}
            store(results, path)
            print(
                f"{found['wall_s']:,} s, {found['peak_mb']:,} MB" if "wall_s" in found else found["status"], flush=True
            )


def list_cells(case: ScaleCase, n_rows: int) -> Iterator[Cell]:
    """Name what is measured on a table: what would not end, or fill the disk, is left out."""
    for engine in ENGINES:
        for work in WORKS:
            allowed = MOST_ROWS[engine]
            allowed = min(allowed, case.most_written) if work == "write" else allowed
            allowed = min(allowed, case.most_streamed) if work in ("stream", "audit, stream") else allowed
            is_spark = engine == "spark"
            if n_rows > allowed or (is_spark and work != "audit, stream"):
                continue
            yield work, engine, None
            if work in LIMITED and case.name == "adult":
                limits = SPARK_LIMITS if is_spark else LIMITS
                yield from ((work, engine, limit) for limit in limits.get(n_rows, ()))


def run_trial(cell: Cell, folder: str, seconds: int) -> dict[str, Any]:
    """Measure one piece of work in a process of its own."""
    work, engine, limit = cell
    command = [sys.executable, str(HERE / "_scale_trial.py"), work, engine, limit or "none", folder, str(seconds)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    if ended.returncode == 0:
        found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
        return found
    if ended.returncode == -signal.SIGALRM:
        return {"status": f"over {seconds:,} s"}
    if ended.returncode == -signal.SIGKILL:
        return {"status": "over memory"}
    last = (ended.stderr.strip().splitlines() or [f"ended with {ended.returncode}"])[-1]
    print(ended.stderr[-2_000:], file=sys.stderr)
    return {"status": "failed", "reason": last.split(":")[0]}  # the rest may name files of this computer


def key_of(case: ScaleCase, n_rows: int, cell: Cell) -> str:
    """Name a figure."""
    return "; ".join([case.name, str(n_rows), *(part or "no limit" for part in cell)])


def name_cell(cell: Cell) -> dict[str, Any]:
    """Say what a figure is of."""
    return dict(zip(("work", "engine", "limit"), cell, strict=True))


def open_results(path: Path) -> dict[str, Any]:
    """Go on with what is stored, if it was measured on such a machine as this."""
    results: dict[str, Any] = {"machine": describe_machine(), "cells": {}}
    if path.exists():
        stored: dict[str, Any] = json.loads(path.read_text())
        if stored["machine"] != results["machine"]:
            raise SystemExit(f"The figures in {path.name} come from another machine. Give another name with --name.")
        results["cells"] = stored["cells"]
    return results


def read_arguments() -> argparse.Namespace:
    """Understand the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, known in {"cases": tuple(CASES), "works": WORKS, "engines": ENGINES}.items():
        parser.add_argument(f"--{name}", type=_listed(known), default=known, metavar="NAME;NAME")
    parser.add_argument("--rows", type=lambda text: tuple(map(int, text.split(";"))), default=SIZES, metavar="N;N")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="that one piece of work may take")
    parser.add_argument("--scratch", help="where tables and pairs are written, and removed again")
    parser.add_argument("--name", default="scale", help="of the two files in results (scale)")
    parser.add_argument("--again", action="store_true", help="measure also what is stored")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    return parser.parse_args()


def _listed(known: tuple[str, ...]) -> Any:
    def read(text: str) -> tuple[str, ...]:
        names = tuple(text.split(";"))
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
        return names

    return read


if __name__ == "__main__":
    main()
