"""The comparable pairs of a table: all of them, or where they are too many to keep, a tally and a uniform sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._batches import BatchScorer
from likewise.auditing._tally import PairTally, TallyShape
from likewise.comparable import ComparablePairs
from likewise.schema import CodedTable

Progress = Callable[[str, float], None]

AT_ONCE: Final = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """Hold the pairs that were kept, and what is known of all.

    Parameters
    ----------
    pairs : ComparablePairs
        All pairs, or a uniform sample of them; in order.
    has_partner : array of bool
        Who is in any of all pairs.
    tally : PairTally, optional
        What was counted of all pairs, where ``pairs`` are a sample of those.
    probed : array of int, optional
        Whom ``has_partner`` is about, where it is not everybody.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import CodedTable, Comparability, mine_pairs
    >>> from likewise.auditing._internal import Gathered
    >>> table = CodedTable(sensitive=[[0], [1], [1]], labels=[1, 1, 0])
    >>> Gathered(mine_pairs(table, Comparability()), np.array([True, True, False])).n_measured
    1
    """

    pairs: ComparablePairs
    has_partner: NDArray[np.bool_]
    tally: PairTally | None = None
    probed: NDArray[np.int64] | None = None

    @classmethod
    def from_tally(cls, tally: PairTally, table: CodedTable) -> Gathered:
        """Take the sample out of a tally; no tally is needed beside it, where the sample is all there is."""
        kept = tally.kept.to_columns()
        pairs = ComparablePairs(kept["left"], kept["right"], table, table, tally.n_total)
        return cls(pairs, tally.n_pairs_of > 0, tally if len(pairs) < tally.n_total else None)

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
        return self.tally is not None or self.pairs.is_complete

    @property
    def n_measured(self) -> int:
        """How many pairs the values of measures rest on."""
        return len(self.pairs) if self.tally is None else self.n_total

    def count_by_person(self) -> NDArray[np.int64]:
        """Say in how many of the measured pairs everybody is."""
        if self.tally is not None:
            return self.tally.n_pairs_of
        n_people = len(self.pairs.left_table)
        sides = (np.bincount(rows, minlength=n_people) for rows in (self.pairs.left, self.pairs.right))
        return sum(sides, np.zeros(n_people, np.int64))


def gather_pairs(
    chunks: Iterable[ComparablePairs],
    table: CodedTable,
    scorer: BatchScorer,
    shape: TallyShape,
    progress: Callable[[float], None],
) -> Gathered:
    """Keep pairs while there are no more than ``shape.n_kept``; from then on, tally them as they come by."""
    kept: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    n_total = 0
    tally: PairTally | None = None
    for chunk in chunks:
        n_total += len(chunk)
        kept.append((chunk.left, chunk.right))
        if n_total > shape.n_kept:
            tally = PairTally(shape) if tally is None else tally
            for left, right in kept:
                _add_in_pieces(tally, scorer, left, right)
            kept.clear()
        if len(chunk):
            progress((int(chunk.left[-1]) + 1) / len(table))
    if tally is not None:
        return Gathered.from_tally(tally, table)
    left, right = (np.concatenate([part[side] for part in kept] or [np.empty(0, np.int32)]) for side in (0, 1))
    return Gathered(ComparablePairs(left, right, table, table, n_total), find_in(left, right, len(table)))


def _add_in_pieces(tally: PairTally, scorer: BatchScorer, left: NDArray[np.int32], right: NDArray[np.int32]) -> None:
    """Add pairs a few at a time: what is computed of them is ten times as large as they are."""
    for start in range(0, len(left), AT_ONCE):
        piece = slice(start, start + AT_ONCE)
        tally.add(scorer.measure(left[piece], right[piece]))


def find_in(left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]], n_people: int) -> NDArray[np.bool_]:
    """Say who is in any pair."""
    has_partner = np.zeros(n_people, np.bool_)
    has_partner[left] = True
    has_partner[right] = True
    return has_partner
