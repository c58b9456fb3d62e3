"""Find pairs with DuckDB, out of core: what does not fit in memory goes to a folder of its own, removed afterwards."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, pairwise
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import parameter
from likewise._extras import require
from likewise._memory import bytes_allowed
from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import Problem, gather_chunks
from likewise.comparable.engines.sql._joins import Conditions, EqualRows, JoinKeys
from likewise.comparable.engines.sql._query import (
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
from likewise.exceptions import TooManyPairs

CHUNK: Final = 1 << 19  # pairs handed out at a time
BYTES_A_SORTED_PAIR: Final = 64  # of the memory limit, so that sorting seldom has to leave memory
PROBED: Final = 64  # one left row in so many is counted to estimate the number of pairs
LOADED_AT_ONCE: Final = 1 << 16  # rows
BESIDE: Final = 60_000_000  # bytes that DuckDB takes beyond its limit, and pairs on their way take here
OF_LOADED_ROW: Final = 240  # bytes, of what rows are turned into before DuckDB has them
OF_COUNTED_ROW: Final = 190  # bytes, of what loading leaves behind and counting needs
LEAST_SHARE: Final = 4  # DuckDB has at least one byte in so many, however large the table


class DuckDBEngine(SqlEngine):
    """Solve a problem with SQL equi-joins in a private in-memory database.

    ``memory_limit`` is for DuckDB and for what brings rows to it and pairs from it; the rest is in a temporary folder.
    """

    def __init__(self, problem: Problem, memory_limit: int | str | None = None) -> None:
        self._duckdb: ModuleType = require("duckdb", extra="duckdb", purpose="Engine 'duckdb'")
        super().__init__(problem)
        self._allowed = max(bytes_allowed(memory_limit), 1)
        beside = BESIDE + OF_COUNTED_ROW * problem.n_left
        self._memory = max(self._allowed - beside, self._allowed // LEAST_SHARE, 1)
        self._names = count()
        if self._has_pairs:
            self._connect()
            self._load()

    def _connect(self) -> None:
        folder = tempfile.mkdtemp(prefix="likewise-")
        config = {
            "memory_limit": f"{self._memory}B",
            "temp_directory": folder,
            "autoinstall_known_extensions": "false",  # nothing is ever fetched
            "autoload_known_extensions": "false",
            "preserve_insertion_order": "true",  # so that sorted pairs are read back as they were stored
        }
        try:
            self._connection = self._duckdb.connect(":memory:", config=config)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._close = weakref.finalize(self, _clear_away, self._connection, folder)
        self._connection.execute("SET enable_progress_bar = false")
        # the query has its joins in the right order; a new order may start with all rows times all steps
        self._connection.execute("SET disabled_optimizers = 'join_order'")

    def _load(self) -> None:
        problem = self._problem
        groups, conditions, keys, shape = self._reduce()
        self._limit(max(self._memory - OF_LOADED_ROW * problem.n_rows, self._allowed // LEAST_SHARE))
        for start in range(0, len(groups.first_row), LOADED_AT_ONCE):
            left, right = _some_people(problem, groups, conditions, keys, start)
            self._store(LEFT_PEOPLE, left)
            if problem.n_right is not None:
                self._store(RIGHT_PEOPLE, right)
        if groups.is_collapsed:
            left, right = member_columns(problem, groups)
            self._store(LEFT_MEMBERS, left)
            if problem.n_right is not None:
                self._store(RIGHT_MEMBERS, right)
        if problem.n_right is None:
            self._connection.execute(f"CREATE VIEW {RIGHT_PEOPLE} AS SELECT * FROM {LEFT_PEOPLE}")
            if groups.is_collapsed:
                self._connection.execute(f"CREATE VIEW {RIGHT_MEMBERS} AS SELECT * FROM {LEFT_MEMBERS}")
        self._limit(self._memory)
        self._query = PairQuery(shape)

    def _limit(self, n_bytes: int) -> None:
        with self._no_room():
            self._connection.execute(f"SET memory_limit = '{n_bytes}B'")

    def _store(self, name: str, columns: Columns) -> None:
        """Make a table, or add to the one that is there."""
        given = {column: np.ascontiguousarray(values) for column, values in columns.items()}
        self._connection.register("given", given)
        self._fetch(f"CREATE TABLE IF NOT EXISTS {name} AS SELECT * FROM given LIMIT 0")
        self._fetch(f"INSERT INTO {name} SELECT * FROM given")
        self._connection.unregister("given")

    def chunks(self, rows: NDArray[np.integer[Any]] | None = None) -> Iterator[tuple[Rows, Rows]]:
        if not self._has_pairs or (rows is not None and not len(rows)):
            return
        if rows is None:
            for wanted in self._slices(self._problem.n_left):
                yield from self._sorted(wanted)
            return
        with self._wanted(rows) as chosen:
            for wanted in self._slices(len(rows)):
                yield from self._sorted(chosen if wanted is None else f"{chosen} AND {wanted}")

    def listing(self, most: int) -> tuple[Rows, Rows] | None:
        if not self._has_pairs:
            return gather_chunks(self.chunks(), most)
        self._limit(self._memory // 2)  # the other half is for the pairs
        try:
            return gather_chunks(self.chunks(), min(most, self._allowed // 16))
        finally:
            self._limit(self._memory)

    @contextmanager
    def _wanted(self, rows: NDArray[np.integer[Any]]) -> Iterator[str]:
        """Keep some left rows in a table for a while; gives the condition that a row is one of them."""
        name = f"wanted_{next(self._names)}"
        self._store(name, {"wanted_row": rows.astype(np.int32)})
        try:
            yield f"{{row}} IN (SELECT {name}.wanted_row FROM {name})"
        finally:
            self._drop(name)

    def _drop(self, name: str) -> None:
        if self._close.alive:  # a stream may be given up only after the program has ended
            self._connection.execute(f"DROP TABLE {name}")

    def _slices(self, n_wanted: int) -> list[str | None]:
        """Cut the left rows so that the pairs of each slice can be sorted in memory."""
        at_once = max(self._memory // BYTES_A_SORTED_PAIR, 1)
        n_left = self._problem.n_left
        if self._query.shape.n_candidates <= at_once:
            return [None]
        probed = np.random.default_rng(0).permutation(n_left)[: max(n_left // PROBED, 1)]
        with self._wanted(probed) as wanted:
            found = self._fetch(f"SELECT count(*) AS n FROM ({self._query.pairs(wanted)}) AS found")
        n_expected = found["n"][0] / len(probed) * n_wanted
        edges = np.linspace(0, n_left, min(int(n_expected // at_once) + 1, n_left) + 1).astype(int).tolist()
        if len(edges) == 2:
            return [None]
        return [f"{{row}} BETWEEN {start} AND {end - 1}" for start, end in pairwise(edges)]

    def _sorted(self, wanted: str | None) -> Iterator[tuple[Rows, Rows]]:
        """Keep the sorted pairs in a table, which may leave memory, and read it piece by piece."""
        name = f"found_{next(self._names)}"
        self._fetch(f"CREATE TEMP TABLE {name} AS {self._query.pairs(wanted)} ORDER BY left_row, right_row")
        try:
            for start in count(0, CHUNK):
                piece = self._fetch(
                    f"SELECT left_row, right_row FROM {name} WHERE rowid >= {start} AND rowid < {start + CHUNK}"
                )
                if not len(piece["left_row"]):
                    return
                yield piece["left_row"].astype(np.int32, copy=False), piece["right_row"].astype(np.int32, copy=False)
        finally:
            self._drop(name)

    def _fetch(self, query: str) -> dict[str, NDArray[Any]]:
        with self._no_room():
            fetched: dict[str, NDArray[Any]] = self._connection.execute(query).fetchnumpy()
        return fetched

    @contextmanager
    def _no_room(self) -> Iterator[None]:
        """Raise TooManyPairs where DuckDB ran out of memory or disk."""
        try:
            yield
        except (self._duckdb.OutOfMemoryException, self._duckdb.IOException) as error:
            raise TooManyPairs(
                f"DuckDB ran out of room with {self._memory / 1e9:,.3g} GB of memory and the temporary folder's disk. "
                f"Raise {parameter('memory_limit')}, tighten the rule, free some disk space, or only count the pairs."
            ) from error


def _some_people(
    problem: Problem, groups: EqualRows, conditions: Conditions, keys: JoinKeys, start: int
) -> tuple[Columns, Columns]:
    """Make the columns of some groups: those of all at a time would be several times the table."""
    rows = slice(start, start + LOADED_AT_ONCE)
    some = EqualRows(
        groups.of_row if groups.is_collapsed else groups.of_row[rows],
        groups.first_row[rows],
        groups.n_left[rows],
        groups.n_right[rows],
    )
    packed = replace(
        keys, words=tuple(word[rows] for word in keys.words), blocks=tuple(block[rows] for block in keys.blocks)
    )
    sides = people_columns(problem, some, conditions.take(np.arange(len(conditions.key))[rows]), packed)
    for side in sides:
        side["number"] = side["number"] + np.int32(start)
    return sides


def _clear_away(connection: Any, folder: str) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)
