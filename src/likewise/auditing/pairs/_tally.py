"""Pairs measured and counted in compiled code, where the search hands them out: no list of gaps is ever made.

What a tally adds up are whole numbers, gaps in units far below their rounding: so no order of pairs, no batch and no
number of threads changes any digit.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from threading import Semaphore
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.pairs._gaps import GAP_TOLERANCE
from likewise.auditing.pairs._kernels import LOWER, LOWER_BITS, tally_bunch
from likewise.auditing.pairs._meter import ScoredPeople
from likewise.auditing.pairs._selection import SEEDS
from likewise.auditing.pairs._summary import COUNTED, HISTOGRAMS, ROUNDED, PairSummary, SummaryShape
from likewise.comparable._internal import Bunch

Rows = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FINE_BITS: Final = 56  # of the largest gap: sums of such parts are right to the last digit of a float
MOST_TALLIES: Final = 4  # each knows everybody, and searching takes longer than counting: others wait


class Chosen(NamedTuple):
    """Pairs of a bunch that may be among the kept or the worst."""

    kept: tuple[NDArray[np.uint64], Rows, Rows]  # keys, left, right
    worst: tuple[Rows, Rows, Floats, Floats]  # left, right, gaps, rank gaps


class _Sums:
    """What one thread adds up; of people by place."""

    def __init__(self, summary: PairSummary, n_places: int) -> None:
        shape = summary.shape
        self.by_label = np.zeros((shape.n_labels, 7), np.int64)  # pairs, flips, above; gaps, rank gaps in two parts
        self.most = np.zeros((shape.n_labels, 2))
        self.histograms = tuple(np.zeros_like(getattr(summary, name)) for name in HISTOGRAMS)
        self.transitions = np.zeros((max(shape.n_combinations, 1) ** 2, len(COUNTED) + 4), np.int64)
        self.people = np.zeros((n_places, 2))  # the largest gap; as integers, how many pairs, and the partner's row
        self.people[:, 0] = -1.0

    def carry(self) -> None:
        """Keep sums of lower bits small, as hundreds of billions of pairs would run over."""
        for sums, first in ((self.by_label, 3), (self.transitions, len(COUNTED))):
            for upper in (first, first + 2):
                sums[:, upper] += sums[:, upper + 1] >> LOWER_BITS
                sums[:, upper + 1] &= LOWER


class PairTally:
    """Sum up pairs of people with one score each and no weights, as :class:`PairSummary` does, from several threads.

    A pair is given by the places of its two people.
    """

    def __init__(self, people: ScoredPeople, shape: SummaryShape) -> None:
        self.summary = PairSummary(shape)
        self._people = people
        # gaps and rank gaps in whole parts: the largest takes all bits
        self._bits = [FINE_BITS - math.frexp(largest)[1] for largest in (max(shape.largest, 2.0**-900), 1.0)]
        self._free: deque[_Sums] = deque()
        self._all: list[_Sums] = []
        self._may_start = Semaphore(MOST_TALLIES)
        self._place(np.empty(0, np.int32))

    def start(self, rows: Rows | None) -> Callable[[Bunch], Chosen]:
        """Put people in place, before any pair is added: given the row at each place, or None where places are rows."""
        self._place(np.arange(len(self._people.labels), dtype=np.int32) if rows is None else rows)
        return self.add

    def _place(self, rows: Rows) -> None:
        self._rows, values, people = rows, self._people.values, self._people
        self._facts = np.zeros((len(rows), 4))
        self._facts[:, 0], self._facts[:, 1] = values.scores[rows], values.ranks[rows]
        codes = self._facts.view(np.int64)
        codes[:, 2] = rows
        if values.combinations is not None:
            codes[:, 2] |= values.combinations[rows].astype(np.int64) << 32
        codes[:, 3] = people.labels[rows]
        if values.decisions is not None:
            codes[:, 3] |= values.decisions[rows].astype(np.int64) << 32

    def add(self, bunch: Bunch) -> Chosen:
        """Add pairs; to be called on any thread, and what it returns given to :meth:`choose` on one."""
        kept, worst, shape = self.summary.kept, self.summary.worst, self.summary.shape
        meter, n_pairs = self._people.meter, len(bunch.seconds)
        keys, chosen = np.empty(n_pairs, np.uint64), np.empty((2, n_pairs), np.int32)
        near, gaps = np.empty((2, n_pairs), np.int32), np.empty((2, n_pairs))
        gap_unit, rank_unit = (math.ldexp(1.0, bits) for bits in self._bits)
        step, limit = self.summary.step, shape.limit + GAP_TOLERANCE
        limits = (float(meter.scale), limit, step, ROUNDED, gap_unit, rank_unit, worst.least)
        draw = (np.uint64(shape.seed % SEEDS), np.uint64(kept.cutoff), bool(kept.most))
        with self._may_start:
            sums = self._take_free()
            people = (self._facts, self._facts.view(np.int64), sums.people, sums.people.view(np.int64))
            into = (sums.by_label, sums.most, *sums.histograms, sums.transitions)
            how = (meter.sign < 0, max(shape.n_combinations, 1))
            n_kept, n_near = tally_bunch(bunch, people, how, limits, draw, into, (keys, chosen, near, gaps))
            sums.carry()
            self._free.append(sums)
        return Chosen(
            (keys[:n_kept].copy(), *chosen[:, :n_kept].copy()), (*near[:, :n_near].copy(), *gaps[:, :n_near].copy())
        )

    def choose(self, chosen: Chosen) -> None:
        """Keep those of a bunch that are to be kept."""
        if len(chosen.kept[0]):
            self.summary.kept.take(*chosen.kept)
        if len(chosen.worst[0]):
            self.summary.worst.add(*chosen.worst)

    def finish(self) -> PairSummary:
        """Return the summary of all pairs added."""
        summary = self.summary
        for sums in self._all:
            for name, counts in zip(HISTOGRAMS, sums.histograms, strict=True):
                getattr(summary, name)[...] += counts
            np.maximum(summary.most, sums.most.T, out=summary.most)
            self._add_people(sums.people)
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
            return self._free.popleft()
        except IndexError:
            sums = _Sums(self.summary, len(self._rows))
            self._all.append(sums)
            return sums

    def _add_people(self, people: Floats) -> None:
        summary, rows, counted = self.summary, self._rows, people.view(np.int64)[:, 1]
        summary.n_pairs_of[rows] += counted >> 32
        worst = np.full(len(summary.worst_gap_of), -1.0)
        partners = np.full(len(worst), -1, np.int32)
        worst[rows] = people[:, 0]
        partners[rows] = np.where(counted > 0, counted & 0xFFFFFFFF, -1)
        summary.merge_people(worst, partners)


def _joined(parts: Integers) -> list[int]:
    """Put sums of upper and lower bits, in the first two columns, together."""
    return [(int(upper) << int(LOWER_BITS)) + int(lower) for upper, lower in parts[:, :2]]
