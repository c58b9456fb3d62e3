"""Pipelines taken apart: the steps around the last one, and held-out rows on their way to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from sklearn.frozen import FrozenEstimator

from likewise.exceptions import ParameterError


def split_pipeline(estimator: Any) -> tuple[list[Any], Any]:
    """Return the pipelines around the last step, outermost first, and that step."""
    around = []
    while hasattr(estimator, "steps") and estimator.steps and not isinstance(estimator, FrozenEstimator):
        around.append(estimator)
        estimator = estimator.steps[-1][1]
    return around, estimator


def encode_first(around: list[Any], X: Any, target: Any) -> Any:
    """Fit the steps before the last one, of pipelines inside each other, and encode the rows."""
    for pipeline in around:
        if len(pipeline.steps) > 1:
            before = pipeline[:-1]
            X = before.fit_transform(X, target)
            pipeline.steps[:-1] = before.steps  # with a memory, fitted ones are others
    return X


def encode_again(around: list[Any], X: Any) -> Any:
    """Encode rows by the fitted steps of pipelines inside each other, all but the last."""
    for pipeline in around:
        X = pipeline[:-1].transform(X) if len(pipeline.steps) > 1 else X
    return X


def take_held_out(given: Mapping[str, Any], show: Callable[[Any], Any], code: Callable[[Any], Any]) -> dict[str, Any]:
    """Return fit parameters with all held-out rows as pairs under ``eval_set``, each by ``show`` and ``code``.

    LightGBM also takes one pair that is in no list, and ``eval_X`` with ``eval_y``.
    """
    known = dict(given)
    if known.get("eval_X") is not None:
        rows, labels = known.pop("eval_X"), known.pop("eval_y", None)
        known["eval_set"] = list(zip(rows, labels, strict=True)) if isinstance(rows, tuple) else [(rows, labels)]
    if known.get("eval_set") is None:
        return known
    pairs = known["eval_set"]
    if isinstance(pairs, tuple) and len(pairs) == 2 and not isinstance(pairs[0], tuple):
        pairs = [pairs]
    if not isinstance(pairs, list | tuple) or any(not isinstance(one, list | tuple) or len(one) != 2 for one in pairs):
        raise ParameterError(
            "is not a list of pairs. Give rows and labels, such as [(X_held_out, y_held_out)].", "eval_set"
        )
    return known | {"eval_set": [(show(rows), code(labels)) for rows, labels in pairs]}


def encode_held_out(around: list[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return fit parameters with the held-out rows encoded as the last step takes them."""
    if given.get("eval_set") is None:
        return dict(given)
    return dict(given) | {"eval_set": [(encode_again(around, rows), labels) for rows, labels in given["eval_set"]]}


def name_held_out(estimator: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return fit parameters by the names that the estimator has: LightGBM deprecates eval_set from 4.7 on."""
    known = dict(given)
    if known.get("eval_set") is not None and "eval_X" in signature(estimator.fit).parameters:
        known["eval_X"], known["eval_y"] = zip(*known.pop("eval_set"), strict=True)
    return known


def fit_plain(estimator: Any, shown: Any, target: Any, given: Mapping[str, Any]) -> Any:
    """Fit an estimator, a pipeline or not, with parameters for the fit of its last step."""
    around, last = split_pipeline(estimator)
    encoded = encode_first(around, shown, target)
    last.fit(encoded, target, **name_held_out(last, encode_held_out(around, given)))
    return estimator
