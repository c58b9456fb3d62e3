"""What a machine allows on several cores, whatever the code: short calls, random reads, copying, new memory.

The work is cut into equal parts, which as many threads take as there are cores to run on; NumPy does it without the
interpreter's lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import numpy as np

N_PARTS: Final = 96
WORDS_A_ROW: Final = 7  # of a packed row of Adult
COPIED: Final = 1 << 28  # bytes: far more than caches hold
TOUCHED: Final = 40 << 20  # bytes at a time: beyond what an allocator keeps for itself
TITLES: Final = {
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

    works = dict(zip(TITLES, ((compute, 20), (read, 20), (copy, 30), (touch, 3)), strict=True))
    return {name: partial(_share, *work) for name, work in works.items()}


def _share(work: Callable[[int], None], n_times: int) -> int:
    """Do all parts, one after the other and then again: a part just done would still be in a cache."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return len(list(pool.map(work, [*range(N_PARTS)] * n_times)))
