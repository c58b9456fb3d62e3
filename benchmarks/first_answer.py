"""Measure how long a first answer takes in a fresh process, and how long later ones take in a process that runs.

Run it on a quiet machine, from the environment that ``make test`` makes::

    python benchmarks/first_answer.py             # some minutes
    python benchmarks/first_answer.py --later     # only the later answers; the first ones stay as stored
    python benchmarks/first_answer.py --report    # only write the table again, from stored figures

Each first answer is a process of its own. *Cold* has an empty ``NUMBA_CACHE_DIR``; *warm* is the best of three further
runs with the cache that the cold one left behind. Byte code is compiled beforehand, as an installation does. The rival
is fairlearn: its import, and a ``MetricFrame`` by group of the same CSV. Later answers are the best of a few calls,
after one that is not counted (of rivals that take seconds, the one call there is): audits of small tables with 1,000
resamples, and pairs written to Parquet.
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
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import likewise
from _audit_cases import as_arrays, load_scaled_adult
from _audit_naive import prepare_naive
from _clock import measure as measure_calls
from _tables import SEED, load
from likewise.comparable import write_pairs
from mining import describe_machine, store

HERE: Final = Path(__file__).parent
LIBRARIES: Final = ("numpy", "numba", "pandas", "pyarrow", "scikit-learn", "typer", "fairlearn")
N_WARM: Final = 3
TABLES: Final = {"planted": 1_000, "adult": 10_000}
RIVAL: Final = """
import sys
import pandas as pd
from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate
people = pd.read_csv(sys.argv[1])
metrics = {"selected": selection_rate, "tpr": true_positive_rate, "fpr": false_positive_rate}
groups = people[sys.argv[2].split(",")]
print(MetricFrame(metrics=metrics, y_true=people["y"], y_pred=people["p"] >= 0.5, sensitive_features=groups).by_group)
"""
N_RESAMPLES: Final = 1_000
FEW_RESAMPLES: Final = 20  # of fairlearn, which takes about 0.3 s for each
LATER: Final = {10_000: 0.5, 100_000: 3.0}  # rows of Adult scaled up, and how soon they should be audited
DUTCH_ROWS: Final = 100_000  # resampled: 13 million pairs, so many a row that finding them costs little
A_SECOND: Final = 20e6  # pairs to be written
INTRODUCTION: Final = """# The first answer

Written by `python benchmarks/first_answer.py`, which says how it is measured and can be run again.
{machine}. {versions}.

Seconds by the clock in a fresh process, the processor's in brackets. *Cold*: no compiled kernel on the disk. *Warm*:
the best of {n_warm} further runs.
"""

LATER_HEADING: Final = """## Later answers

In a process that runs, with everything in its memory. The last column divides the processor's seconds by those of our
row above it. Where the clock shows several times the processor's seconds, other work had the cores, and says nothing.

