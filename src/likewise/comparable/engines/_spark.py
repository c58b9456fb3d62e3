"""Find the pairs of a table in this machine's memory with Spark: the queries are those that DuckDB gets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._spark_session import open_session, spark_faults
from likewise.comparable._pairs import Rows
from likewise.comparable.engines._conditions import Conditions, Groups
from likewise.comparable.engines._layout import choose_layout
from likewise.comparable.engines._problem import Problem, gather_chunks, pick_from_chunks
from likewise.comparable.engines._shape import shape_of
from likewise.comparable.engines._spark_tables import SparkTables, columns_of, salt_keys, to_frame
from likewise.comparable.engines._sql import (
    LEFT_MEMBERS,
    LEFT_PEOPLE,
    RIGHT_MEMBERS,
    RIGHT_PEOPLE,
    Columns,
    PairQuery,
    member_columns,
    people_columns,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
        groups = Groups.of(conditions, problem)
        if groups.is_collapsed:
            conditions = conditions.take(groups.first_row)
        layout = choose_layout(conditions, groups, is_directed=problem.n_right is not None)
        shape = shape_of(problem, conditions, layout, is_collapsed=groups.is_collapsed)
        query = PairQuery(replace(shape, is_one_join=True))
        with spark_faults("taking the table"):
            frames = dict(self._frames(session, LEFT_PEOPLE, people_columns(problem, groups, conditions, layout)))
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
