"""What a search found: counted while the pairs stream by, so that none has to be kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from likewise.comparable import Comparability, ComparablePairs, PairCounts
from likewise.comparable._internal import state_problem
from likewise.schema import CodedTable, Roles

if TYPE_CHECKING:
    import pyarrow as pa

N_EXAMPLES: Final = 3
SMALL: Final = 1_000_000  # kinds of pairs that are counted in an array


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Numbers and a few examples, ready to be shown."""

    n_rows: int
    n_pairs: int  # listed, or counted
    n_total: int | None  # in all; None if the search stopped before it knew
    by_label: dict[Any, int]
    by_transition: dict[tuple[tuple[Any, ...], tuple[Any, ...]], int]
    people_by_label: dict[Any, int]
    partnered_by_label: dict[Any, int] | None = None  # None when pairs were only counted
    examples: list[tuple[int, int]] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether the numbers are about all pairs there are."""
        return self.n_pairs == self.n_total


class Tally:
    """Count pairs by label and by sensitive values, and the people in them."""

    def __init__(self, table: CodedTable, rule: Comparability) -> None:
        problem = state_problem(table, None, rule)
        self._table = table
        self._combination = problem.combination
        self._combinations = problem.combinations
        self._kinds: Counter[int] = Counter()
        self._has_partner = np.zeros(len(table), np.bool_)
        self._examples: list[tuple[int, int]] = []

    def add(self, pairs: ComparablePairs) -> None:
        """Take in the next pairs."""
        self._has_partner[pairs.left] = True
        self._has_partner[pairs.right] = True
        n = len(self._combinations)
        first, second = self._combination[pairs.left], self._combination[pairs.right]
        labels = self._table.labels[pairs.left].astype(np.int64)
        kinds = (labels * n + np.minimum(first, second)) * n + np.maximum(first, second)
        if len(self._table.classes) * n * n <= SMALL:
            counts = np.bincount(kinds)
            seen = np.flatnonzero(counts)
            counts = counts[seen]
        else:
            seen, counts = np.unique(kinds, return_counts=True)
        self._kinds.update(dict(zip(seen.tolist(), counts.tolist(), strict=True)))
        if len(self._examples) < N_EXAMPLES:
            self._pick_examples(pairs)

    def _pick_examples(self, pairs: ComparablePairs) -> None:
        """Take early pairs of different people: the very first ones would all show the same person."""
        used = {row for example in self._examples for row in example}
        _, starts = np.unique(pairs.left, return_index=True)
        for position in starts.tolist():
            example = int(pairs.left[position]), int(pairs.right[position])
            if used.isdisjoint(example):
                self._examples.append(example)
                used.update(example)
            if len(self._examples) == N_EXAMPLES:
                return

    def findings(self, n_total: int | None) -> Findings:
        """Close the books."""
        labels, n = self._table.classes.tolist(), len(self._combinations)
        names = self._table.names["sensitive"]
        values = [
            tuple(self._table.categories[name][code] for name, code in zip(names, codes, strict=True))
            for codes in self._combinations.tolist()
        ]
        counts = {
            (labels[kind // (n * n)], values[kind // n % n], values[kind % n]): count
            for kind, count in self._kinds.items()
        }
        return replace(
            findings_of(PairCounts(counts), self._table),
            n_total=n_total,
            partnered_by_label=_people(self._table, self._has_partner),
            examples=self._examples,
        )


def findings_of(counts: PairCounts, table: CodedTable) -> Findings:
    """Take over numbers that were counted without listing pairs."""
    return Findings(
        n_rows=len(table),
        n_pairs=counts.total,
        n_total=counts.total,
        by_label=dict.fromkeys(table.classes.tolist(), 0) | counts.by_label,
        by_transition=dict(sorted(counts.by_transition.items(), key=lambda item: (-item[1], str(item[0])))),
        people_by_label=_people(table, slice(None)),
    )


def _people(table: CodedTable, which: Any) -> dict[Any, int]:
    n_people = np.bincount(table.labels[which], minlength=len(table.classes))
    return dict(zip(table.classes.tolist(), n_people.tolist(), strict=True))


def example_values(frame: pa.Table, roles: Roles, left: int, right: int) -> dict[str, tuple[Any, Any]]:
    """Look up what a pair is judged by: sensitive columns first, then as in the file."""
    apart = {*roles.sensitive, *roles.ignored, roles.row_id}
    names = [*roles.sensitive, *(name for name in frame.column_names if name not in apart)]
    return {name: (_value(frame, name, left), _value(frame, name, right)) for name in names}


def _value(frame: pa.Table, name: str, row: int) -> Any:
    value = frame.column(name)[row].as_py()
    return None if value != value else value  # NaN is a missing value, and equal to another
