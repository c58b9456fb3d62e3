"""What a machine allows on several cores, whatever the code: long and short calls, random reads, copying, new memory.

The work is cut into equal parts, which as many threads take as there are cores to run on; NumPy and compiled code do it
without the interpreter's lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import numpy as np
from numba import njit

N_PARTS: Final = 96
WORDS_A_ROW: Final = 7  # of a packed row of Adult
COPIED: Final = 1 << 28  # bytes: far more than caches hold
TOUCHED: Final = 40 << 20  # bytes at a time: beyond what an allocator keeps for itself
TITLES: Final = {
    "long calls": "The machine: compiled arithmetic in calls of 20 ms, on numbers in the nearest cache",
    "short calls": "The machine: arithmetic in calls of 0.04 ms, between which each thread needs Python's lock",
    "random reads": "The machine: random reads in such a table",
    "copying": "The machine: copying large arrays",
    "new memory": "The machine: touching new memory",
}


def prepare_machine(n_rows: int) -> dict[str, Callable[[], Any]]:
    """Make arrays, those read at random as large as so many packed rows, and the work to do on them."""
    random = np.random.default_rng(0)
    numbers, table = random.normal(size=1 << 15), np.ones(WORDS_A_ROW * n_rows)
    places = random.integers(len(table), size=(N_PARTS, 1 << 17))
    source = np.ones((N_PARTS, COPIED // 8 // N_PARTS))
    target = np.ones_like(source)
    _stir(numbers.view(np.uint64)[:1], 1)  # compiled before it is measured

    def compute_long(part: int) -> None:
        _stir(numbers.view(np.uint64)[: 1 << 10], 1 << 15)

    def compute(part: int) -> None:
        found = np.empty_like(numbers)
        for _ in range(30):
            np.exp(numbers, out=found)

    def read(part: int) -> None:
        table.take(places[part], out=np.empty(places.shape[1]), mode="clip")

    def copy(part: int) -> None:
        np.copyto(target[part], source[part])

    def touch(part: int) -> None:
        np.empty(TOUCHED, np.uint8).fill(0)

    works = dict(zip(TITLES, ((compute_long, 1), (compute, 20), (read, 20), (copy, 30), (touch, 3)), strict=True))
    return {name: partial(_share, *work) for name, work in works.items()}


@njit(nogil=True)
def _stir(words: Any, n_times: int) -> int:
    """Mix the bits of words again and again: enough to do for a core at any time."""
    total = np.uint64(0)
    for time in range(n_times):
        for word in words:
            mixed = (word ^ np.uint64(time)) * np.uint64(0x9E3779B97F4A7C15)
            total += mixed ^ (mixed >> np.uint64(29))
    return total


def _share(work: Callable[[int], None], n_times: int) -> int:
    """Do all parts, one after the other and then again: a part just done would still be in a cache."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return len(list(pool.map(work, [*range(N_PARTS)] * n_times)))
