"""Which pairs to keep: a uniform sample; no machine, engine or order changes the choice."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count
from likewise._random import STEP, Keys, stir

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
Positions = NDArray[np.int64]
DIGITS: Final = 12  # gaps that differ later than this differ by rounding
SEEDS: Final = 2**64
STEPS: Final = (STEP, 0xD1B54A32D192ED03)  # odd, so that no two rows are moved to one number
MOST_BEYOND: Final = 4  # of the pairs to keep, one more for so many may be there before some are dropped
DROPPED_AT_ONCE: Final = 1 << 16  # pairs at least
Columns = dict[str, NDArray[Any]]
KeyedPairs = tuple[Keys, NDArray[np.int32], NDArray[np.int32]]  # keys, left, right


def pair_keys(left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]], seed: int) -> Keys:
    """Hash pairs of rows to numbers below 2**64, as if drawn at random.

    The pairs with the lowest keys are a uniform sample of all, the same one in every engine.
    """
    check_count("seed", seed, or_none=False)
    words = np.full(len(left), seed % SEEDS, np.uint64)
    for rows, step in zip((left, right), STEPS, strict=True):
        words += (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(step)  # wraps around, as it should
        words = stir(words)
    return words


class KeptPairs:
    """Keep the ``most`` pairs with the lowest keys; of equal keys, the earlier rows."""

    def __init__(self, most: int, seed: int) -> None:
        self.most, self.seed = most, seed
        self.clear()

    def clear(self) -> None:
        """Let go of all pairs."""
        nobody = np.empty(0, np.int32)
        self._parts: list[KeyedPairs] = [(np.empty(0, np.uint64), nobody, nobody)]
        self._n = 0  # pairs in all parts
        self.cutoff = SEEDS - 1  # no pair with a key above it is kept

    def add(self, left: Rows, right: Rows) -> None:
        """Keep those whose keys are low enough."""
        if self.most:  # hashing takes long
            self.take(pair_keys(left, right, self.seed), left.astype(np.int32), right.astype(np.int32))

    def merge(self, other: KeptPairs) -> None:
        """Keep the lowest of both."""
        self.take(*other._lowest())

    def take(self, keys: Keys, left: NDArray[np.int32], right: NDArray[np.int32]) -> None:
        """Keep pairs, given their keys; where there are many more than wanted, drop those that are too high."""
        is_low = keys <= np.uint64(self.cutoff)
        self._parts.append((keys[is_low], left[is_low], right[is_low]))
        self._n += len(self._parts[-1][0])
        if self._n > self.most + max(self.most // MOST_BEYOND, DROPPED_AT_ONCE):
            self._parts = [self._lowest()]
            self._n = len(self._parts[0][0])
            self.cutoff = int(self._parts[0][0].max(initial=0))

    def to_columns(self) -> Columns:
        """Return ``left`` and ``right`` in order, and the ``key`` of each."""
        keys, left, right = self._lowest()
        order = np.lexsort([right, left])
        return {"key": keys[order], "left": left[order], "right": right[order]}

    def to_rows(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return ``left`` and ``right`` in order."""
        _, left, right = self._lowest()
        both = np.sort(left.astype(np.int64) << 32 | right)
        return (both >> 32).astype(np.int32), both.astype(np.int32)  # of which the lower half fits

    def _lowest(self) -> KeyedPairs:
        keys, left, right = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        if not self.most:
            return keys[:0], left[:0], right[:0]
        if len(keys) > self.most:
            low = np.flatnonzero(keys <= np.partition(keys, self.most - 1)[self.most - 1])
            if len(low) > self.most:  # of pairs with one key, which are there about never, the earlier rows
                low = low[np.lexsort([right[low], left[low], keys[low]])[: self.most]]
            keys, left, right = keys[low], left[low], right[low]
        return keys, left, right
