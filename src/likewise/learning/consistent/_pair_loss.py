"""The loss of pairs: the mean gap between the scores of comparable people, with its slope and curvature."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, softmax

from likewise._random import stream
from likewise.learning.consistent._pair_graph import Draw, Numbers, PairGraph

PairLossKind = Literal["squared", "absolute"]
GapKind = Literal["probability", "logit", "outcome"]
PAIR_LOSSES: Final = ("squared", "absolute")
GAPS: Final = ("probability", "logit")

SMOOTH: Final = 0.01  # |d| is sqrt(d² + SMOOTH²): its slope has no jump at 0
MAJORISED: Final = 2.0  # a graph's Laplacian is at most twice its diagonal; with less, steps overshoot


class Measured(NamedTuple):
    """The loss of pairs, its derivative by each score, and a curvature that is safe to divide by."""

    value: float
    slope: Numbers
    curvature: Numbers


class PairLoss:
    """Mean squared or absolute gap over the pairs of a graph.

    Gaps between two groups are measured over all pairs of their rows: exactly if squared; as the root of their mean
    square if absolute, which is the gap itself where the rows of a group have equal scores.
    """

    def __init__(self, graph: PairGraph, kind: PairLossKind, seed: int) -> None:
        self._graph, self._kind, self._random = graph, kind, stream(seed, "pairs of a round")
        self._fixed: tuple[csr_array, Numbers] | None = None
        if kind == "squared" and not graph.is_drawn:
            self._fixed = _link(graph)

    def measure(self, scores: Numbers) -> Measured:
        """Measure scores, one row per person; several columns are added up."""
        graph = self._graph
        sums = graph.sum_groups(scores)
        if self._fixed is not None:
            links, degree = self._fixed
            pull, stiffness = 2 * (links @ sums), np.broadcast_to(2 * degree[:, None], sums.shape)
            value = None
        else:
            pull, stiffness, value = self._sum_drawn(graph.draw(self._random), scores, sums)
        force = stiffness[graph.group_of] * scores - pull[graph.group_of]
        slope = graph.row_mass[:, None] * force
        if value is None:  # a quadratic form is half its slope times the point
            value = float((slope * scores).sum() / 2)
        curvature = MAJORISED * graph.row_mass[:, None] * stiffness[graph.group_of]
        return Measured(value, slope, curvature)

    def _sum_drawn(self, pairs: Draw, scores: Numbers, sums: Numbers) -> tuple[Numbers, Numbers, float]:
        """Sum over pairs of groups: what pulls each group, how stiffly, and the loss."""
        mass, squares = self._graph.mass, self._graph.sum_groups(scores**2)
        left, right, weight = pairs
        is_other = left != right
        n_people = np.where(is_other, 1.0, 0.5) * mass[left] * mass[right]
        pull, stiffness, value = np.empty_like(sums), np.empty_like(sums), 0.0
        for k, (total, square) in enumerate(zip(sums.T, squares.T, strict=True)):
            mean = total / np.where(mass > 0, mass, 1.0)
            spread = square / np.where(mass > 0, mass, 1.0)
            gap = np.maximum(spread[left] + spread[right] - 2 * mean[left] * mean[right], 0.0)
            if self._kind == "absolute":
                gap = np.sqrt(gap + SMOOTH**2)
                factor = weight / gap
                gap -= SMOOTH
            else:
                factor = 2 * weight
            value += float((weight * n_people * gap).sum())
            back = factor * is_other  # a pair of a group with itself counts once
            n = len(mass)
            pull[:, k] = np.bincount(left, factor * total[right], n) + np.bincount(right, back * total[left], n)
            stiffness[:, k] = np.bincount(left, factor * mass[right], n) + np.bincount(right, back * mass[left], n)
        return pull, stiffness, value


def _link(graph: PairGraph) -> tuple[csr_array, Numbers]:
    """Return the symmetric matrix of pair weights, and each group's weighted number of partners."""
    is_other = graph.left != graph.right
    rows = np.concatenate([graph.left, graph.right[is_other]])
    columns = np.concatenate([graph.right, graph.left[is_other]])
    weights = np.concatenate([graph.weight, graph.weight[is_other]])
    n_groups = len(graph.mass)
    links = csr_array((weights, (rows, columns)), shape=(n_groups, n_groups))
    return links, np.asarray(links @ graph.mass)


def measure_margins(loss: PairLoss, margins: Numbers, gap: GapKind, kind: PairLossKind) -> Measured:
    """Measure the pairs of margins (one column for two labels, else one per label), with slopes by margin."""
    if margins.shape[1] == 1:
        return _measure_one(loss, margins, gap)
    if gap == "probability":
        return _measure_shares(loss, margins)
    centred = margins - margins.mean(axis=1, keepdims=True)
    found = loss.measure(centred)
    factor = 2.0 if kind == "squared" else 1.0  # as for two labels, whose centred margins are half of one
    slope = factor * (found.slope - found.slope.mean(axis=1, keepdims=True))
    return Measured(factor * found.value, slope, factor * found.curvature)


def _measure_one(loss: PairLoss, margins: Numbers, gap: GapKind) -> Measured:
    if gap != "probability":
        return loss.measure(margins)
    shares = expit(margins)
    found, steep = loss.measure(shares), shares * (1 - shares)
    return Measured(found.value, found.slope * steep, found.curvature * steep**2)


def _measure_shares(loss: PairLoss, margins: Numbers) -> Measured:
    """Halve the sum over all classes: for two of them, that is the gap of either."""
    shares = softmax(margins, axis=1)
    found = loss.measure(shares)
    slope = shares * (found.slope - (shares * found.slope).sum(axis=1, keepdims=True))
    others = (found.curvature * shares**2).sum(axis=1, keepdims=True) - found.curvature * shares**2
    curvature = shares**2 * (found.curvature * (1 - shares) ** 2 + others)
    return Measured(found.value / 2, slope / 2, curvature / 2)
