"""Intervals of measures of people, from what each person, or cluster, moves them by.

Amounts may have long tails, of which a table shows too little more often than too much: where the largest happen to be
missing, a mean of squares is too small, and so is its standard error. So the upper end of such a mean goes as far as
the skewness of a lognormal distribution with the same coefficient of variation asks for, on the scale of logarithms.
Where a few people make up nearly all of the squares there is no interval.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from likewise._shares import exact_interval
from likewise.auditing.inference._intervals import (
    FEWEST_PEOPLE,
    MOST_LEVERAGE,
    ROUNDING,
    Influence,
    Interval,
    bound_share,
    influence_of_people,
    interval_of_share,
    reach_of_student,
)
from likewise.auditing.question._weights import Units, Weights, effective_size

Floats = NDArray[np.float64]
FEWEST_OF_LABEL: Final = int(FEWEST_PEOPLE)  # as on a side of pairs
FEWEST_CARRYING: Final = 5.0  # people who make up a sum of squares: of fewer, one of them decides it
TAIL_OF_SQUARES: Final = 2.0  # standard errors that skewness adds to the upper end of a mean square
TAIL_OF_RATIO: Final = 0.6  # and to both ends of a ratio of two, whose tails mostly come together
OF_RAREST: Final = ("roc_auc", "average_precision", "balanced_accuracy", "f1")  # as certain as the rarest label is seen
OF_SQUARES: Final = ("r2", "root_mean_squared_error", "score_spread")  # of amounts: the largest count most


def count_carrying(squares: Floats) -> float:
    """Return how many equal squares would vary as much around their sum (Kish's effective number)."""
    total = float(squares.sum())
    return total**2 / float(np.square(squares).sum()) if total > 0 else float(len(squares))


def bound_root(squares: Floats, confidence: float, weights: Weights, units: Units) -> Interval | None:
    """Bound the root of a mean of squares; None where a few people make up nearly all of it."""
    mean = weights.mean(squares)
    if mean <= 0:
        return 0.0, 0.0
    if count_carrying(units.add_up(weights.times(squares))) < FEWEST_CARRYING:
        return None
    found = influence_of_people(squares, weights, units)
    error, root = found.error / mean, math.sqrt(mean)
    student = reach_of_student(found.n, confidence)
    beyond = TAIL_OF_SQUARES * _lognormal_tail(error, found.n)
    return root * math.exp(-student * error / 2), root * math.exp((student + beyond) * error / 2)


def bound_r2(squares: Floats, varied: Floats, confidence: float, weights: Weights, units: Units) -> Interval | None:
    """Bound R² by the jackknife of the logarithm of 1 - R²; None where a few people make up nearly all of it.

    ``squares`` are those of the errors, ``varied`` those of the outcomes around their mean.
    """
    found = influence_of_people(squares, weights, units)
    squares, varied = (units.add_up(weights.times(one)) for one in (squares, varied))
    left = 1 / (1 - units.add_up(weights.values) / weights.total)  # of the weight, once a unit is left out
    total, spread = float(squares.sum()), float(varied.sum())
    if total <= 0:
        return 1.0, 1.0
    if min(count_carrying(squares), count_carrying(varied)) < FEWEST_CARRYING:  # so that nobody is all of a sum
        return None
    without = np.log((total - squares) / (spread - varied * left))
    known, n = math.log(total / spread), found.n
    error = math.sqrt((n - 1) / n * float(np.square(without - known).sum()))
    tail = TAIL_OF_RATIO * _lognormal_tail(found.error * weights.total / total, n)
    reach = (reach_of_student(n, confidence) + tail) * error
    return 1 - math.exp(known + reach), 1 - math.exp(known - reach)


def _lognormal_tail(error: float, n: float) -> float:
    """Return how far the tail of a mean may go beyond what n people show, by its relative standard error."""
    skewness = error * (error**2 * n + 3)  # of the mean of n lognormal numbers that vary as much
    return skewness / math.sqrt(1 + skewness)


def bound_people(holds: NDArray[np.bool_], confidence: float, weights: Weights, units: Units) -> Interval:
    """Bound the share of people that something holds for, by Wilson's formula; in clusters, by what these vary."""
    n_units = math.inf if units.numbers is None else effective_size(units.add_up(weights.values))
    return interval_of_share(weights.mean(holds), count_trials(holds, weights, units), confidence, n_units)


def count_trials(holds: NDArray[np.bool_], weights: Weights, units: Units) -> float:
    """Return how many independent trials leave a share as uncertain: no more than the people who count (Kish)."""
    share, n = weights.mean(holds), effective_size(units.add_up(weights.values))
    residuals = float(np.square(units.add_up(weights.times(holds - share))).sum())
    n = n if units.numbers is None or not residuals else weights.effective
    return min(n, share * (1 - share) * weights.total**2 / residuals) if residuals > 0 else n


def bound_recalls(
    is_right: NDArray[np.bool_], labels: NDArray[np.integer], confidence: float, weights: Weights, units: Units
) -> Interval | None:
    """Bound the mean over labels of the share that is right, each share by Clopper and Pearson's interval."""
    shares, reaches = [], []
    for label in np.unique(labels[weights.values > 0]):
        some = np.flatnonzero(labels == label)
        times = weights.take(some)
        n = count_trials(is_right[some], times, units.of_some(some))
        if n < FEWEST_OF_LABEL - ROUNDING:
            return None
        share = times.mean(is_right[some])
        low, high = exact_interval(share * n, n, confidence)
        shares.append(share)
        reaches.append((share - low, high - share))
    below, above = (math.hypot(*ends) / len(shares) for ends in zip(*reaches, strict=True))
    return float(np.mean(shares)) - below, float(np.mean(shares)) + above


def influence_by_label(moves: Floats, labels: NDArray[np.integer], weights: Weights, units: Units) -> Influence:
    """Return the influence on an estimate that moves so far with each person; as many count as have the rarest label.

    Without a unit, the others of a label count for its share of the label, too.
    """
    cells = units.take(np.arange(len(labels))) * (int(labels.max(initial=0)) + 1) + labels
    of_cells, of_labels = weights.counts(cells).astype(np.float64), weights.counts(labels).astype(np.float64)
    squares = np.bincount(np.arange(len(of_cells)) % len(of_labels), np.square(of_cells), len(of_labels))
    shares = of_cells[cells] / np.where(of_labels > 0, of_labels, 1.0)[labels]
    is_there = of_labels > 0
    n = float((np.square(of_labels[is_there]) / squares[is_there]).min(initial=len(labels)))
    return Influence(units.add_up(moves / (1 - np.minimum(shares, MOST_LEVERAGE))), n)


def bound_area(value: float, found: Influence, confidence: float) -> Interval | None:
    """Bound ROC AUC, average precision or F1."""
    if not found.error and 0 < value < 1:  # everybody is scored alike
        return value, value
    return bound_share(value, found, confidence)
