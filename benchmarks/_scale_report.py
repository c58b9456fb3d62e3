"""The stored figures of scale as readable tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from _scale_cases import CASES

TITLES: Final = {
    "count": "Counting all pairs",
    "sample": "Drawing 20,000 pairs, their number estimated",
    "stream": "Running over all pairs",
    "write": "Writing all pairs to Parquet",
    "audit, stream": "Auditing over all pairs",
    "audit, sample": "Auditing over a sample of pairs",
}
FEWEST: Final = 0.05  # seconds below which growth says nothing

Cell = Mapping[str, Any]


def write_report(results: Mapping[str, Any], path: Path) -> None:
    """Write all tables."""
    cells = sorted(results["cells"].values(), key=lambda cell: (list(CASES).index(cell["case"]), cell["rows"]))
    parts = [
        "# Scale: time, memory and growth",
        "",
        "Written by `python benchmarks/scale.py`, which says how it is measured and can be run again.",
        f"{results['machine']}.",
        "",
        "Seconds are the processor's, all threads and Spark's own processes together, then the clock's. Memory is the",
        "kernel's peak above the input; of Spark, with all that its own processes have. *Growth* is the power of the",
        "number of rows by which the processor's seconds grow from one size to the next; pairs grow by the power of 2.",
        "",
    ]
    for work, title in TITLES.items():
        chosen = [cell for cell in cells if cell["work"] == work and cell["limit"] is None]
        if chosen:
            parts += [f"## {title}", "", *_table(work, chosen), ""]
    limited = [cell for cell in cells if cell["limit"] is not None]
    if limited:
        parts += ["## Within a memory limit", ""]
        if any(cell["engine"] == "spark" for cell in limited):
            parts += ["Of Spark it is the memory of its driver; Java and Python need more around that.", ""]
        parts += [*_limits(limited), ""]
    path.write_text("\n".join(parts))


def _table(work: str, cells: list[Cell]) -> Iterable[str]:
    extra = {
        "sample": "standard error",
        "write": "Parquet MB",
        "audit, stream": "mean gap",
        "audit, sample": "mean gap",
    }
    names = [
        "table",
        "rows",
        "engine",
        "pairs",
        "CPU s",
        "wall s",
        "peak MB",
        "growth",
        *filter(None, [extra.get(work)]),
    ]
    yield _line(names)
    yield _line(["---", *["---:" if name != "engine" else "---" for name in names[1:]]])
    order = sorted(cells, key=lambda cell: (list(CASES).index(cell["case"]), cell["engine"], cell["rows"]))
    before: Cell | None = None
    for cell in order:
        same = before is not None and (before["case"], before["engine"]) == (cell["case"], cell["engine"])
        shown = [CASES[cell["case"]].title if not same else "", f"{cell['rows']:,}", cell["engine"]]
        if cell["status"] == "done":
            shown += [f"{cell['n_pairs']:,.0f}", f"{cell['cpu_s']:,}", f"{cell['wall_s']:,}", f"{cell['peak_mb']:,.0f}"]
            shown += [_growth(before if same else None, cell)]
            shown += [_extra(work, cell)] if work in extra else []
        else:
            shown += [cell["status"]] + [""] * (len(names) - 4)
        yield _line(shown)
        before = cell


def _extra(work: str, cell: Cell) -> str:
    if work == "sample":
        return "exact" if cell["error"] is None else f"{cell['error'] / cell['n_pairs']:.2%}"
    if work == "write":
        return f"{cell['written_mb']:,.0f}"
    return f"{cell['gap_mean']:.5f} ({cell['low']:.5f} to {cell['high']:.5f})"


def _growth(before: Cell | None, cell: Cell) -> str:
    if before is None or before["status"] != "done" or before["cpu_s"] < FEWEST:
        return ""
    return f"{math.log(cell['cpu_s'] / before['cpu_s']) / math.log(cell['rows'] / before['rows']):.2f}"


def _limits(cells: list[Cell]) -> Iterable[str]:
    names = ["table", "rows", "work", "engine", "limit", "peak MB", "held", "CPU s", "wall s"]
    yield _line(names)
    yield _line(["---"] * 4 + ["---:"] * 5)
    for cell in cells:
        shown = [CASES[cell["case"]].title, f"{cell['rows']:,}", TITLES[cell["work"]], cell["engine"], cell["limit"]]
        if cell["status"] == "done":
            is_held = cell["peak_mb"] <= _megabytes(cell["limit"])
            shown += [
                f"{cell['peak_mb']:,.0f}",
                "yes" if is_held else "**no**",
                f"{cell['cpu_s']:,}",
                f"{cell['wall_s']:,}",
            ]
        else:
            shown += [cell["status"], "", "", ""]
        yield _line(shown)


def _megabytes(limit: str) -> float:
    number, unit = limit.split()
    return float(number) * {"MB": 1, "GB": 1_000}[unit]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
