"""Draw places of the list of all pairs, and fetch what stands there, without making that list."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import Engine


def draw_ranks(n_total: int, n: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw ``n`` different numbers below ``n_total``, ascending, in memory that grows with ``n`` alone."""
    if n > n_total // 2:
        return np.sort(random.choice(n_total, n, replace=False)) if n < n_total else np.arange(n_total)
    ranks = np.empty(0, np.int64)
    while len(ranks) < n:
        ranks = np.unique(np.concatenate([ranks, random.integers(n_total, size=2 * n)]))
    return np.sort(random.choice(ranks, n, replace=False))


def pairs_at(search: Engine, degrees: NDArray[np.int64], ranks: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Fetch the pairs that stand at the given places of the whole list, without making that list."""
    ends = np.cumsum(degrees)
    rows = np.searchsorted(ends, ranks, side="right")
    return rows.astype(np.int32), search.pick(rows, ranks - (ends[rows] - degrees[rows]))
