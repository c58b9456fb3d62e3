"""Linear models with pairs: the pairs' covariance as a penalty, which is a soft projection of the inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array, issparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.class_weight import compute_class_weight

from likewise.exceptions import ParameterError
from likewise.learning.consistent._pair_graph import Numbers, PairGraph
from likewise.learning.consistent._pair_loss import GapKind

MOST_INPUTS: Final = 4_000  # the covariance of so many inputs takes 128 MB, and its roots a minute


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


def strength_for(
    estimator: Any, target: NDArray[Any], weights: Numbers | None, *, weight: float, gap: GapKind
) -> float:
    """Return the factor of the covariance that adds ``weight`` times the mean squared gap to the mean loss.

    Gaps of probabilities are taken as gaps of logits times the slope of the logistic curve at the share of the label.
    """
    counting = np.ones(len(target)) if weights is None else weights
    if isinstance(estimator, Ridge):
        return weight * float(counting.sum()) / float(estimator.alpha)
    classes, codes = np.unique(target, return_inverse=True)
    if estimator.class_weight is not None:
        factors = compute_class_weight(estimator.class_weight, classes=classes, y=target, sample_weight=weights)
        counting = counting * factors[codes]
    shares = np.bincount(codes, counting) / counting.sum()
    slope = float((shares * (1 - shares)).mean()) if gap == "probability" else 1.0
    per_margin = 1.0 if len(classes) == 2 else 2.0  # of several labels each has its own
    return 2 * weight * per_margin * slope**2 * float(estimator.C) * float(counting.sum())


def fit_linear(
    estimator: Any, encoded: Any, target: NDArray[Any], shrunk: Numbers, given: Mapping[str, Any], n_own: int
) -> Any:
    """Fit a linear model to shrunk inputs of the first rows, and let its coefficients take the inputs as they are."""
    estimator.fit((plain_inputs(encoded) @ shrunk)[:n_own], target[:n_own], **given)
    estimator.coef_ = estimator.coef_ @ shrunk
    names = getattr(encoded, "columns", None)
    if names is not None and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    return estimator
