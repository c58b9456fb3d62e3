"""Tables that Spark holds, and the share of a join's work that one task gets: keys with very many rows are salted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._extras import require
from likewise.comparable.engines._layout import neighbour_steps
from likewise.comparable.engines._sql import HOT_KEYS, HOT_MEMBERS, LEFT_PEOPLE, PairQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LEAST_WORK: Final = 20_000_000  # pairs that meet in a join: no task is too long for so few
SHARES_A_TASK: Final = 4  # hot keys are cut into pieces of this part of a task's work
MOST_MEMBERS: Final = 2_000  # rows of one group that come together
USUAL_TASKS: Final = 200
COUNTED_ROWS: Final = 1_000_000  # from which hot keys are told


@dataclass(frozen=True, slots=True)
class SparkTables:
    """Give names to frames, and to what is derived from them, in queries; nothing is left behind in the session."""

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
