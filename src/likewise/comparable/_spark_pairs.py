"""Comparable pairs of people whom Spark holds: the pairs stay there, however many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from likewise._extras import require
from likewise._spark_session import spark_faults
from likewise.comparable._rule import Comparability
from likewise.exceptions import RuleError, SchemaError
from likewise.schema import CodedTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from likewise.comparable.engines.spark._frame import FramePlan

__all__ = ["count_spark_pairs", "spark_pairs"]


def spark_pairs(coded: DataFrame, rule: Comparability, sample: CodedTable, *, carry: Sequence[str] = ()) -> DataFrame:
    """Find every comparable pair of a coded Spark frame, in Spark.

    Nothing proportional to the rows or the pairs comes to the driver. The frame is looked through once at the call,
    for the range of each column, and a second time if some keys may have very many rows; persist it if it is dear.

    Parameters
    ----------
    coded : DataFrame
        One row a person: ``row`` (a whole number, different in each, 0 or more), ``label``, ``sensitive_0``, ...,
        ``discrete_0``, ..., ``ordinal_0``, ..., ``matched_0``, ... (codes), ``continuous_0``, ... (double), as a
        :class:`~likewise.CodedTable` has them, and what is to be carried along.
    rule : Comparability
        When two rows are comparable.
    sample : CodedTable
        Some of the rows, a few thousand at best, in the same codes: its names are those that the rule speaks of, and
        the joins are planned on it.
    carry : sequence of str
        Columns whose values come along with both rows of a pair.

    Returns
    -------
    DataFrame
        Each pair once, in no order: ``left_row`` < ``right_row``, ``label``, and ``left_<name>``, ``right_<name>`` of
        each carried column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pyspark.sql import SparkSession
    >>> from likewise.comparable import Comparability, spark_pairs
    >>> from likewise.schema import CodedTable
    >>> spark = SparkSession.builder.getOrCreate()
    >>> coded = spark.createDataFrame(pa.table({"row": [0, 1, 2], "label": [1, 1, 1], "sensitive_0": [0, 1, 1],
    ...     "continuous_0": [0.5, 0.51, 0.9], "score": [0.2, 0.8, 0.3]}))
    >>> sample = CodedTable(sensitive=[[0], [1]], continuous=[[0.5], [0.9]], labels=[1, 1])
    >>> pairs = spark_pairs(coded, Comparability(max_continuous_shift=0.025), sample, carry=["score"])
    >>> pairs.collect()
    [Row(left_row=0, right_row=1, label=1, left_score=0.2, right_score=0.8)]
    """
    from likewise.comparable.engines.spark._engine import SparkTables, salt_keys, salt_members
    from likewise.comparable.engines.sql._query import PairQuery

    _check_carry(carry)
    plan = _plan(coded, rule, sample, carry)
    names = ["left_row", "right_row", "label", *(f"{side}_{name}" for name in carry for side in ("left", "right"))]
    with spark_faults("looking for pairs"):
        if plan is None:
            twice = [f"`{name}`" for name in ("row", *carry) for _ in range(2)]
            return coded.where("false").selectExpr(*twice[:2], "label", *twice[2:]).toDF(*names)
        query = PairQuery(plan.shape(gives_rows=True))
        tables = SparkTables(coded.sparkSession, {"coded": coded}, plan.tables())
        query, tables = salt_keys(query, tables, plan.n_people)
        query, tables = salt_members(query, tables)
        if query.shape.has_salted_members:
            tables = tables.deriving(plan.tables(has_salted_members=True))
        return tables.ask(query.pairs()).toDF(*names)


def count_spark_pairs(coded: DataFrame, rule: Comparability, sample: CodedTable) -> NDArray[np.int64]:
    """Count the comparable pairs of a coded Spark frame by label and sensitive values, in Spark, without listing them.

    Parameters
    ----------
    coded, rule, sample
        As for :func:`spark_pairs`.

    Returns
    -------
    array of int, shape (n, 2 + 2 * number of sensitive columns)
        In each row a label code, the sensitive codes of one person, those of the other, and how many pairs are such;
        of the two people the one whose codes come first in order. Sorted; only what occurs.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pyspark.sql import SparkSession
    >>> from likewise.comparable import Comparability, count_spark_pairs
    >>> from likewise.schema import CodedTable
    >>> spark = SparkSession.builder.getOrCreate()
    >>> coded = spark.createDataFrame(pa.table({"row": [0, 1, 2], "label": [1, 1, 1], "sensitive_0": [1, 0, 1]}))
    >>> count_spark_pairs(coded, Comparability(), CodedTable(sensitive=[[0], [1]], labels=[1, 1]))
    array([[1, 0, 1, 2]])
    """
    from likewise.comparable.engines.spark._engine import SparkTables, salt_keys
    from likewise.comparable.engines.sql._query import PairQuery

    plan = _plan(coded, rule, sample, ())
    if plan is None:
        return np.empty((0, 2 + 2 * sample.sensitive.shape[1]), np.int64)
    with spark_faults("counting pairs"):
        query = PairQuery(plan.shape(gives_rows=False))
        tables = SparkTables(coded.sparkSession, {"coded": coded}, plan.tables())
        query, tables = salt_keys(query, tables, plan.n_people)
        found = {name: column.astype(np.int64) for name, column in tables.fetch(query.counts()).items()}
    ones, others = plan.combinations(found["first_one"]), plan.combinations(found["second_one"])
    return np.column_stack([found["label"], ones, others, found["n_pairs"]])


def _plan(coded: DataFrame, rule: Comparability, sample: CodedTable, carry: Sequence[str]) -> FramePlan | None:
    """Plan the queries; None if the frame has no rows."""
    require("pyspark.sql", extra="spark", purpose="A coded Spark frame")
    from likewise.comparable.engines.spark._frame import FramePlan, RuleColumns, check_columns, take_census

    if not isinstance(rule, Comparability):
        raise RuleError(f"The rule is {rule!r}; give a Comparability, such as Comparability(max_discrete_changes=1).")
    if not isinstance(sample, CodedTable):
        raise SchemaError(f"The sample is a {type(sample).__name__}; give some of the rows as a CodedTable.")
    columns = RuleColumns.of(rule, sample)
    check_columns(coded, columns, carry)
    with spark_faults("looking through the coded frame"):
        census = take_census(coded, columns)
    if not census.n_rows:
        return None
    if not len(sample):
        raise SchemaError(f"The sample has no rows, the coded frame {census.n_rows:,}. Put some of these into it.")
    return FramePlan.of(columns, census, sample, carry)


def _check_carry(carry: Sequence[str]) -> None:
    if isinstance(carry, str):
        raise SchemaError(f"carry is the text {carry!r}; give a sequence of column names.")
    if len(set(carry)) < len(carry) or "row" in carry:
        raise SchemaError(f"carry is {list(carry)}; name each column once, and not 'row', which every pair has.")
