"""Which pairs to keep: the worst, and a uniform sample; no machine, engine or order changes the choice."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count
from likewise._compiling import compiled
from likewise._random import STEP, Keys, stir
from likewise._ranking import sort_numbers
from likewise._threads import share_calls, share_rows, share_work, threads_for

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
Positions = NDArray[np.int64]
DIGITS: Final = 12  # gaps that differ later than this differ by rounding
SEEDS: Final = 2**64
STEPS: Final = (STEP, 0xD1B54A32D192ED03)  # odd, so that no two rows are moved to one number
GROUPS: Final = 32  # arrays that pairs are put into when some are dropped: each array takes a few calls the next time
MOST_DROPPING: Final = 8  # threads: each has a group twice meanwhile
BIN_BITS: Final = 12  # keys are counted by their highest bits to find about where the lowest end; in the nearest cache
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
            self._add_copies(pair_keys(left, right, self.seed), left, right)

    def merge(self, other: KeptPairs) -> None:
        """Keep the lowest of both."""
        for keys, left, right in zip(other._keys, other._left, other._right, strict=True):
            self._add_copies(keys, left, right)

    def clear(self) -> None:
        """Let go of all pairs."""
        self._keys, self._left, self._right, self._n = [], [], [], 0

    def to_columns(self) -> Columns:
        """Return ``left`` and ``right`` in order, and the ``key`` of each."""
        self._keep_lowest()
        keys, left, right = self._joined()
        order = np.lexsort([right, left])
        return {"key": keys[order], "left": left[order], "right": right[order]}

    def to_rows(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return ``left`` and ``right`` in order."""
        self._keep_lowest()
        both, ends = np.empty(self._n, np.int64), np.cumsum([0, *map(len, self._left)])

        def join(place: int) -> None:
            some = both[ends[place] : ends[place + 1]]
            np.left_shift(self._left[place], 32, out=some, dtype=np.int64)
            some |= self._right[place]

        share_work(join, range(len(self._left)), n_threads=threads_for(self._n))
        both = sort_numbers(both)
        left, right = np.empty(self._n, np.int32), np.empty(self._n, np.int32)

        def part(some: slice) -> None:
            left[some], right[some] = both[some] >> 32, both[some]  # of which the lower half fits

        share_rows(part, self._n)
        return left, right

    @property
    def cutoff(self) -> int:
        """No pair with a key above it is kept."""
        return SEEDS - 1 if self._cutoff is None else int(self._cutoff)

    def take(self, keys: Keys, left: NDArray[np.int32], right: NDArray[np.int32]) -> None:
        """Take pairs with their keys, arrays that nobody else has; none of them is needed if it is above the cutoff."""
        self._keys.append(keys)
        self._left.append(left)
        self._right.append(right)
        self._n += len(keys)
        if 2 * self._n > 3 * self.most:
            self._drop_above(np.uint64(self._find_last()[1]))

    def _add_copies(self, keys: Keys, left: Rows, right: Rows) -> None:
        low = slice(None) if self._cutoff is None else np.flatnonzero(keys <= self._cutoff)
        self.take(np.array(keys[low]), np.array(left[low], np.int32), np.array(right[low], np.int32))

    def _joined(self) -> tuple[Keys, Rows, Rows]:
        if not self._keys:
            return np.empty(0, np.uint64), np.empty(0, np.int32), np.empty(0, np.int32)
        return np.concatenate(self._keys), np.concatenate(self._left), np.concatenate(self._right)

    def _keep_lowest(self) -> None:
        if self._n <= self.most:
            return
        first, last, n_below = self._find_last()
        calls = {place: partial(_between, keys, first, last) for place, keys in enumerate(self._keys)}
        near = np.concatenate([*share_calls(calls, n_threads=threads_for(self._n)).values()])
        self._drop_above(np.partition(near, self.most - n_below - 1)[self.most - n_below - 1])
        if self._n > self.most:  # two pairs with one key, about never
            keys, left, right = self._joined()
            low = np.lexsort([right, left, keys])[: self.most]
            self._keys, self._left, self._right, self._n = [keys[low]], [left[low]], [right[low]], len(low)

    def _find_last(self) -> tuple[int, int, int]:
        """Return between which two keys the last of the lowest is, and how many are below both."""
        shift, n_parts = max(self.cutoff.bit_length() - BIN_BITS, 0), threads_for(self._n)
        counts = np.zeros((n_parts, 1 << BIN_BITS), np.int64)

        def count(part: int) -> None:
            for keys in self._keys[part::n_parts]:
                _count_keys(keys, np.uint64(shift), counts[part])

        share_work(count, range(n_parts))
        ends = np.cumsum(counts.sum(axis=0))
        last = int(np.searchsorted(ends, self.most))
        return last << shift, min(((last + 1) << shift) - 1, SEEDS - 1), int(ends[last - 1]) if last else 0

    def _drop_above(self, cutoff: np.uint64) -> None:
        """Drop the pairs with keys above a cutoff, and put what is left into few arrays, a few at a time."""
        self._cutoff, n_groups = cutoff, min(GROUPS, len(self._keys))
        columns: tuple[list[NDArray[Any]], ...] = (self._keys, self._left, self._right)

        def drop(group: int) -> None:
            some = range(group, len(self._keys), n_groups)
            n_low = [_move_low(*(column[place] for column in columns), cutoff) for place in some]
            for column in columns:
                low = [column[place][:n] for place, n in zip(some, n_low, strict=True)]
                column[group] = np.concatenate(low)
                for place in some[1:]:
                    column[place] = column[place][:0].copy()  # lets go of it

        share_work(drop, range(n_groups), n_threads=min(threads_for(self._n), MOST_DROPPING))
        for column in columns:
            del column[n_groups:]
        self._n = sum(map(len, self._keys))


def _between(keys: Keys, first: int, last: int) -> Keys:
    return keys[(keys >= np.uint64(first)) & (keys <= np.uint64(last))]


@compiled
def _count_keys(keys: Any, shift: Any, counts: Any) -> None:
    for key in keys:
        if key >> shift < len(counts):  # of those taken before, some are beyond a cutoff found since
            counts[key >> shift] += 1


@compiled
def _move_low(keys: Any, left: Any, right: Any, cutoff: Any) -> Any:
    """Move the pairs with keys up to the cutoff to the front; return how many."""
    n_low = 0
    for place in range(len(keys)):
        keys[n_low], left[n_low], right[n_low] = keys[place], left[place], right[place]
        n_low += keys[place] <= cutoff
    return n_low
