"""Confidence intervals from influence: by how much each person, or each cluster of people, moves an estimate.

People are independent, pairs are not. A mean over pairs moves with a person by phi = (the sum of w (value - mean) over
the person's pairs) / (the sum of w over all) / (1 - the person's share of it), w being the weight of a pair. This is
the jackknife: what the mean would change by without the person. The sum of phi squared counts a pair's own noise at
both of its people, so that the variance is that sum less the squares of single pairs; it is never less than these, the
variance of pairs without a common person. In clusters, phi is of all pairs that touch one, each once, and nothing is
taken off. A mean of people's own values, and any measure whose change with each person is known, has a phi of the same
kind, so that one way leads to every interval. A uniform sample of the pairs needs no correction of its own.

Student's degrees of freedom are the people, or clusters, of the smaller side of the pairs (Kish), fewer where a few
make up the variance, less one. A mean that is never negative is bounded on the scale of logarithms, what lies between 0
and 1 on that of logits, a difference as it is. A plain share, and one of which nothing varies, has Wilson's interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.question._weights import Units, Weights, effective_size, sum_products

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]
Interval = tuple[float, float]
METHOD: Final = "influence of people or clusters"  # a record says how it got its intervals
FEWEST_PEOPLE: Final = 10.0  # on the smaller side: of fewer, false passes are beyond 3.5 % in benchmarks/results
CARRYING: Final = 2.0  # times Kish's number of a variance: its degrees of freedom, were phi normal, are a third of it
MARGIN: Final = 1.1  # intervals of first order are a little narrow: less lets more than 3.5 % pass wrongly
MOST_LEVERAGE: Final = 0.999  # of one person: without that one next to nothing is left
MOST_REACH: Final = 100.0  # in logarithms: an end is 0, or beyond any number, long before
NOTHING: Final = 1e-24  # a variance that rounding leaves of none, in units of a squared gap
ROUNDING: Final = 1e-9  # of a number of people


@dataclass(frozen=True, eq=False)
class Influence:
    """By how much each unit moves an estimate, and how many units there are to tell."""

    by_unit: Floats
    n: float
    of_pairs: float = 0.0  # the variance, were nobody in two pairs

    @cached_property
    def variance(self) -> float:
        """That of the estimate."""
        return max(sum_products(self.by_unit, self.by_unit) - self.of_pairs, self.of_pairs)

    @property
    def error(self) -> float:
        """The standard error; 0 where it is rounding."""
        return math.sqrt(self.variance) if self.variance > NOTHING else 0.0

    @property
    def freedom(self) -> float:
        """The degrees of freedom of the variance."""
        if not self.error:
            return self.n - 1
        squares = np.square(self.by_unit / self.error)
        fourth = sum_products(squares, squares)
        return min(self.n, CARRYING * float(squares.sum()) ** 2 / fourth if fourth else math.inf) - 1

    def reach(self, confidence: float) -> float:
        """Return how far a symmetric interval goes to either side."""
        return reach_of_student(self.freedom + 1, confidence) * self.error

    def p_value(self, value: float) -> float:
        """Return how often an estimate as far from zero would be seen if there was nothing."""
        from scipy.special import stdtr

        if not value or not self.error:
            return 0.0 if value else 1.0
        return 2 * float(stdtr(max(self.freedom, 1.0), -abs(value) / (MARGIN * self.error)))

    def scaled(self, factor: float, others: Floats | None = None) -> Influence:
        """Return that on a multiple of the estimate, with what units do besides."""
        by_unit = self.by_unit * factor
        return Influence(by_unit if others is None else by_unit + others, self.n, self.of_pairs * factor**2)

    def minus(self, other: Influence) -> Influence:
        """Return that on the difference of two estimates of the same people."""
        return Influence(self.by_unit - other.by_unit, min(self.n, other.n))

    def correlation(self, other: Influence) -> float:
        """Return how two estimates vary together."""
        errors = self.error * other.error
        return min(max(sum_products(self.by_unit, other.by_unit) / errors, -1.0), 1.0) if errors else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class PairGraph:
    """Which units are in which pairs: what any mean over them has in common."""

    left: Rows  # the unit of either person
    right: Rows
    weights: Weights  # of the pairs
    are_clusters: bool
    shares: Floats  # of the pairs, those that each unit is in
    sizes: tuple[float, float]  # how many units count on either side

    @classmethod
    def of(cls, left: Rows, right: Rows, units: Units, weights: Weights) -> PairGraph:
        """Count everybody's pairs; those on the left are of one side."""
        left, right = (units.take(side).astype(np.intp, copy=False) for side in (left, right))
        first, second = (effective_size(weights.counts(side, units.n).astype(np.float64)) for side in (left, right))
        are_clusters = units.numbers is not None
        touched = _touch(left, right, weights.values, units.n, are_clusters)
        return cls(left, right, weights, are_clusters, touched / (weights.total or 1.0), (first, second))

    @property
    def n(self) -> float:
        """How many units count on the smaller side."""
        return min(self.sizes)

    def mean(self, values: NDArray[Any]) -> float:
        """Return the mean over the pairs."""
        return self.weights.mean(values)

    def influence(self, values: NDArray[Any], others: Floats | None = None) -> Influence:
        """Return the influence on the mean of the pairs' values; ``others`` is what units do besides."""
        if not len(values):
            return Influence(np.zeros(len(self.shares)), 0.0)
        if values.dtype == np.bool_:  # the pairs that it holds for may be few
            some = np.flatnonzero(values)
            weights, share, total = self.weights.take(some).values, self.mean(values), self.weights.total
            touched = _touch(self.left[some], self.right[some], weights, len(self.shares), self.are_clusters)
            squares, of_all = sum_products(weights, weights) / total**2, 1 / self.weights.effective
            of_pairs = squares * (1 - share) ** 2 + max(of_all - squares, 0.0) * share**2
            found = self._without(touched / total - share * self.shares, of_pairs)
        else:
            found = self.influence_of_parts(self.weights.times(values - self.mean(values)) / self.weights.total)
        return found if others is None else found.scaled(1.0, others)

    def influence_of_parts(self, parts: Floats) -> Influence:
        """Return the influence on an estimate that each pair moves so far."""
        touched = _touch(self.left, self.right, parts, len(self.shares), self.are_clusters)
        return self._without(touched, sum_products(parts, parts))

    def _without(self, touched: Floats, of_pairs: float) -> Influence:
        """Return what is less without each unit: the mean is then of fewer pairs."""
        by_unit = touched / (1 - np.minimum(self.shares, MOST_LEVERAGE))
        return Influence(by_unit, self.n, 0.0 if self.are_clusters else of_pairs)


