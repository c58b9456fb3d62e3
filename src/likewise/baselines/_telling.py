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


class Told(NamedTuple):
    """The weight vectors of a linear model, the share of unseen rows it is right about, and whether it converged."""

    weights: Matrix
    accuracy: float
    is_settled: bool


def tell_apart(inputs: Matrix, codes: NDArray[Any], method: str) -> Told:
    """Regress the groups on the inputs, without intercepts in what is given back."""
    groups = np.unique(codes)
    if len(groups) < 2 or not inputs.shape[1]:
        return Told(np.empty((0, inputs.shape[1])), majority_of(codes), True)
    from scipy.sparse import csr_array

    rows = csr_array(inputs)  # mostly indicators, so mostly zeros
    as_one = method == "softmax" or len(groups) == 2
    answers = [codes] if as_one else [codes == group for group in groups]
    models, settled = zip(*(_fit(rows, answer, CONVERGED) for answer in answers), strict=True)
    weights = np.vstack([model.coef_ for model in models])
    return Told(weights, _accuracy(rows, codes), all(settled))


def majority_of(codes: NDArray[Any]) -> float:
    """Give the share of the most common group."""
    return float(np.unique(codes, return_counts=True)[1].max() / len(codes))


def _accuracy(rows: Any, codes: NDArray[Any]) -> float:
    """Count right answers about rows that the model was not fitted to: on its own rows it tells even chance."""
    order = np.random.default_rng(0).permutation(len(codes))
    n_right = 0
    for held_out in np.array_split(order, min(N_FOLDS, len(codes))):
        rest = np.setdiff1d(order, held_out)
        if len(np.unique(codes[rest])) < 2:
            answers = np.full(len(held_out), codes[rest][0])
        else:
            answers = _fit(rows[rest], codes[rest], ROUGH)[0].predict(rows[held_out])
        n_right += int(np.count_nonzero(answers == codes[held_out]))
    return n_right / len(codes)


def _fit(rows: Any, groups: NDArray[Any], tolerance: float) -> tuple[Any, bool]:
    """Fit, and say whether the weights have settled."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    solver = "newton-cg" if abs(rows).max() <= LARGEST_SCALED else "newton-cholesky"
    model = LogisticRegression(C=1.0, solver=solver, tol=tolerance, max_iter=N_STEPS)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        model.fit(rows, groups)
    return model, not any(issubclass(warning.category, ConvergenceWarning) for warning in given)
