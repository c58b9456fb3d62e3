"""Questions in parts, answered on several threads, with little memory under way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from queue import SimpleQueue
from threading import Condition, Thread, current_thread
from time import perf_counter
from typing import Any, Final

from likewise.comparable.engines._problem import Found

MOST: Final = 1 << 14  # queries in a part
LAST: Final = 1 << 10  # the last parts are shorter, so that all threads end at about the same time
SHORTEST: Final = 0.0005  # seconds that a part takes, about, where parts may be of any length: each waits for a lock
RECENT: Final = 0.9  # of the queries before are counted in when it is reckoned how long a part takes
SHORT: Final = 1 << 18  # queries that are answered so soon that more than a few parts take longer to hand out
STEADY: Final = 64


def is_single(part: slice) -> bool:
    """Return whether a part is one query."""
    return int(part.stop - part.start) == 1


def answer_in_parts(
    answer: Callable[[slice], Found | None],
    n_queries: int,
    most_in_part: int,
    n_threads: int,
    n_heavy: int,
    *,
    in_order: bool = True,
    grain: int = 1,
    is_lone: Callable[[slice], bool] = is_single,
) -> Iterator[tuple[slice, Found]]:
    """Yield the answers to all queries, part by part; a part that has no answer is asked again in halves.

    Either in order, or each as soon as it is there: so that no thread waits for a part that takes long. Where queries
    are counted in steps, ``grain`` is how many each has on average, and ``is_lone`` tells parts of one query or none.
    These are always answered, however long the answer: so only ``n_heavy`` of them are under way at a time.
    """
    length = _Length(n_queries, most_in_part, n_threads, grain, is_timed=not in_order)
    if 0 < n_queries <= length.now:  # no thread pays off
        if (at_once := answer(slice(0, n_queries))) is not None:
            yield slice(0, n_queries), at_once
            return
        length.refuse(n_queries, is_half=False)
    asked = _Asked(answer, n_queries, length, (in_flight(n_threads), n_heavy), is_lone, in_order=in_order)
    ready: dict[int, tuple[slice, Found]] = {}  # answers, by where their parts start
    threads = [Thread(target=asked.answer_all, name=f"likewise-search-{k}", daemon=True) for k in range(n_threads)]
    n_given = 0
    try:
        for thread in threads if n_queries else ():
            thread.start()
        while n_given < n_queries:
            if in_order and n_given not in ready:
                given = asked.wait()
                ready[given[0].start] = given
                del given  # each is held once
                continue
            given = ready.pop(n_given) if in_order else asked.wait()
            n_given += given[0].stop - given[0].start
            asked.hand_out(given[0])
            yield given
            del given
    finally:
        asked.end()
        if current_thread() not in threads:  # the one of them that collects this may be who the others wait for
            for thread in threads:
                if thread.ident is not None:
                    thread.join()


class _Asked:
    """What is asked, and how far its answers are: each thread takes the next part by itself, as soon as there is room.

    Were parts handed out by the one who asks, sixteen threads would wait for that one.
    """

    def __init__(
        self,
        answer: Callable[[slice], Any],
        n_queries: int,
        length: _Length,
        most: tuple[int, int],
        is_lone: Callable[[slice], bool],
        *,
        in_order: bool,
    ) -> None:
        self._answer, self._n_queries, self._length, self._is_lone = answer, n_queries, length, is_lone
        self._most, self._most_lone = most
        self._in_order, self._wanted = in_order, 0 if in_order else n_queries  # where the next part starts to hand out
        self._n_asked = self._n_under_way = self._n_held = self._n_lone = 0  # held: under way, or answered and waiting
        self._halves: list[tuple[int, int]] = []  # to be asked before all others, those that come first before the rest
        self._is_over, self._changed = (
            False,
            Condition(),
        )  # met again where garbage is collected: that ends searches
        self._done: SimpleQueue[tuple[slice, Any] | BaseException] = SimpleQueue()

    def answer_all(self) -> None:
        """Answer one part after the other until none is left."""
        try:
            while (taken := self._take()) is not None:
                part, is_half = taken
                started = perf_counter()
                found = self._answer(part)
                self._settle(part, perf_counter() - started, is_answered=found is not None, is_half=is_half)
                if found is not None:
                    self._done.put((part, found))
                del found
        except BaseException as error:  # who asked raises it
            self.end()
            self._done.put(error)

    def wait(self) -> tuple[slice, Any]:
        """Return the next answer, as soon as there is one."""
        done = self._done.get()
        if isinstance(done, BaseException):
            try:
                raise done
            finally:
                del done
        return done

    def hand_out(self, part: slice) -> None:
        """Note that the answer to a part is not kept any longer."""
        with self._changed:
            self._n_held -= 1
            self._n_lone -= self._is_lone(part)
            if self._in_order:
                self._wanted = part.stop
            self._changed.notify()

    def end(self) -> None:
        """Ask nothing more."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _take(self) -> tuple[slice, bool] | None:
        """Take the next part, once there is room for its answer, and whether it is a half; None, if none is left."""
        with self._changed:
            while not self._is_over:
                is_half = len(self._halves) > 0
                if is_half or self._n_asked < self._n_queries:
                    stop = self._n_asked + self._length.next(self._n_queries - self._n_asked)
                    part = slice(*self._halves[0]) if is_half else slice(self._n_asked, stop)
                    is_lone = self._is_lone(part)
                    is_full = self._n_held >= self._most or (is_lone and self._n_lone >= self._most_lone)
                    if not is_full or part.start == self._wanted:  # all that is held waits for that one
                        if is_half:
                            heappop(self._halves)
                        else:
                            self._n_asked = stop
                        self._n_under_way, self._n_held = self._n_under_way + 1, self._n_held + 1
                        self._n_lone += is_lone
                        return part, is_half
                elif not self._n_under_way:
                    return None
                self._changed.wait()
        return None

    def _settle(self, part: slice, seconds: float, *, is_answered: bool, is_half: bool) -> None:
        """Note that a part has been answered, or cut it in halves."""
        with self._changed:
            self._n_under_way -= 1
            if is_answered:
                self._length.confirm(part.stop - part.start, seconds)
            else:
                self._n_held -= 1
                self._length.refuse(part.stop - part.start, is_half=is_half)
                for half in cut_in_halves(part):
                    heappush(self._halves, half)
                self._changed.notify()
            if not self._n_under_way and not self._halves and self._n_asked == self._n_queries:
                self._changed.notify_all()  # there is nothing to wait for


