"""Intervals of measures of people, from what each person contributes to them.

Amounts may have long tails, of which a table shows too little more often than too much: where the largest happen to be
missing, a mean of squares is too small, and so is its standard error. So the upper end of such a mean goes as far as
the skewness of a lognormal distribution with the same coefficient of variation asks for, on the scale of logarithms.
Where a few people make up nearly all of the squares there is no interval, and neither where a label has hardly anybody.

ROC AUC and average precision fall short of 1 by what people who are ranked wrongly cost, and a table that lacks the
costliest is too high and seems too certain. So their lower ends go at least as far as on the scale of logarithms of
that shortfall. Uneven weights make single people cost more still: the larger the share of people that weighting takes
away, the more of the tail of a lognormal distribution is added. What average precision of few people is too high by
is taken off first, as far as bootstrap resamples show it.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from likewise._shares import exact_interval
from likewise.auditing.inference._intervals import (
    MARGIN,
    NOTHING,
    PSEUDO_PEOPLE,
    Contributions,
    Interval,
    contribute_alone,
    interval_by_skewness,
    interval_of_share,
)
from likewise.auditing.people._sums import Floats
from likewise.auditing.question._weights import count_trials_of, effective_counts, effective_size, mean_of

FEWEST_OF_LABEL: Final = 3  # people: of fewer, nothing is known of how much they differ
FEWEST_CARRYING: Final = 5.0  # people who make up a sum of squares: of fewer, one of them decides it
TAIL_OF_SQUARES: Final = 2.0  # standard errors that skewness adds to the upper end of a mean square
MOST_REACH: Final = 100.0  # in logarithms: a lower end is 0 long before
TAIL_OF_RATIO: Final = 0.6  # and to both ends of a ratio of two, whose tails mostly come together
AREAS: Final = ("roc_auc", "average_precision")
OF_RAREST: Final = ("roc_auc", "average_precision", "balanced_accuracy", "f1")  # as certain as the rarest label is seen
OF_SQUARES: Final = ("r2", "root_mean_squared_error", "score_spread")  # of amounts: the largest count most


def count_carrying(squares: Floats) -> float:
    """Return how many equal squares would vary as much around their sum (Kish's effective number)."""
    total = float(squares.sum())
    return total**2 / float(np.square(squares).sum()) if total > 0 else float(len(squares))


def bound_root(squares: Floats, confidence: float, weights: Floats | None = None) -> Interval | None:
    """Bound the root of a mean of squares; None where a few people make up nearly all of it."""
    mean = mean_of(squares, weights)
    if mean <= 0:
        return 0.0, 0.0
    if count_carrying(squares if weights is None else squares * weights) < FEWEST_CARRYING:
        return None
    error, tail = _relative_error(squares, weights)
    student = _student(_count(squares, weights), confidence)
    root = math.sqrt(mean)
    return root * math.exp(-student * error / 2), root * math.exp((student + TAIL_OF_SQUARES * tail) * error / 2)


def bound_r2(squares: Floats, varied: Floats, confidence: float, weights: Floats | None = None) -> Interval | None:
    """Bound R² by the jackknife of the logarithm of 1 - R²; None where a few people make up nearly all of it.

    ``squares`` are those of the errors, ``varied`` those of the outcomes around their mean.
    """
    n, tail, left = _count(squares, weights), _relative_error(squares, weights)[1], len(squares) / (len(squares) - 1)
    if weights is not None:
        squares, varied = squares * weights, varied * weights
        left = 1 / (1 - weights / weights.sum())  # of the weight, once a person is left out
    total, spread = float(squares.sum()), float(varied.sum())
    if total <= 0:
        return 1.0, 1.0
    if min(count_carrying(squares), count_carrying(varied)) < FEWEST_CARRYING:  # so that nobody is all of a sum
        return None
    without = np.log((total - squares) / (spread - varied * left))
    known = math.log(total / spread)
    error = math.sqrt((n - 1) / n * float(np.square(without - known).sum()))
    reach = (_student(n, confidence) + TAIL_OF_RATIO * tail) * error
    return 1 - math.exp(known + reach), 1 - math.exp(known - reach)


def _count(squares: Floats, weights: Floats | None) -> float:
    return float(len(squares)) if weights is None else effective_size(weights)


def _relative_error(squares: Floats, weights: Floats | None) -> tuple[float, float]:
    """Return the standard error of a mean of squares relative to it, and how far its tail may go beyond the table."""
    n, mean = _count(squares, weights), mean_of(squares, weights)
    error = math.sqrt(contribute_alone(squares, weights).variance) / mean if mean > 0 else 0.0
    return error, _lognormal_tail(error, n)


def _lognormal_tail(error: float, n: float) -> float:
    """Return how far the tail of a mean may go beyond what n people show, by its relative standard error."""
    skewness = error * (error**2 * n + 3)  # of the mean of n lognormal numbers that vary as much
    return skewness / math.sqrt(1 + skewness)


def _student(n: float, confidence: float) -> float:
    return interval_by_skewness(0.0, 1.0, (0.0, 0.0), n, confidence, -math.inf, math.inf)[1]


def bound_recalls(
    is_right: NDArray[np.bool_], labels: NDArray[np.integer], confidence: float, weights: Floats | None = None
) -> Interval | None:
    """Bound the mean over labels of the share that is right, each share by Clopper and Pearson's interval."""
    shares, reaches = [], []
    for label in np.unique(labels if weights is None else labels[weights > 0]):
        right, times = is_right[labels == label], None if weights is None else weights[labels == label]
        n = count_trials_of(right, times)
        if n < FEWEST_OF_LABEL:
            return None
        share = mean_of(right, times)
        n_right = float(np.count_nonzero(right)) if times is None else share * n
        low, high = exact_interval(n_right, n, confidence)
        shares.append(share)
        reaches.append((share - low, high - share))
    below, above = (math.hypot(*ends) / len(shares) for ends in zip(*reaches, strict=True))
    return float(np.mean(shares)) - below, float(np.mean(shares)) + above


def contribute_by_label(
    moves: Floats, labels: NDArray[np.integer], weights: Floats | None = None
) -> Contributions | None:
    """Return contributions to an estimate that moves so far with each person; people of different labels vary apart.

    None where a label has too few people to tell.
    """
    counts = effective_counts(labels, weights)
    if counts[counts > 0].min(initial=len(labels)) < FEWEST_OF_LABEL:
        return None
    by_person: Floats = moves * np.sqrt(counts / np.maximum(counts - 1, 1))[labels]
    variances = np.bincount(labels, np.square(by_person))
    total, squares = float(variances.sum()), float((np.square(variances) / np.maximum(counts - 1, 1)).sum())
    n_counting = 1 + total**2 / squares if total > NOTHING else float(counts[counts > 0].min())  # Satterthwaite's
    return Contributions(by_person, 0.0, total * len(labels), n_counting, 0.0)


def bound_by_replicates(
    name: str, value: float, replicates: Floats, n_counting: float, confidence: float, *, weighted_away: float = 0.0
) -> Interval | None:
    """Bound an area, a share or F1, of which as many people count as have the rarest label, where that matters.

    ``weighted_away`` is the share of people that uneven weights take away.
    """
    error = _standard_error(replicates, n_counting)
    if error is None or (name in OF_RAREST and n_counting < FEWEST_OF_LABEL):
        return None
    if error == 0 and 0 < value < 1:  # everybody is scored alike
        return value, value
    variance, at_most = error**2, value * (1 - value) / n_counting
    if name == "f1":  # no share of people: its variance may well be smaller, and replicates show it whole
        variance /= MARGIN**2
    else:
        variance += max(PSEUDO_PEOPLE / (n_counting + PSEUDO_PEOPLE) * (at_most - variance), 0.0)
    # replicates of people who are all alike say nothing
    n_trials = value * (1 - value) / variance if variance > 0 and 0 < value < 1 else n_counting
    low, high = interval_of_share(value, n_trials, confidence, n_counting)
    if name not in AREAS:
        return low, high
    if name == "average_precision":  # of few people it is too high, by about as much as replicates are higher still
        value = max(value - 2 * max(float(np.nanmean(replicates)) - value, 0.0), 0.0)
        low = min(low, interval_of_share(value, n_trials, confidence, n_counting)[0])
    return min(low, _lower_end_of_area(value, error, n_counting, confidence, weighted_away)), high


def _lower_end_of_area(value: float, error: float, n: float, confidence: float, weighted_away: float) -> float:
    """Return the lower end on the scale of logarithms of what an area falls short of 1 by."""
    if value >= 1:
        return 1.0
    relative = error / (1 - value)
    reach = (_student(n, confidence) + weighted_away * _lognormal_tail(relative, n)) * relative
    return max(1 - (1 - value) * math.exp(min(reach, MOST_REACH)), 0.0)


def _standard_error(replicates: Floats, n_people: float) -> float | None:
    """Return how far replicates vary, put right for few people; None where most of them have no value."""
    known = replicates[np.isfinite(replicates)]
    if 2 * len(known) < len(replicates) or not len(known):
        return None
    n = max(n_people, 2.0)
    return float(known.std()) * math.sqrt(n / (n - 1))
