"""Confidence intervals from what each person contributes to an estimate: people are independent, pairs are not.

A mean over pairs moves with person i by phi = (sum of the residuals of i's pairs) / M, over the M pairs. That counts a
pair's own noise at both of its people, so that its variance is A - D, with A = the sum of phi squared, D = the sum of
squared residuals / M squared; it is never less than D, that of pairs without a common person. The third moment is
counted the same way: the sum of phi cubed less that of single pairs, and what three pairs in a chain contribute, which
is what a mean of absolute gaps gains whenever two groups move apart. Four corrections are for few people:

- phi is divided by the root of 1 - (share of the pairs that i is in), as residuals around a fitted mean are too small.
- Student's degrees of freedom are the people who count: of a x b pairs about the smaller of a and b, less one.
- By their own few values these people may seem alike. At most, all variance of single pairs is between people, so the
  variance is drawn towards (that of a single pair) / (people who count), as ``PSEUDO_PEOPLE`` more people would do.
- The interval leans to the side to which the estimate is skewed (Hall's transformation). The skewness is uncertain
  itself, most of all where a few people contribute most, so that each end allows for the one that is worse for it.

A pair of weight w counts w times in every sum, so that phi has w times its residual over the sum of all w, and people
count by the weight of their pairs: Kish's effective number where nobody is in two pairs.

Shares are bounded by Wilson's formula with as many independent trials as give that variance, quantiles by all values
that as many trials may have put at their place. A uniform sample of the pairs needs no correction of its own: of a
share p of them, A - D comes to that of all pairs plus (1 / p - 1) D on average, the variance of sampling pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.question._weights import effective_size, mean_of, sum_products

Floats = NDArray[np.float64]
Rows = NDArray[np.integer]
Flags = NDArray[np.bool_]
Interval = tuple[float, float]
# a record says how it got its intervals
METHOD: Final = "contributions of people, third moments of differences, long tails, also of areas"
PSEUDO_PEOPLE: Final = 2.0
FEWEST_PEOPLE: Final = 3.0  # who count: of fewer, Student's distribution says next to nothing
NORMAL_SIXTH: Final = 15.0  # the sixth moment of a normal distribution
OF_POSITIVE: Final = 1.3  # times standard deviation / mean is the skewness of absolute values of normal numbers
UNSURE: Final = 1.5  # standard errors by which the skewness may be another one
CHAINED: Final = 3.0  # times what chains of pairs add: 6 orders of three pairs, halved by an error that varies along
MOST_SKEWED: Final = 0.5  # of a sum: beyond it an expansion by skewness does not hold
MOST_STRETCHED: Final = 2.0  # times the reach of a symmetric interval, to the side of the skewness
KURTOSIS_PEOPLE: Final = 2.0  # a third of the people, if they are normal; half as much again for certain
MARGIN: Final = 1.04  # intervals of first order are a little narrow, which benchmarks/results/coverage.md measures
MOST_LEVERAGE: Final = 0.999
NOTHING: Final = 1e-24  # a variance that rounding leaves of none, in units of a squared gap


@dataclass(frozen=True, slots=True, eq=False)
class PairGraph:
    """Who is in which pairs: what any mean over them has in common."""

    left: Rows
    right: Rows
    n_pairs_of: NDArray[Any]  # how many pairs everybody is in; of what weight, where they are not alike
    roots: Floats  # what to divide a person's contribution by
    n_counting: float  # people
    shares: Floats | None = None  # of each pair in the mean, where they are not alike

    @classmethod
    def of(cls, left: Rows, right: Rows, n_people: int, weights: Floats | None = None) -> PairGraph:
        """Count everybody's pairs, by their weights where there are any."""
        left, right = left.astype(np.intp), right.astype(np.intp)  # which NumPy would do at every step
        n_pairs_of = _add_to_people(left, right, weights, n_people)
        total = max(len(left), 1) if weights is None or not len(weights) else float(weights.sum())
        leverages = np.minimum(n_pairs_of / total, MOST_LEVERAGE)
        shares = None if weights is None else weights / total
        n_counting = count_people(n_pairs_of.astype(np.float64))
        return cls(left, right, n_pairs_of, np.sqrt(1 - leverages), n_counting, shares)

    def contribute(self, values: NDArray[Any], *, others: Floats | None = None) -> Contributions:
        """Return what people contribute to the mean of the pairs' values; ``others`` is what they do besides."""
        parts = self.part(values)
        found = self.contribute_to_share(values) if values.dtype == np.bool_ else self._add_up(parts, values)
        by_person = found.by_person if others is None else found.by_person + others
        cubes = float(np.einsum("i,i,i", parts, parts, parts))
        shown = min(2 * mean_of(values != 0, self.shares), 1.0) if len(values) else 1.0
        return replace(found, by_person=by_person, third=-cubes, bent=self.bend(parts, by_person), shown=shown)

    def contribute_to_share(self, holds: Flags) -> Contributions:
        """Return what people contribute to a share of pairs: its variance and no more."""
        if self.shares is not None or not len(holds):
            return self._add_up(self.part(holds), holds)
        n, share = len(holds), mean_of(holds, None)
        few = np.flatnonzero(holds if share <= 1 / 2 else ~holds)  # the others are what is left of all
        counts = _add_to_people(self.left[few], self.right[few], None, len(self.roots))
        counts = counts if share <= 1 / 2 else self.n_pairs_of - counts
        by_person = (counts - share * self.n_pairs_of) / (n * self.roots)
        of_one = share * (1 - share)
        return Contributions(by_person, of_one / n, of_one, self.n_counting)

    def part(self, values: NDArray[Any]) -> Floats:
        """Return what each pair contributes to the mean."""
        if not len(values):
            return values.astype(np.float64)
        parts: Floats = values - mean_of(values, self.shares)
        if self.shares is None:
            parts /= len(values)
        else:
            parts *= self.shares
        return parts

    def bend(self, parts: Floats, by_person: Floats) -> float:
        """Return what three pairs in a chain add to the third moment, by what each pair contributes to the mean."""
        return CHAINED * float(((by_person[self.left] - parts) * (by_person[self.right] - parts) * parts).sum())

    def _add_up(self, parts: Floats, values: NDArray[Any]) -> Contributions:
        """Return the contributions of people, by that of each pair."""
        by_person = _add_to_people(self.left, self.right, parts, len(self.roots)) / self.roots
        squares = sum_products(parts, parts)
        of_one = squares * max(len(parts), 1)
        if self.shares is not None:
            of_one = mean_of(np.square(values - mean_of(values, self.shares)), self.shares)
        return Contributions(by_person, squares, of_one, self.n_counting)


