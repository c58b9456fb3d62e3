"""Memory limits, and how much memory is free."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from likewise.exceptions import ParameterError

DEFAULT_BYTES: Final = 4_000_000_000
MANY_ROWS: Final = 100_000  # fewer leave little behind
UNLIMITED: Final = 1 << 60
POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
PROCESSES: Final = Path("/proc")
MOST_TOLD: Final = 1e30  # in any unit: no machine has more
CONTROL_GROUPS: Final = Path("/sys/fs/cgroup")


def bytes_allowed(limit: int | str | None) -> int:
    """Parse a limit such as "2 GB" or "2 GiB"; by default 4 GB, or half of the free memory if that is less."""
    if limit is None:
        return min(DEFAULT_BYTES, bytes_free() // 2)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", str(limit).lower())
    if match is None or (match[3] and not match[2]) or not 0 < float(match[1]) < MOST_TOLD:
        raise ParameterError(f"is {limit!r}; give a number of bytes, or a text such as '2 GB'.", "memory_limit")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** POWERS[match[2]])


def give_memory_back(n_rows: int) -> None:
    """Return what a step over so many rows has freed to the system; the C library keeps up to half of it otherwise."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if n_rows >= MANY_ROWS and os.name == "posix" else None
    if trim is not None:  # glibc has it, others do not
        trim(0)


def n_cores() -> int:
    """Count the cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def bytes_free() -> int:
    """Return the bytes this process can still use: free or reclaimable, within its container's limit."""
    return max(min([_free_on_machine(), *_free_in_groups(), *_free_addresses()]), 0)


def address_limit() -> int | None:
    """Return how many bytes of addresses this process may use, as ``ulimit -v`` sets it; None without a limit."""
    try:
        import resource
    except ImportError:  # not on every system
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _free_addresses() -> Iterator[int]:
    limit = address_limit()
    used = "" if limit is None else _read(f"{PROCESSES}/self/statm").partition(" ")[0]
    if limit is not None and used.isdigit():
        yield limit - int(used) * os.sysconf("SC_PAGE_SIZE")


def _free_on_machine() -> int:
    available = re.search(r"^MemAvailable:\s*(\d+) kB", _read(f"{PROCESSES}/meminfo"), re.MULTILINE)
    if available:
        return int(available[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not available on every system
        return 2 * DEFAULT_BYTES


def _free_in_groups() -> Iterator[int]:
    """Yield what is left of the limit of each Linux control group of this process, containers included."""
    for line in _read(f"{PROCESSES}/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2
            root, limit, used, total = f"{CONTROL_GROUPS}", "memory.max", "memory.current", ""
        elif "memory" in controllers.split(","):  # version 1
            root, limit, used = f"{CONTROL_GROUPS}/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            total = "total_"
        else:
            continue
        below = [name for name in path.split("/") if name]  # may be missing inside a container, whose root is then used
        for depth in range(len(below), -1, -1):
            group = "/".join([root, *below[:depth]])
            at_most = _read(f"{group}/{limit}").strip()
            is_limited = at_most.isdigit() and int(at_most) < UNLIMITED  # "max" means no limit, and so does 2^63
            in_use = _read(f"{group}/{used}").strip() if is_limited else ""
            if in_use.isdigit():
                files = re.findall(rf"^{total}(?:in)?active_file (\d+)$", _read(f"{group}/memory.stat"), re.MULTILINE)
                yield int(at_most) - int(in_use) + sum(map(int, files))


def _read(path: str) -> str:
    text = b""
    try:
        file = os.open(path, os.O_RDONLY)  # a search of a small table takes hardly longer than Path.read_text
        try:
            while some := os.read(file, 1 << 16):
                text += some
        finally:
            os.close(file)
    except OSError:
        return ""
    return text.decode()
