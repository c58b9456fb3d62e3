"""Boosted trees whose objective has the pairs in it: XGBoost and LightGBM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax

from likewise.exceptions import ParameterError
from likewise.learning._inner_estimator import encode_again, name_held_out
from likewise.learning.consistent._pair_graph import Numbers
from likewise.learning.consistent._pair_loss import FLATTEST, GapKind, PairLoss, measure_margins

LEAST_SHARE: Final = 1e-12  # of a label
LOG_LOSSES: Final = (None, "binary:logistic", "multi:softprob", "multi:softmax", "binary", "multiclass", "softmax")
SQUARED_ERRORS: Final = (None, "reg:squarederror", "regression", "regression_l2", "l2", "mse", "mean_squared_error")


class Objective:
    """Slope and curvature of the estimator's own loss plus those of pairs, by margin."""

    def __init__(
        self,
        pairs: PairLoss,
        weight: float,  # of the mean over pairs against the mean over rows
        *,
        gap: GapKind,
        target: NDArray[Any],  # codes of labels, or outcomes
        n_classes: int,  # 1 for outcomes, whose loss is half the squared error
        weights: Numbers | None = None,  # of the rows
        label_weights: Numbers | None = None,  # the factor of each label's loss
        stiffness: float = 2.0,  # of the log loss of several labels: times p (1 - p), its curvature for the estimator
    ) -> None:
        self.n_classes, self.weights = n_classes, np.ones(len(target)) if weights is None else weights
        if label_weights is not None:
            self.weights = self.weights * label_weights[target]
        self._target = target.astype(np.float64)
        self._narrow = self._target.astype(np.float32), self.weights.astype(np.float32)
        self._pairs, self._gap, self._factor = pairs, gap, weight * float(self.weights.sum())
        self._is_compiled = n_classes == 2 and gap == "probability" and pairs.can_be_compiled
        self._stiffness = stiffness
        self._unit = 1.0  # of gaps: for outcomes their standard deviation
        if n_classes == 1:
            mean = np.average(self._target, weights=self.weights)
            self._unit = float(np.sqrt(np.average((self._target - mean) ** 2, weights=self.weights))) or 1.0
            self._factor *= self._unit**2 / 2

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        """Return slope and curvature for each row, and for each label if there are more than two."""
        self._pairs.start_round()
        if self._is_compiled:
            return self._pairs.add_to_log_loss(np.ravel(y_pred), *self._narrow, self._factor)
        predicted = np.asarray(y_pred, np.float64)
        margins = predicted.reshape(len(self._target), -1)
        slope, curvature = self._own(margins)
        slope, curvature = slope * self.weights[:, None], curvature * self.weights[:, None]
        rows = self._pairs.graph.rows
        found = measure_margins(self._pairs, margins[rows] / self._unit, self._gap)
        slope[rows] += self._factor / self._unit * found.slope
        curvature[rows] += self._factor / self._unit**2 * found.curvature
        return slope.reshape(predicted.shape), curvature.reshape(predicted.shape)

    def losses(self, target: Numbers, margins: Numbers) -> Numbers:
        """Return each row's own loss."""
        if self.n_classes == 1:
            return np.asarray((margins[:, 0] - target) ** 2 / 2)
        if self.n_classes == 2:
            return np.asarray(-log_expit(np.where(target > 0, margins[:, 0], -margins[:, 0])))
        return np.asarray(-log_softmax(margins, axis=1)[np.arange(len(target)), target.astype(np.int64)])

    def start(self) -> Numbers:
        """Return the best constant margins."""
        if self.n_classes == 1:
            return np.array([np.average(self._target, weights=self.weights)])
        shares = np.bincount(self._target.astype(np.int64), self.weights, self.n_classes) / self.weights.sum()
        logs = np.log(np.maximum(shares, LEAST_SHARE))
        return np.array([logs[1] - logs[0]]) if self.n_classes == 2 else logs - logs.mean()

    def _own(self, margins: Numbers) -> tuple[Numbers, Numbers]:
        if self.n_classes == 1:
            return margins - self._target[:, None], np.ones_like(margins)
        if self.n_classes == 2:
            shares = expit(margins)
            return shares - self._target[:, None], np.maximum(shares * (1 - shares), FLATTEST)
        shares = softmax(margins, axis=1)
        is_label = self._target[:, None] == np.arange(margins.shape[1])
        return shares - is_label, np.maximum(self._stiffness * shares * (1 - shares), FLATTEST)


class Booster(Protocol):
    """How a library of boosted trees is given an objective, and scores."""

    def stiffness(self, n_classes: int) -> float:
        """Return what the library takes p (1 - p) times as the curvature of the log loss of several labels."""

    def label_weights(self, estimator: Any, codes: NDArray[Any], weights: Numbers) -> Numbers | None:
        """Return the factor of each label that the estimator's parameters ask for."""

    def fit(self, estimator: Any, X: Any, target: NDArray[Any], objective: Objective, given: Mapping[str, Any]) -> None:
        """Fit the estimator with the objective, and set its own objective again."""

    def margins(self, estimator: Any, around: list[Any], X: Any) -> Numbers | None:
        """Return margins where the estimator itself cannot return probabilities."""


