"""The coded table that every algorithm works on, and its checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise._checks import suggest
from likewise._format import count_of
from likewise._json import plain
from likewise.exceptions import SchemaError

Codes = NDArray[np.int32]
Values = NDArray[np.float64]

CODED_KINDS: Final = ("sensitive", "discrete", "ordinal", "matched")
KINDS: Final = (*CODED_KINDS, "continuous")
HASHED_AT_ONCE: Final = 1 << 20  # numbers converted at a time
EXACT: Final = 2.0**53  # integers up to here are exact in float64
SCALING_ERROR: Final = 2.0**-50  # of a number that was scaled and scaled back, relative: four operations, twice over


@dataclass(frozen=True, slots=True)
class Unit:
    """What the codes of a continuous column mean in the column's own numbers."""

    low: float  # that code 0 stands for
    width: float  # by which code 1 is higher
    decimals: int | None = None  # that all training numbers can be written with; None for any
    day: float | None = None  # of dates and times, which are numbers too: how long a day is
    middle: tuple[float, float] | None = None  # the 1st and the 99th percentile of the training rows, where known

    def numbers(self, codes: Values) -> Values:
        """Return the numbers that codes stand for, without the errors of scaling where decimals are few."""
        return self.as_written(codes * self.width + self.low)

    def as_written(self, numbers: Values) -> Values:
        """Return numbers of the column, or differences of them, without errors: those of more decimals stay as is."""
        if self.decimals is None:
            return numbers
        with np.errstate(over="ignore"):  # what is so large has no decimals
            is_exact = np.abs(numbers) * 10.0**self.decimals < EXACT
        written = np.round(np.where(is_exact, numbers, 0.0), self.decimals)
        # asked of the written number, so that numbers keep their order
        error = SCALING_ERROR * (np.abs(written) + abs(self.low) + self.width)
        return np.where(is_exact & (np.abs(written - numbers) <= error), written, numbers)

    @property
    def step(self) -> float:
        """The least difference between two numbers, as a share of the width; 0 if there is none."""
        return 0.0 if self.decimals is None else 10.0**-self.decimals / self.width


