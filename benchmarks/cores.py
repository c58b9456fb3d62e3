"""Measure how many cores are put to use: counting, streaming and auditing with 1 to 16 threads, in one process.

Run it on a quiet machine with as many cores as are of interest::

    python benchmarks/cores.py                       # 1M and 3M rows, with as many cores as there are
    python benchmarks/cores.py --seconds 180         # what is left after so long is not measured
    python benchmarks/cores.py --huge                # audit 10M rows on all cores instead
    python benchmarks/cores.py --machine             # also what the machine itself allows, as rows of the same table
    python benchmarks/cores.py --copies              # the same work once on each core, side by side: a second table
    python benchmarks/cores.py --profile             # phases on one core and on all, and what runs on one thread
    python benchmarks/cores.py --report              # only write the table anew

The table is Adult scaled up. Threads are limited by the cores that the process may run on. Efficiency is
t1 / (n * tn), by the clock. What takes less than 12 s is done up to three times, and the quickest time taken. All that
is compiled is compiled before, by the same work on fewer rows. Figures are stored as soon as they are there
(results/cores.json); the readable table is results/cores.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from _clock import give_memory_back, peak_bytes, reset_peak
from _machine import TITLES, prepare_machine
from _phases import PHASES, REST, Profile, profile_call
from _scale_cases import CASES, as_frame, roles_of
from likewise import audit, count_pairs, iter_pairs
from mining import describe_machine, store

HERE: Final = Path(__file__).parent
THREADS: Final = ((1, 16), (8, 4, 2))  # the ends first, as time may run out; of the larger table the ends only
MOST_TIMES: Final = 3  # as often is work done, and the quickest time taken, unless it takes
LONG: Final = 12.0  # seconds in all: so that an audit of a million rows is done more than once
SIZES: Final = (1_000_000, 3_000_000)
HUGE: Final = 10_000_000
GROWTH: Final = 5  # times as long as for the first size, where that is not known yet
WARM_UP_ROWS: Final = (5_000, 400_000)  # large tables are bucketed by cells, too, and audits of them have own kernels
WORKS: Final = {
    "count": "Counting",
    "stream": "Streaming",
    "audit": "Auditing all pairs, no intervals",
    "audit, 200 resamples": "Auditing all pairs, 200 resamples",
}

LONGEST: Final = 600.0  # seconds that a copy waits for the others: one may have been killed
COPIES: Final = "copies"  # in the name of a work: as many processes as threads, each with a table and a core of its own

Cells = dict[str, dict[str, Any]]


def prepare(n_rows: int) -> dict[str, Callable[[], Any]]:
    """Make a table, and the work to do on it."""
    table, rule = CASES["adult"].make(n_rows)
    frame = as_frame(table)
    roles = roles_of(frame.column_names)
    how: dict[str, Any] = {"rule": rule, "roles": roles, "baseline": False}
    return {
        "count": lambda: count_pairs(table, rule).total,
        "stream": lambda: sum(len(pairs) for pairs in iter_pairs(table, rule)),
        "audit": lambda: audit("score", frame, n_resamples=0, **how)["gap_mean"].value,
        "audit, 200 resamples": lambda: audit("score", frame, n_resamples=200, **how)["gap_mean"].value,
    }


def measure(job: Callable[[], Any], cores: list[int]) -> dict[str, Any]:
    """Do the work a few times on some cores; return what the quickest took."""
    os.sched_setaffinity(0, cores)
    pa.set_cpu_count(len(cores))  # its threads are there already, and stay on all cores
    measured: list[dict[str, Any]] = []
    while len(measured) < MOST_TIMES and sum(one["wall_s"] for one in measured) < LONG:
        give_memory_back()
        before = reset_peak()
        cpu, wall = time.process_time(), time.perf_counter()
        found = job()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        peak = round((peak_bytes() - before) / 1e6, 1)
        measured.append({"wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "peak_mb": peak, "found": found})
    return min(measured, key=lambda one: one["wall_s"])


def list_cells(options: argparse.Namespace, n_cores: int) -> Iterator[tuple[int, str, int]]:
    """Name what is to be measured: rows, work, threads."""
    if options.huge:
        yield HUGE, "audit, 200 resamples", n_cores
        return
    for n_rows in SIZES:
        for some in THREADS[: 2 if n_rows == SIZES[0] else 1]:
            works = [*(TITLES if options.machine and n_rows == SIZES[0] else ()), *options.works]
            for work in works:
                yield from ((n_rows, work, n_threads) for n_threads in some if n_threads <= n_cores)


def main() -> None:
    """Measure until all is measured, or the time is over."""
    options = read_arguments()
    path = HERE / "results" / "cores.json"
    results: dict[str, Any] = {"machine": describe_machine(), "cells": {}}
    if path.exists() and (options.report or json.loads(path.read_text())["machine"] == results["machine"]):
        results = json.loads(path.read_text())
    if options.profile:
        profile_all(options)
        return
    if options.copies:
        measure_copies(options, results, path)
    elif not options.report:
        measure_all(options, results, path)
    write_report(results, path.with_suffix(".md"))
    print(path.with_suffix(".md").read_text())


def measure_all(options: argparse.Namespace, results: dict[str, Any], path: Path) -> None:
    """Measure each cell for which there is time left, by what it took on one core."""
    started, cores, cells = time.perf_counter(), sorted(os.sched_getaffinity(0)), results["cells"]
    warm_up()
    print(f"compiled after {time.perf_counter() - started:.1f} s", flush=True)
    made, jobs = 0, {}
    for n_rows, work, n_threads in list_cells(options, len(cores)):
        if made != n_rows:
            jobs, made = prepare(n_rows) | (prepare_machine(n_rows) if options.machine else {}), n_rows
        left = options.seconds - (time.perf_counter() - started)
        of_fewer = GROWTH * cells.get(key_of(SIZES[0], work, 1), {}).get("wall_s", 0.0)
        alone = cells.get(key_of(n_rows, work, 1), {}).get("wall_s", of_fewer)
        if left < 1.2 * alone / n_threads:
            print(f"{n_rows:,} rows, {work}, {n_threads}: no time left", flush=True)
            continue
        found = measure(jobs[work], cores[:n_threads])
        cells[key_of(n_rows, work, n_threads)] = {"rows": n_rows, "work": work, "threads": n_threads, **found}
        store(results, path)
        print(f"{n_rows:,} rows, {work}, {n_threads}: {found['wall_s']} s, {found['peak_mb']} MB", flush=True)
    os.sched_setaffinity(0, cores)


def measure_copies(options: argparse.Namespace, results: dict[str, Any], path: Path) -> None:
    """Do the same work on one core, then on each core side by side: nothing is shared, and nobody waits."""
    warm_up()
    cores, process = sorted(os.sched_getaffinity(0)), multiprocessing.get_context("spawn")
    together, done = process.Barrier(len(cores), timeout=LONGEST), process.Queue()
    how = options.works, together, done
    copies = [process.Process(target=work_alone, args=(core, core == cores[0], *how), daemon=True) for core in cores]
    for copy in copies:
        copy.start()
    for work in options.works:
        for n_copies in (1, len(cores)):
            found = [done.get(timeout=LONGEST) for _ in range(n_copies)]
            wall, cpu = (sum(one[place] for one in found) for place in (0, 1))
            cell = {"rows": SIZES[0], "work": f"{work}; {COPIES}", "threads": n_copies}
            times = {"wall_s": round(wall / n_copies, 3), "cpu_s": round(cpu, 3)}
            results["cells"][key_of(SIZES[0], cell["work"], n_copies)] = cell | times
            store(results, path)
            print(f"{work}, {n_copies} side by side: {times['wall_s']} s", flush=True)
    for copy in copies:
        copy.join()


def work_alone(core: int, is_first: bool, works: list[str], together: Any, done: Any) -> None:
    """Do each work on one core: the first copy alone, then all at the same time."""
    os.sched_setaffinity(0, [core])
    pa.set_cpu_count(1)
    jobs = prepare(SIZES[0])
    for work in works:
        jobs[work]()
        for is_at_work in (is_first, True):
            together.wait()
            if is_at_work:
                cpu, wall = time.process_time(), time.perf_counter()
                jobs[work]()
                done.put((time.perf_counter() - wall, time.process_time() - cpu))


def warm_up() -> None:
    """Compile all kernels, by the same work on fewer rows."""
    for n_rows in WARM_UP_ROWS:
        for job in prepare(n_rows).values():
            job()


def profile_all(options: argparse.Namespace) -> None:
    """Print how long each phase takes on one core and on all, and for how long only one thread is at work."""
    cores = sorted(os.sched_getaffinity(0))
    warm_up()
    jobs = prepare(SIZES[0])
    for work in options.works:
        found = []
        for some in (cores[:1], cores):
            os.sched_setaffinity(0, some)
            pa.set_cpu_count(len(some))
            jobs[work]()
            found.append(profile_call(jobs[work]))
        print_profile(work, len(cores), *found)


def print_profile(work: str, n_cores: int, on_one: Profile, on_all: Profile) -> None:
    """Print the profiles of one work, and the efficiency that is left if what runs on one thread goes on doing so."""
    alone = min(on_all.alone_s, on_one.wall_s)
    allowed = on_one.wall_s / (n_cores * alone + on_one.wall_s - alone)
    print(f"{work}: {on_one.wall_s:.2f} s on 1 core, {on_all.wall_s:.2f} s on {n_cores}, of which {alone:.2f} s")
    print(f"on one thread ({alone / on_one.wall_s:.1%} of the work): efficiency by Amdahl's law at most {allowed:.0%}")
    print(f"    {'phase':12} {'1 core':>8} {'threads of all cores':>21} {'one thread alone':>17}")
    for phase in (*PHASES, REST):
        times = on_one.worked[phase], on_all.worked[phase], on_all.alone[phase]
        print(f"    {phase:12} {times[0]:8.3f} {times[1]:21.3f} {times[2]:17.3f}")
    print(
        "    longest alone: " + ", ".join(f"{name} {s:.3f}" for name, s in on_all.functions.most_common(8)), flush=True
    )


def key_of(n_rows: int, work: str, n_threads: int) -> str:
    """Name a figure."""
    return f"{n_rows}; {work}; {n_threads}"


def write_report(results: dict[str, Any], path: Path) -> None:
    """Write the readable table."""
    cells: Cells = results["cells"]
    lines = [
        "# Cores: how many are put to use",
        "",
        "Written by `python benchmarks/cores.py`, which says how it is measured and can be run again.",
        f"{results['machine']}.",
        "",
        "Adult scaled up. Seconds by the clock and by all cores together, the peak of memory above the input;",
        "efficiency is t1 / (n * tn).",
        "",
        "| work | rows | threads | wall s | CPU s | peak MB | efficiency |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    titles = WORKS | TITLES
    lines += write_rows(cells, titles)
    copies = {f"{work}; {COPIES}": title for work, title in WORKS.items()}
    if any(cell["work"] in copies for cell in cells.values()):
        lines += [
            "",
            "The same work on one thread, alone and once on each core at the same time: processes that share nothing",
            "and never wait. Seconds are their mean; efficiency is what one alone takes by that.",
            "",
            "| work | rows | copies | wall s | CPU s | peak MB | efficiency |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            *write_rows(cells, copies),
        ]
    path.write_text("\n".join([*lines, ""]))


def write_rows(cells: Cells, titles: dict[str, str]) -> list[str]:
    """Write the rows of some works; copies of a work are as efficient as one of them is slower than one alone."""
    places, lines = {work: place for place, work in enumerate(titles)}, []
    known = [cell for cell in cells.values() if cell["work"] in titles]
    for cell in sorted(known, key=lambda cell: (places[cell["work"]], cell["rows"], cell["threads"])):
        alone = cells.get(key_of(cell["rows"], cell["work"], 1))
        times = 1 if COPIES in cell["work"] else cell["threads"]
        share = "" if alone is None else f"{alone['wall_s'] / times / cell['wall_s']:.0%}"
        peak = f"{cell['peak_mb']:,.0f}" if "peak_mb" in cell else ""
        lines.append(
            f"| {titles[cell['work']]} | {cell['rows']:,} | {cell['threads']} | {cell['wall_s']:.2f} | "
            f"{cell['cpu_s']:.2f} | {peak} | {share} |"
        )
    return lines


def read_arguments() -> argparse.Namespace:
    """Understand the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--works", type=lambda text: text.split(";"), default=list(WORKS), metavar="WORK;WORK")
    parser.add_argument("--seconds", type=float, default=3_600.0, help="after which nothing more is started")
    parser.add_argument("--huge", action="store_true", help="audit 10M rows on all cores, and nothing else")
    parser.add_argument("--machine", action="store_true", help="also measure what the machine itself allows")
    parser.add_argument("--copies", action="store_true", help="measure copies side by side, one on each core")
    parser.add_argument("--profile", action="store_true", help="print phases, and what runs on one thread, at 1M rows")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