class XGBoost:
    """XGBClassifier and XGBRegressor; after fitting they are as any other of them."""

    def stiffness(self, n_classes: int) -> float:
        """Return the same for any number of labels."""
        return 2.0

    def label_weights(self, estimator: Any, codes: NDArray[Any], weights: Numbers) -> Numbers | None:
        """Return scale_pos_weight, which XGBoost leaves to the objective."""
        factor = estimator.scale_pos_weight
        return None if factor in (None, 1) or codes.max() > 1 else np.array([1.0, float(factor)])

    def fit(self, estimator: Any, X: Any, target: NDArray[Any], objective: Objective, given: Mapping[str, Any]) -> None:
        """Fit trees from the score that XGBoost itself would start with."""
        own = {name: getattr(estimator, name) for name in ("objective", "base_score")}
        start = own["base_score"] if own["base_score"] is not None else _base_score(objective)
        estimator.set_params(objective=objective, base_score=start)
        try:
            estimator.fit(X, target, **given)
        finally:
            names = {1: "reg:squarederror", 2: "binary:logistic"}
            named = "multi:softmax" if own["objective"] == "multi:softmax" else names.get(objective.n_classes)
            estimator.set_params(**own | {"objective": named or "multi:softprob"})

    def margins(self, estimator: Any, around: list[Any], X: Any) -> Numbers | None:
        """Return nothing: the estimator returns probabilities itself."""
        return None


def _base_score(objective: Objective) -> Any:
    """Return the best constant as XGBoost takes it: an outcome, a probability, or margins."""
    start = objective.start()
    if objective.n_classes > 2:
        return start.tolist() if _takes_vectors() else None
    return float(start[0] if objective.n_classes == 1 else expit(start[0]))


def _takes_vectors() -> bool:
    """Whether this XGBoost has a base score for each label."""
    import xgboost

    major, minor = (int(part) for part in xgboost.__version__.split(".")[:2])
    return (major, minor) >= (3, 1)


class LightGBM:
    """LGBMClassifier and LGBMRegressor, which return margins where the objective is not their own."""

    def stiffness(self, n_classes: int) -> float:
        """Return less the more labels there are."""
        return n_classes / (n_classes - 1)

    def label_weights(self, estimator: Any, codes: NDArray[Any], weights: Numbers) -> Numbers | None:
        """Return the weights of labels that LightGBM leaves to the objective; it applies class_weight itself."""
        params = estimator.get_params()
        factor = params.get("scale_pos_weight")
        if params.get("is_unbalance") or params.get("unbalance"):
            shares = np.bincount(codes, weights)
            return np.asarray(shares.max() / shares)
        return None if factor in (None, 1) or codes.max() > 1 else np.array([1.0, float(factor)])

    def fit(self, estimator: Any, X: Any, target: NDArray[Any], objective: Objective, given: Mapping[str, Any]) -> None:
        """Fit trees from the best constant, which is then added to the leaves of the first of them."""
        start = objective.start()
        known = dict(given) | {"init_score": np.repeat(start, len(target))}
        if known.get("eval_set") is not None:
            known["eval_init_score"] = [np.repeat(start, len(labels)) for _, labels in known["eval_set"]]
            known.setdefault("eval_metric", _held_out_loss(objective))
        own = estimator.get_params()["objective"]
        estimator.set_params(objective=objective)
        try:
            estimator.fit(X, target, **name_held_out(estimator, known))
        finally:
            estimator.set_params(objective=own or ("multiclass" if objective.n_classes > 2 else None))
        trees = estimator.booster_
        for tree, about in enumerate(trees.dump_model(num_iteration=1)["tree_info"]):
            for leaf in range(about["num_leaves"]):
                trees.set_leaf_output(tree, leaf, trees.get_leaf_output(tree, leaf) + start[tree])

    def margins(self, estimator: Any, around: list[Any], X: Any) -> Numbers | None:
        """Return the margins of the trees."""
        found = np.asarray(estimator.predict(encode_again(around, X), raw_score=True), np.float64)
        return found.reshape(len(found), -1)


def _held_out_loss(objective: Objective) -> Any:
    """Return a metric of margins for early stopping: the estimator's own loss, without pairs."""

    def held_out_loss(y_true: Any, y_pred: Any) -> tuple[str, float, bool]:
        margins = np.asarray(y_pred, np.float64).reshape(len(y_true), -1)
        return "loss", float(objective.losses(np.asarray(y_true, np.float64), margins).mean()), False

    return held_out_loss


def booster_of(estimator: Any, *, is_classifier: bool) -> Booster | None:
    """Return how to boost an estimator with pairs; None if it is not one of XGBoost's or LightGBM's boosters."""
    kind = "Classifier" if is_classifier else "Regressor"
    bases = {one.__name__ for one in type(estimator).__mro__ if one.__module__.split(".")[0] in ("xgboost", "lightgbm")}
    if f"XGBRF{kind}" in bases:  # a forest: one round, in which all gaps are still 0
        return None
    made: Booster | None = XGBoost() if f"XGB{kind}" in bases else LightGBM() if f"LGBM{kind}" in bases else None
    if made is not None:
        _refuse_own_objective(estimator, is_classifier=is_classifier)
    return made


def _refuse_own_objective(estimator: Any, *, is_classifier: bool) -> None:
    """Refuse an objective that is not the log loss or the squared error."""
    asked, known = estimator.objective, LOG_LOSSES if is_classifier else SQUARED_ERRORS
    if callable(asked) or asked not in known:
        own = "log loss" if is_classifier else "squared error"
        shown = getattr(asked, "__name__", type(asked).__name__) if callable(asked) else repr(asked)
        raise ParameterError(
            f"has the objective {shown}, but pairs are added to the {own}. Leave its objective unset.", "estimator"
        )
