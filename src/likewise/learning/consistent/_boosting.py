"""Boosted trees whose objective has the pairs in it: XGBoost and LightGBM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax

from likewise.exceptions import ParameterError
from likewise.learning.consistent._pair_graph import Numbers
from likewise.learning.consistent._pair_loss import GapKind, PairLoss, PairLossKind, measure_margins

FLATTEST: Final = 1e-16  # curvature of the log loss, as XGBoost has it
LOG_LOSSES: Final = (None, "binary:logistic", "multi:softprob", "multi:softmax", "binary", "multiclass", "softmax")
SQUARED_ERRORS: Final = (None, "reg:squarederror", "regression", "regression_l2", "l2", "mse", "mean_squared_error")


class Objective:
    """Slope and curvature of the estimator's own loss plus those of pairs, by margin.

    Parameters
    ----------
    pairs : PairLoss
    weight : float
        Of the mean over pairs against the mean over rows.
    gap, kind
        What of the two people of a pair is compared, and how.
    n_classes : int
        1 for outcomes, whose loss is half the squared error.
    label_weights : array, optional
        Factor of each label's loss.
    spread : float
        Standard deviation of the outcomes, the unit of gaps between them.
    """

    def __init__(
        self,
        pairs: PairLoss,
        weight: float,
        *,
        gap: GapKind,
        kind: PairLossKind,
        n_classes: int,
        label_weights: Numbers | None = None,
        spread: float = 1.0,
    ) -> None:
        self._pairs, self._weight, self._gap, self._kind = pairs, weight, gap, kind
        self._n_classes, self._label_weights, self._spread = n_classes, label_weights, spread

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        """Return slope and curvature for each row, and for each label if there are more than two."""
        target = np.asarray(y_true, np.float64).ravel()
        margins = np.asarray(y_pred, np.float64)
        shaped = margins.reshape(len(target), -1)
        weights = np.ones(len(target)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        if self._label_weights is not None:
            weights = weights * self._label_weights[target.astype(np.int64)]
        slope, curvature = self._own(target, shaped)
        slope, curvature = slope * weights[:, None], curvature * weights[:, None]
        found = measure_margins(self._pairs, shaped / self._spread, self._gap, self._kind)
        factor = self._weight * float(weights.sum())
        if self._n_classes == 1:
            factor *= 0.5 * self._spread**2
        slope += factor / self._spread * found.slope
        curvature += factor / self._spread**2 * found.curvature
        return slope.reshape(margins.shape), curvature.reshape(margins.shape)

    def value(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        """Return the loss that :meth:`__call__` is the slope of: a sum over rows."""
        target = np.asarray(y_true, np.float64).ravel()
        shaped = np.asarray(y_pred, np.float64).reshape(len(target), -1)
        weights = np.ones(len(target)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        if self._label_weights is not None:
            weights = weights * self._label_weights[target.astype(np.int64)]
        found = measure_margins(self._pairs, shaped / self._spread, self._gap, self._kind)
        factor = self._weight * float(weights.sum()) * (0.5 * self._spread**2 if self._n_classes == 1 else 1.0)
        return float((weights * self._losses(target, shaped)).sum() + factor * found.value)

    def _losses(self, target: Numbers, margins: Numbers) -> Numbers:
        if self._n_classes == 1:
            return np.asarray((margins[:, 0] - target) ** 2 / 2)
        if margins.shape[1] == 1:
            return np.asarray(-log_expit(np.where(target > 0, margins[:, 0], -margins[:, 0])))
        return np.asarray(-log_softmax(margins, axis=1)[np.arange(len(target)), target.astype(np.int64)])

    def _own(self, target: Numbers, margins: Numbers) -> tuple[Numbers, Numbers]:
        if self._n_classes == 1:
            return margins - target[:, None], np.ones_like(margins)
        if margins.shape[1] == 1:
            shares = expit(margins)
            return shares - target[:, None], np.maximum(shares * (1 - shares), FLATTEST)
        shares = softmax(margins, axis=1)
        is_label = target[:, None] == np.arange(margins.shape[1])
        return shares - is_label, np.maximum(2 * shares * (1 - shares), FLATTEST)


def encode_again(around: list[Any], X: Any) -> Any:
    """Encode rows by the fitted steps of pipelines inside each other, all but the last."""
    for pipeline in around:
        X = pipeline[:-1].transform(X) if len(pipeline.steps) > 1 else X
    return X


class Booster(Protocol):
    """How a library of boosted trees is given an objective, and scores."""

    def label_weights(self, estimator: Any, codes: NDArray[np.int64], weights: Numbers) -> Numbers | None:
        """Return the factor of each label that the estimator's parameters ask for."""

    def fit(self, estimator: Any, X: Any, target: NDArray[Any], objective: Objective, given: Mapping[str, Any]) -> Any:
        """Fit the estimator with the objective, and return it with its own objective set again."""

    def margins(self, estimator: Any, around: list[Any], X: Any) -> Numbers | None:
        """Return margins where the estimator itself cannot return probabilities."""