def _add_to_people(left: Rows, right: Rows, amounts: Floats | None, n_people: int) -> NDArray[Any]:
    """Count everybody's pairs, or add up their amounts: of those where a person is left, plus of those where right."""
    return np.bincount(left, amounts, n_people) + np.bincount(right, amounts, n_people)


def contribute_alone(values: Floats, weights: Floats | None = None) -> Contributions:
    """Return what people contribute to the mean of their own values."""
    n = len(values)
    residuals = values - mean_of(values, weights)
    if weights is not None:
        shares = weights / weights.sum()
        roots = np.sqrt(1 - np.minimum(shares, MOST_LEVERAGE))
        of_one = mean_of(np.square(residuals), weights)
        return Contributions(residuals * shares / roots, 0.0, of_one, effective_size(weights))
    return Contributions(
        residuals / math.sqrt(n * max(n - 1, 1)), 0.0, sum_products(residuals, residuals) / n, float(n)
    )


def count_people(n_pairs_of: Floats) -> float:
    """Return how many people count: the degrees of freedom of a sum over pairs, and one.

    Of m pairs without a common person m, of a x b pairs about the smaller of a and b, about 1 where one is in all.
    """
    squares = np.square(n_pairs_of)
    total = float(squares.sum())
    if total == 0:
        return 0.0
    return min(total**2 / sum_products(squares, squares), float(n_pairs_of.sum()) ** 2 / total / 2)


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each person contributes to an estimate, and what is known of its variance."""

    by_person: Floats
    of_pairs: float  # the variance, were no person in two pairs
    of_one: float  # the variance of a single value
    n_counting: float
    added: float | None = None  # to the variance, for what few people do not show; None for that of a single mean
    shown: float = 1.0  # share of people who show it: where most values are 0, as differences of decisions are, few do
    third: float = 0.0  # what the third moment has besides the cubes of people, for pairs were counted twice
    bent: float = 0.0  # and for chains of pairs

    @cached_property
    def seen(self) -> float:
        """The variance that these people show."""
        return max(sum_products(self.by_person, self.by_person) - self.of_pairs, self.of_pairs)

    @property
    def more(self) -> float:
        """What the variance is raised by, because of few people."""
        if self.added is not None:
            return self.added
        weight = PSEUDO_PEOPLE / (self.shown * self.n_counting + PSEUDO_PEOPLE)
        return max(weight * (self.of_one / max(self.n_counting, 1.0) - self.seen), 0.0)

    @property
    def variance(self) -> float:
        """The variance of the estimate."""
        return self.seen + self.more

    @property
    def skewness(self) -> float:
        """That of the estimate."""
        return self._relate(float(np.einsum("i,i,i", *[self.by_person] * 3)) + self.third + self.bent)

    @property
    def skewnesses(self) -> tuple[float, float]:
        """The least and the largest that the skewness may be, for the lower and for the upper end of an interval.

        A standard error is allowed for as far as it is beyond that of normal contributions, which Student's
        distribution knows; but no end is drawn in because of a skewness that may as well be none.
        """
        skewness, error = self.skewness, self._relate(math.sqrt(float(np.einsum("i,i,i,i,i,i", *[self.by_person] * 6))))
        beyond = math.sqrt(max(error**2 - NORMAL_SIXTH / max(self.n_counting, 1.0) ** 2, 0.0))
        least, most = skewness - UNSURE * beyond, skewness + UNSURE * beyond
        return min(least, max(skewness - UNSURE * error, 0.0)), max(most, min(skewness + UNSURE * error, 0.0))

    @property
    def lean(self) -> float:
        """The skewness for chains of pairs alone."""
        return self._relate(self.bent)

    def _relate(self, moment: float) -> float:
        return moment / self.variance**1.5 if self.variance > NOTHING else 0.0

    @property
    def n_varying(self) -> float:
        """People who count, fewer where a few contribute most of the variance."""
        squares = np.square(self.by_person)
        total = float(squares.sum())
        if total <= NOTHING:
            return self.n_counting
        return min(self.n_counting, KURTOSIS_PEOPLE * total**2 / sum_products(squares, squares))

    def scaled(self, factor: float, others: Floats | None = None) -> Contributions:
        """Return those to a multiple of the estimate, with what people contribute besides."""
        by_person = self.by_person * factor if others is None else self.by_person * factor + others
        square, cube = factor**2, 0.0 if others is not None else factor**3  # how those bend the estimate is not known
        return Contributions(
            by_person,
            self.of_pairs * square,
            self.of_one * square,
            self.n_counting,
            self.more * square,
            third=self.third * cube,
            bent=self.bent * cube,
        )

    def at_least(self, variance: float) -> Contributions:
        """Return the same with no smaller a variance than told."""
        return replace(self, added=max(self.more, variance - self.seen))

    def minus(self, other: Contributions) -> Contributions:
        """Return those to the difference of two estimates of the same people."""
        one, two = self.variance, other.variance
        both = one + two
        n_counting = min(self.n_counting, other.n_counting)
        if both > NOTHING:
            n_counting = 1 + both**2 / (
                one**2 / max(self.n_counting - 1, 1e-3) + two**2 / max(other.n_counting - 1, 1e-3)
            )
        return Contributions(
            self.by_person - other.by_person,
            self.of_pairs + other.of_pairs,
            self.of_one + other.of_one,
            n_counting,
            self.more + other.more,
            third=self.third - other.third,
        )

    def correlation(self, other: Contributions) -> float:
        """Return how two estimates vary together, drawn to none where few people show it."""
        squares = self.variance * other.variance
        if squares <= NOTHING**2:
            return 0.0
        n = min(self.n_counting, other.n_counting)
        together = sum_products(self.by_person, other.by_person) / math.sqrt(squares)
        together = min(max(together, -1.0), 1.0) * n / (n + PSEUDO_PEOPLE)
        return (
            together if together < 0 else together / 2
        )  # which narrows a difference: less of what is uncertain itself


def interval_of_mean(
    value: float,
    found: Contributions,
    confidence: float,
    least: float,
    most: float,
    unseen: float = 0.0,
) -> Interval | None:
    """Bound a mean; None where too few people count to say anything.

    Where all values are alike, others may still occur as often as a share of 0 may be off, ``unseen`` away at most.
    """
    if found.n_counting < FEWEST_PEOPLE:
        return None
    if found.of_one <= NOTHING:
        reach = unseen * interval_of_share(0.0, found.n_counting, confidence, found.n_counting)[1]
        return max(value - reach, least), min(value + reach, most)
    error, (lowest, highest) = math.sqrt(found.variance), found.skewnesses
    if least == 0 < value:  # few values that cannot be negative show less skewness than they have
        highest = max(highest, OF_POSITIVE * error / value)
    return interval_by_skewness(value, error, (lowest, highest), found.n_varying, confidence, least, most)


def interval_by_skewness(
    value: float,
    error: float,
    skewness: tuple[float, float],
    n_counting: float,
    confidence: float,
    least: float,
    most: float,
) -> Interval:
    """Bound an estimate by its standard error, with as many degrees of freedom as people count.

    The skewness may be anything between the two told: the lower end goes by the first and the upper by the second.
    """
    student = reach_of_student(n_counting, confidence)
    below, above = _stretch(student, skewness)
    return max(value - error * below, least), min(value + error * above, most)


def _stretch(student: float, skewness: tuple[float, float]) -> tuple[float, float]:
    """Return how many standard errors the ends are away, where symmetric ones are at ``student``."""
    lowest, highest = (min(max(one, -MOST_SKEWED), MOST_SKEWED) for one in skewness)
    most = MOST_STRETCHED * student
    return min(abs(_unskew(student, lowest)), most), min(abs(_unskew(-student, highest)), most)


def reach_of_student(n_counting: float, confidence: float) -> float:
    """Return how many standard errors an interval reaches to each side."""
    from scipy.special import stdtrit

    return MARGIN * float(stdtrit(max(n_counting - 1, 1.0), (1 + confidence) / 2))


def _unskew(end: float, skewness: float) -> float:
    """Return the deviation that a skewed sum reaches as often as a symmetric one reaches ``end`` (Hall)."""
    if abs(skewness) < 1e-6:
        return end
    inner = 1 + skewness * (end - skewness / 6)
    return 3 / skewness * (math.copysign(abs(inner) ** (1 / 3), inner) - 1)


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


def count_trials(share: float, found: Contributions) -> float:
    """Return how many independent trials would leave a share as uncertain: the people, where nothing is seen of it.

    The rarer it is, the less these people show of what others would do, and the more pseudo-people weigh.
    """
    at_most = found.of_one / max(found.n_counting, 1.0)
    if at_most <= NOTHING:
        return max(found.n_counting, 1.0)
    weight = PSEUDO_PEOPLE / (PSEUDO_PEOPLE + max(_vary(share) * found.n_counting, 0.0))
    return found.of_one / (found.seen + max(weight * (at_most - found.seen), 0.0))


def _vary(share: float) -> float:
    """Return how much of the largest variance a share has."""
    return 4 * share * (1 - share)


def bound_share(share: float, found: Contributions, confidence: float) -> Interval | None:
    """Bound a share of pairs; None where too few people count to say anything."""
    if found.n_counting < FEWEST_PEOPLE:
        return None
    low, high = interval_of_share(share, count_trials(share, found), confidence, found.n_counting)
    student = reach_of_student(found.n_counting, confidence)
    # Wilson's formula knows how skewed a share of independent trials is, and nothing of chains
    below, above = (max(one / student, 1.0) for one in _stretch(student, (found.lean, found.lean)))
    return max(share - (share - low) * below, 0.0), min(share + (high - share) * above, 1.0)


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


def bound_change(
    rises: NDArray[np.bool_], falls: NDArray[np.bool_], graph: PairGraph, confidence: float
) -> Interval | None:
    """Bound how far a share changed: by the share of what rose and the share of what fell, either of which may be 0."""
    more, less = (graph.contribute(one) for one in (rises, falls))
    up, down = float(rises.mean()), float(falls.mean())
    high, low = bound_share(up, more, confidence), bound_share(down, less, confidence)
    if high is None or low is None:
        return None
    return subtract(up, high, down, low, min(more.correlation(less), 0.0))
