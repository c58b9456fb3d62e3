"""People as a coded Spark frame, and the little of them that the driver holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.exceptions import ScoreError, SparkError
from likewise.schema import CodedTable
from likewise.schema._internal import KINDS
from likewise.spark._coding import GIVEN, OUTCOME, Coder
from likewise.spark._columns import column, map_batches, quiet
from likewise.spark._rows import ROW, NumberedRows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Floats = NDArray[np.float64]

PLANNED_ON: Final = 20_000  # rows by which joins are planned


@dataclass(frozen=True, slots=True, eq=False)
class CodedPeople:
    """A coded frame that Spark keeps, with what made it."""

    frame: DataFrame
    coder: Coder
    numbered: NumberedRows

    @property
    def n_people(self) -> int:
        """Rows of the whole table."""
        return self.numbered.n_rows

    def forget(self) -> None:
        """Give back what Spark keeps."""
        self.frame.unpersist()
        self.numbered.forget()

    def sample(self) -> CodedTable:
        """Take some people as an ordinary table: what the others are like, so that joins can be planned."""
        share = min(1.0, 1.2 * PLANNED_ON / max(self.n_people, 1))
        with quiet():
            some = (
                (self.frame if share == 1.0 else self.frame.sample(fraction=share, seed=0)).limit(PLANNED_ON).toArrow()
            )
        return self._table(some, KINDS)

    def look_up(self, rows: NDArray[np.int64]) -> tuple[pa.Table, CodedTable]:
        """Fetch a few people, ascending by row: the user's values, and the codes of all columns."""
        chosen = self.numbered.frame.where(column(ROW).isin([int(row) for row in rows]))
        with quiet():
            found = chosen.toArrow().sort_by(ROW)
        if not np.array_equal(found.column(ROW).to_numpy(), rows):
            raise SparkError(
                "The frame has other rows now than when they were scored. Write it to Parquet, and audit that."
            )
        frame = found.drop_columns([ROW])
        return frame, self.coder.encode(frame)

    def gather(self) -> Gathering:
        """Bring labels, sensitive columns, scores and outcomes of all people to the driver, in the order of rows."""
        n_sensitive = len(self.coder.reference.names["sensitive"])
        wanted = [name for name in (GIVEN, OUTCOME) if name in self.coder.columns]
        names = ["row", "label", *(f"sensitive_{i}" for i in range(n_sensitive)), *wanted]
        with quiet():
            found = self.frame.select(*names).toArrow()
        rows = found.column("row").to_numpy()
        order = np.empty(self.n_people, np.int64)
        if len(rows) != self.n_people or not np.array_equal(np.sort(rows), np.arange(self.n_people)):
            raise SparkError(
                f"The frame's {self.n_people:,} rows cannot be told apart: a join repeats some, or another run deals "
                "them out differently. Write it to Parquet, and audit that."
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
    """What the driver holds of everybody: label and sensitive codes, scores as given, outcomes of a regression."""

    table: CodedTable
    given: Floats | None
    outcomes: Floats | None


def code_people(numbered: NumberedRows, coder: Coder, wanted: list[str]) -> CodedPeople:
    """Code and score the frame once; Spark keeps the codes for all that follows."""
    frame = map_batches(numbered.frame.select(*map(column, [*wanted, ROW])), coder, coder.columns)
    return CodedPeople(frame.persist(), coder, numbered)


def _side_by_side(columns: list[NDArray[Any]], n_rows: int) -> NDArray[Any]:
    return np.asfortranarray(np.column_stack(columns)) if columns else np.empty((n_rows, 0), np.int32)


def _matrix(lists: Any, order: NDArray[np.int64]) -> Floats:
    import pyarrow.compute as pc

    widths = pc.unique(pc.list_value_length(lists)).to_pylist()
    if len(widths) > 1:
        raise ScoreError(
            f"Some people got {widths[0]} scores and some {widths[1]}. Give one number a person, or one a person and "
            "label, in every batch."
        )
    width = widths[0] if widths else 1
    flat = pc.list_flatten(lists).to_numpy()
    values: Floats = flat.reshape(len(order), width)[order]
    return values[:, 0] if width == 1 else values
