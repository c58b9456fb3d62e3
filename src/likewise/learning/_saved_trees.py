"""Boosted trees of XGBoost and LightGBM in plain data: their own JSON and text, checked before they are read again.

Neither library runs code from these formats, but both follow indices without looking: a forged child, feature or
category makes them read beyond the end of their memory. So every index is held against its range first.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.exceptions import SavedFolderError
from likewise.nets._internal import Description

Ints = NDArray[np.int64]

TREES: Final = "estimator.trees"  # the array that holds the bytes of the library's own format
XGBOOST: Final = ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor")
LIGHTGBM: Final = ("LGBMClassifier", "LGBMRegressor")
NO_PARENT: Final = (-1, 2**31 - 1)  # of the root, in XGBoost
MADE_UP: Final = 100  # rows of each class: LightGBM leaves out columns of few
MOST_OF_A_REASON: Final = 200  # characters; XGBoost's errors have stack traces


class _Boosted(NamedTuple):
    """A class of boosted trees, and how its trees become bytes and trees again."""

    kind: type[Any]
    write: Callable[[Any], bytes]
    read: Callable[[type[Any], bytes, dict[str, Any]], Any]


def _find_boosted(name: str) -> _Boosted | None:
    """Return how a class of boosted trees is saved, by its name; None if it is no such class."""
    library = "xgboost" if name in XGBOOST else "lightgbm" if name in LIGHTGBM else None
    if library is None:
        return None
    try:
        kind = getattr(import_module(library), name)
    except (ImportError, OSError) as error:
        raise SavedFolderError(
            f"The saved estimator is a {name}, and {library} cannot be imported ({error}). Install {library}."
        ) from None
    if library == "xgboost":
        return _Boosted(kind, _write_xgboost, _read_xgboost)
    return _Boosted(kind, _write_lightgbm, _read_lightgbm)


def describe_trees(estimator: Any) -> Description | None:
    """Return a fitted estimator of XGBoost or LightGBM as plain data; None if it is none, or a subclass of one."""
    kind = type(estimator)
    if kind.__module__.split(".")[0] not in ("xgboost", "lightgbm"):
        return None
    known = _find_boosted(kind.__name__)
    if known is None or known.kind is not kind:
        return None
    record: dict[str, Any] = {"type": kind.__name__, "params": _changed_params(estimator)}
    if kind.__name__ == "LGBMClassifier":  # XGBoost's classes are always 0, 1 and so on
        record["classes"] = {"values": estimator.classes_.tolist(), "dtype": estimator.classes_.dtype.str}
    if kind.__name__ in LIGHTGBM:
        record["names"] = list(map(str, estimator.feature_name_)) if hasattr(estimator, "feature_names_in_") else None
    return Description(record, {TREES: np.frombuffer(known.write(estimator), np.uint8)})


def restore_trees(description: Description) -> Any:
    """Return the estimator; any error means that the description is invalid."""
    record, arrays = description
    known = _find_boosted(str(record["type"]))
    if known is None:
        raise SavedFolderError(f"The saved estimator is a {record['type']}, which likewise does not know.")
    try:
        return known.read(known.kind, arrays[TREES].tobytes(), record)
    except Exception as error:  # of ours, or the library's with its stack trace
        reason = (str(error).strip().splitlines() or [""])[0][:MOST_OF_A_REASON].rstrip(".")
        raise SavedFolderError(
            f"The saved {record['type']} cannot be read ({type(error).__name__}: {reason}). Save it again."
        ) from None


def _changed_params(estimator: Any) -> dict[str, Any]:
    """Return the parameters that are not the defaults; refuse what JSON cannot hold."""
    defaults, changed = type(estimator)().get_params(), {}
    for name, value in estimator.get_params().items():
        given = value.item() if isinstance(value, np.generic) else value
        is_nan = isinstance(given, float) and math.isnan(given)
        if (is_nan and name == "missing") or (type(given) is type(defaults.get(name)) and given == defaults.get(name)):
            continue
        if name == "random_state" and not isinstance(given, int):
            continue
        try:
            json.dumps(given, allow_nan=False)
        except (TypeError, ValueError):
            raise SavedFolderError(
                f"{name} of this {type(estimator).__name__} is a {type(given).__name__}, which a folder cannot hold. "
                f"Prediction does not need it: call estimator_.set_params({name}=None) first, on the last step of a "
                "Pipeline."
            ) from None
        changed[name] = given
    return changed


def _refuse_loops(children: Ints, n_nodes: int) -> None:
    """Refuse nodes that form no tree: every child is a node, has one parent, and is not the root."""
    if len(children) and (children.min() < 1 or children.max() >= n_nodes or len(np.unique(children)) < len(children)):
        raise ValueError("nodes that form no tree")


def _within(values: Any, n: int, what: str) -> Ints:
    """Return whole numbers from 0 to n - 1; refuse others."""
    found = np.asarray(values, np.int64) if len(values) else np.empty(0, np.int64)
    if len(found) and (found.min() < 0 or found.max() >= n):
        raise ValueError(f"{what} beyond {n}")
    return found


def _ascending(values: Any, first: int, last: int, what: str) -> None:
    found = np.asarray(values, np.int64)
    if found[0] != first or found[-1] != last or (np.diff(found) < 0).any():
        raise ValueError(f"{what} that are no segments")


def _finite(values: Any, what: str) -> None:
    if not np.isfinite(np.asarray(values, np.float64)).all():
        raise ValueError(f"{what} that are not finite numbers")


def _write_xgboost(estimator: Any) -> bytes:
    found = bytes(estimator.get_booster().save_raw("json"))
    try:
        check_xgboost(json.loads(found))
    except (KeyError, TypeError, ValueError) as error:
        raise SavedFolderError(
            f"This {type(estimator).__name__} has {error}, which cannot be checked when it is loaded. Save estimator_ "
            "with save_model of XGBoost."
        ) from None
    return found


def _read_xgboost(kind: type[Any], data: bytes, record: dict[str, Any]) -> Any:
    model = json.loads(data)
    check_xgboost(model)
    estimator = kind(**record["params"])
    own = estimator.get_params()
    estimator.load_model(bytearray(json.dumps(model).encode()))  # written again: every key stands there once
    found = estimator.get_params()  # some are those of the trees now, and would be used in another fit
    estimator.set_params(**{name: value for name, value in own.items() if found[name] is not value})
    estimator.predict(np.zeros((1, estimator.get_booster().num_features())), validate_features=False)
    return estimator


def check_xgboost(model: dict[str, Any]) -> None:
    """Refuse a model of XGBoost, as its JSON, in which an index is out of range."""
    learner = model["learner"]
    if not [2] <= [int(part) for part in model["version"]] < [100]:
        raise ValueError(f"the version {model['version']}")
    shape, booster = learner["learner_model_param"], learner["gradient_booster"]
    n_inputs, n_outputs = int(shape["num_feature"]), max(int(shape["num_class"]), 1)
    if int(shape.get("num_target", 1)) != 1:
        raise ValueError("several targets")
    for param in (one for one in learner["objective"].values() if isinstance(one, dict) and "num_class" in one):
        if int(param["num_class"]) != n_outputs:
            raise ValueError(f"an objective of {param['num_class']} classes for {n_outputs}")
    start = np.atleast_1d(np.asarray(json.loads(shape["base_score"]), np.float64))
    if start.shape not in ((1,), (n_outputs,)):
        raise ValueError(f"{start.shape} base scores for {n_outputs} classes")
    _finite(start, "base scores")
    names = (learner.get("feature_names", []), learner.get("feature_types", []))
    if any(len(one) not in (0, n_inputs) for one in names):
        raise ValueError(f"names or types of other features than {n_inputs}")
    if booster["name"] not in ("gbtree", "dart"):
        raise ValueError(f"the booster {booster['name']}")
    trees = booster["model"] if booster["name"] == "gbtree" else booster["gbtree"]["model"]
    n_trees = len(trees["trees"])
    if booster["name"] == "dart":
        _finite(booster["weight_drop"], "weights of trees")
        if len(booster["weight_drop"]) != n_trees:
            raise ValueError("weights of other trees")
    if int(trees["gbtree_model_param"]["num_trees"]) != n_trees or len(trees["tree_info"]) != n_trees:
        raise ValueError(f"{n_trees} trees, which are not those announced")
    _within(trees["tree_info"], n_outputs, "trees of a class")
    if "iteration_indptr" in trees:
        _ascending(trees["iteration_indptr"], 0, n_trees, "rounds")
    _check_categories(trees.get("cats"), n_inputs)
    for number, tree in enumerate(trees["trees"]):
        if int(tree["id"]) != number:
            raise ValueError("trees in another order")
        _check_tree(tree, n_inputs)


def _check_categories(known: Any, n_inputs: int) -> None:
    """Check the categories of a frame that the trees were fitted on."""
    if not known or not known["enc"]:
        return
    if len(known["enc"]) != n_inputs or len(known["feature_segments"]) != n_inputs + 1:
        raise ValueError("categories of other features")
    sizes = [len(one["offsets"][1:] if "offsets" in one else one["values"]) for one in known["enc"]]
    for one in known["enc"]:
        if one.get("offsets"):
            _ascending(one["offsets"], 0, len(one["values"]), "categories")
        elif "offsets" in one and one["values"]:
            raise ValueError("categories without an end")
    if np.cumsum([0, *sizes]).tolist() != known["feature_segments"] or len(known["sorted_idx"]) != sum(sizes):
        raise ValueError("categories that are no segments")
    order, ends = np.asarray(known["sorted_idx"], np.int64), np.cumsum(sizes)
    if any(sorted(order[end - size : end]) != list(range(size)) for size, end in zip(sizes, ends, strict=True)):
        raise ValueError("categories in no order")


def _check_tree(tree: dict[str, Any], n_inputs: int) -> None:
    shape = tree["tree_param"]
    n_nodes = int(shape["num_nodes"])
    if int(shape["size_leaf_vector"]) not in (0, 1):
        raise ValueError("leaves of several outputs")
    if not 0 <= int(shape["num_deleted"]) < n_nodes or int(shape["num_feature"]) != n_inputs:
        raise ValueError("other nodes or features than announced")
    by_node = ("base_weights", "default_left", "left_children", "loss_changes", "parents", "right_children")
    for name in (*by_node, "split_conditions", "split_indices", "sum_hessian", "split_type"):
        if n_nodes < 1 or len(tree.get(name, ())) not in ((0, n_nodes) if name == "split_type" else (n_nodes,)):
            raise ValueError(f"{name} of other nodes than {n_nodes}")
    left, right = (np.asarray(tree[name], np.int64) for name in ("left_children", "right_children"))
    inside = left != -1
    if (inside != (right != -1)).any():
        raise ValueError("a node with one child")
    _refuse_loops(np.concatenate([left[inside], right[inside]]), n_nodes)
    parents, nodes = np.asarray(tree["parents"], np.int64), np.flatnonzero(inside)
    is_known = (parents >= 0) & (parents < n_nodes)
    if (parents[left[inside]] != nodes).any() or (parents[right[inside]] != nodes).any() or is_known[0]:
        raise ValueError("parents of other nodes")
    if not np.isin(parents[~is_known], NO_PARENT).all():
        raise ValueError("parents of no node")
    _within(np.asarray(tree["split_indices"], np.int64)[inside], n_inputs, "features")
    _finite(tree["split_conditions"], "leaves")
    kinds = np.asarray(tree.get("split_type") or np.zeros(n_nodes), np.int64)
    owners, starts, sizes = (tree.get(f"categories_{name}", []) for name in ("nodes", "segments", "sizes"))
    _within(kinds, 2, "kinds of nodes")
    if sorted(owners) != np.flatnonzero(kinds == 1).tolist() or not len(owners) == len(starts) == len(sizes):
        raise ValueError("categories of other nodes")
    _within([*starts, *sizes, *np.add(starts, sizes).tolist()], len(tree.get("categories", [])) + 1, "categories")
    _within(tree.get("categories", []), 2**24, "categories")  # each takes a bit


PER_SPLIT: Final = frozenset(
    (
        *("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child"),
        *("internal_value", "internal_weight", "internal_count"),
    )
)
PER_LEAF: Final = frozenset(("leaf_value", "leaf_weight", "leaf_count"))
PER_TREE: Final = frozenset(("num_leaves", "num_cat", "is_linear", "shrinkage"))
OF_CATEGORIES: Final = frozenset(("cat_boundaries", "cat_threshold"))
END: Final = "end of trees\n"
CATEGORIES: Final = "\npandas_categorical:"


def _write_lightgbm(estimator: Any) -> bytes:
    """Return the trees up to the best round and the categories of frames, without parameters, which may name files."""
    whole = estimator.booster_.model_to_string()
    trees, end, rest = whole.partition(END)
    text = f"{trees}{end}{CATEGORIES}{rest.rpartition(CATEGORIES)[2].strip()}\n"
    try:
        check_lightgbm(text)
    except (KeyError, TypeError, ValueError) as error:
        raise SavedFolderError(
            f"This {type(estimator).__name__} has {error}, which cannot be checked when it is loaded. Save estimator_ "
            "with booster_.save_model of LightGBM."
        ) from None
    return text.encode()


def _read_lightgbm(kind: type[Any], data: bytes, record: dict[str, Any]) -> Any:
    """Fit a tree to made-up rows, by which the estimator knows its classes, and put the saved trees in its place."""
    text = data.decode()
    head = check_lightgbm(text)
    n_inputs, columns = int(head["max_feature_idx"]) + 1, record["names"]
    classes = np.arange(2.0)
    if "classes" in record:
        classes = np.array(record["classes"]["values"], dtype=record["classes"]["dtype"])
        if classes.ndim != 1 or len(classes) != max(int(head["num_class"]), 2):
            raise ValueError(f"{classes.shape} classes for {head['num_class']}")
    target = np.tile(classes, MADE_UP)
    rows: Any = np.tile(np.arange(len(target)) % 4.0, (n_inputs, 1)).T
    if columns is not None:
        if len(columns) != n_inputs:
            raise ValueError(f"{len(columns)} names for {n_inputs} features")
        rows = import_module("pandas").DataFrame(rows, columns=columns)
    estimator = kind(n_estimators=1, n_jobs=1)
    own = kind().get_params() | record["params"]
    back = {name: own[name] for name in ("n_estimators", "n_jobs")} | record["params"]
    if "objective" not in head:  # so that margins stay margins
        estimator.set_params(objective=_no_slope)
        back["objective"] = own["objective"]
    with redirect_stdout(StringIO()):  # where LightGBM tells about the made-up rows
        estimator.fit(rows, target).set_params(**back)
        estimator.booster_.model_from_string(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows without names
            estimator.predict(np.zeros((1, n_inputs)))  # which odd parameters make fail
    return estimator


def _no_slope(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    return np.zeros_like(y_pred, np.float64), np.ones_like(y_pred, np.float64)


def check_lightgbm(text: str) -> dict[str, str]:
    """Refuse a model of LightGBM, as its text, in which an index is out of range; return its head."""
    trees, end, rest = text.partition(END)
    if not end or not rest.startswith(CATEGORIES) or rest.count("\n") != 2:
        raise ValueError("no end")
    json.loads(rest.removeprefix(CATEGORIES))
    start = trees.find("\nTree=") + 1 or len(trees)
    head = _parse(trees[:start], ("tree", "average_output"))
    blocks = re.split(r"(?<=\n)(?=Tree=)", trees[start:]) if start < len(trees) else []
    if [len(one.encode()) for one in blocks] != [int(size) for size in head.get("tree_sizes", "").split()]:
        raise ValueError("trees of other sizes")  # LightGBM looks for them by these
    n_inputs, n_outputs = int(head["max_feature_idx"]) + 1, int(head["num_tree_per_iteration"])
    _within([int(head["label_index"])], n_inputs + 1, "labels")
    named = re.findall(r"num_class:(\d+)", head.get("objective", ""))
    if (
        n_outputs < 1
        or int(head["num_class"]) != n_outputs
        or len(blocks) % n_outputs
        or any(int(one) != n_outputs for one in named)
    ):
        raise ValueError(f"{len(blocks)} trees for {head['num_class']} classes")
    if not len(head["feature_names"].split(" ")) == len(head["feature_infos"].split(" ")) == n_inputs:
        raise ValueError(f"names of other features than {n_inputs}")
    for number, block in enumerate(blocks):
        _check_block(_parse(block, ()), number, n_inputs)
    return head


def _parse(block: str, flags: Iterable[str]) -> dict[str, str]:
    """Return the values of lines such as ``num_leaves=5``; refuse one that stands there twice, or has no name."""
    found: dict[str, str] = {}
    for line in filter(None, block.split("\n")):
        name, equals, value = line.partition("=")
        if name in found or (not equals and name not in flags):
            raise ValueError(f"the line {line[:40]!r}")
        found[name] = value
    return found


def _check_block(tree: dict[str, str], number: int, n_inputs: int) -> None:
    known = {"Tree"} | PER_SPLIT | PER_LEAF | PER_TREE | OF_CATEGORIES
    if int(tree["Tree"]) != number or not {*tree} <= known or int(tree.get("is_linear", 0)):
        raise ValueError("linear leaves" if tree.get("is_linear") == "1" else "trees of another form")
    n_leaves, n_sets = int(tree["num_leaves"]), int(tree["num_cat"])
    values = {name: text.split() for name, text in tree.items() if name not in PER_TREE}
    for name in (PER_SPLIT | PER_LEAF) & {*values}:
        optional = () if name in ("split_feature", "threshold", "decision_type", "leaf_value") else (0,)
        if len(np.array(values[name], np.float64)) not in (n_leaves - (name in PER_SPLIT), *optional):
            raise ValueError(f"{name} of other nodes")
    _finite(float(tree.get("shrinkage", 1)), "shrinkages")
    _finite(np.array(values["leaf_value"], np.float64), "leaves")
    if n_leaves < 2:
        return
    splits = {name: np.array(values[name], np.int64) for name in ("split_feature", "left_child", "right_child")}
    if not len(splits["left_child"]) == len(splits["right_child"]) == n_leaves - 1:
        raise ValueError("children of other nodes")
    _within(splits["split_feature"], n_inputs, "features")
    children = np.concatenate([splits["left_child"], splits["right_child"]])
    _refuse_loops(np.where(children < 0, n_leaves - 2 - children, children), 2 * n_leaves - 1)
    if (children >= n_leaves - 1).any():
        raise ValueError("nodes that form no tree")
    is_set = np.array(values["decision_type"], np.int64) & 1 > 0
    limits = np.array(values["threshold"], np.float64)
    _within(limits[is_set].astype(np.int64), n_sets, "categories")
    if n_sets:
        bounds, bits = values["cat_boundaries"], values["cat_threshold"]
        if len(bounds) != n_sets + 1:
            raise ValueError("categories of other nodes")
        _ascending([int(one) for one in bounds], 0, len(bits), "categories")
        _within([int(one) for one in bits], 2**32, "categories")
