"""Trees and ensembles of trees, read from what their libraries publish, in one form."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from likewise.certifying._neighbourhood import Codes, Numbers
from likewise.exceptions import ScoreError

Link = Literal["identity", "logistic"]

LEAF: Final = -1
AS_MARGINS: Final = {"binary:logistic": "logistic", "reg:squarederror": "identity", "binary:logitraw": "identity"}
OTHERWISE: Final = "Encode categories before the model, as with OneHotEncoder or OrdinalEncoder."


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """A sum of trees: an input below the threshold of a node leads to its left child.

    Nodes of all trees stand in one list; ``inputs`` is -1 in a leaf, whose value is added to ``offset``.
    """

    roots: Codes
    inputs: Codes
    thresholds: Numbers
    missing_left: NDArray[np.bool_]
    left: Codes
    right: Codes
    values: Numbers
    offset: float
    link: Link
    rounded: bool  # inputs are rounded to float32 before they are compared
    absent_is_missing: bool  # what a sparse matrix does not hold is missing, not 0

    def score(self, sums: Numbers) -> Numbers:
        """Return the scores that sums of leaves stand for."""
        return sums if self.link == "identity" else logistic(sums)


def logistic(sums: Numbers) -> Numbers:
    """Return the probabilities that margins stand for."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-sums)))


def read_forest(last: Any) -> Forest | None:
    """Return the trees of a fitted model, or None if it is not made of trees that can be read."""
    names = {(one.__module__.split(".")[0], one.__name__) for one in type(last).__mro__}
    readers: dict[tuple[str, str], Callable[[Any], Forest]] = {
        ("xgboost", "XGBModel"): _read_xgboost,
        ("lightgbm", "LGBMModel"): _read_lightgbm,
        ("sklearn", "BaseDecisionTree"): _read_tree,
        ("sklearn", "BaseForest"): _read_averaged,
        ("sklearn", "BaseGradientBoosting"): _read_boosted,
    }
    found = [read for name, read in readers.items() if name in names]
    if not found:
        return None
    if len(getattr(last, "classes_", ())) > 2 or getattr(last, "n_outputs_", 1) != 1:
        raise ScoreError(
            f"This {type(last).__name__} has several scores per person; a certificate is about one. Certify a model of "
            "two labels, or of one outcome."
        )
    return found[0](last)


@dataclass(slots=True)
class _Nodes:
    """Nodes of trees, one list for all."""

    parts: list[tuple[Any, ...]]
    n_nodes: int = 0

    def add(self, inputs: Any, thresholds: Any, missing_left: Any, left: Any, right: Any, values: Any) -> None:
        inputs = np.asarray(inputs, np.int64)
        children = [np.where(inputs == LEAF, 0, np.asarray(one, np.int64) + self.n_nodes) for one in (left, right)]
        self.parts.append((self.n_nodes, inputs, thresholds, missing_left, *children, values))
        self.n_nodes += len(inputs)

    def forest(self, **rest: Any) -> Forest:
        if not self.parts:
            raise ScoreError("The model has no trees.")
        roots, *columns = zip(*self.parts, strict=True)
        types = (np.int64, np.float64, np.bool_, np.int64, np.int64, np.float64)
        arrays: list[Any] = [np.concatenate(one).astype(kind) for one, kind in zip(columns, types, strict=True)]
        return Forest(np.array(roots, np.int64), *arrays, **rest)


def _read_xgboost(last: Any) -> Forest:
    booster = last.get_booster()
    best = getattr(last, "best_iteration", None) if last.get_params().get("early_stopping_rounds") else None
    if best is not None:
        booster = booster[: best + 1]
    missing = last.get_params().get("missing", np.nan)
    if missing is not None and not np.isnan(missing):
        raise ScoreError(f"This {type(last).__name__} takes {missing!r} for missing; only NaN can be followed.")
    saved = json.loads(bytes(booster.save_raw(raw_format="json")))["learner"]
    objective = saved["objective"]["name"]
    if saved["gradient_booster"]["name"] != "gbtree" or objective not in AS_MARGINS:
        raise ScoreError(
            f"This {type(last).__name__} has booster {saved['gradient_booster']['name']!r}, objective {objective!r}; "
            f"what can be looked into: 'gbtree' with {', '.join(map(repr, AS_MARGINS))}."
        )
    nodes = _Nodes([])
    for tree in saved["gradient_booster"]["model"]["trees"]:
        if any(tree["split_type"]):
            raise ScoreError(f"This {type(last).__name__} splits on categories itself. {OTHERWISE}")
        left = np.array(tree["left_children"])
        # of a leaf, the condition is its value
        numbers = np.array(tree["split_conditions"], np.float32).astype(np.float64)
        inputs = np.where(left == LEAF, LEAF, tree["split_indices"])
        nodes.add(inputs, numbers, np.array(tree["default_left"], bool), left, tree["right_children"], numbers)
    written = saved["learner_model_param"]["base_score"].strip("[]")
    base = float(np.float32(written))
    link: Link = "logistic" if objective == "binary:logistic" else "identity"
    offset = float(np.log(base / (1 - base))) if objective.startswith("binary") else base
    return nodes.forest(offset=offset, link=link, rounded=True, absent_is_missing=True)


