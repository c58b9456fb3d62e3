"""The queries for pairs in plain SQL: one equi-join for all sets of blocks that may differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from likewise.comparable._internal import Nearness
from likewise.spark._joins import KeyPart, neighbour_steps

Set = tuple[int, ...]  # of blocks
Block = tuple[tuple[str, KeyPart], ...]  # its discrete columns, and where their codes stand in the packed words


@dataclass(frozen=True, slots=True)
class QueryShape:
    """Columns of the table of people, and the conditions for a pair."""

    n_words: int
    blocks: tuple[Block, ...]
    cell_parts: tuple[KeyPart, ...]
    max_changes: int  # rows are joined on all but each set of so many blocks
    tests: tuple[Nearness, ...]  # of the near columns
    n_differing: int
    is_collapsed: bool  # a row of people stands for several, which the tables of members name
    n_candidates: float  # pairs of rows that meet in a join, as estimated
    n_carried: int = 0  # columns that come along with each row of a pair
    has_salted_keys: bool = False  # some keys of the join have very many rows
    has_salted_members: bool = False  # some groups have very many rows


# Names of the tables that a database has to hold; `FramePlan.tables` says what is in them.
PEOPLE: Final = "people"
LEFT_MEMBERS: Final = "left_members"
RIGHT_MEMBERS: Final = "right_members"
# Of keys and of groups with very many rows: one row for each salt.
HOT_KEYS: Final = "hot_keys"
HOT_MEMBERS: Final = "hot_members"

BEYOND: Final = 2**62  # more than any row
MET: Final = "l.number AS left_group, r.number AS right_group, l.label AS label"


@dataclass(frozen=True, slots=True)
class PairQuery:
    """Write the queries for pairs within a table of people: plain SQL."""

    shape: QueryShape

    def pairs(self) -> str:
        """Select (left_row, right_row, label), and (left_carry_0, right_carry_0, ...) of what is carried along."""
        shape = self.shape
        if not shape.is_collapsed:
            carried = [f"l.carry_{i} AS left_{i}, r.carry_{i} AS right_{i}" for i in range(shape.n_carried)]
            met = self._join(", ".join([MET, *carried]))
            selected = self._selected("left_group", "right_group", "left_{0}", "right_{0}")
            return f"SELECT {selected} FROM ({met}) AS met"
        met, is_same_salt = self._join(MET), ""
        if shape.has_salted_members:
            met = (
                f"SELECT found.*, coalesce(hot.salt, 0) AS salt FROM ({met}) AS found "
                f"LEFT JOIN {HOT_MEMBERS} AS hot ON hot.number = found.right_group"
            )
            is_same_salt = " AND y.salt = met.salt"
        return (
            f"SELECT {self._selected('x.place', 'y.place', 'x.carry_{0}', 'y.carry_{0}')} "
            f"FROM ({met}) AS met JOIN {LEFT_MEMBERS} AS x ON x.number = met.left_group "
            f"JOIN {RIGHT_MEMBERS} AS y ON y.number = met.right_group{is_same_salt} "
            "WHERE met.left_group <> met.right_group OR x.place < y.place"
        )

    def _selected(self, left: str, right: str, left_carry: str, right_carry: str) -> str:
        """Name the rows of a pair, and what they carry, by their order in the table."""
        columns = [f"least({left}, {right}) AS left_row, greatest({left}, {right}) AS right_row", "met.label AS label"]
        for i in range(self.shape.n_carried):
            first, second = left_carry.format(i), right_carry.format(i)
            first, second = (
                f"CASE WHEN {left} < {right} THEN {one} ELSE {other} END"
                for one, other in ((first, second), (second, first))
            )
            columns.append(f"{first} AS left_carry_{i}, {second} AS right_carry_{i}")
        return ", ".join(columns)

    def count(self) -> str:
        """Select how many pairs there are: whole groups are counted, their rows stay folded."""
        n_pairs = "CASE WHEN l.number = r.number THEN l.n_pairs_within ELSE l.n_members * r.n_members END"
        met = self._join(f"{n_pairs} AS n_pairs")
        return f"SELECT CAST(coalesce(sum(n_pairs), 0) AS BIGINT) AS n_pairs FROM ({met}) AS met"

    def hot_keys(self, table: str, least: int) -> str:
        """Select (which, key_0, ..., n_rows) of the keys that at least so many rows of a table of left people have."""
        names = ", ".join(["which", *(f"key_{i}" for i in range(self.shape.n_words))])
        left = self._left(table)
        return f"SELECT {names}, count(*) AS n_rows FROM ({left}) AS l GROUP BY {names} HAVING count(*) >= {least}"

    def _sets(self) -> list[Set]:
        """List the sets of blocks that are left out: a pair meets the conditions of exactly one of them."""
        return list(combinations(range(len(self.shape.blocks)), self.shape.max_changes))

    def _join(self, output: str) -> str:
        """Join people on all but each set of blocks, all sets at a time."""
        left, right = self._left(PEOPLE), self._right()
        salt: list[str] = []
        if self.shape.has_salted_keys:
            left, right = self._salted(left, right)
            salt = ["l.salt = r.salt"]
        conditions = " AND ".join(
            [f"l.key_{i} = r.key_{i}" for i in range(self.shape.n_words)]
            + ["l.which = r.which", *salt]
            + [f"l.number {'<=' if self.shape.is_collapsed else '<'} r.reach"]
            + [f"l.differing_{i} <> r.differing_{i}" for i in range(self.shape.n_differing)]
            + list(self._changes())
            + [_write_test(test, f"l.near_{i}", f"r.near_{i}") for i, test in enumerate(self.shape.tests)]
        )
        return f"SELECT {output} FROM ({left}) AS l JOIN ({right}) AS r ON {conditions}"

    def _left(self, people: str) -> str:
        keys = ", ".join(f"{key} AS key_{i}" for i, key in enumerate(self._keys()))
        return f"SELECT chosen.*, outs.*, {keys} FROM {people} AS chosen CROSS JOIN {self._outs()}"

    def _right(self) -> str:
        """Repeat the right rows for each neighbouring cell, if there are any."""
        crossed, reach, keys = f" CROSS JOIN {self._outs()}", "number", self._keys()
        if self.shape.cell_parts:
            crossed += f" CROSS JOIN {self._steps()}"
            keys = [f"{key} + step.by_{i}" for i, key in enumerate(keys)]
            # in the same cell the smaller number comes first; of two cells, one is always the left one
            reach = f"CASE WHEN step.is_ahead = 1 THEN {BEYOND} ELSE number END"
        named = [f"{reach} AS reach", *(f"{key} AS key_{i}" for i, key in enumerate(keys)), "outs.which"]
        return f"SELECT {PEOPLE}.*, {', '.join(named)} FROM {PEOPLE}{crossed}"

    def _salted(self, left: str, right: str) -> tuple[str, str]:
        """Share the left rows of a hot key out to several salts, and repeat its right rows for each of them."""
        names = ("which", *(f"key_{i}" for i in range(self.shape.n_words)))
        same = " AND ".join(f"hot.{name} = side.{name}" for name in names)
        return (
            f"SELECT side.*, coalesce(side.number % hot.n_salts, 0) AS salt FROM ({left}) AS side "
            f"LEFT JOIN (SELECT * FROM {HOT_KEYS} WHERE salt = 0) AS hot ON {same}",
            f"SELECT side.*, coalesce(hot.salt, 0) AS salt FROM ({right}) AS side "
            f"LEFT JOIN {HOT_KEYS} AS hot ON {same}",
        )

    def _keys(self) -> list[str]:
        """Take the blocks left out away from the packed words."""
        terms = [[f"word_{i}"] for i in range(self.shape.n_words)]
        for number, block in enumerate(self.shape.blocks):
            for name, part in block:
                terms[part.word].append(f"{name} * {part.radix} * outs.out_{number}")
        return [" - ".join(word) for word in terms]

    def _outs(self) -> str:
        """List the sets as rows: whether each block is out, and whether it has to differ."""
        blocks = range(len(self.shape.blocks))
        rows = [
            [n, *(int(b in out) for b in blocks), *(int(b in _differing(out)) for b in blocks)]
            for n, out in enumerate(self._sets())
        ]
        names = ["which", *(f"out_{b}" for b in blocks), *(f"must_{b}" for b in blocks)]
        return f"(VALUES {', '.join(f'({str(row)[1:-1]})' for row in rows)}) AS outs({', '.join(names)})"

    def _steps(self) -> str:
        """List what to add to the words of a row to reach each neighbouring cell."""
        rows = []
        for step in neighbour_steps(len(self.shape.cell_parts)):
            added = [0] * self.shape.n_words
            for part, by in zip(self.shape.cell_parts, step, strict=True):
                added[part.word] += by * part.radix
            # a word of 64 bits, also where the number itself is small
            words = ", ".join(f"CAST({word} AS BIGINT)" for word in added)
            rows.append(f"({words}, {int(any(step))})")
        names = ", ".join(f"by_{i}" for i in range(self.shape.n_words))
        return f"(VALUES {', '.join(rows)}) AS step({names}, is_ahead)"

    def _changes(self) -> Iterator[str]:
        """Let a pair through for one set alone: that of its differing blocks, filled up with the first other ones."""
        sets = self._sets()
        for number in sorted({block for one in sets for block in _differing(one)}):
            differs = " OR ".join(f"l.{name} <> r.{name}" for name, _ in self.shape.blocks[number])
            yield f"(l.must_{number} = 0 OR {differs})"
        out = sorted({block for one in sets for block in one})
        columns = [name for number in out for name, _ in self.shape.blocks[number]]
        if len(columns) > len(out):  # blocks are more than single columns
            changes = " + ".join(f"CASE WHEN l.{column} <> r.{column} THEN 1 ELSE 0 END" for column in columns)
            yield f"{changes} <= {self.shape.max_changes}"


def _differing(left_out: Set) -> tuple[int, ...]:
    """Blocks of a set that have to differ: an earlier block is not left out, so they are no mere filling."""
    return tuple(block for position, block in enumerate(left_out) if block != position)


def write_number(value: float) -> str:
    """Write a float that every dialect reads back bit by bit; a plain literal would be a decimal to some."""
    return f"CAST('{value!r}' AS DOUBLE)"


def _write_test(test: Nearness, one: str, other: str) -> str:
    """Write the rule's test of two numbers."""
    if test.is_ratio:
        return f"greatest({one}, {other}) * {write_number(test.limit)} <= least({one}, {other})"
    return f"abs({one} - {other}) <= {write_number(test.limit)}"
