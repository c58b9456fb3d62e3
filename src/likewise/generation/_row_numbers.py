"""Random numbers that belong to a row: they follow from its key, whatever stands beside it and in which order."""

from __future__ import annotations

from math import prod
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from likewise._random import STEP, Keys, stir

N_BITS: Final = 53  # of a float64


def fold(keys: Keys, more: Any) -> Keys:
    """Make keys that depend on one thing more: a number for all, or for each."""
    other = np.asarray(more).astype(np.int64, copy=False).view(np.uint64) + np.uint64(STEP)
    return stir(keys ^ stir(np.atleast_1d(other)))


def fold_word(keys: Keys, word: str) -> Keys:
    """Make keys for one purpose."""
    return fold(keys, crc32(word.encode()))


def ask_keys(keys: Keys, number: int | NDArray[np.int64], wanted: NDArray[np.int32]) -> Keys:
    """Give a key for each row that is asked for: of its source's key, the round, and the sensitive values wanted."""
    keys = fold(keys, number)
    for codes in wanted.T:
        keys = fold(keys, codes.astype(np.int64))
    return keys


class RowNumbers:
    """Draw for each row from a key of its own, by the names that NumPy's generators have.

    The first axis of what is drawn are the rows, always all of them.
    """

    def __init__(self, keys: Keys, purpose: str) -> None:
        self._keys = fold_word(keys, purpose)
        self._n_drawn = 0

    def random(self, size: int | tuple[int, ...]) -> NDArray[np.float64]:
        """Draw numbers from 0 to 1."""
        shape = size if isinstance(size, tuple) else (size,)
        n_each = prod(shape[1:])
        counters = np.arange(self._n_drawn + 1, self._n_drawn + n_each + 1, dtype=np.uint64) * np.uint64(STEP)
        self._n_drawn += n_each
        drawn = stir(self._keys[:, None] + counters) >> np.uint64(64 - N_BITS)
        return (drawn.astype(np.float64) * 2.0**-N_BITS).reshape(shape)

    def uniform(self, low: float, high: float, size: tuple[int, ...]) -> NDArray[np.float64]:
        """Draw numbers between two."""
        return low + (high - low) * self.random(size)

    def integers(self, low: Any, high: Any, size: Any = None, dtype: Any = np.int64, *, endpoint: bool = False) -> Any:
        """Draw whole numbers from low to below high, or to high itself."""
        shape = np.broadcast_shapes(np.shape(low), np.shape(high)) if size is None else size
        n_values = np.asarray(high, np.int64) - low + endpoint
        return (low + (self.random(shape) * n_values).astype(np.int64)).astype(dtype)
