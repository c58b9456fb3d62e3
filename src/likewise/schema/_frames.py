"""What users pass: frames of any library as Arrow columns, arrays, labels, weights, row ids; and frames out again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal, cast

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise._checks import check_choice, parameter, suggest
from likewise._extras import require
from likewise._format import count_of
from likewise.exceptions import ParameterError, SchemaError
from likewise.schema._arrow import (
    Column,
    Dtype,
    as_arrow,
    as_numpy,
    number_values,
    plain_value,
    refuse_unknown_zone,
    show_values,
    sort_values,
    value_type,
)
from likewise.schema._roles import ColumnRoles

FrameKind = Literal["pandas", "polars", "pyarrow"]
FRAME_KINDS: Final = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame of any library as named columns; a column is copied only when read."""

    kind: FrameKind
    data: nw.DataFrame[Any]
    kept: dict[str, Column] | None = None  # columns that were read, for those who read them again

    @cached_property
    def names(self) -> list[str]:
        """The column names, in order."""
        return self.data.columns

    def __len__(self) -> int:
        return len(self.data)

    def column(self, name: str) -> Column:
        """Read one column of any type."""
        if self.kept is None:
            return _read(name, self.data.get_column(name))
        if name not in self.kept:
            self.kept[name] = _read(name, self.data.get_column(name))
        return self.kept[name]

    def keeping(self) -> Frame:
        """Return the same frame, which reads a column only once."""
        return replace(self, kept={})

    def values(self, name: str) -> NDArray[Any]:
        """Return one column as an array, of the type that its library makes of it."""
        series = self.data[name]
        if self.kind == "pyarrow" and series.null_count() == 0:
            array = _one_chunk(series)
            if series.dtype.is_integer() or series.dtype in (nw.Float32, nw.Float64):
                return as_numpy(array)
            if series.dtype == nw.String:
                return np.array(array.to_pylist(), dtype=object)
        return series.to_numpy()

    def cells(self, name: str, rows: Any) -> list[Any]:
        """Return single values as plain Python objects; a missing one is None."""
        return [plain_value(value) for value in self.taken(name, rows).to_pylist()]

    def taken(self, name: str, rows: Any) -> Any:
        """Return one column at some rows, as an Arrow array."""
        array = self.column(name).array
        if str(array.type) == "string_view":  # pyarrow cannot take rows of it
            array = array.cast("large_string")
        return array.take(as_arrow(rows))

    def select(self, names: list[str]) -> Any:
        """Return these columns, in this order, as a frame of the user's library."""
        return self.data.select(names).to_native()


def open_frame(frame: Any) -> Frame:
    """Wrap a pandas, polars or pyarrow table, unless it is; refuse anything without distinct text column names."""
    if isinstance(frame, Frame):
        return frame
    repeated = [name for name, n in Counter(_names_of(frame)).items() if n > 1]
    if repeated:
        raise SchemaError(
            f"The frame has several columns named {show_values(repeated)}. Give each column its own name."
        )
    try:
        data = nw.from_native(frame, eager_only=True)
    except (TypeError, ValueError):
        advice = "Collect it first" if _is_lazy(frame) else "Pass a pandas, polars or pyarrow table"
        raise TypeError(
            f"A {type(frame).__module__.split('.')[0]} {type(frame).__name__} is not a table in memory. {advice}."
        ) from None
    kind = data.implementation.name.lower()
    if kind not in FRAME_KINDS:
        raise TypeError(f"Frames of {kind} are not supported. Convert it to a pandas, polars or pyarrow table.")
    not_text = [name for name in data.columns if not isinstance(name, str)]
    if not_text:
        raise SchemaError(f"Column names must be text; found {show_values(not_text)}. Rename the columns.")
    if "" in data.columns:
        raise SchemaError("The frame has a column without a name. Name it, or drop it.")
    return Frame(cast(FrameKind, kind), data)


def _names_of(frame: Any) -> list[Any]:
    # look at the class: pandas exposes columns as attributes of the instance
    known = [name for name in ("column_names", "columns") if hasattr(type(frame), name)]
    return list(getattr(frame, known[0])) if known and not _is_lazy(frame) else []


def _is_lazy(frame: Any) -> bool:
    return hasattr(type(frame), "collect") or hasattr(type(frame), "execute")


def is_pandas_index(name: str) -> bool:
    """Whether a column is an index that pandas wrote along with the data."""
    return re.fullmatch(r"__index_level_\d+__", name) is not None


