"""What is added up over people, so that every measure of people is a formula of a few sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Amounts to add up by group: one group and one row of amounts a person."""

    groups: Codes
    n_groups: int
    amounts: Floats

    def add_up(self, weights: Floats) -> Floats:
        """Sum the amounts, each person counting as often as told; shape (n_groups, n_amounts)."""
        by_amount = [np.bincount(self.groups, weights * amount, self.n_groups) for amount in self.amounts.T]
        return np.stack(by_amount, axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """People from the highest score to the lowest, and where a run of equal scores ends."""

    order: Codes
    is_positive: Flags
    is_last: Flags

    def areas(self, weights: Floats) -> Floats:
        """Give the area under the ROC curve and the average precision; NaN where one of the two labels is missing."""
        times = weights[self.order]
        positive = np.cumsum(times * self.is_positive)[self.is_last]
        negative = np.cumsum(times * ~self.is_positive)[self.is_last]
        if not len(positive) or positive[-1] == 0 or negative[-1] == 0:
            return np.full(2, np.nan)
        more_positive, more_negative = np.diff(positive, prepend=0.0), np.diff(negative, prepend=0.0)
        people = positive + negative
        precision = np.divide(positive, people, out=np.zeros_like(people), where=people > 0)
        roc = more_negative @ (positive - more_positive / 2) / (positive[-1] * negative[-1])
        return np.array([roc, more_positive @ precision / positive[-1]])


def tally(amounts: list[Floats], groups: NDArray[np.integer] | None = None, n_groups: int = 1) -> Tally:
    """Put amounts side by side; without groups everybody is in one."""
    columns = np.ascontiguousarray(np.column_stack(amounts), np.float64)
    codes = np.zeros(len(columns), np.int32) if groups is None else np.ascontiguousarray(groups, np.int32)
    return Tally(codes, n_groups, columns)


def curve(is_positive: Flags, scores: Floats) -> Curve:
    """Put people in order of their scores."""
    order = np.argsort(-scores, kind="stable").astype(np.int32)
    ordered = scores[order]
    is_last = np.append(ordered[1:] != ordered[:-1], True)[: len(ordered)]
    return Curve(order, np.ascontiguousarray(is_positive[order]), is_last)


def ratio(part: Floats, whole: Floats) -> Floats:
    """Divide, with NaN where there is nothing to divide by."""
    part, whole = np.broadcast_arrays(part, whole)
    quotient: Floats = np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole > 0)
    return quotient


def tally_spread(scores: Floats) -> Tally:
    """Add up what the standard deviation of scores is made of, around their mean, where sums lose no digits."""
    columns = scores.reshape(len(scores), -1)
    centred = columns - columns.mean(axis=0) if len(columns) else columns
    # two columns of probabilities vary alike, so half of the sum is the variance of either
    halved = centred if scores.ndim == 1 else centred / np.sqrt(2)
    return tally([np.ones(len(columns)), np.square(halved).sum(axis=1), *halved.T])


def spread_of(sums: Floats) -> Floats:
    """Turn the sums of :func:`tally_spread`, shape (..., 1, n_amounts), into standard deviations."""
    total, squares, centred = sums[..., 0, 0], sums[..., 0, 1], sums[..., 0, 2:]
    variance = ratio(squares, total) - np.square(ratio(centred, total[..., None])).sum(axis=-1)
    spread: Floats = np.sqrt(np.maximum(variance, 0.0))
    return spread
