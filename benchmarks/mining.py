"""Measure how long it takes to find all comparable pairs, and how much memory, against what one would use instead.

Run it on a quiet machine, from the environment that ``make test`` makes (DuckDB and Polars installed)::

    python benchmarks/mining.py                               # everything: two hours or so, may be interrupted
    python benchmarks/mining.py --quick                       # the five data sets only, a few minutes, kept in out/
    python benchmarks/mining.py --tables adult,dutch --only "likewise memory;brute force" --again
    python benchmarks/mining.py --tables dutch --only "likewise memory;writing;copying"   # what memory allows
    python benchmarks/mining.py --report                      # only write the tables anew, from stored figures

Each method runs in a process of its own, on a table that is in its memory already, in the form the method wants. Its
first call, on a small table, compiles what there is to compile and is checked against the definition
(``Comparability.holds`` on every two rows); the next calls are measured. Results are stored as soon as they are
there (results/mining.json) and what is stored is not measured again, unless asked with --again. The readable table
is results/mining.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import likewise
from _report import write_report
from _rivals import COUNTING_RIVALS, FLOORS, RIVALS
from _tables import Case, list_cases, read_table
from _trial import OURS

HERE: Final = Path(__file__).parent
QUICK_TABLES: Final = ("compas", "law_school", "oulad", "adult", "dutch")
QUICK_LIMIT: Final = 30
EVERY_TWO_ROWS: Final = ("brute force", "brute force, vector code", "DuckDB self-join")  # their time is n² on any table
SHARE_OF_MEMORY: Final = 0.85
TOO_MUCH_MEMORY: Final = "over memory"
# how the libraries' different languages say so
NO_MEMORY: Final = re.compile("bad_alloc|MemoryError|memory allocation|allocate memory|out of memory", re.IGNORECASE)
LIBRARIES: Final = ("numpy", "scipy", "scikit-learn", "numba", "duckdb", "polars", "pyarrow")

METHODS: Final = (*OURS, *FLOORS, *RIVALS, *COUNTING_RIVALS)

Results = dict[str, Any]


def main() -> None:
    """Measure what the command line asks for and is not stored yet."""
    options = read_arguments()
    folder = options.results
    folder.mkdir(parents=True, exist_ok=True)
    results = open_results(folder / f"{options.name}.json")
    if not options.report:
        for name in options.tables:
            measure_case(list_cases()[name], results, folder, options)
    write_report(results, folder / f"{options.name}.md")
    print(f"\n{(folder / f'{options.name}.md').read_text()}")


def measure_case(case: Case, results: Results, folder: Path, options: argparse.Namespace) -> None:
    """Measure every method that is wanted on a table; store each result at once."""
    stored = results["tables"].get(case.name, {"methods": {}})
    wanted = [
        method
        for method in list_methods(case)
        if any(method == prefix or (prefix not in METHODS and method.startswith(prefix)) for prefix in options.only)
        and (options.again or not is_settled(stored["methods"].get(method), options.limit))
    ]
    if not wanted:
        return
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "table.npz"
        # made by another process, so that this one stays small
        subprocess.run([sys.executable, str(HERE / "_tables.py"), case.name, str(path)], check=True)
        stored |= describe_table(case, path)
        results["tables"][case.name] = stored
        for method in wanted:
            print(f"{case.title}: {method} ...", end=" ", flush=True)
            reason = foresee(method, case, results, options.limit)
            found = {"status": "not run", "reason": reason} if reason else run_trial(method, path, options.limit)
            stored["methods"][method] = found | {"limit_s": options.limit}
            store(results, folder / f"{options.name}.json")
            print(f"{found['cpu_s']} s" if "cpu_s" in found else found.get("reason", found["status"]), flush=True)
    write_report(results, folder / f"{options.name}.md")


def is_settled(record: Results | None, limit: int) -> bool:
    """Tell whether measuring again would say nothing new: it is done, or there is no more time than there was."""
    if record is None or record["status"] in ("failed", "wrong"):
        return False
    return record["status"] in ("done", "not for this table") or record["limit_s"] >= limit


def list_methods(case: Case) -> list[str]:
    """Name what is measured on a table: likewise as far as the table allows, and rivals that do the same."""
    ours = [method for method, mode in OURS.items() if mode in case.modes]
    return ours + ([*FLOORS, *RIVALS] if "list" in case.modes else []) + list(COUNTING_RIVALS)


def foresee(method: str, case: Case, results: Results, limit: int) -> str | None:
    """Say why a method need not be tried, judging by a smaller table: it all grows with the square of the rows."""
    n_rows = results["tables"][case.name]["rows"]
    if method in OURS:
        return None
    smaller = case.smaller or ("adult" if method.startswith(EVERY_TWO_ROWS) else None)
    known = results["tables"].get(smaller)
    if known is None or method not in known["methods"] or known["rows"] >= n_rows:
        return None
    before = known["methods"][method]
    if before["status"] != "done":
        hopeless = {"over memory": TOO_MUCH_MEMORY, "over time": f"over {limit} s", "not run": f"over {limit} s"}
        return hopeless.get(before["status"])
    growth = (n_rows / known["rows"]) ** 2
    seconds, gigabytes = before["wall_s"] * growth, before["peak_mb"] * growth / 1e3
    if seconds > 1.5 * limit:
        return f"about {seconds:,.0f} s"
    if gigabytes > 1.5 * memory_bytes() / 1e9:
        return f"about {gigabytes:,.0f} GB"
    return None


def run_trial(method: str, path: Path, limit: int) -> Results:
    """Measure one method in a process of its own."""
    command = [sys.executable, str(HERE / "_trial.py"), method, str(path), str(limit)]
    command.append(str(int(SHARE_OF_MEMORY * memory_bytes())))
    try:
        # the process ends itself at its limit; this is for what comes after, checks and repetitions
        ended = subprocess.run(command, capture_output=True, text=True, timeout=6 * limit + 120, cwd=path.parent)
    except subprocess.TimeoutExpired:
        return {"status": "over time", "reason": f"over {limit} s"}
    if ended.returncode == 0:
        found: Results = json.loads(ended.stdout.splitlines()[-1])
        return found
    if ended.returncode == -signal.SIGALRM:
        return {"status": "over time", "reason": f"over {limit} s"}
    if NO_MEMORY.search(ended.stderr) or ended.returncode == -signal.SIGKILL:
        return {"status": "over memory", "reason": TOO_MUCH_MEMORY}
    print(ended.stderr, file=sys.stderr)
    last = (ended.stderr.strip().splitlines() or [f"ended with {ended.returncode}"])[-1]
    return {"status": "failed", "reason": last.split(":")[0]}  # the rest may name files of this computer


def describe_table(case: Case, path: Path) -> Results:
    table, rule = read_table(path)
    return {
        "title": case.title,
        "rows": len(table),
        "discrete": table.discrete.shape[1],
        "continuous": table.continuous.shape[1],
        "sensitive": table.sensitive.shape[1],
        "max_discrete_changes": rule.max_discrete_changes,
        "max_continuous_shift": rule.max_continuous_shift,
    }


def open_results(path: Path) -> Results:
    """Go on with what is stored, if it was measured on such a machine as this."""
    results: Results = {"machine": describe_machine(), "versions": {}, "tables": {}}
    if path.exists():
        stored: Results = json.loads(path.read_text())
        if stored["machine"] != results["machine"]:
            raise SystemExit(
                f"The stored results come from another machine ({stored['machine']}). Ratios between machines mean "
                "nothing: move that file away, or give another name with --name."
            )
        results["tables"] = stored["tables"]
    results["versions"] = {"python": platform.python_version(), "likewise": likewise.__version__}
    for name in LIBRARIES:
        try:
            results["versions"][name] = version(name)
        except PackageNotFoundError:
            raise SystemExit(f"The benchmark compares with {name}, which is not installed.") from None
    return results


def store(results: Results, path: Path) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps(results, indent=1) + "\n")
    os.replace(new, path)


def describe_machine() -> str:
    """Tell the kind of machine, and nothing that names it."""
    model = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        model += f" ({named[0]})" if named else ""
    except OSError:
        pass
    return f"{os.cpu_count()} cores, {model}, {memory_bytes() / 1e9:.0f} GB of memory, {platform.system()}"


def memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def read_arguments() -> argparse.Namespace:
    """Read the command line; names are checked, so that a slip does not cost an hour."""
    cases = list_cases()
    parser = argparse.ArgumentParser(description="Measure the mining of comparable pairs.")
    parser.add_argument("--quick", action="store_true", help=f"the five data sets, at most {QUICK_LIMIT} s a method")
    parser.add_argument("--tables", help="some tables only, with commas: " + ", ".join(cases))
    parser.add_argument(
        "--only", help=f"some methods only (names, or how they begin), with semicolons: {'; '.join(METHODS)}"
    )
    parser.add_argument("--again", action="store_true", help="measure anew what is stored")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the readable table anew")
    parser.add_argument("--limit", type=int, help="seconds a single call may take (600)")
    parser.add_argument("--results", type=Path, help="the folder to write to (benchmarks/results)")
    parser.add_argument("--name", default="mining", help="of the two files written there (mining)")
    options = parser.parse_args()
    options.tables = options.tables.split(",") if options.tables else list(QUICK_TABLES if options.quick else cases)
    options.only = [prefix.strip() for prefix in options.only.split(";")] if options.only else [""]
    options.limit = options.limit or (QUICK_LIMIT if options.quick else 600)
    options.results = options.results or (HERE.parent / "out" / "benchmarks" if options.quick else HERE / "results")
    unknown = [name for name in options.tables if name not in cases]
    unknown += [prefix for prefix in options.only if not any(method.startswith(prefix) for method in METHODS)]
    if unknown:
        parser.error(f"no such table or method: {', '.join(unknown)}")
    return options


if __name__ == "__main__":
    main()
