"""How well, and along which directions, a linear model tells the groups of people apart."""

from __future__ import annotations

import warnings
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

METHODS: Final = ("softmax", "one_vs_rest")
N_FOLDS: Final = 5
CONVERGED: Final = 1e-7  # of the gradient: at 1e-4, the usual, directions of rare groups are 30 degrees off
ROUGH: Final = 1e-3  # enough to count who is told rightly
LARGEST_SCALED: Final = 100.0  # of numbers beyond it, conjugate gradients take minutes: the slower way is faster
N_STEPS: Final = 100  # ten or twenty do, with scaled numbers
LEAST_GAIN: Final = 0.02  # over chance; below it a direction is mostly chance itself
N_DEVIATIONS: Final = 2.0  # as far as chance alone takes the mean over small groups


class Told(NamedTuple):
    """What a linear model makes of the groups.

    Its weight vectors, whether they converged, and of rows that it was not fitted to: the share it is right about, the
    mean of this share over the groups if it counts on each equally, and whether both are hardly better than chance.
    """

    weights: Matrix
    is_settled: bool
    accuracy: float
    balanced_accuracy: float
    majority: float
    is_chance: bool


def tell_apart(inputs: Matrix, codes: NDArray[Any], method: str, amounts: Matrix | None = None) -> Told:
    """Regress the groups on the inputs, without intercepts in what is given back; rows count by their amounts."""
    counts = np.ones(len(codes)) if amounts is None else amounts / amounts.mean()  # of people, as the penalty sees them
    groups, members = np.unique(codes, return_inverse=True)
    majority = float(np.bincount(members, counts).max() / counts.sum()) if len(groups) > 1 else 1.0
    if len(groups) < 2 or not inputs.shape[1]:
        return Told(np.empty((0, inputs.shape[1])), True, majority, 1 / len(groups), majority, True)
    from scipy.sparse import csr_array

    rows = csr_array(inputs)  # mostly indicators, so mostly zeros
    as_one = method == "softmax" or len(groups) == 2
    answers = [members] if as_one else [members == group for group in range(len(groups))]
    models, settled = zip(*(_fit(rows, answer, counts, CONVERGED) for answer in answers), strict=True)
    is_right, is_right_evenly = _answer_unseen(rows, members, counts)
    accuracy = float(np.average(is_right, weights=counts))
    balanced = float((np.bincount(members, counts * is_right_evenly) / np.bincount(members, counts)).mean())
    return Told(
        weights=np.vstack([model.coef_ for model in models]),
        is_settled=all(settled),
        accuracy=accuracy,
        balanced_accuracy=balanced,
        majority=majority,
        is_chance=accuracy - majority < LEAST_GAIN and balanced - 1 / len(groups) < _largest_luck(members),
    )


def _largest_luck(members: NDArray[np.intp]) -> float:
    """Give how much better than chance the mean share over the groups has to be: of a few people, luck tells some."""
    sizes = np.bincount(members)
    chance = 1 / len(sizes)
    deviation = chance * np.sqrt((chance * (1 - chance) / sizes).sum())
    return max(LEAST_GAIN, N_DEVIATIONS * float(deviation))


def _answer_unseen(rows: Any, members: NDArray[np.intp], counts: Matrix) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say who is told rightly, as groups are common or each alike, by models that were not fitted to them.

    On its own rows a model tells even chance.
    """
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
    """Fit, and say whether the weights have settled."""
    from scipy.linalg import LinAlgWarning
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    solver = "newton-cg" if abs(rows).max() <= LARGEST_SCALED else "newton-cholesky"
    model = LogisticRegression(C=1.0, solver=solver, tol=tolerance, max_iter=N_STEPS)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        model.fit(rows, groups, sample_weight=counts)
    is_settled = True
    for one in given:
        if issubclass(one.category, ConvergenceWarning | LinAlgWarning):
            is_settled = False
        else:  # not ours to keep quiet about
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return model, is_settled
