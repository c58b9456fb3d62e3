"""Putting made rows into frames of the user's own library, columns and types."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from likewise.exceptions import SchemaError
from likewise.schema._arrow import Dtype
from likewise.schema._coding import Intervals
from likewise.schema._frames import Frame, build_frame, open_frame
from likewise.schema._schema import Schema
from likewise.schema._table import CodedTable


@dataclass(frozen=True, slots=True, eq=False)
class BinValues:
    """Keep the numbers that occurred in each group of a binned column: a made row needs one of them.

    Parameters
    ----------
    by_column : mapping of column name to arrays, one for each group

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise import Roles
    >>> from likewise.schema._internal import BinValues
    >>> people = pa.table({"age": [20, 30, 60]})
    >>> schema = Roles(sensitive="age", bins={"age": (40,)}).learn(people)
    >>> [values.tolist() for values in BinValues.learn(people, schema).by_column["age"]]
    [[20.0, 30.0], [60.0]]
    """

    by_column: Mapping[str, tuple[NDArray[np.float64], ...]]

    @classmethod
    def learn(cls, frame: Any, schema: Schema) -> BinValues:
        """Collect the numbers of each group."""
        opened = open_frame(frame)
        found: dict[str, tuple[NDArray[np.float64], ...]] = {}
        for column in schema.columns:
            if isinstance(column.codec, Intervals):
                numbers = opened.column(column.name).numbers("sensitive")
                codes, values = column.codec.encode(opened.column(column.name), "keep")
                present = ~np.isnan(numbers)
                found[column.name] = tuple(np.unique(numbers[present & (codes == code)]) for code in range(len(values)))
        return cls(found)

    def put_into(
        self, made: Any, table: CodedTable, random: np.random.Generator | Mapping[str, NDArray[np.float64]]
    ) -> Any:
        """Replace the words for a group by a number of that group, drawn for each row; none in a group without any.

        ``made`` is what the schema decodes ``table`` to, as a pyarrow table. In place of a generator, ``random`` may
        hold what was drawn for each row already, from 0 to 1, for each column.
        """
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
    """Take rows of a frame, and put made values in place of theirs; all other cells stay as they are.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table
    rows : array of int
        Which rows, one for each row of ``made``.
    made : pyarrow table
        The columns to put in place.
    changed : mapping of column name to array of bool, optional
        In which rows a column is replaced; in all rows of all columns that were made, if not given. A column that is
        not named stays.

    Returns
    -------
    frame
        Of the kind, columns and order of ``frame``, and of its types, where these can hold what was made.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from likewise.schema._internal import overwrite_columns
    >>> people = pa.table({"id": [7, 8], "sex": ["f", "m"]})
    >>> overwrite_columns(people, np.array([1, 1]), pa.table({"sex": ["f", "f"]})).to_pydict()
    {'id': [8, 8], 'sex': ['f', 'f']}
    """
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
        needed = pc.if_else(pa.array(where), _plain_values(made.column(name).combine_chunks()), None)
        new, own = _in_one_type(needed, _take(_plain_values(column.array), rows))
        values = pc.if_else(pa.array(where), new, own)
        merged[name] = values.cast("string_view") if column.dtype.arrow == "string_view" else values, column.dtype
    taken = nw.maybe_reset_index(_rows_of(opened, rows))
    if not merged:
        return taken.to_native()
    built = nw.from_native(build_frame(opened.kind, merged, opened.kind), eager_only=True)
    return taken.with_columns(*(built[name] for name in merged)).select(opened.names).to_native()


def stack_frames(one: Any, other: Any) -> Any:
    """Put a frame below another of the same columns; rows are numbered anew.

    Parameters
    ----------
    one, other : frames of one kind
        A column that has two types in them gets one that holds the values of both.

    Returns
    -------
    frame

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise.schema._internal import stack_frames
    >>> stack_frames(pa.table({"a": [1]}), pa.table({"a": [2]})).to_pydict()
    {'a': [1, 2]}
    """
    import pyarrow as pa

    upper, lower = open_frame(one), open_frame(other)
    if upper.kind != lower.kind or sorted(upper.names) != sorted(lower.names):
        raise SchemaError(
            f"A {upper.kind} frame with the columns {upper.names} does not go above a {lower.kind} frame with the "
            f"columns {lower.names}. Give two frames of one kind with the same columns."
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
    """Give the values of an Arrow array one by one, in a type of which rows can be taken."""
    if hasattr(array, "dictionary"):
        array = array.dictionary_decode()
    return array.cast("large_string") if str(array.type) == "string_view" else array


def _in_one_type(new: Any, own: Any) -> tuple[Any, Any]:
    """Give two Arrow arrays the type of the second, or of the first, if the second's cannot hold what is in it."""
    import pyarrow as pa

    new = _plain_values(new)
    if new.type == own.type:
        return new, own
    try:
        cast = new.cast(own.type)
        if cast.cast(new.type).equals(new):  # 2 is no truth value, and most fractions need more digits than a float has
            return cast, own
    except pa.ArrowException:
        pass
    return new, own.cast(new.type)


def _take(array: Any, rows: NDArray[np.int64]) -> Any:
    import pyarrow as pa

    return array.take(pa.array(rows))


def take_rows(frame: Any, rows: NDArray[np.int64]) -> Any:
    """Take rows of a frame by position; they are numbered anew.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table
    rows : array of int

    Returns
    -------
    frame

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from likewise.schema._internal import take_rows
    >>> take_rows(pa.table({"age": [31, 45, 28]}), np.array([2, 0])).to_pydict()
    {'age': [28, 31]}
    """
    return nw.maybe_reset_index(_rows_of(open_frame(frame), np.asarray(rows, np.int64))).to_native()


def _rows_of(opened: Frame, rows: NDArray[np.int64]) -> nw.DataFrame[Any]:
    if opened.kind != "pyarrow":
        return opened.data[rows]
    table = opened.data.to_native()
    views = [field.name for field in table.schema if str(field.type) == "string_view"]  # of these no rows can be taken
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
    """Keep the levels of both; of other types, that of the frame below, which is the wider one if they differ."""
    if above.levels is None or below.levels is None:
        return below
    return replace(above, levels=tuple(dict.fromkeys((*above.levels, *below.levels))))


def write_parquet(frame: Any, path: str | Path, beside: Mapping[str, NDArray[Any]]) -> None:
    """Write a frame with further columns; a name that is taken gets an underscore, and the file appears when whole.

    Parameters
    ----------
    frame : pandas, polars or pyarrow table
    path : str or Path
    beside : mapping of column name to array

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> import pyarrow.parquet
    >>> from likewise.schema._internal import write_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(pa.table({"a": [1]}), f"{folder}/a.parquet", {"a": np.array([2])})
    ...     pyarrow.parquet.read_table(f"{folder}/a.parquet").to_pydict()
    {'a': [1], 'a_': [2]}
    """
    import pyarrow as pa
    import pyarrow.parquet

    target = Path(path)
    try:
        table = open_frame(frame).data.to_arrow()
    except (pa.ArrowException, TypeError) as error:
        found = ", ".join(map(str, error.args))
        raise SchemaError(f"'{target.name}' cannot hold these columns: {found}. Leave such columns out.") from None
    for name, values in beside.items():
        while name in table.column_names:
            name += "_"
        table = table.append_column(name, pa.array(values))
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        pyarrow.parquet.write_table(table, part)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
