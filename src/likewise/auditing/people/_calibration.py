"""Whether scores come true: of people scored 0.7, seven in ten should have the label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from likewise._ranking import Levels
from likewise._threads import take_rows
from likewise.auditing.people._sums import Floats, GroupSums, group_sums, ratio
from likewise.auditing.question._weights import mean_of

N_BINS = 10
ROUNDING = 1e-9  # of a place among the bins, where weights are fractions
WIDER = 1.3  # than replicates vary, whose bins stay those of the people at hand


def calibration_sums(
    labels: NDArray[np.integer],
    scores: Floats,
    *,
    n_bins: int = N_BINS,
    weights: Floats | None = None,
    levels: Levels | None = None,
) -> GroupSums:
    """Add up, bin by bin, how much scores exceed what came true; ``levels`` are those of one score per person."""
    if scores.ndim == 2:
        likeliest = scores.argmax(axis=1)
        scores, came_true, levels = scores[np.arange(len(scores)), likeliest], likeliest == labels, None
    else:
        came_true = labels == 1
    return group_sums([scores - came_true], _bins(levels or Levels.of(scores), weights, n_bins), n_bins)


def calibration_bins(
    came_true: NDArray[np.bool_],
    scores: Floats,
    n_bins: int = N_BINS,
    weights: Floats | None = None,
    levels: Levels | None = None,
) -> list[dict[str, float]]:
    """Describe the people of each bin, from low scores to high; bins without people are left out."""
    if weights is not None:
        counting = weights > 0
        came_true, scores, weights, levels = came_true[counting], scores[counting], weights[counting], None
    bins = _bins(levels or Levels.of(scores), weights, n_bins)
    parts = [np.flatnonzero(bins == place) for place in range(n_bins)]
    times = [None if weights is None else weights[part] for part in parts]
    return [
        {
            "n": len(part),
            "low": float(scores[part].min()),
            "high": float(scores[part].max()),
            "mean_score": mean_of(scores[part], of_part),
            "observed": mean_of(came_true[part], of_part),
        }
        for part, of_part in zip(parts, times, strict=True)
        if len(part)
    ]


def calibration_of(sums: Floats, total: Floats | float) -> Floats:
    """Turn the sums of :func:`calibration_sums`, shape (..., n_bins, 1), into calibration errors."""
    return ratio(np.abs(sums[..., 0]).sum(axis=-1), np.asarray(total, np.float64))


def calibration_interval(
    value: float, replicates: Floats, sums: Floats, shares: Floats, confidence: float
) -> tuple[float, float] | None:
    """Bound a calibration error, to which chance adds, and in each replicate adds again.

    ``sums`` are those of :func:`calibration_sums` divided by the people, in each replicate; ``shares`` those of the
    people as they are. An error that chance alone could give is bounded by 0.
    """
    known = np.isfinite(replicates)
    if 2 * np.count_nonzero(known) < len(known) or not known.any():
        return None
    tail = (1 - confidence) / 2
    by_chance = np.abs(sums[known] - shares).sum(axis=(-2, -1))
    middle = float(replicates[known].mean())
    reach = WIDER * (float(np.quantile(replicates[known], 1 - tail)) - middle)
    low = 0.0 if value <= np.quantile(by_chance, 1 - tail) else max(2 * value - middle - reach, 0.0)
    return min(low, value), min(max(value + reach, value), 1.0)


def _bins(levels: Levels, weights: Floats | None, n_bins: int) -> NDArray[np.integer]:
    """Part people at their middle rank, which people with equal scores share."""
    people = levels.count(weights).astype(np.float64, copy=False)
    middle = np.cumsum(people) - people / 2
    places = n_bins * middle / max(people.sum(), np.finfo(np.float64).tiny)
    bins = np.floor(places + ROUNDING).astype(np.int64)
    bins = np.minimum(bins, n_bins - 1).astype(np.min_scalar_type(n_bins - 1))  # nobody of weight 0 is past the end
    return take_rows(bins, levels.of_rows)
