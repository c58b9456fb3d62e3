"""The estimator inside another: its pipeline taken apart, the columns it sees, and the rows it holds out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from likewise._checks import suggest
from likewise._models import SavedModel
from likewise.exceptions import ParameterError, SchemaError
from likewise.schema import Roles
from likewise.schema._internal import array_of_table, is_frame, join_columns, open_frame, take_frame

Method = TypeVar("Method", bound=Callable[..., Any])


def if_offered(method: Method) -> Method:
    """Offer a method of a wrapper if its estimator does: the fitted one, if there is one."""

    def check(wrapper: Any) -> bool:
        getattr(getattr(wrapper, "estimator_", wrapper.estimator), method.__name__)  # its error says why
        return True

    offered: Method = available_if(check)(method)
    return offered


@dataclass(eq=False, repr=False)
class EstimatorWrapper(SavedModel, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Base of the models around an estimator: the columns it sees, what it says of itself, and checks when loaded."""

    estimator: Any

    _is_classifier: ClassVar[bool]
    __metadata_request__fit: ClassVar = {"sensitive_features": True}  # what scikit-learn's routing passes on by default

    def _shown(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        return self._see(X)

    def _see(self, X: Any) -> Any:
        """Check the columns as scikit-learn does, and drop those the estimator does not see."""
        if is_frame(X) and hasattr(self, "feature_names_in_"):
            kept = leave_out(X, self.discarded_)
            refuse_unknown_columns(kept, self.feature_names_in_, self.discarded_)
            return kept
        return array_of_table(leave_out(take_frame(self, X, reset=False), self.discarded_))

    def _refuse_odd_estimator(self, wrapped_by: str) -> None:
        """Refuse what predicts nothing, or what the wrapper of the other kind is for: ``wrapped_by`` and its kind."""
        is_class = isinstance(self.estimator, type)
        has_tags = not is_class and hasattr(self.estimator, "__sklearn_tags__")
        kind = self.estimator.__name__ if is_class else type(self.estimator).__name__
        wanted, such_as = ("classifier", "LogisticRegression()") if self._is_classifier else ("regressor", "Ridge()")
        is_wanted, is_other = (is_classifier, is_regressor) if self._is_classifier else (is_regressor, is_classifier)
        says_so = has_tags and is_wanted(self.estimator)  # a stacking model has predict only when fitted
        if is_class or not hasattr(self.estimator, "fit") or not (says_so or hasattr(self.estimator, "predict")):
            raise TypeError(f"estimator is a {kind}, not a {wanted}. Give one, such as {such_as}.")
        if has_tags and is_other(self.estimator):
            raise TypeError(
                f"estimator is a {kind}, which predicts amounts: each would be a class of its own here. Give a "
                f"classifier; for amounts there is {wrapped_by}Regressor."
                if self._is_classifier
                else f"estimator is a {kind}, which predicts classes. Give a regressor; for classes there is "
                f"{wrapped_by}Classifier."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator)
            tags.non_deterministic = inner.non_deterministic
            if inner.classifier_tags is not None and tags.classifier_tags is not None:
                tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
                tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
            if inner.regressor_tags is not None and tags.regressor_tags is not None:
                tags.regressor_tags.poor_score = inner.regressor_tags.poor_score
        return tags


@contextmanager
def tell_hidden(hidden: list[str], why: str) -> Iterator[None]:
    """Add to an error of an estimator what it cannot know: that it does not see some columns."""
    try:
        yield
    except Exception as error:  # its own message is best
        if hidden:
            error.add_note(
                f"{why}: the estimator did not see {', '.join(hidden)}. If it names columns, let it select them "
                "instead, such as with scikit-learn's make_column_selector."
            )
        raise


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


def trim_columns(estimator: Any, names: list[str], discarded: list[str]) -> None:
    """Remove columns that are not shown from all roles inside, and from the columns that encoders and trees list.

    Generators, which see all columns, keep their roles.
    """
    if not discarded or not hasattr(estimator, "get_params"):
        return
    params = {"": estimator, **estimator.get_params()}
    later = [
        f"{name}__{step}".removeprefix("__")
        for name, value in params.items()
        if hasattr(value, "steps")
        for step, _ in value.steps[1:]
    ]  # they see what the steps before them make of the columns
    trimmed = {}
    for name, value in params.items():
        is_encoded = any(f"{name}__".startswith(f"{step}__") for step in later)
        if isinstance(value, Roles) and not hasattr(params.get(name.rpartition("__")[0], estimator), "generate"):
            trimmed[name] = _without(value, discarded)
        elif name.rpartition("__")[2] == "categorical_features" and value is not None and not isinstance(value, str):
            trimmed[name] = _columns_left(value, names, discarded, is_encoded=is_encoded)
        elif isinstance(value, ColumnTransformer):
            parts = [
                (key, step, _columns_left(columns, names, discarded, is_encoded=is_encoded))
                for key, step, columns in value.transformers
            ]
            value.set_params(transformers=[part for part in parts if part[2] is not None])
    estimator.set_params(**trimmed)


def _columns_left(columns: Any, names: list[str], discarded: list[str], *, is_encoded: bool) -> Any:
    """Return columns, by name, position or mask, as they are once some are dropped; None if none are left."""
    if callable(columns):
        return columns
    if isinstance(columns, str):
        return None if columns in discarded else columns
    if not isinstance(columns, slice) and np.asarray(columns).dtype.kind not in "iub":
        return [name for name in columns if name not in discarded] or None
    if is_encoded:
        raise ParameterError(
            "lists columns by position behind an encoder, and these positions change as the estimator does not see "
            f"{', '.join(discarded)}. List them by name, or let it select them by type.",
            "estimator",
        )
    left = np.cumsum([name not in discarded for name in names]) - 1
    if np.ndim(columns) == 0 and not isinstance(columns, slice):
        return None if names[columns] in discarded else int(left[columns])
    chosen = np.arange(len(names))[columns if isinstance(columns, slice) else np.asarray(columns)]
    return [int(left[place]) for place in chosen if names[place] not in discarded] or None


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


def fit_plain(
    estimator: Any,
    shown: Any,
    target: Any,
    given: Mapping[str, Any],
    learned: Callable[[Any], tuple[Any, Any, Mapping[str, Any]]] | None = None,
) -> Any:
    """Fit an estimator, a pipeline or not, with parameters for the fit of its last step.

    ``learned`` may make other rows of the encoded ones for the last step to learn, with targets and parameters.
    """
    around, last = split_pipeline(estimator)
    encoded = encode_first(around, shown, target)
    if learned is not None:
        encoded, target, more = learned(encoded)
        given = {**given, **more}
    last.fit(encoded, target, **name_held_out(last, encode_held_out(around, given)))
    return estimator
