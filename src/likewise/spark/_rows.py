"""Number the rows of a frame: by file and position in it, or, of frames that come from no files, by partition."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from likewise._spark_session import hushed
from likewise.spark._columns import quiet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROW: Final = "likewise row"  # beside columns of any name
FILE: Final = "likewise file"
PLACE: Final = "likewise place"
OFFSET: Final = "likewise offset"
PARTITION_BITS: Final = 33  # of Spark's increasing ids, those that count rows within a partition


@dataclass(frozen=True, slots=True, eq=False)
class NumberedRows:
    """A frame with the position of each row in the whole table, and what was kept of it in the meantime."""

    frame: DataFrame
    n_rows: int
    kept: tuple[DataFrame, ...]

    def forget(self) -> None:
        """Give back what was kept."""
        for frame in self.kept:
            frame.unpersist()


def number_rows(frame: DataFrame, files: Sequence[str] | None = None) -> NumberedRows:
    """Add the column :data:`ROW`; ``files`` gives their order, else they are sorted by their names."""
    placed = _place_in_files(frame)
    if placed is None:
        return _number_partitions(frame)
    return _number_files(placed, files)


def _place_in_files(frame: DataFrame) -> DataFrame | None:
    """Say of each row which file it is from and where it stands there; None where rows come from anywhere else."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as F  # noqa: N812

    try:
        if not frame.inputFiles():
            return None
        with hushed():
            places = F.col("_metadata.row_index").alias(PLACE)
            return frame.select("*", F.col("_metadata.file_path").alias(FILE), places)
    except AnalysisException:  # a join, a union, a CSV file
        return None


def _number_files(placed: DataFrame, order: Sequence[str] | None) -> NumberedRows:
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    counted = placed.groupBy(f"`{FILE}`").agg(F.count(F.lit(1)), F.max(f"`{PLACE}`")).collect()
    given = {_plain(path): place for place, path in enumerate(order or ())}
    counted.sort(key=lambda row: (given.get(_plain(row[0]), len(given)), row[0]))
    offsets, n_rows, are_whole = [], 0, True
    for path, n, last in counted:
        offsets.append((path, n_rows))
        n_rows += n
        are_whole = are_whole and n == last + 1
    place = F.col(f"`{PLACE}`")
    if not are_whole:  # rows were left out: those that stay close ranks
        place = F.row_number().over(Window.partitionBy(f"`{FILE}`").orderBy(f"`{PLACE}`")) - 1
    started = _frame_of(placed, offsets, {FILE: "string", OFFSET: "long"})
    numbered = placed.withColumn(PLACE, place).join(F.broadcast(started), FILE)
    return NumberedRows(_with_row(numbered, FILE), n_rows, ())


def _number_partitions(frame: DataFrame) -> NumberedRows:
    """Number rows by partition; the frame is kept, as another run might deal its rows out differently."""
    from pyspark.sql import functions as F  # noqa: N812

    ids = F.monotonically_increasing_id()
    kept = frame.withColumn(PLACE, ids).persist()
    partition = F.shiftright(F.col(f"`{PLACE}`"), PARTITION_BITS)
    counted = sorted(tuple(row) for row in kept.groupBy(partition).count().collect())
    offsets, n_rows = [], 0
    for number, n in counted:
        offsets.append((number, n_rows))
        n_rows += n
    started = _frame_of(frame, offsets, {FILE: "long", OFFSET: "long"})
    numbered = kept.withColumn(FILE, partition).join(F.broadcast(started), FILE)
    within = F.col(f"`{PLACE}`").bitwiseAND(F.lit((1 << PARTITION_BITS) - 1))
    return NumberedRows(_with_row(numbered.withColumn(PLACE, within), FILE), n_rows, (kept,))


def _plain(path: str) -> str:
    """Name a file so that Spark's ways to write its path are one: file:/a, file:///a."""
    return re.sub(r"^(\w+):/+", r"\1:/", unquote(path))


def _with_row(numbered: DataFrame, *spent: str) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    row = (F.col(f"`{PLACE}`") + F.col(f"`{OFFSET}`")).cast("long")
    return numbered.withColumn(ROW, row).drop(*spent, PLACE, OFFSET)


def _frame_of(beside: DataFrame, rows: list[tuple[Any, ...]], columns: dict[str, str]) -> DataFrame:
    kinds = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
    with quiet():
        return beside.sparkSession.createDataFrame(rows, kinds)
