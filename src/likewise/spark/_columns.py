"""Columns of a Spark frame by their names, whatever these are, and batches of rows as Arrow tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from likewise._checks import suggest
from likewise.exceptions import SchemaError
from likewise.schema import Roles
from likewise.schema._internal import KINDS, open_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame


def column(name: str) -> Column:
    """Name a column literally: dots and spaces mean nothing."""
    from pyspark.sql import functions

    return functions.col(f"`{name.replace('`', '``')}`")


def check_frame(frame: Any) -> pa.Table:
    """Give the columns of a Spark frame as a table without rows, or say that it is none."""
    if not hasattr(frame, "mapInArrow"):
        kind = f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}"
        raise TypeError(
            f"A {kind} is not a Spark DataFrame. Give one, such as spark.read.parquet('people'); tables in memory are "
            "for likewise.audit and likewise.mine_pairs."
        )
    names = list(frame.columns)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"The frame has several columns named '{twice[0]}'. Give each column its own name.")
    with quiet():
        empty = frame.limit(0).toArrow()
    open_frame(empty)
    return empty


def refuse_absent(names: Sequence[str], roles: Roles) -> None:
    """Name a column that has a role and that the frame lacks."""
    for role in (*KINDS, "row_id", "label"):
        for name in roles.names(role):
            if name not in names:
                the = "the " if role in ("label", "row_id") else ""
                raise SchemaError(f"The frame has no column '{name}', which is {the}{role}.{suggest(name, names)}")


def map_batches(
    frame: DataFrame, function: Callable[[Iterator[Any]], Iterator[Any]], columns: Mapping[str, str]
) -> DataFrame:
    """Run a function over the Arrow batches of each partition; ``columns`` are the names and types that it yields."""
    with quiet():
        return frame.mapInArrow(function, ", ".join(f"`{name}` {kind}" for name, kind in columns.items()))


@contextmanager
def quiet() -> Iterator[None]:
    """Keep to ourselves that Spark does not know the newest pandas: Arrow is all that is asked of it here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield
