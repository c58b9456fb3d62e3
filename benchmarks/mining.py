"""Measure how long it takes to find all comparable pairs, and how much memory, against what one would use instead.

Run it on a quiet machine, from the environment that ``make test`` makes, with polars and duckdb installed beside it::

    python benchmarks/mining.py                                   # everything: an hour, may be interrupted
    python benchmarks/mining.py --only "adult; ;dutch; " --again  # two of the tables
    python benchmarks/mining.py --report                          # only write the page anew

Each method gets a table in the form that it wants, in memory. Its first call, on a small table, compiles what there is
to compile and is checked against the definition (``Comparability.holds`` on every two rows); the next are measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from _harness import Record, answer, head, markdown, seconds, target, time_job
from _rivals import FLOORS, RIVALS, Job
from _tables import CASES, Case
from likewise import CodedTable, Comparability, ComparablePairs, group_pairs, mine_pairs

WARM_UP_ROWS: Final = (400, 5_000)  # small enough to check against the definition; large enough to take every path
SLICE: Final = 1_000_000
MIX: Final = ((0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9), (0xD1B54A32D192ED03, 0x94D049BB133111EB))
LISTING, GROUPS = "likewise, listing", "likewise, groups"
OURS: Final[dict[str, Callable[[CodedTable, Comparability], Job]]] = {
    LISTING: lambda table, rule: lambda: mine_pairs(table, rule, when_too_many="error"),
    GROUPS: lambda table, rule: lambda: group_pairs(table, rule).n_total,
}
METHODS: Final = OURS | FLOORS | RIVALS
REWRITES: Final = [name for name in RIVALS if not name.startswith("brute force")]
ON_SMALL_TABLES: Final = ("brute force", "brute force, vector code", "Polars signature join")
WORDS: Final = """Seconds are the processor's, all threads together, user and system, the best of a few calls where
they are short, without compilation. *Brute force* compares every two rows of one label on one thread in compiled
code, with early exits; *vector code* is the same written for the vector units. A figure is marked where a method did
not find the pairs that likewise lists (equal number, equal 128-bit sum over the pairs).
"""
MEMORY_WORDS: Final = """Pairs are eight bytes, two row numbers. *Writing* them fills two columns of that length in
compiled code, *copying* reads and writes those that were found; neither finds anything. The group form is the search
among distinct rows without the writing. Where listing takes many times as long as writing, memory does not bound it.

"""


def measure(case: str, method: str) -> Record:
    """Time a method on a table, and describe what it found."""
    table, rule = CASES[case].make()
    first, second = (table[:: max(1, len(table) // n_rows)][:n_rows] for n_rows in WARM_UP_ROWS)
    check_definition(describe(METHODS[method](first, rule)(), len(first)), first, rule)
    METHODS[method](second, rule)()
    found, record = time_job(METHODS[method](table, rule))
    return {"rows": len(table), **describe(found, len(table)), **record}


def describe(found: Any, n_rows: int) -> Record:
    """Say how many pairs were found, and which, as a checksum that does not depend on their order."""
    if isinstance(found, ComparablePairs):
        found = found.left, found.right
    return checksum([found], n_rows) if isinstance(found, tuple) else {"n_pairs": int(found)}


def checksum(chunks: Iterable[tuple[NDArray[Any], NDArray[Any]]], n_rows: int) -> Record:
    """Add up two 64-bit hashes of each unordered pair; a pair found twice or missed changes number and sums."""
    n_pairs, sums = 0, [0, 0]
    for left, right in chunks:
        n_pairs += len(left)
        for start in range(0, len(left), SLICE):
            a, b = (rows[start : start + SLICE].astype(np.uint64) for rows in (left, right))
            key = np.minimum(a, b) * np.uint64(n_rows) + np.maximum(a, b)
            for i, (add, factor) in enumerate(MIX):
                mixed = (key + np.uint64(add)) * np.uint64(factor)
                mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(add)
                sums[i] = (sums[i] + int((mixed ^ (mixed >> np.uint64(32))).sum(dtype=np.uint64))) % 2**64
    return {"n_pairs": n_pairs, "checksum": f"{sums[0]:016x}{sums[1]:016x}"}


def check_definition(found: Record, table: CodedTable, rule: Comparability) -> None:
    """Compare what was found in a small table with the rule's own words."""
    left, right = np.triu_indices(len(table), 1)
    holds = rule.holds(table[left], table[right])
    true = checksum([(left[holds], right[holds])], len(table))
    if found["n_pairs"] != true["n_pairs"] or found.get("checksum", true["checksum"]) != true["checksum"]:
        raise AssertionError(f"finds {found['n_pairs']} of {true['n_pairs']} pairs among {len(table)} rows")