@dataclass(frozen=True, slots=True, eq=False, init=False)
class CodedTable:
    """A table of people as plain numbers, one array for each kind of column.

    A :class:`~likewise.Schema` encodes a frame to it. It can also be built directly from arrays; those left out
    are empty.

    Parameters
    ----------
    sensitive, discrete, matched : array of int, shape (n_rows, n_columns)
        Category codes. ``matched`` columns must be equal in a comparable pair.
    ordinal : array of int, shape (n_rows, n_columns)
        Ranks: codes whose differences are meaningful.
    continuous : array of float, shape (n_rows, n_columns)
        Values scaled so that the training range is [0, 1]. Never NaN, never infinite.
    labels : array of int, shape (n_rows,)
        Positions in ``classes``.
    classes : array, shape (n_classes,), optional
        The label values; the codes themselves, if not given.
    row_ids : array, shape (n_rows,), optional
        An identifier of each row; its position, if not given.
    names : mapping of kind to column names, optional
    categories : mapping of column name to values, optional
        Code ``k`` of a column means ``categories[column][k]``.
    precision : mapping of column name to float, optional
        How precisely a continuous column is known, where that is coarser than 1e-9 of its range: differences between
        numbers are that uncertain, so that a shift beyond a limit by no more than that counts as a tie. Known by itself
        for arrays of short floats.
    units : mapping of column name to Unit, optional
        What the codes of continuous columns mean in their own numbers, as a schema learned it; rules with limits in
        such units need it.

    Examples
    --------
    >>> from likewise import CodedTable
    >>> table = CodedTable(sensitive=[[0], [1]], discrete=[[3, 1], [3, 2]], labels=[1, 1])
    >>> len(table), table.names["discrete"]
    (2, ('discrete_0', 'discrete_1'))
    """

    sensitive: Codes
    discrete: Codes
    ordinal: Codes
    matched: Codes
    continuous: Values
    labels: Codes
    classes: NDArray[Any]
    row_ids: NDArray[Any]
    names: Mapping[str, tuple[str, ...]]
    categories: Mapping[str, tuple[Any, ...]]
    precision: Mapping[str, float]
    units: Mapping[str, Unit]

    def __init__(
        self,
        *,
        sensitive: ArrayLike | None = None,
        discrete: ArrayLike | None = None,
        ordinal: ArrayLike | None = None,
        matched: ArrayLike | None = None,
        continuous: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        row_ids: ArrayLike | None = None,
        names: Mapping[str, Sequence[str]] | None = None,
        categories: Mapping[str, tuple[Any, ...]] | None = None,
        precision: Mapping[str, float] | None = None,
        units: Mapping[str, Unit] | None = None,
    ) -> None:
        # written by hand: the arguments accept more types than the fields hold
        given = dict(zip(KINDS, (sensitive, discrete, ordinal, matched, continuous), strict=True))
        n_rows = next((len(one) for one in (labels, *given.values()) if isinstance(one, Sized)), 0)
        for kind in names or {}:
            if kind not in KINDS:
                raise SchemaError(
                    f"names has no kind '{kind}'; the kinds are {', '.join(KINDS)}.{suggest(kind, KINDS)}"
                )
        for kind, columns in given.items():
            self._set(kind, _as_columns(columns, kind, n_rows, np.float64 if kind == "continuous" else np.int32))
        codes = np.zeros(n_rows, np.int32) if labels is None else _as_codes(_as_array(labels, "labels"), "labels")
        self._set("labels", codes)
        self._set("classes", np.arange(codes.max(initial=-1) + 1) if classes is None else np.asarray(classes))
        self._set("row_ids", np.arange(n_rows) if row_ids is None else np.asarray(row_ids))
        self._set("names", {kind: self._names_of(kind, names or {}) for kind in KINDS})
        self._set("categories", {} if categories is None else categories)
        self._set("precision", self._precision_of(continuous) if precision is None else precision)
        self._set("units", {} if units is None else units)
        self._check(n_rows)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _names_of(self, kind: str, names: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        n_columns = getattr(self, kind).shape[1]
        return tuple(names.get(kind, (f"{kind}_{i}" for i in range(n_columns))))

    def _precision_of(self, given: ArrayLike | None) -> dict[str, float]:
        """Return twice the step between the largest floats of each column, where they were given as short ones."""
        kind = getattr(given, "dtype", None)
        if kind not in (np.float16, np.float32) or not len(self):
            return {}
        largest = np.abs(self.continuous).max(axis=0, initial=0.0).astype(kind)
        return dict(zip(self.names["continuous"], (2.0 * np.spacing(largest).astype(np.float64)).tolist(), strict=True))

    def _check(self, n_rows: int) -> None:
        for name in ("labels", "row_ids"):
            shape = np.shape(getattr(self, name))
            if shape != (n_rows,):
                rows = count_of(n_rows, "row")
                raise SchemaError(f"'{name}' has shape {shape}; this table has {rows}. Pass one value per row.")
        n_classes = len(self.classes)
        if n_rows and (self.labels.min() < 0 or self.labels.max() >= n_classes):
            raise SchemaError(
                f"'labels' run from {self.labels.min()} to {self.labels.max()}; they must be positions, from 0, in "
                f"{count_of(n_classes, 'class', 'classes')}. Put the label values in 'classes'."
            )
        for kind in KINDS:
            n_columns = getattr(self, kind).shape[1]
            if len(self.names[kind]) != n_columns:
                raise SchemaError(
                    f"{count_of(len(self.names[kind]), 'name')} for {count_of(n_columns, f'{kind} column')}. "
                    "Give each column one name."
                )
        for name, column in zip(self.names["continuous"], self.continuous.T, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):  # only finite numbers have a finite sum
                bad = 0 if np.isfinite(column.sum()) else int(np.count_nonzero(~np.isfinite(column)))
            if bad:
                raise SchemaError(
                    f"Continuous column '{name}' is NaN or infinite in {count_of(bad, 'row')}. "
                    "Replace them by finite numbers."
                )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Any) -> CodedTable:
        """Take rows by position, slice or mask; order and repetitions are kept."""
        if isinstance(rows, int | np.integer):
            rows = [int(rows)]
        if isinstance(rows, slice):
            taken: dict[str, Any] = {kind: getattr(self, kind)[rows] for kind in KINDS}
        else:  # columns stay contiguous, which they do not in NumPy's own indexing
            rows = np.arange(len(self))[rows]
            taken = {kind: np.take(getattr(self, kind).T, rows, axis=1).T for kind in KINDS}
        taken |= {"labels": self.labels[rows], "row_ids": self.row_ids[rows]}
        return replace(self, **taken)

    def aligned_to(self, other: CodedTable) -> CodedTable:
        """Return this table in the codes of ``other``, so that equal codes mean equal values in both."""
        if self is other:
            return self
        for kind in KINDS:
            if self.names[kind] != other.names[kind]:
                raise SchemaError(
                    f"The two tables have different {kind} columns: {list(self.names[kind])} and "
                    f"{list(other.names[kind])}. Encode both with one schema."
                )
        changed: dict[str, Any] = {}
        categories = dict(self.categories)
        for kind in CODED_KINDS:
            for position, name in enumerate(self.names[kind]):
                mine, theirs = self.categories.get(name), other.categories.get(name)
                if mine is None or theirs is None or mine is theirs or mine == theirs:
                    continue
                if kind == "ordinal":  # ranks in different orders are not comparable
                    raise SchemaError(
                        f"Ordinal column '{name}' has two orders in the two tables: {list(mine)} and {list(theirs)}. "
                        "Encode both with one schema."
                    )
                if kind not in changed:
                    changed[kind] = getattr(self, kind).copy(order="K")  # columns stay contiguous
                codes = changed[kind][:, position]
                if codes.min(initial=0) < 0 or codes.max(initial=0) >= len(mine):
                    raise SchemaError(
                        f"Column '{name}' has codes from {codes.min()} to {codes.max()}, but only "
                        f"{count_of(len(mine), 'category', 'categories')}, numbered from 0. Give each code a category."
                    )
                new_codes, categories[name] = _translate(mine, theirs)
                codes[:] = new_codes[codes]
        if not np.array_equal(self.classes, other.classes):
            new_codes, values = _translate(tuple(self.classes.tolist()), tuple(other.classes.tolist()))
            classes = np.asarray(values)
            if classes.tolist() != list(values):  # NumPy turned numbers into text
                raise SchemaError(
                    f"The labels are {self.classes.tolist()} in one table and {other.classes.tolist()} in the other. "
                    "Use labels of one type in both tables."
                )
            changed |= {"labels": new_codes[self.labels], "classes": classes}
        return replace(self, categories=categories, **changed) if changed else self


