"""Arrays, labels, weights and row ids as users pass them, checked and converted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise._checks import suggest
from likewise._format import count_of
from likewise.exceptions import ParameterError, SchemaError
from likewise.schema._arrow import Column
from likewise.schema._frames import Frame, open_frame, open_labels
from likewise.schema._roles import ColumnRoles
from likewise.schema._values import show_values, sort_values


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns; one with numbered columns counts as an array."""
    known = [name for name in ("column_names", "columns") if hasattr(type(X), name)]
    return bool(known) and any(isinstance(name, str) for name in getattr(X, known[0]))


def take_frame(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
    """Check X (and y) as scikit-learn does and return a frame; an array gets the columns x0, x1, ..."""
    from sklearn.utils import assert_all_finite, check_consistent_length
    from sklearn.utils.validation import validate_data

    if y is not None and not isinstance(y, str):
        _refuse_mixed(np.asarray(y))
    if is_frame(X) and (reset or hasattr(estimator, "feature_names_in_")):
        validate_data(estimator, X, y, reset=reset, skip_check_array=True)
        opened = open_frame(X)
        if not isinstance(y, str):
            labels = np.asarray(y)
            check_consistent_length(range(len(opened)), labels)
            if labels.dtype.kind == "f":
                assert_all_finite(labels, input_name="y")
        return X
    checked = validate_data(estimator, X, y, reset=reset, dtype=np.float64)
    array = checked[0] if isinstance(checked, tuple) else checked
    return table_of_array(array, getattr(estimator, "feature_names_in_", None))


def table_of_array(array: NDArray[Any], names: ArrayLike | None = None) -> Any:
    """Return an array as a pyarrow table; columns are x0, x1, ... unless named."""
    import pyarrow as pa

    called = [f"x{position}" for position in range(array.shape[1])] if names is None else np.asarray(names).tolist()
    columns = {name: pa.array(np.ascontiguousarray(values)) for name, values in zip(called, array.T, strict=True)}
    return pa.table(columns)


def array_of_table(frame: Any) -> NDArray[Any]:
    """Undo :func:`table_of_array`."""
    columns = [np.asarray(column) for column in frame.columns]
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


def take_labels(y: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return labels as positions among the sorted classes, and the classes; refuse unusable ones."""
    from sklearn.utils import column_or_1d
    from sklearn.utils.multiclass import check_classification_targets

    labels = column_or_1d(np.asarray(y), warn=True)
    if not len(labels):
        raise SchemaError("y is empty, so there is nothing to learn. Pass rows with labels.")
    _refuse_mixed(labels)
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise SchemaError(
            f"y has one class only, {classes.tolist()[0]!r}, in all {count_of(len(labels), 'row')}. A classifier "
            "needs two: add rows of another class, or split so that each part has both."
        )
    return codes.astype(np.int64), classes


def _refuse_mixed(labels: NDArray[Any]) -> None:
    """Refuse labels that are missing or cannot be sorted."""
    if labels.dtype != object or labels.ndim != 1:
        return
    missing = [row for row, label in enumerate(labels) if _is_missing(label)]
    if missing:
        raise SchemaError(
            f"y is missing in {count_of(len(missing), 'row')}, such as row {missing[0]}. Drop those rows, or "
            "label them."
        )
    kinds = sorted({"str" if isinstance(label, str) else "number" for label in labels})
    if len(kinds) > 1:
        raise SchemaError("y mixes text and numbers. Use labels of one type.")


def _is_missing(label: Any) -> bool:
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float) and label != label


def hold_out(labels: NDArray[np.int64], fraction: float, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw the positions of held-out rows: about the same share of every label, never all of one."""
    chosen = []
    for label in range(int(labels.max(initial=-1)) + 1):
        rows = np.flatnonzero(labels == label)
        n_held_out = min(max(round(fraction * len(rows)), 1), len(rows) - 1)
        chosen.append(random.permutation(rows)[: max(n_held_out, 0)])
    return np.sort(np.concatenate([*chosen, np.empty(0, np.int64)])).astype(np.int64)


def take_weights(sample_weight: Any, n_rows: int, *, scaled: bool = True) -> NDArray[np.float64]:
    """Check sample weights, None for equal ones, and scale them to a mean of 1 where ``scaled``."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weights = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            "contains a value that is not a number. Pass one number per row.", "sample_weight"
        ) from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ParameterError(
            f"has shape {weights.shape} for {count_of(n_rows, 'row')}. Pass one number per row.",
            "sample_weight",
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ParameterError("must be a finite number, 0 or more, in every row.", "sample_weight")
    if not weights.any():
        raise ValueError("Every sample_weight is zero. At least one must be positive.")
    return np.asarray(weights / weights.mean() if scaled else weights, np.float64)


def label_column(roles: ColumnRoles, frame: Frame, y: Any) -> Column:
    """Return the labels: ``y`` if given, else the frame's label column."""
    if y is None:
        if roles.label is None:
            raise SchemaError("There are no labels: the roles name no label column. Pass the labels as y.")
        if roles.label not in frame.names:
            near = suggest(roles.label, frame.names)
            raise SchemaError(
                f"There are no labels: the frame has no column '{roles.label}'. Pass the labels as y.{near}"
            )
        return frame.column(roles.label).refuse_incomparable()
    column = open_labels(y)
    if len(column.array) != len(frame):
        raise SchemaError(
            f"y has {count_of(len(column.array), 'label')} for {count_of(len(frame), 'row')}. Pass one label per row."
        )
    return column


def row_ids_of(roles: ColumnRoles, frame: Frame) -> Any:
    """Return the row ids as an array, or None for positions."""
    if roles.row_id is None:
        return None
    column = frame.column(roles.row_id).refuse_incomparable()
    n_missing = column.array.null_count
    refuse_row_ids(roles.row_id, n_missing, 0 if n_missing else len(column.array) - len(column.array.unique()))
    return column.array.to_numpy(zero_copy_only=False)


def refuse_row_ids(name: str, n_missing: int, n_repeated: int) -> None:
    """Refuse row ids that are missing or repeat."""
    if n_missing:
        raise SchemaError(f"Row id '{name}' is missing in {count_of(n_missing, 'row')}. Give every row an id.")
    if n_repeated:
        raise SchemaError(f"Row id '{name}' repeats {count_of(n_repeated, 'time')}. Give every row its own id.")


def refuse_missing_labels(name: str, n_missing: int) -> None:
    """Refuse labels that are missing."""
    if n_missing:
        raise SchemaError(f"Label '{name}' is missing in {count_of(n_missing, 'row')}. Drop those rows, or label them.")


def code_labels(column: Column) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return labels as positions among the sorted classes that occur, and the classes."""
    values, rows = column.distinct()
    refuse_missing_labels(column.name, column.array.null_count)
    fractions = [value for value in values if isinstance(value, float) and not value.is_integer()]
    if fractions:
        raise SchemaError(
            f"Labels are classes, but '{column.name}' holds fractional numbers, such as {show_values(fractions[:2])}. "
            "Cut them into classes first."
        )
    # 1.0 is 1: pandas turns integers into floats by itself
    values = [int(value) if isinstance(value, float) else value for value in values]
    classes = sort_values(values)
    positions = {value: code for code, value in enumerate(classes)}
    return np.array([positions[value] for value in values], np.int32)[rows], np.array(classes)
