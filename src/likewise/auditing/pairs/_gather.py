"""The pairs of an audit: all of them, a sample, or where they are too many to keep, a summary and a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.pairs._meter import ScoredPeople
from likewise.auditing.pairs._summary import PairSummary, SummaryShape
from likewise.auditing.question._scores import Scores
from likewise.auditing.question._weights import effective_size
from likewise.comparable import Comparability, ComparablePairs, iter_pairs, sample_pairs
from likewise.comparable._internal import SHIFT_TOLERANCE
from likewise.schema import CodedTable

Progress = Callable[[str, float], None]

MOST_PROBED: Final = 20_000
FEWEST_PROBED: Final = 1_000
MOST_LOOKED_AT: Final = 200_000_000  # pairs of the probed people: where everybody has many, fewer are probed


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """The pairs that were kept, in order, and what is known of all."""

    pairs: ComparablePairs  # all, or a uniform sample of them
    has_partner: NDArray[np.bool_]  # who is in any of all pairs
    summary: PairSummary | None = None  # of all pairs, where the kept ones are a sample
    probed: NDArray[np.int64] | None = None  # whom has_partner is about, where it is not everybody

    @classmethod
    def from_summary(cls, summary: PairSummary, table: CodedTable) -> Gathered:
        """Take the sample out of a summary, which is not needed where the sample is all there is."""
        kept = summary.kept.to_columns()
        pairs = ComparablePairs(kept["left"], kept["right"], table, table, summary.n_total)
        return cls(pairs, summary.n_pairs_of > 0, summary if len(pairs) < summary.n_total else None)

    @property
    def n_total(self) -> int:
        """All comparable pairs, kept or not; an estimate where they were not counted."""
        return int(self.pairs.n_total or 0)

    @property
    def n_total_error(self) -> float | None:
        """The standard error of that number; None where it is exact."""
        return self.pairs.n_total_error

    @property
    def is_complete(self) -> bool:
        """Whether all pairs were measured."""
        return self.summary is not None or self.pairs.is_complete

    @property
    def n_measured(self) -> int:
        """How many pairs the measures are computed from."""
        return len(self.pairs) if self.summary is None else self.n_total

    def share_by_person(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return the share of the measured pairs that each person is in, by the weights of the pairs."""
        if self.summary is not None:
            shares: NDArray[np.float64] = self.summary.weight_of / float(self.summary.weight.sum())
            return shares
        left, right, n_people = self.pairs.left, self.pairs.right, len(self.pairs.left_table)
        times = None if weights is None else weights[left] * weights[right]
        both = np.bincount(left, times, n_people) + np.bincount(right, times, n_people)
        return both / (len(left) if times is None else float(times.sum()))

    def effective_size(self, weights: NDArray[np.float64] | None) -> float:
        """Return how many pairs of equal weight would be worth as much as the measured ones."""
        if weights is None:
            return float(self.n_measured)
        if self.summary is not None:
            total, squares = float(self.summary.weight.sum()), float(self.summary.weight_squares.sum())
            return total**2 / squares if squares > 0 else 0.0
        return effective_size(weights[self.pairs.left] * weights[self.pairs.right])


def gather_pairs(
    chunks: Iterable[ComparablePairs],
    table: CodedTable,
    people: ScoredPeople,
    shape: SummaryShape,
    progress: Callable[[float], None],
) -> Gathered:
    """Keep pairs while there are no more than ``shape.n_kept``; from then on, sum them up as they come by."""
    kept: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    n_total = 0
    summary: PairSummary | None = None
    for chunk in chunks:
        n_total += len(chunk)
        kept.append((chunk.left, chunk.right))
        if n_total > shape.n_kept:
            summary = PairSummary(shape) if summary is None else summary
            for rows in kept:
                for batch in people.measure_parts(*rows):
                    summary.add(batch)
            kept.clear()
        if len(chunk):
            progress((int(chunk.left[-1]) + 1) / len(table))
    if summary is not None:
        return Gathered.from_summary(summary, table)
    left, right = (np.concatenate([part[side] for part in kept] or [np.empty(0, np.int32)]) for side in (0, 1))
    return Gathered(ComparablePairs(left, right, table, table, n_total), _find_in(left, right, len(table)))


