"""The pairs of an audit: all of them, a sample, or where they are too many to keep, a summary and a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.pairs._meter import AT_ONCE, ScoredPeople
from likewise.auditing.pairs._summary import PairSummary, SummaryShape
from likewise.auditing.question._scores import Scores
from likewise.auditing.question._weights import effective_size
from likewise.comparable import Comparability, ComparablePairs, iter_pairs, sample_pairs
from likewise.comparable._internal import SHIFT_TOLERANCE, join_chunks, visit_pairs
from likewise.schema import CodedTable

Progress = Callable[[str, float], None]
Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]

LARGE: Final = 100_000  # rows from which on pairs are tallied in compiled code: compiling it takes seconds, once
MOST_TRANSITIONS: Final = 1 << 16  # with more, a table of them all would be too large
MOST_LABELS: Final = 1 << 8  # a tally has a byte for each person's label
MOST_REDRAWN: Final = 10  # times as many pairs as asked for, where most are left out by their scores
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
        pairs = ComparablePairs(*summary.kept.to_rows(), table, table, summary.n_total)
        summary.kept.clear()
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
    n_total = n_kept = 0
    summary: PairSummary | None = None
    for chunk in chunks:
        n_total, n_kept = n_total + len(chunk), n_kept + len(chunk)
        kept.append((chunk.left, chunk.right))
        if n_total > shape.n_kept:
            summary = PairSummary(shape) if summary is None else summary
            left, right = join_chunks(kept)
            # whole parts only: however pairs are cut, which depends on memory and threads, the same are added up first
            n_kept %= AT_ONCE
            n_whole = len(left) - n_kept
            for batch in people.measure_parts(left[:n_whole], right[:n_whole]):
                summary.add(batch)
            kept.append((left[n_whole:].copy(), right[n_whole:].copy()))
        if len(chunk):
            progress((int(chunk.left[-1]) + 1) / len(table))
    left, right = join_chunks(kept)
    if summary is not None:
        for batch in people.measure_parts(left, right):
            summary.add(batch)
        return Gathered.from_summary(summary, table)
    return Gathered(ComparablePairs(left, right, table, table, n_total), _find_in(left, right, len(table)))


def can_tally(people: ScoredPeople) -> bool:
    """Return whether pairs are tallied in compiled code: of many people with one score each and no weights."""
    values, n_transitions = people.values, len(people.combinations) ** 2
    is_plain = values.scores.ndim == 1 and values.weights is None and people.n_labels <= MOST_LABELS
    return is_plain and len(values.scores) >= LARGE and n_transitions <= MOST_TRANSITIONS


def tally_pairs(
    table: CodedTable,
    rule: Comparability,
    people: ScoredPeople,
    shape: SummaryShape,
    progress: Callable[[float], None],
    memory_limit: int | str | None = None,
) -> Gathered:
    """Sum up all pairs where the search finds them, in no order, and keep a sample of them, or all if they are few.

    What is found is what :func:`gather_pairs` finds.
    """
    from likewise.auditing.pairs._tally import PairTally

    tally = PairTally(people, shape)
    for share, near in visit_pairs(table, rule, tally.start, memory_limit=memory_limit):
        tally.choose(near)
        progress(share)
    return Gathered.from_summary(tally.finish(), table)


@dataclass(frozen=True, slots=True)
class ScoreTest:
    """Which pairs stay by their scores: those within the band whose favoured person is no better.

    Favoured is the person with the higher score, or the lower where that is favourable; of two equal scores neither is,
    and the pair stays.
    """

    rule: Comparability
    threshold: float | None
    sign: int  # -1 where low scores are favourable

    @classmethod
    def of(cls, rule: Comparability, scores: Scores) -> ScoreTest | None:
        """Return the test of a rule, which is none where it asks nothing of scores."""
        return cls(rule, scores.threshold, scores.sign) if rule.asks_scores else None

    def is_marginal(self, scores: Floats) -> NDArray[np.bool_]:
        """Return whose score is within the band around the threshold."""
        if self.rule.score_band is None or self.threshold is None:
            return np.ones(len(scores), np.bool_)
        is_near: NDArray[np.bool_] = np.abs(scores - self.threshold) <= self.rule.score_band + SHIFT_TOLERANCE
        return is_near

    def is_fair(self, scores: tuple[Floats, Floats], people: tuple[Side, Side]) -> NDArray[np.bool_]:
        """Return in which pairs the favoured person is no better, by the scores and the people of their two sides."""
        kept = np.ones(len(scores[0]), np.bool_)
        if self.rule.no_better:
            ahead = self.sign * (scores[0] - scores[1])
            for (favoured, other), is_favoured in ((people, ahead > 0), (people[::-1], ahead < 0)):
                places = np.flatnonzero(is_favoured)
                kept[places] = self.rule.holds_for(favoured.take(places), other.take(places))
        return kept


def find_among(
    counting: NDArray[np.bool_], table: CodedTable, search: Callable[[CodedTable], Iterable[ComparablePairs]]
) -> Iterator[ComparablePairs]:
    """Search the people who count, and yield pairs of rows of the whole table."""
    if counting.all():
        yield from search(table)
        return
    rows = np.flatnonzero(counting).astype(np.int32)
    for chunk in search(table[rows]):
        yield _name_rows(chunk, rows, table)


def leave_out_people(chunks: Iterable[ComparablePairs], counting: NDArray[np.bool_]) -> Iterator[ComparablePairs]:
    """Leave out pairs of people who do not count."""
    for chunk in chunks:
        kept = counting[chunk.left] & counting[chunk.right]
        yield ComparablePairs(chunk.left[kept], chunk.right[kept], chunk.left_table, chunk.right_table)


def _name_rows(pairs: ComparablePairs, rows: NDArray[np.int32], table: CodedTable) -> ComparablePairs:
    """Return pairs among some rows of a table as pairs of the table."""
    return replace(pairs, left=rows[pairs.left], right=rows[pairs.right], left_table=table, right_table=table)


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The left or the right people of some pairs: their table, and each one's row in it."""

    table: CodedTable
    rows: Rows

    def take(self, places: NDArray[np.int64]) -> CodedTable:
        """Return the people of some of the pairs."""
        return self.table[self.rows[places]]


