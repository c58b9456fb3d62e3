"""Measure how many cores are put to use: counting, streaming and auditing with 1 to 16 threads.

Run it on a quiet machine with as many cores as are of interest::

    python benchmarks/cores.py                       # 1M and 3M rows, with as many cores as there are
    python benchmarks/cores.py --report              # only write the page anew

The table is Adult scaled up. Threads are limited by the cores that a process may run on. Efficiency is t1 / (n * tn),
by the clock. What is compiled is compiled before, by the same work on fewer rows.
"""

from __future__ import annotations

import os
from typing import Any, Final

import pyarrow as pa

from _harness import Record, answer, head, markdown, time_job
from _tables import as_frame, roles_of, scale_adult
from likewise import audit, count_pairs, iter_pairs

THREADS: Final = (1, 2, 4, 8, 16)
SIZES: Final = (1_000_000, 3_000_000)
WARM_UP_ROWS: Final = 400_000  # large tables are bucketed by cells, too, and audits of them have own kernels
WORKS: Final = {
    "count": "Counting",
    "stream": "Streaming",
    "audit": "Auditing all pairs, no intervals",
    "audit, 200 resamples": "Auditing all pairs, 200 resamples",
}
WORDS: Final = """Adult scaled up. Seconds by the clock and by all cores together, the peak of memory above the input;
efficiency is t1 / (n * tn).
"""


def measure(n_rows: int, work: str, n_threads: int) -> Record:
    """Do the work a few times on some cores; give what the quickest took."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < n_threads:
        raise SystemExit(f"This machine has {len(cores)} cores.")
    os.sched_setaffinity(0, cores[:n_threads])
    pa.set_cpu_count(n_threads)
    prepare(WARM_UP_ROWS, work)()
    _, record = time_job(prepare(n_rows, work), n_calls=3)
    return {"rows": n_rows, "work": work, "threads": n_threads, **record}


def prepare(n_rows: int, work: str) -> Any:
    """Make a table, and the work to do on it."""
    table, rule = scale_adult(n_rows)
    if work == "count":
        return lambda: count_pairs(table, rule).total
    if work == "stream":
        return lambda: sum(len(pairs) for pairs in iter_pairs(table, rule))
    frame = as_frame(table)
    how: dict[str, Any] = {"rule": rule, "roles": roles_of(frame.column_names), "baseline": False}
    return lambda: audit("score", frame, n_resamples=200 if "200" in work else 0, **how)


def write_page(figures: Record) -> str:
    """Write the table."""
    cells, rows = figures["cells"], []
    places = {work: place for place, work in enumerate(WORKS)}
    done = (cell for cell in cells.values() if cell["status"] == "done")
    for cell in sorted(done, key=lambda cell: (places[cell["work"]], cell["rows"], cell["threads"])):
        alone = cells.get(f"{cell['rows']}; {cell['work']}; 1")
        share = "" if alone is None else f"{alone['wall_s'] / cell['threads'] / cell['wall_s']:.0%}"
        numbers = [f"{cell['wall_s']:.2f}", f"{cell['cpu_s']:.2f}", f"{cell['peak_mb']:,.0f}", share]
        rows.append([WORKS[cell["work"]], f"{cell['rows']:,}", cell["threads"], *numbers])
    heads = ["work", "rows", "threads", "wall s", "CPU s", "peak MB", "efficiency"]
    return head("Cores: how many are put to use", "cores", figures, WORDS) + "\n" + markdown(heads, rows)


CELLS: Final = {f"{n}; {work}; {threads}": [n, work, threads] for n in SIZES for work in WORKS for threads in THREADS}

if __name__ == "__main__":
    answer("cores", __doc__, CELLS, measure, write_page)