class XGBoost:
    """XGBClassifier and XGBRegressor; after fitting they are as any other of them."""

    def label_weights(self, estimator: Any, codes: NDArray[np.int64], weights: Numbers) -> Numbers | None:
        """Return scale_pos_weight, which XGBoost leaves to the objective."""
        factor = estimator.get_params().get("scale_pos_weight")
        return None if factor in (None, 1) or codes.max() > 1 else np.array([1.0, float(factor)])

    def fit(self, estimator: Any, X: Any, target: NDArray[Any], objective: Objective, given: Mapping[str, Any]) -> Any:
        """Fit trees from the score that XGBoost itself would start with."""
        own = {name: estimator.get_params()[name] for name in ("objective", "base_score")}
        start = own["base_score"] if own["base_score"] is not None else _start_of(target, objective, given)
        estimator.set_params(objective=objective, base_score=start)
        try:
            estimator.fit(X, target, **given)
        finally:
            estimator.set_params(objective=own["objective"] or _named(objective), base_score=own["base_score"])
        return estimator

    def margins(self, estimator: Any, around: list[Any], X: Any) -> Numbers | None:
        """Return nothing: the estimator returns probabilities itself."""
        return None


def _named(objective: Objective) -> str:
    names = {1: "reg:squarederror", 2: "binary:logistic"}
    return names.get(objective._n_classes, "multi:softprob")


def _start_of(target: NDArray[Any], objective: Objective, given: Mapping[str, Any]) -> Any:
    """Return the mean outcome, the share of label 1, or centred log shares."""
    weights = np.ones(len(target)) if given.get("sample_weight") is None else np.asarray(given["sample_weight"])
    if objective._n_classes == 1:
        return float(np.average(target, weights=weights))
    if objective._label_weights is not None:
        weights = weights * objective._label_weights[target]
    shares = np.bincount(target, weights, objective._n_classes) / weights.sum()
    if objective._n_classes == 2:
        return float(np.clip(shares[1], 1e-6, 1 - 1e-6))
    logs = np.log(np.maximum(shares, 1e-16))
    return (logs - logs.mean()).tolist() if _takes_vectors() else None


def _takes_vectors() -> bool:
    """Whether this XGBoost has a base score for each label."""
    import xgboost

    major, minor = (int(part) for part in xgboost.__version__.split(".")[:2])
    return (major, minor) >= (3, 1)


