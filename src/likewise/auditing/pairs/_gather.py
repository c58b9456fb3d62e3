"""The pairs of an audit, summed up as they come, and kept: all of them or, where they are too many, a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.pairs._meter import AT_ONCE, ScoredPeople
from likewise.auditing.pairs._summary import PairSummary, SummaryShape
from likewise.auditing.question._question import Question
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
    """The pairs that were kept, in order, and the sums of all that were measured."""

    pairs: ComparablePairs  # all, or a uniform sample of them
    sums: PairSummary
    has_partner: NDArray[np.bool_]  # who is in any of all pairs
    probed: NDArray[np.int64] | None = None  # whom has_partner is about, where it is not everybody

    @classmethod
    def from_summary(cls, sums: PairSummary, table: CodedTable) -> Gathered:
        """Take the kept pairs out of a summary."""
        pairs = ComparablePairs(*sums.kept.to_rows(), table, table, sums.n_total)
        sums.kept.clear()
        return cls(pairs, sums, sums.n_pairs_of > 0)

    @property
    def summary(self) -> PairSummary | None:
        """The sums, where the kept pairs are a sample of those measured."""
        return self.sums if len(self.pairs) < self.sums.n_total else None

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
        return self.sums.n_total == self.n_total and self.n_total_error is None

    @property
    def n_measured(self) -> int:
        """How many pairs the measures are computed from."""
        return self.sums.n_total

    def share_by_person(self) -> NDArray[np.float64]:
        """Return the share of the measured pairs that each person is in, by the weights of the pairs."""
        shares: NDArray[np.float64] = self.sums.weight_of / float(self.sums.weight.sum())
        return shares

    @property
    def effective_size(self) -> float:
        """How many pairs of equal weight would be worth as much as the measured ones."""
        if not self.sums.shape.is_weighted:
            return float(self.n_measured)
        total, squares = float(self.sums.weight.sum()), float(self.sums.weight_squares.sum())
        return total**2 / squares if squares > 0 else 0.0


def gather_pairs(
    chunks: Iterable[ComparablePairs],
    table: CodedTable,
    people: ScoredPeople,
    shape: SummaryShape,
    progress: Callable[[float], None],
) -> Gathered:
    """Sum up pairs as they come by, and keep them, or a sample of ``shape.n_kept``."""
    sums = PairSummary(shape)
    held: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    n_held = 0
    for chunk in chunks:
        held.append((chunk.left, chunk.right))
        n_held += len(chunk)
        # whole parts only: however pairs are cut, which depends on memory and threads, the same are added up first
        n_whole = n_held - n_held % AT_ONCE
        if n_whole:
            left, right = join_chunks(held)
            sums.add_parts(people.measure_parts(left[:n_whole], right[:n_whole]))
            held, n_held = [(left[n_whole:].copy(), right[n_whole:].copy())], n_held - n_whole
        if len(chunk):
            progress((int(chunk.left[-1]) + 1) / len(table))
    sums.add_parts(people.measure_parts(*join_chunks(held)))
    return Gathered.from_summary(sums, table)


def can_tally(people: ScoredPeople) -> bool:
    """Return whether pairs are tallied in compiled code: of many people with one score each and no weights."""
    is_plain = people.scores.ndim == 1 and people.weights is None and people.n_labels <= MOST_LABELS
    return is_plain and len(people.scores) >= LARGE and len(people.groups) ** 2 <= MOST_TRANSITIONS


def tally_pairs(
    table: CodedTable,
    rule: Comparability,
    people: ScoredPeople,
    shape: SummaryShape,
    progress: Callable[[float], None],
    memory_limit: int | str | None = None,
) -> Gathered:
    """Sum up pairs where the search finds them, in no order; what is found is what :func:`gather_pairs` finds."""
    from likewise.auditing.pairs._tally import PairTally

    tally = PairTally(people, shape)
    for share, kept in visit_pairs(table, rule, tally.start, memory_limit=memory_limit):
        tally.keep(kept)
        progress(share)
    return Gathered.from_summary(tally.finish(), table)


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """What a rule asks of people beside their columns, one entry for each."""

    is_near: NDArray[np.bool_]  # whether the score is within the band of the threshold
    controls: NDArray[np.int64]  # one bit for each sensitive column that has the control value

    @classmethod
    def of(cls, question: Question, rule: Comparability) -> Standing:
        """Find out who is near the threshold, and who is a control."""
        scores, controls = question.scores, question.controls
        if rule.score_band is None or scores.threshold is None:
            return cls(np.ones(len(controls), np.bool_), controls)
        return cls(np.abs(scores.values - scores.threshold) <= rule.score_band + SHIFT_TOLERANCE, controls)

    def take(self, rows: Rows) -> Standing:
        """Return what is asked of some people."""
        return Standing(self.is_near[rows], self.controls[rows])


@dataclass(frozen=True, slots=True)
class PairTest:
    """Which comparable pairs stay: those whose control is near the threshold and no better than the target.

    Where nobody is the control, either of the two is to be near; and only same-group pairs, one of whom is no better
    than the other, stay by ``no_better``. In the mirror image, the target is no better.
    """

    rule: Comparability
    is_mirrored: bool = False

    def keeps(self, standing: tuple[Standing, Standing], people: tuple[Side, Side]) -> NDArray[np.bool_]:
        """Return which pairs stay, given the people on their two sides."""
        left, right = standing
        leads = (left.controls & ~right.controls) != 0, (right.controls & ~left.controls) != 0
        nobody = ~(leads[0] | leads[1])
        kept: NDArray[np.bool_] = (left.is_near & (leads[0] | nobody)) | (right.is_near & (leads[1] | nobody))
        if not self.rule.no_better:
            return kept
        is_fair = np.zeros(len(kept), np.bool_)
        for (control, target), is_control in zip((people, people[::-1]), leads, strict=True):
            places = np.flatnonzero(kept & (is_control | (self.rule.sensitive_differs == "none")))
            one, other = (target, control) if self.is_mirrored else (control, target)
            is_fair[places] |= self.rule.holds_for(one.take(places), other.take(places))
        return is_fair

    def leave_out(self, pairs: ComparablePairs, left: Standing, right: Standing) -> ComparablePairs:
        """Leave out the other pairs, given what is asked of the rows of the left and of the right table."""
        people = Side(pairs.left_table, pairs.left), Side(pairs.right_table, pairs.right)
        kept = self.keeps((left.take(pairs.left), right.take(pairs.right)), people)
        return ComparablePairs(pairs.left[kept], pairs.right[kept], pairs.left_table, pairs.right_table)


def leave_out_pairs(
    chunks: Iterable[ComparablePairs], question: Question, rule: Comparability, *, is_mirrored: bool = False
) -> Iterable[ComparablePairs]:
    """Leave out pairs of a question's people as a rule asks of its audit."""
    if not rule.asks_more:
        return chunks
    test, standing = PairTest(rule, is_mirrored), Standing.of(question, rule)
    return (test.leave_out(chunk, standing, standing) for chunk in chunks)


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


