"""Pairs found by Spark, of a table in memory or of a coded Spark frame; keys with very many rows are salted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._extras import require
from likewise._spark_session import open_session, spark_faults
from likewise.comparable._pairs import Rows
from likewise.comparable._rule import Comparability, check_rule
from likewise.comparable.engines._problem import Problem
from likewise.comparable.engines.spark._frame import (
    FramePlan,
    RuleColumns,
    add_sizes,
    check_columns,
    mark_missing,
    take_census,
)
from likewise.comparable.engines.sql._joins import neighbour_steps
from likewise.comparable.engines.sql._query import (
    HOT_KEYS,
    HOT_MEMBERS,
    LEFT_MEMBERS,
    LEFT_PEOPLE,
    RIGHT_MEMBERS,
    RIGHT_PEOPLE,
    Columns,
    PairQuery,
    SqlEngine,
    member_columns,
    people_columns,
)
from likewise.exceptions import SchemaError
from likewise.schema import CodedTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


LEAST_WORK: Final = 20_000_000  # pairs that meet in a join: no task is too long for so few
SHARES_A_TASK: Final = 4  # hot keys are cut into pieces of this part of a task's work
MOST_MEMBERS: Final = 2_000  # rows of one group that come together
USUAL_TASKS: Final = 200
COUNTED_ROWS: Final = 1_000_000  # from which hot keys are found


@dataclass(frozen=True, slots=True)
class SparkTables:
    """Frames and tables derived from them, by their names in queries; nothing stays in the session."""

    session: SparkSession
    frames: Mapping[str, DataFrame]
    derived: Mapping[str, str]  # what to select, each from frames, written {name}, and from those derived before

    def ask(self, query: str) -> DataFrame:
        """Put a query to the tables; it runs when its rows are asked for."""
        named = ", ".join(f"{name} AS ({select})" for name, select in self.derived.items())
        frames: dict[str, Any] = dict(self.frames)
        return self.session.sql(f"WITH {named} {query}", **frames)

    def fetch(self, query: str) -> dict[str, NDArray[Any]]:
        """Bring the few rows of an answer here."""
        return columns_of(self.ask(query))

    def adding(self, name: str, columns: Mapping[str, Any]) -> SparkTables:
        """Put one more table, a small one, before the others."""
        frame = to_frame(self.session, columns)
        return replace(
            self,
            frames={**self.frames, f"given_{name}": frame},
            derived={name: f"SELECT * FROM {{given_{name}}}", **self.derived},
        )

    def deriving(self, derived: Mapping[str, str]) -> SparkTables:
        """Derive some tables in another way."""
        return replace(self, derived={**self.derived, **derived})

    @property
    def n_shares(self) -> int:
        """Into how many pieces all work should be cut at least."""
        wanted = str(self.session.conf.get("spark.sql.shuffle.partitions"))
        # some vendors' Spark knows "auto"
        return SHARES_A_TASK * max(int(wanted) if wanted.isdecimal() else USUAL_TASKS, 1)


def to_frame(session: SparkSession, columns: Mapping[str, Any]) -> DataFrame:
    """Make a Spark frame of arrays, by way of Arrow."""
    arrow = require("pyarrow", extra="spark", purpose="Engine 'spark'")
    frame: DataFrame = session.createDataFrame(
        arrow.table({name: np.ascontiguousarray(values) for name, values in columns.items()})
    )
    return frame


def columns_of(frame: DataFrame) -> dict[str, NDArray[Any]]:
    """Bring the rows of a frame here."""
    table = frame.toArrow()
    return {name: table.column(name).to_numpy() for name in table.column_names}


def salt_keys(query: PairQuery, tables: SparkTables, n_people: int) -> tuple[PairQuery, SparkTables]:
    """Cut the few keys whose rows would meet in more than a task's share of all pairs into pieces."""
    if query.shape.n_candidates < LEAST_WORK:
        return query, tables
    n_shares = tables.n_shares
    share = max(LEAST_WORK, query.shape.n_candidates / n_shares)
    n_steps = len(neighbour_steps(len(query.shape.cell_parts), is_directed=not query.shape.is_one_table))
    one_in = max(n_people // COUNTED_ROWS, 1)
    counted = f"(SELECT * FROM {LEFT_PEOPLE} WHERE pmod(xxhash64(number), {one_in}) = 0)"
    found = tables.fetch(query.hot_keys(counted, max(int((share / n_steps) ** 0.5 / one_in), 2)))
    n_rows = found.pop("n_rows").astype(np.float64) * one_in
    n_salts = np.minimum(np.ceil(n_rows**2 * n_steps / share), n_shares).astype(np.int64)
    if not (n_salts > 1).any():
        return query, tables
    hot = {name: column[n_salts > 1] for name, column in found.items()}
    shape = replace(query.shape, has_salted_keys=True)
    return PairQuery(shape), tables.adding(HOT_KEYS, _one_a_salt(hot, n_salts[n_salts > 1]))


def salt_members(query: PairQuery, tables: SparkTables) -> tuple[PairQuery, SparkTables]:
    """Cut groups of very many equal rows into pieces, where pairs of groups become pairs of rows."""
    if not query.shape.is_collapsed:
        return query, tables
    hot = tables.fetch(f"SELECT number, n_members FROM {LEFT_PEOPLE} WHERE n_members > {MOST_MEMBERS}")
    n_members = hot.pop("n_members")
    if not len(n_members):
        return query, tables
    n_salts = np.array([ceil(n / MOST_MEMBERS) for n in n_members.tolist()], np.int64)
    shape = replace(query.shape, has_salted_members=True)
    return PairQuery(shape), tables.adding(HOT_MEMBERS, _one_a_salt(hot, n_salts))


def _one_a_salt(keys: Mapping[str, NDArray[Any]], n_salts: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    repeated = {name: np.repeat(column, n_salts) for name, column in keys.items()}
    starts = np.cumsum(n_salts) - n_salts
    salts = np.arange(int(n_salts.sum())) - np.repeat(starts, n_salts)
    return {**repeated, "salt": salts, "n_salts": np.repeat(n_salts, n_salts)}


CHUNK: Final = 1 << 19  # pairs handed out at a time
AT_ONCE: Final = 4_000_000  # pairs fetched and sorted here at a time
LEFT_ROWS_A_BIN: Final = 1_000  # at least: pairs are counted by such bins of left rows
MOST_BINS: Final = 10_000


class SparkEngine(SqlEngine):
    """Solve a problem with SQL equi-joins in the active Spark session, or in one of its own on this machine."""

    def __init__(self, problem: Problem) -> None:
        session = open_session("Engine 'spark'")
        super().__init__(problem)
        if not self._has_pairs:
            return
        groups, conditions, keys, shape = self._reduce()
        query = PairQuery(replace(shape, is_one_join=True))
        with spark_faults("taking the table"):
            frames = dict(self._frames(session, LEFT_PEOPLE, people_columns(problem, groups, conditions, keys)))
            if groups.is_collapsed:
                frames |= self._frames(session, LEFT_MEMBERS, member_columns(problem, groups))
            tables = SparkTables(session, frames, {name: f"SELECT * FROM {{{name}}}" for name in frames})
            self._query, self._tables = salt_keys(query, tables, len(groups.first_row))

    def _frames(
        self, session: SparkSession, left_name: str, sides: tuple[Columns, Columns]
    ) -> Iterator[tuple[str, DataFrame]]:
        """Hand over the left and the right table of a kind; just one, if they are the same."""
        left = to_frame(session, sides[0])
        yield left_name, left
        right_name = RIGHT_PEOPLE if left_name == LEFT_PEOPLE else RIGHT_MEMBERS
        yield right_name, left if self._problem.n_right is None else to_frame(session, sides[1])

    def chunks(self, rows: NDArray[np.integer[Any]] | None = None) -> Iterator[tuple[Rows, Rows]]:
        if not self._has_pairs or (rows is not None and not len(rows)):
            return
        tables, wanted = self._tables, None
        with spark_faults("looking for pairs"):
            if rows is not None:
                tables = tables.adding("wanted", {"wanted_row": np.asarray(rows, np.int32)})
                wanted = "{row} IN (SELECT wanted.wanted_row FROM wanted)"
            for left, right in self._fetched(tables.ask(self._query.pairs(wanted))):
                order = np.lexsort((right, left))
                for start in range(0, len(order), CHUNK):
                    some = order[start : start + CHUNK]
                    yield left[some], right[some]

    def _fetched(self, found: DataFrame) -> Iterator[tuple[Rows, Rows]]:
        """Fetch pairs by ascending ranges of left rows, as many at a time as may be."""
        if self._query.shape.n_candidates <= AT_ONCE:
            yield _as_rows(found)
            return
        n_left = self._problem.n_left
        width = max(LEFT_ROWS_A_BIN, -(-n_left // MOST_BINS))
        found.persist()  # in memory or on disk, so that the joins run once
        try:
            tally = columns_of(found.groupBy((found.left_row / width).cast("long").alias("bin")).count())
            counts = np.zeros(n_left // width + 1, np.int64)
            counts[tally["bin"]] = tally["count"]
            for start, end in pairwise(_cut(counts)):
                if counts[start:end].any():
                    yield _as_rows(found.where(found.left_row.between(start * width, end * width - 1)))
        finally:
            found.unpersist()

    def _fetch(self, query: str) -> dict[str, NDArray[Any]]:
        with spark_faults("counting pairs"):
            return self._tables.fetch(query)


def _as_rows(found: DataFrame) -> tuple[Rows, Rows]:
    pairs = columns_of(found)
    return pairs["left_row"].astype(np.int32, copy=False), pairs["right_row"].astype(np.int32, copy=False)


def _cut(counts: NDArray[np.int64]) -> list[int]:
    """Cut bins into runs of so many pairs at most, or of one bin."""
    edges, so_far = [0], 0
    for number, count in enumerate(counts.tolist()):
        if so_far and so_far + count > AT_ONCE:
            edges.append(number)
            so_far = 0
        so_far += count
    return [*edges, len(counts)]


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
    _check_carry(carry)
    coded, plan = _plan(coded, rule, sample, carry)
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
    coded, plan = _plan(coded, rule, sample, ())
    if plan is None:
        return np.empty((0, 2 + 2 * sample.sensitive.shape[1]), np.int64)
    with spark_faults("counting pairs"):
        query = PairQuery(plan.shape(gives_rows=False))
        tables = SparkTables(coded.sparkSession, {"coded": coded}, plan.tables())
        query, tables = salt_keys(query, tables, plan.n_people)
        found = {name: column.astype(np.int64) for name, column in tables.fetch(query.counts()).items()}
    ones, others = plan.combinations(found["first_one"]), plan.combinations(found["second_one"])
    return np.column_stack([found["label"], ones, others, found["n_pairs"]])


def _plan(
    coded: DataFrame, rule: Comparability, sample: CodedTable, carry: Sequence[str]
) -> tuple[DataFrame, FramePlan | None]:
    """Return the frame with all columns that the queries need, and their plan; None if the frame has no rows."""
    require("pyspark.sql", extra="spark", purpose="A coded Spark frame")
    check_rule(rule)
    if not isinstance(sample, CodedTable):
        raise SchemaError(f"The sample is a {type(sample).__name__}; give some of the rows as a CodedTable.")
    columns = RuleColumns.of(rule, sample)
    check_columns(coded, columns, carry)
    with spark_faults("looking through the coded frame"):
        coded, columns = add_sizes(*mark_missing(coded, columns))
        census = take_census(coded, columns)
    if not census.n_rows:
        return coded, None
    if not len(sample):
        raise SchemaError(f"The sample has no rows, the coded frame {census.n_rows:,}. Put some of these into it.")
    return coded, FramePlan.of(columns, census, sample, carry)


def _check_carry(carry: Sequence[str]) -> None:
    if isinstance(carry, str):
        raise SchemaError(f"carry is the text {carry!r}; give a sequence of column names.")
    if len(set(carry)) < len(carry) or "row" in carry:
        raise SchemaError(f"carry is {list(carry)}; name each column once, and not 'row', which every pair has.")
