"""Putting rows and pairs in order, in linear time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise.comparable._pairs import Rows

SHORT = 24


@compiled
def sort_by_rank(ranks: Any, n_ranks: Any) -> tuple[Any, Any]:
    """Order rows by rank, keeping the order of equals; also give where each rank starts, and the end."""
    starts = np.zeros(n_ranks + 1, np.int64)
    for rank in ranks:
        starts[rank + 1] += 1
    for rank in range(n_ranks):
        starts[rank + 1] += starts[rank]
    filled = starts.copy()
    order = np.empty(len(ranks), np.int32)
    for row in range(len(ranks)):
        order[filled[ranks[row]]] = row
        filled[ranks[row]] += 1
    return order, starts


def order_pairs(parts: list[tuple[Rows, Rows]], n_left: int) -> tuple[Rows, Rows]:
    """Order pairs by left row, then right row, emptying the list of parts."""
    counts, rights = order_rights(parts, n_left)
    return np.repeat(np.arange(n_left, dtype=np.int32), counts), rights


def order_rights(parts: list[tuple[Rows, Rows]], n_left: int) -> tuple[NDArray[np.int64], Rows]:
    """Put the right rows of pairs in order, emptying the list of parts; also count those of each left row."""
    counts = np.zeros(n_left, np.int64)
    for left, _ in parts:
        add_counts(counts, left)
    ends = np.cumsum(counts)
    rights = np.empty(int(counts.sum()), np.int32)
    filled = ends - counts
    while parts:
        _scatter(*parts.pop(), filled, rights)
    _sort_segments(ends - counts, ends, rights)
    return counts, rights


@compiled
def add_counts(counts: Any, rows: Any) -> None:
    """Count each row as often as it is there."""
    for row in rows:
        counts[row] += 1


@compiled
def _scatter(left: Any, right: Any, filled: Any, rights: Any) -> None:
    for k in range(len(left)):
        rights[filled[left[k]]] = right[k]
        filled[left[k]] += 1


@compiled
def _sort_segments(starts: Any, ends: Any, values: Any) -> None:
    """Sort each segment in place: by insertion while they are short, as most are."""
    for k in range(len(starts)):
        if ends[k] - starts[k] > SHORT:
            values[starts[k] : ends[k]].sort()
            continue
        for i in range(starts[k] + 1, ends[k]):
            value, at = values[i], i
            while at > starts[k] and values[at - 1] > value:
                values[at] = values[at - 1]
                at -= 1
            values[at] = value
