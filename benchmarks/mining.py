"""Measure how long it takes to find all comparable pairs, against what one would use instead, and a first audit.

Run it from the environment that ``make test`` makes, with duckdb installed beside it::

    python benchmarks/mining.py                                   # everything: some minutes, may be interrupted
    python benchmarks/mining.py --only "adult;dutch" --again      # some of the tables
    python benchmarks/mining.py --report                          # only write the page anew

Each method gets a table in the form that it wants, in memory. Its first call, on a small table, compiles what there is
to compile and is checked against the definition (``Comparability.holds`` on every two rows); the next are measured.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from _harness import Record, answer, head, markdown, seconds, time_job
from _rivals import RIVALS, Job
from _tables import CASES, Case
from likewise import CodedTable, Comparability, ComparablePairs, mine_pairs

WARM_UP_ROWS: Final = (400, 5_000)  # small enough to check against the definition; large enough to take every path
SLICE: Final = 1_000_000
MIX: Final = ((0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9), (0xD1B54A32D192ED03, 0x94D049BB133111EB))
OURS: Final = "likewise"
METHODS: Final[dict[str, Callable[[CodedTable, Comparability], Job]]] = {
    OURS: lambda table, rule: lambda: mine_pairs(table, rule, when_too_many="error"),
    **RIVALS,
}
TABLES: Final = ("compas", "adult", "dutch", "adult_300k", "columns_30", "two_binary", "one_bucket")
ON_LARGE_TABLES: Final = (OURS, "KD-tree")  # the others compare nearly every two rows there
FIRST: Final = "first audit"
WORDS: Final = """Seconds are the processor's, all threads together, user and system, the best of a few calls where
they are short, without compilation. *Brute force* compares every two rows of one label on one thread in compiled
code, with early exits. A figure is marked where a method did not find the pairs that likewise lists (equal number,
equal 128-bit sum over the pairs).
"""
FIRST_WORDS: Final = """A whole process that audits Adult's training rows, imports included: with no compiled code kept
from before, and again with what the first one kept.

"""
FIRST_AUDIT: Final = """
import time
import numpy as np
from likewise import audit, load_dataset
data = load_dataset("adult")
scores = np.random.default_rng(0).random(len(data.train.X))
audit(scores, data.train.X, data.train.y, roles=data.roles, rule=data.rule)
print(time.process_time())
"""


def measure(case: str, method: str) -> Record:
    """Time a method on a table, and describe what it found; or two first audits."""
    if method == FIRST:
        return measure_first_audit()
    table, rule = CASES[case].make()
    first, second = (table[:: max(1, len(table) // n_rows)][:n_rows] for n_rows in WARM_UP_ROWS)
    check_definition(describe(METHODS[method](first, rule)(), len(first)), first, rule)
    METHODS[method](second, rule)()
    found, record = time_job(METHODS[method](table, rule))
    return {"rows": len(table), **describe(found, len(table)), **record}


def measure_first_audit() -> Record:
    """Time an audit in a process of its own, with no compiled code kept, and once more with what it kept."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", FIRST_AUDIT]
        told = [subprocess.run(command, env=environment, capture_output=True, check=True).stdout for _ in range(2)]
    return {"cold_s": round(float(told[0]), 2), "warm_s": round(float(told[1]), 2)}


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
    """Name what is measured; what compares nearly every two rows is measured on the data sets only."""
    asked = [
        (name, method) for name in TABLES for method in METHODS if CASES[name].is_data or method in ON_LARGE_TABLES
    ]
    return {f"{name}; {method}": [name, method] for name, method in [*asked, ("adult", FIRST)]}


def write_page(figures: Record) -> str:
    """Write all methods on all tables, and what the first audit takes."""
    cells = figures["cells"]
    cases = [CASES[name] for name in TABLES if f"{name}; {OURS}" in cells]
    heads = ["table", "rows", "pairs", OURS, *RIVALS]
    rows = [[*begin(cells, case), *(compare(cells, case.name, name) for name in RIVALS)] for case in cases]
    parts = [head("Finding all comparable pairs: time", "mining", figures, WORDS)]
    parts.append("## Listing all pairs: CPU seconds (and how many times ours)\n\n" + markdown(heads, rows))
    first = cells.get(f"adult; {FIRST}", {})
    if first.get("status") == "done":
        times = [f"{first['cold_s']}", f"{first['warm_s']}", f"{first['cold_s'] / first['warm_s']:.2g}"]
        table = markdown(["nothing kept", "compiled before", "times"], [times])
        parts.append(f"## The first audit: CPU seconds\n\n{FIRST_WORDS}{table}")
    return "\n".join(parts)


def begin(cells: Record, case: Case) -> list[str]:
    """Name a table, its rows and pairs, and our seconds."""
    ours = cells[f"{case.name}; {OURS}"]
    return [case.title, f"{ours['rows']:,}", f"{ours['n_pairs']:,}", seconds(ours)]


def compare(cells: Record, case: str, method: str) -> str:
    """Write the seconds of a rival, and how many times ours they are."""
    record, ours = cells.get(f"{case}; {method}", {}), cells[f"{case}; {OURS}"]
    if record.get("status") != "done":
        return seconds(record)
    ratio = record["cpu_s"] / ours["cpu_s"]
    times = f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.2g}x"
    differs = " **differs**" if record["checksum"] != ours["checksum"] else ""
    return f"{seconds(record)} ({times}){differs}"


if __name__ == "__main__":
    answer("mining", __doc__, list_cells(), measure, write_page)
