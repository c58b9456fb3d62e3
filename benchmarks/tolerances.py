"""Measure an examiner's tolerance set on a million applications: the search for pairs, and a whole audit folder.

Run it on a quiet machine, from the environment that ``make test`` makes::

    python benchmarks/tolerances.py             # some minutes
    python benchmarks/tolerances.py --report    # only write the table again, from stored figures

The applications are the training rows of the planted data set, scored by its lender, in a Parquet file; the rule is a
TOML file with limits on five columns, two of them relative to the value. The search is timed in this process, on the
encoded table, once compiled; the audit is ``likewise audit FILE --rule FILE --out FOLDER`` in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import likewise
from _clock import measure
from mining import describe_machine, store

HERE: Final = Path(__file__).parent
LIBRARIES: Final = ("numpy", "numba", "pyarrow")
N_ROWS: Final = 1_333_333  # of which three quarters are training rows
LIMIT: Final = 600  # seconds
WANTED: Final = 60.0  # for the folder
TOLERANCES: Final = """[rule]
max_discrete_changes = {changes}

[rule.limits]
age = "10 %"
income = 5000
amount = "10 %"
duration = 3
savings = 500
"""
INTRODUCTION: Final = """# Tolerances in units of the columns

Written by `python benchmarks/tolerances.py`, which says how it is measured and can be run again.
{machine}. {versions}.

{rows:,} planted applications; age and amount within 10 % of the larger value, income within 5,000, duration within 3,
savings within 500. Seconds by the clock, the processor's (of all cores) in brackets: on a busy machine, only the latter
say something. Wanted is the folder within {wanted:g} s by the clock on 2 cores.

| discrete columns that may differ | comparable pairs | finding them | whole audit folder |
| --- | --- | --- | --- |
"""

Results = dict[str, Any]


def main() -> None:
    """Measure, store and show."""
    parser = argparse.ArgumentParser(description="Measure a tolerance set on a million applications.")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the readable table again")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="the folder to write to")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / "tolerances.json"
    if not options.report:
        store(measure_all(), path)
    text = write_report(json.loads(path.read_text()))
    path.with_suffix(".md").write_text(text)
    print(text)


def measure_all() -> Results:
    """Mine and audit by each rule."""
    data = likewise.load_dataset("planted", n_rows=N_ROWS)
    people, labels = data.train.X, np.asarray(data.train.y)
    schema = data.roles.learn(people)
    table = schema.encode(people, labels)
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "applications.parquet"
        columns = pa.Table.from_pandas(people, preserve_index=False)
        columns = columns.append_column("repaid", pa.array(labels))
        pa.parquet.write_table(columns.append_column("score", pa.array(data.scores(people))), file)
        for changes in (0, 1):
            rule_file = Path(folder) / f"tolerances-{changes}.toml"
            rule_file.write_text(TOLERANCES.format(changes=changes))
            rule = likewise.Comparability.from_toml(rule_file)
            likewise.mine_pairs(table[:10_000], rule)  # compiles
            pairs, found = measure(lambda rule=rule: likewise.mine_pairs(table, rule), started=time.time(), limit=LIMIT)
            command = ("audit", str(file), "--label", "repaid", "--sensitive", "group,gender", "--scores", "score")
            audit = run((*command, "--rule", str(rule_file), "--out", f"{folder}/audit-{changes}"))
            cells.append({"changes": changes, "n_pairs": len(pairs), "mining": found, "audit": audit})
            print(cells[-1], file=sys.stderr)
    versions = {"python": platform.python_version(), "likewise": likewise.__version__}
    versions |= {name: version(name) for name in LIBRARIES}
    return {"machine": describe_machine(), "versions": versions, "rows": len(table), "cells": cells}


def run(command: tuple[str, ...]) -> dict[str, float]:
    """Run a command of likewise in a fresh process."""
    begun = time.perf_counter()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-m", "likewise.cli", *command], **quiet) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    taken = time.perf_counter() - begun
    if process.returncode:
        raise SystemExit(f"likewise {' '.join(command)} ended with {process.returncode}.")
    return {"wall_s": round(taken, 2), "cpu_s": round(usage.ru_utime + usage.ru_stime, 2)}


def write_report(results: Results) -> str:
    """Write the table."""
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    about = {"machine": results["machine"], "versions": versions, "rows": results["rows"], "wanted": WANTED}
    lines = [
        f"| {cell['changes']} | {cell['n_pairs']:,} | {seconds(cell['mining'])} | {seconds(cell['audit'])} |"
        for cell in results["cells"]
    ]
    return INTRODUCTION.format(**about) + "\n".join(lines) + "\n"


def seconds(found: Results) -> str:
    """Write the seconds of the clock, and those of the processor."""
    return f"{found['wall_s']:.1f} ({found['cpu_s']:.1f})"


if __name__ == "__main__":
    main()
