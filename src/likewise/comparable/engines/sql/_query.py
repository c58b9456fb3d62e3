"""The query for pairs in plain SQL: one equi-join for each set of blocks that may differ."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from likewise.comparable._limits import Nearness
from likewise.comparable.engines._problem import Engine, Problem
from likewise.comparable.engines.sql._joins import (
    Conditions,
    EqualRows,
    Ints,
    JoinKeys,
    KeyPart,
    choose_keys,
    neighbour_steps,
)


@dataclass(frozen=True, slots=True)
class Block:
    """Name the columns of a block: where its codes stand in the packed words, and the single columns it is of."""

    parts: tuple[tuple[str, KeyPart], ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryShape:
    """Columns of the tables of people, and the conditions for a pair."""

    n_words: int
    blocks: tuple[Block, ...]
    cell_parts: tuple[KeyPart, ...]
    max_changes: int  # rows are joined on all but each set of so many blocks
    tests: tuple[Nearness, ...]  # of the near columns
    n_differing: int
    is_one_table: bool  # pairs within a table, not between two
    is_collapsed: bool  # a row of people stands for several, which the tables of members name
    beyond: int  # more than any number of a right row
    n_candidates: float  # pairs of rows that meet in a join, as estimated
    gives_label: bool = False
    n_carried: int = 0  # columns that come along with each row of a pair
    is_one_join: bool = False  # for all sets of blocks together: more rows in a join, but fewer joins
    has_salted_keys: bool = False  # some keys of the one join have very many rows
    has_salted_members: bool = False  # some groups have very many rows


def shape_of(problem: Problem, conditions: Conditions, keys: JoinKeys, *, is_collapsed: bool) -> QueryShape:
    """Describe the tables that `people_columns` and `member_columns` make."""
    blocks = tuple(
        Block(
            parts=((f"block_{number}", part),),
            columns=tuple(f"discrete_{column}" for column in columns) if columns[1:] else (f"block_{number}",),
        )
        for number, (part, columns) in enumerate(zip(keys.block_parts, keys.block_columns, strict=True))
    )
    return QueryShape(
        n_words=len(keys.words),
        blocks=blocks,
        cell_parts=keys.cell_parts,
        max_changes=conditions.max_changes,
        tests=conditions.tests,
        n_differing=len(conditions.differing),
        is_one_table=problem.n_right is None,
        is_collapsed=is_collapsed,
        beyond=problem.n_rows if problem.n_right is None else problem.n_right,
        n_candidates=keys.n_candidates,
    )


Direction = Literal["either", "forwards", "across"]
Columns = dict[str, NDArray[Any]]
Set = tuple[int, ...]  # of blocks

# Names of the tables that a database has to hold; `people_columns` and `member_columns` say what is in them.
LEFT_PEOPLE: Final = "left_people"
RIGHT_PEOPLE: Final = "right_people"
LEFT_MEMBERS: Final = "left_members"
RIGHT_MEMBERS: Final = "right_members"
# Of keys and of groups with very many rows: one row for each salt.
HOT_KEYS: Final = "hot_keys"
HOT_MEMBERS: Final = "hot_members"

MET: Final = "l.number AS left_group, r.number AS right_group"


def people_columns(
    problem: Problem, groups: EqualRows, conditions: Conditions, keys: JoinKeys
) -> tuple[Columns, Columns]:
    """Return the tables of left and of right groups, one row each; a group is a row of its table if none collapsed."""
    number = np.arange(len(groups.first_row), dtype=np.int32)
    columns: Columns = {
        "label": problem.labels[groups.first_row],
        "combination": problem.combination[groups.first_row],
        **{f"word_{i}": word for i, word in enumerate(keys.words)},
        **{f"block_{i}": codes for i, codes in enumerate(keys.blocks)},
        **{f"near_{i}": values for i, values in enumerate(conditions.near)},
        **{f"differing_{i}": codes for i, codes in enumerate(conditions.differing)},
    }
    columns |= {f"discrete_{i}": conditions.discrete[i] for block in keys.block_columns for i in block if block[1:]}
    is_apart = problem.n_right is not None and not groups.is_collapsed  # then right rows have numbers of their own

    def side(n_members: Ints, first: int) -> Columns:
        within = n_members * (n_members - 1) // 2
        counted: Columns = {"number": number - first, "n_members": n_members, "n_pairs_within": within}
        return {name: column[n_members > 0] for name, column in (counted | columns).items()}

    return side(groups.n_left, 0), side(groups.n_right, problem.n_left if is_apart else 0)


def member_columns(problem: Problem, groups: EqualRows) -> tuple[Columns, Columns]:
    """Return the tables of the rows of each left and each right group."""
    left = groups.of_row[: problem.n_left]
    right = left if problem.n_right is None else groups.of_row[problem.n_left :]
    sides = ({"number": side.astype(np.int32), "place": np.arange(len(side), dtype=np.int32)} for side in (left, right))
    return next(sides), next(sides)


@dataclass(frozen=True, slots=True)
class PairQuery:
    """Write the queries for pairs in tables that a database holds: plain SQL, the same for every database."""

    shape: QueryShape

    def pairs(self, wanted: str | None = None) -> str:
        """Select (left_row, right_row); of some left rows only, if ``wanted`` is a condition on ``{row}``.

        If asked for, also the label, and (left_carry_0, right_carry_0, ...) of what is carried along.
        """
        shape = self.shape
        direction: Direction = "across" if not shape.is_one_table else "either" if wanted is None else "forwards"
        if not shape.is_collapsed:
            left = LEFT_PEOPLE if wanted is None else _where(LEFT_PEOPLE, wanted.format(row="number"))
            carried = [f"l.carry_{i} AS left_{i}, r.carry_{i} AS right_{i}" for i in range(shape.n_carried)]
            met = self._joins(direction, left, ", ".join([self._met, *carried]))
            selected = self._selected("left_group", "right_group", "left_{0}", "right_{0}", direction)
            return f"SELECT {selected} FROM ({met}) AS met"
        left, members = LEFT_PEOPLE, LEFT_MEMBERS
        if wanted is not None:
            members = _where(LEFT_MEMBERS, wanted.format(row="place"))
            left = _where(LEFT_PEOPLE, f"number IN (SELECT chosen.number FROM {members} AS chosen)")
        keep = {
            "either": "WHERE met.left_group <> met.right_group OR x.place < y.place",
            "forwards": "WHERE x.place < y.place",
            "across": "",
        }
        met, is_same_salt = self._joins(direction, left, self._met), ""
        if shape.has_salted_members:
            met = (
                f"SELECT found.*, coalesce(hot.salt, 0) AS salt FROM ({met}) AS found "
                f"LEFT JOIN {HOT_MEMBERS} AS hot ON hot.number = found.right_group"
            )
            is_same_salt = " AND y.salt = met.salt"
        return (
            f"SELECT {self._selected('x.place', 'y.place', 'x.carry_{0}', 'y.carry_{0}', direction)} "
            f"FROM ({met}) AS met JOIN {members} AS x ON x.number = met.left_group "
            f"JOIN {RIGHT_MEMBERS} AS y ON y.number = met.right_group{is_same_salt} {keep[direction]}"
        )

    @property
    def _met(self) -> str:
        return f"{MET}, l.label AS label" if self.shape.gives_label else MET

    def _selected(self, left: str, right: str, left_carry: str, right_carry: str, direction: Direction) -> str:
        """Name the rows of a pair, and what they carry, by their order in the table."""
        columns = [_rows(left, right, direction)] + ["met.label AS label"] * self.shape.gives_label
        for i in range(self.shape.n_carried):
            first, second = left_carry.format(i), right_carry.format(i)
            if direction == "either":
                first, second = (
                    f"CASE WHEN {left} < {right} THEN {one} ELSE {other} END"
                    for one, other in ((first, second), (second, first))
                )
            columns.append(f"{first} AS left_carry_{i}, {second} AS right_carry_{i}")
        return ", ".join(columns)

    def degrees(self) -> str:
        """Select (left_row, n_pairs) of every left row that has any."""
        if not self.shape.is_collapsed:
            return f"SELECT left_row, count(*) AS n_pairs FROM ({self.pairs()}) AS found GROUP BY left_row"
        if not self.shape.is_one_table:
            met = self._joins("across", LEFT_PEOPLE, "l.number AS left_group, r.n_members AS n_members")
            return (
                "SELECT x.place AS left_row, n_pairs FROM "
                "(SELECT left_group, CAST(sum(n_members) AS BIGINT) AS n_pairs "
                f"FROM ({met}) AS met GROUP BY left_group) AS summed JOIN {LEFT_MEMBERS} AS x ON x.number = left_group"
            )
        # Down the rows of a group and of all it meets, from the last: a row has as many pairs as met rows came before.
        met = self._joins("forwards", LEFT_PEOPLE, MET)
        return (
            "SELECT place AS left_row, CAST(n_pairs AS BIGINT) AS n_pairs FROM (SELECT place, is_met, sum(is_met) OVER "
            "(PARTITION BY number ORDER BY place DESC, is_met ROWS UNBOUNDED PRECEDING) AS n_pairs FROM "
            f"(SELECT number, place, 0 AS is_met FROM {LEFT_MEMBERS} UNION ALL SELECT met.left_group, y.place, 1 "
            f"FROM ({met}) AS met JOIN {RIGHT_MEMBERS} AS y ON y.number = met.right_group) AS line) AS counted "
            "WHERE is_met = 0"
        )

    def counts(self) -> str:
        """Select (label, first, second, n_pairs): whole groups are counted, their rows stay folded."""
        first, second = "l.combination", "r.combination"
        n_pairs = "l.n_members * r.n_members"
        if self.shape.is_one_table:
            first, second = f"least({first}, {second})", f"greatest({first}, {second})"
            n_pairs = f"CASE WHEN l.number = r.number THEN l.n_pairs_within ELSE {n_pairs} END"
        output = f"l.label AS label, {first} AS first_one, {second} AS second_one, {n_pairs} AS n_pairs"
        met = self._joins("either" if self.shape.is_one_table else "across", LEFT_PEOPLE, output)
        return (
            "SELECT label, first_one, second_one, CAST(sum(n_pairs) AS BIGINT) AS n_pairs "
            f"FROM ({met}) AS met GROUP BY label, first_one, second_one HAVING sum(n_pairs) > 0 "
            "ORDER BY label, first_one, second_one"
        )

    def hot_keys(self, table: str, least: int) -> str:
        """Select (which, key_0, ..., n_rows) of the keys that at least so many rows of a table of left people have."""
        names = ", ".join(["which", *(f"key_{i}" for i in range(self.shape.n_words))])
        left = self._left(table, self._sets())
        return f"SELECT {names}, count(*) AS n_rows FROM ({left}) AS l GROUP BY {names} HAVING count(*) >= {least}"

    def _sets(self) -> list[Set]:
        """List the sets of blocks that are left out: a pair meets the conditions of exactly one of them."""
        return list(combinations(range(len(self.shape.blocks)), self.shape.max_changes))

    def _joins(self, direction: Direction, left: str, output: str) -> str:
        """Join people on all but each set of blocks: all sets in one join, or united joins of one set each."""
        sets = self._sets()
        joined = [sets] if self.shape.is_one_join else [[one] for one in sets]
        return " UNION ALL ".join(self._join(direction, left, output, some) for some in joined)

    def _join(self, direction: Direction, left: str, output: str, sets: list[Set]) -> str:
        left, right = self._left(left, sets), self._right(sets, is_half=direction == "either")
        salt: list[str] = []
        if self.shape.has_salted_keys:
            left, right = self._salted(left, right)
            salt = ["l.salt = r.salt"]
        conditions = " AND ".join(
            [f"l.key_{i} = r.key_{i}" for i in range(self.shape.n_words)]
            + ["l.which = r.which"] * self.shape.is_one_join
            + salt
            + list(self._order(direction))
            + [f"l.differing_{i} <> r.differing_{i}" for i in range(self.shape.n_differing)]
            + list(self._changes(sets))
            + [_write_test(test, f"l.near_{i}", f"r.near_{i}") for i, test in enumerate(self.shape.tests)]
        )
        return f"SELECT {output} FROM ({left}) AS l JOIN ({right}) AS r ON {conditions}"

    def _left(self, left: str, sets: list[Set]) -> str:
        keys = ", ".join(f"{key} AS key_{i}" for i, key in enumerate(self._keys(sets)))
        if not self.shape.is_one_join:
            return f"SELECT *, {keys} FROM {left} AS chosen"
        return f"SELECT chosen.*, outs.*, {keys} FROM {left} AS chosen CROSS JOIN {self._outs(sets)}"

    def _right(self, sets: list[Set], *, is_half: bool) -> str:
        """Repeat the right rows for each neighbouring cell, if there are any."""
        crossed, reach, keys = "", "number", self._keys(sets)
        if self.shape.is_one_join:
            crossed = f" CROSS JOIN {self._outs(sets)}"
        if self.shape.cell_parts:
            crossed += f" CROSS JOIN {self._steps(is_half)}"
            keys = [f"{key} + step.by_{i}" for i, key in enumerate(keys)]
            if is_half:  # in the same cell the smaller number comes first; of two cells, one is always the left one
                reach = f"CASE WHEN step.is_ahead = 1 THEN {self.shape.beyond} ELSE number END"
        named = [f"{reach} AS reach", *(f"{key} AS key_{i}" for i, key in enumerate(keys))]
        named += ["outs.which"] * self.shape.is_one_join
        return f"SELECT {RIGHT_PEOPLE}.*, {', '.join(named)} FROM {RIGHT_PEOPLE}{crossed}"

    def _salted(self, left: str, right: str) -> tuple[str, str]:
        """Share the left rows of a hot key out to several salts, and repeat its right rows for each of them."""
        names = ("which", *(f"key_{i}" for i in range(self.shape.n_words)))
        same = " AND ".join(f"hot.{name} = side.{name}" for name in names)
        return (
            f"SELECT side.*, coalesce(side.number % hot.n_salts, 0) AS salt FROM ({left}) AS side "
            f"LEFT JOIN {_where(HOT_KEYS, 'salt = 0')} AS hot ON {same}",
            f"SELECT side.*, coalesce(hot.salt, 0) AS salt FROM ({right}) AS side "
            f"LEFT JOIN {HOT_KEYS} AS hot ON {same}",
        )

    def _keys(self, sets: list[Set]) -> list[str]:
        """Take the blocks left out away from the packed words."""
        terms = [[f"word_{i}"] for i in range(self.shape.n_words)]
        for number in range(len(self.shape.blocks)) if self.shape.is_one_join else sets[0]:
            for name, part in self.shape.blocks[number].parts:
                is_out = f" * outs.out_{number}" if self.shape.is_one_join else ""
                terms[part.word].append(f"{name} * {part.radix}{is_out}")
        return [" - ".join(word) for word in terms]

    def _outs(self, sets: list[Set]) -> str:
        """List the sets as rows: whether each block is out, and whether it has to differ."""
        blocks = range(len(self.shape.blocks))
        rows = [
            [n, *(int(b in out) for b in blocks), *(int(b in _differing(out)) for b in blocks)]
            for n, out in enumerate(sets)
        ]
        names = ["which", *(f"out_{b}" for b in blocks), *(f"must_{b}" for b in blocks)]
        return f"(VALUES {', '.join(f'({str(row)[1:-1]})' for row in rows)}) AS outs({', '.join(names)})"

    def _steps(self, is_half: bool) -> str:
        """List what to add to the words of a row to reach each neighbouring cell."""
        rows = []
        for step in neighbour_steps(len(self.shape.cell_parts), is_directed=not is_half):
            added = [0] * self.shape.n_words
            for part, by in zip(self.shape.cell_parts, step, strict=True):
                added[part.word] += by * part.radix
            # a word of 64 bits, also where the number itself is small
            words = ", ".join(f"CAST({word} AS BIGINT)" for word in added)
            rows.append(f"({words}, {int(any(step))})")
        names = ", ".join(f"by_{i}" for i in range(self.shape.n_words))
        return f"(VALUES {', '.join(rows)}) AS step({names}, is_ahead)"

    def _order(self, direction: Direction) -> Iterator[str]:
        if direction == "either":
            yield f"l.number {'<=' if self.shape.is_collapsed else '<'} r.reach"
        elif direction == "forwards" and not self.shape.is_collapsed:
            yield "l.number < r.reach"

    def _changes(self, sets: list[Set]) -> Iterator[str]:
        """Let a pair through for one set alone: that of its differing blocks, filled up with the first other ones."""
        for number in sorted({block for one in sets for block in _differing(one)}):
            differs = " OR ".join(f"l.{name} <> r.{name}" for name, _ in self.shape.blocks[number].parts)
            yield f"(l.must_{number} = 0 OR {differs})" if self.shape.is_one_join else f"({differs})"
        out = sorted({block for one in sets for block in one})
        columns = [column for number in out for column in self.shape.blocks[number].columns]
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


def _where(table: str, condition: str) -> str:
    return f"(SELECT * FROM {table} WHERE {condition})"


def _rows(left: str, right: str, direction: Direction) -> str:
    if direction == "either":
        left, right = f"least({left}, {right})", f"greatest({left}, {right})"
    return f"{left} AS left_row, {right} AS right_row"


class SqlEngine(Engine):
    """An engine that puts the queries to a database, which holds the tables of people and members."""

    _query: PairQuery

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        n_partners = problem.n_left - 1 if problem.n_right is None else problem.n_right
        self._has_pairs = problem.n_left > 0 and n_partners > 0

    @abstractmethod
    def _fetch(self, query: str) -> dict[str, NDArray[Any]]:
        """Return the columns of an answer."""

    def _reduce(self) -> tuple[EqualRows, Conditions, JoinKeys, QueryShape]:
        """Merge equal rows where that pays, and choose what to join on."""
        problem = self._problem
        conditions = Conditions.of(problem)
        groups = EqualRows.of(conditions, problem)
        if groups.is_collapsed:
            conditions = conditions.take(groups.first_row)
        keys = choose_keys(conditions, groups, is_directed=problem.n_right is not None)
        return groups, conditions, keys, shape_of(problem, conditions, keys, is_collapsed=groups.is_collapsed)

    def degrees(self) -> NDArray[np.int64]:
        degrees = np.zeros(self._problem.n_left, np.int64)
        if self._has_pairs:
            found = self._fetch(self._query.degrees())
            degrees[found["left_row"]] = found["n_pairs"]
        return degrees

    def counts(self) -> NDArray[np.int64]:
        if not self._has_pairs:
            return np.empty((0, 4), np.int64)
        found = self._fetch(self._query.counts())
        names = ("label", "first_one", "second_one", "n_pairs")
        return np.column_stack([found[name] for name in names]).astype(np.int64)
