"""One method on one table, in a process of its own, so that its peak of memory is its own.

``python benchmarks/_trial.py METHOD TABLE LIMIT_SECONDS LIMIT_BYTES`` prints what it measured as one line of JSON. The
process kills itself (SIGALRM) when a single call takes longer than the limit.
"""

from __future__ import annotations

import gc
import json
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from _clock import give_memory_back, peak_bytes, reset_peak
from _rivals import COUNTING_RIVALS, FLOORS, RIVALS, NotForThisTable
from _tables import ALL_MODES, read_table
from likewise import (
    CodedTable,
    Comparability,
    ComparablePairs,
    count_pairs,
    group_pairs,
    iter_pairs,
    mine_pairs,
    sample_pairs,
)

N_SAMPLED: Final = 20_000
WARM_UP_ROWS: Final = (400, 5_000)  # small enough to check against the definition; large enough to take every path
COMPILING: Final = 180  # seconds that a first call may take on top of the limit
LONG_ENOUGH: Final = 3.0  # seconds of short calls, of which the quickest counts
SLICE: Final = 1_000_000
MIX: Final = ((0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9), (0xD1B54A32D192ED03, 0x94D049BB133111EB))

Job = Callable[[], Any]  # what is measured: it gives pairs, chunks of pairs, or a number


def prepare_ours(mode: str, table: CodedTable, rule: Comparability) -> Job:
    """Ask likewise for all pairs, those of groups, a stream of them, their number, or a sample."""
    jobs: dict[str, Job] = {
        "list": partial(mine_pairs, table, rule, when_too_many="error"),
        "group": lambda: group_pairs(table, rule).n_total,
        "stream": partial(_consume, table, rule),
        "count": lambda: count_pairs(table, rule).total,
        "sample": partial(sample_pairs, table, rule, n=N_SAMPLED),
    }
    return jobs[mode]


def _consume(table: CodedTable, rule: Comparability) -> int:
    return sum(len(pairs) for pairs in iter_pairs(table, rule))


OURS: Final = {f"likewise memory {mode}": mode for mode in ALL_MODES}


def prepare(method: str, table: CodedTable, rule: Comparability) -> Job:
    """Bring the table into the form that a method wants, and give back what is to be measured."""
    if method in OURS:
        return prepare_ours(OURS[method], table, rule)
    if method in RIVALS:
        return RIVALS[method](table, rule)
    return (FLOORS | COUNTING_RIVALS)[method](table, rule)


def describe_found(method: str, found: Any, table: CodedTable, rule: Comparability) -> dict[str, Any]:
    """Say how many pairs were found, and which, as a checksum that does not depend on their order."""
    mode = OURS.get(method, "list")
    if mode == "sample":
        return {"n_pairs": found.n_total, "sampled": len(found), "sample_is_right": _is_fair_sample(found, rule)}
    if mode == "stream":  # a second pass: the first, measured one kept nothing
        chunks = iter_pairs(table, rule)
        return checksum(((chunk.left, chunk.right) for chunk in chunks), len(table))
    if isinstance(found, ComparablePairs):
        return checksum([(found.left, found.right)], len(table))
    if isinstance(found, tuple):
        return checksum([found], len(table))
    return {"n_pairs": int(found)}


def _is_fair_sample(pairs: ComparablePairs, rule: Comparability) -> bool:
    """Check what can be seen on one sample: the right number of different pairs, all of them comparable."""
    n_different = len(np.unique(pairs.left.astype(np.int64) * len(pairs.left_table) + pairs.right))
    holds = rule.holds(pairs.left_table[pairs.left], pairs.right_table[pairs.right])
    return n_different == len(pairs) == min(N_SAMPLED, pairs.n_total or 0) and bool(holds.all())


def checksum(chunks: Iterable[tuple[NDArray[Any], NDArray[Any]]], n_rows: int) -> dict[str, Any]:
    """Add up two 64-bit hashes of each unordered pair; a pair found twice or missed changes number and sums."""
    n_pairs = 0
    sums = [0, 0]
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


def check_definition(found: dict[str, Any], table: CodedTable, rule: Comparability) -> None:
    """Compare what was found in a small table with the rule's own words."""
    left, right = np.triu_indices(len(table), 1)
    holds = rule.holds(table[left], table[right])
    true = checksum([(left[holds], right[holds])], len(table))
    if found["n_pairs"] != true["n_pairs"] or found.get("checksum", true["checksum"]) != true["checksum"]:
        raise AssertionError(f"finds {found['n_pairs']} of {true['n_pairs']} pairs among {len(table)} rows")


def warm_up(method: str, table: CodedTable, rule: Comparability) -> float:
    """Compile and load what the method needs, check it, and say how long the first call took."""
    first, second = (table[:: max(1, len(table) // n_rows)][:n_rows] for n_rows in WARM_UP_ROWS)
    started = time.perf_counter()
    found = prepare(method, first, rule)()
    seconds = time.perf_counter() - started
    check_definition(describe_found(method, found, first, rule), first, rule)
    if method in OURS and len(table) > len(second):
        prepare(method, second, rule)()
    return seconds


def measure(method: str, table: CodedTable, rule: Comparability, limit: int) -> dict[str, Any]:
    """Time a method, the best of a few calls when they are short, and the memory its first call took."""
    signal.alarm(limit + COMPILING)
    warm_up_seconds = warm_up(method, table, rule)
    job = prepare(method, table, rule)
    give_memory_back()
    before = reset_peak()
    signal.alarm(limit)
    cpu, wall, found = time_once(job)
    signal.alarm(0)
    peak = peak_bytes()
    result = {
        "warm_up_s": round(warm_up_seconds, 3),
        "peak_mb": round((peak - before) / 1e6, 1),  # above the input and the loaded libraries
        "resident_mb": round(peak / 1e6, 1),  # with them
    }
    result |= describe_found(method, found, table, rule)
    del found
    # on a machine that others use, too, the quickest of five short calls varies by half of itself
    n_repeats = min(max(int(LONG_ENOUGH / wall), 5), 30) if wall < 2 else 3 if wall < 15 else 2 if wall < 60 else 1
    times = [(cpu, wall)]
    for _ in range(n_repeats - 1):
        gc.collect()
        times.append(time_once(job)[:2])
    return result | {
        "cpu_s": round(min(cpu for cpu, _ in times), 5),
        "wall_s": round(min(wall for _, wall in times), 5),
        "repeats": n_repeats,
    }


def time_once(job: Job) -> tuple[float, float, Any]:
    """Call once; give the processor's seconds (all threads, user and system), the clock's, and what was found."""
    cpu, wall = time.process_time(), time.perf_counter()
    found = job()
    return time.process_time() - cpu, time.perf_counter() - wall, found


def main() -> None:
    """Measure what the command line asks for."""
    method, path, limit, most_bytes = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))
    table, rule = read_table(path)
    try:
        result = {"status": "done"} | measure(method, table, rule, limit)
    except NotForThisTable as reason:
        result = {"status": "not for this table", "reason": str(reason)}
    except MemoryError:
        result = {"status": "over memory"}
    except AssertionError as reason:
        result = {"status": "wrong", "reason": str(reason)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
