"""The comparable pairs of people in a Spark frame, as a Spark frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likewise.comparable import Comparability, spark_pairs
from likewise.exceptions import RuleError
from likewise.schema import Roles, Schema
from likewise.spark._asking import Asked, ask_frame
from likewise.spark._frames import faults

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def mine_pairs(
    frame: DataFrame, *, roles: Roles | Schema, rule: Comparability | None = None, label: str | None = None
) -> DataFrame:
    """Find every comparable pair of people; nothing is computed before the result is used, but what the columns hold.

    Parameters
    ----------
    frame : Spark DataFrame
        The people.
    roles : Roles or Schema
        What the columns are; with roles alone, the ranges of continuous columns are those of the frame.
    rule : Comparability, optional
        When two people are comparable; ``Comparability()`` if not given.
    label : str, optional
        The column of the label, where the roles name none.

    Returns
    -------
    Spark DataFrame
        ``left_row`` and ``right_row``, each pair once with ``left_row < right_row``, in no order. Rows count from 0:
        by file, in the order of their names, and position in it; in a frame that comes from no Parquet files, by
        partition. Spark keeps the coded people for it, until ``unpersist`` or the end of the session.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pyspark.sql import SparkSession
    >>> import likewise.spark
    >>> from likewise import Roles
    >>> session = SparkSession.builder.getOrCreate()
    >>> people = session.createDataFrame(pa.table({"sex": ["f", "m", "m"], "age": [31, 31, 60], "hired": [1, 1, 0]}))
    >>> roles = Roles(sensitive="sex", continuous="age", label="hired")
    >>> [tuple(row) for row in likewise.spark.mine_pairs(people, roles=roles).collect()]
    [(0, 1)]
    """
    rule = Comparability() if rule is None else rule
    if not isinstance(rule, Comparability):
        raise RuleError(f"The rule is {rule!r}; give a Comparability, such as Comparability(max_discrete_changes=1).")
    with faults("coding the people"):
        people, _ = ask_frame(frame, Asked(scores=None, roles=roles, rule=rule, label=label))
        pairs = spark_pairs(people.frame, rule, people.sample())
    return pairs.select("left_row", "right_row")
