"""Spark frames: columns by name, numbered rows, Arrow batches, and errors raised on executors."""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from likewise import exceptions
from likewise.exceptions import LikewiseError, SchemaError, SparkError
from likewise.schema._internal import open_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

ROW: Final = "likewise row"  # unlikely to clash with a user's column
FILE: Final = "likewise file"
PLACE: Final = "likewise place"
OFFSET: Final = "likewise offset"
PARTITION_BITS: Final = 33  # lower bits of Spark's increasing ids, which count rows within a partition
OURS: Final = re.compile(
    r"^likewise\.exceptions\.(\w+): (.+?)(?=\n\s*\n|\n\s*SQLSTATE|\n\s*at |\nTraceback|\nDriver|\Z)", re.M | re.S
)
THEIRS: Final = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception|Warning|Interrupt)): (.+)$", re.M)
MAX_REASON: Final = 300  # characters of a foreign error message; Spark's own run to pages


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
    use_this_python(frame.sparkSession)
    names = list(frame.columns)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"The frame has several columns named '{twice[0]}'. Give each column its own name.")
    alike = sorted({name for name in names if [one.casefold() for one in names].count(name.casefold()) > 1})
    if alike and str(frame.sparkSession.conf.get("spark.sql.caseSensitive", "false")).lower() != "true":
        raise SchemaError(f"Spark takes the columns named '{alike[0]}' and '{alike[1]}' for one. Rename one of them.")
    for name in names:
        if "`" in name or "." in name:
            what = "backtick, with which Spark quotes names" if "`" in name else "dot, which Spark takes for a field"
            raise SchemaError(f"The column named '{name}' has a {what}. Rename it, or drop it.")
    with quiet():
        empty = frame.limit(0).toArrow()
    open_frame(empty)
    return empty


def use_this_python(session: SparkSession) -> None:
    """Let executors on this machine run this Python where nobody chose one: Spark takes the first on the PATH."""
    context = getattr(session, "sparkContext", None)  # absent in Spark Connect
    if context is not None and context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = session.conf.get("spark.pyspark.python", None) or sys.executable


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
    from pyspark.sql import functions as F  # noqa: N812

    placed = _place_in_files(frame)
    if placed is not None:
        return _number_parts(placed, "string", files)
    # by partition; the frame is cached, as another run may partition it differently
    kept, place = frame.withColumn(PLACE, F.monotonically_increasing_id()).persist(), F.col(f"`{PLACE}`")
    parted = kept.withColumn(FILE, F.shiftright(place, PARTITION_BITS))
    within = place.bitwiseAND(F.lit((1 << PARTITION_BITS) - 1))
    return _number_parts(parted.withColumn(PLACE, within), "long", None, (kept,))


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


def _number_parts(
    placed: DataFrame, kind: str, order: Sequence[str] | None, kept: tuple[DataFrame, ...] = ()
) -> NumberedRows:
    """Number rows by their part, of some ``kind``, and their place in it."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    counted = placed.groupBy(f"`{FILE}`").agg(F.count(F.lit(1)), F.max(f"`{PLACE}`")).collect()
    given = {_plain(path): place for place, path in enumerate(order or ())}
    counted.sort(key=lambda row: (given.get(_plain(str(row[0])), len(given)), row[0]))
    offsets, n_rows, are_whole = [], 0, True
    for path, n, last in counted:
        offsets.append((path, n_rows))
        n_rows += n
        are_whole = are_whole and n == last + 1
    place = F.col(f"`{PLACE}`")
    if not are_whole:  # rows were filtered out: number the remaining ones without gaps
        place = F.row_number().over(Window.partitionBy(f"`{FILE}`").orderBy(f"`{PLACE}`")) - 1
    with quiet():
        started = placed.sparkSession.createDataFrame(offsets, f"`{FILE}` {kind}, `{OFFSET}` long")
    numbered = placed.withColumn(PLACE, place).join(F.broadcast(started), FILE)
    row = (F.col(f"`{PLACE}`") + F.col(f"`{OFFSET}`")).cast("long")
    return NumberedRows(numbered.withColumn(ROW, row).drop(FILE, PLACE, OFFSET), n_rows, kept)


def _plain(path: str) -> str:
    """Normalise a path: Spark writes both file:/a and file:///a."""
    return re.sub(r"^(\w+):/+", r"\1:/", unquote(path))


@contextmanager
def faults(doing: str) -> Iterator[None]:
    """Raise likewise's own errors from an executor, and others as one sentence instead of a Java stack trace."""
    with spark_faults(doing):
        try:
            yield
        except spark_errors() as error:
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


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the classes of Spark's errors."""
    from pyspark.errors import PySparkException

    with suppress(ImportError):  # a client of Spark Connect has no Java behind it
        from py4j.protocol import Py4JError

        return PySparkException, Py4JError
    return (PySparkException,)


@contextmanager
def spark_faults(doing: str) -> Iterator[None]:
    """Raise Spark's errors as one sentence, "Spark failed while {doing}: ...", instead of a Java stack trace."""
    try:
        yield
    except spark_errors() as error:
        raise SparkError(f"Spark failed while {doing}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """Return the innermost cause in Spark's message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    reason = (causes or lines or [type(error).__name__])[-1 if causes else 0]
    short = reason if len(reason) <= MAX_REASON else reason[: MAX_REASON - 1] + "…"
    return short if short.endswith((".", "…", "!", "?")) else f"{short}."


@contextmanager
def hushed() -> Iterator[None]:
    """Silence Spark's log of a query that may fail."""
    logger = logging.getLogger("DataFrameQueryContextLogger")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
