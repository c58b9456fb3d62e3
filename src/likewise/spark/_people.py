"""People as a coded Spark frame: encoded, scored and hashed batch by batch, as in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._json import plain
from likewise.auditing._internal import ask_scores
from likewise.exceptions import ScoreError, SparkError
from likewise.schema import CodedTable, Schema
from likewise.schema._internal import KINDS
from likewise.spark._frames import ROW, NumberedRows, column, map_batches, quiet
from likewise.spark._schema import Survey

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Floats = NDArray[np.float64]
Ask = Callable[[Any, CodedTable], Any]  # (people as an Arrow table, their codes) → scores

GIVEN: Final = "given"  # raw scores, unchecked
OUTCOME: Final = "outcome"
PLANNED_ON: Final = 20_000  # sampled rows to plan joins with
HASHED: Final = ("sensitive", "discrete", "ordinal", "matched", "continuous", "labels")


@dataclass(frozen=True, slots=True, eq=False)
class Coder:
    """Encodes and scores the batches of a partition, on the executors."""

    schema: Schema
    reference: CodedTable  # holds the common codes: a batch lacks categories of other batches
    label: str | None  # None: all people share one label
    outcome: str | None = None
    ask: Ask | None = None

    @property
    def columns(self) -> dict[str, str]:
        """The output columns and their Spark types."""
        names = [(f"{kind}_{i}", kind) for kind in KINDS for i in range(len(self.reference.names[kind]))]
        coded = {name: "double" if kind == "continuous" else "int" for name, kind in names}
        more = {} if self.outcome is None else {OUTCOME: "double"}
        return {
            "row": "long",
            "label": "int",
            **coded,
            **more,
            **({} if self.ask is None else {GIVEN: "array<double>"}),
        }

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Encode the batches one by one."""
        import pyarrow as pa

        for batch in batches:
            if not batch.num_rows:
                continue
            people = pa.Table.from_batches([batch])
            frame = people.drop_columns([ROW])
            table = self.encode(frame)
            columns = {"row": people.column(ROW).combine_chunks(), "label": table.labels, **arrays_of(table)}
            if self.outcome is not None:
                columns[OUTCOME] = _as_floats(frame.column(self.outcome), f"Outcome '{self.outcome}'")
            if self.ask is not None:
                columns[GIVEN] = _as_lists(self.ask(frame, table), len(table))
            yield pa.RecordBatch.from_pydict(columns)

    def encode(self, frame: pa.Table) -> CodedTable:
        """Encode some people in the common codes."""
        if self.label is None:
            y: Any = np.zeros(len(frame), np.int64)
        else:
            y = None if self.schema.roles.label == self.label else frame.column(self.label)
        return self.schema.encode(frame, y).aligned_to(self.reference)


def arrays_of(table: CodedTable) -> dict[str, NDArray[Any]]:
    """Return the columns of a coded table by their names in a coded frame."""
    return {
        f"{kind}_{i}": np.ascontiguousarray(column) for kind in KINDS for i, column in enumerate(getattr(table, kind).T)
    }


def refer(schema: Schema, survey: Survey, label: str | None) -> CodedTable:
    """Encode every value that occurs once: the common codes of all batches."""
    import pyarrow as pa

    roles = schema.roles
    names = [name for kind in KINDS for name in roles.names(kind)]
    n = max([1, *(len(survey.of(name)) for name in survey.values)])
    columns: dict[str, Any] = {name: _repeat(survey.of(name), n) for name in names}
    labels = np.zeros(n, np.int64) if label is None else _repeat(survey.of(label), n)
    if roles.row_id is not None:
        columns[roles.row_id] = np.arange(n)
    frame = pa.table(columns) if columns else pa.table({"nothing": np.zeros(n)})
    return schema.encode(frame, labels)


