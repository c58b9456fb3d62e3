"""Pairs of a coded Spark frame, found and counted in Spark; keys with very many rows are salted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.comparable import Comparability
from likewise.schema import CodedTable
from likewise.spark._coded_frame import FramePlan, RuleColumns, add_sizes, mark_missing, take_census
from likewise.spark._frames import spark_faults
from likewise.spark._joins import neighbour_steps
from likewise.spark._query import HOT_KEYS, HOT_MEMBERS, PEOPLE, PairQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Columns = dict[str, NDArray[Any]]

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

    def fetch(self, query: str) -> Columns:
        """Bring the few rows of an answer here."""
        table = self.ask(query).toArrow()
        return {name: table.column(name).to_numpy() for name in table.column_names}

    def adding(self, name: str, columns: Mapping[str, Any]) -> SparkTables:
        """Put one more table, a small one, before the others."""
        import pyarrow as pa

        frame = self.session.createDataFrame(pa.table(dict(columns)))
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


def salt_keys(query: PairQuery, tables: SparkTables, n_people: int) -> tuple[PairQuery, SparkTables]:
    """Cut the few keys whose rows would meet in more than a task's share of all pairs into pieces."""
    if query.shape.n_candidates < LEAST_WORK:
        return query, tables
    n_shares = tables.n_shares
    share = max(LEAST_WORK, query.shape.n_candidates / n_shares)
    n_steps = len(neighbour_steps(len(query.shape.cell_parts)))
    one_in = max(n_people // COUNTED_ROWS, 1)
    counted = f"(SELECT * FROM {PEOPLE} WHERE pmod(xxhash64(number), {one_in}) = 0)"
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
    hot = tables.fetch(f"SELECT number, n_members FROM {PEOPLE} WHERE n_members > {MOST_MEMBERS}")
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


def find_pairs(coded: DataFrame, rule: Comparability, sample: CodedTable, *, carry: Sequence[str] = ()) -> DataFrame:
    """Find every comparable pair of a coded frame: ``left_row``, ``right_row``, ``label`` and what rows carry.

    Nothing proportional to the rows or the pairs comes to the driver. The frame is looked through once at the call,
    for the range of each column, and a second time if some keys may have very many rows. It has a row a person:
    ``row`` (from 0 on), ``label``, and codes (``sensitive_0``, ...) as a :class:`~likewise.CodedTable` has them; the
    joins are planned on a sample of the rows.
    """
    coded, plan = _plan(coded, rule, sample, carry)
    names = ["left_row", "right_row", "label", *(f"{side}_{name}" for name in carry for side in ("left", "right"))]
    with spark_faults("looking for pairs"):
        if plan is None:
            twice = [f"`{name}`" for name in ("row", *carry) for _ in range(2)]
            return coded.where("false").selectExpr(*twice[:2], "label", *twice[2:]).toDF(*names)
        query = PairQuery(plan.shape())
        tables = SparkTables(coded.sparkSession, {"coded": coded}, plan.tables())
        query, tables = salt_keys(query, tables, plan.n_people)
        query, tables = salt_members(query, tables)
        if query.shape.has_salted_members:
            tables = tables.deriving(plan.tables(has_salted_members=True))
        return tables.ask(query.pairs()).toDF(*names)


def count_pairs(coded: DataFrame, rule: Comparability, sample: CodedTable) -> int:
    """Count the comparable pairs of a coded frame in Spark, without listing them."""
    coded, plan = _plan(coded, rule, sample, ())
    if plan is None:
        return 0
    with spark_faults("counting pairs"):
        query = PairQuery(plan.shape())
        tables = SparkTables(coded.sparkSession, {"coded": coded}, plan.tables())
        query, tables = salt_keys(query, tables, plan.n_people)
        return int(tables.fetch(query.count())["n_pairs"][0] or 0)


def _plan(
    coded: DataFrame, rule: Comparability, sample: CodedTable, carry: Sequence[str]
) -> tuple[DataFrame, FramePlan | None]:
    """Return the frame with all columns that the queries need, and their plan; None if the frame has no rows."""
    columns = RuleColumns.of(rule, sample)
    with spark_faults("looking through the coded frame"):
        coded, columns = add_sizes(*mark_missing(coded, columns))
        census = take_census(coded, columns)
    return coded, FramePlan.of(columns, census, sample, carry) if census.n_rows else None
