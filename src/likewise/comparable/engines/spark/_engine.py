"""Pairs of a table in memory, found by Spark with the queries that DuckDB gets; keys with very many rows are salted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._extras import require
from likewise._spark_session import open_session, spark_faults
from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import Problem, gather_chunks, pick_from_chunks
from likewise.comparable.engines.sql._joins import Conditions, EqualRows, choose_keys, neighbour_steps
from likewise.comparable.engines.sql._query import (
    HOT_KEYS,
    HOT_MEMBERS,
    LEFT_MEMBERS,
    LEFT_PEOPLE,
    RIGHT_MEMBERS,
    RIGHT_PEOPLE,
    Columns,
    PairQuery,
    member_columns,
    people_columns,
    shape_of,
)

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
    """Cut keys that very many rows have into pieces, so that no task gets all of their pairs.

    Work is counted in pairs of rows that meet. Only the keys that would be more than a piece of all work are cut, so
    there are few of them.
    """
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


class SparkEngine:
    """Solve a problem with SQL equi-joins in the active Spark session, or in one of its own on this machine.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        session = open_session("Engine 'spark'")
        self._problem = problem
        n_partners = problem.n_left - 1 if problem.n_right is None else problem.n_right
        self._has_pairs = problem.n_left > 0 and n_partners > 0
        if not self._has_pairs:
            return
        conditions = Conditions.of(problem)
        groups = EqualRows.of(conditions, problem)
        if groups.is_collapsed:
            conditions = conditions.take(groups.first_row)
        keys = choose_keys(conditions, groups, is_directed=problem.n_right is not None)
        shape = shape_of(problem, conditions, keys, is_collapsed=groups.is_collapsed)
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
        """Yield all pairs in order, a bounded number at a time; only those of some (ascending) left rows, if given."""
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

    def listing(self, most: int) -> tuple[Rows, Rows] | None:
        """Return all pairs in order, or None if there are more than ``most``."""
        return gather_chunks(self.chunks(), most)

    def pick(self, rows: NDArray[np.int64], places: NDArray[np.int64]) -> Rows:
        """Return, for each of some (ascending) left rows, the right row at a place among those paired with it."""
        return pick_from_chunks(self, rows, places)

    def degrees(self) -> NDArray[np.int64]:
        """Count, for each left row, the pairs it is the left row of; list none."""
        degrees = np.zeros(self._problem.n_left, np.int64)
        if self._has_pairs:
            with spark_faults("counting pairs"):
                found = self._tables.fetch(self._query.degrees())
            degrees[found["left_row"]] = found["n_pairs"]
        return degrees

    def counts(self) -> NDArray[np.int64]:
        """Count pairs as rows of (label code, combination, combination, pairs), sorted; only what occurs."""
        if not self._has_pairs:
            return np.empty((0, 4), np.int64)
        with spark_faults("counting pairs"):
            found = self._tables.fetch(self._query.counts())
        names = ("label", "first_one", "second_one", "n_pairs")
        return np.column_stack([found[name] for name in names]).astype(np.int64)


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