def draw_pairs(
    question: Question,
    rule: Comparability,
    people: ScoredPeople,
    shape: SummaryShape,
    *,
    memory_limit: int | str | None,
    is_mirrored: bool = False,
) -> Gathered:
    """Draw no more than ``n_kept`` pairs without listing or counting all, and look for partners of some people.

    Only people who count are drawn and looked for.
    """
    table, most, seed = question.table, shape.n_kept, shape.seed
    rows = np.flatnonzero(question.scores.counting).astype(np.int32)
    among, test, standing = table if len(rows) == len(table) else table[rows], None, None
    if not rule.asks_more:
        pairs = sample_pairs(among, rule, n=most, random_state=seed, total="estimate", memory_limit=memory_limit)
        n_searched = int(pairs.n_total or 0)
    else:
        test, standing = PairTest(rule, is_mirrored), Standing.of(question, rule).take(rows)
        pairs, n_searched = _draw_and_leave_out(among, test, standing, most, seed, memory_limit)
    named, sums = _name_rows(pairs, rows, table), PairSummary(replace(shape, n_kept=0))
    sums.add_parts(people.measure_parts(named.left, named.right))
    if pairs.is_complete:
        return Gathered(named, sums, sums.n_pairs_of > 0)
    probed = _choose_people(len(among), n_searched, seed)
    chunks: Iterable[ComparablePairs] = iter_pairs(among[probed], among, rule, memory_limit=memory_limit)
    if test is not None and standing is not None:
        asked = standing.take(probed)
        chunks = (test.leave_out(chunk, asked, standing) for chunk in chunks)
    has_partner = np.zeros(len(among), np.bool_)
    for chunk in chunks:
        asked_rows = probed[chunk.left]
        has_partner[asked_rows[asked_rows != chunk.right]] = True
    if len(probed) < len(among):
        return Gathered(named, sums, has_partner[probed], probed=rows[probed].astype(np.int64))
    of_all = np.zeros(len(table), np.bool_)
    of_all[rows] = has_partner
    return Gathered(named, sums, of_all)


def _draw_and_leave_out(
    table: CodedTable, test: PairTest, standing: Standing, most: int, seed: int, memory_limit: int | str | None
) -> tuple[ComparablePairs, int]:
    """Draw pairs, and leave out those that do not stay.

    Where that leaves fewer than asked for, more are drawn once, as many as should suffice: pairs that are left of a
    uniform draw are a uniform draw of those that hold. Also return how many there are before any are left out.
    """

    def draw(n: int) -> tuple[ComparablePairs, ComparablePairs]:
        drawn = sample_pairs(table, test.rule, n=n, random_state=seed, total="estimate", memory_limit=memory_limit)
        return drawn, test.leave_out(drawn, standing, standing)

    drawn, kept = draw(most)
    if len(kept) < most and len(kept) and not drawn.is_complete:
        drawn, kept = draw(min(int(1.1 * most * len(drawn) / len(kept)) + 100, MOST_REDRAWN * most))
    share = len(kept) / max(len(drawn), 1)
    left, right, n_all = kept.left, kept.right, int(drawn.n_total or 0)
    if len(kept) > most:
        chosen = np.sort(np.random.default_rng([seed, 2]).choice(len(kept), most, replace=False))
        left, right = left[chosen], right[chosen]
    if drawn.is_complete:
        return ComparablePairs(left, right, table, table, len(kept)), n_all
    of_share = n_all * float(np.sqrt(share * (1 - share) / max(len(drawn), 1)))
    error = float(np.hypot(of_share, share * (drawn.n_total_error or 0.0)))
    return ComparablePairs(left, right, table, table, round(n_all * share), error), n_all


def _choose_people(n_people: int, n_pairs: int, seed: int) -> NDArray[np.int64]:
    n_partners = 2 * n_pairs / max(n_people, 1)
    n_probed = min(n_people, MOST_PROBED, max(FEWEST_PROBED, int(MOST_LOOKED_AT / max(n_partners, 1.0))))
    return np.sort(np.random.default_rng([seed, 1]).choice(n_people, n_probed, replace=False))
