"""Roles of columns, and the schema learned with them, which encodes frames and decodes tables."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np

from likewise._checks import check_choice, suggest
from likewise._files import write_file
from likewise._format import count_of
from likewise._json import hash_json, refuse_constant
from likewise.exceptions import SchemaError
from likewise.schema._arrow import Dtype, array_of_values, show_values
from likewise.schema._codecs import Categories, Codec, Intervals, LearnedColumn, Missing, Ranks, Scale, Unseen
from likewise.schema._frames import Frame, FrameKind, build_frame, code_labels, label_column, open_frame, row_ids_of
from likewise.schema._roles import (
    LISTED,
    ROLES,
    ColumnRoles,
    Names,
    align_alike,
    infer_column,
    is_row_counter,
    refuse_absent,
)
from likewise.schema._table import KINDS, CodedTable, Unit

FORMAT: Final = "likewise schema 1"
FINE: Final = 1e-9  # of a range: finer differences are ties for any column

logger = logging.getLogger(__name__)


class Roles(ColumnRoles):
    """The role of each column of a table.

    Each column has one role. A single name may stand for a sequence of names.

    Parameters
    ----------
    sensitive : sequence of str
        Sensitive (protected) attributes, in which comparable people may differ, such as race and sex. Without any,
        only rules with ``sensitive_differs="none"`` can be used.
    discrete : sequence of str
        Categorical columns, of which a rule allows a few to differ. A missing value is its own category.
    continuous : sequence of str
        Columns of numbers or times, compared by distance as a fraction of their training range.
    ordinal : mapping of str to sequence, optional
        Columns of ordered categories, compared by difference in rank, each with its categories from lowest to
        highest.
    matched : sequence of str
        Columns in which comparable people must be equal.
    ignored : sequence of str
        Columns that are not used. A table need not have them.
    label : str, optional
        The label column; comparable people share the label. Labels can also be passed separately, as ``y``.
    row_id : str, optional
        A column of unique row identifiers.
    bins : mapping of str to int or sequence of float, optional
        Numeric sensitive columns to cut into intervals: a number of intervals, of about equally many training rows,
        or ascending cut points. A cut point belongs to the interval above it.
    missing : {"refuse", "median", "apart"}, or one for each column by name
        What to do with missing values in continuous and ordinal columns: raise an error, use the training median,
        or keep them apart, so that missing is comparable with missing only. Columns not in a mapping refuse.
    reasons : mapping of str to str, optional
        Why each inferred column has its role. Ignored in comparisons.

    Examples
    --------
    >>> from likewise import Roles
    >>> roles = Roles(sensitive="sex", discrete=["job", "city"], continuous="age", label="income")
    >>> roles.discrete, roles.role_of("age")
    (('job', 'city'), 'continuous')
    """

    __slots__ = ()

    @classmethod
    def infer(
        cls,
        frame: Any,
        *,
        label: str | None = None,
        sensitive: Names = (),
        discrete: Names = (),
        continuous: Names = (),
        ordinal: Mapping[str, Sequence[Any]] | None = None,
        matched: Names = (),
        ignored: Names = (),
        row_id: str | None = None,
        bins: Mapping[str, int | Sequence[float]] | None = None,
        text: Names = (),
        missing: Missing | Mapping[str, Missing] | None = None,
    ) -> Roles:
        """Infer a role for every column of a frame; columns you name keep the role you give.

        Text, booleans and categorical columns are discrete; ordered categorical columns are ordinal. Integers and
        dates with at most 10 distinct values are discrete; other numbers and dates are continuous; numbered columns of
        one name, such as PAY_0 to PAY_6, get one role. Columns with a single value, text that is nearly unique to each
        row (names, ids), integers that number or identify the rows, and values that cannot be compared, such as lists,
        are ignored.

        A column of text, without a role, of which nine of ten cells or more are numbers, and some are not, is refused
        with these cells: ``?`` or ``$6.0`` would make categories of all its numbers. Columns with leading zeros are
        codes, and not refused.

        :meth:`describe` returns each role with its reason; they are also logged, at level INFO.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table
            The training table.
        label, sensitive, discrete, continuous, ordinal, matched, ignored, row_id, bins
            As in :class:`Roles`. The frame must contain all of these columns.
        missing : {"refuse", "median", "apart"}, or one for each column by name, optional
            As in :class:`Roles`; by default, people with a missing number are comparable with each other only
            ("apart"), in every continuous or ordinal column of the frame that has one.
        text : str or sequence of str, optional
            Columns of text to take as they are, although most of their cells are numbers.

        Returns
        -------
        Roles

        Examples
        --------
        >>> import pyarrow as pa
        >>> from likewise import Roles
        >>> people = {"sex": ["f", "m", "f"], "job": ["cook", "cook", "smith"], "age": [31, 45, 28], "y": [0, 1, 1]}
        >>> print(Roles.infer(pa.table(people), label="y", sensitive="sex").describe())
        sensitive   sex  given
        discrete    job  text with 2 distinct values
        continuous  age  integers with 3 distinct values
        label       y    given
        """
        given = cls(
            sensitive=sensitive,
            discrete=discrete,
            continuous=continuous,
            ordinal=ordinal,
            matched=matched,
            ignored=ignored,
            label=label,
            row_id=row_id,
            bins=bins,
        )
        return _infer_others(given, open_frame(frame), missing, (text,) if isinstance(text, str) else text or ())

    def learn(self, frame: Any, y: Any = None) -> Schema:
        """Learn the categories and ranges of the columns from the training frame.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table
            The training table. Every column needs a role; the label column may be left out.
        y : list, array or series, optional
            The labels, one per row. They are only checked, so that mistakes show early.

        Returns
        -------
        Schema

        Examples
        --------
        >>> import pyarrow as pa
        >>> from likewise import Roles
        >>> schema = Roles(sensitive="sex", continuous="age").learn(pa.table({"sex": ["f", "m"], "age": [20, 60]}))
        >>> schema.categories, schema.ranges
        ({'sex': ('f', 'm')}, {'age': (20.0, 60.0)})
        """
        return _learn_schema(self, open_frame(frame), y)


@dataclass(frozen=True, slots=True)
class Schema:
    """Encode frames as learned from the training frame, and decode them again.

    :meth:`Roles.learn` returns it. How irregular tables are handled:

    ==========================  =========================================================================
    found                       result
    ==========================  =========================================================================
    missing value               discrete, sensitive, matched: its own category; continuous, ordinal: refused
                                with column and count, unless the roles choose a policy; NaN counts as
                                missing and is decoded as missing; label, row id: refused
    category not in training    kept, with a code after the learned ones, or refused (``unseen="error"``);
                                in an ordinal column, which has no rank for it, always refused
    constant column             allowed; a continuous one is shifted to 0 and not scaled
    value outside the range     kept: its code lies outside [0, 1]
    infinite value              refused with column and count
    duplicate column names      refused
    column without a role       refused when learning, so that none is forgotten; ignored when encoding
    mixed types in a column     refused with the types found, as are types that differ from training: text
                                for numbers, times for dates, times with a zone for times without
    times                       compared like numbers where continuous, down to the microsecond
    lists, bytes, durations,    refused, unless ignored
    intervals
    integers over 2**53         refused where continuous
    high cardinality            allowed; time and memory grow with the number of distinct values
    empty frame                 refused when learning; encoded as an empty table
    one row, one class          allowed
    index of a pandas frame     ignored: rows and labels are aligned by position; decoded rows are
                                numbered from 0
    labels                      text, integers or booleans; fractions are refused
    ==========================  =========================================================================

    Parameters
    ----------
    roles : Roles
        The role of each column.
    kind : {"pandas", "polars", "pyarrow"}
        The kind of the training frame, to which tables are decoded.
    columns : tuple of LearnedColumn
        What was learned, in the column order of the frame.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from likewise import Roles
    >>> people = pa.table({"sex": ["f", "m", "f"], "age": [20, 40, 60], "hired": ["no", "yes", "yes"]})
    >>> schema = Roles(sensitive="sex", continuous="age", label="hired").learn(people)
    >>> table = schema.encode(people)
    >>> table.continuous.ravel().tolist(), table.classes.tolist()
    ([0.0, 0.5, 1.0], ['no', 'yes'])
    >>> schema.decode(table).equals(people)
    True
    """

    roles: Roles
    kind: FrameKind
    columns: tuple[LearnedColumn, ...]

    @property
    def categories(self) -> dict[str, tuple[Any, ...]]:
        """The categories of each coded column, in the order of their codes."""
        return {c.name: c.codec.values for c in self.columns if isinstance(c.codec, Categories | Intervals | Ranks)}

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The lowest and highest training value of each continuous column."""
        return {c.name: (c.codec.low, c.codec.high) for c in self.columns if isinstance(c.codec, Scale)}

    def encode(self, frame: Any, y: Any = None, *, unseen: Unseen = "keep") -> CodedTable:
        """Encode a frame.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table
            Columns may be in any order; those without a role are ignored.
        y : list, array or series, optional
            The labels, one per row, aligned by position; the frame's label column, if not given.
        unseen : {"keep", "error"}
            What to do with categories not seen in training.

        Returns
        -------
        CodedTable

        Examples
        --------
        >>> import pyarrow as pa
        >>> from likewise import Roles
        >>> schema = Roles(discrete="job").learn(pa.table({"job": ["cook", "smith"]}))
        >>> table = schema.encode(pa.table({"job": ["smith", "judge"]}), [1, 0])
        >>> table.discrete.ravel().tolist(), table.categories["job"]
        ([1, 2], ('cook', 'smith', 'judge'))
        """
        check_choice("unseen", unseen, ("keep", "error"))
        opened = open_frame(frame)
        refuse_absent(self.roles, opened.names, (*KINDS, "row_id"))
        labels, classes = code_labels(label_column(self.roles, opened, y))
        learned = {column.name: column for column in self.columns}
        arrays, categories = dict[str, Any](), dict[str, Any]()
        for kind in KINDS:
            names = self.roles.names(kind)
            # column-major: columns are read one at a time, here and in the engines
            arrays[kind] = np.empty((len(opened), len(names)), np.float64 if kind == "continuous" else np.int32, "F")
            for name, codes in zip(names, arrays[kind].T, strict=True):
                categories[name] = learned[name].encode_into(codes, opened.column, unseen)
        precision = {c.name: c.codec.precision(c.dtype) for c in self.columns if isinstance(c.codec, Scale)}
        return CodedTable(
            **arrays,
            labels=labels,
            classes=classes,
            row_ids=row_ids_of(self.roles, opened),
            names={kind: self.roles.names(kind) for kind in KINDS},
            categories={name: values for name, values in categories.items() if name not in self.roles.continuous},
            precision={name: width for name, width in precision.items() if width > FINE},  # coarser than any tie
            units=self.units,
        )

    @property
    def units(self) -> dict[str, Unit]:
        """What the codes of each continuous column mean in its own numbers."""
        return {one.name: one.unit for one in self.columns if isinstance(one.codec, Scale)}

    def decode(self, table: CodedTable, *, kind: FrameKind | None = None, rounded: bool = False) -> Any:
        """Return a coded table as a frame with the columns, order and dtypes of the training frame.

        Ignored columns are left out. The label and row ids are included if the training frame had them. Binned
        columns become the text of their interval. Categories, integers and fractions with few digits are restored
        exactly, other fractions within 1e-12 of the training range.

        Parameters
        ----------
        table : CodedTable
            Encoded by this schema.
        kind : {"pandas", "polars", "pyarrow"}, optional
            The kind of frame to return; that of the training frame, if not given.
        rounded : bool
            Round fractions to the number of decimals in the training frame, so that generated rows look real. Integer
            columns are always rounded.

        Returns
        -------
        frame

        Examples
        --------
        >>> import pyarrow as pa
        >>> from likewise import CodedTable, Roles
        >>> schema = Roles(continuous=["age", "grade"]).learn(pa.table({"age": [20, 30], "grade": [1.0, 2.5]}))
        >>> made = CodedTable(continuous=[[0.52, 0.3333]], names={"continuous": ("age", "grade")})
        >>> schema.decode(made, rounded=True).to_pylist()
        [{'age': 25, 'grade': 1.5}]
        """
        for role in KINDS:
            if table.names[role] != self.roles.names(role):
                raise SchemaError(
                    f"The table's {role} columns are {list(table.names[role])}; this schema's are "
                    f"{list(self.roles.names(role))}. Decode a table with the schema that encoded it."
                )
        decoded = {column.name: self._decode(column, table, rounded) for column in self.columns}
        return build_frame(kind or self.kind, decoded, self.kind)

    def snap(self, table: CodedTable) -> CodedTable:
        """Move continuous values to the nearest values that the original columns can hold.

        Parameters
        ----------
        table : CodedTable
            Generated, with values between those that occur.

        Returns
        -------
        CodedTable
            The same as decoding with ``rounded=True`` and encoding again.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from likewise import CodedTable, Roles
        >>> schema = Roles(continuous="age").learn(pa.table({"age": [20, 30]}))
        >>> schema.snap(CodedTable(continuous=[[0.52]], names={"continuous": ("age",)})).continuous.tolist()
        [[0.5]]
        """
        learned = {column.name: column for column in self.columns}
        continuous = table.continuous.copy(order="F")
        for position, name in enumerate(self.roles.names("continuous")):
            codec = learned[name].codec
            assert isinstance(codec, Scale)
            continuous[:, position] = codec.snap(continuous[:, position], learned[name].dtype)
        return replace(table, continuous=continuous)

    def _decode(self, column: LearnedColumn, table: CodedTable, rounded: bool) -> tuple[Any, Dtype]:
        if column.codec is None:
            if column.name == self.roles.label:
                return array_of_values(tuple(table.classes.tolist()), table.labels, column.dtype), column.dtype
            ids, rows = np.unique(table.row_ids, return_inverse=True)
            return array_of_values(tuple(ids.tolist()), rows, column.dtype), column.dtype
        role = str(self.roles.role_of(column.name))
        codes = getattr(table, role)[:, self.roles.names(role).index(column.name)]
        categories = table.categories.get(column.name, self.categories.get(column.name, ()))
        if role != "continuous" and codes.max(initial=-1) >= len(categories):
            count = count_of(len(categories), "category", "categories")
            raise SchemaError(
                f"Column '{column.name}' has code {codes.max()} and only {count}. "
                "Decode a table with the schema that encoded it."
            )
        return column.codec.decode(codes, categories, column.dtype, rounded)

    @property
    def checksum(self) -> str:
        """The SHA-256 of the learned schema; equal schemas have equal checksums."""
        return hash_json(self._to_dict())

    def _to_dict(self) -> dict[str, Any]:
        columns = [column.to_dict() for column in self.columns]
        return {"format": FORMAT, "roles": self.roles.to_dict(), "kind": self.kind, "columns": columns}

    def to_json(self) -> str:
        """Return the schema as JSON, with a checksum that :meth:`from_json` verifies."""
        data = self._to_dict()
        return json.dumps(data | {"checksum": hash_json(data)}, indent=1, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Read a schema written by :meth:`to_json`; no code is run."""
        try:
            data = json.loads(text, parse_constant=refuse_constant)
        except (ValueError, TypeError, RecursionError) as error:
            raise SchemaError(f"This is not the complete JSON of a schema: {error}. Save the schema again.") from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            found = repr(data.get("format")) if isinstance(data, dict) else f"a {type(data).__name__}"
            raise SchemaError(f"This JSON is not a '{FORMAT}': its format is {found}. Use what Schema.to_json wrote.")
        try:
            if data.pop("checksum", None) != hash_json(data):
                raise ValueError
        except ValueError:  # or a number beyond any float, which no schema has
            raise SchemaError("This schema was changed after it was written. Save the schema again.") from None
        try:
            roles, kind = Roles.from_dict(data["roles"]), data["kind"]
            check_choice("kind", kind, get_args(FrameKind))
            used = {name: role for role in ROLES if role != "ignored" for name in roles.names(role)}
            return cls(roles, kind, LearnedColumn.read_all(data["columns"], used, roles.bins))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SchemaError(f"This schema has missing or unknown fields: {error!r}. Save the schema again.") from None

    def save(self, path: str | Path) -> None:
        """Write the schema to a JSON file that is not there yet."""
        write_file(path, self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a JSON file."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise SchemaError(f"Cannot read a schema from '{path}': {reason}. Use what Schema.save wrote.") from None


def _infer_others(
    given: Roles, frame: Frame, missing: Missing | Mapping[str, Missing] | None, texts: Sequence[str] = ()
) -> Roles:
    """Add a role, with its reason, for every column without one."""
    refuse_absent(given, frame.names, ROLES)
    if not len(frame):
        raise SchemaError("The frame has no rows, so no roles can be inferred. Pass a frame with rows.")
    columns: dict[str, Any] = {role: given.names(role) for role in LISTED}
    counters = [name for name in given.continuous if is_row_counter(frame.column(name))]
    ordinal, reasons = dict(given.ordinal), dict.fromkeys(counters, "given, though it numbers the rows")
    others = [name for name in frame.names if given.role_of(name) is None]
    alone = {name: infer_column(frame.column(name), as_text=name in texts) for name in others}
    for name, found in align_alike(alone, frame.column).items():
        reasons[name] = found.reason
        if found.role == "ordinal":
            ordinal[name] = found.order
        else:
            columns[found.role] = (*columns[found.role], name)
    roles = replace(given, **columns, ordinal=ordinal, reasons=reasons)
    roles = _keep_missing_apart(roles, frame) if missing is None else replace(roles, missing=missing)
    logger.info("Roles inferred from %s rows:\n%s", f"{len(frame):,}", roles.describe())
    return roles


def _keep_missing_apart(roles: Roles, frame: Frame) -> Roles:
    """Compare people with a missing number with each other only, and say so in the reason."""
    names = [name for name in (*roles.continuous, *roles.ordinal) if frame.column(name).array.null_count]
    if not names:
        return roles
    reasons = {name: f"{roles.reasons.get(name, 'given')}; missing is comparable with missing only" for name in names}
    return replace(roles, missing=dict.fromkeys(names, "apart"), reasons={**roles.reasons, **reasons})


def _learn_schema(roles: Roles, frame: Frame, y: Any) -> Schema:
    refuse_absent(roles, frame.names, (*KINDS, "row_id"))
    without_role = [name for name in frame.names if roles.role_of(name) is None]
    if without_role:
        near = suggest(roles.label, without_role) if roles.label and roles.label not in frame.names else ""
        raise SchemaError(
            f"These columns have no role: {show_values(without_role)}. Give each a role, or use Roles.infer(...).{near}"
        )
    if not len(frame):
        raise SchemaError("The frame has no rows, so there is nothing to learn. Pass a frame with rows.")
    if y is not None or roles.label in frame.names:
        code_labels(label_column(roles, frame, y))
    row_ids_of(roles, frame)
    used = [name for name in frame.names if name not in roles.ignored]
    return Schema(roles, frame.kind, tuple(_learn_column(roles, frame, name) for name in used))


def _learn_column(roles: Roles, frame: Frame, name: str) -> LearnedColumn:
    column, role = frame.column(name).refuse_incomparable(), str(roles.role_of(name))
    codec: Codec | None = None  # of the label and the row ids
    if role == "continuous":
        codec = Scale.learn(column, roles.missing_in(name))
    elif role == "ordinal":
        codec = Ranks.learn(column, tuple(roles.ordinal[name]), roles.missing_in(name))
    elif name in roles.bins:
        codec = Intervals.learn(column, roles.bins[name])
    elif role not in ("label", "row_id"):
        codec = Categories.learn(column, role)
    return LearnedColumn(name, column.dtype, codec)
