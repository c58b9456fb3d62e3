"""The one place where a pair is measured: in memory, in streams, on Spark and in the explorer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._ranking import Ranking
from likewise.auditing._settings import AuditSettings
from likewise.auditing.pairs._gaps import gap_between, rank_gap_between, rank_levels
from likewise.auditing.pairs._summary import MeasuredPairs, SummaryShape
from likewise.auditing.question._question import number_combinations
from likewise.auditing.question._scores import Scores
from likewise.comparable import ComparablePairs
from likewise.schema import CodedTable

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]

FEW_SCORES: Final = 20  # different ones: pairs of so few may be alike by chance
MANY: Final = 1_000
AT_ONCE: Final = 1 << 17  # pairs: what is computed of them is ten times as large as they are


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPeople:
    """What a pair has to know of its people, one entry per person: measures pairs of them by position.

    Gaps are in units of ``scale``. ``sign`` is -1 where low scores are favourable: a signed gap is negative where it is
    unfavourable. Combinations of sensitive values are numbered; without them there are no signed gaps.
    """

    scores: Floats  # or one column per class
    ranks: Floats
    labels: NDArray[np.int32]
    decisions: Rows | None = None
    combinations: Rows | None = None
    weights: Floats | None = None  # None where all count alike
    scale: float = 1.0
    sign: int = 1
    n_labels: int = 1
    groups: list[tuple[Any, ...]] = field(default_factory=list)  # the values of each combination
    largest: float = 1.0  # that a gap between these people can be
    rows: Rows | None = None  # the row of each; None where positions are rows

    @classmethod
    def of(cls, table: CodedTable, scores: Scores, *, signed: bool = True) -> ScoredPeople:
        """Rank and number everybody once; without ``signed`` there are no sensitive groups and no signed gaps."""
        numbers, groups = number_combinations(table, kind=np.int32) if signed else (None, [])
        return cls(
            scores=scores.values,
            ranks=_rank_people(scores),
            labels=table.labels,
            decisions=scores.decisions,
            combinations=numbers,
            weights=scores.weights,
            scale=scores.scale,
            sign=scores.sign,
            n_labels=len(table.classes),
            groups=groups,
            largest=_largest_gap(scores),
        )

    def shape(self, settings: AuditSettings) -> SummaryShape:
        """Return the shape of a summary of these people's pairs."""
        return SummaryShape(
            n_people=len(self.labels),
            n_labels=self.n_labels,
            n_combinations=len(self.groups),
            largest=self.largest,
            limit=settings.gap_limit,
            n_kept=settings.max_pairs,
            seed=settings.seed,
            is_weighted=self.weights is not None,
        )

    def measure(self, left: Rows, right: Rows) -> MeasuredPairs:
        """Measure pairs by the positions of their people."""
        scores, ranks = ([column.take(side, axis=0) for side in (left, right)] for column in (self.scores, self.ranks))
        decisions, weights = self.decisions, self.weights
        is_signed = self.scores.ndim == 1 and self.combinations is not None
        return MeasuredPairs(
            left=left if self.rows is None else self.rows.take(left),
            right=right if self.rows is None else self.rows.take(right),
            labels=self.labels.take(left),
            gaps=gap_between(*scores) / self.scale,
            rank_gaps=rank_gap_between(*ranks),
            flips=None if decisions is None else decisions.take(left) != decisions.take(right),
            signed=self.sign * (scores[1] - scores[0]) / self.scale if is_signed else None,
            groups=None if self.combinations is None else (self.combinations.take(left), self.combinations.take(right)),
            weights=None if weights is None else weights.take(left) * weights.take(right),
        )

    def measure_parts(self, left: Rows, right: Rows) -> Iterator[MeasuredPairs]:
        """Measure pairs a few at a time, so that memory stays small."""
        for start in range(0, len(left), AT_ONCE):
            yield self.measure(left[start : start + AT_ONCE], right[start : start + AT_ONCE])


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs of people with scores; what there is to know of single pairs is measured when somebody asks for it first.

    Nobody does where there is a summary of all pairs and no intervals are wanted.
    """

    pairs: ComparablePairs
    scores: Scores

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def people(self) -> ScoredPeople:
        """Everybody, in pairs or not, without signs."""
        return ScoredPeople.of(self.pairs.left_table, self.scores, signed=False)

    @cached_property
    def batch(self) -> MeasuredPairs:
        """What is measured of each pair."""
        left, right = self.pairs.left, self.pairs.right
        return MeasuredPairs.join([self.people.measure(left[:0], right[:0]), *self.people.measure_parts(left, right)])

    @property
    def gaps(self) -> Floats:
        """The gap of each pair."""
        return self.batch.gaps

    @property
    def rank_gaps(self) -> Floats:
        """Its rank gap."""
        return self.batch.rank_gaps

    @property
    def flips(self) -> NDArray[np.bool_] | None:
        """Whether its two people got different decisions; None without decisions."""
        return self.batch.flips

    @property
    def labels(self) -> Rows:
        """The code of its label."""
        return self.batch.labels

    @property
    def weights(self) -> Floats | None:
        """The product of the weights of its two people."""
        return self.batch.weights

    @property
    def ranks(self) -> Floats:
        """Those of all people; or one column per class."""
        return self.people.ranks

    @cached_property
    def ranking(self) -> Ranking:
        """That of the ranks, which is that of the scores unless people without weight part no ranks."""
        return self.scores.ranking if self.scores.weights is None else Ranking(self.ranks)

    @property
    def largest(self) -> float:
        """How large a gap can be."""
        return np.inf if self.scores.task == "regression" else 1.0

    @cached_property
    def unseen(self) -> float:
        """How large a gap may be, where all that are seen are alike."""
        return unseen_gap(self.scores)

    @property
    def person_weights(self) -> Floats | None:
        """How much people count."""
        return self.scores.weights

    def none(self) -> ScoredPairs:
        """Return no pairs of these people."""
        nobody = self.pairs.left[:0]
        return ScoredPairs(replace(self.pairs, left=nobody, right=nobody), self.scores)


def _rank_people(scores: Scores) -> Floats:
    """Return the rank of everybody, in one column or one per class."""
    if scores.values.ndim == 1:
        return rank_levels(scores.ranking.levels(), scores.weights)
    columns = range(scores.values.shape[1]) if scores.values.size else ()
    ranked = [rank_levels(scores.ranking.levels(column), scores.weights) for column in columns]
    return np.column_stack(ranked) if ranked else scores.values


def unseen_gap(scores: Scores) -> float:
    """Return how large a gap may be where all that are seen are alike: nil among many scores, as that is no chance."""
    values = scores.values[scores.counting]
    if values.ndim == 1 and (
        len(np.unique(values[:MANY])) > FEW_SCORES or len(np.unique(values)) > FEW_SCORES  # the first tell, as a rule
    ):
        return 0.0
    return _largest_gap(scores)


def _largest_gap(scores: Scores) -> float:
    if scores.values.ndim > 1 or not len(scores):
        return 1.0
    values = scores.values if scores.weights is None else scores.values[scores.counting]
    return float(values.max() - values.min()) / scores.scale
