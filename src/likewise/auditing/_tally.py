"""What an audit keeps of any number of pairs: counts, sums and extremes that do not grow with the pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._gaps import GAP_TOLERANCE
from likewise.auditing._sketch import count_buckets, count_fine, fine_step
from likewise.auditing._tally_pairs import KeptPairs, WorstPairs
from likewise.auditing._tally_transitions import TransitionSums
from likewise.auditing._worst import DIGITS
from likewise.exceptions import LikewiseError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.integer[Any]]

ROUNDED: Final = 10.0**DIGITS  # gaps are compared in this unit: what differs less differs by rounding


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairBatch:
    """Hold some pairs, with everything that is measured of a single one.

    Parameters
    ----------
    left, right : array of int, shape (n_pairs,)
        Row positions in the whole table, ``left < right``.
    labels : array of int
        The code of the label that both have.
    gaps, rank_gaps : array of float
        Not negative.
    flips : array of bool, optional
        Whether the two get different decisions; None without decisions.
    signed : array of float, optional
        The right person's score minus the left one's, in the unit of the gaps; None where people have several scores.
    left_combination, right_combination : array of int, optional
        The number of each one's combination of sensitive values; None where ``signed`` is.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.auditing._internal import PairBatch
    >>> gaps = np.array([0.25])
    >>> len(PairBatch(left=np.array([0]), right=np.array([1]), labels=np.array([1]), gaps=gaps, rank_gaps=gaps))
    1
    """

    left: Rows
    right: Rows
    labels: NDArray[np.integer[Any]]
    gaps: Floats
    rank_gaps: Floats
    flips: NDArray[np.bool_] | None = None
    signed: Floats | None = None
    left_combination: NDArray[np.integer[Any]] | None = None
    right_combination: NDArray[np.integer[Any]] | None = None

    def __len__(self) -> int:
        return len(self.gaps)


@dataclass(frozen=True, slots=True, kw_only=True)
class TallyShape:
    """Say what a tally counts; tallies of one shape can be merged.

    Parameters
    ----------
    n_people : int
        Rows of the whole table; 0 to keep nothing of single people.
    n_labels : int
        Codes of labels are below it.
    n_combinations : int
        Combinations of sensitive values, numbered from 0.
    largest : float
        No gap is larger: the highest score minus the lowest, in the unit of the gaps.
    limit : float
        Gaps above it are counted.
    n_worst : int
        How many of the worst pairs to keep.
    n_kept : int
        How many pairs to keep as a uniform sample: those with the lowest :func:`pair_keys`.
    seed : int
        Of that sample.

    Examples
    --------
    >>> from likewise.auditing._internal import TallyShape
    >>> TallyShape(n_people=3, n_labels=2, n_combinations=2, largest=1.0, limit=0.1, n_worst=5, n_kept=10).seed
    0
    """

    n_people: int
    n_labels: int
    n_combinations: int
    largest: float
    limit: float
    n_worst: int
    n_kept: int
    seed: int = 0


class PairTally:
    """Sum up pairs that come in batches, in memory that grows with the people and not with the pairs.

    Batches in any order, added to any number of tallies that are merged in any order, give the same counts, maxima,
    quantiles, worst pairs and kept sample, and sums equal but for rounding.

    Parameters
    ----------
    shape : TallyShape
        What to count.

    Attributes
    ----------
    n, n_flips, n_above : array of int, shape (n_labels,)
        Pairs of each label, those with two decisions, those with a gap above the limit.
    totals, most : array of float, shape (2, n_labels)
        The sum and the maximum of gaps (first row) and of rank gaps (second).
    gap_buckets, rank_gap_buckets : array of int, shape (n_labels, n_buckets)
        Counts in buckets of a relative width of 1/512, from which quantiles are read within 0.1 %.
    gap_bins : array of int, shape (n_labels, n_bins)
        Counts in equal bins of a fine round width, for charts.
    n_pairs_of, worst_gap_of, partner_of : array, shape (n_people,)
        In how many pairs each person is, the largest gap of them (-1 without any), and with whom; of several, the
        earliest row.
    transitions : TransitionSums
        Who of two combinations of sensitive values is scored lower, and by how much.
    worst : WorstPairs
        The pairs with the largest gaps.
    kept : KeptPairs
        The uniform sample.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.auditing._internal import PairBatch, PairTally, TallyShape
    >>> shape = TallyShape(n_people=3, n_labels=1, n_combinations=2, largest=1.0, limit=0.1, n_worst=5, n_kept=10)
    >>> gaps = np.array([0.25, 0.5])
    >>> batch = PairBatch(left=np.array([0, 0]), right=np.array([1, 2]), labels=np.array([0, 0]), gaps=gaps,
    ...                   rank_gaps=gaps)
    >>> tally = PairTally(shape)
    >>> tally.add(batch)
    >>> tally.n, tally.totals[0], tally.worst_gap_of
    (array([2]), array([0.75]), array([0.5 , 0.25, 0.5 ]))
    """

    def __init__(self, shape: TallyShape) -> None:
        self.shape = shape
        n_labels = shape.n_labels
        self.n, self.n_flips, self.n_above = (np.zeros(n_labels, np.int64) for _ in range(3))
        self.totals, self.most = np.zeros((2, n_labels)), np.zeros((2, n_labels))
        self.gap_buckets = np.zeros((n_labels, count_buckets(shape.largest)), np.int64)
        self.rank_gap_buckets = np.zeros((n_labels, count_buckets(1.0)), np.int64)
        self.gap_bins = np.zeros((n_labels, count_fine(shape.largest)), np.int64)
        self.n_pairs_of = np.zeros(shape.n_people, np.int64)
        self.worst_gap_of = np.full(shape.n_people, -1.0)
        self.partner_of = np.full(shape.n_people, -1, np.int32)
        self.transitions = TransitionSums(shape.n_combinations)
        self.worst = WorstPairs(shape.n_worst)
        self.kept = KeptPairs(shape.n_kept, shape.seed)

    @property
    def n_total(self) -> int:
        """All pairs."""
        return int(self.n.sum())

    @property
    def step(self) -> float:
        """How wide a fine bin is."""
        return fine_step(self.shape.largest)

    def add(self, batch: PairBatch) -> None:
        """Add pairs that are in no batch added before."""
        from likewise.auditing._tally_kernel import add_pairs

        left, right, labels = (np.ascontiguousarray(one, np.int64) for one in (batch.left, batch.right, batch.labels))
        gaps, rank_gaps = (np.ascontiguousarray(one, np.float64) for one in (batch.gaps, batch.rank_gaps))
        flips = np.zeros(len(gaps), np.bool_) if batch.flips is None else np.ascontiguousarray(batch.flips, np.bool_)
        totals = np.zeros_like(self.totals)  # a sum of sums: one by one, billions of gaps would lose digits
        add_pairs(
            (labels, gaps, gaps.view(np.int64), rank_gaps, rank_gaps.view(np.int64), flips),
            (self.shape.limit + GAP_TOLERANCE, self.step),
            (self.n, self.n_flips, self.n_above, totals, self.most),
            (self.gap_buckets, self.rank_gap_buckets, self.gap_bins),
        )
        self.totals += totals
        if self.shape.n_people:
            from likewise.auditing._tally_kernel import add_people

            add_people(left, right, gaps, ROUNDED, self.n_pairs_of, self.worst_gap_of, self.partner_of)
        if batch.signed is not None:
            self.transitions.add(batch.left_combination, batch.right_combination, batch.signed, batch.flips)
        self.worst.add(left, right, gaps, rank_gaps)
        self.kept.add(left, right)

    def merge(self, other: PairTally) -> None:
        """Add everything that another tally of the same shape has counted."""
        if other.shape != self.shape:
            raise LikewiseError("Two tallies of different shapes cannot be merged. Make both from one TallyShape.")
        for name in ("n", "n_flips", "n_above", "totals", "gap_buckets", "rank_gap_buckets", "gap_bins", "n_pairs_of"):
            getattr(self, name)[...] += getattr(other, name)
        np.maximum(self.most, other.most, out=self.most)
        self.merge_people(other.worst_gap_of, other.partner_of)
        self.transitions.merge(other.transitions)
        self.worst.merge(other.worst)
        self.kept.merge(other.kept)

    def merge_people(self, worst: Floats, partners: NDArray[np.int32]) -> None:
        """Take over the worst gap and partner of those for whom they are worse than what is known."""
        here, there = np.rint(self.worst_gap_of * ROUNDED), np.rint(worst * ROUNDED)
        is_partner = (there > here) | ((there == here) & (partners < self.partner_of))
        self.partner_of[is_partner] = partners[is_partner]
        np.maximum(self.worst_gap_of, worst, out=self.worst_gap_of)
