"""What scikit-learn's users pass: frames stay frames, arrays become frames whose columns have made-up names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.exceptions import SchemaError
from likewise.schema._frames import open_frame
from likewise.schema._values import show_count


def is_frame(X: Any) -> bool:
    """Tell whether X is a table with names; one whose columns are only numbered counts as an array.

    Parameters
    ----------
    X : anything

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from likewise.schema._internal import is_frame
    >>> is_frame(pa.table({"age": [31]})), is_frame(np.ones((1, 1)))
    (True, False)
    """
    known = [name for name in ("column_names", "columns") if hasattr(type(X), name)]
    return bool(known) and any(isinstance(name, str) for name in getattr(X, known[0]))


def take_frame(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
    """Check X as scikit-learn does, and give it as a frame.

    Parameters
    ----------
    estimator : scikit-learn estimator
        On which the names and the number of the columns are kept, or looked up.
    X : frame, or array of numbers
    y : array, optional
        Checked for its length and for missing values only.
    reset : bool
        Whether the estimator learns from X, or should know its columns already.

    Returns
    -------
    frame
        X itself, or a pyarrow table with the columns x0, x1 and so on.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> from likewise.schema._internal import take_frame
    >>> take_frame(BaseEstimator(), np.ones((2, 3)), reset=True).column_names
    ['x0', 'x1', 'x2']
    """
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
    """Give the columns of an array names: x0, x1 and so on, as scikit-learn calls them, if none are given.

    Parameters
    ----------
    array : array, shape (n_rows, n_columns)
    names : sequence of str, optional

    Returns
    -------
    pyarrow table

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.schema._internal import table_of_array
    >>> table_of_array(np.ones((2, 2))).to_pydict()
    {'x0': [1.0, 1.0], 'x1': [1.0, 1.0]}
    """
    import pyarrow as pa

    called = [f"x{position}" for position in range(array.shape[1])] if names is None else np.asarray(names).tolist()
    columns = {name: pa.array(np.ascontiguousarray(values)) for name, values in zip(called, array.T, strict=True)}
    return pa.table(columns)


def array_of_table(frame: Any) -> NDArray[Any]:
    """Undo :func:`table_of_array`.

    Parameters
    ----------
    frame : pyarrow table of numbers

    Returns
    -------
    array, shape (n_rows, n_columns)

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise.schema._internal import array_of_table
    >>> array_of_table(pa.table({"x0": [1.0, 2.0]})).tolist()
    [[1.0], [2.0]]
    """
    columns = [np.asarray(column) for column in frame.columns]
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


def take_labels(y: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Code labels by their position among the sorted classes, and refuse what no classifier can learn from.

    Parameters
    ----------
    y : list, array or series

    Returns
    -------
    codes, classes : array of int, array

    Examples
    --------
    >>> from likewise.schema._internal import take_labels
    >>> codes, classes = take_labels(["no", "yes", "no"])
    >>> codes.tolist(), classes.tolist()
    ([0, 1, 0], ['no', 'yes'])
    """
    from sklearn.utils import column_or_1d
    from sklearn.utils.multiclass import check_classification_targets

    labels = column_or_1d(np.asarray(y), warn=True)
    if not len(labels):
        raise SchemaError("y has no labels, so there is nothing to learn. Give rows with labels.")
    _refuse_mixed(labels)
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise SchemaError(
            f"y has one class only, {classes.tolist()[0]!r}, in all {show_count(len(labels), 'row')}. A classifier "
            "needs two: give rows of both, or split them so that each part has both."
        )
    return codes.astype(np.int64), classes


def _refuse_mixed(labels: NDArray[Any]) -> None:
    """Say what is wrong with labels that have no order, before it fails inside."""
    if labels.dtype != object or labels.ndim != 1:
        return
    missing = [row for row, label in enumerate(labels) if _is_missing(label)]
    if missing:
        raise SchemaError(
            f"y is missing in {show_count(len(missing), 'row')}, such as row {missing[0]}. Leave such rows out, or "
            "label them."
        )
    kinds = sorted({"str" if isinstance(label, str) else "number" for label in labels})
    if len(kinds) > 1:
        raise SchemaError("y mixes text and numbers. Give labels of one kind.")


def _is_missing(label: Any) -> bool:
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float) and label != label


def hold_out(labels: NDArray[np.int64], fraction: float, random: np.random.Generator) -> NDArray[np.int64]:
    """Choose rows to hold out: about the same share of every label, and never all of one.

    Parameters
    ----------
    labels : array of int
        From 0 on.
    fraction : float
    random : numpy Generator

    Returns
    -------
    array of int
        Positions, in order. A label of one row has none among them.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.schema._internal import hold_out
    >>> hold_out(np.array([0, 0, 0, 0, 1, 1]), 0.5, np.random.default_rng(0)).tolist()
    [0, 2, 5]
    """
    chosen = []
    for label in range(int(labels.max(initial=-1)) + 1):
        rows = np.flatnonzero(labels == label)
        n_held_out = min(max(round(fraction * len(rows)), 1), len(rows) - 1)
        chosen.append(random.permutation(rows)[: max(n_held_out, 0)])
    return np.sort(np.concatenate([*chosen, np.empty(0, np.int64)])).astype(np.int64)


def take_weights(sample_weight: Any, n_rows: int, *, scaled: bool = True) -> NDArray[np.float64]:
    """Check weights, and scale them so that their mean is 1.

    Parameters
    ----------
    sample_weight : array, or None for equal ones
    n_rows : int
    scaled : bool
        Whether to scale them. Models of other libraries weigh them against their penalties, so their sum counts.

    Returns
    -------
    array of float

    Examples
    --------
    >>> from likewise.schema._internal import take_weights
    >>> take_weights([1, 3], 2).tolist()
    [0.5, 1.5]
    """
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weights = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight holds something that is no number. Give one number for each row.") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape} for {show_count(n_rows, 'row')}. Give one number for each row."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight has to be a finite number, 0 or more, in every row.")
    if not weights.any():
        raise ValueError("Every sample_weight is zero, so no row counts. Give some rows more.")
    return np.asarray(weights / weights.mean() if scaled else weights, np.float64)
