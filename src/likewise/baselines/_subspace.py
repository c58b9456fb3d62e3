"""The sensitive columns of baselines, directions of network inputs that predict them, distances outside of these."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise._warnings import warn
from likewise.exceptions import NoisyDirections, SchemaError, UnsettledDirections
from likewise.nets._internal import BaseNetworkClassifier, InputCoding, guess_roles
from likewise.schema import Roles
from likewise.schema._internal import open_frame

if TYPE_CHECKING:
    import torch

Matrix = NDArray[np.float64]

N_FOLDS: Final = 5
CONVERGED: Final = 1e-7  # tolerance of the gradient: at the usual 1e-4, directions of rare groups are 30 degrees off
ROUGH: Final = 1e-3  # enough for accuracies
LARGEST_SCALED: Final = 100.0  # with larger numbers, conjugate gradients take minutes
N_STEPS: Final = 100  # ten or twenty suffice with scaled numbers
LEAST_GAIN: Final = 0.02  # over chance; below it a direction is mostly noise
N_DEVIATIONS: Final = 2.0  # that chance alone explains in the mean over small groups
LEAST, MOST = 1e-5, 1e3  # limits of the weight: from beyond them it needs tens of thousands of steps to return
MOST_HASTE: Final = 10.0
LEAST_DIVISOR: Final = 1e-12
SMALLEST_NORM: Final = 1e-10  # of a direction
SMALLEST_SHARE: Final = 1e-8  # singular values below this share of the largest are rounding
Sensitive = Roles | str | Sequence[str]


class Separation(NamedTuple):
    """How well a linear model predicts a sensitive column.

    Weights and whether they converged; held-out accuracy, balanced accuracy (with equal priors) and the share of the
    most common group; and whether both accuracies are hardly better than chance.
    """

    weights: Matrix
    has_converged: bool
    accuracy: float
    balanced_accuracy: float
    majority: float
    is_chance: bool


def separate_groups(inputs: Matrix, codes: NDArray[Any], amounts: Matrix | None = None) -> Separation:
    """Regress the groups on the inputs; ``amounts`` are row weights, and intercepts are not returned."""
    counts = np.ones(len(codes)) if amounts is None else amounts / amounts.mean()  # mean 1, for the penalty
    groups, members = np.unique(codes, return_inverse=True)
    majority = float(np.bincount(members, counts).max() / counts.sum()) if len(groups) > 1 else 1.0
    if len(groups) < 2 or not inputs.shape[1]:
        return Separation(np.empty((0, inputs.shape[1])), True, majority, 1 / len(groups), majority, True)
    from scipy.sparse import csr_array

    rows = csr_array(inputs)  # mostly indicators, so mostly zeros
    model, has_converged = _fit(rows, members, counts, CONVERGED)
    is_right, is_right_evenly = _answer_unseen(rows, members, counts)
    accuracy = float(np.average(is_right, weights=counts))
    balanced = float((np.bincount(members, counts * is_right_evenly) / np.bincount(members, counts)).mean())
    return Separation(
        weights=model.coef_,
        has_converged=has_converged,
        accuracy=accuracy,
        balanced_accuracy=balanced,
        majority=majority,
        is_chance=accuracy - majority < LEAST_GAIN and balanced - 1 / len(groups) < _largest_luck(members),
    )


def _largest_luck(members: NDArray[np.intp]) -> float:
    """Return the gain in balanced accuracy that chance can reach: with few people per group, it is larger."""
    sizes = np.bincount(members)
    chance = 1 / len(sizes)
    deviation = chance * np.sqrt((chance * (1 - chance) / sizes).sum())
    return max(LEAST_GAIN, N_DEVIATIONS * float(deviation))


def _answer_unseen(rows: Any, members: NDArray[np.intp], counts: Matrix) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return who is predicted correctly, with observed and with equal priors, in cross-validation."""
    order = np.random.default_rng(0).permutation(len(members))
    is_right, is_right_evenly = np.zeros(len(members), np.bool_), np.zeros(len(members), np.bool_)
    for held_out in np.array_split(order, min(N_FOLDS, len(members))):
        rest = np.setdiff1d(order, held_out)
        known = np.unique(members[rest])
        if len(known) < 2:
            is_right[held_out] = is_right_evenly[held_out] = np.isin(members[held_out], known)
            continue
        model, _ = _fit(rows[rest], members[rest], counts[rest], ROUGH)
        shares = model.predict_proba(rows[held_out])
        usual = np.bincount(members[rest], counts[rest])[known]
        is_right[held_out] = known[shares.argmax(axis=1)] == members[held_out]
        is_right_evenly[held_out] = known[(shares / usual).argmax(axis=1)] == members[held_out]
    return is_right, is_right_evenly


