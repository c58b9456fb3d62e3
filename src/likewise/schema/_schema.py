"""What a training frame taught: how to code any other frame like it, and back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from likewise._checks import check_choice
from likewise.exceptions import SchemaError
from likewise.schema._arrow import Dtype, array_of_values
from likewise.schema._coding import CODECS, Categories, Codec, Intervals, Ranks, Scale, Unseen
from likewise.schema._frames import Frame, FrameKind, build_frame, open_frame
from likewise.schema._infer import refuse_absent
from likewise.schema._labels import code_labels, label_column, row_ids_of
from likewise.schema._roles import Roles
from likewise.schema._table import KINDS, CodedTable
from likewise.schema._values import show_count

FORMAT: Final = "likewise schema 1"


@dataclass(frozen=True, slots=True)
class LearnedColumn:
    """Keep what was learned of one column; the label and the row ids have no codec."""

    name: str
    dtype: Dtype
    codec: Codec | None


@dataclass(frozen=True, slots=True)
class Schema:
    """Code frames as the training frame taught, and decode them again.

    :meth:`Roles.learn` makes it. What happens with tables that are not as one would wish:

    ==========================  =========================================================================
    found                       what happens
    ==========================  =========================================================================
    missing value               discrete, sensitive, matched: a category of its own; continuous, ordinal:
                                refused with column and count, unless the roles choose a policy; NaN is
                                missing, too, and comes back as missing; label, row id: refused
    category not in training    kept, with a code after the learned ones, or refused (``unseen="error"``);
                                in an ordinal column, which has no rank for it, always refused
    constant column             allowed; a continuous one is shifted to 0 and not scaled
    value outside the range     kept: its code lies outside [0, 1]
    infinite value              refused with column and count
    duplicate column names      refused
    column without a role       refused when learning, so that none is forgotten; later ignored
    mixed types in a column     refused with the types found; other types than in training, too: text for
                                numbers, times for dates, times with a zone for times without
    times                       compared like numbers where continuous, down to the microsecond
    lists, bytes, durations,    refused, unless ignored
    intervals
    whole numbers over 2**53    refused where continuous
    huge cardinality            works: time and memory grow with the number of different values
    empty frame                 nothing can be learned from it; coded, it is an empty table
    one row, one class          allowed
    index of a pandas frame     plays no part: rows and labels meet by position, decoded rows are
                                numbered from 0
    labels                      text, whole numbers or truth values, as they are; fractions are refused
    ==========================  =========================================================================

    Parameters
    ----------
    roles : Roles
        The part each column plays.
    kind : {"pandas", "polars", "pyarrow"}
        The kind of frame it learned from, and decodes to.
    columns : tuple of LearnedColumn
        What was learned, in the order of the frame.

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
        coded = {column.name: column.codec for column in self.columns}
        return {
            name: codec.values for name, codec in coded.items() if isinstance(codec, Categories | Intervals | Ranks)
        }

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The lowest and highest training value of each continuous column."""
        return {c.name: (c.codec.low, c.codec.high) for c in self.columns if isinstance(c.codec, Scale)}

    def encode(self, frame: Any, y: Any = None, *, unseen: Unseen = "keep") -> CodedTable:
        """Code a frame.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table
            Its columns may stand in any order; those without a role are left aside.
        y : list, array or series, optional
            The labels, row by row, whatever the index of a pandas series says; the label column of the frame, if
            not given.
        unseen : {"keep", "error"}
            What to do with categories that training did not have.

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
        refuse_absent(opened, self.roles, [*KINDS, "row_id"])
        labels, classes = code_labels(label_column(self.roles, opened, y))
        learned = {column.name: column for column in self.columns}
        arrays: dict[str, Any] = {}
        categories: dict[str, tuple[Any, ...]] = {}
        for kind in KINDS:
            names = self.roles.names(kind)
            # columns lie one after the other: they are read one by one, here and in the engines
            array = np.empty((len(opened), len(names)), np.float64 if kind == "continuous" else np.int32, order="F")
            for position, name in enumerate(names):
                array[:, position], found = _encode(opened, learned[name], unseen)
                if kind != "continuous":
                    categories[name] = found
            arrays[kind] = array
        return CodedTable(
            **arrays,
            labels=labels,
            classes=classes,
            row_ids=row_ids_of(self.roles, opened),
            names={kind: self.roles.names(kind) for kind in KINDS},
            categories=categories,
        )

    def decode(self, table: CodedTable, *, kind: FrameKind | None = None, rounded: bool = False) -> Any:
        """Make a frame of a coded table: the columns, their order and their dtypes as in the training frame.

        Ignored columns are left out. The label and the row ids are there if the training frame had them. Binned
        columns come back as the text of their interval. Categories, whole numbers, and fractions of few digits come
        back exactly, other fractions within 1e-12 of the training range.

        Parameters
        ----------
        table : CodedTable
            Coded by this schema.
        kind : {"pandas", "polars", "pyarrow"}, optional
            The kind of frame to make; that of the training frame, if not given.
        rounded : bool
            Round fractions to as many decimals as the training frame had, so that generated rows look like real ones.
            Columns of whole numbers are rounded always.

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
                    f"{list(self.roles.names(role))}. Decode a table with the schema that coded it."
                )
        decoded = {column.name: self._decode(column, table, rounded) for column in self.columns}
        return build_frame(kind or self.kind, decoded, self.kind)

    def snap(self, table: CodedTable) -> CodedTable:
        """Move continuous values to the nearest that rows of the user's table can have.

        Parameters
        ----------
        table : CodedTable
            Made up, with values between those that occur.

        Returns
        -------
        CodedTable
            What :meth:`encode` makes of the frame that :meth:`decode` makes of it, rounded.

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
            count = show_count(len(categories), "category", "categories")
            raise SchemaError(
                f"Column '{column.name}' has code {codes.max()} and only {count}. "
                "Decode a table with the schema that coded it."
            )
        return column.codec.decode(codes, categories, column.dtype, rounded)

    @property
    def checksum(self) -> str:
        """The SHA-256 of what was learned: equal schemas have equal ones."""
        return _checksum(self._to_dict())

    def _to_dict(self) -> dict[str, Any]:
        names = {codec: name for name, codec in CODECS.items()}
        columns = [
            {"name": column.name, "dtype": column.dtype.to_dict()}
            | ({} if column.codec is None else {names[type(column.codec)]: column.codec.to_dict()})
            for column in self.columns
        ]
        return {"format": FORMAT, "roles": self.roles.to_dict(), "kind": self.kind, "columns": columns}

    def to_json(self) -> str:
        """Write the schema as JSON, with a checksum that :meth:`from_json` verifies."""
        data = self._to_dict()
        return json.dumps(data | {"checksum": _checksum(data)}, indent=1, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Read a schema that :meth:`to_json` wrote; nothing in it is run."""
        try:
            data = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, TypeError, RecursionError) as error:
            raise SchemaError(
                f"This is not the JSON of a schema, or not all of it: {error}. Save the schema again."
            ) from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            found = repr(data.get("format")) if isinstance(data, dict) else f"a {type(data).__name__}"
            raise SchemaError(f"This JSON is not a '{FORMAT}': its format is {found}. Give what to_json wrote.")
        if data.pop("checksum", None) != _checksum(data):
            raise SchemaError(
                "This schema was changed after it was written: its checksum is wrong. Save the schema again."
            )
        try:
            columns = tuple(map(_column_from_dict, data["columns"]))
            return cls(Roles.from_dict(data["roles"]), data["kind"], columns)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SchemaError(
                f"This schema lacks something, or has too much: {error!r}. Save the schema again."
            ) from None

    def save(self, path: str | Path) -> None:
        """Write the schema into a JSON file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a JSON file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise SchemaError(
                f"No schema can be read from '{path}': {reason}. Give a file that Schema.save wrote."
            ) from None
        return cls.from_json(text)


def _encode(frame: Frame, learned: LearnedColumn, unseen: Unseen) -> tuple[Any, tuple[Any, ...]]:
    column = frame.column(learned.name).refuse_incomparable()
    then, now = learned.dtype.family, column.dtype.family
    as_numbers = {"truth values": "numbers"}  # 1 is True, here as in Python
    is_known = then != "nothing" and not column.is_empty
    if is_known and as_numbers.get(str(then), then) != as_numbers.get(str(now), now):
        raise SchemaError(f"Column '{learned.name}' holds {now} here and held {then} in training. Convert it.")
    assert learned.codec is not None
    return learned.codec.encode(column, unseen)


def _column_from_dict(data: dict[str, Any]) -> LearnedColumn:
    codecs = [codec.from_dict(data[name]) for name, codec in CODECS.items() if name in data]
    return LearnedColumn(data["name"], Dtype.from_dict(data["dtype"]), codecs[0] if codecs else None)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _checksum(data: dict[str, Any]) -> str:
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
