"""Which pairs to keep: the worst, and a uniform sample; no machine, engine or order changes the choice."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from threading import Lock
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
DROPPED_AT_ONCE: Final = 1 << 16  # pairs that are looked at, whether they are still to be kept
MOST_BEYOND: Final = 4  # of the pairs to keep, one more for so many may be there before some are dropped
# keys are counted in bins a 256th or less as wide as a key is large: by the leading bits of the key as a float
EXACT: Final = np.uint64(2**64 - 2**11)  # bits of a key that a float has room for
KEY_BITS: Final = 44
FIRST_BITS: Final = 20  # the first bin has all keys of so many: leaving out bits would move lower ones to other bins
BEFORE_BINS: Final = (((1023 + FIRST_BITS) << 52) >> KEY_BITS) - 1
N_BINS: Final = ((64 - FIRST_BITS) << 52 >> KEY_BITS) + 1
RECKONED_AFTER: Final = 256  # as much of the pairs to keep are counted before the cutoff is reckoned again
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
    """Keep the ``most`` pairs with the lowest keys; of equal keys, the earlier rows; several threads may add pairs.

    Keys are counted as they come, which tells about where the lowest end. Pairs that turn out to be beyond are dropped
    by whoever adds more, those taken first before others: no thread drops all at once while others wait.
    """

    def __init__(self, most: int, seed: int) -> None:
        self.most, self.seed = most, seed
        self._may_count = Lock()
        self.clear()

    def clear(self) -> None:
        """Let go of all pairs."""
        self._parts: deque[_Part] = deque()
        self._n = 0  # pairs in all parts, and in those that a thread has taken out to drop some
        self._counts, self._n_new = np.zeros(N_BINS, np.int64), 0  # new since the cutoff was reckoned
        self._cutoff = SEEDS - 1  # no key beyond it is among the lowest

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_may_count"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._may_count = Lock()  # which cannot be copied

    @property
    def cutoff(self) -> int:
        """No pair with a key above it is kept."""
        return self._cutoff

    def add(self, left: Rows, right: Rows) -> None:
        """Keep those whose keys are low enough."""
        if self.most:  # hashing takes long
            self.take(pair_keys(left, right, self.seed), left.astype(np.int32), right.astype(np.int32))

    def merge(self, other: KeptPairs) -> None:
        """Keep the lowest of both."""
        for part in tuple(other._parts):
            self.take(*part.pairs)

    def take(self, keys: Keys, left: NDArray[np.int32], right: NDArray[np.int32]) -> None:
        """Copy the pairs that are low enough, given their keys, and drop others that are not any more."""
        if not self.most:
            return
        counts = np.zeros(N_BINS, np.int64)
        _count_keys(keys, counts)
        self._note(len(keys), counts)
        given = [_Part((keys, left, right))]
        while given:
            low = _join_low(given, self._cutoff)
            self._note(len(low) - sum(map(len, given)))
            if len(low):
                self._parts.append(low)
            given = self._take_out() if self._n > self.most + self.most // MOST_BEYOND + DROPPED_AT_ONCE else []

    def to_columns(self) -> Columns:
        """Return ``left`` and ``right`` in order, and the ``key`` of each."""
        keys, left, right = self._lowest()
        order = np.lexsort([right, left])
        return {"key": keys[order], "left": left[order], "right": right[order]}

    def to_rows(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return ``left`` and ``right`` in order."""
        last, n_low = self._find_last()
        ends, parts = np.cumsum([0, *n_low]), [*self._parts]
        both = np.empty(ends[-1], np.int64)
        share_work(
            lambda place: _write_rows(parts[place].pairs, last, both[ends[place] : ends[place + 1]]),
            range(len(parts)),
            n_threads=threads_for(len(both)),
        )
        if len(both) > self.most:  # two pairs with one key, about never
            _, *rows = self._lowest()
            both = rows[0].astype(np.int64) << 32 | rows[1]
        both = sort_numbers(both)
        left, right = np.empty(len(both), np.int32), np.empty(len(both), np.int32)

        def part(some: slice) -> None:
            left[some], right[some] = both[some] >> 32, both[some]  # of which the lower half fits

        share_rows(part, len(both))
        return left, right

    def _note(self, n_more: int, counts: NDArray[np.int64] | None = None) -> None:
        """Note how many more pairs there are, and what their keys say about the lowest."""
        with self._may_count:
            self._n += n_more
            if counts is not None:
                self._counts += counts
                self._n_new += n_more
            if self._n_new * RECKONED_AFTER > self.most:
                last = int(np.searchsorted(np.cumsum(self._counts), self.most))
                self._cutoff, self._n_new = min(_first_key(last + 1), SEEDS) - 1, 0

    def _take_out(self) -> list[_Part]:
        """Take out a few parts to drop what is too high of them; the first that may have none ends it."""
        some, n = list[_Part](), 0
        while n < DROPPED_AT_ONCE and self._parts:
            try:
                part = self._parts.popleft()
            except IndexError:  # another thread has just taken the last
                break
            if part.cutoff == self._cutoff:
                self._parts.appendleft(part)
                break
            some.append(part)
            n += len(part)
        return some

    def _find_last(self) -> tuple[np.uint64, list[int]]:
        """Return the highest key of the lowest pairs, and how many each part has up to it."""
        parts, ends = [*self._parts], np.cumsum(self._counts)
        if ends[-1] <= self.most or not parts:
            return np.uint64(SEEDS - 1), [*map(len, parts)]
        bin_of_last = int(np.searchsorted(ends, self.most))
        first, last = np.uint64(_first_key(bin_of_last)), np.uint64(_first_key(bin_of_last + 1) - 1)
        calls = {place: partial(_find_near, part.pairs[0], first, last) for place, part in enumerate(parts)}
        near = share_calls(calls, n_threads=threads_for(self._n))
        place = self.most - int(ends[bin_of_last]) + int(self._counts[bin_of_last]) - 1
        lowest = np.partition(np.concatenate([keys for keys, _ in near.values()]), place)[place]
        return lowest, [n_below + int(np.count_nonzero(keys <= lowest)) for keys, n_below in near.values()]

    def _lowest(self) -> KeyedPairs:
        last, _ = self._find_last()
        keys, left, right = _join_low([*self._parts], int(last)).pairs
        columns: list[NDArray[Any]] = [right, left, keys]
        # of two pairs with one key, which are there about never, the earlier rows
        low = np.lexsort(columns)[: self.most] if len(keys) > self.most else slice(None)
        return keys[low], left[low], right[low]


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some of the pairs, with no key above a cutoff."""

    pairs: KeyedPairs
    cutoff: int = SEEDS - 1

    def __len__(self) -> int:
        return len(self.pairs[0])


def _join_low(parts: list[_Part], cutoff: int) -> _Part:
    """Copy the pairs of some parts with keys up to a cutoff to one part."""
    last = np.uint64(cutoff)
    ends = np.cumsum([0, *(np.count_nonzero(part.pairs[0] <= last) for part in parts)])
    keys, left, right = np.empty(ends[-1], np.uint64), np.empty(ends[-1], np.int32), np.empty(ends[-1], np.int32)
    for part, start, end in zip(parts, ends, ends[1:], strict=False):
        _copy_low(part.pairs, last, (keys[start:end], left[start:end], right[start:end]))
    return _Part((keys, left, right), cutoff)


def _first_key(place: int) -> int:
    """Return the lowest key of a bin, which may be the one after the last."""
    return int(np.int64((place + BEFORE_BINS) << KEY_BITS).view(np.float64)) if place else 0


def _find_near(keys: Keys, first: np.uint64, last: np.uint64) -> tuple[Keys, int]:
    """Return the keys between two, and how many are below."""
    return keys[(keys >= first) & (keys <= last)], int(np.count_nonzero(keys < first))


@compiled
def _count_keys(keys: Any, counts: Any) -> None:
    """Count keys by their highest bits and how many there are, which the bits of a float tell."""
    for key in keys:
        counts[max((np.float64(key & EXACT).view(np.int64) >> KEY_BITS) - BEFORE_BINS, 0)] += 1


@compiled
def _copy_low(pairs: Any, last: Any, to: Any) -> None:
    """Copy the pairs with keys up to the last, for which there is just room: without a branch for each."""
    (keys, left, right), (low, low_left, low_right) = pairs, to
    n_low = place = 0
    while n_low < len(low):
        low[n_low], low_left[n_low], low_right[n_low] = keys[place], left[place], right[place]
        n_low += keys[place] <= last
        place += 1


@compiled
def _write_rows(pairs: Any, last: Any, rows: Any) -> None:
    """Write the two rows of the pairs with keys up to the last, for which there is just room, as one number."""
    keys, left, right = pairs
    n_low = place = 0
    while n_low < len(rows):
        rows[n_low] = np.int64(left[place]) << 32 | np.int64(right[place])
        n_low += keys[place] <= last
        place += 1
