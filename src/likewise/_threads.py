"""Independent work on all cores that this process may use; compiled code and NumPy's loops run side by side."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
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
    waiting, at_hand = deque(parts), [work]
    n_threads = min(n_cores() if n_threads is None else n_threads, len(waiting))

    def take_parts() -> None:
        while waiting:
            try:
                part = waiting.popleft()
            except IndexError:  # another thread has just taken the last
                return
            try:
                at_hand[0](part)
            except BaseException:
                waiting.clear()
                raise

    helpers = [_helpers(n_cores()).submit(take_parts) for _ in range(n_threads - 1)]
    try:
        take_parts()
    finally:
        waiting.clear()
        started = [helper for helper in helpers if not helper.cancel()]
        wait(started)
        at_hand.clear()  # helpers that were called off stay in their queue for a while, and would keep what work holds
    for helper in started:
        helper.result()


@cache
def _helpers(n_threads: int) -> ThreadPoolExecutor:
    """Return threads that stay: starting some for each piece of work would take longer than many pieces do."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="likewise")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # a forked process has none of the threads


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
    n_parts = max(min(n_cores(), n_rows // FEWEST_ROWS), 1)
    return [slice(part * n_rows // n_parts, (part + 1) * n_rows // n_parts) for part in range(n_parts)]


def share_rows(work: Callable[[slice], None], n_rows: int) -> None:
    """Do independent rows, some on each core; whatever the number of parts, the result is the same."""
    parts = cut_rows(n_rows)
    share_work(lambda part: work(parts[part]), range(len(parts)))


def take_rows(values: NDArray[Any], rows: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """Return the values of some rows."""
    taken = np.empty(len(rows), values.dtype)

    def take(part: slice) -> None:
        values.take(rows[part], out=taken[part], mode="clip")

    share_rows(take, len(rows))
    return taken
