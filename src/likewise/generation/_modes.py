"""Mode-specific normalization: a mixture of Gaussians for each continuous column, and a value's place in its mode."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._random import stream

Floats = NDArray[np.float64]

ROWS_TO_FIT: Final = 10_000
LEAST_WEIGHT: Final = 0.005
SPIKE_SCALE: Final = 1e-6  # so narrow that no other number falls into the mode
LEAST_SCALE: Final = 1e-3  # of the training range: what scikit-learn's own floor on variances amounts to
SCALES_A_SIDE: Final = 4  # a mode's numbers are told apart up to four standard deviations from its mean


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """Hold the modes of all continuous columns, one row a column; rows are filled up with modes of no weight."""

    means: Floats
    scales: Floats
    log_weights: Floats
    low: Floats  # between which numbers of the mode may lie
    high: Floats
    n_modes: NDArray[np.int64]

    @classmethod
    def learn(cls, continuous: Floats, max_modes: int, spike_share: float, seed: int) -> Modes:
        """Fit each column; numbers that many rows share, and what stands for missing, are modes of their own."""
        found = [
            _fit_column(column, max_modes, spike_share, stream(seed, "modes", position))
            for position, column in enumerate(continuous.T)
        ]
        n_modes = np.array([len(one) for one in found], np.int64)
        filled = np.zeros((5, len(found), n_modes.max(initial=1)))
        filled[1], filled[2] = 1.0, -np.inf
        for position, one in enumerate(found):
            filled[:, position, : len(one)] = one.T
        means, scales, log_weights, low, high = filled
        return cls(means, scales, log_weights, low, high, n_modes)

    def knows(self, continuous: Floats) -> NDArray[np.bool_]:
        """Tell which numbers a mode stands for: those at most a training range off it, and known marks of missing."""
        known: NDArray[np.bool_] = (continuous >= -1.0) & (continuous <= 2.0)
        if not known.all():
            values = continuous[:, :, None]
            exact = (values == self.low) & (values == self.high)  # modes of no weight begin and end at 0
            known |= exact.any(axis=2)
        return known

    def place(self, continuous: Floats, modes: NDArray[np.int64]) -> Floats:
        """Give each number's place in its mode, from -1 to 1."""
        columns = np.arange(continuous.shape[1])
        offset = (continuous - self.means[columns, modes]) / (SCALES_A_SIDE * self.scales[columns, modes])
        return np.clip(offset, -1.0, 1.0)

    @property
    def spikes(self) -> NDArray[np.bool_]:
        """Tell which modes are a single number."""
        spikes: NDArray[np.bool_] = self.low == self.high
        return spikes

    def restore(self, places: Floats, modes: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
        """Undo :meth:`place` for some columns, staying in the training range."""
        where = columns * self.means.shape[1] + modes
        numbers: Floats = places * (SCALES_A_SIDE * self.scales.take(where)) + self.means.take(where)
        return np.clip(numbers, self.low.take(where), self.high.take(where), out=numbers)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Modes:
        """Undo :meth:`to_arrays`."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})


def _fit_column(column: Floats, max_modes: int, spike_share: float, random: np.random.Generator) -> Floats:
    """Give mean, scale, log weight, low and high of each mode."""
    values, counts = np.unique(column, return_counts=True)
    # training numbers lie in [0, 1]: one below stands for missing
    is_spike = (values < 0) | ((counts >= spike_share * len(column)) & (counts > 1))
    by_count = np.argsort(-counts * is_spike, kind="stable")
    is_spike[by_count[max(max_modes - 1, 1) :]] = False
    is_spike |= values < 0
    spikes, narrow = values[is_spike], np.full(is_spike.sum(), SPIKE_SCALE)
    modes = np.column_stack([spikes, narrow, np.log(counts[is_spike] / len(column)), spikes, spikes])
    rest = column[~np.isin(column, spikes)]
    if not len(rest):
        return modes
    means, scales, weights = _fit_mixture(rest, max(max_modes - len(modes), 1), random)
    low, high = np.full(len(means), rest.min()), np.full(len(means), rest.max())
    smooth = np.column_stack([means, scales, np.log(weights * len(rest) / len(column)), low, high])
    return np.concatenate([smooth, modes])


def _fit_mixture(numbers: Floats, max_modes: int, random: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import BayesianGaussianMixture

    some = random.choice(numbers, ROWS_TO_FIT, replace=False) if len(numbers) > ROWS_TO_FIT else numbers
    n_modes = min(max_modes, len(np.unique(some)))
    if n_modes == 1:
        return some.mean(keepdims=True), np.maximum(some.std(keepdims=True), LEAST_SCALE), np.ones(1)
    mixture = BayesianGaussianMixture(
        n_components=n_modes,
        weight_concentration_prior_type="dirichlet_process",
        weight_concentration_prior=1e-3,
        init_params="k-means++",  # k-means itself adds up in an order that threads decide
        random_state=int(random.integers(2**31)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a rough mixture serves
        mixture.fit(some.reshape(-1, 1))
    kept = mixture.weights_ > LEAST_WEIGHT
    kept[np.argmax(mixture.weights_)] = True
    weights = mixture.weights_[kept] / mixture.weights_[kept].sum()
    scales = np.maximum(np.sqrt(mixture.covariances_.ravel()[kept]), LEAST_SCALE)
    return mixture.means_.ravel()[kept], scales, weights