@dataclass(frozen=True, slots=True, eq=False)
class AskGiven:
    """Scores as the user passed them: a column name, or a model or function of pandas frames."""

    given: Any
    positive: Any

    def __call__(self, frame: pa.Table, table: CodedTable) -> Any:
        """Score a batch."""
        if hasattr(self.given, "score_batch"):  # a model file takes Arrow tables
            return self.given.score_batch(frame, table, self.positive)
        people = frame if isinstance(self.given, str) else frame.to_pandas()
        return ask_scores(self.given, people, table, self.positive)[0]


def _repeat(values: Any, n: int) -> Any:
    import pyarrow as pa

    if not len(values):
        return pa.nulls(n, values.type)
    return values.take(pa.array(np.minimum(np.arange(n), len(values) - 1)))


def _as_floats(column: Any, what: str) -> NDArray[np.float64]:
    try:
        return np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise ScoreError(f"{what} is not numeric. Provide one number per person.") from None


def _as_lists(found: Any, n_people: int) -> Any:
    """Return scores of any shape as lists; they are checked once all are collected."""
    import pyarrow as pa

    try:
        if hasattr(found, "to_pylist") and hasattr(found, "type"):
            found = found.to_numpy(zero_copy_only=False)
        values = np.asarray(found.to_numpy() if hasattr(found, "to_numpy") else found, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):
        raise ScoreError("The scores are not numbers. Provide one probability per person.") from None
    if values.ndim not in (1, 2) or len(values) != n_people:
        raise ScoreError(f"The scores of {n_people:,} people have shape {values.shape}. Provide one number per person.")
    width = values.size // max(n_people, 1)
    flat = pa.array(np.ascontiguousarray(values).ravel())
    return pa.ListArray.from_arrays(pa.array(np.arange(n_people + 1, dtype=np.int32) * width, pa.int32()), flat)


@dataclass(frozen=True, slots=True, eq=False)
class CodedPeople:
    """A coded frame cached by Spark, with its coder and row numbers."""

    frame: DataFrame
    coder: Coder
    numbered: NumberedRows

    @property
    def n_people(self) -> int:
        """The number of rows of the whole table."""
        return self.numbered.n_rows

    def forget(self) -> None:
        """Release what Spark has cached."""
        self.frame.unpersist()
        self.numbered.forget()

    def sample(self) -> CodedTable:
        """Return a sample of people as a coded table, used to plan joins."""
        share = min(1.0, 1.2 * PLANNED_ON / max(self.n_people, 1))
        with quiet():
            some = (
                (self.frame if share == 1.0 else self.frame.sample(fraction=share, seed=0)).limit(PLANNED_ON).toArrow()
            )
        return self._table(some, KINDS)

    def look_up(self, rows: NDArray[np.int64]) -> tuple[pa.Table, CodedTable]:
        """Return a few people by row: the user's values and the codes of all columns."""
        chosen = self.numbered.frame.where(column(ROW).isin([int(row) for row in rows]))
        with quiet():
            found = chosen.toArrow().sort_by(ROW)
        if not np.array_equal(found.column(ROW).to_numpy(), rows):
            raise SparkError(
                "The rows of the frame have changed since they were scored. Write it to Parquet, and audit that."
            )
        frame = found.drop_columns([ROW])
        return frame, self.coder.encode(frame)

    def gather(self) -> Gathering:
        """Collect labels, sensitive columns, scores and outcomes of all people, in row order."""
        n_sensitive = len(self.coder.reference.names["sensitive"])
        wanted = [name for name in (GIVEN, OUTCOME) if name in self.coder.columns]
        names = ["row", "label", *(f"sensitive_{i}" for i in range(n_sensitive)), *wanted]
        with quiet():
            found = self.frame.select(*names).toArrow()
        rows = found.column("row").to_numpy()
        order = np.empty(self.n_people, np.int64)
        if len(rows) != self.n_people or not np.array_equal(np.sort(rows), np.arange(self.n_people)):
            raise SparkError(
                f"The frame's {self.n_people:,} rows cannot be identified: a join repeats some, or they are "
                "partitioned differently on each run. Write it to Parquet, and audit that."
            )
        order[rows] = np.arange(self.n_people)
        found = found.drop_columns(["row"])
        return Gathering(
            table=self._table(found, ("sensitive",), order),
            given=_matrix(found.column(GIVEN), order) if GIVEN in wanted else None,
            outcomes=found.column(OUTCOME).to_numpy()[order] if OUTCOME in wanted else None,
        )

    def _table(self, coded: pa.Table, kinds: tuple[str, ...], order: Any = None) -> CodedTable:
        reference = self.coder.reference
        order = slice(None) if order is None else order
        names = {kind: reference.names[kind] for kind in kinds}
        arrays: dict[str, Any] = {
            kind: _side_by_side([coded.column(f"{kind}_{i}").to_numpy()[order] for i in range(len(named))], len(coded))
            for kind, named in names.items()
        }
        listed = [name for named in names.values() for name in named if name in reference.categories]
        known = {name: reference.categories[name] for name in listed}
        labels = coded.column("label").to_numpy()[order].astype(np.int32)
        return CodedTable(**arrays, labels=labels, classes=reference.classes, names=names, categories=known)


