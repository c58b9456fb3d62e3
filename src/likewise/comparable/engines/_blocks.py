"""Cutting discrete columns into blocks: rows are matched on all blocks but a few."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def spread_of(counts: NDArray[np.int64]) -> float:
    """Say how well a column tells rows apart, from how often each of its values occurs: its entropy."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def balance_blocks(spreads: Sequence[float], n_blocks: int) -> list[int]:
    """Share columns out so that the blocks tell rows apart about equally well; return the block of each column."""
    totals, n_columns, block_of = [0.0] * n_blocks, [0] * n_blocks, [0] * len(spreads)
    for column in sorted(range(len(spreads)), key=lambda i: -spreads[i]):
        thinnest = min(range(n_blocks), key=lambda block: (n_columns[block] > 0, totals[block]))
        block_of[column] = thinnest
        totals[thinnest] += spreads[column]
        n_columns[thinnest] += 1
    return block_of
