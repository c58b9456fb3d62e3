"""Whether scores come true: of people scored 0.7, seven in ten should have the label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from likewise._ranking import Levels
from likewise._threads import take_rows
from likewise.auditing.question._weights import Units, Weights, effective_size

Floats = NDArray[np.float64]
N_BINS: Final = 10
ROUNDING: Final = 1e-9  # of a place among the bins, where weights are fractions
WIDER: Final = 1.3  # than draws vary, whose bins stay those of the people at hand


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """By how much each person's score exceeds what came true, in bins that never part equal scores."""

    bins: NDArray[np.integer]
    excess: Floats
    weights: Weights
    n_bins: int = N_BINS

    @classmethod
    def of(
        cls,
        labels: NDArray[np.integer],
        scores: Floats,
        weights: Weights,
        levels: Levels | None = None,
        n_bins: int = N_BINS,
    ) -> Calibration:
        """Bin people; ``levels`` are those of one score per person. Of several scores the likeliest label counts."""
        if scores.ndim == 2:
            likeliest = scores.argmax(axis=1)
            scores, came_true, levels = scores[np.arange(len(scores)), likeliest], likeliest == labels, None
        else:
            came_true = labels == 1
        return cls(_bins(levels or Levels.of(scores), weights, n_bins), scores - came_true, weights, n_bins)

    @property
    def shares(self) -> Floats:
        """What each bin adds to the error, with its sign."""
        sums = np.bincount(self.bins, self.weights.times(self.excess), self.n_bins)
        return np.asarray(sums / (self.weights.total or 1.0))

    @property
    def error(self) -> float:
        """The calibration error."""
        return float(np.abs(self.shares).sum())

    def interval(self, units: Units, confidence: float, n_draws: int, seed: int) -> tuple[float, float]:
        """Bound the error, to which chance adds, and in draws of chance adds again.

        What bins add varies together as people or clusters move it, and normally. An error that chance alone could give
        is bounded by 0.
        """
        shares, value = self.shares, self.error
        sizes, turned = np.linalg.eigh(self._covariance(shares, units))
        drawn = np.random.default_rng([seed, 3]).standard_normal((n_draws, self.n_bins))
        chance = (drawn * np.sqrt(np.maximum(sizes, 0.0))) @ turned.T
        replicates, by_chance = (np.abs(one).sum(axis=1) for one in (shares + chance, chance))
        tail, middle = (1 - confidence) / 2, float(replicates.mean())
        reach = WIDER * (float(np.quantile(replicates, 1 - tail)) - middle)
        low = 0.0 if value <= np.quantile(by_chance, 1 - tail) else max(2 * value - middle - reach, 0.0)
        return min(low, value), min(max(value + reach, value), 1.0)

    def _covariance(self, shares: Floats, units: Units) -> Floats:
        from scipy.sparse import csr_array

        places = units.take(np.arange(len(self.bins))), self.bins
        moved = csr_array((self.weights.times(self.excess), places), shape=(units.n, self.n_bins))
        sizes = units.add_up(self.weights.values)
        across, n = np.outer(shares, moved.T @ sizes), effective_size(sizes)
        found: Floats = (moved.T @ moved).toarray() - across - across.T + np.outer(shares, shares) * (sizes @ sizes)
        found *= n / max(n - 1, 1.0) / float(sizes.sum()) ** 2
        return found


def calibration_bins(
    came_true: NDArray[np.bool_],
    scores: Floats,
    n_bins: int = N_BINS,
    weights: Weights | None = None,
    levels: Levels | None = None,
) -> list[dict[str, float]]:
    """Describe the people of each bin, from low scores to high; bins without people are left out."""
    weights = Weights.of(None, len(scores)) if weights is None else weights
    bins = _bins(levels or Levels.of(scores), weights, n_bins)
    counting = weights.values > 0
    parts = [np.flatnonzero(counting & (bins == place)) for place in range(n_bins)]
    return [
        {
            "n": len(part),
            "low": float(scores[part].min()),
            "high": float(scores[part].max()),
            "mean_score": weights.take(part).mean(scores[part]),
            "observed": weights.take(part).mean(came_true[part]),
        }
        for part in parts
        if len(part)
    ]


def _bins(levels: Levels, weights: Weights, n_bins: int) -> NDArray[np.integer]:
    """Part people at their middle rank, which people with equal scores share."""
    people = weights.counts(levels.of_rows, levels.n).astype(np.float64)
    middle = np.cumsum(people) - people / 2
    places = n_bins * middle / max(people.sum(), np.finfo(np.float64).tiny)
    bins = np.floor(places + ROUNDING).astype(np.int64)
    bins = np.minimum(bins, n_bins - 1).astype(np.min_scalar_type(n_bins - 1))  # nobody of weight 0 is past the end
    return take_rows(bins, levels.of_rows)
