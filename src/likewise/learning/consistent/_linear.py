"""Linear models with pairs: the pairs' covariance as a penalty, which is a soft projection of the inputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.optimize import minimize
from scipy.sparse import csr_array, diags_array, issparse
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils import assert_all_finite
from sklearn.utils.class_weight import compute_class_weight

from likewise.exceptions import ParameterError
from likewise.learning.consistent._pair_graph import Numbers, PairGraph
from likewise.learning.consistent._pair_loss import GapKind

MOST_INPUTS: Final = 4_000  # the covariance of so many inputs takes 128 MB, and its roots a minute
PRECISION: Final = 0.01  # of the gradient, against the model's own tolerance
FLATTEST: Final = 1e-14  # smallest fall of the loss in a step
LEAST_SHARE: Final = 1e-3  # of a label, for the first guess


def pair_covariance(inputs: Any, graph: PairGraph, random: np.random.Generator) -> Numbers:
    """Return the weighted mean over pairs of the outer product of their difference with itself."""
    n_inputs = int(inputs.shape[1])
    if n_inputs > MOST_INPUTS:
        raise ParameterError(
            f"has {n_inputs:,} inputs after encoding; the pairs' covariance is for up to {MOST_INPUTS:,}. Encode "
            "fewer categories, or use boosted trees.",
            "estimator",
        )
    left, right, weight = graph.draw(random)
    inputs = inputs[graph.rows]
    back = weight * (left != right)
    n_groups, n_rows = len(graph.mass), len(graph.group_of)
    both = (np.concatenate([left, right]), np.concatenate([right, left]))
    links = csr_array((np.concatenate([weight, back]), both), shape=(n_groups, n_groups))
    of_group = csr_array((graph.row_mass, (graph.group_of, np.arange(n_rows))), shape=(n_groups, n_rows))
    sums = of_group @ inputs
    degree = graph.row_mass * (links @ graph.mass)[graph.group_of]
    within = inputs.T @ (diags_array(degree) @ inputs if issparse(inputs) else degree[:, None] * inputs)
    across = sums.T @ (links @ sums)
    found = within - across
    return np.asarray(found.toarray() if issparse(found) else found, np.float64)


def shrinkage(covariance: Numbers, strength: float) -> Numbers:
    """Return (I + strength * covariance) ** -1/2: it shrinks the directions in which pairs differ."""
    values, vectors = eigh(covariance)
    return np.asarray((vectors / np.sqrt(1 + strength * np.maximum(values, 0.0))) @ vectors.T)


def plain_inputs(encoded: Any) -> Any:
    """Return encoded rows as an array of numbers, or as a sparse one."""
    if issparse(encoded):
        return csr_array(encoded, dtype=np.float64)
    try:
        return np.asarray(encoded, np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            "is a linear model that was given text. Put an encoder before it, such as "
            "make_pipeline(OneHotEncoder(), LogisticRegression()).",
            "estimator",
        ) from None


def is_linear(estimator: Any, *, is_classifier: bool) -> bool:
    """Whether a linear model can take pairs; refuse those whose penalty does not allow for it."""
    if not is_classifier:
        if isinstance(estimator, Ridge) and np.ndim(estimator.alpha) == 0 and estimator.alpha > 0:
            return True
        if isinstance(estimator, Ridge):
            raise ParameterError(f"has alpha={estimator.alpha!r}; pairs need one number above 0.", "estimator")
        return False
    if type(estimator) is not LogisticRegression:  # LogisticRegressionCV chooses its own penalty
        return False
    params = estimator.get_params()
    is_ridge = params["penalty"] in ("l2", "deprecated") and params.get("l1_ratio") in (0, None)
    if not is_ridge or not np.isfinite(params["C"]):
        raise ParameterError(
            "is a LogisticRegression without an L2 penalty, or with another one besides. Pairs are added to the L2 "
            "penalty: give a finite C, and no l1_ratio.",
            "estimator",
        )
    return True


def fit_linear(
    estimator: Any,
    encoded: Any,
    target: NDArray[Any],
    weights: Numbers | None,
    covariance: Numbers,
    *,
    weight: float,
    gap: GapKind,
    given: Mapping[str, Any],
) -> None:
    """Fit a linear model with ``weight`` times the mean squared gap of pairs added to its mean loss."""
    inputs, counting = plain_inputs(encoded), _count(estimator, target, weights)
    strength = _strength_for(estimator, target, counting, weight=weight, gap=gap)
    if _is_usual(estimator):
        _fit_logistic(estimator, inputs, target, counting, np.eye(len(covariance)) + strength * covariance)
    else:
        shrunk = shrinkage(covariance, strength)
        estimator.fit(inputs @ shrunk, target, **given)
        estimator.coef_ = estimator.coef_ @ shrunk
    names = getattr(encoded, "columns", None)
    if names is not None and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.asarray(names, dtype=object)


def _count(estimator: Any, target: NDArray[Any], weights: Numbers | None) -> Numbers:
    """Return how much each row counts in the loss: its sample weight times that of its label."""
    counting = np.ones(len(target)) if weights is None else weights
    if getattr(estimator, "class_weight", None) is None:
        return counting
    classes, codes = np.unique(target, return_inverse=True)
    factors = compute_class_weight(estimator.class_weight, classes=classes, y=target, sample_weight=weights)
    return np.asarray(counting * factors[codes])


def _strength_for(estimator: Any, target: NDArray[Any], counting: Numbers, *, weight: float, gap: GapKind) -> float:
    """Return the factor of the covariance that adds ``weight`` times the mean squared gap to the mean loss.

    Gaps of probabilities are taken as gaps of logits times the slope of the logistic curve at the share of the label.
    """
    if isinstance(estimator, Ridge):
        return weight * float(counting.sum()) / float(estimator.alpha)
    shares = np.bincount(np.unique(target, return_inverse=True)[1], counting) / counting.sum()
    slope = float((shares * (1 - shares)).mean()) if gap == "probability" else 1.0
    per_margin = 1.0 if len(shares) == 2 else 2.0  # of several labels each has its own
    return 2 * weight * per_margin * slope**2 * float(estimator.C) * float(counting.sum())


def _is_usual(estimator: Any) -> bool:
    """Whether a model is a logistic regression by L-BFGS, of which :class:`_Logistic` is the loss."""
    usual = {"solver": "lbfgs", "multi_class": "deprecated"}  # the latter until scikit-learn 1.7
    return isinstance(estimator, LogisticRegression) and all(
        getattr(estimator, name, value) == value for name, value in usual.items()
    )


def _fit_logistic(estimator: Any, inputs: Any, target: NDArray[Any], counting: Numbers, penalty: Numbers) -> None:
    """Fit a logistic regression with a matrix as its L2 penalty, on inputs that stay sparse where they are."""
    assert_all_finite(inputs, input_name="X", estimator_name=type(estimator).__name__)
    _, firsts, codes = np.unique(target, return_index=True, return_inverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(inputs[firsts], target[firsts])  # it checks its parameters, and learns its classes
    total = counting.sum()
    problem = _Logistic(inputs, codes, counting / total, penalty / (estimator.C * total), estimator.fit_intercept)
    options = {"maxiter": estimator.max_iter, "gtol": PRECISION * estimator.tol, "ftol": FLATTEST}
    found = minimize(problem, problem.start(), jac=True, method="L-BFGS-B", options=options)
    if found.status == 1:
        warnings.warn(
            f"The logistic regression with pairs did not converge in {estimator.max_iter:,} steps. Raise max_iter.",
            ConvergenceWarning,
            stacklevel=2,
        )
    coefficients, intercepts = problem.coefficients(found.x)
    estimator.coef_, estimator.intercept_ = coefficients.T.copy(), intercepts
    estimator.n_iter_ = np.array([found.nit], np.int32)


class _Logistic:
    """Mean log loss plus a quadratic penalty, in coordinates in which its curvature is about 1 in all directions.

    They are the coefficients times a root of the curvature where all scores are the shares of the labels, and the
    intercepts at the mean of the inputs. That root takes one pass over the rows, and saves most of the steps.
    """

    def __init__(
        self, inputs: Any, codes: NDArray[np.intp], counting: Numbers, penalty: Numbers, has_intercept: bool
    ) -> None:
        self._inputs, self._counting, self._penalty = inputs, counting[:, None], penalty
        self._shares = np.clip(np.bincount(codes, counting), LEAST_SHARE, 1 - LEAST_SHARE)
        self._codes, self._is_binary = codes, len(self._shares) == 2
        self._mean = inputs.T @ counting if has_intercept else np.zeros(len(penalty))
        self._has_intercept = has_intercept
        weighed = diags_array(counting) @ inputs if issparse(inputs) else self._counting * inputs
        square = inputs.T @ weighed
        square = (square.toarray() if issparse(square) else square) - np.outer(self._mean, self._mean)
        steepness = float((self._shares * (1 - self._shares)).mean())
        self._root, self._steepness = cholesky(steepness * square + penalty), steepness**0.5

    def start(self) -> Numbers:
        """Return the point at which everybody's scores are the shares of the labels."""
        logs = np.log(self._shares)
        point = np.zeros((len(self._penalty) + 1, 1 if self._is_binary else len(logs)))
        if self._has_intercept:
            point[-1] = self._steepness * (logs[1:] - logs[:1] if self._is_binary else logs - logs.mean())
        return point.ravel()

    def coefficients(self, point: Numbers) -> tuple[Numbers, Numbers]:
        """Return coefficients, one column per margin, and intercepts."""
        known = point.reshape(len(self._penalty) + 1, -1)
        found = solve_triangular(self._root, known[:-1])
        return found, known[-1] / self._steepness - self._mean @ found

    def __call__(self, point: Numbers) -> tuple[float, Numbers]:
        """Return the loss and its gradient."""
        coefficients, intercepts = self.coefficients(point)
        losses, slopes = self._measure(self._inputs @ coefficients + intercepts)
        slopes *= self._counting
        stiff = self._penalty @ coefficients
        across = slopes.sum(axis=0) * self._has_intercept
        gradient = self._inputs.T @ slopes + stiff - np.outer(self._mean, across)
        value = float(self._counting[:, 0] @ losses) + float(np.vdot(coefficients, stiff)) / 2
        along = solve_triangular(self._root, gradient, trans=1)
        return value, np.concatenate([along, across[None] / self._steepness]).ravel()

    def _measure(self, margins: Numbers) -> tuple[Numbers, Numbers]:
        """Return each row's log loss, and its slope by each margin."""
        if self._is_binary:
            small = np.exp(-np.abs(margins))
            is_wrong = (margins > 0) != self._codes[:, None]
            losses = np.log1p(small) + is_wrong * np.abs(margins)
            return losses[:, 0], np.where(margins > 0, 1.0, small) / (1 + small) - self._codes[:, None]
        logs = log_softmax(margins, axis=1)
        slopes = np.exp(logs)
        rows = np.arange(len(logs))
        slopes[rows, self._codes] -= 1
        return -logs[rows, self._codes], slopes
