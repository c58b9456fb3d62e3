"""Questions in parts, answered on several threads, with little memory under way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from heapq import heappop, heappush
from queue import SimpleQueue
from typing import Any, Final

from likewise.comparable.engines._problem import Found

MOST: Final = 1 << 14  # queries in a part
LAST: Final = 1 << 12  # the last parts are shorter, so that all threads end at about the same time
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
    length = _Length(n_queries, most_in_part, n_threads, grain)
    if 0 < n_queries <= length.now:  # no thread pays off
        if (at_once := answer(slice(0, n_queries))) is not None:
            yield slice(0, n_queries), at_once
            return
        length.refuse(n_queries, is_half=False)
    pool = ThreadPoolExecutor(n_threads)
    done: SimpleQueue[tuple[slice, bool, Future[Any]]] = SimpleQueue()
    halves: list[tuple[int, int]] = []  # to be asked before all others, those that come first before the rest
    ready: dict[int, tuple[slice, Found]] = {}  # answers, by where their parts start

    def ask(part: slice, is_half: bool) -> None:
        pool.submit(answer, part).add_done_callback(lambda future: done.put((part, is_half, future)))

    n_asked = n_under_way = n_lone = n_given = 0
    try:
        while n_given < n_queries:
            while halves or n_asked < n_queries:
                is_half = len(halves) > 0
                part = slice(*halves[0]) if is_half else slice(n_asked, n_asked + length.next(n_queries - n_asked))
                is_full = n_under_way + len(ready) >= in_flight(n_threads)
                if n_under_way and (is_full or (n_lone >= n_heavy and is_lone(part))):
                    break
                if is_half:
                    heappop(halves)
                else:
                    n_asked = part.stop
                ask(part, is_half)
                n_under_way, n_lone = n_under_way + 1, n_lone + is_lone(part)
            if done.empty() and (n_given in ready if in_order else ready):
                given = ready.pop(n_given) if in_order else ready.popitem()[1]
                n_given, n_lone = n_given + given[0].stop - given[0].start, n_lone - is_lone(given[0])
                yield given
                del given  # each is held once
                continue
            part, is_half, future = done.get()
            n_under_way, found = n_under_way - 1, future.result()
            if found is None:
                length.refuse(part.stop - part.start, is_half=is_half)
                for half in cut_in_halves(part):
                    heappush(halves, half)
            else:
                length.confirm()
                ready[part.start] = part, found
            del future, found
    finally:
        pool.shutdown(cancel_futures=True)


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

    def __init__(self, n_queries: int, most: int, n_threads: int, grain: int) -> None:
        self.now = self._most = max(min(grain * MOST, most), 1)
        self._last, self._n_threads = grain * (LAST if n_queries > grain * SHORT else MOST), n_threads
        self._n_steady, self._patience, self._is_trial = 0, STEADY, False

    def next(self, n_left: int) -> int:
        """Return the length of the next part, of so many queries that are left."""
        return min(self.now, max(n_left // (2 * self._n_threads), self._last), n_left)

    def confirm(self) -> None:
        """Note that a part has been answered."""
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
