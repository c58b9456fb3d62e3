"""Columns as Arrow arrays: their types, distinct values and numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likewise._format import count_of
from likewise.exceptions import SchemaError
from likewise.schema._values import from_json_value, plain_value, show_values, to_json_value

# pyarrow is imported inside the functions: `import likewise` stays light

Family = Literal["text", "numbers", "booleans", "dates", "times", "times with a zone", "nothing"]


@dataclass(frozen=True, slots=True)
class Dtype:
    """The type of a frame's column, kept so that decoding can restore it."""

    arrow: str  # Arrow's name for the type of the values
    native: str | None = None  # the library's own name, where Arrow's is ambiguous
    levels: tuple[Any, ...] | None = None  # of a categorical column, used or not; empty if the type fixes none
    ordered: bool = False

    @property
    def arrow_type(self) -> Any:
        """The Arrow type of the values."""
        import pyarrow as pa

        if zoned := re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", self.arrow):
            return pa.timestamp(zoned[1], zoned[2])
        if decimal := re.fullmatch(r"decimal(\d+)\((\d+), (-?\d+)\)", self.arrow):
            return getattr(pa, f"decimal{decimal[1]}")(int(decimal[2]), int(decimal[3]))
        return pa.type_for_alias(self.arrow)

    @property
    def family(self) -> Family | None:
        """The kind of values, or None for values that cannot be compared, such as lists."""
        try:
            return _family_of(self.arrow_type)
        except ValueError:  # a nested type
            return None

    @property
    def is_whole(self) -> bool:
        """Whether the values are integers, days or microseconds, with nothing in between."""
        import pyarrow as pa

        return pa.types.is_integer(self.arrow_type) or self.is_time

    @property
    def is_time(self) -> bool:
        """Whether the values are points in time."""
        return self.family in ("dates", "times", "times with a zone")

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        levels = None if self.levels is None else [to_json_value(level) for level in self.levels]
        return {"arrow": self.arrow, "native": self.native, "levels": levels, "ordered": self.ordered}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Dtype:
        """Undo :meth:`to_dict`."""
        levels = data["levels"]
        return cls(**data | {"levels": None if levels is None else tuple(map(from_json_value, levels))})


def _family_of(arrow_type: Any) -> Family | None:
    """Return the family of an Arrow type; values of two families are never equal."""
    from pyarrow import types

    if str(arrow_type) in ("string", "large_string", "string_view"):
        return "text"
    if types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_decimal(arrow_type):
        return "numbers"
    if types.is_boolean(arrow_type):
        return "booleans"
    if types.is_date(arrow_type):
        return "dates"
    if types.is_timestamp(arrow_type):  # local clock time, and an absolute moment
        return "times" if arrow_type.tz is None else "times with a zone"
    return "nothing" if types.is_null(arrow_type) else None


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column of a frame, read as distinct values or as numbers."""

    name: str
    array: Any  # a pyarrow.Array; null is the only missing value
    dtype: Dtype

    @property
    def is_empty(self) -> bool:
        """Whether every value is missing; the type is then a reader's guess."""
        return bool(self.array.null_count == len(self.array))

    def refuse_incomparable(self) -> Column:
        """Return the column itself, or raise if its values cannot be compared."""
        if self.dtype.family is None:
            raise SchemaError(
                f"Column '{self.name}' holds {self.dtype.arrow} values, which cannot be compared. "
                "Convert it, for example to text, or put it in ignored."
            )
        return self

    def distinct(self) -> tuple[list[Any], NDArray[np.int32]]:
        """Return the distinct values and the position of each row's value among them; None is missing."""
        if self.is_empty:  # the dictionary may hold a missing value too
            return [None][: len(self.array)], np.zeros(len(self.array), np.int32)
        array = _in_known_units(self)
        is_dictionary = hasattr(array, "dictionary")
        encoded = array if is_dictionary else array.dictionary_encode()
        values = [plain_value(value) for value in _as_known_floats(encoded.dictionary).to_pylist()]
        indices = encoded.indices
        if indices.null_count:
            values.append(None)
            indices = (
                indices.fill_null(len(values) - 1)
                if _fits(indices.type, len(values))
                else _widened(indices, len(values) - 1)
            )
        rows = as_numpy(indices).astype(np.int32, copy=False)
        if is_dictionary:  # the type may list categories that no row has
            used = np.bincount(rows, minlength=len(values)) > 0
            values = [value for value, is_used in zip(values, used, strict=True) if is_used]
            rows = (np.cumsum(used, dtype=np.int32) - 1)[rows]
        infinite = [code for code, value in enumerate(values) if isinstance(value, float) and np.isinf(value)]
        if infinite:
            self._refuse_infinite(int(np.count_nonzero(np.isin(rows, infinite))))
        return values, rows

    def numbers(self, role: str) -> NDArray[np.float64]:
        """Return the values as float64, missing as NaN; times as days or microseconds since 1970."""
        import pyarrow as pa

        if self.is_empty:
            return np.full(len(self.array), np.nan)
        array = _in_known_units(self)
        if hasattr(array, "dictionary"):
            array = array.dictionary_decode()
        if self.dtype.family in ("text", "booleans"):
            values, _ = self.distinct()
            raise SchemaError(
                f"{role.capitalize()} column '{self.name}' holds {self.dtype.family}, such as "
                f"{show_values(values[:2])}. Convert it to numbers, or make it discrete."
            )
        if self.dtype.is_time:
            array = array.cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
        try:
            floats = array.cast(pa.float64())
        except pa.ArrowInvalid:
            raise SchemaError(
                f"{role.capitalize()} column '{self.name}' holds integers beyond 2**53, which float64 cannot "
                "represent exactly. Make it discrete, or put it in ignored."
            ) from None
        if floats.null_count:
            floats = floats.fill_null(float("nan"))
        numbers: NDArray[np.float64] = as_numpy(floats)
        self._refuse_infinite(int(np.count_nonzero(np.isinf(numbers))))
        return numbers

    def present(self) -> NDArray[Any]:
        """Return the numbers that are not missing, integers without loss."""
        if self.dtype.is_whole and self.dtype.family == "numbers":
            return as_numpy(self.array.drop_null())
        numbers = self.numbers("continuous")
        return numbers[~np.isnan(numbers)]

    def _refuse_infinite(self, n_infinite: int) -> None:
        if n_infinite:
            raise SchemaError(
                f"Column '{self.name}' has {count_of(n_infinite, 'infinite value')}. "
                "Replace them by finite or missing values."
            )