def leave_out_by_scores(
    chunks: Iterable[ComparablePairs], test: ScoreTest, left_scores: Floats, right_scores: Floats
) -> Iterator[ComparablePairs]:
    """Leave out pairs by their scores, given those of the rows of the left and of the right table."""
    near_left, near_right = test.is_marginal(left_scores), test.is_marginal(right_scores)
    for chunk in chunks:
        is_near = near_left[chunk.left] & near_right[chunk.right]
        left, right = chunk.left[is_near], chunk.right[is_near]
        people = Side(chunk.left_table, left), Side(chunk.right_table, right)
        kept = test.is_fair((left_scores[left], right_scores[right]), people)
        yield ComparablePairs(left[kept], right[kept], chunk.left_table, chunk.right_table)


def draw_pairs(
    table: CodedTable, rule: Comparability, scores: Scores, *, most: int, seed: int, memory_limit: int | str | None
) -> Gathered:
    """Draw no more than ``most`` pairs without listing or counting all, and look for partners of some people.

    Only people who count are drawn and looked for.
    """
    rows = np.flatnonzero(scores.counting).astype(np.int32)
    among, values = (table, scores.values) if len(rows) == len(table) else (table[rows], scores.values[rows])
    test = ScoreTest.of(rule, scores)
    if test is None:
        pairs = sample_pairs(among, rule, n=most, random_state=seed, total="estimate", memory_limit=memory_limit)
        n_searched = int(pairs.n_total or 0)
    else:
        pairs, n_searched = _draw_by_scores(among, test, values, most, seed, memory_limit)
    named = _name_rows(pairs, rows, table)
    if pairs.is_complete:
        return Gathered(named, _find_in(named.left, named.right, len(table)))
    probed = _choose_people(len(among), n_searched, seed)
    has_partner = _probe(among, rule, probed, test, values, memory_limit)
    if len(probed) < len(among):
        return Gathered(named, has_partner, probed=rows[probed].astype(np.int64))
    of_all = np.zeros(len(table), np.bool_)
    of_all[rows] = has_partner
    return Gathered(named, of_all)