| answer | processor's seconds | by the clock | wanted | times ours |
| --- | --- | --- | --- | --- |"""

Results = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """Something a user asks first, and how soon it should come: cold and warm, in seconds."""

    name: str
    command: tuple[str, ...]
    cold: float | None = None
    warm: float | None = None
    rival: str | None = None


def main() -> None:
    """Measure, store and show."""
    parser = argparse.ArgumentParser(description="Measure first answers.")
    parser.add_argument("--later", action="store_true", help="measure the later answers only")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the readable table again")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="the folder to write to")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / "first_answer.json"
    if not options.report:
        results = json.loads(path.read_text()) if options.later else measure()
        if results["machine"] != describe_machine():
            raise SystemExit(f"The stored results come from another machine ({results['machine']}). Measure all.")
        store(results | {"later": measure_later()}, path)
    text = write_report(json.loads(path.read_text()))
    path.with_suffix(".md").write_text(text)
    print(text)


def measure() -> Results:
    """Run every answer cold, then warm."""
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        for answer in list_answers(Path(folder)):
            caches = {"PYTHONPYCACHEPREFIX": f"{folder}/bytecode", "NUMBA_CACHE_DIR": f"{folder}/before"}
            run(answer, caches)  # compiles byte code, and has the libraries' files read once
            caches["NUMBA_CACHE_DIR"] = f"{folder}/{len(cells)}"
            cold, *warm = (run(answer, caches) for _ in range(1 + N_WARM))
            best = min(warm)
            print(f"{answer.name}: cold {cold[0]:.2f} s, warm {best[0]:.2f} s", file=sys.stderr)
            targets = {"cold_wanted": answer.cold, "warm_wanted": answer.warm}
            cells.append({"name": answer.name, "cold": cold, "warm": best, "rival": answer.rival, **targets})
    versions = {"python": platform.python_version(), "likewise": likewise.__version__}
    versions |= {name: version(name) for name in LIBRARIES}
    return {"machine": describe_machine(), "versions": versions, "cells": cells}


def measure_later() -> list[Results]:
    """Measure audits of small tables beside the same by hand, and pairs written beside pyarrow's own way."""
    cells = []
    for n_rows, wanted in LATER.items():
        made = load_scaled_adult(n_rows)
        data, schema, people, labels = made
        arrays = as_arrays(made)
        how: dict[str, Any] = {"roles": schema, "rule": data.rule, "n_resamples": N_RESAMPLES}
        what = f"{n_rows:,} rows, {N_RESAMPLES:,} resamples"
        found = likewise.audit(arrays.scores, people, labels, **how)
        cells.append(later(f"audit, {what}", partial(likewise.audit, arrays.scores, people, labels, **how), wanted))
        cells[-1]["does"] = f"{len(found.measures)} measures, {found.record.pairs.n:,} pairs and their baseline"
        by_hand, n_calls = prepare_naive(arrays, n_resamples=N_RESAMPLES), 4 if n_rows == min(LATER) else 1
        cells.append(later(f"pandas + numpy, {what}", by_hand, n_calls=n_calls, does="4 numbers, no baseline"))
        if n_rows == min(LATER):
            frame = partial(frame_by_group, people, labels, arrays.scores >= 0.5)
            few = f"MetricFrame, {n_rows:,} rows, {FEW_RESAMPLES} resamples"
            cells.append(later(few, frame, n_calls=1, does="3 rates by group, no pairs"))
    with tempfile.TemporaryDirectory() as folder:
        cells += measure_writing(Path(folder))
    return cells


def measure_writing(folder: Path) -> list[Results]:
    """Write the pairs of Dutch resampled: ours finds them, too, and pyarrow has them in its memory."""
    table, rule = load("dutch")
    table = table[np.random.default_rng(SEED).integers(len(table), size=DUTCH_ROWS)]
    places = (folder / str(number) for number in count())
    pairs = likewise.mine_pairs(table, rule)
    columns = {"left": pairs.left, "right": pairs.right, "label": table.labels[pairs.left]}
    listed, what = pa.table(columns), f"{len(pairs):,} pairs"
    ours = later(f"write_pairs, {what}", lambda: write_pairs(table, rule, next(places)), len(pairs) / A_SECOND)
    theirs = later(f"pyarrow write_table, {what}", lambda: pyarrow.parquet.write_table(listed, next(places)))
    return [ours | {"does": "finds, checks and writes them"}, theirs | {"does": "writes them, to one file"}]


def frame_by_group(people: Any, labels: Any, decisions: Any) -> Any:
    """Measure three rates by group, with intervals."""
    from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate

    metrics = {"selected": selection_rate, "tpr": true_positive_rate, "fpr": false_positive_rate}
    groups, again = people[["marital-status"]], {"n_boot": FEW_RESAMPLES, "ci_quantiles": [0.025, 0.975]}
    return MetricFrame(
        metrics=metrics, y_true=labels, y_pred=decisions, sensitive_features=groups, random_state=0, **again
    ).by_group_ci


def later(name: str, job: Callable[[], Any], wanted: float | None = None, n_calls: int = 0, does: str = "") -> Results:
    """Measure calls in this process."""
    _, found = measure_calls(job, started=time.time(), limit=600, n_calls=n_calls)
    print(f"{name}: {found['cpu_s']:.2f} s of the processor", file=sys.stderr)
    return {"name": name, "cpu_s": found["cpu_s"], "wall_s": found["wall_s"], "wanted": wanted, "does": does}


