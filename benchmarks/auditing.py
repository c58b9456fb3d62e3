"""Measure what an audit of a million comparable pairs costs, with confidence intervals, against what else there is.

Run it on a quiet machine, from the environment that ``make test`` makes::

    python benchmarks/auditing.py                             # ours, and pandas with numpy: some minutes
    python benchmarks/auditing.py --rivals /their/python      # also AIF360 and inFairness, installed for that Python
    python benchmarks/auditing.py --cases adult --only "likewise;pandas" --again
    python benchmarks/auditing.py --report                    # only write the tables anew, from stored figures

Each method runs in a process of its own, on people that are in its memory already. Its first call tells how long one
waits for a first result; compiled code is on disk by then, from a call that is not counted. The calls after it are
measured, unless the first took more than 40 s. Results are stored as soon as they are there (results/auditing.json)
and what is stored is not measured again, unless asked with --again. The readable table is results/auditing.md.
The rivals need: aif360, inFairness with what it imports (torch, POT), numpy, scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import platform
import signal
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import likewise
from _audit_cases import CASES, Case
from _audit_input import read_arrays
from _audit_report import write_report
from _audit_rivals import RIVALS
from _audit_trial import BY_HAND, COMPLETE, N_RESAMPLES, OURS
from mining import NO_MEMORY, SHARE_OF_MEMORY, TOO_MUCH_MEMORY, describe_machine, memory_bytes, store

HERE: Final = Path(__file__).parent
LIMIT: Final = 200
LIBRARIES: Final = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "pyarrow", "fairlearn")
GROWS_WITH_SQUARE: Final = ("AIF360 consistency score",)  # in so many dimensions a tree looks at nearly all rows

Results = dict[str, Any]


def main() -> None:
    """Measure what the command line asks for and is not stored yet."""
    options = read_arguments()
    folder = options.results
    folder.mkdir(parents=True, exist_ok=True)
    results = open_results(folder / "auditing.json")
    if not options.report:
        for name in options.cases:
            measure_case(CASES[name], results, folder, options)
    write_report(results, folder / "auditing.md")
    print(f"\n{(folder / 'auditing.md').read_text()}")


def measure_case(case: Case, results: Results, folder: Path, options: argparse.Namespace) -> None:
    """Measure every method that is wanted on a case; store each result at once."""
    stored = results["tables"].get(case.name, {"methods": {}})
    methods = [*OURS, *BY_HAND, *(RIVALS if options.rivals else ())]
    wanted = [
        method
        for method in methods
        if any(method.startswith(prefix) for prefix in options.only)
        and (options.again or not is_settled(stored["methods"].get(method), options.limit))
    ]
    if not wanted:
        return
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch)
        # made by another process, so that this one stays small
        subprocess.run([sys.executable, str(HERE / "_audit_cases.py"), case.name, scratch], check=True)
        stored |= describe_case(case, path)
        results["tables"][case.name] = stored
        if any(method in OURS for method in wanted):
            run_trial(COMPLETE, path, options, n_calls=1)  # compiles what is not on disk yet
        for method in wanted:
            print(f"{case.title}: {method} ...", end=" ", flush=True)
            reason = foresee(method, case, results, options.limit)
            found = {"status": "not run", "reason": reason} if reason else run_trial(method, path, options)
            stored["methods"][method] = project(found, stored["rows"]) | {"limit_s": options.limit}
            store(results, folder / "auditing.json")
            print(f"{found['cpu_s']} s" if "cpu_s" in found else found.get("reason", found["status"]), flush=True)
    write_report(results, folder / "auditing.md")


def is_settled(record: Results | None, limit: int) -> bool:
    """Tell whether measuring again would say nothing new: it is done, or there is no more time than there was."""
    if record is None or record["status"] == "failed":
        return False
    return record["status"] in ("done", "on some rows") or record["limit_s"] >= limit


def foresee(method: str, case: Case, results: Results, limit: int) -> str | None:
    """Say why a method need not be tried, judging by the small case."""
    known = results["tables"].get("adult", {"methods": {}})
    before = known["methods"].get(method, {})
    if method not in GROWS_WITH_SQUARE or case.name == "adult" or before.get("status") != "done":
        return None
    seconds = before["cpu_s"] * (results["tables"][case.name]["rows"] / known["rows"]) ** 2
    return f"about {seconds:,.0f} s" if seconds > 1.5 * limit else None


def project(found: Results, n_rows: int) -> Results:
    """Say what a method that could only do some of the rows would take for all: it looks at every two of them."""
    if found["status"] != "done" or found.get("n_rows", n_rows) == n_rows:
        return found
    seconds = found["cpu_s"] * (n_rows / found["n_rows"]) ** 2
    return found | {"status": "on some rows", "reason": f"about {seconds:,.0f} s"}


def run_trial(method: str, path: Path, options: argparse.Namespace, n_calls: int = 0) -> Results:
    """Measure one method in a process of its own."""
    is_rival = method in RIVALS
    python = options.rivals if is_rival else sys.executable
    script = HERE / ("_audit_rivals.py" if is_rival else "_audit_trial.py")
    most_bytes = str(int(SHARE_OF_MEMORY * memory_bytes()))
    command = [python, "-W", "ignore", str(script), method, str(path)]
    command += [repr(time.time()), str(options.limit), most_bytes, str(n_calls)]
    try:
        # the process ends at its limit by itself; this is for machines too busy to get there
        ended = subprocess.run(command, capture_output=True, text=True, timeout=10 * options.limit, cwd=path)
    except subprocess.TimeoutExpired:
        return {"status": "over time", "reason": f"over {options.limit} s"}
    if ended.returncode == 0:
        found: Results = json.loads(ended.stdout.splitlines()[-1])
        return found
    if ended.returncode == -signal.SIGPROF:
        return {"status": "over time", "reason": f"over {options.limit} s"}
    if NO_MEMORY.search(ended.stderr) or ended.returncode == -signal.SIGKILL:
        return {"status": "over memory", "reason": TOO_MUCH_MEMORY}
    print(ended.stderr, file=sys.stderr)
    last = (ended.stderr.strip().splitlines() or [f"ended with {ended.returncode}"])[-1]
    return {"status": "failed", "reason": last.split(":")[0]}  # the rest may name files of this computer


def describe_case(case: Case, path: Path) -> Results:
    arrays = read_arrays(path / "arrays.npz")
    return {
        "title": case.title,
        "rows": len(arrays),
        "discrete": arrays.discrete.shape[1],
        "continuous": arrays.continuous.shape[1],
        "sensitive": arrays.sensitive.shape[1],
        "resamples": N_RESAMPLES,
    }


def open_results(path: Path) -> Results:
    """Go on with what is stored, if it was measured on such a machine as this."""
    results: Results = {"machine": describe_machine(), "versions": {}, "tables": {}}
    if path.exists():
        stored: Results = json.loads(path.read_text())
        if stored["machine"] != results["machine"]:
            raise SystemExit(
                f"The stored results come from another machine ({stored['machine']}). Ratios between machines mean "
                "nothing: move results/auditing.json away, or give another folder with --results."
            )
        results["tables"] = stored["tables"]
    results["versions"] = {"python": platform.python_version(), "likewise": likewise.__version__}
    results["versions"] |= {name: version(name) for name in LIBRARIES}
    return results


def read_arguments() -> argparse.Namespace:
    """Read the command line; names are checked, so that a slip does not cost a run."""
    methods = [*OURS, *BY_HAND, *RIVALS]
    parser = argparse.ArgumentParser(description="Measure the audit of comparable pairs.")
    parser.add_argument("--rivals", help="a Python that has aif360 and inFairness; they are left out without it")
    parser.add_argument("--cases", help="some cases only, with commas: " + ", ".join(CASES))
    parser.add_argument("--only", help="some methods only (how they begin), with semicolons: " + "; ".join(methods))
    parser.add_argument("--again", action="store_true", help="measure anew what is stored")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the readable table anew")
    parser.add_argument(
        "--limit", type=int, default=LIMIT, help=f"processor's seconds a single call may take ({LIMIT})"
    )
    parser.add_argument("--results", type=Path, default=HERE / "results", help="the folder to write to")
    options = parser.parse_args()
    options.cases = options.cases.split(",") if options.cases else list(CASES)
    options.only = [prefix.strip() for prefix in options.only.split(";")] if options.only else [""]
    unknown = [name for name in options.cases if name not in CASES]
    unknown += [prefix for prefix in options.only if not any(method.startswith(prefix) for method in methods)]
    if unknown:
        parser.error(f"no such case or method: {', '.join(unknown)}")
    return options


if __name__ == "__main__":
    main()
