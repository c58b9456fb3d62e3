"""Scores smoothed over the graph of comparable pairs: one sparse linear system, solved to the last digits."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg

from likewise.comparable import Comparability, group_pairs, iter_pairs
from likewise.exceptions import TrainingError
from likewise.learning.consistent._pair_graph import Numbers, sum_partners
from likewise.schema import CodedTable

TOLERANCE: Final = 1e-10  # of the residual, against the scores
MOST_STEPS: Final = 10_000


class Smoothed(NamedTuple):
    """Smoothed margins, and the number of partners of each person."""

    margins: Numbers
    n_partners: NDArray[np.int64]


def smooth_among(
    table: CodedTable, rule: Comparability, margins: Numbers, weight: float, memory_limit: int | str | None
) -> Smoothed:
    """Minimise the squared change of margins plus ``weight`` times the squared gaps of all pairs of a table.

    The labels of the table should all be the same. Rows of a group have the same partners, so only the means over
    groups are unknown; people without a partner keep their margins. The system is solved by conjugate gradients until
    the residual is below ``TOLERANCE`` times the right side.
    """
    groups = group_pairs(table, rule, memory_limit=memory_limit)
    group_of, size, left, right = groups.group_of, groups.sizes.astype(np.float64), groups.left, groups.right
    own = np.zeros(len(size))
    own[left[left == right]] = 1.0  # equal people who are comparable to each other

    def sum_all(values: Numbers) -> Numbers:
        return sum_partners(left, right, values)

    degree = sum_all(size)
    diagonal = size * (1 + weight * degree)
    system = _operator(len(size), lambda mean: diagonal * mean - weight * size * sum_all(size * mean))
    stiff = diagonal - weight * own * size**2
    inverse = _operator(len(size), lambda residual: residual / stiff)
    smoothed = np.empty_like(margins)
    for k, column in enumerate(margins.T):
        sums = np.bincount(group_of, column, len(size))
        mean, failed = cg(system, sums, x0=sums / size, rtol=TOLERANCE, maxiter=MOST_STEPS, M=inverse)
        if failed:
            raise TrainingError(f"Smoothing did not converge in {MOST_STEPS:,} steps. Lower smoothing.")
        pull = sum_all(size * mean)
        smoothed[:, k] = (column + weight * pull[group_of]) / (1 + weight * degree[group_of])
    n_partners = (degree - own)[group_of].round().astype(np.int64)
    smoothed[n_partners == 0] = margins[n_partners == 0]  # to the last digit
    return Smoothed(smoothed, n_partners)


def smooth_against(
    table: CodedTable,
    margins: Numbers,
    reference: CodedTable,
    reference_margins: Numbers,
    rule: Comparability,
    weight: float,
    memory_limit: int | str | None,
) -> Smoothed:
    """Minimise the same for each person alone, with the margins of comparable people of a reference fixed."""
    n_partners, pull = np.zeros(len(table), np.int64), np.zeros_like(margins)
    for pairs in iter_pairs(table, reference, rule, memory_limit=memory_limit):
        n_partners += np.bincount(pairs.left, minlength=len(table))
        for k in range(margins.shape[1]):
            pull[:, k] += np.bincount(pairs.left, reference_margins[pairs.right, k], len(table))
    smoothed = (margins + weight * pull) / (1 + weight * n_partners[:, None])
    smoothed[n_partners == 0] = margins[n_partners == 0]
    return Smoothed(smoothed, n_partners)


def _operator(n: int, apply: Any) -> LinearOperator:
    return LinearOperator((n, n), matvec=apply, dtype=np.float64)
