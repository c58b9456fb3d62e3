"""Spark frames: columns by name, numbered rows, Arrow batches, and errors raised on executors."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from likewise import exceptions
from likewise._spark_session import hushed, spark_faults
from likewise.exceptions import LikewiseError, SchemaError, SparkError
from likewise.schema._internal import open_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

ROW: Final = "likewise row"  # unlikely to clash with a user's column
FILE: Final = "likewise file"
PLACE: Final = "likewise place"
OFFSET: Final = "likewise offset"
PARTITION_BITS: Final = 33  # lower bits of Spark's increasing ids, which count rows within a partition
OURS: Final = re.compile(
    r"^likewise\.exceptions\.(\w+): (.+?)(?=\n\s*\n|\n\s*SQLSTATE|\n\s*at |\nTraceback|\nDriver|\Z)", re.M | re.S
)
THEIRS: Final = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception|Warning|Interrupt)): (.+)$", re.M)
MAX_REASON: Final = 300  # characters of a foreign error message


def column(name: str) -> Column:
    """Return a column by its exact name, dots and spaces included."""
    from pyspark.sql import functions

    return functions.col(f"`{name.replace('`', '``')}`")


def check_frame(frame: Any) -> pa.Table:
    """Return an empty Arrow table with the columns of a Spark frame; refuse anything else."""
    if not hasattr(frame, "mapInArrow"):
        kind = f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}"
        raise TypeError(
            f"A {kind} is not a Spark DataFrame. Pass one, such as spark.read.parquet('people'); for tables in "
            "memory use likewise.audit and likewise.mine_pairs."
        )
    names = list(frame.columns)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"The frame has several columns named '{twice[0]}'. Give each column its own name.")
    with quiet():
        empty = frame.limit(0).toArrow()
    open_frame(empty)
    return empty


def map_batches(
    frame: DataFrame, function: Callable[[Iterator[Any]], Iterator[Any]], columns: Mapping[str, str]
) -> DataFrame:
    """Apply a function to the Arrow batches of each partition; ``columns`` are the names and types it yields."""
    with quiet():
        return frame.mapInArrow(function, ", ".join(f"`{name}` {kind}" for name, kind in columns.items()))


@contextmanager
def quiet() -> Iterator[None]:
    """Hide Spark's warning about new pandas versions: only Arrow is used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


@dataclass(frozen=True, slots=True, eq=False)
class NumberedRows:
    """A frame with the position of each row in the whole table, and the frames cached for it."""

    frame: DataFrame
    n_rows: int
    kept: tuple[DataFrame, ...]

    def forget(self) -> None:
        """Release the cached frames."""
        for frame in self.kept:
            frame.unpersist()


def number_rows(frame: DataFrame, files: Sequence[str] | None = None) -> NumberedRows:
    """Add the column :data:`ROW`; files are ordered as in ``files``, else by name."""
    placed = _place_in_files(frame)
    if placed is None:
        return _number_partitions(frame)
    return _number_files(placed, files)


def _place_in_files(frame: DataFrame) -> DataFrame | None:
    """Add file and position of each row; None if the rows do not come from files."""
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
    if not are_whole:  # rows were filtered out: number the remaining ones without gaps
        place = F.row_number().over(Window.partitionBy(f"`{FILE}`").orderBy(f"`{PLACE}`")) - 1
    started = _frame_of(placed, offsets, {FILE: "string", OFFSET: "long"})
    numbered = placed.withColumn(PLACE, place).join(F.broadcast(started), FILE)
    return NumberedRows(_with_row(numbered, FILE), n_rows, ())


def _number_partitions(frame: DataFrame) -> NumberedRows:
    """Number rows by partition; the frame is cached, as another run may partition it differently."""
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
    """Normalise a path: Spark writes both file:/a and file:///a."""
    return re.sub(r"^(\w+):/+", r"\1:/", unquote(path))


def _with_row(numbered: DataFrame, *spent: str) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    row = (F.col(f"`{PLACE}`") + F.col(f"`{OFFSET}`")).cast("long")
    return numbered.withColumn(ROW, row).drop(*spent, PLACE, OFFSET)


def _frame_of(beside: DataFrame, rows: list[tuple[Any, ...]], columns: dict[str, str]) -> DataFrame:
    kinds = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
    with quiet():
        return beside.sparkSession.createDataFrame(rows, kinds)


@contextmanager
def faults(doing: str) -> Iterator[None]:
    """Raise likewise's own errors from an executor, and others as one sentence instead of a Java stack trace."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with spark_faults(doing):
        try:
            yield
        except (PySparkException, Py4JError) as error:
            found = _error_in(str(error), doing)
            if found is None:
                raise
            raise found from error


def _error_in(text: str, doing: str) -> LikewiseError | None:
    """Return the error in the text of a Spark failure, the only form in which executors report theirs."""
    ours = OURS.search(text)
    if ours is not None:
        kind = getattr(exceptions, ours[1], SparkError)
        return kind(" ".join(ours[2].split())) if issubclass(kind, LikewiseError) else SparkError(ours[2])
    if "Python worker" not in text:
        return None
    if "No module named 'likewise'" in text:
        return SparkError(
            "likewise is not installed on Spark's executors. Install it there, or set PYSPARK_PYTHON to a Python that "
            "has it."
        )
    theirs = THEIRS.findall(text)
    if not theirs:
        return None
    kind_of_error, reason = theirs[-1]
    return SparkError(f"Spark failed while {doing}: {kind_of_error}: {reason.strip()[:MAX_REASON].rstrip('.')}.")
