"""Batches of a Spark frame → codes and scores, by the very functions that code and score a table in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._internal import ask_scores
from likewise.exceptions import ScoreError
from likewise.schema import CodedTable, Schema
from likewise.schema._internal import KINDS
from likewise.spark._rows import ROW
from likewise.spark._survey import Survey

if TYPE_CHECKING:
    import pyarrow as pa

Ask = Callable[[Any, CodedTable], Any]  # people of an Arrow table, and their codes → what a model says of them

GIVEN: Final = "given"  # scores as the model gave them, unchecked
OUTCOME: Final = "outcome"


@dataclass(frozen=True, slots=True, eq=False)
class Coder:
    """Code the batches of a partition, and score them; it travels to the executors."""

    schema: Schema
    reference: CodedTable  # in the codes of all people: those of a batch know nothing of the others' categories
    label: str | None  # None where all people count as one label
    outcome: str | None = None
    ask: Ask | None = None

    @property
    def columns(self) -> dict[str, str]:
        """What comes out, and as which type of Spark's."""
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
        """Code one batch after the other."""
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
        """Code some people in the codes of all."""
        if self.label is None:
            y: Any = np.zeros(len(frame), np.int64)
        else:
            y = None if self.schema.roles.label == self.label else frame.column(self.label)
        return self.schema.encode(frame, y).aligned_to(self.reference)


def arrays_of(table: CodedTable) -> dict[str, NDArray[Any]]:
    """Give the columns of a coded table one by one, as they are called in a coded frame."""
    return {
        f"{kind}_{i}": np.ascontiguousarray(column) for kind in KINDS for i, column in enumerate(getattr(table, kind).T)
    }


def refer(schema: Schema, survey: Survey, label: str | None) -> CodedTable:
    """Code every value that occurs anywhere once, so that all batches can be brought into the same codes."""
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
    """Ask what the user gave for scores: a column's name, a model or a function, which are shown pandas frames."""

    given: Any
    positive: Any

    def __call__(self, frame: pa.Table, table: CodedTable) -> Any:
        """Score a batch."""
        if hasattr(self.given, "score_batch"):  # a model file, which takes Arrow
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
        raise ScoreError(f"{what} are not numbers. Give one a person.") from None


def _as_lists(found: Any, n_people: int) -> Any:
    """Put scores of any shape into lists; whether they make sense is asked when all are there."""
    import pyarrow as pa

    try:
        if hasattr(found, "to_pylist") and hasattr(found, "type"):
            found = found.to_numpy(zero_copy_only=False)
        values = np.asarray(found.to_numpy() if hasattr(found, "to_numpy") else found, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):
        raise ScoreError("The scores are not numbers. Give one probability per person.") from None
    if values.ndim not in (1, 2) or len(values) != n_people:
        raise ScoreError(f"The scores of {n_people:,} people have shape {values.shape}. Give one number a person.")
    width = values.size // max(n_people, 1)
    flat = pa.array(np.ascontiguousarray(values).ravel())
    return pa.ListArray.from_arrays(pa.array(np.arange(n_people + 1, dtype=np.int32) * width, pa.int32()), flat)
