"""Which pairs to keep: the worst, and a uniform sample; no machine, engine or order changes the choice."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count
from likewise._compiling import compiled
from likewise._random import STEP, Keys, stir
from likewise._ranking import sort_rows
from likewise._threads import share_work

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
Positions = NDArray[np.int64]
DIGITS: Final = 12  # gaps that differ later than this differ by rounding
SEEDS: Final = 2**64
STEPS: Final = (STEP, 0xD1B54A32D192ED03)  # odd, so that no two rows are moved to one number
BIN_BITS: Final = 16  # keys are counted by their highest bits to find about where the lowest end
Columns = dict[str, NDArray[Any]]


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
        self._keys: list[Keys] = []
        self._left: list[Rows] = []
        self._right: list[Rows] = []
        self._n = 0
        self._cutoff: np.uint64 | None = None  # no key beyond it is among the lowest

    def add(self, left: Rows, right: Rows) -> None:
        """Keep those whose keys are low enough."""
        if self.most:
            self.take(pair_keys(left, right, self.seed), left, right)

    def merge(self, other: KeptPairs) -> None:
        """Keep the lowest of both."""
        for keys, left, right in zip(other._keys, other._left, other._right, strict=True):
            self.take(keys, left, right)

    def to_columns(self) -> Columns:
        """Return ``left`` and ``right`` in order, and the ``key`` of each."""
        self._keep_lowest()
        keys, left, right = self._joined()
        order = np.lexsort([right, left])
        return {"key": keys[order], "left": left[order], "right": right[order]}

    def to_rows(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return ``left`` and ``right`` in order."""
        self._keep_lowest()
        both, at = np.empty(self._n, np.int64), 0
        for left, right in zip(self._left, self._right, strict=True):
            some = both[at : at + len(left)]
            np.left_shift(left, 32, out=some, dtype=np.int64)
            some |= right
            at += len(left)
        both = sort_rows(both)[1]
        return (both >> 32).astype(np.int32), both.astype(np.int32)

    @property
    def cutoff(self) -> int:
        """No pair with a key above it is kept."""
        return SEEDS - 1 if self._cutoff is None else int(self._cutoff)

    def take(self, keys: Keys, left: Rows, right: Rows) -> None:
        """Keep those whose keys, given with them, are low enough."""
        if self._cutoff is not None:
            low = np.flatnonzero(keys <= self._cutoff)
            keys, left, right = keys[low], left[low], right[low]
        self._keys.append(np.array(keys))  # copies of our own, in which pairs are moved
        self._left.append(np.array(left, np.int32))
        self._right.append(np.array(right, np.int32))
        self._n += len(keys)
        if self._n > self.most + self.most // 2:
            self._drop_most()

    def _joined(self) -> tuple[Keys, Rows, Rows]:
        if not self._keys:
            return np.empty(0, np.uint64), np.empty(0, np.int32), np.empty(0, np.int32)
        return np.concatenate(self._keys), np.concatenate(self._left), np.concatenate(self._right)

    def _keep_lowest(self) -> None:
        if self._n <= self.most:
            return
        self._drop_most()
        keys = np.concatenate(self._keys)
        keys.partition(self.most - 1)
        self._drop_above(keys[self.most - 1])
        if self._n > self.most:  # two pairs with one key, about never
            keys, left, right = self._joined()
            low = np.lexsort([right, left, keys])[: self.most]
            self._keys, self._left, self._right, self._n = [keys[low]], [left[low]], [right[low]], len(low)

    def _drop_most(self) -> None:
        """Drop nearly all that are not among the lowest, in the place where they are: without a copy of all."""
        shift = max(self.cutoff.bit_length() - BIN_BITS, 0)
        counts = np.zeros(1 << BIN_BITS, np.int64)
        for keys in self._keys:
            _count_keys(keys, np.uint64(shift), counts)
        last = int(np.searchsorted(np.cumsum(counts), self.most))
        self._drop_above(np.uint64(min(((last + 1) << shift) - 1, SEEDS - 1)))

    def _drop_above(self, cutoff: np.uint64) -> None:
        self._cutoff = cutoff

        def drop(place: int) -> None:
            columns = self._keys[place], self._left[place], self._right[place]
            n_low = _move_low(*columns, cutoff)
            self._keys[place] = columns[0][:n_low].copy()
            self._left[place], self._right[place] = columns[1][:n_low].copy(), columns[2][:n_low].copy()

        share_work(drop, range(len(self._keys)))
        self._n = sum(map(len, self._keys))


@compiled
def _count_keys(keys: Any, shift: Any, counts: Any) -> None:
    for key in keys:
        counts[key >> shift] += 1


@compiled
def _move_low(keys: Any, left: Any, right: Any, cutoff: Any) -> Any:
    """Move the pairs with keys up to the cutoff to the front; return how many."""
    n_low = 0
    for place in range(len(keys)):
        keys[n_low], left[n_low], right[n_low] = keys[place], left[place], right[place]
        n_low += keys[place] <= cutoff
    return n_low
