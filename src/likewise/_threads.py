"""Independent work on all cores that this process may use; compiled code and NumPy's loops run side by side."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from queue import SimpleQueue
from threading import Condition, Event, Lock, Thread, local
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise._memory import n_cores

Name = TypeVar("Name", bound=Hashable)
Found = TypeVar("Found")
FEWEST_ROWS: Final = 1 << 16  # in a part: fewer are done before another thread has started
LIGHTER: Final = 4  # as many times as many, where a row is hardly more work than copying it
_BESIDE = local()  # how many others do as much as this thread, if any


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
    try:
        asked, n_helpers = _helpers(n_cores())
        for _ in range(min(n_threads - 1, n_helpers)):
            asked.put(shared.help)
        shared.take_parts()
    finally:
        shared.end()
    shared.raise_error()


class _Shared:
    """Parts of some work that any thread may take.

    Written out instead of futures: most work is done in a millisecond, and as many futures as there are cores take half
    as long to make. Who asks waits for those who are at work, not for those who have not come yet.
    """

    def __init__(self, work: Callable[[int], None], parts: Iterable[int]) -> None:
        self._work, self._waiting = work, deque(parts)
        self._n_helping, self._is_free = 0, Condition(Lock())
        self._error: BaseException | None = None

    def take_parts(self) -> None:
        """Do one part after the other until none is left."""
        while self._waiting:
            try:
                part = self._waiting.popleft()
            except IndexError:  # another thread has just taken the last
                return
            try:
                self._work(part)
            except BaseException:
                self._waiting.clear()
                raise

    def help(self) -> None:
        """Take parts on another thread, if there are any left."""
        with self._is_free:
            if not self._waiting:
                return
            self._n_helping += 1
        try:
            self.take_parts()
        except BaseException as error:
            self._error = error
        with self._is_free:
            self._n_helping -= 1
            self._is_free.notify()

    def end(self) -> None:
        """Call off what nobody has taken yet, and wait for those who are at work."""
        self._waiting.clear()
        with self._is_free:
            while self._n_helping:
                self._is_free.wait()
        del self._work  # helpers that come too late would keep what it holds

    def raise_error(self) -> None:
        """Raise what a helper has raised, and keep none of it: it holds all that the failed part had."""
        try:
            if self._error is not None:
                raise self._error
        finally:
            self._error = None


@cache
def _helpers(n_threads: int) -> tuple[SimpleQueue[Callable[[], None]], int]:
    """Start threads that stay; return the queue that they take calls from, and how many could be started."""
    asked: SimpleQueue[Callable[[], None]] = SimpleQueue()
    for number in range(n_threads):
        try:
            Thread(target=_help, args=(asked,), name=f"likewise-{number}", daemon=True).start()
        except RuntimeError:  # no more are allowed: who asks does the rest
            return asked, number
    return asked, n_threads


def _help(asked: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        asked.get()()


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


def make_ahead(make: Callable[[int], Found], parts: Iterable[int], n_ahead: int) -> Iterator[Found]:
    """Yield what is made of each part, in order; that of the next ``n_ahead`` is made while one is used.

    What no other thread has begun is made when it is asked for. Whoever stops asking waits for nobody.
    """
    waiting, begun = deque(parts), deque[_Made[Found]]()
    asked, n_helpers = _helpers(n_cores()) if n_ahead and len(waiting) > 1 else (None, 0)
    try:
        while waiting or begun:
            while waiting and len(begun) <= n_ahead:
                begun.append(_Made(partial(make, waiting.popleft())))
                if asked is not None and n_helpers:
                    asked.put(begun[-1].make)
            yield begun.popleft().take()
    finally:
        for one in begun:
            one.call_off()


class _Made(Generic[Found]):
    """What the first thread makes that comes to it."""

    def __init__(self, make: Callable[[], Found]) -> None:
        self._waiting, self._is_done = deque([make]), Event()
        self._found: list[Found] = []
        self._error: BaseException | None = None

    def make(self) -> None:
        """Make it, unless another thread has begun to."""
        try:
            make = self._waiting.popleft()
        except IndexError:
            return
        try:
            self._found.append(make())
        except BaseException as error:  # who asks raises it
            self._error = error
        self._is_done.set()

    def take(self) -> Found:
        """Return it once it is made, and keep nothing of it."""
        self.make()
        self._is_done.wait()
        try:
            if self._error is not None:
                raise self._error
        finally:
            self._error = None
        return self._found.pop()

    def call_off(self) -> None:
        """Do not begin with it any more."""
        self._waiting.clear()


def begin(call: Callable[[], Found], n_rows: int) -> Callable[[], Found]:
    """Let another core make a call about so many rows, if it pays off; return what gives its result, once.

    What no other thread has begun is made then.
    """
    made, n_threads = _Made(call), threads_for(n_rows)
    asked, n_helpers = _helpers(n_threads) if n_threads > 1 else (None, 0)
    if asked is not None and n_helpers:
        asked.put(made.make)
    return made.take


@contextmanager
def beside(n_others: int) -> Iterator[None]:
    """Cut rows into so many fewer parts on this thread: so many others cut as many rows at the same time."""
    before, _BESIDE.n_others = getattr(_BESIDE, "n_others", 0), n_others
    try:
        yield
    finally:
        _BESIDE.n_others = before


def cut_rows(n_rows: int, *, is_light: bool = False) -> list[slice]:
    """Cut rows into parts, one for each core; fewer if there are few rows: each part waits for Python's lock twice."""
    fewest = LIGHTER * FEWEST_ROWS if is_light else FEWEST_ROWS
    if n_rows < 2 * fewest:
        return [slice(0, n_rows)]
    n_parts = min(-(-n_cores() // (1 + getattr(_BESIDE, "n_others", 0))), n_rows // fewest)
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


def join_arrays(arrays: Sequence[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    """Put arrays of one kind together."""
    ends = np.cumsum([0] + [len(array) for array in arrays])
    joined = np.empty(ends[-1], kind)

    def copy(i: int) -> None:
        joined[ends[i] : ends[i + 1]] = arrays[i]

    share_work(copy, range(len(arrays)), n_threads=threads_for(len(joined)))
    return joined
