"""Independent work on all cores that this process may use; compiled code and NumPy's loops run side by side."""

from __future__ import annotations

import atexit
import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise._memory import n_cores

Name = TypeVar("Name", bound=Hashable)
Found = TypeVar("Found")
FEWEST_ROWS: Final = 1 << 16  # in a part: fewer are done before another thread has started


def threads_for(n_rows: int) -> int:
    """Return how many threads to share work on so many rows among: few are done before another has started."""
    return 1 if n_rows < FEWEST_ROWS else n_cores()


def share_work(work: Callable[[int], None], parts: Iterable[int], *, n_threads: int | None = None) -> None:
    """Do independent parts, on all cores or on so many; each writes to its own place.

    The thread that asks works, too. So a part may share work of its own: where no other thread is free, nobody waits.
    """
    parts = [*parts]
    n_threads = 1 if len(parts) <= 1 else min(n_cores() if n_threads is None else n_threads, len(parts))
    if n_threads <= 1:
        for part in parts:
            work(part)
        return
    shared = _Shared(work, parts)
    for _ in range(n_threads - 1):
        helpers(n_cores()).put(shared.take_parts)
    shared.take_parts()
    shared.wait()


class _Shared:
    """Parts of some work that any thread may take, and what became of them.

    Written out instead of futures: most work is done in a millisecond, and as many futures as there are cores take half
    as long to make.
    """

    def __init__(self, work: Callable[[int], None], parts: Iterable[int]) -> None:
        self._work, self._waiting, self._n_busy = work, deque(parts), 0
        self._error: BaseException | None = None
        self._lock, self._is_over = Lock(), Event()

    def take_parts(self) -> None:
        """Do one part after the other until none is left."""
        while True:
            with self._lock:
                if not self._waiting:
                    return
                part = self._waiting.popleft()
                self._n_busy += 1
            error: BaseException | None = None
            try:
                self._work(part)
            except BaseException as raised:
                error = raised
            with self._lock:
                if error is not None:
                    self._waiting.clear()
                    self._error = self._error or error
                self._n_busy -= 1
                if not self._n_busy and not self._waiting:
                    self._is_over.set()

    def wait(self) -> None:
        """Wait until no thread is at work any more, and raise what one of them has raised."""
        self._is_over.wait()
        del self._work  # helpers that come too late would keep what it holds
        if self._error is not None:
            raise self._error


@cache
def helpers(n_threads: int) -> SimpleQueue[Callable[[], None] | None]:
    """Start so many threads, which stay, and return the queue that they take calls from; a call must not raise."""
    asked: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
    names = (f"likewise-{number}" for number in range(n_threads))
    threads = [Thread(target=_help, args=(asked,), name=name, daemon=True) for name in names]
    for thread in threads:
        thread.start()
    atexit.register(_end, asked, threads)
    return asked


def _help(asked: SimpleQueue[Callable[[], None] | None]) -> None:
    while (call := asked.get()) is not None:
        call()
        del call  # until the next comes, it would keep what it holds


def _end(asked: SimpleQueue[Callable[[], None] | None], threads: list[Thread]) -> None:
    """Let threads do what they were asked for: once the interpreter ends they stand still, and whoever waits, waits."""
    helpers.cache_clear()
    for _ in threads:
        asked.put(None)
    for thread in threads:
        thread.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=helpers.cache_clear)  # a forked process has none of the threads


def share_calls(calls: Mapping[Name, Callable[[], Found]], *, n_threads: int | None = None) -> dict[Name, Found]:
    """Make independent calls, on all cores or on so many; return what each returned, in the same order."""
    found: dict[Name, Found] = {}
    names = list(calls)

    def call(place: int) -> None:
        found[names[place]] = calls[names[place]]()

    share_work(call, range(len(names)), n_threads=n_threads)
    return {name: found[name] for name in names}


def cut_rows(n_rows: int) -> list[slice]:
    """Cut rows into parts, one for each core; one for all, if there are few."""
    n_parts = 1 if n_rows < 2 * FEWEST_ROWS else min(n_cores(), n_rows // FEWEST_ROWS)
    return [slice(part * n_rows // n_parts, (part + 1) * n_rows // n_parts) for part in range(n_parts)]


def share_rows(work: Callable[[slice], None], n_rows: int) -> None:
    """Do independent rows, some on each core; whatever the number of parts, the result is the same."""
    parts = cut_rows(n_rows)
    if len(parts) == 1:
        work(parts[0])
        return
    share_work(lambda part: work(parts[part]), range(len(parts)))


def take_rows(values: NDArray[Any], rows: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """Return the values of some rows."""
    taken = np.empty(len(rows), values.dtype)

    def take(part: slice) -> None:
        values.take(rows[part], out=taken[part], mode="clip")

    share_rows(take, len(rows))
    return taken
