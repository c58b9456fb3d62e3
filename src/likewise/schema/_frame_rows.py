"""Rows of frames in the user's own library: take, overwrite, concatenate, write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from likewise._format import count_of
from likewise.exceptions import ParameterError, SchemaError
from likewise.schema._arrow import Dtype
from likewise.schema._codecs import Intervals
from likewise.schema._frames import Frame, build_frame, is_frame, open_frame
from likewise.schema._schema import Schema
from likewise.schema._table import KINDS, CodedTable

MOST_MADE_UP: Final = 1_000  # rows
MOST_COLUMNS: Final = 1_000_000


def made_up_rows(schema: Schema, n_rows: int) -> CodedTable:
    """Return rows with the values that a schema knows, one after the other: to rehearse what a saved folder is for."""
    columns: dict[str, Any] = {}
    for kind in KINDS:
        names = schema.roles.names(kind)
        n_values = [1 if kind == "continuous" else len(schema.categories[name]) for name in names]
        codes = np.arange(n_rows)[:, None] % np.array(n_values, np.int64).reshape(1, -1)
        columns[kind] = np.tile(np.linspace(0, 1, n_rows)[:, None], len(names)) if kind == "continuous" else codes
    names_of = {kind: schema.roles.names(kind) for kind in KINDS}
    return CodedTable(**columns, names=names_of, categories=schema.categories, labels=np.zeros(n_rows, np.int32))


@dataclass(frozen=True, slots=True, eq=False)
class BinValues:
    """The numbers found in each interval of every binned column, from which generated rows draw theirs."""

    by_column: Mapping[str, tuple[NDArray[np.float64], ...]]

    @classmethod
    def learn(cls, frame: Any, schema: Schema) -> BinValues:
        """Collect the numbers of each interval."""
        opened = open_frame(frame)
        found: dict[str, tuple[NDArray[np.float64], ...]] = {}
        for column in schema.columns:
            if isinstance(column.codec, Intervals):
                numbers = opened.column(column.name).numbers("sensitive")
                codes = np.empty(len(numbers), np.int32)
                values = column.codec.encode(opened.column(column.name), "keep", codes)
                present = ~np.isnan(numbers)
                found[column.name] = tuple(np.unique(numbers[present & (codes == code)]) for code in range(len(values)))
        return cls(found)

    def put_into(
        self, made: Any, table: CodedTable, random: np.random.Generator | Mapping[str, NDArray[np.float64]]
    ) -> Any:
        """Replace intervals by numbers: drawn from a generator, or from uniform draws per column and row."""
        import pyarrow as pa

        for name, groups in self.by_column.items():
            codes = table.sensitive[:, table.names["sensitive"].index(name)]
            numbers = np.full(len(codes), np.nan)
            for code, values in enumerate(groups):
                rows = np.flatnonzero(codes == code)
                if not len(values):
                    continue
                if isinstance(random, np.random.Generator):
                    numbers[rows] = random.choice(values, len(rows))
                else:
                    numbers[rows] = values[(random[name][rows] * len(values)).astype(np.intp)]
            position = made.column_names.index(name)
            made = made.set_column(position, name, pa.array(numbers, from_pandas=True))
        return made


def overwrite_columns(
    frame: Any, rows: NDArray[np.int64], made: Any, changed: Mapping[str, NDArray[np.bool_]] | None = None
) -> Any:
    """Take rows of a frame and put generated values in place, where ``changed``; other cells stay."""
    import pyarrow as pa
    import pyarrow.compute as pc

    opened = open_frame(frame)
    rows = np.asarray(rows, np.int64)
    whole = np.ones(len(rows), np.bool_)
    merged = {}
    for name in made.column_names:
        where = whole if changed is None else changed.get(name)
        if name not in opened.names or where is None or not where.any():
            continue
        column = opened.column(name)
        new, own = _plain_values(made.column(name).combine_chunks()), _take(_plain_values(column.array), rows)
        if new.type != own.type:
            new, own = _in_one_type(pc.if_else(pa.array(where), new, None), own)
        values = pc.if_else(pa.array(where), new, own)
        merged[name] = values.cast("string_view") if column.dtype.arrow == "string_view" else values, column.dtype
    built = nw.from_native(build_frame(opened.kind, merged, opened.kind), eager_only=True) if merged else None
    rest = [name for name in opened.names if name not in merged]
    if built is None or rest:
        taken = nw.maybe_reset_index(_rows_of(Frame(opened.kind, opened.data.select(rest)), rows))
        built = taken if built is None else taken.with_columns(*(built[name] for name in merged))
    return built.select(opened.names).to_native()


def join_columns(frame: Any, beside: Any) -> Any:
    """Return a frame with the columns that users keep outside it, ``sensitive_features``, matched by position."""
    opened, other = open_frame(frame), as_frame(beside)
    if len(other) != len(opened):
        raise ParameterError(
            f"has {count_of(len(other), 'row')}, and X has {count_of(len(opened), 'row')}. Pass one row for each of X.",
            "sensitive_features",
        )
    both = [name for name in other.names if name in opened.names]
    if both:
        raise ParameterError(
            f"has the column '{both[0]}', which X has as well. Leave it in one of them.", "sensitive_features"
        )
    indexes = [nw.maybe_get_index(one.data) for one in (opened, other)]
    if all(index is not None for index in indexes) and _is_reordered(*indexes):
        raise ParameterError(
            "has the index of X in another order, and rows are matched by position. Sort one like the other, or call "
            "reset_index(drop=True) on both where the order is right.",
            "sensitive_features",
        )
    columns = {name: (column.array, column.dtype) for name in other.names for column in [other.column(name)]}
    built = nw.from_native(build_frame(opened.kind, columns, other.kind), eager_only=True)
    plain = nw.maybe_reset_index(opened.data)
    return plain.with_columns(*(built[name] for name in other.names)).to_native()


def named_beside(beside: Any) -> Any:
    """Return columns kept outside a frame; those of arrays, and of a series without a name, are given names."""
    series = nw.from_native(beside, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return beside if isinstance(series.name, str) and series.name else series.rename("sensitive").to_native()
    if is_frame(beside) or isinstance(beside, str) or np.ndim(beside) not in (1, 2):
        return beside
    columns = np.asarray(beside).reshape(len(beside), -1).T
    names = ["sensitive"] if len(columns) == 1 else [f"sensitive_{place}" for place in range(len(columns))]
    import pyarrow as pa

    return pa.table(dict(zip(names, map(pa.array, columns.tolist()), strict=True)))


def as_frame(beside: Any) -> Frame:
    """Open a frame, or a series with a name as a frame of one column."""
    series = nw.from_native(beside, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        if not isinstance(series.name, str) or not series.name:
            raise ParameterError(
                "is a series without a name. Name it as the roles do, or pass a table.", "sensitive_features"
            )
        return open_frame(series.to_frame().to_native())
    try:
        return open_frame(beside)
    except TypeError:
        raise ParameterError(
            f"is a {type(beside).__name__}, whose columns have no names. Pass a pandas, polars or pyarrow table, or a "
            "series with a name.",
            "sensitive_features",
        ) from None


def _is_reordered(one: Any, other: Any) -> bool:
    """Whether two indexes have the same entries in another order."""
    return not one.equals(other) and bool(one.is_unique) and set(one) == set(other)


def stack_frames(one: Any, other: Any) -> Any:
    """Concatenate two frames with the same columns; differing types widen, and rows are renumbered."""
    import pyarrow as pa

    upper, lower = open_frame(one), open_frame(other)
    if upper.kind != lower.kind or sorted(upper.names) != sorted(lower.names):
        raise SchemaError(
            f"A {upper.kind} frame with the columns {upper.names} cannot be concatenated with a {lower.kind} "
            f"frame with the columns {lower.names}. Use two frames of one kind with the same columns."
        )
    unlike = {}
    for name in upper.names:
        if _native_type(upper, name) == _native_type(lower, name):
            continue
        above, below = upper.column(name), lower.column(name)
        values = _in_one_type(above.array, _plain_values(below.array))
        unlike[name] = pa.concat_arrays(list(values)), _joined(above.dtype, below.dtype)
    alike = [name for name in upper.names if name not in unlike]
    parts = [nw.maybe_reset_index(frame.data.select(alike)) for frame in (upper, lower)]
    stacked = nw.maybe_reset_index(nw.concat(parts, how="vertical")) if alike else None
    if unlike:
        built = nw.from_native(build_frame(upper.kind, unlike, upper.kind), eager_only=True)
        stacked = built if stacked is None else stacked.with_columns(*(built[name] for name in unlike))
    return upper.data.to_native() if stacked is None else stacked.select(upper.names).to_native()


def _plain_values(array: Any) -> Any:
    """Decode a dictionary, and make a type of which pyarrow can take rows."""
    if hasattr(array, "dictionary"):
        array = array.dictionary_decode()
    return array.cast("large_string") if str(array.type) == "string_view" else array


def _in_one_type(new: Any, own: Any) -> tuple[Any, Any]:
    """Cast the first array to the type of the second, or the second to the first where that loses values."""
    import pyarrow as pa

    new = _plain_values(new)
    if new.type == own.type:
        return new, own
    try:
        cast = new.cast(own.type)
        if cast.cast(new.type).equals(new):  # 2 is not a boolean, and most fractions need more digits than float32 has
            return cast, own
    except pa.ArrowException:
        pass
    return new, own.cast(new.type)


def _take(array: Any, rows: NDArray[np.int64]) -> Any:
    import pyarrow as pa

    return array.take(pa.array(rows))


def take_rows(frame: Any, rows: NDArray[np.int64]) -> Any:
    """Take rows of a frame by position; the result is renumbered from 0."""
    return nw.maybe_reset_index(_rows_of(open_frame(frame), np.asarray(rows, np.int64))).to_native()


def mix_rows(frame: Any, rows: NDArray[np.int64], other: Mapping[str, NDArray[np.int64]]) -> Any:
    """Take rows of a frame by position, in some columns the values of other rows; the result is renumbered from 0."""
    opened = open_frame(frame)
    mixed = nw.maybe_reset_index(_rows_of(opened, np.asarray(rows, np.int64)))
    for name, chosen in other.items():
        column = Frame(opened.kind, opened.data.select(name))
        mixed = mixed.with_columns(nw.maybe_reset_index(_rows_of(column, np.asarray(chosen, np.int64)))[name])
    return mixed.to_native()


def _rows_of(opened: Frame, rows: NDArray[np.int64]) -> nw.DataFrame[Any]:
    if opened.kind != "pyarrow":
        return opened.data[rows]
    table = opened.data.to_native()
    views = [field.name for field in table.schema if str(field.type) == "string_view"]  # pyarrow cannot take their rows
    for name in views:
        table = table.set_column(table.column_names.index(name), name, table.column(name).cast("large_string"))
    taken = table.take(rows)
    for name in views:
        taken = taken.set_column(taken.column_names.index(name), name, taken.column(name).cast("string_view"))
    return nw.from_native(taken, eager_only=True)


def _native_type(opened: Frame, name: str) -> Any:
    series = opened.data[name].to_native()
    return series.type if opened.kind == "pyarrow" else series.dtype


def _joined(above: Dtype, below: Dtype) -> Dtype:
    """Return one type for both columns: with the levels of both, else that of the frame below."""
    if above.levels is None or below.levels is None:
        return below
    return replace(above, levels=tuple(dict.fromkeys((*above.levels, *below.levels))))


def shield(frame: Any) -> Any:
    """Return a frame that may be changed without changing this one; all values are shared where libraries allow it."""
    if hasattr(frame, "clone"):  # polars
        return frame.clone()
    if not hasattr(frame, "iloc"):  # Arrow tables never change
        return frame.copy() if isinstance(frame, np.ndarray) else frame
    import pandas as pd

    copies_on_write = pd.Series([0]).copy(deep=False).to_numpy().flags.writeable is False
    return frame.copy(deep=not copies_on_write)