def value_type(array: Any) -> Any:
    """Return the type of an array's values, dictionary-encoded or not."""
    return array.type.value_type if hasattr(array, "dictionary") else array.type


def as_numpy(array: Any) -> NDArray[Any]:
    """Return the numbers of an Arrow array without nulls; its own ``to_numpy`` takes half a second to import pandas."""
    return np.from_dlpack(array)


def as_arrow(rows: Any) -> Any:
    """Return row numbers as an Arrow array, without pandas as well."""
    import pyarrow as pa

    numbers = np.ascontiguousarray(rows, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def _in_known_units(column: Column) -> Any:
    """Convert dates to days and times to microseconds (Python's resolution), so that equal ones are equal."""
    import pyarrow as pa

    array, wanted = column.array, value_type(column.array)
    if pa.types.is_date64(wanted):
        wanted = pa.date32()
    elif pa.types.is_timestamp(wanted):
        wanted = pa.timestamp("us", wanted.tz)
    else:
        return array
    if hasattr(array, "dictionary"):
        array = array.dictionary_decode()
    try:
        return array.cast(wanted)
    except pa.ArrowInvalid:
        raise SchemaError(
            f"Column '{column.name}' has times finer than a microsecond. Round them, or put the column in ignored."
        ) from None


def _as_known_floats(array: Any) -> Any:
    import pyarrow as pa

    return array.cast(pa.float32()) if pa.types.is_float16(array.type) else array


def _fits(index_type: Any, n_values: int) -> bool:
    return n_values <= np.iinfo(index_type.to_pandas_dtype()).max


def _widened(indices: Any, missing: int) -> Any:
    import pyarrow as pa

    return indices.cast(pa.int64()).fill_null(missing)


def array_of_values(values: tuple[Any, ...], codes: NDArray[np.integer[Any]], dtype: Dtype) -> Any:
    """Return an Arrow array of coded values; negative codes are missing."""
    import pyarrow as pa

    try:
        levels = pa.array(values, type=dtype.arrow_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # unseen values need not fit the training type
        levels = pa.array(values)
    indices = pa.array(codes, mask=codes < 0)
    if levels.type == pa.string_view():  # pyarrow cannot take rows of it
        return levels.cast(pa.large_string()).take(indices).cast(levels.type)
    return levels.take(indices)


def array_of_numbers(numbers: NDArray[np.float64], dtype: Dtype) -> Any:
    """Return an Arrow array of numbers, rounded where the type is whole; NaN is missing."""
    import pyarrow as pa

    missing = np.isnan(numbers)
    wanted = dtype.arrow_type
    if not dtype.is_whole:
        array = pa.array(numbers, mask=missing)
    else:
        array = pa.array(np.rint(np.where(missing, 0.0, numbers)).astype(np.int64), mask=missing)
        if pa.types.is_date(wanted):
            array = array.cast(pa.int32()).cast(pa.date32())
        elif pa.types.is_timestamp(wanted):
            array = array.cast(pa.timestamp("us", wanted.tz))
    try:
        return array.cast(wanted)
    except pa.ArrowException:  # a value outside the training range may not fit a narrow type
        return array
