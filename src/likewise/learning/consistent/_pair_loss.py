"""The loss of pairs: the mean gap between the scores of comparable people, with its slope and curvature."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, softmax

from likewise._compiling import compiled
from likewise._random import stream
from likewise.learning.consistent._pair_graph import Draw, Numbers, PairGraph

PairLossKind = Literal["squared", "absolute"]
GapKind = Literal["probability", "logit", "outcome"]
PAIR_LOSSES: Final = ("squared", "absolute")
GAPS: Final = ("probability", "logit")

SMOOTH: Final = 0.01  # |d| is sqrt(d² + SMOOTH²): its slope has no jump at 0
COMPILED_FROM: Final = 4_096  # rows: with fewer, compiling takes longer than it saves
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
        self.graph, self.kind = graph, kind
        self._random = stream(seed, "pairs of a round")
        self._links: csr_array | None = None
        if kind == "squared" and not graph.is_drawn:  # then all that changes from round to round are the scores
            self._links, degree = _link(graph)
            self._links.sort_indices()  # the same order of sums, whatever the order of pairs
            self._stiffness = (2 * graph.row_mass * degree[graph.group_of])[:, None]
            self._curvature = MAJORISED * self._stiffness

    def measure(self, scores: Numbers) -> Measured:
        """Measure the scores of the graph's rows; several columns are added up."""
        graph = self.graph
        sums = graph.sum_groups(scores)
        if self._links is not None:
            pull = (2 * (self._links @ sums))[graph.group_of]
            slope = self._stiffness * scores - graph.row_mass[:, None] * pull
            # a quadratic form is half its slope times the point
            return Measured(float(np.vdot(slope, scores)) / 2, slope, self._curvature)
        pull, stiffness, value = self._sum_drawn(graph.draw(self._random), scores, sums)
        stiffness = graph.row_mass[:, None] * stiffness[graph.group_of]
        slope = stiffness * scores - graph.row_mass[:, None] * pull[graph.group_of]
        return Measured(value, slope, MAJORISED * stiffness)

    @property
    def can_be_compiled(self) -> bool:
        """Whether :meth:`add_to_log_loss` may be used, and is worth to be compiled."""
        return self._links is not None and self.graph.n_rows >= COMPILED_FROM

    def add_to_log_loss(self, margins: Numbers, target: Numbers, weights: Numbers, factor: float) -> tuple[Any, Any]:
        """Return slope and curvature of two labels' weighted log loss plus ``factor`` times that of probabilities."""
        links, graph = self._links, self.graph
        assert links is not None
        slope, curvature = np.empty(len(margins)), np.empty(len(margins))
        _boost(
            *(margins, target, weights, factor, graph.rows, graph.group_of, graph.row_mass, self._stiffness[:, 0]),
            *(links.indptr, links.indices, links.data, np.zeros(len(graph.mass)), slope, curvature),
        )
        return slope, curvature

    def _sum_drawn(self, pairs: Draw, scores: Numbers, sums: Numbers) -> tuple[Numbers, Numbers, float]:
        """Sum over pairs of groups: what pulls each group, how stiffly, and the loss."""
        mass, squares = self.graph.mass, self.graph.sum_groups(scores**2)
        left, right, weight = pairs
        is_other = left != right
        n_people = np.where(is_other, 1.0, 0.5) * mass[left] * mass[right]
        pull, stiffness, value = np.empty_like(sums), np.empty_like(sums), 0.0
        for k, (total, square) in enumerate(zip(sums.T, squares.T, strict=True)):
            mean = total / np.where(mass > 0, mass, 1.0)
            spread = square / np.where(mass > 0, mass, 1.0)
            gap = np.maximum(spread[left] + spread[right] - 2 * mean[left] * mean[right], 0.0)
            if self.kind == "absolute":
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


@compiled
def _boost(
    margins: Any,
    target: Any,
    weights: Any,
    factor: Any,
    rows: Any,
    group_of: Any,
    row_mass: Any,
    stiffness: Any,
    starts: Any,
    partners: Any,
    pair_weights: Any,
    sums: Any,
    slope: Any,
    curvature: Any,
) -> None:
    """Do in one pass what takes numpy twenty: the log loss by row, sums by group, and the pull of partners."""
    for row in range(len(margins)):
        share = 1.0 / (1.0 + np.exp(-margins[row]))
        slope[row] = share  # for a while
        curvature[row] = weights[row] * max(share * (1.0 - share), 1e-16)
    for k in range(len(rows)):
        sums[group_of[k]] += row_mass[k] * slope[rows[k]]
    pulls = np.zeros_like(sums)
    for group in range(len(sums)):
        for place in range(starts[group], starts[group + 1]):
            pulls[group] += 2.0 * pair_weights[place] * sums[partners[place]]
    paired = np.empty(len(rows))
    for k in range(len(rows)):
        share = slope[rows[k]]
        steepness = share * (1.0 - share)
        paired[k] = factor * steepness * (stiffness[k] * share - row_mass[k] * pulls[group_of[k]])
        curvature[rows[k]] += factor * MAJORISED * stiffness[k] * steepness * steepness
    for row in range(len(margins)):
        slope[row] = weights[row] * (slope[row] - target[row])
    for k in range(len(rows)):
        slope[rows[k]] += paired[k]


def _link(graph: PairGraph) -> tuple[csr_array, Numbers]:
    """Return the symmetric matrix of pair weights, and each group's weighted number of partners."""
    is_other = graph.left != graph.right
    rows = np.concatenate([graph.left, graph.right[is_other]])
    columns = np.concatenate([graph.right, graph.left[is_other]])
    weights = np.concatenate([graph.weight, graph.weight[is_other]])
    n_groups = len(graph.mass)
    links = csr_array((weights, (rows, columns)), shape=(n_groups, n_groups))
    return links, np.asarray(links @ graph.mass)


def measure_margins(loss: PairLoss, margins: Numbers, gap: GapKind) -> Measured:
    """Measure pairs by the margins of the graph's rows: one column for two labels, else one per label."""
    if margins.shape[1] == 1:
        if gap != "probability":
            return loss.measure(margins)
        shares = expit(margins)
        found, steepness = loss.measure(shares), shares * (1 - shares)
        return Measured(found.value, found.slope * steepness, found.curvature * steepness**2)
    if gap == "probability":
        return _measure_several(loss, softmax(margins, axis=1))
    found = loss.measure(margins - margins.mean(axis=1, keepdims=True))
    factor = 2.0 if loss.kind == "squared" else 1.0  # as for two labels, whose centred margins are half of one
    slope = factor * (found.slope - found.slope.mean(axis=1, keepdims=True))
    return Measured(factor * found.value, slope, factor * found.curvature)


def _measure_several(loss: PairLoss, shares: Numbers) -> Measured:
    """Halve the sum over all labels: for two of them, that is the gap of either."""
    found = loss.measure(shares)
    slope = shares * (found.slope - (shares * found.slope).sum(axis=1, keepdims=True))
    curved = found.curvature * shares**2
    others = curved.sum(axis=1, keepdims=True) - curved
    curvature = curved * (1 - shares) ** 2 + shares**2 * others
    return Measured(found.value / 2, slope / 2, curvature / 2)
