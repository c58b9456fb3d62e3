"""The baseline of every rule in reach: same-group pairs, summed up once, so that a move is a few searches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing import Scores
from likewise.auditing._internal import ScoredPeople, ScoreTest, find_among, leave_out_by_scores
from likewise.comparable import Comparability, ComparablePairs, count_pairs, iter_pairs
from likewise.comparable._internal import EngineName
from likewise.explore._thresholds import Thresholds, measure_distances, place_threshold, rule_at
from likewise.schema import CodedTable

MOST_TIMES: Final = 5  # how many same-group pairs are held for each other pair that may be


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """Same-group pairs by label and number of discrete changes, in the order of their shifts."""

    rule: Comparability  # as asked, but for equal sensitive columns
    table: CodedTable
    starts: NDArray[np.int64]  # of the pairs of each label and number of changes; and the end of all
    shifts: NDArray[np.float64]
    sums: NDArray[np.float64]  # of the gaps of all pairs before; where pairs are weighted, of their weights, too
    rows: NDArray[np.int32] | None  # left and right, where thresholds are relative: near them the rule decides

    def means(self, point: Thresholds) -> list[tuple[int, float | None]]:
        """Return the number and the mean gap of all pairs within the thresholds, then of those of each label."""
        n_labels = len(self.table.classes)
        counts, totals = np.zeros(n_labels, np.int64), np.zeros((n_labels, len(self.sums)))
        by_changes = self.starts[:-1].reshape(n_labels, -1)[:, : point.changes + 1]
        for (label, changes), start in np.ndenumerate(by_changes):
            end = self.starts[label * (len(self.starts) // n_labels) + changes + 1]
            n, total = self._sum_up(int(start), int(end), point)
            counts[label] += n
            totals[label] += total
        by_label = zip([counts.sum(), *counts], [totals.sum(axis=0), *totals], strict=True)
        return [(int(n), float(sums[0] / (sums[1] if len(sums) > 1 else n)) if n else None) for n, sums in by_label]

    def _sum_up(self, start: int, end: int, point: Thresholds) -> tuple[int, NDArray[np.float64]]:
        """Return the number of pairs within the thresholds and the sums of their gaps and weights, of a stretch."""
        sure, likely = (start + n for n in place_threshold(self.shifts[start:end], point, self.rows is not None))
        n, total = sure - start, self.sums[:, sure] - self.sums[:, start]
        if self.rows is not None and likely > sure:
            left, right = (self.table[side[sure:likely]] for side in self.rows)
            kept = rule_at(self.rule, point).holds(left, right)
            n += int(kept.sum())
            total = total + np.diff(self.sums[:, sure : likely + 1])[:, kept].sum(axis=1)
        return n, total


def find_baseline(
    table: CodedTable, rule: Comparability, end: Thresholds, scores: Scores, *, most: int, engine: EngineName
) -> Baseline | None:
    """Find the same-group pairs of the loosest rule; None if the rule itself asks for them, or if they are too many."""
    if rule.sensitive_differs == "none":
        return None
    equal = replace(rule, sensitive_differs="none")
    loosest = rule_at(equal, end)
    if count_pairs(table[scores.counting], loosest, engine=engine).total > MOST_TIMES * most:
        return None
    people, parts = ScoredPeople.of(table, scores, signed=False), []
    is_relative = False
    for pairs in find_pairs(table, loosest, scores, engine=engine):
        distances = measure_distances(pairs, equal)
        is_relative = distances.is_relative
        gaps = np.concatenate([batch.gaps for batch in people.measure_parts(pairs.left, pairs.right)] or [np.empty(0)])
        parts.append((people.labels[pairs.left], distances.changes, distances.shifts, gaps, pairs.left, pairs.right))
    columns = [np.concatenate([part[k] for part in parts]) for k in range(6)] if parts else [np.empty(0, int)] * 6
    labels, changes, shifts, gaps, left, right = columns
    weights = scores.weigh_pairs(left, right)
    added = [gaps] if weights is None else [gaps * weights, weights]
    n_kinds = end.changes + 1
    kinds = labels.astype(np.int64) * n_kinds + changes.astype(np.int64)
    order = np.lexsort((shifts, kinds))
    return Baseline(
        equal,
        table,
        np.concatenate([[0], np.cumsum(np.bincount(kinds, minlength=n_kinds * len(table.classes)))]),
        shifts[order],
        np.stack([np.concatenate([[0.0], np.cumsum(one[order])]) for one in added]),
        np.stack([left[order], right[order]]) if is_relative else None,
    )


def find_pairs(table: CodedTable, rule: Comparability, scores: Scores, **how: Any) -> Iterator[ComparablePairs]:
    """Find pairs piece by piece, less those that weights of 0 or the rule, by their scores, leave out."""
    pieces: Iterable[ComparablePairs] = find_among(scores.counting, table, lambda some: iter_pairs(some, rule, **how))
    test = ScoreTest.of(rule, scores)
    yield from pieces if test is None else leave_out_by_scores(pieces, test, scores.values, scores.values)
