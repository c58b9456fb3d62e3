"""Scores smoothed over the graph of comparable pairs: one sparse linear system, solved to the last digits."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, logit, softmax

from likewise._format import count_of
from likewise._memory import bytes_allowed
from likewise.comparable import Comparability, GroupedPairs, group_pairs, iter_pairs
from likewise.exceptions import ScoreError, TooManyPairs, TrainingError
from likewise.learning.consistent._pair_graph import FEWEST_PEOPLE, Numbers, sum_partners
from likewise.schema import CodedTable

TOLERANCE: Final = 1e-10  # of the residual, against the scores
MOST_STEPS: Final = 10_000
MOST_BYTES: Final = 2_000_000_000  # for pairs that may be listed in parts: with more, solving takes over a minute
SURE: Final = 1e-6  # probabilities are cut to [SURE, 1 - SURE], so that their logits are finite


class Smoothed(NamedTuple):
    """Smoothed margins, and the number of partners of each person."""

    margins: Numbers
    n_partners: NDArray[np.int64]


def smooth_among(
    table: CodedTable, rule: Comparability, margins: Numbers, weight: float, memory_limit: int | str | None
) -> Smoothed:
    """Minimise the squared change of margins plus ``weight`` times the squared gaps of all pairs of a table.

    The labels of the table should all be the same.
    """
    return solve(group_pairs(table, rule, memory_limit=memory_limit), margins, weight)


def solve(
    groups: GroupedPairs, margins: Numbers, weight: float, row_mass: Numbers | None = None, *, balanced: bool = False
) -> Smoothed:
    """Minimise the squared change of margins plus ``weight`` times the squared gaps of pairs.

    A row may count as several, and a pair by one over the larger number of partners of its two if ``balanced``. Rows of
    a group have the same partners, so only the means over groups are unknown; people without a partner keep their
    margins. The system is solved by conjugate gradients until the residual is below ``TOLERANCE`` times the right side.
    """
    group_of, left, right = groups.group_of, groups.left, groups.right
    row_mass = np.ones(len(group_of)) if row_mass is None else row_mass
    size, n_rows = np.bincount(group_of, row_mass).astype(np.float64), groups.sizes.astype(np.float64)
    own = np.zeros(len(size))
    own[left[left == right]] = 1.0  # equal people who are comparable to each other
    n_partners = (sum_partners(left, right, n_rows) - own)[group_of].round().astype(np.int64)
    pair = 1 / np.maximum(sum_partners(left, right, size), size.min(initial=1.0)) if balanced else None

    def sum_all(values: Numbers) -> Numbers:
        return sum_partners(left, right, values, pair)

    degree = sum_all(size)
    diagonal = size * (1 + weight * degree)
    system = _operator(len(size), lambda mean: diagonal * mean - weight * size * sum_all(size * mean))
    stiff = diagonal - weight * own * size**2 * (1.0 if pair is None else pair)
    inverse = _operator(len(size), lambda residual: residual / stiff)
    smoothed = np.empty_like(margins)
    for k, column in enumerate(margins.T):
        sums = np.bincount(group_of, row_mass * column, len(size))
        mean, failed = cg(system, sums, x0=sums / size, rtol=TOLERANCE, maxiter=MOST_STEPS, M=inverse)
        if failed:
            raise TrainingError(f"Smoothing did not converge in {MOST_STEPS:,} steps. Lower smoothing.")
        pull = sum_all(size * mean)
        smoothed[:, k] = (column + weight * pull[group_of]) / (1 + weight * degree[group_of])
    smoothed[n_partners == 0] = margins[n_partners == 0]  # to the last digit
    return Smoothed(smoothed, n_partners)


class Part(NamedTuple):
    """Some people of a table, and the pairs among them."""

    people: NDArray[np.intp]
    groups: GroupedPairs


def list_parts(
    table: CodedTable, rule: Comparability, memory_limit: int | str | None, random: np.random.Generator
) -> list[Part]:
    """List the pairs of a table; where they are too many, those within parts of it, each drawn at random.

    Who has so many partners is drawn towards half of them as well as towards all.
    """

    def split(people: NDArray[np.intp], allowed: int) -> list[Part]:
        some = table if len(people) == len(table) else table[people]
        try:
            return [Part(people, group_pairs(some, rule, memory_limit=allowed))]
        except TooManyPairs:
            if len(people) < FEWEST_PEOPLE:
                raise
        halves = np.array_split(random.permutation(people), 2)
        return [part for half in halves for part in split(np.sort(half), allowed // 2)]

    return split(np.arange(len(table)), min(bytes_allowed(memory_limit), MOST_BYTES))


def margins_of(scores: Any, n_people: int) -> tuple[Numbers, int]:
    """Return logits, one column for two classes and centred ones for several, and the number of classes."""
    try:
        shares = np.asarray(scores, np.float64)
    except (TypeError, ValueError):
        raise ScoreError("The scores contain a value that is not a number. Pass probabilities.") from None
    if len(shares) != n_people or shares.ndim not in (1, 2) or (shares.ndim == 2 and shares.shape[1] < 2):
        raise ScoreError(
            f"The scores have shape {shares.shape} for {count_of(n_people, 'person', 'people')}. Pass one probability "
            "per person, or one column per class."
        )
    if not np.isfinite(shares).all() or shares.min(initial=0.0) < 0 or shares.max(initial=1.0) > 1:
        raise ScoreError("The scores are not all between 0 and 1. Pass probabilities.")
    if shares.ndim == 1 or shares.shape[1] == 2:
        positive = shares if shares.ndim == 1 else shares[:, 1]
        return logit(np.clip(positive, SURE, 1 - SURE))[:, None], 2
    logs = np.log(np.clip(shares, SURE, 1.0))
    return logs - logs.mean(axis=1, keepdims=True), shares.shape[1]


def scores_of(margins: Numbers) -> Numbers:
    """Return one column per class."""
    if margins.shape[1] == 1:
        return np.column_stack([expit(-margins[:, 0]), expit(margins[:, 0])])
    return np.asarray(softmax(margins, axis=1))


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
