"""Pairs measured one batch at a time: what needs all people is worked out once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._combinations import number_combinations
from likewise.auditing._gaps import rank_scores
from likewise.auditing._scores import Scores
from likewise.auditing._tally import PairBatch, TallyShape
from likewise.schema import CodedTable

Rows = NDArray[np.integer[Any]]


class BatchScorer:
    """Measure batches of pairs of one table, just as all pairs would be measured at once."""

    def __init__(self, table: CodedTable, scores: Scores) -> None:
        self._scores, self._labels = scores, table.labels
        self._ranks = rank_scores(scores.values)
        numbers, combinations = number_combinations(table)
        self._combinations, self._n_combinations = numbers.astype(np.int32), len(combinations)

    def shape(self, *, n_labels: int, limit: float, n_worst: int, n_kept: int, seed: int) -> TallyShape:
        """Say what a tally of these pairs counts."""
        return TallyShape(
            n_people=len(self._scores),
            n_labels=n_labels,
            n_combinations=self._n_combinations,
            largest=largest_gap(self._scores),
            limit=limit,
            n_worst=n_worst,
            n_kept=n_kept,
            seed=seed,
        )

    def measure(self, left: Rows, right: Rows) -> PairBatch:
        """Measure some pairs."""
        scores, decisions = self._scores, self._scores.decisions
        values = scores.values[right] - scores.values[left]
        ranks = np.abs(self._ranks[left] - self._ranks[right])
        is_single = values.ndim == 1
        gaps = np.abs(values) if is_single else np.abs(values).sum(axis=1) / 2
        return PairBatch(
            left=left,
            right=right,
            labels=self._labels[left],
            gaps=gaps / scores.scale,
            rank_gaps=ranks if is_single else ranks.max(axis=1),
            flips=None if decisions is None else decisions[left] != decisions[right],
            signed=values / scores.scale if is_single else None,
            left_combination=self._combinations[left] if is_single else None,
            right_combination=self._combinations[right] if is_single else None,
        )


def largest_gap(scores: Scores) -> float:
    """Say how large a gap between these people can be."""
    if scores.values.ndim > 1 or not len(scores):
        return 1.0
    return float(scores.values.max() - scores.values.min()) / scores.scale
