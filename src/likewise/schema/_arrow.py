"""Columns as Arrow arrays: their types, distinct values and numbers; plain values, their order and JSON form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, Final, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise._checks import parameter
from likewise._codes import number_close, number_codes
from likewise._format import count_of
from likewise.exceptions import SchemaError

# pyarrow is imported inside the functions: `import likewise` stays light

SHOWN_VALUES: Final = 5  # how many values of a long list a message shows

T = TypeVar("T")
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
        return _family_named(self.arrow)

    @property
    def is_whole(self) -> bool:
        """Whether the values are integers, days or microseconds, with nothing in between."""
        import pyarrow as pa

        return pa.types.is_integer(self.arrow_type) or self.is_time

    @property
    def is_time(self) -> bool:
        """Whether the values are points in time."""
        return self.family in ("dates", "times", "times with a zone")


@cache
def _family_named(arrow: str) -> Family | None:
    try:
        return _family_of(Dtype(arrow).arrow_type)
    except ValueError:  # a nested type
        return None


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


@dataclass(frozen=True, eq=False)
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
                f"Convert it, for example to text, or put it in {parameter('ignored')}."
            )
        return self

    def distinct(self) -> tuple[list[Any], NDArray[np.int32]]:
        """Return the distinct values and the position of each row's value among them; None is missing."""
        known = self.__dict__.get("_distinct")  # a cached property of Python 3.11 has one lock for all columns
        if known is None:
            known = self.__dict__["_distinct"] = self._find_distinct()
        return known

    def _find_distinct(self) -> tuple[list[Any], NDArray[np.int32]]:
        import pyarrow as pa

        if self.is_empty:  # the dictionary may hold a missing value too
            return [None][: len(self.array)], np.zeros(len(self.array), np.int32)
        array = _in_known_units(self)
        is_dictionary = hasattr(array, "dictionary")
        close = number_close(as_numpy(array)) if pa.types.is_integer(array.type) and not array.null_count else None
        if close is not None:
            return close[0].tolist(), close[1]
        encoded = array if is_dictionary else array.dictionary_encode()
        levels = encoded.dictionary
        if pa.types.is_float16(levels.type):
            levels = levels.cast(pa.float32())
        values = levels.to_pylist()
        if self.dtype.family != "text":  # which is plain
            values = [plain_value(value) for value in values]
        indices = encoded.indices
        if indices.null_count:
            values.append(None)
            if len(values) > np.iinfo(indices.type.to_pandas_dtype()).max:
                indices = indices.cast(pa.int64())
            indices = indices.fill_null(len(values) - 1)
        rows = as_numpy(indices).astype(np.int32, copy=False)
        if is_dictionary:  # the type may list categories that no row has
            used, places = number_codes(rows)
            values, rows = [values[code] for code in used.tolist()], places.astype(np.int32)
        infinite = [code for code, value in enumerate(values) if isinstance(value, float) and np.isinf(value)]
        if infinite:
            self._refuse_infinite(int(np.count_nonzero(np.isin(rows, infinite))))
        return values, rows

    def numbers(self, role: str) -> NDArray[np.float64]:
        """Return the values as float64, missing as NaN; times as days or microseconds since 1970."""
        return self._known_numbers(role)[0]

    def ends(self, role: str) -> tuple[float, float]:
        """Return the least and the greatest of the numbers; NaN where one is missing."""
        return self._known_numbers(role)[1]

    def _known_numbers(self, role: str) -> tuple[NDArray[np.float64], tuple[float, float]]:
        known = self.__dict__.get("_numbers")
        if known is None:
            known = self.__dict__["_numbers"] = self._find_numbers(role)
        return known

    def _find_numbers(self, role: str) -> tuple[NDArray[np.float64], tuple[float, float]]:
        import pyarrow as pa

        if self.is_empty:
            return np.full(len(self.array), np.nan), (math.nan, math.nan)
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
                f"represent exactly. Make it discrete, or put it in {parameter('ignored')}."
            ) from None
        if floats.null_count:
            floats = floats.fill_null(float("nan"))
        numbers: NDArray[np.float64] = as_numpy(floats)
        ends = (float(numbers.min()), float(numbers.max())) if len(numbers) else (math.nan, math.nan)
        if not all(map(math.isfinite, ends)):
            self._refuse_infinite(int(np.count_nonzero(np.isinf(numbers))))
        return numbers, ends

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


def number_values(numbers: list[int], rows: NDArray[np.int32], codes: NDArray[np.int32]) -> None:
    """Write the number of each row's value."""
    if numbers == list(range(len(numbers))):
        codes[:] = rows
    else:
        codes[:] = np.array(numbers, np.int32)[rows]


