"""Directions of more pairs than can be kept: counts and means of all of them, intervals and tests from a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from likewise.auditing._combinations import number_combinations
from likewise.auditing._directions import NO_MEAN
from likewise.auditing._scores import Scores
from likewise.auditing._tally_transitions import COUNTED, TransitionSums
from likewise.record._internal import Direction
from likewise.schema import CodedTable


def correct_directions(
    sampled: Sequence[Direction], found: TransitionSums, table: CodedTable, scores: Scores
) -> tuple[Direction, ...]:
    """Put what is known of all pairs into the directions of a sample; those it has no pair of come without a test."""
    _, combinations = number_combinations(table)
    known = {(one.origin, one.target): one for both in ((one, one.reversed()) for one in sampled) for one in both}
    largest = np.argsort(-found.counts[:, 0], kind="stable")  # of equal size: in the order of the codes
    corrected = []
    for place in largest.tolist():
        origin, target = (combinations[number] for number in divmod(int(found.keys[place]), len(combinations)))
        counts = dict(zip(COUNTED, found.counts[place].tolist(), strict=True))
        signed, absolute = found.sums[place].tolist()
        n = counts.pop("n")
        if scores.decisions is None:
            counts = {name: count for name, count in counts.items() if "flips" not in name}
        exact = Direction(
            origin=origin,
            target=target,
            n_pairs=n,
            n_equal=n - counts["n_lower"] - counts["n_higher"],
            mean_gap=signed / n if abs(signed) > NO_MEAN * absolute else 0.0,
            **counts,
        )
        exact = _add_precision(exact, known.get((origin, target)), np.inf if scores.task == "regression" else 1.0)
        corrected.append(exact.reversed() if exact.mean_gap > 0 else exact)
    return tuple(corrected)


def _add_precision(exact: Direction, sampled: Direction | None, end: float) -> Direction:
    """Put the sample's interval around the mean of all pairs."""
    if sampled is None:
        return exact
    moved = exact.mean_gap - sampled.mean_gap
    return replace(
        exact,
        low=None if sampled.low is None else max(sampled.low + moved, -end),
        high=None if sampled.high is None else min(sampled.high + moved, end),
        n_apart=sampled.n_apart,
        p_value=sampled.p_value,
        p_adjusted=sampled.p_adjusted,
    )