def cut_in_halves(part: slice) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where the two halves of a part that had no answer start and stop."""
    assert part.stop - part.start > 1, f"{part} was not answered"  # it would be asked forever
    middle = (part.start + part.stop) // 2
    return (part.start, middle), (middle, part.stop)


class _Length:
    """How long the parts are that are asked: half as long as one that had no answer, until others in a row had one.

    A stretch of queries with many partners must not make all that follow it slow. Where longer parts have no answer
    again, they are tried after twice as many the next time: all that are under way then are asked in vain.
    """

    def __init__(self, n_queries: int, most: int, n_threads: int, grain: int, *, is_timed: bool) -> None:
        self.now = self._most = max(min(grain * MOST, most), 1)
        self._last, self._n_threads = grain * (LAST if n_queries > grain * SHORT else MOST), n_threads
        self._n_steady, self._patience, self._is_trial = 0, STEADY, False
        self._is_timed, self._n_recent, self._seconds = is_timed, 0.0, 0.0

    def next(self, n_left: int) -> int:
        """Return the length of the next part, of so many queries that are left."""
        last = self._last
        if self._is_timed and self._seconds and last < self._most:
            last = int(SHORTEST * self._n_recent / self._seconds) + 1
        return min(self.now, max(n_left // (2 * self._n_threads), last), n_left)

    def confirm(self, n: int, seconds: float) -> None:
        """Note that a part of ``n`` has been answered, and in how many seconds."""
        self._n_recent, self._seconds = RECENT * self._n_recent + n, RECENT * self._seconds + seconds
        self._n_steady += 1
        if self._is_trial and self._n_steady == STEADY:
            self._patience, self._is_trial = STEADY, False
        if self._n_steady == self._patience and self.now < self._most:
            self.now, self._n_steady, self._is_trial = min(2 * self.now, self._most), 0, True

    def refuse(self, n: int, *, is_half: bool) -> None:
        """Note that a part of ``n`` has not; as for one half of a part, what follows need not be like it."""
        self._n_steady = 0
        if not is_half:  # others under way are as long as this one was
            self.now = min(self.now, max(n // 2, 1))
            self._patience, self._is_trial = self._patience * 2 if self._is_trial else self._patience, False


def in_flight(n_threads: int) -> int:
    """Count the answers that are under way or waiting at a time: a slow one should not keep others from starting."""
    return n_threads + 1 + n_threads // 2
