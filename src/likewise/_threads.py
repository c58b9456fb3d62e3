"""Independent work on all cores that this process may use; compiled code and NumPy's loops run side by side."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, partial
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise._memory import n_cores

Name = TypeVar("Name", bound=Hashable)
Result = TypeVar("Result")
FEWEST_ROWS: Final = 1 << 16  # in a part: fewer are done before another thread has started
LIGHTER: Final = 4  # as many times as many, where a row is hardly more work than copying it


def threads_for(n_rows: int) -> int:
    """Return how many threads to share work on so many rows among: few are done before another has started."""
    return 1 if n_rows < FEWEST_ROWS else n_cores()


def share_work(work: Callable[[int], None], parts: Iterable[int], *, n_threads: int | None = None) -> None:
    """Do independent parts, on all cores or on so many; each writes to its own place.

    The thread that asks works, too. So a part may share work of its own: where no other thread is free, nobody waits.
    """
    waiting = deque(partial(work, part) for part in parts)  # emptied at the end: a helper that comes late holds nothing

    def take_parts() -> None:
        try:
            while waiting:
                try:
                    do = waiting.popleft()
                except IndexError:  # another thread has just taken the last
                    return
                do()
        except BaseException:
            waiting.clear()
            raise

    n_threads = min(n_cores() if n_threads is None else n_threads, len(waiting))
    asked = [_submit(take_parts) for _ in range(n_threads - 1)]
    try:
        take_parts()
    finally:
        waiting.clear()
        asked = [helper for helper in asked if not helper.cancel()]
        wait(asked)
    while asked:
        asked.pop().result()  # popped: an error would hold the list that holds it


def _submit(call: Callable[[], Result]) -> Future[Result]:
    """Let another thread make a call; return a cancelled future where no thread can be started."""
    try:
        return _pool(n_cores()).submit(call)
    except RuntimeError:  # no more are allowed, or Python ends: who asks does it
        future = Future[Result]()
        future.cancel()
        return future


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="likewise")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has none of the threads


def share_calls(calls: Mapping[Name, Callable[[], Result]], *, n_threads: int | None = None) -> dict[Name, Result]:
    """Make independent calls, on all cores or on so many; return what each returned, in the same order."""
    results: dict[Name, Result] = {}
    names = list(calls)

    def call(place: int) -> None:
        results[names[place]] = calls[names[place]]()

    share_work(call, range(len(names)), n_threads=n_threads)
    return {name: results[name] for name in names}


def answer_in_parts(
    answer: Callable[[int, int], tuple[Result, int]], n: int, size: int, n_threads: int
) -> Iterator[tuple[int, Result]]:
    """Yield how many of ``n`` things are done, and the answer about some of them, in no order, until all are.

    What is asked about things from one number to another returns how far it got, and is asked again about the rest.
    A bounded number of answers waits. Whoever stops asking waits for nobody.
    """
    waiting = deque((start, min(start + size, n)) for start in range(0, n, size))
    under_way, n_done = deque[tuple[int, int, _Ahead[tuple[Result, int]]]](), 0
    try:
        while waiting or under_way:
            while waiting and len(under_way) < 2 * n_threads - 1:
                start, stop = waiting.popleft()
                call = partial(answer, start, stop)
                under_way.append((start, stop, _Ahead(call, is_ahead=n_threads > 1)))
            start, stop, ahead = under_way.popleft()
            found, reached = ahead.take()
            if reached < stop:
                waiting.appendleft((reached, stop))
            n_done += reached - start
            yield n_done, found
    finally:
        for _, _, ahead in under_way:
            ahead.call_off()


class _Ahead(Generic[Result]):
    """A call that another thread makes if it comes to it before the result is asked for."""

    def __init__(self, call: Callable[[], Result], *, is_ahead: bool) -> None:
        self._call, self._future = call, _submit(call) if is_ahead else None

    def take(self) -> Result:
        """Return the result, once, and keep nothing of it."""
        future, self._future = self._future, None
        return self._call() if future is None or future.cancel() else future.result()

    def call_off(self) -> None:
        """Do not begin with it any more."""
        if self._future is not None:
            self._future.cancel()


def begin(call: Callable[[], Result], n_rows: int) -> Callable[[], Result]:
    """Let another core make a call about so many rows, if it pays off; return what gives its result, once.

    What no other thread has begun is made then.
    """
    return _Ahead(call, is_ahead=threads_for(n_rows) > 1).take


def cut_rows(n_rows: int, *, is_light: bool = False) -> list[slice]:
    """Cut rows into parts, one for each core; fewer if there are few rows: each part waits for Python's lock twice."""
    fewest = LIGHTER * FEWEST_ROWS if is_light else FEWEST_ROWS
    if n_rows < 2 * fewest:
        return [slice(0, n_rows)]
    n_parts = min(n_cores(), n_rows // fewest)
    return [slice(part * n_rows // n_parts, (part + 1) * n_rows // n_parts) for part in range(n_parts)]


def share_rows(work: Callable[[slice], None], n_rows: int, *, is_light: bool = False) -> None:
    """Do independent rows, some on each core; whatever the number of parts, the result is the same."""
    parts = cut_rows(n_rows, is_light=is_light)
    share_work(lambda part: work(parts[part]), range(len(parts)))


def take_rows(values: NDArray[Any], rows: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """Return the values of some rows."""
    taken = np.empty(len(rows), values.dtype)

    def take(part: slice) -> None:
        values.take(rows[part], out=taken[part], mode="clip")

    share_rows(take, len(rows))
    return taken
