"""Measure how far one machine goes: time, memory and growth, up to ten million rows.

Run it on a quiet machine, from the environment that ``make test`` makes::

    python benchmarks/scale.py                                   # everything: hours, may be interrupted
    python benchmarks/scale.py --only "adult; 1000000" --seconds 2400
    python benchmarks/scale.py --report                          # only write the page anew

Counting all pairs, drawing 20,000 of them with an estimate of their number, running over them, writing them to Parquet,
auditing people over all their pairs and over a sample. Compiled code is loaded by the same work on a small part of the
table. Memory limits are given as to the functions themselves, and what was used is the kernel's figure.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any, Final

from _harness import Record, answer, head, markdown, time_job
from _tables import SCALED, as_frame, roles_of
from likewise import CodedTable, Comparability, audit, count_pairs, iter_pairs, sample_pairs
from likewise.comparable import write_pairs

N_SAMPLED: Final = 20_000
N_RESAMPLES: Final = 200
WARM_UP_ROWS: Final = 120_000  # audits of large tables have kernels of their own
SIZES: Final = (300_000, 1_000_000, 3_000_000, 10_000_000)
LIMITS: Final = {300_000: "250 MB", 1_000_000: "1 GB"}  # within which counting, running and auditing are measured, too
MOST_KEPT: Final = 3_000_000  # rows up to which pairs are written and run over in Python
TITLES: Final = {
    "count": "Counting all pairs",
    "sample": "Drawing 20,000 pairs, their number estimated",
    "stream": "Running over all pairs",
    "write": "Writing all pairs to Parquet",
    "audit, stream": f"Auditing over all pairs, {N_RESAMPLES} resamples",
    "audit, sample": f"Auditing over a sample of pairs, {N_RESAMPLES} resamples",
}
COLUMNS: Final = ("rows", "pairs", "CPU s", "wall s", "peak MB")
WORDS: Final = """Seconds are the processor's, all threads together, then the clock's. Memory is the kernel's peak
above the input. *Growth* is the power of the number of rows by which the processor's seconds grow from one size to
the next; pairs grow by the power of 2.
"""


def measure(case: str, n_rows: int, work: str, limit: str | None) -> Record:
    """Do one piece of work on one table, after the same on a small part of it."""
    table, rule = SCALED[case][1](n_rows)
    do(table[:WARM_UP_ROWS], rule, work, limit)
    frame = as_frame(table) if work.startswith("audit") else None
    found, record = time_job(lambda: do(table, rule, work, limit, frame), n_calls=1)
    return {"case": case, "rows": n_rows, "work": work, "limit": limit, **found, **record}


def do(table: CodedTable, rule: Comparability, work: str, limit: str | None, frame: Any = None) -> Record:
    """Do it once."""
    if work == "count":
        return {"n_pairs": count_pairs(table, rule, memory_limit=limit).total}
    if work == "stream":
        return {"n_pairs": sum(len(pairs) for pairs in iter_pairs(table, rule, memory_limit=limit))}
    if work == "sample":
        return {"n_pairs": sample_pairs(table, rule, n=N_SAMPLED, total="estimate", memory_limit=limit).n_total}
    if work == "write":
        with tempfile.TemporaryDirectory() as folder:
            return {"n_pairs": write_pairs(table, rule, Path(folder) / "pairs", memory_limit=limit)}
    people = as_frame(table) if frame is None else frame
    how: dict[str, Any] = {"roles": roles_of(people.column_names), "rule": rule, "baseline": False}
    way = work.removeprefix("audit, ")
    found = audit("score", people, n_resamples=N_RESAMPLES, when_too_many=way, memory_limit=limit, **how)
    return {"n_pairs": found.to_dict()["pairs"]["n_total"], "gap_mean": found["gap_mean"].value}


def list_cells() -> dict[str, list[Any]]:
    """Name what is measured: what would not end, or fill the disk, is left out."""
    asked: list[list[Any]] = []
    for case in SCALED:
        for n_rows in SIZES if case == "adult" else SIZES[:2]:
            works = [work for work in TITLES if n_rows <= MOST_KEPT or work not in ("stream", "write")]
            asked += [[case, n_rows, work, None] for work in works]
            limited = ("count", "stream", "audit, stream") if case == "adult" and n_rows in LIMITS else ()
            asked += [[case, n_rows, work, LIMITS[n_rows]] for work in limited]
    return {
        f"{case}; {n_rows}; {work}; {limit or 'no limit'}": [case, n_rows, work, limit]
        for case, n_rows, work, limit in asked
    }


def write_page(figures: Record) -> str:
    """Write a table for each kind of work, and one for what was measured within a limit."""
    cells = sorted(figures["cells"].values(), key=lambda cell: (list(SCALED).index(cell["case"]), cell["rows"]))
    parts = [head("Scale: time, memory and growth", "scale", figures, WORDS)]
    for work, title in TITLES.items():
        rows, before = [], None
        for cell in (cell for cell in cells if cell["work"] == work and cell["limit"] is None):
            is_same = before is not None and before["case"] == cell["case"]
            shown = write_row(cell, before if is_same else None)
            rows.append(["" if is_same else SCALED[cell["case"]][0], *shown])
            before = cell
        if rows:
            parts.append(
                f"## {title}\n\n" + markdown(["table", "rows", "pairs", "CPU s", "wall s", "peak MB", "growth"], rows)
            )
    limited = [
        [SCALED[cell["case"]][0], cell["limit"], TITLES[cell["work"]], *write_row(cell, None)[:-1]]
        for cell in cells
        if cell["limit"]
    ]
    if limited:
        heads = ["table", "limit", "work", "rows", "pairs", "CPU s", "wall s", "peak MB"]
        parts.append("## Within a memory limit\n\n" + markdown(heads, limited))
    return "\n".join(parts)


def write_row(cell: Record, before: Record | None) -> list[str]:
    """Write the figures of a cell, with the growth since a smaller one."""
    if cell["status"] != "done":
        return [f"{cell['rows']:,}", cell["status"], *[""] * 4]
    growth = ""
    if before is not None and before["status"] == "done":
        growth = f"{math.log(cell['cpu_s'] / before['cpu_s']) / math.log(cell['rows'] / before['rows']):.2f}"
    seconds = [f"{cell['cpu_s']:,}", f"{cell['wall_s']:,}"]
    return [f"{cell['rows']:,}", f"{cell['n_pairs']:,.0f}", *seconds, f"{cell['peak_mb']:,.0f}", growth]


if __name__ == "__main__":
    answer("scale", __doc__, list_cells(), measure, write_page)
