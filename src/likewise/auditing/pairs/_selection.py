"""Which pairs to keep: the worst, and a uniform sample; no machine, engine or order changes the choice."""

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


def choose_worst(left: Rows, right: Rows, gaps: Floats, rank_gaps: Floats, n: int) -> Positions:
    """Return the positions of the ``n`` pairs with the largest gaps, the worst first.

    Of equal gaps, the pair with the larger rank gap is worse; of those that are equal too, earlier rows come first.
    """
    check_count("n", n, or_none=False)
    rows = left.astype(np.int64) << 32 | right.astype(np.int64)
    keys = (-np.round(gaps, DIGITS), -np.round(rank_gaps, DIGITS), rows)
    return _take_lowest(keys, n)


def _take_lowest(keys: tuple[NDArray[Any], ...], n: int) -> Positions:
    """Return the ``n`` lowest in order; later keys decide between those equal in the earlier ones."""
    undecided = np.arange(len(keys[0]))
    chosen = [undecided[:0]]
    n_wanted = min(n, len(undecided))
    for key in keys:  # most pairs are far from the worst: no need to sort them
        if not n_wanted or len(undecided) == n_wanted:
            break
        values = key[undecided]
        last = np.partition(values, n_wanted - 1)[n_wanted - 1]
        chosen.append(undecided[values < last])
        n_wanted -= len(chosen[-1])
        undecided = undecided[values == last]
    found = np.concatenate([*chosen, undecided[:n_wanted]])
    return found[np.lexsort([key[found] for key in reversed(keys)])]


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


class WorstPairs:
    """Keep the ``most`` pairs with the largest gaps, worst first, in the order of ``choose_worst``."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._columns: Columns = {
            "left": np.empty(0, np.int64),
            "right": np.empty(0, np.int64),
            "gap": np.empty(0),
            "rank_gap": np.empty(0),
        }

    def __len__(self) -> int:
        return len(self._columns["left"])

    def to_columns(self) -> Columns:
        """Return ``left``, ``right``, ``gap`` and ``rank_gap``."""
        return dict(self._columns)

    @property
    def least(self) -> float:
        """No pair with a gap below it belongs among the worst."""
        if not self.most:
            return np.inf
        return float(self._columns["gap"][-1]) - 2 * 10.0**-DIGITS if len(self) == self.most else -np.inf

    def add(self, left: Rows, right: Rows, gaps: Floats, rank_gaps: Floats) -> None:
        """Keep those that belong among the worst."""
        near = np.flatnonzero(gaps >= self.least)  # few pairs come near to the worst
        self._take({"left": left[near], "right": right[near], "gap": gaps[near], "rank_gap": rank_gaps[near]})

    def merge(self, other: WorstPairs) -> None:
        """Keep what belongs among the worst of both."""
        self._take(other.to_columns())

    def _take(self, more: Columns) -> None:
        if not len(more["left"]):
            return
        every = {name: np.concatenate([column, more[name]]) for name, column in self._columns.items()}
        chosen = choose_worst(every["left"], every["right"], every["gap"], every["rank_gap"], self.most)
        self._columns = {name: column[chosen] for name, column in every.items()}


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
