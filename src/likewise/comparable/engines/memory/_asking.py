"""Asking many queries, in parts and on several threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

FEWEST: Final = 1 << 12
MOST: Final = 1 << 14

Answer = TypeVar("Answer")


def ask(
    answer: Callable[[slice], Answer | None], n_queries: int, most_in_part: int, n_threads: int, n_heavy: int
) -> Iterator[tuple[slice, Answer]]:
    """Yield the answers to all queries in order, part by part; a part that has no answer is asked again in halves.

    A query that is a part of its own is always answered, however long the answer: so of these only ``n_heavy`` are
    under way at a time.
    """
    n_in_part = max(min(max(n_queries // (2 * n_threads), FEWEST), MOST, most_in_part), 1)
    pool = ThreadPoolExecutor(n_threads)
    waiting: deque[tuple[slice, Future[Answer | None]]] = deque()
    n_asked = 0
    try:
        while waiting or n_asked < n_queries:
            most_waiting = n_threads + 1 if n_in_part > 1 else min(n_heavy, n_threads + 1)
            while n_asked < n_queries and len(waiting) < most_waiting:
                part = slice(n_asked, min(n_asked + n_in_part, n_queries))
                waiting.append((part, pool.submit(answer, part)))
                n_asked = part.stop
            part, future = waiting.popleft()
            found = future.result()
            if found is not None:
                yield part, found
                continue
            middle = (part.start + part.stop) // 2
            n_in_part = max(n_in_part // 2, 1)  # those to come are likely to be as many
            for half in (slice(middle, part.stop), slice(part.start, middle)):
                waiting.appendleft((half, pool.submit(answer, half)))
    finally:
        pool.shutdown(cancel_futures=True)


def n_cores() -> int:
    """Count the cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
