"""Labels, scores and weights of people: checked, and added up, so that measures are formulas of a few sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._ranking import Levels
from likewise.auditing.question._weights import sum_products

Floats = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]
ONE_EACH: Final = np.ones(1, np.bool_)  # an amount of 1 for everybody
TINY: Final = 1e-150  # in place of no weight at all, also squared


@dataclass(frozen=True, slots=True, eq=False)
class GroupSums:
    """Amounts to add up by group: the group of each person, and a column for each amount.

    There are as many people as a large table has rows, so each column is of the smallest type that has its numbers:
    flags stay flags, and an amount that is the same for all stands once.
    """

    groups: Codes
    n_groups: int
    amounts: tuple[NDArray[Any], ...]

    def add_up(self, weights: Floats) -> Floats:
        """Sum the amounts, each person counting as often as told; shape (n_groups, n_amounts)."""
        by_amount = [np.bincount(self.groups, weights * amount, self.n_groups) for amount in self.amounts]
        return np.stack(by_amount, axis=-1)

    def weighted(self, weights: Floats | None) -> GroupSums:
        """Return amounts that count by the weights of people."""
        return self if weights is None else replace(self, amounts=tuple(one * weights for one in self.amounts))


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """People from the highest score to the lowest, and where a run of equal scores ends."""

    order: NDArray[np.int32]
    is_positive: Flags
    is_last: Flags
    weights: Floats | None = None  # of the people, in this order; None where all count alike

    def weighted(self, weights: Floats | None) -> Curve:
        """Return the curve of weighted people."""
        return self if weights is None else replace(self, weights=np.ascontiguousarray(weights[self.order]))

    def areas(self, weights: Floats) -> Floats:
        """Return ROC AUC and average precision; NaN where one of the two labels is missing."""
        times = weights[self.order]
        positive = _add_along(times * self.is_positive)[self.is_last]
        times *= ~self.is_positive
        negative = _add_along(times)[self.is_last]
        if not len(positive) or positive[-1] == 0 or negative[-1] == 0:
            return np.full(2, np.nan)
        n_positive, n_negative = positive[-1], negative[-1]
        more = np.diff(positive, prepend=0.0)
        roc = sum_products(np.diff(negative, prepend=0.0), positive - more / 2) / (n_positive * n_negative)
        people = np.add(positive, negative, out=negative)
        precision = np.divide(positive, people, out=np.zeros_like(people), where=people > 0)
        return np.array([roc, sum_products(more, precision) / n_positive])

    def moves(self) -> Floats:
        """Return how far ROC AUC and average precision move with each person's weight; shape (n_people, 2)."""
        run: NDArray[np.int64] = np.cumsum(self.is_last) - self.is_last
        times = np.ones(len(run)) if self.weights is None else self.weights
        more_positive, more_negative = (np.bincount(run, one * times) for one in (self.is_positive, ~self.is_positive))
        positive, negative = np.cumsum(more_positive), np.cumsum(more_negative)
        n_positive, n_negative = positive[-1], negative[-1]
        people = np.maximum(positive + negative, TINY)  # nobody who counts may be at the top
        beaten = (n_negative - negative + more_negative / 2) / n_negative  # of a positive, the share ranked lower
        beating = (positive - more_positive / 2) / n_positive
        precision, shares = positive / people, more_positive / n_positive
        roc, average = sum_products(shares, beaten), sum_products(shares, precision)
        # a person also counts in the precision at every lower score
        raised, lowered = (np.cumsum((shares * one / np.square(people))[::-1])[::-1] for one in (negative, positive))
        of_positive = np.column_stack([(beaten - roc) / n_positive, (precision - average) / n_positive + raised])
        of_negative = np.column_stack([(beating - roc) / n_negative, -lowered])
        moved: Floats = np.empty((len(run), 2))
        moved[self.order] = np.where(self.is_positive[:, None], of_positive[run], of_negative[run]) * times[:, None]
        return moved


def group_sums(
    amounts: Sequence[NDArray[Any]], groups: NDArray[np.integer] | None = None, n_groups: int = 1
) -> GroupSums:
    """Return amounts to add up by group, each a column or one number for all; without groups everybody is in one."""
    columns = tuple(one if one.dtype == np.bool_ else np.ascontiguousarray(one, np.float64) for one in amounts)
    smallest = np.min_scalar_type(max(n_groups - 1, 0))
    codes = np.zeros(len(columns[-1]), smallest) if groups is None else groups.astype(smallest)
    return GroupSums(codes, n_groups, columns)


def _add_along(numbers: Floats) -> Floats:
    """Add up numbers from the first on, in their own place."""
    return np.cumsum(numbers, out=numbers)


def curve(is_positive: Flags, scores: Floats, weights: Floats | None = None, *, levels: Levels | None = None) -> Curve:
    """Return people in order of their scores, by the levels of these where they are known."""
    order, is_last = (levels or Levels.of(scores)).descend()
    return Curve(order, is_positive[order], is_last).weighted(weights)


def ratio(part: Floats, whole: Floats) -> Floats:
    """Divide, with NaN where there is nothing to divide by."""
    part, whole = np.broadcast_arrays(part, whole)
    quotient: Floats = np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole > 0)
    return quotient


def spread_sums(scores: Floats, weights: Floats | None = None) -> GroupSums:
    """Add up what the standard deviation of scores is made of, around their mean, where sums lose no digits."""
    columns = scores.reshape(len(scores), -1)
    centred = columns
    if len(columns):
        centred = columns - (columns.mean(axis=0) if weights is None else np.average(columns, axis=0, weights=weights))
    # two columns of probabilities vary alike, so half of the sum is the variance of either
    halved = centred if scores.ndim == 1 else centred / np.sqrt(2)
    return group_sums([ONE_EACH, np.square(halved).sum(axis=1), *halved.T])


def spread_of(sums: Floats) -> Floats:
    """Turn the sums of :func:`spread_sums`, shape (..., 1, n_amounts), into standard deviations."""
    total, squares, centred = sums[..., 0, 0], sums[..., 0, 1], sums[..., 0, 2:]
    variance = ratio(squares, total) - np.square(ratio(centred, total[..., None])).sum(axis=-1)
    spread: Floats = np.sqrt(np.maximum(variance, 0.0))
    return spread