def _read_lightgbm(last: Any) -> Forest:
    dump = last.booster_.dump_model(num_iteration=last.best_iteration_ or -1)
    objective = str(dump["objective"]).split()
    is_logistic = objective[0] in ("binary", "cross_entropy")
    if dump.get("average_output") or not (is_logistic or objective[0] in ("regression", "regression_l2", "custom")):
        raise ScoreError(
            f"This {type(last).__name__} has the objective {dump['objective']!r}; what can be looked into: 'binary' "
            "and 'regression', boosted."
        )
    slope = next((float(one.partition(":")[2]) for one in objective if one.startswith("sigmoid:")), 1.0)
    nodes = _Nodes([])
    for tree in dump["tree_info"]:
        rows: list[tuple[Any, ...]] = []
        _flatten(tree["tree_structure"], rows, type(last).__name__)
        inputs, thresholds, missing_left, left, right, values = zip(*rows, strict=True)
        # an input equal to the threshold goes left, too
        above = np.nextafter(np.array(thresholds, np.float64), np.inf)
        nodes.add(inputs, above, missing_left, left, right, np.array(values) * (slope if is_logistic else 1.0))
    is_custom = objective[0] == "custom" and hasattr(last, "classes_")  # pairs in the loss
    link: Link = "logistic" if is_logistic or is_custom else "identity"
    return nodes.forest(offset=0.0, link=link, rounded=False, absent_is_missing=False)


def _flatten(node: dict[str, Any], rows: list[tuple[Any, ...]], kind: str) -> int:
    """Add a node of LightGBM's dump, and all below it; return its position."""
    at = len(rows)
    if "split_feature" not in node:
        rows.append((LEAF, 0.0, False, 0, 0, node.get("leaf_value", 0.0)))
        return at
    if node["decision_type"] != "<=":
        raise ScoreError(f"This {kind} splits on categories itself. {OTHERWISE}")
    if node["missing_type"] == "Zero":
        raise ScoreError(f"This {kind} takes 0 for missing (zero_as_missing), which cannot be followed.")
    # without missing values in training, a missing one counts as 0
    missing_left = node["default_left"] if node["missing_type"] == "NaN" else node["threshold"] >= 0
    rows.append(())
    left = _flatten(node["left_child"], rows, kind)
    right = _flatten(node["right_child"], rows, kind)
    rows[at] = (node["split_feature"], node["threshold"], missing_left, left, right, 0.0)
    return at


def _add_sklearn(nodes: _Nodes, tree: Any, values: Numbers) -> None:
    inputs = np.where(tree.children_left == LEAF, LEAF, tree.feature)
    missing_left = np.asarray(tree.missing_go_to_left, bool)
    # an input equal to the threshold goes left, too
    above = np.nextafter(tree.threshold, np.inf)
    nodes.add(inputs, above, missing_left, tree.children_left, tree.children_right, values)


def _leaf_scores(estimator: Any) -> Numbers:
    """Return what a tree predicts in each node: the share of the second label, or an outcome."""
    values = np.asarray(estimator.tree_.value, np.float64)[:, 0, :]
    if not hasattr(estimator, "classes_"):
        return np.asarray(values[:, 0])
    return np.asarray(values[:, -1] / values.sum(axis=1)) if values.shape[1] > 1 else np.ones(len(values))


def _read_tree(last: Any) -> Forest:
    nodes = _Nodes([])
    _add_sklearn(nodes, last.tree_, _leaf_scores(last))
    return nodes.forest(offset=0.0, link="identity", rounded=True, absent_is_missing=False)


def _read_averaged(last: Any) -> Forest:
    nodes = _Nodes([])
    for one in last.estimators_:
        _add_sklearn(nodes, one.tree_, _leaf_scores(one) / len(last.estimators_))
    return nodes.forest(offset=0.0, link="identity", rounded=True, absent_is_missing=False)


def _read_boosted(last: Any) -> Forest:
    is_classifier = hasattr(last, "classes_")
    loss = last.get_params()["loss"]
    if last.get_params()["init"] is not None or (is_classifier and loss != "log_loss"):
        raise ScoreError(
            f"This {type(last).__name__} starts from another model or has the loss {loss!r}; what can be looked into: "
            "init=None, of classifiers with the loss 'log_loss'."
        )
    nodes = _Nodes([])
    for (one,) in last.estimators_:
        _add_sklearn(nodes, one.tree_, np.asarray(one.tree_.value, np.float64)[:, 0, 0] * last.learning_rate)
    start = last.init_
    if is_classifier:
        share = float(start.class_prior_[-1])
        offset, link = float(np.log(share / (1 - share))), "logistic"
    else:
        offset, link = float(np.ravel(start.constant_)[0]), "identity"
    return nodes.forest(offset=offset, link=link, rounded=True, absent_is_missing=False)