def list_answers(folder: Path) -> list[Answer]:
    """Write the tables, and list what is asked of them."""
    answers = [
        Answer("import fairlearn.metrics", ("-c", "import fairlearn.metrics")),
        Answer("import likewise", ("-c", "import likewise"), 0.3, 0.3, "import fairlearn.metrics"),
        Answer("from likewise import audit", ("-c", "from likewise import audit"), rival="import fairlearn.metrics"),
        Answer("likewise --help", ("-m", "likewise.cli", "--help"), 0.3, 0.3),
        Answer("likewise audit --help", ("-m", "likewise.cli", "audit", "--help")),
    ]
    for name, n_rows in TABLES.items():
        sensitive = write_people(folder / f"{name}.csv", name, n_rows)
        people, what = str(folder / f"{name}.csv"), f"{n_rows:,} rows of {name}"
        frame = Answer(f"MetricFrame of {what}", ("-c", RIVAL, people, sensitive))
        columns = ("--label", "y", "--sensitive", sensitive, "--scores", "p")
        audit = ("-m", "likewise.cli", "audit", people, *columns, "--out", str(folder / f"{name}-audit"))
        pairs = ("-m", "likewise.cli", "pairs", people, *columns[:4], "--out", str(folder / f"{name}.parquet"))
        wanted = (10.0, 2.0) if n_rows == 1_000 else (None, None)
        answers += [
            frame,
            Answer(f"likewise pairs, {what}", pairs, rival=frame.name),
            Answer(f"likewise audit, {what}", audit, *wanted, rival=frame.name),
        ]
    return answers


def write_people(path: Path, name: str, n_rows: int) -> str:
    """Write people with the scores of a logistic regression; return their sensitive columns."""
    data = likewise.load_dataset(name)  # type: ignore[arg-type]  # one that it knows
    words, numbers = make_column_selector(dtype_exclude="number"), make_column_selector(dtype_include="number")
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), (StandardScaler(), numbers))
    model = make_pipeline(columns, LogisticRegression(max_iter=1_000)).fit(data.train.X, data.train.y)
    people = data.train.X.head(n_rows)
    scores = model.predict_proba(people)[:, 1]
    people = people.assign(y=np.asarray(data.train.y)[: len(people)], p=scores)
    people.to_csv(path, index=False)
    return ",".join(data.roles.sensitive)


def run(answer: Answer, caches: dict[str, str]) -> tuple[float, float]:
    """Run a command in a fresh process: seconds by the clock, and the processor's."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | caches
    begun = time.perf_counter()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, *answer.command], env=environment, **quiet) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    taken = time.perf_counter() - begun
    if process.returncode:
        raise SystemExit(f"{answer.name} ended with {process.returncode}.")
    return round(taken, 3), round(usage.ru_utime + usage.ru_stime, 3)


def write_report(results: Results) -> str:
    """Write the table."""
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    lines = [
        INTRODUCTION.format(machine=results["machine"], versions=versions, n_warm=N_WARM),
        "| first answer | cold | wanted | warm | wanted | warm, times the rival |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    warm = {cell["name"]: cell["warm"][0] for cell in results["cells"]}
    for cell in results["cells"]:
        found = []
        for when in ("cold", "warm"):
            seconds, wanted = cell[when], cell[f"{when}_wanted"]
            met = "" if wanted is None else f"\u2264 {wanted:g} s, {'met' if seconds[0] <= wanted else '**missed**'}"
            found += [f"{seconds[0]:.2f} ({seconds[1]:.2f})", met]
        rival = f"{cell['warm'][0] / warm[cell['rival']]:.2f} x {cell['rival']}" if cell["rival"] else ""
        lines.append(f"| {cell['name']} | {' | '.join(found)} | {rival} |")
    lines += ["", *LATER_HEADING.splitlines()]
    ours = 1.0
    for cell in results.get("later", []):
        ours = cell["cpu_s"] if cell["wanted"] is not None else ours
        met = "" if cell["wanted"] is None else f"\u2264 {cell['wanted']:.2g} s by the clock"
        times = "" if cell["wanted"] is not None else f"{cell['cpu_s'] / ours:.2g}"
        name = f"{cell['name']} ({cell['does']})"
        lines.append(f"| {name} | {cell['cpu_s']:.2f} | {cell['wall_s']:.2f} | {met} | {times} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
