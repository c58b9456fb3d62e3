"""One piece of work on one table with one engine, in a process of its own, so that its peak of memory is its own.

``python benchmarks/_scale_trial.py WORK ENGINE LIMIT FOLDER SECONDS`` prints what it measured as one line of JSON.
Compiled code is loaded, and Spark started, by a first call on a small part of the table. The peak of memory is the
kernel's figure (VmHWM) above what was in use when the input was there; to Spark's own processes all they have is added.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet

from _clock import give_memory_back, peak_bytes, reset_peak
from _scale_cases import roles_of
from _tables import read_table
from likewise import CodedTable, Comparability, audit, count_pairs, iter_pairs, sample_pairs
from likewise.comparable import write_pairs

N_SAMPLED: Final = 20_000
N_RESAMPLES: Final = 200
WARM_UP_ROWS: Final = 5_000
TALLIED_ROWS: Final = 120_000  # audits of large tables have kernels of their own, tens of megabytes of code
COMPILING: Final = 300  # seconds that the first call may take
SPARK_MEMORY: Final = "8g"
PROCESSES: Final = Path("/proc")

Found = dict[str, Any]
Job = Callable[[], Found]


def prepare(work: str, how: dict[str, Any], folder: Path, n_rows: int | None) -> Job:
    """Bring the input into memory, some rows of it or all, and give back what is to be measured."""
    table, rule = read_table(folder / "table.npz")
    table = table[: n_rows or len(table)]
    if work.startswith("audit"):
        return _prepare_audit(work.removeprefix("audit, "), how, folder, len(table), rule)
    limits = {"memory_limit": how["memory_limit"]}
    jobs: dict[str, Job] = {
        "count": lambda: {"n_pairs": count_pairs(table, rule, **limits).total},
        "stream": lambda: {"n_pairs": sum(len(pairs) for pairs in iter_pairs(table, rule, **limits))},
        "sample": partial(_sample, table, rule, limits),
        "write": partial(_write, table, rule, folder, limits),
    }
    return jobs[work]


def _sample(table: CodedTable, rule: Comparability, how: dict[str, Any]) -> Found:
    pairs = sample_pairs(table, rule, n=N_SAMPLED, total="estimate", **how)
    return {"n_pairs": pairs.n_total, "error": pairs.n_total_error}


def _write(table: CodedTable, rule: Comparability, folder: Path, how: dict[str, Any]) -> Found:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        target = Path(scratch) / "pairs"
        n_pairs = write_pairs(table, rule, target, **how)
        n_bytes = sum(file.stat().st_size for file in target.iterdir())
        shutil.rmtree(target)
    return {"n_pairs": n_pairs, "written_mb": round(n_bytes / 1e6, 1)}


def _prepare_audit(way: str, how: dict[str, Any], folder: Path, n_rows: int, rule: Comparability) -> Job:
    file = folder / "people.parquet"
    settings: dict[str, Any] = {"rule": rule, "baseline": False, "n_resamples": N_RESAMPLES}
    settings["roles"] = roles_of(pyarrow.parquet.read_schema(file).names)
    if how["engine"] == "spark":
        from pyspark.sql import SparkSession

        from likewise.spark import audit as audit_on_spark

        people = SparkSession.builder.getOrCreate().read.parquet(str(file)).limit(n_rows)
        return lambda: _describe(audit_on_spark("score", people, **settings))
    frame = pyarrow.parquet.read_table(file).slice(0, n_rows)
    return lambda: _describe(audit("score", frame, when_too_many=way, **settings, memory_limit=how["memory_limit"]))  # type: ignore[arg-type]  # one of two words


def _describe(found: Any) -> Found:
    mean, pairs = found["gap_mean"], found.to_dict()["pairs"]
    return {"n_pairs": pairs["n_total"], "kept": pairs["n"], "gap_mean": mean.value, "low": mean.low, "high": mean.high}


def start_spark(memory: str) -> None:
    """Start a session with so much memory for its driver, which does all the work."""
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", "spark.driver.memory": memory, "spark.sql.shuffle.partitions": "16"}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # where likewise is
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    builder.getOrCreate().sparkContext.setLogLevel("ERROR")


def measure(work: str, how: dict[str, Any], folder: Path, seconds: int) -> Found:
    """Warm up on a few rows, then do the work once."""
    signal.alarm(COMPILING)
    if how["engine"] == "spark":
        limit, how = how["memory_limit"], how | {"memory_limit": None}  # it is Spark that is told
        start_spark(limit.replace(" GB", "g") if limit else SPARK_MEMORY)
    prepare(work, how, folder, TALLIED_ROWS if how["engine"] == "memory" and "audit" in work else WARM_UP_ROWS)()
    job = prepare(work, how, folder, None)
    give_memory_back()
    before = reset_peak()
    signal.alarm(seconds)
    cpu, wall = time.process_time() + _of_children("cpu"), time.perf_counter()
    found = job()
    cpu, wall = time.process_time() + _of_children("cpu") - cpu, time.perf_counter() - wall
    signal.alarm(0)
    peak = peak_bytes() - before + int(_of_children("peak"))
    return found | {"cpu_s": round(cpu, 2), "wall_s": round(wall, 2), "peak_mb": round(peak / 1e6, 1)}


def _of_children(what: str) -> float:
    """Add up processor seconds, or the peaks of memory, of the processes that this one started and that are alive."""
    parents = {int(path.name): _parent(path) for path in PROCESSES.iterdir() if path.name.isdigit()}
    own = int((PROCESSES / "self").resolve().name)
    total = 0.0
    for process in parents:
        above = process
        while above not in (own, 0, None):
            above = parents.get(above, 0)
        if above == own and process != own:
            total += _read(PROCESSES / str(process), what)
    return total


def _parent(path: Path) -> int:
    try:
        return int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:  # it has ended
        return 0


def _read(path: Path, what: str) -> float:
    try:
        if what == "cpu":
            return sum(map(int, (path / "stat").read_text().rsplit(")", 1)[1].split()[11:13])) / 100
        lines = (path / "status").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except OSError:
        return 0.0


def main() -> None:
    """Measure what the command line asks for."""
    work, engine, limit, folder, seconds = sys.argv[1:]
    how: dict[str, Any] = {"engine": engine, "memory_limit": None if limit == "none" else limit}
    print(json.dumps({"status": "done"} | measure(work, how, Path(folder), int(seconds))))


if __name__ == "__main__":
    main()
