"""Columns of a table → arrays of the type that a model takes, or one sentence on why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.exceptions import ScoreError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def column_of_numbers(frame: pa.Table, name: str, dtype: np.dtype[Any], who: str) -> NDArray[Any]:
    """Give the values of a column as numbers; a missing one is NaN, where numbers have that."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _decoded(frame, name)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or _is_decimal(kind)):
        raise _unfit(name, kind, who, "numbers")
    if dtype.kind == "f":
        wide = column.cast(pa.float64(), safe=False)
        found: NDArray[Any] = wide.to_numpy().astype(dtype)  # missing values become NaN
        return found
    if column.null_count:
        raise _missing(name, column.null_count, who)
    if pa.types.is_boolean(kind):
        return np.asarray(column.to_numpy()).astype(dtype)
    if not pa.types.is_integer(kind):
        column = column.cast(pa.float64())
        if not pc.all(pc.equal(column, pc.floor(column))).as_py():
            raise _unfit(name, kind, who, "whole numbers")
    values = np.asarray(column.to_numpy())
    if dtype.kind in "iu" and len(values):
        limits = np.iinfo(dtype)
        if values.min() < limits.min or values.max() > limits.max:
            raise _unfit(name, kind, who, f"whole numbers from {limits.min:,} to {limits.max:,}")
    return values.astype(dtype)


def column_of_text(frame: pa.Table, name: str, who: str) -> NDArray[Any]:
    """Give the values of a column as text."""
    column = _decoded(frame, name)
    if str(column.type) not in ("string", "large_string", "string_view"):
        raise _unfit(name, column.type, who, "text")
    if column.null_count:
        raise _missing(name, column.null_count, who)
    return np.array(column.to_pylist(), dtype=object)


def _decoded(frame: pa.Table, name: str) -> Any:
    import pyarrow as pa

    column = frame.column(name)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _is_decimal(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_decimal(kind))


def _unfit(name: str, kind: Any, who: str, wanted: str) -> ScoreError:
    return ScoreError(
        f"Column '{name}' holds {kind} values, but {who[0].lower()}{who[1:]} takes {wanted} there. "
        "Convert the column, or check which columns the model was made for."
    )


def _missing(name: str, n: int, who: str) -> ScoreError:
    return ScoreError(
        f"Column '{name}' lacks {n:,} values, and {who[0].lower()}{who[1:]} takes none there that are missing. "
        "Fill them in, or leave those rows out."
    )