def _fit(rows: Any, groups: NDArray[Any], counts: Matrix, tolerance: float) -> tuple[Any, bool]:
    """Return a logistic regression, and whether it converged."""
    from scipy.linalg import LinAlgWarning
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    solver = "newton-cg" if abs(rows).max() <= LARGEST_SCALED else "newton-cholesky"
    model = LogisticRegression(C=1.0, solver=solver, tol=tolerance, max_iter=N_STEPS)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        model.fit(rows, groups, sample_weight=counts)
    has_converged = True
    for one in given:
        if issubclass(one.category, ConvergenceWarning | LinAlgWarning):
            has_converged = False
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return model, has_converged


class SensitiveGroup(NamedTuple):
    """A sensitive column: the positions of its inputs, and the group of each row."""

    name: str
    positions: NDArray[np.intp]
    codes: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Subspace:
    """Directions in which a difference between two people does not count.

    Parameters
    ----------
    basis : array of float, shape (rank, n_inputs)
        Orthonormal rows.
    names : tuple of str
        Names of the inputs.
    accuracy, majority : mapping of str to float
        For each sensitive column, the held-out accuracy of a linear model that predicts it from the other columns, and
        the share of its most common value.
    balanced_accuracy : mapping of str to float
        The mean of the accuracy over the values with equal priors, which shows whether rare values can be predicted.
    is_noise : mapping of str to bool
        Whether a column is predicted hardly better than by chance, in both measures: its directions are then mostly
        noise.

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
        """Number of directions."""
        return len(self.basis)

    @property
    def n_counted(self) -> int:
        """Number of directions in which a difference counts."""
        return int(self.basis.shape[1]) - self.rank

    @cached_property
    def projector(self) -> Matrix:
        """Symmetric matrix that projects rows away from the directions, shape (n_inputs, n_inputs)."""
        return np.eye(self.basis.shape[1]) - self.basis.T @ self.basis

    def project(self, inputs: NDArray[np.floating]) -> Matrix:
        """Return rows projected away from the directions."""
        return np.asarray(inputs, np.float64) @ self.projector

    def distance(self, left: NDArray[np.floating], right: NDArray[np.floating]) -> Matrix:
        """Return squared distances between rows, outside the subspace."""
        apart = np.asarray(left, np.float64) - np.asarray(right, np.float64)
        apart = apart - (apart @ self.basis.T) @ self.basis
        return np.asarray((apart**2).sum(axis=-1), np.float64)


def learn_subspace(
    inputs: NDArray[np.floating],
    groups: Sequence[SensitiveGroup | tuple[str, NDArray[np.intp], NDArray[np.int32]]],
    *,
    names: Sequence[str] = (),
    amounts: NDArray[np.floating] | None = None,
) -> Subspace:
    """Learn the directions from the network inputs, whose scaling they depend on; ``amounts`` are row weights.

    Warns about sensitive columns that the others hardly predict.
    """
    counts = np.ones(len(inputs)) if amounts is None else np.asarray(amounts, np.float64)
    counted = np.flatnonzero(counts)
    matrix = np.asarray(inputs, np.float64)[counted]
    parts = [SensitiveGroup(*group) for group in groups]
    sensitive = np.unique(np.concatenate([np.empty(0, np.intp), *(part.positions for part in parts)]))
    free = np.setdiff1d(np.arange(matrix.shape[1]), sensitive)  # no sensitive column helps to predict another
    found = {part.name: separate_groups(matrix[:, free], part.codes[counted], counts[counted]) for part in parts}
    directions = orthonormal_rows(np.vstack([np.empty((0, len(free))), *(one.weights for one in found.values())]))
    # Assembled from two parts without common inputs, so that sensitive inputs are projected to exactly 0: scaling the
    # result would amplify rounding errors.
    units = np.eye(matrix.shape[1])[sensitive]
    padded = np.zeros((len(directions), matrix.shape[1]))
    padded[:, free] = directions
    for name, one in found.items():
        _warn_of_odd(name, one, has_others=len(free) > 0)
    return Subspace(
        basis=np.vstack([padded, units]),
        names=tuple(names),
        accuracy={name: one.accuracy for name, one in found.items()},
        majority={name: one.majority for name, one in found.items()},
        balanced_accuracy={name: one.balanced_accuracy for name, one in found.items()},
        is_noise={name: one.is_chance for name, one in found.items()},
    )


def orthonormal_rows(stack: Matrix) -> Matrix:
    """Return an orthonormal basis of the row space."""
    rows = stack[np.linalg.norm(stack, axis=1) >= SMALLEST_NORM]
    if not rows.size:
        return np.empty((0, stack.shape[1]))
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(directions[values > SMALLEST_SHARE * values[0]], np.float64)


def _warn_of_odd(name: str, found: Separation, *, has_others: bool) -> None:
    """Warn if a column has no directions, or unreliable ones."""
    if found.majority == 1:
        warn(f"'{name}' has the same value in every row, so no direction is learned for it.", NoisyDirections)
    elif not has_others:
        warn(f"There is no other column to predict '{name}', so no direction is learned for it.", NoisyDirections)
    elif found.is_chance:
        warn(
            f"The other columns hardly predict '{name}': the accuracy of a linear model is {found.accuracy:.1%}, that "
            f"of always predicting the most common value {found.majority:.1%}. The directions learned for it are "
            "mostly noise. Drop the column instead (DropSensitive), or use the result with care.",
            NoisyDirections,
        )
    if not found.has_converged:
        warn(
            f"The regression of '{name}' on the other columns did not converge, so its directions are imprecise: the "
            "inputs have very different scales. Scale them, such as with scaling='range'.",
            UnsettledDirections,
        )


class Penalty:
    """Weight of the distance (the papers' lambda), adapted so that attacks go as far as epsilon on average.

    ``step`` is the rate of adaptation; 0 keeps the weight, None adapts faster the further distance and epsilon are
    apart.
    """

    def __init__(self, start: float, epsilon: float, step: float | None, like: torch.Tensor) -> None:
        self.value = like.new_full((), start)  # the weight now; a tensor: reading it would wait for the device
        self._epsilon, self._step = epsilon, step

    def update(self, distance: torch.Tensor) -> None:
        """Raise the weight if attacks went further than epsilon, else lower it; a NaN distance changes nothing."""
        haste: torch.Tensor | float | None = self._step
        if haste is None:
            ratio = distance.clamp(min=LEAST_DIVISOR) / max(self._epsilon, LEAST_DIVISOR)
            haste = ratio.maximum(1 / ratio).clamp(max=MOST_HASTE)
        updated = (self.value + haste * (distance - self._epsilon)).clamp(LEAST, MOST)
        self.value.copy_(updated.where(distance.isfinite(), self.value))


def sensitive_roles(given: Sensitive) -> Roles:
    """Return roles, also from the names of sensitive columns alone."""
    roles = given if isinstance(given, Roles) else Roles(sensitive=given)
    if not roles.sensitive:
        raise SchemaError("No column is sensitive. Name at least one, such as Roles(sensitive='sex').")
    return roles


def complete_roles(given: Sensitive, frame: Any, *, is_array: bool = False) -> Roles:
    """Infer the role of every column without one; the columns of an array are numbers."""
    roles, names = sensitive_roles(given), open_frame(frame).names
    without = [name for name in names if roles.role_of(name) is None]
    if not without:
        return roles
    if is_array:
        return replace(roles, continuous=(*roles.continuous, *without))
    known = {role: getattr(roles, role) for role in ("sensitive", "discrete", "continuous", "ordinal", "matched")}
    here = {role: name for role in ("label", "row_id") if (name := getattr(roles, role)) in names}
    return guess_roles(frame, **known, **here, ignored=roles.ignored, bins=roles.bins, missing=roles.missing)


def group_rows(frame: Any, roles: Roles, coding: InputCoding) -> list[SensitiveGroup]:
    """Return the group of each row in each sensitive column: its category or bin."""
    others = [name for name in open_frame(frame).names if name not in roles.sensitive]
    schema = Roles(sensitive=roles.sensitive, bins=roles.bins, ignored=others).learn(frame)
    codes = schema.encode(frame, np.zeros(len(open_frame(frame)), np.int64)).sensitive  # labels do not matter
    pairs = zip(roles.sensitive, codes.T, strict=True)
    return [SensitiveGroup(name, coding.positions(name), np.ascontiguousarray(column)) for name, column in pairs]


def subspace_of(
    frame: Any,
    roles: Roles,
    coding: InputCoding,
    amounts: NDArray[np.floating] | None = None,
) -> Subspace:
    """Learn the sensitive subspace of a training frame as the network sees it; ``amounts`` are row weights."""
    return learn_subspace(
        coding.encode(frame).dense(),
        group_rows(frame, roles, coding),
        names=coding.names,
        amounts=amounts,
    )


def refuse_other_names(estimator: Any, input_features: ArrayLike | None) -> None:
    """Refuse names that are not those of training, as scikit-learn's transformers do."""
    if input_features is None:
        return
    names = np.asarray(input_features, dtype=object)
    if hasattr(estimator, "feature_names_in_") and not np.array_equal(names, estimator.feature_names_in_):
        raise ValueError("input_features is not equal to feature_names_in_. Leave it out.")
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"input_features should have length equal to the number of columns in training, "
            f"{estimator.n_features_in_}; it has {len(names)}."
        )


@dataclass(eq=False, repr=False)
class SensitiveNetworkClassifier(BaseNetworkClassifier):
    """Base of networks that need sensitive columns; roles are completed in fit and saved."""

    roles: Sensitive | None = None  # type: ignore[assignment]  # names of sensitive columns will do
    _: KW_ONLY
    n_iterations: int = 10_000
    patience: int | None = None
    roles_: Roles = field(init=False)

    def _find_roles(self, frame: Any) -> Roles:
        self.roles_ = complete_roles(self.roles, frame, is_array=self._took_array)  # type: ignore[arg-type]  # not None
        return self.roles_

    def _refuse_odd_parameters(self) -> None:
        roles = sensitive_roles(() if self.roles is None else self.roles)
        known = type(self)(**self.get_params(deep=False) | {"roles": roles})
        super(SensitiveNetworkClassifier, known)._refuse_odd_parameters()