def as_numpy(array: Any) -> NDArray[Any]:
    """Return the numbers of an Arrow array without nulls; its own ``to_numpy`` takes half a second to import pandas."""
    return np.from_dlpack(array)


def as_arrow(rows: Any) -> Any:
    """Return row numbers as an Arrow array, without pandas as well."""
    import pyarrow as pa

    numbers = np.ascontiguousarray(rows, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def array_of(values: Sequence[Any], arrow_type: Any = None) -> Any:
    """Return plain values as ``pyarrow.array`` does, but numbers, truth values and texts without pandas as well."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    known_as = {float: pa.float64(), int: pa.int64(), bool: pa.bool_(), str: pa.string()}
    kind: type = kinds.pop() if len(kinds) == 1 else object
    found = known_as.get(kind)
    if found is None or arrow_type not in (None, found):
        return pa.array(values, arrow_type)
    filled = [kind() if value is None else value for value in values]
    try:
        parts = _buffers_of(filled, kind)
    except OverflowError:  # more than 64 bits
        return pa.array(values, arrow_type)
    known = np.packbits([value is not None for value in values], bitorder="little")
    return pa.Array.from_buffers(found, len(values), [pa.py_buffer(part) for part in (known, *parts)])


def _buffers_of(values: list[Any], kind: type) -> list[Any]:
    if kind is str:
        texts = [value.encode() for value in values]
        return [np.cumsum([0, *map(len, texts)]).astype(np.int32), b"".join(texts)]
    return [np.packbits(values, bitorder="little") if kind is bool else np.array(values, kind)]


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
            f"Column '{column.name}' has times finer than a microsecond. Round them, or put the column in "
            f"{parameter('ignored')}."
        ) from None


def refuse_unknown_zone(name: str, array: Any) -> None:
    """Refuse times whose zone Python does not know; Parquet files may name any."""
    import pyarrow as pa

    zone = getattr(value_type(array), "tz", None)
    try:
        _ = None if zone is None else pa.lib.string_to_tzinfo(zone)
    except (pa.ArrowException, LookupError, ValueError):
        raise SchemaError(
            f"Column '{name}' has times in the zone '{zone}', which Python does not know. Convert them to 'UTC', to a "
            f"zone such as 'Europe/Rome' or '+05:30', or put the column in {parameter('ignored')}."
        ) from None


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


def plain_value(value: Any) -> Any:
    """Normalise a value: no NumPy scalars, one missing value (None), times in UTC."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return value


def sort_values(values: Iterable[Any]) -> tuple[Any, ...]:
    """Sort distinct values, the missing one last."""
    values = set(values)
    present = values - {None}
    try:
        ordered = sorted(present)
    except TypeError:  # date and datetime, say, do not compare
        ordered = sorted(present, key=lambda value: (type(value).__name__, repr(value)))
    return (*ordered, None) if None in values else tuple(ordered)


def show_values(values: Sequence[Any]) -> str:
    """List the first few values in a message, and how many more there are."""
    shown = ", ".join("missing" if value is None else repr(value) for value in values[:SHOWN_VALUES])
    more = len(values) - SHOWN_VALUES
    return f"{shown} and {more:,} more" if more > 0 else shown


def to_json_value(value: Any) -> Any:
    """Return the JSON form of a value; types that JSON lacks are tagged."""
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise SchemaError(
        f"{value!r} is a {type(value).__name__}; a category must be text, number, boolean, date, or missing (None)."
    )


def from_json_value(data: Any) -> Any:
    """Undo :func:`to_json_value`."""
    if not isinstance(data, dict):
        return data
    ((tag, text),) = data.items()
    read: dict[str, Callable[[str], Any]] = {
        "datetime": datetime.fromisoformat,
        "date": date.fromisoformat,
        "decimal": Decimal,
    }
    return read[tag](text)


def fields_to_json(learned: Any) -> dict[str, Any]:
    """Return the fields of a dataclass of plain values, and tuples of them, as JSON-ready data."""
    found = {one.name: getattr(learned, one.name) for one in fields(learned)}
    return {name: list(map(to_json_value, one)) if isinstance(one, tuple) else one for name, one in found.items()}


def fields_from_json(cls: type[T], data: Mapping[str, Any]) -> T:
    """Undo :func:`fields_to_json`."""
    return cls(**{n: tuple(map(from_json_value, one)) if isinstance(one, list) else one for n, one in data.items()})
