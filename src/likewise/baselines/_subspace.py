"""The directions of a network's inputs along which sensitive columns can be told, and the projection away from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_choice
from likewise._warnings import warn
from likewise.baselines._telling import METHODS, Told, tell_apart
from likewise.exceptions import NoisyDirections, UnsettledDirections

Matrix = NDArray[np.float64]

SMALLEST_NORM: Final = 1e-10  # a row shorter than this is no direction
SMALLEST_SHARE: Final = 1e-8  # singular values below this share of the largest are rounding


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
        For each sensitive column, the share of rows whose value a linear model of all values tells from the other
        columns, on rows it was not fitted to, and the share of the most common value.
    balanced_accuracy : mapping of str to float
        The mean of that share over the values, if the model takes each for as common as the others: it also shows that
        a rare value can be told.
    is_noise : mapping of str to bool
        Whether a column is told hardly better than by chance, both ways: its directions are mostly chance, if there
        are any.

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
    balanced_accuracy: Mapping[str, float] = field(default_factory=dict)
    is_noise: Mapping[str, bool] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        """How many directions there are."""
        return len(self.basis)

    @property
    def n_counted(self) -> int:
        """In how many directions a difference counts."""
        return int(self.basis.shape[1]) - self.rank

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
    amounts: NDArray[np.floating] | None = None,
) -> Subspace:
    """Learn the directions from the matrix that the network sees: they depend on its scaling.

    Rows count by their amounts; those of 0 might as well not be there. Warns of sensitive columns that can hardly be
    told from the others.
    """
    check_choice("method", method, METHODS)
    counts = np.ones(len(inputs)) if amounts is None else np.asarray(amounts, np.float64)
    counted = np.flatnonzero(counts)
    matrix = np.asarray(inputs, np.float64)[counted]
    parts = [SensitiveGroup(*group) for group in groups]
    sensitive = np.unique(np.concatenate([np.empty(0, np.intp), *(part.positions for part in parts)]))
    free = np.setdiff1d(np.arange(matrix.shape[1]), sensitive)  # no sensitive column helps to tell another
    told = {part.name: tell_apart(matrix[:, free], part.codes[counted], method, counts[counted]) for part in parts}
    directions = orthonormal_rows(np.vstack([np.empty((0, len(free))), *(one.weights for one in told.values())]))
    # Put together from two parts that share no input, so that sensitive inputs are projected to 0 exactly: rounding
    # would be blown up by whoever scales the result.
    units = np.eye(matrix.shape[1])[sensitive if include_indicators else []]
    padded = np.zeros((len(directions), matrix.shape[1]))
    padded[:, free] = directions
    for name, one in told.items():
        _warn_of_odd(name, one, has_others=len(free) > 0)
    return Subspace(
        basis=np.vstack([padded, units]),
        names=tuple(names),
        accuracy={name: one.accuracy for name, one in told.items()},
        majority={name: one.majority for name, one in told.items()},
        balanced_accuracy={name: one.balanced_accuracy for name, one in told.items()},
        is_noise={name: one.is_chance for name, one in told.items()},
    )


def orthonormal_rows(stack: Matrix) -> Matrix:
    """Give an orthonormal basis of what the rows span; rows that add no direction, or are zero, add none."""
    rows = stack[np.linalg.norm(stack, axis=1) >= SMALLEST_NORM]
    if not rows.size:
        return np.empty((0, stack.shape[1]))
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(directions[values > SMALLEST_SHARE * values[0]], np.float64)


def _warn_of_odd(name: str, told: Told, *, has_others: bool) -> None:
    """Say what is the matter with the directions of a column, if anything is."""
    if told.majority == 1:
        warn(f"'{name}' has the same value in every row, so there is no direction to learn for it.", NoisyDirections)
    elif not has_others:
        warn(f"There is no other column to tell '{name}' by, so no direction is learned for it.", NoisyDirections)
    elif told.is_chance:
        warn(
            f"The other columns hardly tell '{name}': a linear model is right about {told.accuracy:.1%} of the rows, "
            f"and always naming the most common value about {told.majority:.1%}. The directions learned for it are "
            "mostly chance. Leave the column out instead (DropSensitive), or take the result with care.",
            NoisyDirections,
        )
    if not told.is_settled:
        warn(
            f"The regression of '{name}' on the other columns did not converge, so its directions are rough: the "
            "numbers are of too different sizes. Scale them, such as scaling='range'.",
            UnsettledDirections,
        )
