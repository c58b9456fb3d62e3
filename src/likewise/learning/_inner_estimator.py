"""The estimator inside another: its pipeline taken apart, the columns it sees, and the rows it holds out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metaestimators import available_if

from likewise._checks import suggest
from likewise.exceptions import ParameterError, SchemaError
from likewise.schema import Roles
from likewise.schema._internal import fitted_names, join_columns, open_frame, take_frame

Method = TypeVar("Method", bound=Callable[..., Any])


def if_offered(method: Method) -> Method:
    """Offer a method of a wrapper if its estimator does: the fitted one, if there is one."""

    def check(wrapper: Any) -> bool:
        getattr(getattr(wrapper, "estimator_", wrapper.estimator), method.__name__)  # its error says why
        return True

    offered: Method = available_if(check)(method)
    return offered


def add_sensitive(frame: Any, beside: Any, roles: Any, who: str) -> tuple[Any, list[str]]:
    """Return the rows with the sensitive columns given beside them, and the names of these; refuse rows without any."""
    given = frame if beside is None else join_columns(frame, beside)
    names, known = open_frame(given).names, open_frame(frame).names
    sensitive = getattr(getattr(roles, "roles", roles), "sensitive", ())  # of a schema, or of roles
    absent = [name for name in sensitive if name not in names]
    if absent:
        raise SchemaError(
            f"{who} finds no column '{absent[0]}', which is sensitive.{suggest(absent[0], names)} If an encoder comes "
            f"before it in a Pipeline, put the Pipeline inside instead: {who}(make_pipeline(encoder, ...), ...). A "
            "column that the estimator must not see can be passed as sensitive_features."
        )
    return given, [name for name in names if name not in known]


def leave_out(frame: Any, discarded: list[str]) -> Any:
    """Return a frame without some columns; refuse to drop all of them."""
    if not discarded:
        return frame
    opened = open_frame(frame)
    kept = [name for name in opened.names if name not in discarded]
    if not kept:
        raise SchemaError(
            f"X has {len(opened.names)} feature(s), and all of them are sensitive: nothing is left to learn from. Add "
            "other columns, or set discard_sensitive=False."
        )
    return opened.select(kept)


def refuse_unknown_columns(frame: Any, names: Any, discarded: list[str]) -> None:
    """Refuse other columns or another order, in scikit-learn's words; discarded columns do not matter."""
    expected = BaseEstimator()
    expected.feature_names_in_ = np.array([name for name in names if name not in discarded], dtype=object)
    expected.n_features_in_ = len(expected.feature_names_in_)
    take_frame(expected, frame, reset=False)


def check_inside(wrapper: Any, discarded: list[str]) -> None:
    """Refuse a restored wrapper whose estimator was fitted to other columns than it would be shown."""
    shown = [name for name in fitted_names(wrapper) if name not in discarded]
    names = getattr(wrapper.estimator_, "feature_names_in_", None)
    n = getattr(wrapper.estimator_, "n_features_in_", len(shown))
    if n != len(shown) or (names is not None and list(names) != shown):
        raise ValueError(f"an estimator of {n} columns{'' if names is None else f', {list(names)}'}")


def trim_roles(estimator: Any, discarded: list[str]) -> Any:
    """Remove columns that are not shown from all roles inside; generators, which see all columns, keep theirs."""
    if not discarded or not hasattr(estimator, "get_params"):
        return estimator
    params = estimator.get_params()
    trimmed = {
        name: _without(value, discarded)
        for name, value in params.items()
        if isinstance(value, Roles) and not hasattr(params.get(name.rpartition("__")[0], estimator), "generate")
    }
    return estimator.set_params(**trimmed)


def ignore_columns(roles: Roles, names: list[str]) -> Roles:
    """Return roles in which some columns are ignored, whatever they were."""
    if not names:
        return roles
    kept = _without(roles, names)
    discrete, continuous, matched = (
        tuple(name for name in kind if name not in names) for kind in (kept.discrete, kept.continuous, kept.matched)
    )
    ordinal = {name: levels for name, levels in roles.ordinal.items() if name not in names}
    ignored = (*roles.ignored, *names)
    return replace(kept, discrete=discrete, continuous=continuous, matched=matched, ordinal=ordinal, ignored=ignored)


def _without(roles: Roles, discarded: list[str]) -> Roles:
    sensitive = tuple(name for name in roles.sensitive if name not in discarded)
    bins = {name: bins for name, bins in roles.bins.items() if name in sensitive}
    return replace(roles, sensitive=sensitive, bins=bins)


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