def stack_tables(tables: Sequence[CodedTable]) -> CodedTable:
    """Concatenate coded tables of the same codes, of which there is at least one."""
    first = tables[0]
    if len(tables) == 1:
        return first
    aligned = [table.aligned_to(tables[-1]) for table in tables]
    names = (*KINDS, "labels", "row_ids")
    stacked: dict[str, Any] = {name: np.concatenate([getattr(table, name) for table in aligned]) for name in names}
    return replace(aligned[-1], **stacked)


def _translate(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Codes, tuple[Any, ...]]:
    """Map positions in ``mine`` to positions in ``theirs``, extended by what ``theirs`` lacks."""
    positions = {value: code for code, value in enumerate(theirs)}
    codes = np.array([positions.setdefault(value, len(positions)) for value in mine], dtype=np.int32)
    return codes, tuple(positions)


def _as_columns(given: ArrayLike | None, kind: str, n_rows: int, dtype: type[np.generic]) -> NDArray[Any]:
    if given is None:
        return np.empty((n_rows, 0), dtype)
    columns = _as_array(given, kind)
    if columns.size == 0:
        columns = (
            columns.reshape(n_rows, -1) if n_rows else columns.reshape(0, columns.shape[-1] if columns.ndim == 2 else 0)
        )
    if columns.ndim != 2 or len(columns) != n_rows:
        raise SchemaError(
            f"'{kind}' has shape {columns.shape}; this table has {count_of(n_rows, 'row')}. "
            "Pass one row per person and one column per feature."
        )
    if dtype is not np.float64:
        return _as_codes(columns, kind)
    try:
        return columns.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise SchemaError(
            f"'{kind}' holds {columns.dtype} values; numbers are needed. Encode the frame first."
        ) from None


def _as_array(given: ArrayLike, name: str) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except ValueError:
        raise SchemaError(f"'{name}' has rows of different lengths. Make all rows equally long.") from None


def _as_codes(given: NDArray[Any], name: str) -> Codes:
    if given.size and not np.issubdtype(given.dtype, np.integer):
        raise SchemaError(
            f"'{name}' holds {given.dtype} values; category codes (integers) are needed. Encode the frame first."
        )
    if given.size and given.dtype != np.int32 and (given.min() < -(2**31) or given.max() >= 2**31):
        raise SchemaError(
            f"'{name}' runs from {given.min()} to {given.max()}; codes must fit in 32 bits. Number them from 0."
        )
    return given.astype(np.int32, copy=False)


def hash_table(table: CodedTable) -> str:
    """SHA-256 of a coded table: columns, categories and values; row ids play no part."""
    digest = hashlib.sha256()
    known = {"names": table.names, "categories": table.categories, "classes": table.classes}
    known |= {"precision": table.precision} if table.precision else {}
    digest.update(json.dumps(plain(known), sort_keys=True).encode())
    for name in (*KINDS, "labels"):
        digest.update(hash_array(getattr(table, name)).encode())
    return digest.hexdigest()


def hash_array(array: Any) -> str:
    """SHA-256 of an array of numbers, the same for every width of integer or float."""
    values = np.asarray(array)
    kind = "<f8" if values.dtype.kind == "f" else "<i8"
    digest = hashlib.sha256(str(values.shape).encode())
    n_rows = max(HASHED_AT_ONCE // max(int(np.prod(values.shape[1:])), 1), 1)
    for start in range(0, len(values) if values.ndim else 0, n_rows):  # a whole converted copy may not fit
        digest.update(np.ascontiguousarray(values[start : start + n_rows], kind).reshape(-1).data)
    if not values.ndim:
        digest.update(values.astype(kind).tobytes())
    return digest.hexdigest()