def _draw_by_scores(
    table: CodedTable, test: ScoreTest, values: Floats, most: int, seed: int, memory_limit: int | str | None
) -> tuple[ComparablePairs, int]:
    """Draw pairs of the people within the band, and leave out those whose favoured person is better.

    Where that leaves fewer than asked for, more are drawn once, as many as should suffice: pairs that are left of a
    uniform draw are a uniform draw of those that hold. Also return how many there are before any are left out.
    """
    near = np.flatnonzero(test.is_marginal(values)).astype(np.int32)
    people, scores = table[near], values[near]

    def draw(n: int) -> tuple[ComparablePairs, ComparablePairs]:
        drawn = sample_pairs(people, test.rule, n=n, random_state=seed, total="estimate", memory_limit=memory_limit)
        return drawn, next(leave_out_by_scores([drawn], test, scores, scores))

    drawn, kept = draw(most)
    if len(kept) < most and len(kept) and not drawn.is_complete:
        drawn, kept = draw(min(int(1.1 * most * len(drawn) / len(kept)) + 100, MOST_REDRAWN * most))
    share = len(kept) / max(len(drawn), 1)
    left, right, n_all = near[kept.left], near[kept.right], int(drawn.n_total or 0)
    if len(kept) > most:
        chosen = np.sort(np.random.default_rng([seed, 2]).choice(len(kept), most, replace=False))
        left, right = left[chosen], right[chosen]
    if drawn.is_complete:
        return ComparablePairs(left, right, table, table, len(kept)), n_all
    of_share = n_all * float(np.sqrt(share * (1 - share) / max(len(drawn), 1)))
    error = float(np.hypot(of_share, share * (drawn.n_total_error or 0.0)))
    return ComparablePairs(left, right, table, table, round(n_all * share), error), n_all


def _find_in(left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]], n_people: int) -> NDArray[np.bool_]:
    has_partner = np.zeros(n_people, np.bool_)
    has_partner[left] = True
    has_partner[right] = True
    return has_partner


def _choose_people(n_people: int, n_pairs: int, seed: int) -> NDArray[np.int64]:
    n_partners = 2 * n_pairs / max(n_people, 1)
    n_probed = min(n_people, MOST_PROBED, max(FEWEST_PROBED, int(MOST_LOOKED_AT / max(n_partners, 1.0))))
    return np.sort(np.random.default_rng([seed, 1]).choice(n_people, n_probed, replace=False))


def _probe(
    table: CodedTable,
    rule: Comparability,
    probed: NDArray[np.int64],
    test: ScoreTest | None,
    values: Floats,
    memory_limit: int | str | None,
) -> NDArray[np.bool_]:
    """Find out who of some people is comparable to anybody else."""
    has_partner = np.zeros(len(table), np.bool_)
    if test is None:
        asked, others = probed, np.arange(len(table))
        chunks: Iterable[ComparablePairs] = iter_pairs(table[probed], table, rule, memory_limit=memory_limit)
    else:
        near = test.is_marginal(values)
        asked, others = probed[near[probed]], np.flatnonzero(near)
        chunks = iter_pairs(table[asked], table[others], rule, memory_limit=memory_limit)
        chunks = leave_out_by_scores(chunks, test, values[asked], values[others])
    for chunk in chunks:
        is_other = asked[chunk.left] != others[chunk.right]
        has_partner[asked[chunk.left[is_other]]] = True
    return has_partner[probed]