class LightGBM:
    """LGBMClassifier and LGBMRegressor, which return margins where the objective is not their own."""

    def label_weights(self, estimator: Any, codes: NDArray[np.int64], weights: Numbers) -> Numbers | None:
        """Return class weights, which LightGBM leaves to the objective where they are parameters of it."""
        params = estimator.get_params()
        factor = params.get("scale_pos_weight")
        if params.get("is_unbalance") or params.get("unbalance"):
            shares = np.bincount(codes, weights)
            return np.asarray(shares.max() / shares)
        return None if factor in (None, 1) or codes.max() > 1 else np.array([1.0, float(factor)])

    def fit(self, estimator: Any, X: Any, target: NDArray[Any], objective: Objective, given: Mapping[str, Any]) -> Any:
        """Fit trees from the mean score, which is added to the leaves of the first of them."""
        start = self._start(target, objective, given)
        given = dict(given) | {"init_score": np.tile(start, (len(target), 1)).ravel(order="F")}
        if given.get("eval_set") is not None:
            given["eval_init_score"] = [np.tile(start, (len(y), 1)).ravel(order="F") for _, y in given["eval_set"]]
            given.setdefault("eval_metric", _held_out_loss(objective))
        own = estimator.get_params()["objective"]
        estimator.set_params(objective=objective)
        try:
            estimator.fit(X, target, **given)
        finally:
            estimator.set_params(objective=own)
        trees = estimator.booster_
        for tree in range(min(len(start), trees.num_trees())):
            for leaf in range(_count_leaves(trees, tree)):
                trees.set_leaf_output(tree, leaf, trees.get_leaf_output(tree, leaf) + start[tree])
        return estimator

    def _start(self, target: NDArray[Any], objective: Objective, given: Mapping[str, Any]) -> Numbers:
        weights = np.ones(len(target)) if given.get("sample_weight") is None else np.asarray(given["sample_weight"])
        if objective._n_classes == 1:
            return np.array([np.average(target, weights=weights)])
        if objective._label_weights is not None:
            weights = weights * objective._label_weights[target]
        shares = np.bincount(target, weights, objective._n_classes) / weights.sum()
        logs = np.log(np.clip(shares, 1e-12, 1.0))
        return np.array([logs[1] - logs[0]]) if objective._n_classes == 2 else logs

    def margins(self, estimator: Any, around: list[Any], X: Any) -> Numbers | None:
        """Return the margins of the trees."""
        found = np.asarray(estimator.predict(encode_again(around, X), raw_score=True), np.float64)
        return found.reshape(len(found), -1)


def _count_leaves(trees: Any, tree: int) -> int:
    return int(trees.dump_model(num_iteration=1)["tree_info"][tree]["num_leaves"])


def _held_out_loss(objective: Objective) -> Any:
    """Return a metric of margins for early stopping: the estimator's own loss, without pairs."""

    def held_out_loss(y_true: Any, y_pred: Any) -> tuple[str, float, bool]:
        margins = np.asarray(y_pred, np.float64).reshape(len(y_true), -1)
        return "loss", float(objective._losses(np.asarray(y_true, np.float64), margins).mean()), False

    return held_out_loss


def booster_of(estimator: Any, *, is_classifier: bool) -> Booster | None:
    """Return how to boost an estimator with pairs; None if it is neither XGBoost's nor LightGBM's."""
    kind = "Classifier" if is_classifier else "Regressor"
    bases = {one.__name__ for one in type(estimator).__mro__ if one.__module__.split(".")[0] in ("xgboost", "lightgbm")}
    made: Booster | None = XGBoost() if f"XGB{kind}" in bases else LightGBM() if f"LGBM{kind}" in bases else None
    if made is not None:
        refuse_own_objective(estimator, is_classifier=is_classifier)
    return made


def refuse_own_objective(estimator: Any, *, is_classifier: bool) -> None:
    """Refuse an objective that is not the log loss or the squared error."""
    asked, known = estimator.get_params().get("objective"), LOG_LOSSES if is_classifier else SQUARED_ERRORS
    if callable(asked) or asked not in known:
        own = "log loss" if is_classifier else "squared error"
        shown = getattr(asked, "__name__", type(asked).__name__) if callable(asked) else repr(asked)
        raise ParameterError(
            f"has the objective {shown}, but pairs are added to the {own}. Leave its objective unset.", "estimator"
        )
