"""Two small things that several kernels do with arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def lengthen(array: Any, n_used: Any, n_more: Any) -> Any:
    """Copy the used part of an array into one with room for more, and as much again."""
    longer = np.empty((2 * (n_used + n_more),) + array.shape[1:], array.dtype)
    longer[:n_used] = array[:n_used]
    return longer
