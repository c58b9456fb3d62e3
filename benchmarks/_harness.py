"""What every question has in common: cells measured each in a process of its own, figures that are kept, and a page.

A question lists its cells by name, measures one of them, and writes a page from all. ``answer`` is its command line:
cells that are stored are not measured again, each is stored as soon as it is there, and a run that is interrupted goes
on where it was. Figures are ``results/NAME.json.xz``, the page is ``results/NAME.md``.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import lzma
import os
import platform
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
RESULTS: Final = HERE / "results"
LIBRARIES: Final = ("likewise", "numpy", "scipy", "scikit-learn", "numba", "pandas", "pyarrow", "torch")
SHARE_OF_MEMORY: Final = 0.85
LONG_ENOUGH: Final = 3.0  # seconds of short calls, of which the quickest counts

Record = dict[str, Any]


def answer(
    name: str,
    description: str | None,
    cells: Mapping[str, Sequence[Any]],
    measure_cell: Callable[..., Record],
    write_page: Callable[[Record], str],
) -> None:
    """Measure the cells that are asked for and not stored yet, and write the page.

    The arguments of a cell are given to ``measure_cell``, in a process of its own.
    """
    if sys.argv[1:2] == ["--cell"]:
        limit_memory()
        print(json.dumps(measure_cell(*json.loads(sys.argv[2]))))
        return
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cells whose names begin so, with semicolons between")
    parser.add_argument("--again", action="store_true", help="measure anew what is stored")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the page anew")
    parser.add_argument("--seconds", type=int, default=600, help="that a cell may take")
    parser.add_argument("--name", default=name, help="of the two files written to results")
    options = parser.parse_args()
    figures = {"machine": "", "versions": {}, "cells": {}} | read_figures(options.name)
    begins = tuple(part.strip() for part in options.only.split(";"))
    wanted = [] if options.report else [cell for cell in cells if cell.startswith(begins)]
    if wanted and figures["cells"] and figures["machine"] != describe_machine():
        raise SystemExit(f"The stored figures are of another machine ({figures['machine']}). Give another --name.")
    for cell in wanted:
        if options.again or figures["cells"].get(cell, {}).get("status") != "done":
            figures |= {"machine": describe_machine(), "versions": list_versions()}
            found = measure_apart(Path(sys.argv[0]), cells[cell], options.seconds)
            figures["cells"][cell] = found
            print(f"{cell}: {found.get('wall_s', found['status'])}", flush=True)
            write_figures(options.name, figures)
    (RESULTS / f"{options.name}.md").write_text(write_page(figures), "utf-8")


def measure_apart(script: Path, arguments: Sequence[Any], seconds: int) -> Record:
    """Measure a cell in a process of its own, so that its peak of memory is its own; a failure is a status."""
    command = [sys.executable, "-W", "ignore", str(script), "--cell", json.dumps(list(arguments))]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"status": f"over {seconds:,} s"}
    if ended.returncode == 0:
        return {"status": "done", **json.loads(ended.stdout.splitlines()[-1])}
    if "memory" in ended.stderr.lower() or "bad_alloc" in ended.stderr or ended.returncode == -signal.SIGKILL:
        return {"status": "over memory"}
    print(ended.stderr[-2_000:], file=sys.stderr)
    return {"status": "failed"}


def limit_memory() -> None:
    """Let this process fail before it takes all of the machine."""
    most = int(SHARE_OF_MEMORY * memory_bytes())
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def time_job(job: Callable[[], Any], n_calls: int = 0) -> tuple[Any, Record]:
    """Call once, and a few times more where that is short; give what was found, and the best of the calls.

    Seconds are the processor's and the clock's, memory is the peak of the first call above what was there before.
    """
    give_memory_back()
    before = reset_peak()
    found, *first = _call(job)
    peak = peak_bytes() - before
    wall = first[1]
    n_calls = n_calls or (min(max(int(LONG_ENOUGH / wall), 5), 30) if wall < 2 else 3 if wall < 15 else 1)
    times = [first]
    for _ in range(n_calls - 1):
        gc.collect()
        times.append(_call(job)[1:])
    cpu_s, wall_s = (round(min(column), 5) for column in zip(*times, strict=True))
    return found, {"cpu_s": cpu_s, "wall_s": wall_s, "peak_mb": round(peak / 1e6, 1), "calls": n_calls}


def _call(job: Callable[[], Any]) -> list[Any]:
    cpu, wall = time.process_time(), time.perf_counter()
    found = job()
    return [found, time.process_time() - cpu, time.perf_counter() - wall]


def give_memory_back() -> None:
    """Return what is free to the system, or the next call would use it unseen."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def reset_peak() -> int:
    """Start the peak anew where the system can (Linux), and give the memory in use now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return peak_bytes()
    return _read_status("VmRSS")


def peak_bytes() -> int:
    """Give the most memory that was in use since :func:`reset_peak`."""
    try:
        return _read_status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _read_status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def read_figures(name: str) -> Record:
    """Read stored figures; none are as good as an empty file."""
    path = RESULTS / f"{name}.json.xz"
    found: Record = json.loads(lzma.decompress(path.read_bytes())) if path.exists() else {}
    return found


def write_figures(name: str, figures: Record) -> None:
    """Store figures, whole or not at all; the same figures give the same bytes."""
    path = RESULTS / f"{name}.json.xz"
    part = path.with_suffix(".part")
    part.write_bytes(lzma.compress(json.dumps(figures).encode()))
    os.replace(part, path)


def list_versions() -> dict[str, str]:
    """Say which versions of what may decide the figures are here."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def describe_machine() -> str:
    """Tell the kind of machine, and nothing that names it."""
    model = platform.machine()
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    model += f" ({named[0]})" if named else ""
    return f"{os.cpu_count()} cores, {model}, {memory_bytes() / 1e9:.0f} GB of memory, {platform.system()}"


def memory_bytes() -> int:
    """Give the memory of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def head(title: str, script: str, figures: Record, words: str) -> str:
    """Begin a page: by which program, on which machine, with which versions it was measured."""
    versions = ", ".join(f"{name} {number}" for name, number in figures["versions"].items())
    where = f"{figures['machine']}. {versions}." if versions else f"{figures['machine']}."
    return (
        f"# {title}\n\nWritten by `python benchmarks/{script}.py`, from stored figures.\n{where}\n\n{words.rstrip()}\n"
    )


def markdown(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Write a table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n"


def target(
    title: str, figure: float | None, bound: float, unit: str = "x", *, more_is_better: bool = True
) -> list[str]:
    """Hold a figure against what was wanted, as a row of a table."""
    wanted = f"{'≥' if more_is_better else '≤'} {bound:,g} {unit}"
    if figure is None:
        return [title, wanted, "-", "not measured"]
    is_met = figure >= bound if more_is_better else figure <= bound
    return [title, wanted, f"{figure:,.3g} {unit}", "yes" if is_met else "**no**"]


def seconds(record: Record) -> str:
    """Write the processor's seconds of a cell, or why there are none."""
    return f"{record['cpu_s']:,.3g}" if record.get("status") == "done" else str(record.get("status", "-"))