def list_cells() -> dict[str, list[str]]:
    """Name what is measured; what compares every two rows is measured on the five data sets only."""
    asked = [(case, name) for case in CASES.values() for name in METHODS if case.is_data or name not in ON_SMALL_TABLES]
    return {f"{case.name}; {name}": [case.name, name] for case, name in asked}


def write_page(figures: Record) -> str:
    """Write what was wanted, all methods on all tables, and what memory allows."""
    cells = figures["cells"]
    cases = [case for case in CASES.values() if f"{case.name}; {LISTING}" in cells]
    best = [min(found) for case in cases if (found := [f for name in REWRITES if (f := times(cells, case.name, name))])]
    targets = [
        target("Adult, listing, against brute force", times(cells, "adult", "brute force"), 125),
        target("Dutch, listing, against brute force", times(cells, "dutch", "brute force"), 300),
        target("Dutch, groups, against listing", times(cells, "dutch", LISTING, GROUPS), 2),
        target("Against the best rewrite, slowest table", min(best, default=None), 1),
        target("Against the best rewrite, median table", median(best) if best else None, 10),
    ]
    parts = [head("Finding all comparable pairs: time", "mining", figures, WORDS)]
    parts.append("## Targets\n\n" + markdown(["", "wanted", "measured", "reached"], targets))
    heads = ["table", "rows", "pairs", LISTING, *RIVALS]
    rows = [[*begin(cells, case), *(compare(cells, case.name, name) for name in RIVALS)] for case in cases]
    parts.append("## Listing all pairs: CPU seconds (and how many times ours)\n\n" + markdown(heads, rows))
    rows = [
        [*begin(cells, case), *(seconds(cells.get(f"{case.name}; {name}", {})) for name in (GROUPS, *FLOORS))]
        for case in cases
    ]
    heads = ["table", "rows", "pairs", LISTING, GROUPS, *FLOORS]
    parts.append("## What memory allows: CPU seconds\n\n" + MEMORY_WORDS + markdown(heads, rows))
    return "\n".join(parts)


def begin(cells: Record, case: Case) -> list[str]:
    """Name a table, its rows and pairs, and our seconds."""
    ours = cells[f"{case.name}; {LISTING}"]
    return [case.title, f"{ours['rows']:,}", f"{ours['n_pairs']:,}", seconds(ours)]


def compare(cells: Record, case: str, method: str) -> str:
    """Write the seconds of a rival, and how many times ours they are."""
    record, ours = cells.get(f"{case}; {method}", {}), cells[f"{case}; {LISTING}"]
    ratio = times(cells, case, method)
    differs = ratio is not None and record.get("checksum") != ours["checksum"]
    shown = "" if ratio is None else f" ({ratio:,.0f}x)" if ratio >= 10 else f" ({ratio:.2g}x)"
    return seconds(record) + shown + (" **differs**" if differs else "")


def times(cells: Record, case: str, method: str, ours: str = LISTING) -> float | None:
    """Divide the processor's seconds of a method by ours."""
    found = [cells.get(f"{case}; {name}", {}) for name in (method, ours)]
    return found[0]["cpu_s"] / found[1]["cpu_s"] if all(one.get("status") == "done" for one in found) else None


if __name__ == "__main__":
    answer("mining", __doc__, list_cells(), measure, write_page)