def open_labels(y: Any) -> Column:
    """Read labels from a list, an array or a series of any library."""
    import pyarrow as pa

    name = "y"
    try:
        if not isinstance(y, np.ndarray):
            return _read(name, nw.from_native(y, series_only=True)).refuse_incomparable()
    except (TypeError, ValueError) as error:
        if isinstance(error, SchemaError):
            raise
    if not hasattr(y, "__len__") or isinstance(y, str | bytes | Mapping | Set) or getattr(y, "ndim", 1) != 1:
        found = f"has shape {y.shape}" if hasattr(y, "shape") else f"is a {type(y).__name__}"
        raise SchemaError(f"y {found}. Pass one label per row: a list, a one-dimensional array or a series.")
    try:
        array = _tidied(y if isinstance(y, pa.Array) else pa.array(y, from_pandas=True))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise _mixed(name, list(y)) from None
    return Column(name, array, Dtype(str(value_type(array)))).refuse_incomparable()


def _read(name: str, series: nw.Series[Any]) -> Column:
    import pyarrow as pa

    try:
        array = _tidied(_one_chunk(series))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise _mixed(name, series.to_list()) from None
    refuse_unknown_zone(name, array)
    return Column(name, array, _dtype_of(series, array))


def _one_chunk(series: nw.Series[Any]) -> Any:
    import pyarrow as pa

    native = series.to_native()
    array = native if isinstance(native, pa.ChunkedArray) else series.to_arrow()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.unify_dictionaries().combine_chunks()
    return array


