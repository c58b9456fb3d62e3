"""Where the time of a call goes: which phase each thread is in, and when only one of them works.

Every few milliseconds all threads are looked at. A thread works unless it waits in one of :data:`WAITING`; the phase is
that of the innermost file it runs, by :data:`PHASES`. A thread that waits for a core or for the interpreter's lock
counts as one at work, so it takes a quiet machine.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

INTERVAL: Final = 0.001  # seconds
WAITING: Final = {
    *("wait", "result", "join", "_worker", "_bootstrap_inner", "_wait_for_tstate_lock", "_help", "answer_in_parts"),
}
PHASES: Final = {
    "pack": ("_packing.py", "_columns.py", "_problem.py"),
    "ranks": ("_ranking.py",),
    "index": ("_buckets.py", "_index.py", "_joining.py:join_buckets", "_joining.py:<lambda>"),
    "search": ("_search.py", "_joining.py", "_queries.py", "_engine.py", "_ordering.py"),
    "tally": ("_kernels.py", "_tally.py", "_gather.py", "_meter.py", "_selection.py", "_summary.py", "_quantiles.py"),
    "resampling": ("inference",),
}
BETWEEN: Final = ("_compiling.py", "_threads.py")  # what calls kernels and hands out work
REST: Final = "the rest"


@dataclass(slots=True)
class Profile:
    """What was seen of a call."""

    wall_s: float = 0.0
    worked: Counter[str] = field(default_factory=Counter)  # seconds of all threads in each phase
    alone: Counter[str] = field(default_factory=Counter)  # seconds in which only one thread worked, in that phase
    functions: Counter[str] = field(default_factory=Counter)  # the same by function

    @property
    def alone_s(self) -> float:
        """Seconds in which only one thread worked."""
        return sum(self.alone.values())


def profile_call(job: Callable[[], Any]) -> Profile:
    """Call, and look at all threads meanwhile."""
    found, is_over = Profile(), threading.Event()
    watcher = threading.Thread(target=_watch, args=(found, is_over))
    watcher.start()
    started = time.perf_counter()
    try:
        job()
    finally:
        found.wall_s = time.perf_counter() - started
        is_over.set()
        watcher.join()
    return found


def _watch(found: Profile, is_over: threading.Event) -> None:
    before, own = time.perf_counter(), threading.get_ident()
    while not is_over.wait(INTERVAL):
        places = [_locate(frame) for thread, frame in sys._current_frames().items() if thread != own]
        at_work = [place for place in places if place is not None]
        now = time.perf_counter()
        for phase, _ in at_work:
            found.worked[phase] += now - before
        if len(at_work) == 1:
            phase, function = at_work[0]
            found.alone[phase] += now - before
            found.functions[f"{phase}: {function}"] += now - before
        before = now


def _locate(frame: FrameType | None) -> tuple[str, str] | None:
    """Name the phase of a thread and the function it is in; None, if it waits."""
    if frame is None or frame.f_code.co_name in WAITING:
        return None
    innermost = ""
    while frame is not None:
        file, name = Path(frame.f_code.co_filename), frame.f_code.co_name
        if "likewise" in file.parts and file.name not in BETWEEN:
            innermost = innermost or f"{file.stem}.{name}:{frame.f_lineno}"
            for phase, places in PHASES.items():
                if file.name in places or f"{file.name}:{name}" in places or file.parent.name in places:
                    return phase, innermost
        frame = frame.f_back
    return REST, innermost or "outside"
