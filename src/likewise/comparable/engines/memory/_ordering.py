"""Pairs in order: found in none, they are put in that of their left rows, and of the right ones of each."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from likewise.comparable._pairs import Rows

HALF: Final = 32


def order_pairs(parts: list[tuple[Rows, Rows]]) -> tuple[Rows, Rows]:
    """Order pairs by left row, then right row, emptying the list of parts."""
    both = np.empty(sum(len(left) for left, _ in parts), np.int64)
    at = len(both)
    while parts:
        left, right = parts.pop()
        some = both[at - len(left) : at]
        np.left_shift(left, HALF, out=some, dtype=np.int64)
        some |= right
        at -= len(left)
    both.sort()
    return (both >> HALF).astype(np.int32), both.astype(np.int32)  # of which the lower half fits


def order_partners(counts: NDArray[np.int64], partners: Rows) -> None:
    """Put the partners of each query, one query's after the other, in order, in place."""
    both = np.repeat(np.arange(len(counts)) << HALF, counts)
    both |= partners
    both.sort()
    partners[:] = both  # of which the lower half fits