def _tidied(array: Any) -> Any:
    """Make null the only missing value: replace NaN, and drop nulls and repeats from a dictionary."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(array.type):
        if not array.null_count and len(array) and not np.isnan(as_numpy(array).min()):
            return array
        is_nan = pc.is_nan(array)
        return pc.if_else(is_nan, None, array) if pc.any(is_nan).as_py() else array
    if not hasattr(array, "dictionary") or isinstance(array.dictionary, pa.ExtensionArray):
        return array
    levels = _tidied(array.dictionary)
    kept = levels.drop_null().unique()
    if len(kept) == len(levels):
        return array
    indices = pc.index_in(levels, value_set=kept).take(array.indices).cast(array.type.index_type)
    return pa.DictionaryArray.from_arrays(indices, kept, ordered=array.type.ordered)


def _mixed(name: str, values: list[Any]) -> SchemaError:
    kinds = sorted({type(value).__name__ for value in map(plain_value, values) if value is not None})
    halves = [value for value in values if isinstance(value, str) and any("\ud800" <= one <= "\udfff" for one in value)]
    if halves:
        return SchemaError(
            f"Column '{name}' holds {show_values(halves)}, with half of a surrogate pair, which is no letter. Read the "
            "text again in its own encoding, or replace the letter."
        )
    found = (
        f"mixes {' and '.join(kinds)} values, which cannot be compared"
        if len(kinds) > 1
        else f"holds {kinds[0] if kinds else 'unknown'} values in a form that cannot be read"
    )
    return SchemaError(f"Column '{name}' {found}. Give the column one plain type, or put it in {parameter('ignored')}.")


def _dtype_of(series: nw.Series[Any], array: Any) -> Dtype:
    arrow = str(value_type(array))
    native = series.to_native().dtype if hasattr(series.to_native(), "dtype") else array.type
    is_dictionary = hasattr(array, "dictionary")
    levels = tuple(plain_value(value) for value in array.dictionary.to_pylist()) if is_dictionary else None
    ordered = bool(is_dictionary and array.type.ordered)
    if series.implementation.is_polars():
        fixed = isinstance(series.dtype, nw.Enum)
        return Dtype(arrow, "Enum" if fixed else None, levels if fixed or levels is None else ())
    if series.implementation.is_pyarrow():
        return Dtype(arrow, str(native.index_type) if is_dictionary else None, levels, ordered)
    if is_dictionary and hasattr(native, "categories"):
        return Dtype(arrow, f"category[{_pandas_name(native.categories.dtype)}]", levels, ordered)
    return Dtype(arrow, _pandas_name(native), None)


def _pandas_name(dtype: Any) -> str:
    """Name a pandas dtype so that pandas finds it again; "string" alone omits its storage."""
    name = str(dtype)
    return f"string[{dtype.storage}]" if name == "string" and hasattr(dtype, "storage") else name


def build_frame(kind: FrameKind, columns: Mapping[str, tuple[Any, Dtype]], made_by: FrameKind) -> Any:
    """Build a frame of Arrow arrays, with the original dtypes where the same library made them."""
    check_choice("kind", kind, FRAME_KINDS)
    build = {"pandas": _build_pandas, "polars": _build_polars, "pyarrow": _build_pyarrow}[kind]
    return build(require(kind, kind, f"A {kind} frame"), columns, kind == made_by)


def _build_pyarrow(pa: Any, columns: Mapping[str, tuple[Any, Dtype]], is_own: bool) -> Any:
    def restore(array: Any, dtype: Dtype) -> Any:
        if dtype.levels is None:
            return array
        codes, levels = _level_codes(array, dtype)
        indices = pa.array(codes, type=pa.int32(), mask=codes < 0)
        index_type = pa.type_for_alias(dtype.native) if is_own and dtype.native else pa.int32()
        if len(levels) <= np.iinfo(index_type.to_pandas_dtype()).max:
            indices = indices.cast(index_type)
        return pa.DictionaryArray.from_arrays(indices, pa.array(levels, type=array.type), ordered=dtype.ordered)

    return pa.table({name: restore(array, dtype) for name, (array, dtype) in columns.items()})


def _build_polars(pl: Any, columns: Mapping[str, tuple[Any, Dtype]], is_own: bool) -> Any:
    def restore(array: Any, dtype: Dtype) -> Any:
        series = pl.Series(pl.from_arrow(array))
        if dtype.levels is None or dtype.family != "text":
            return series
        if is_own and dtype.native == "Enum":
            return series.cast(pl.Enum(_level_codes(array, dtype)[1]))
        return series.cast(pl.Categorical)

    return pl.DataFrame({name: restore(array, dtype) for name, (array, dtype) in columns.items()})


def _build_pandas(pd: Any, columns: Mapping[str, tuple[Any, Dtype]], is_own: bool) -> Any:
    def restore(array: Any, dtype: Dtype) -> Any:
        native = dtype.native if is_own else None
        if dtype.levels is not None:
            codes, levels = _level_codes(array, dtype)
            level_dtype = native.removeprefix("category[").removesuffix("]") if native else None
            return pd.Categorical.from_codes(codes, pd.Index(levels, dtype=level_dtype), ordered=dtype.ordered)
        if native == "object":
            return pd.Series(_as_objects(array), dtype=object)
        if native is None:
            return array.to_pandas()
        wanted = (
            pd.ArrowDtype(array.type) if native.endswith("[pyarrow]") and not native.startswith("string") else native
        )
        wanted = pd.api.types.pandas_dtype(wanted)
        if hasattr(wanted, "__from_arrow__") and array.type == dtype.arrow_type:
            return wanted.__from_arrow__(array)
        series = array.to_pandas()
        # NumPy's integers and booleans cannot be missing: keep what pandas made of them
        fits = array.type == dtype.arrow_type and not (array.null_count and wanted.kind in "iub")
        return series.astype(wanted) if fits else series

    restored = {name: restore(array, dtype) for name, (array, dtype) in columns.items()}
    return pd.DataFrame(restored, copy=False)


def _level_codes(array: Any, dtype: Dtype) -> tuple[NDArray[np.int32], list[Any]]:
    """Return each row's position among the levels of a categorical type, extended by new values."""
    values, rows = Column("", array, dtype).distinct()
    positions = {level: code for code, level in enumerate(dtype.levels or ())}
    codes = [-1 if value is None else positions.setdefault(value, len(positions)) for value in values]
    return np.array(codes, np.int32)[rows], list(positions)


def _as_objects(array: Any) -> NDArray[np.object_]:
    values, rows = Column("", array, Dtype(str(array.type))).distinct()
    objects = np.empty(len(values), np.object_)
    objects[:] = values
    return objects[rows]


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
            raise SchemaError(f"There are no labels: the roles name no label column. Pass them as {parameter('y')}.")
        if roles.label not in frame.names:
            near = suggest(roles.label, frame.names)
            raise SchemaError(
                f"There are no labels: the table has no column '{roles.label}'. Pass them as {parameter('y')}.{near}"
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
    codes = np.empty(len(rows), np.int32)
    number_values([positions[value] for value in values], rows, codes)
    return codes, np.array(classes)