def leave_out_by_scores(
    chunks: Iterable[ComparablePairs], rule: Comparability, scores: Scores
) -> Iterator[ComparablePairs]:
    """Leave out pairs beyond ``rule.score_band``, and those whose favoured person is better by ``rule.no_better``.

    Favoured is the person with the higher score, or the lower where that is favourable; of two equal scores neither is,
    and the pair stays.
    """
    marginal = np.ones(len(scores.values), np.bool_)
    if rule.score_band is not None and scores.threshold is not None:
        marginal = np.abs(scores.values - scores.threshold) <= rule.score_band + SHIFT_TOLERANCE
    for chunk in chunks:
        is_marginal = marginal[chunk.left] & marginal[chunk.right]
        left, right, table = chunk.left[is_marginal], chunk.right[is_marginal], chunk.left_table
        kept = np.ones(len(left), np.bool_)
        if rule.no_better:
            ahead = scores.sign * (scores.values[left] - scores.values[right])
            for favoured, other, is_favoured in ((left, right, ahead > 0), (right, left, ahead < 0)):
                places = np.flatnonzero(is_favoured)
                kept[places] = rule.holds_for(table[favoured[places]], table[other[places]])
        yield ComparablePairs(left[kept], right[kept], table, chunk.right_table)


def find_among(
    counting: NDArray[np.bool_], table: CodedTable, search: Callable[[CodedTable], Iterable[ComparablePairs]]
) -> Iterator[ComparablePairs]:
    """Search the people who count, and yield pairs of rows of the whole table."""
    rows = np.flatnonzero(counting).astype(np.int32)
    for chunk in search(table if len(rows) == len(table) else table[rows]):
        yield _name_rows(chunk, rows, table)


def leave_out_people(chunks: Iterable[ComparablePairs], counting: NDArray[np.bool_]) -> Iterator[ComparablePairs]:
    """Leave out pairs of people who do not count."""
    for chunk in chunks:
        kept = counting[chunk.left] & counting[chunk.right]
        yield ComparablePairs(chunk.left[kept], chunk.right[kept], chunk.left_table, chunk.right_table)


def _name_rows(pairs: ComparablePairs, rows: NDArray[np.int32], table: CodedTable) -> ComparablePairs:
    """Return pairs among some rows of a table as pairs of the table."""
    return replace(pairs, left=rows[pairs.left], right=rows[pairs.right], left_table=table, right_table=table)


def draw_pairs(
    table: CodedTable,
    rule: Comparability,
    *,
    most: int,
    seed: int,
    how: dict[str, Any],
    counting: NDArray[np.bool_] | None = None,
) -> Gathered:
    """Draw no more than ``most`` pairs without listing or counting all, and look for partners of some people.

    Only people who are ``counting`` are drawn and looked for; by default all.
    """
    rows = np.arange(len(table), dtype=np.int32) if counting is None else np.flatnonzero(counting).astype(np.int32)
    among = table if len(rows) == len(table) else table[rows]
    pairs = sample_pairs(among, rule, n=most, random_state=seed, total="estimate", **how)
    named = _name_rows(pairs, rows, table)
    if pairs.is_complete:
        return Gathered(named, _find_in(named.left, named.right, len(table)))
    probed = _choose_people(pairs, seed)
    has_partner = _probe(among, rule, probed, how)
    if len(probed) < len(among):
        return Gathered(named, has_partner, probed=rows[probed].astype(np.int64))
    of_all = np.zeros(len(table), np.bool_)
    of_all[rows] = has_partner
    return Gathered(named, of_all)


def _find_in(left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]], n_people: int) -> NDArray[np.bool_]:
    has_partner = np.zeros(n_people, np.bool_)
    has_partner[left] = True
    has_partner[right] = True
    return has_partner


def _choose_people(pairs: ComparablePairs, seed: int) -> NDArray[np.int64]:
    n_people = len(pairs.left_table)
    n_partners = 2 * int(pairs.n_total or 0) / max(n_people, 1)
    n_probed = min(n_people, MOST_PROBED, max(FEWEST_PROBED, int(MOST_LOOKED_AT / max(n_partners, 1.0))))
    return np.sort(np.random.default_rng([seed, 1]).choice(n_people, n_probed, replace=False))


def _probe(table: CodedTable, rule: Comparability, probed: NDArray[np.int64], how: dict[str, Any]) -> NDArray[np.bool_]:
    """Find out who of some people is comparable to anybody else."""
    has_partner = np.zeros(len(probed), np.bool_)
    for chunk in iter_pairs(table[probed], table, rule, **how):
        is_other = probed[chunk.left] != chunk.right
        has_partner[chunk.left[is_other]] = True
    return has_partner