@dataclass(frozen=True, slots=True, eq=False)
class Gathering:
    """What the driver holds of all people: labels, sensitive codes, raw scores and regression outcomes."""

    table: CodedTable
    given: Floats | None
    outcomes: Floats | None


def code_people(numbered: NumberedRows, coder: Coder, wanted: list[str]) -> CodedPeople:
    """Encode and score the frame once, and cache the result in Spark."""
    frame = map_batches(numbered.frame.select(*map(column, [*wanted, ROW])), coder, coder.columns)
    return CodedPeople(frame.persist(), coder, numbered)


def _side_by_side(columns: list[NDArray[Any]], n_rows: int) -> NDArray[Any]:
    return np.asfortranarray(np.column_stack(columns)) if columns else np.empty((n_rows, 0), np.int32)


def _matrix(lists: Any, order: NDArray[np.int64]) -> Floats:
    import pyarrow.compute as pc

    widths = pc.unique(pc.list_value_length(lists)).to_pylist()
    if len(widths) > 1:
        raise ScoreError(
            f"Some people got {widths[0]} scores and some {widths[1]}. Provide one number per person, or one per "
            "person and label, in every batch."
        )
    width = widths[0] if widths else 1
    flat = pc.list_flatten(lists).to_numpy()
    values: Floats = flat.reshape(len(order), width)[order]
    return values[:, 0] if width == 1 else values


def hash_frame(coded: DataFrame, reference: CodedTable, n_rows: int) -> str:
    """Return the checksum that ``hash_table`` returns for the whole table in memory."""
    columns = {kind: [f"{kind}_{i}" for i in range(len(reference.names[kind]))] for kind in HASHED if kind != "labels"}
    columns["labels"] = ["label"]
    shapes = {kind: (n_rows, len(names)) for kind, names in columns.items()} | {"labels": (n_rows,)}
    digests = {kind: hashlib.sha256(str(shape).encode()) for kind, shape in shapes.items()}
    packed = map_batches(coded.orderBy("row"), _Packing(columns), dict.fromkeys(HASHED, "binary"))
    for row in packed.toLocalIterator():  # partition by partition, in row order
        for kind in HASHED:
            digests[kind].update(row[kind])
    known = {"names": reference.names, "categories": reference.categories, "classes": reference.classes}
    whole = hashlib.sha256(json.dumps(plain(known), sort_keys=True).encode())
    for kind in HASHED:
        whole.update(digests[kind].hexdigest().encode())
    return whole.hexdigest()


class _Packing:
    """Pack the codes of a batch as the bytes to hash: row by row, eight bytes per number."""

    def __init__(self, columns: dict[str, list[str]]) -> None:
        self._columns = columns

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            packed = {}
            for kind in HASHED:
                arrays = [batch.column(name).to_numpy(zero_copy_only=False) for name in self._columns[kind]]
                values = np.column_stack(arrays) if arrays else np.empty((0, 0))
                packed[kind] = [values.astype("<f8" if kind == "continuous" else "<i8").tobytes()]
            yield pa.RecordBatch.from_pydict(packed)
