"""From replicates to confidence intervals, with the noise of single pairs counted once.

Resampling people makes a pair's weight the product of two weights. That gets the covariance of pairs that share a
person right, but a pair's own variance three times too large: with e the residuals, the replicates vary by A + D, where
A = sum over people of (sum of their e) squared and D = sum of e squared, while the mean varies by A - D. So deviations
are shrunk by the root of that ratio. Where every person has one pair, A = 2 D and D remains, as for independent pairs;
it is never less.

The same holds for a uniform sample of the pairs, which needs no correction of its own: of a share p of them, A is
p^2 (A - 2 D) + 2 p D on average and D is p D, so A - D comes to p^2 (A - 2 D) + p D. Divided by p^2, as a sum over the
sample is by p, that is A - D, the variance from the people, plus (1 / p - 1) D, the variance from sampling pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.pairs._gaps import quantile_of_sorted

Floats = NDArray[np.float64]
Rows = NDArray[np.integer]
Interval = tuple[float, float]
COMMON: Final = 5  # of n people with n scores, about one in n pairs has a certain rank gap, and hardly five


def shared_variance(left: Rows, right: Rows, residuals: Floats, n_people: int) -> tuple[float, float]:
    """Return the variance of the sum of the residuals, and the factor to shrink the replicates' deviations by."""
    by_person: Floats = np.bincount(left, residuals, n_people).astype(np.float64)
    by_person += np.bincount(right, residuals, n_people)
    of_people, of_pairs = _sum_of_squares(by_person), _sum_of_squares(residuals)
    variance = max(of_people - of_pairs, of_pairs)
    drawn = of_people + of_pairs
    return variance, math.sqrt(variance / drawn) if drawn > 0 else 1.0


def count_independent(residuals: Floats, variance: float) -> float:
    """Return how many independent pairs would leave the mean as uncertain as these do."""
    return _sum_of_squares(residuals) * len(residuals) / variance if variance > 0 else float(len(residuals))


def count_apart(left: Rows, right: Rows, n_people: int) -> float:
    """Return how many pairs without a common person these amount to.

    Half of Kish's number of people: m for m pairs without a common person, about 2 where one person is in all.
    """
    n_pairs_of = (np.bincount(left, minlength=n_people) + np.bincount(right, minlength=n_people)).astype(np.float64)
    return 2 * len(left) ** 2 / _sum_of_squares(n_pairs_of) if len(left) else 0.0


def interval_of(value: float, deviations: Floats, confidence: float, least: float, most: float) -> Interval | None:
    """Read the interval off the replicates' deviations, the value always in it; None where too few say anything."""
    known = deviations[np.isfinite(deviations)]
    if 2 * len(known) < len(deviations) or not len(known):
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return max(value + min(float(low), 0.0), least), min(value + max(float(high), 0.0), most)


def widen(n_apart: float, confidence: float) -> float:
    """Allow for the variance being estimated as well, by Student's distribution; of few people little is known."""
    from scipy.special import ndtri, stdtrit

    n = max(n_apart, 2.0)
    end = (1 + confidence) / 2
    return float(stdtrit(n - 1, end) / ndtri(end) * math.sqrt(n / (n - 1)))


def reach_of(left: Rows, right: Rows, residuals: Floats, n_people: int, confidence: float) -> float:
    """Return the factor for the replicates' deviations from a mean over pairs."""
    variance, kept = shared_variance(left, right, residuals, n_people)
    n_apart = min(count_independent(residuals, variance), count_apart(left, right, n_people))
    return kept * widen(n_apart, confidence)


def interval_of_share(share: float, n_independent: float, confidence: float, n_apart: float = math.inf) -> Interval:
    """Bound a share by Wilson's formula, which also works for shares of 0 and 1."""
    from scipy.special import stdtrit

    n = max(n_independent, 1.0)
    z = float(stdtrit(max(min(n, n_apart) - 1, 1.0), (1 + confidence) / 2))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def subtract(one: float, bounds: Interval, other: float, other_bounds: Interval) -> Interval:
    """Bound a difference of shares by their own intervals, which also work for shares of 0 and 1."""
    (low, high), (least, most) = bounds, other_bounds
    return one - other - math.hypot(one - low, most - other), one - other + math.hypot(high - one, other - least)


def allow_for_ranks(interval: Interval, ordered: Floats, n_people: int, confidence: float) -> Interval:
    """Widen the interval of a quantile of rank gaps where scores, and so these gaps, repeat.

    A rank gap is a share of people. That this share is uncertain shows in the quantiles next to it, unless many pairs
    have one and the same.
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    low, high = interval
    starts = np.searchsorted(ordered, [low, high], side="left")
    ends = np.searchsorted(ordered, [low, high], side="right")
    # an end between two gaps stands for the further one
    places = max(int(ends[0]) - 1, 0), min(int(starts[1]), len(ordered) - 1)
    reaches = []
    for gap in (float(ordered[place]) for place in places):
        n_equal = int(np.diff(np.searchsorted(ordered, [gap, np.nextafter(gap, 2.0)]))[0])
        is_common = n_equal * n_people > COMMON * len(ordered)
        reaches.append(z * math.sqrt(gap * (1 - gap) / n_people) if is_common else 0.0)
    lowest, highest = float(ordered[places[0]]) - reaches[0], float(ordered[places[1]]) + reaches[1]
    return min(low, max(lowest, 0.0)), max(high, min(highest, 1.0))


def quantile_interval(
    left: Rows,
    right: Rows,
    values: Floats,
    ordered: Floats,
    share: float,
    *,
    n_people: int,
    n_apart: float,
    confidence: float,
    most: float,
    around: Callable[[float, float], Interval] | None = None,
) -> Interval:
    """Bound a quantile: how uncertain the share of values below it is says how far to look to both sides.

    Where the look goes beyond the largest value there is, only ``most`` is surely enough; beyond the smallest, only 0.
    ``around`` gives the quantiles of all values, where these are a sample.
    """
    quantile = quantile_of_sorted(ordered, share)
    n_independent = n_apart
    for below in (values <= quantile, values < quantile):  # one of them may hold for all, where values repeat
        reached = float(below.mean())
        if 0 < reached < 1:
            residuals = below.astype(np.float64) - reached
            n_independent = count_independent(residuals, shared_variance(left, right, residuals, n_people)[0])
            break
    low, high = interval_of_share(share, n_independent, confidence, n_apart)
    low, high = low - 1 / n_independent, high + 1 / n_independent  # a share lies between two values, not on one
    if around is None:
        lowest, highest = quantile_of_sorted(ordered, max(low, 0.0)), quantile_of_sorted(ordered, min(high, 1.0))
    else:
        lowest, highest = around(max(low, 0.0), min(high, 1.0))
    return lowest if low > 0 else 0.0, highest if high < 1 else max(most, highest)


def _sum_of_squares(numbers: Floats) -> float:
    return float(np.einsum("i,i", numbers, numbers))  # a product with itself would wake threads for this
