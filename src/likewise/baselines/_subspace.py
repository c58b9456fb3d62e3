"""The directions of a network's inputs along which sensitive columns can be told, and the projection away from them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_choice
from likewise.baselines._telling import METHODS, majority_of, tell_apart
from likewise.exceptions import NoisyDirections, UnsettledDirections

Matrix = NDArray[np.float64]

SMALLEST_NORM: Final = 1e-10  # a row shorter than this is no direction
SMALLEST_SHARE: Final = 1e-8  # singular values below this share of the largest are rounding
LEAST_GAIN: Final = 0.02  # over always naming the most common value; below it a direction is mostly chance


class SensitiveGroup(NamedTuple):
    """One sensitive column: which inputs it became, and the group each row belongs to."""

    name: str
    positions: NDArray[np.intp]
    codes: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Subspace:
    """Hold directions in which a difference between two people does not count.

    Parameters
    ----------
    basis : array of float, shape (rank, n_inputs)
        Orthonormal rows.
    names : tuple of str
        The inputs.
    accuracy, majority : mapping of str to float
        For each sensitive column, the share of rows whose value a linear model tells from the other columns, on rows
        it was not fitted to, and the share of the most common value.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.baselines import Subspace
    >>> subspace = Subspace(np.array([[1.0, 0.0]]), ("sex=f", "age"))
    >>> subspace.distance([[1.0, 0.5]], [[0.0, 0.75]]).tolist()
    [0.0625]
    """

    basis: Matrix
    names: tuple[str, ...] = ()
    accuracy: Mapping[str, float] = field(default_factory=dict)
    majority: Mapping[str, float] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        """How many directions there are."""
        return len(self.basis)

    @property
    def is_noise(self) -> dict[str, bool]:
        """Say for each sensitive column whether it is told hardly better than by its most common value."""
        return {name: told - self.majority[name] < LEAST_GAIN for name, told in self.accuracy.items()}

    @cached_property
    def projector(self) -> Matrix:
        """The matrix that takes the directions out of rows: shape (n_inputs, n_inputs), symmetric."""
        return np.eye(self.basis.shape[1]) - self.basis.T @ self.basis

    def project(self, inputs: NDArray[np.floating]) -> Matrix:
        """Take the directions out of each row."""
        return np.asarray(inputs, np.float64) @ self.projector

    def distance(self, left: NDArray[np.floating], right: NDArray[np.floating]) -> Matrix:
        """Measure how far rows are apart, squared, without what they differ by in the subspace."""
        apart = np.asarray(left, np.float64) - np.asarray(right, np.float64)
        apart = apart - (apart @ self.basis.T) @ self.basis
        return np.asarray((apart**2).sum(axis=-1), np.float64)


def learn_subspace(
    inputs: NDArray[np.floating],
    groups: Sequence[SensitiveGroup | tuple[str, NDArray[np.intp], NDArray[np.int32]]],
    *,
    method: str = "softmax",
    include_indicators: bool = True,
    names: Sequence[str] = (),
) -> Subspace:
    """Learn the directions from the matrix that the network sees: they depend on its scaling.

    Warns of sensitive columns that can hardly be told from the others.
    """
    check_choice("method", method, METHODS)
    matrix = np.asarray(inputs, np.float64)
    parts = [SensitiveGroup(*group) for group in groups]
    sensitive = np.unique(np.concatenate([np.empty(0, np.intp), *(part.positions for part in parts)]))
    free = np.setdiff1d(np.arange(matrix.shape[1]), sensitive)  # no sensitive column helps to tell another
    told = {part.name: tell_apart(matrix[:, free], part.codes, method) for part in parts}
    directions = orthonormal_rows(np.vstack([np.empty((0, len(free))), *(one.weights for one in told.values())]))
    # Put together from two parts that share no input, so that sensitive inputs are projected to 0 exactly: rounding
    # would be blown up by whoever scales the result.
    units = np.eye(matrix.shape[1])[sensitive if include_indicators else []]
    padded = np.zeros((len(directions), matrix.shape[1]))
    padded[:, free] = directions
    subspace = Subspace(
        basis=np.vstack([padded, units]),
        names=tuple(names),
        accuracy={name: one.accuracy for name, one in told.items()},
        majority={part.name: majority_of(part.codes) for part in parts},
    )
    _warn_of_noise(subspace)
    _warn_of_unsettled([name for name, one in told.items() if not one.is_settled])
    return subspace


def orthonormal_rows(stack: Matrix) -> Matrix:
    """Give an orthonormal basis of what the rows span; rows that add no direction, or are zero, add none."""
    rows = stack[np.linalg.norm(stack, axis=1) >= SMALLEST_NORM]
    if not rows.size:
        return np.empty((0, stack.shape[1]))
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(directions[values > SMALLEST_SHARE * values[0]], np.float64)


def _warn_of_noise(subspace: Subspace) -> None:
    for name, is_noise in subspace.is_noise.items():
        if is_noise:
            told, majority = subspace.accuracy[name], subspace.majority[name]
            warnings.warn(
                f"The other columns hardly tell '{name}': a linear model is right about {told:.1%} of the rows, and "
                f"always naming the most common value about {majority:.1%}. The directions learned for it are mostly "
                "chance. Leave the column out instead (DropSensitive), or take the result with care.",
                NoisyDirections,
                stacklevel=5,  # where somebody called fit
            )


def _warn_of_unsettled(names: Sequence[str]) -> None:
    for name in names:
        warnings.warn(
            f"The regression of '{name}' on the other columns did not converge, so its directions are rough: the "
            "numbers are of too different sizes. Scale them, such as scaling='range'.",
            UnsettledDirections,
            stacklevel=5,  # as above
        )