def _touch(left: Rows, right: Rows, amounts: Floats, n_units: int, are_clusters: bool) -> Floats:
    """Add up the amounts of the pairs that touch each unit, each pair once."""
    total = np.bincount(left, amounts, n_units) + np.bincount(right, amounts, n_units)
    if are_clusters:
        within = np.flatnonzero(left == right)
        total = total - np.bincount(left[within], amounts[within], n_units)
    return total.astype(np.float64, copy=False)


def influence_of_people(values: Floats, weights: Weights, units: Units) -> Influence:
    """Return the influence on the mean of people's own values."""
    total = weights.total
    of_units = units.add_up(weights.values)
    by_unit = units.add_up(weights.times(values - weights.mean(values))) / total
    by_unit = by_unit / (1 - np.minimum(of_units / total, MOST_LEVERAGE))
    return Influence(by_unit, effective_size(of_units))


def face_groups(left: Rows, right: Rows, groups: Rows) -> tuple[Rows, Rows]:
    """Turn pairs so that those on the left are of one group, as far as two groups go."""
    is_turned = groups[left] > groups[right]
    return np.where(is_turned, right, left), np.where(is_turned, left, right)


def interval_of_mean(
    value: float, found: Influence, confidence: float, least: float, most: float, unseen: float = 0.0
) -> Interval | None:
    """Bound a mean, on the scale of logarithms where it cannot be negative; None where too few units count.

    Where all values are alike, others may still occur as often as a share of 0 may be off, ``unseen`` away at most.
    """
    if found.n < FEWEST_PEOPLE - ROUNDING:
        return None
    if not found.error:
        reach = unseen * interval_of_share(0.0, found.n, confidence, found.n)[1]
        return max(value - reach, least), min(value + reach, most)
    reach = found.reach(confidence)
    if least == 0 < value:
        factor = math.exp(min(reach / value, MOST_REACH))
        return value / factor, max(min(value * factor, most), value)
    return max(value - reach, least), min(value + reach, most)


def bound_share(share: float, found: Influence, confidence: float) -> Interval | None:
    """Bound what is between 0 and 1, on the scale of logits; None where too few units count."""
    if found.n < FEWEST_PEOPLE - ROUNDING:
        return None
    if not found.error or not 0 < share < 1:
        return interval_of_share(share, found.n, confidence, found.n)
    odds = share / (1 - share)
    factor = math.exp(min(found.reach(confidence) / (share * (1 - share)), MOST_REACH))
    return odds / (odds + factor), odds / (odds + 1 / factor)


def reach_of_student(n: float, confidence: float) -> float:
    """Return how many standard errors an interval reaches to each side, where so many units count."""
    from scipy.special import stdtrit

    return MARGIN * float(stdtrit(max(n - 1, 1.0), (1 + confidence) / 2))


def interval_of_share(share: float, n_independent: float, confidence: float, n_counting: float = math.inf) -> Interval:
    """Bound a share by Wilson's formula, which also works for shares of 0 and 1.

    It reaches as far as a normal variable, or as Student's where so few people count that their spread is not known.
    """
    from scipy.special import ndtri

    n = max(n_independent, 1.0)
    is_known = math.isinf(n_counting)
    z = float(ndtri((1 + confidence) / 2)) if is_known else reach_of_student(min(n, n_counting), confidence)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(min(middle - reach, share), 0.0), min(max(middle + reach, share), 1.0)


def subtract(one: float, bounds: Interval, other: float, other_bounds: Interval, correlation: float = 0.0) -> Interval:
    """Bound a difference by the intervals of its two parts, which also work for shares of 0 and 1."""
    (low, high), (least, most) = bounds, other_bounds
    return one - other - _join(one - low, most - other, correlation), one - other + _join(
        high - one, other - least, correlation
    )


def _join(one: float, other: float, correlation: float) -> float:
    try:
        return math.sqrt(max(one**2 + other**2 - 2 * correlation * one * other, 0.0))
    except OverflowError:  # of a record that somebody altered
        return math.inf


def bound_change(rises: Flags, falls: Flags, graph: PairGraph, confidence: float) -> Interval | None:
    """Bound how far a share changed: by the share of what rose and the share of what fell, either of which may be 0."""
    more, less = (graph.influence(one) for one in (rises, falls))
    up, down = graph.mean(rises), graph.mean(falls)
    high, low = bound_share(up, more, confidence), bound_share(down, less, confidence)
    if high is None or low is None:
        return None
    return subtract(up, high, down, low, min(more.correlation(less), 0.0))
