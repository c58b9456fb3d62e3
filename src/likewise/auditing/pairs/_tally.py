"""Pairs measured and counted in compiled code, where the search hands them out: no list of gaps is ever made.

What a tally adds up are whole numbers, gaps in units far below their rounding, and of people it keeps the largest: so
no order of pairs, no batch and no number of threads changes any digit. The search knows people by places, and each of
its parts a short stretch of these only, so that a thread takes little memory of its own.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from threading import Lock, Semaphore
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._threads import share_work, threads_for
from likewise.auditing.pairs._gaps import GAP_TOLERANCE
from likewise.auditing.pairs._kernels import AT_ONCE as PAIRS_AT_ONCE
from likewise.auditing.pairs._kernels import LOW, LOWER, LOWER_BITS, find_reach, merge_people, no_pairs, tally_bunch
from likewise.auditing.pairs._meter import ScoredPeople
from likewise.auditing.pairs._selection import SEEDS
from likewise.auditing.pairs._summary import COUNTED, HISTOGRAMS, ROUNDED, PairSummary, SummaryShape
from likewise.comparable._internal import Bunch

Rows = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FINE_BITS: Final = 56  # of the largest gap: sums of such parts are right to the last digit of a float
MOST_WIDE: Final = 4  # bunches at a time that each know more than that share of all people: others wait
MOST_ROOM: Final = 1 << 18  # pairs that a thread keeps room for: 10 MB
AT_ONCE: Final = 1 << 16  # people whom one thread numbers


class KeptBunch(NamedTuple):
    """Pairs of a bunch that may be kept, and their keys."""

    keys: NDArray[np.uint64]
    left: Rows
    right: Rows


class _Sums:
    """What one thread adds up of all pairs."""

    def __init__(self, summary: PairSummary) -> None:
        shape = summary.shape
        self.by_label = np.zeros((shape.n_labels, 7), np.int64)  # pairs, flips, above; gaps, rank gaps in two parts
        self.most = np.zeros((shape.n_labels, 2))
        self.histograms = tuple(np.zeros_like(getattr(summary, name)) for name in HISTOGRAMS)
        self.transitions = np.zeros((max(shape.n_combinations, 1) ** 2, len(COUNTED) + 4), np.int64)
        self.few = tuple(np.empty((3, PAIRS_AT_ONCE))), tuple(np.empty((2, PAIRS_AT_ONCE), np.int64))
        self._room = _room_for(0)

    def room(self, n_pairs: int) -> tuple[NDArray[np.uint64], Rows]:
        """Return room for the keys and rows of pairs to keep.

        That for few pairs stays: memory that is taken and given back for each bunch keeps threads waiting.
        """
        if n_pairs > MOST_ROOM:
            return _room_for(n_pairs)
        if len(self._room[0]) < n_pairs:
            self._room = _room_for(n_pairs)
        return self._room

    def carry(self) -> None:
        """Keep sums of lower bits small, as hundreds of billions of pairs would run over."""
        for sums, first in ((self.by_label, 3), (self.transitions, len(COUNTED))):
            for upper in (first, first + 2):
                sums[:, upper] += sums[:, upper + 1] >> LOWER_BITS
                sums[:, upper + 1] &= LOWER


class PairTally:
    """Sum up pairs of people with one score each and no weights, as :class:`PairSummary` does, from several threads.

    A pair is given by the places of its two people, which are their numbers or lead to these.
    """

    def __init__(self, people: ScoredPeople, shape: SummaryShape) -> None:
        self.summary, self._shape = PairSummary(replace(shape, n_people=0)), shape  # people are added in the end
        self._people = people
        self._low_is_better = people.sign < 0
        # gaps and rank gaps in whole parts: the largest takes all bits
        self._bits = [FINE_BITS - math.frexp(largest)[1] for largest in (max(shape.largest, 2.0**-900), 1.0)]
        units = (math.ldexp(1.0, bits) for bits in self._bits)
        self._limits = (float(people.scale), shape.limit + GAP_TOLERANCE, self.summary.step, ROUNDED, *units)
        self._free: deque[_Sums] = deque()
        self._all: list[_Sums] = []
        self._may_be_wide, self._may_merge = Semaphore(MOST_WIDE), Lock()
        self._number(np.empty(0, np.int32), people)

    def start(self, rows: Rows | None) -> Callable[[Bunch], KeptBunch]:
        """Number people, before any pair is added: given the row of each number, or None where numbers are rows."""
        everybody = np.arange(len(self._people.labels), dtype=np.int32)
        self._number(everybody if rows is None else rows, self._people)
        return self.add

    def _number(self, rows: Rows, people: ScoredPeople) -> None:
        self._of_people = np.empty((len(rows), 2))
        no_pairs(self._of_people, self._of_people.view(np.int64))
        self._facts = np.empty((len(rows), 3))
        codes = self._facts.view(np.int64)[:, 2]
        above = ((people.labels, 32), (people.decisions, 40), (people.combinations, 48))

        def number(start: int) -> None:
            part = slice(start, start + AT_ONCE)
            some = rows[part]
            self._facts[part, 0], self._facts[part, 1] = people.scores.take(some), people.ranks.take(some)
            codes[part] = some
            for numbers, shift in above:
                if numbers is not None:
                    codes[part] |= numbers.take(some).astype(np.int64) << shift

        share_work(number, range(0, len(rows), AT_ONCE), n_threads=threads_for(len(rows)))

    def add(self, bunch: Bunch) -> KeptBunch:
        """Add pairs; to be called on any thread, and what it returns given to :meth:`keep` on one."""
        if not len(bunch.seconds):
            return NOBODY
        kept, shape = self.summary.kept, self.summary.shape
        draw = (np.uint64(shape.seed % SEEDS), np.uint64(kept.cutoff), bool(kept.most))
        start, stop = find_reach(bunch)
        is_wide = MOST_WIDE * (stop - start) > len(self._facts)
        with self._may_be_wide if is_wide else nullcontext():
            sums, of_places = self._take_free(), np.empty((stop - start, 2))
            people = (self._facts, self._facts.view(np.int64), of_places, of_places.view(np.int64))
            into = (sums.by_label, sums.most, *sums.histograms, sums.transitions)
            how = (self._low_is_better, max(shape.n_combinations, 1), start)
            room = sums.room(len(bunch.seconds))
            n_kept = tally_bunch(bunch, people, how, self._limits, draw, sums.few, into, room)
            with self._may_merge:
                known = self._of_people, self._of_people.view(np.int64)
                merge_people(start, bunch.people, *people[2:], *known, ROUNDED)
        sums.carry()
        found = KeptBunch(room[0][:n_kept].copy(), *room[1][:, :n_kept].copy())
        self._free.append(sums)
        return found

    def keep(self, bunch: KeptBunch) -> None:
        """Keep the pairs of a bunch that are to be kept."""
        if len(bunch.keys):
            self.summary.kept.take(*bunch)

    def finish(self) -> PairSummary:
        """Return the summary of all pairs added."""
        summary = self.summary
        for sums in self._all:
            for name, counts in zip(HISTOGRAMS, sums.histograms, strict=True):
                getattr(summary, name)[...] += counts
            np.maximum(summary.most, sums.most.T, out=summary.most)
        self._add_people()
        n_labels, n_sums = self.summary.shape.n_labels, len(COUNTED) + 4
        by_label = sum((one.by_label for one in self._all), np.zeros((n_labels, 7), np.int64))
        summary.n += by_label[:, 0]
        summary.weight += by_label[:, 0]
        summary.n_flips += by_label[:, 1]
        summary.n_above += by_label[:, 2]
        for place, bits in enumerate(self._bits):
            summary.totals[place] = [math.ldexp(join, -bits) for join in _joined(by_label[:, 3 + 2 * place :])]
        n_transitions = max(summary.shape.n_combinations, 1) ** 2
        moved = sum((one.transitions for one in self._all), np.zeros((n_transitions, n_sums), np.int64))
        keys = np.flatnonzero(moved[:, 0])
        lower, higher = (_joined(moved[keys, len(COUNTED) + at :]) for at in (0, 2))
        bits = self._bits[0]
        signed = [math.ldexp(up - down, -bits) for up, down in zip(higher, lower, strict=True)]
        absolute = [math.ldexp(up + down, -bits) for up, down in zip(higher, lower, strict=True)]
        summary.transitions.take(keys, moved[keys, : len(COUNTED)], np.column_stack([signed, absolute]))
        return summary

    def _take_free(self) -> _Sums:
        try:
            return self._free.pop()
        except IndexError:
            sums = _Sums(self.summary)
            self._all.append(sums)
            return sums

    def _add_people(self) -> None:
        """Put what is known of people into the summary, by row."""
        summary, counted, codes = self.summary, self._of_people.view(np.int64)[:, 1], self._facts.view(np.int64)[:, 2]
        summary.shape, n_people = self._shape, self._shape.n_people
        summary.n_pairs_of, summary.worst_gap_of = np.zeros(n_people, np.int64), np.full(n_people, -1.0)
        summary.partner_of = np.full(n_people, -1, np.int32)

        def add(start: int) -> None:
            part = slice(start, start + AT_ONCE)
            rows, some = codes[part] & LOW, counted[part]
            summary.n_pairs_of[rows] = some >> 32
            summary.worst_gap_of[rows] = self._of_people[part, 0]
            summary.partner_of[rows] = np.where(some > 0, some & LOW, -1)

        share_work(add, range(0, len(counted), AT_ONCE), n_threads=threads_for(len(counted)))


NOBODY: Final = KeptBunch(np.empty(0, np.uint64), *np.empty((2, 0), np.int32))


def _room_for(n_pairs: int) -> tuple[NDArray[np.uint64], Rows]:
    return np.empty(n_pairs, np.uint64), np.empty((2, n_pairs), np.int32)


def _joined(parts: Integers) -> list[int]:
    """Put sums of upper and lower bits, in the first two columns, together."""
    return [(int(upper) << int(LOWER_BITS)) + int(lower) for upper, lower in parts[:, :2]]
