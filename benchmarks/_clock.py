"""Time and memory of calls in this process; needs nothing but Python, so that rivals are measured by the same clock."""

from __future__ import annotations

import ctypes
import gc
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def measure(job: Callable[[], Any], *, started: float, limit: int, n_calls: int = 0) -> tuple[Any, Record]:
    """Call once for the time to a first result, then a few times more where that is short; give the best.

    The first call loads compiled code. So where there are more calls, seconds and memory are theirs. The process
    is killed (SIGPROF) when a single call takes more of the processor's seconds than the limit: on a busy machine the
    clock's say little.
    """
    calls = [_call(job, limit)]
    found = calls[0].pop("found")
    first = time.time() - started
    seconds = calls[0]["cpu_s"]
    n_calls = n_calls or (5 if seconds < 2 else 3 if seconds < 12 else 2 if seconds < 40 else 1)
    for _ in range(n_calls - 1):
        calls.append(_call(job, limit))
        del calls[-1]["found"]
    repeated = calls[1:] or calls
    return found, {
        "cpu_s": round(min(call["cpu_s"] for call in repeated), 5),
        "wall_s": round(min(call["wall_s"] for call in repeated), 5),
        "peak_mb": round(repeated[0]["peak"] / 1e6, 1),  # above the input and the loaded libraries
        "first_s": round(first, 3),  # by the clock, from the start of the process on
        "calls": len(calls),
    }


def _call(job: Callable[[], Any], limit: int) -> Record:
    give_memory_back()
    before = reset_peak()
    signal.setitimer(signal.ITIMER_PROF, limit)
    cpu, wall = time.process_time(), time.perf_counter()
    found = job()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    signal.setitimer(signal.ITIMER_PROF, 0)
    return {"cpu_s": cpu, "wall_s": wall, "peak": peak_bytes() - before, "found": found}


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
        return _read_status("VmRSS")
    except OSError:
        return peak_bytes()


def peak_bytes() -> int:
    """Give the most memory that was in use since :func:`reset_peak`."""
    try:
        return _read_status("VmHWM")
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _read_status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(f"no {field}")
