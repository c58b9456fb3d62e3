"""The loss of pairs: the mean gap between the scores of comparable people, with its slope and curvature."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from likewise._compiling import compiled_with_arrays
from likewise._random import stream
from likewise.learning.consistent._pair_graph import DRAWS_A_POOL, ROUNDS_A_DRAW, Numbers, PairGraph, Rows

PairLossKind = Literal["squared", "absolute"]
GapKind = Literal["probability", "logit", "outcome"]
PAIR_LOSSES: Final = ("squared", "absolute")
GAPS: Final = ("probability", "logit")

Narrow = NDArray[np.float32]

SMOOTH: Final = 0.01  # |d| is sqrt(d² + SMOOTH²): its slope has no jump at 0
COMPILED_FROM: Final = 4_096  # rows: with fewer, compiling takes longer than it saves
FLATTEST: Final = 1e-16  # curvature of the log loss, as XGBoost has it
MAJORISED: Final = 2.0  # a graph's Laplacian is at most twice its diagonal; with less, steps overshoot


class Measured(NamedTuple):
    """The loss of pairs, its derivative by each score, and a curvature that is safe to divide by."""

    value: float
    slope: Numbers
    curvature: Numbers


class PairLoss:
    """Mean squared or absolute gap over the pairs of a graph, or over those that are drawn of it for some rounds.

    Squared gaps between two groups of rows are summed by group, absolute ones pair by pair of rows.
    """

    def __init__(self, graph: PairGraph, kind: PairLossKind, seed: int) -> None:
        self.graph, self.kind = graph, kind
        self._random = stream(seed, "pairs of a round")
        self._n_rounds = 0
        self._found: tuple[Narrow, ...] | None = None
        self._draw()

    def start_round(self) -> None:
        """Draw others of the pairs every few rounds, where there are too many for all of them to be used."""
        graph, self._n_rounds = self.graph, self._n_rounds + 1
        if not self._is_drawn or self._n_rounds % ROUNDS_A_DRAW:
            return
        if graph.draw_again is not None and self._n_rounds % (ROUNDS_A_DRAW * DRAWS_A_POOL) == 0:
            self.graph = graph.draw_again(self._random)
        self._draw()

    def _draw(self) -> None:
        graph, self._pairs, self._is_drawn = self.graph, self.graph.draw(self._random), self.graph.is_drawn
        if self.kind == "absolute":
            self._pairs, is_part = graph.draw_rows(self._pairs, self._random)
            self._is_drawn |= is_part
        else:  # all that changes from round to round are the scores
            left, right, weight = self._pairs
            self._stiffness = 2 * _pull(left, right, weight, graph.mass)
            people = graph.rows, graph.group_of, graph.row_mass
            self._listed = *people, *_find_runs(left), right, weight, self._stiffness

    def measure(self, scores: Numbers) -> Measured:
        """Measure the scores of the graph's rows; several columns are added up."""
        if self.kind == "absolute":
            return self._measure_absolute(scores)
        graph, (left, right, weight) = self.graph, self._pairs
        pull = np.column_stack([2 * _pull(left, right, weight, one) for one in graph.sum_groups(scores).T])
        stiffness = graph.row_mass[:, None] * self._stiffness[graph.group_of, None]
        slope = stiffness * scores - graph.row_mass[:, None] * pull[graph.group_of]
        value = float(np.vdot(slope, scores)) / 2  # a quadratic form is half its slope times the point
        return Measured(value, slope, MAJORISED * np.broadcast_to(stiffness, scores.shape))

    @property
    def can_be_compiled(self) -> bool:
        """Whether :meth:`add_to_log_loss` may be used, and is worth to be compiled."""
        return self.kind == "squared" and self.graph.n_rows >= COMPILED_FROM

    def add_to_log_loss(self, margins: Any, target: Narrow, weights: Narrow, factor: float) -> tuple[Narrow, Narrow]:
        """Return slope and curvature of two labels' weighted log loss plus ``factor`` times that of probabilities."""
        if self._found is None or len(self._found[0]) != len(target):
            self._found = tuple(np.empty((3, len(target)), np.float32))  # boosted trees take no more digits either
        shares, slope, curvature = self._found  # of the round before, which is over
        with np.errstate(over="ignore"):
            np.exp(np.negative(margins, out=shares), out=shares)  # the odds against; the kernel makes shares of them
        _add_pairs(shares, target, weights, factor, *self._listed, slope, curvature)
        return slope, curvature

    def _measure_absolute(self, scores: Numbers) -> Measured:
        (left, right, weight), n = self._pairs, len(scores)
        gaps = scores[left] - scores[right]
        sizes = np.sqrt(gaps**2 + SMOOTH**2)
        stiff = weight[:, None] / sizes
        sums = [(np.bincount(left, one, n), np.bincount(right, one, n)) for one in (*(stiff * gaps).T, *stiff.T)]
        slopes, stiffness = sums[: scores.shape[1]], sums[scores.shape[1] :]
        return Measured(
            float((weight[:, None] * (sizes - SMOOTH)).sum()),
            np.column_stack([up - down for up, down in slopes]),
            MAJORISED * np.column_stack([one + other for one, other in stiffness]),
        )


def _pull(left: Rows, right: Rows, weight: Numbers, values: Numbers) -> Numbers:
    """Sum, for each group, the weighted values of its partners; a pair of a group with itself counts once."""
    n, back = len(values), weight * (left != right)
    return np.asarray(np.bincount(left, weight * values[right], n) + np.bincount(right, back * values[left], n))


def _find_runs(left: Rows) -> tuple[Rows, NDArray[np.int64]]:
    """Return the left group of each run of pairs, and where the runs begin and end."""
    starts = np.flatnonzero(np.append(True, left[1:] != left[:-1]))
    return left[starts], np.append(starts, len(left))


@compiled_with_arrays
def _add_pairs(
    shares: Any,
    target: Any,
    weights: Any,
    factor: Any,
    rows: Any,
    group_of: Any,
    row_mass: Any,
    owners: Any,
    ends: Any,
    right: Any,
    pair_weight: Any,
    stiffness: Any,
    slope: Any,
    curvature: Any,
) -> None:
    """Do in one pass what takes numpy fifteen: the log loss, sums by group, the pull of partners, both for each row."""
    for row in range(len(shares)):  # a loop of its own is vectorised
        shares[row] = np.float32(1.0) / (np.float32(1.0) + shares[row])
    for row in range(len(shares)):
        share = shares[row]
        slope[row] = weights[row] * (share - target[row])
        curvature[row] = weights[row] * (share * (np.float32(1.0) - share) + np.float32(FLATTEST))
    sums, pulls = np.zeros(len(stiffness)), np.zeros(len(stiffness))
    for k in range(len(rows)):  # indices without a sign take no test for being negative
        sums[np.uint32(group_of[k])] += row_mass[k] * shares[np.uint64(rows[k])]
    for run in range(len(owners)):
        group = np.uint32(owners[run])
        total, own = 0.0, sums[group]
        for k in range(np.uint64(ends[run]), np.uint64(ends[run + 1])):
            partner = np.uint32(right[k])
            total += pair_weight[k] * sums[partner]
            if partner != group:
                pulls[partner] += pair_weight[k] * own
        pulls[group] += total
    for k in range(len(rows)):
        at, place = np.uint64(rows[k]), np.uint32(group_of[k])
        wide = np.float64(shares[at])
        steepness = wide * (1.0 - wide)
        mass = factor * row_mass[k] * steepness
        slope[at] += mass * (stiffness[place] * wide - 2.0 * pulls[place])
        curvature[at] += MAJORISED * mass * steepness * stiffness[place]


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
