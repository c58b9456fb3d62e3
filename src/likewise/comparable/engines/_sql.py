"""The question put to a database, in plain SQL: one equi-join for each set of blocks that may differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from likewise.comparable.engines._conditions import Conditions, Groups, Ints
from likewise.comparable.engines._layout import Layout, neighbour_steps
from likewise.comparable.engines._problem import Problem

Direction = Literal["either", "forwards", "across"]
Columns = dict[str, NDArray[Any]]

# Names of the tables that a database has to hold; `people_columns` and `member_columns` say what is in them.
LEFT_PEOPLE: Final = "left_people"
RIGHT_PEOPLE: Final = "right_people"
LEFT_MEMBERS: Final = "left_members"
RIGHT_MEMBERS: Final = "right_members"

MET: Final = "l.number AS left_group, r.number AS right_group"


def people_columns(problem: Problem, groups: Groups, conditions: Conditions, layout: Layout) -> tuple[Columns, Columns]:
    """Give the tables of left and of right groups, one row each; a group is a row of its table if none collapsed."""
    number = np.arange(len(groups.first_row), dtype=np.int32)
    columns: Columns = {
        "label": problem.labels[groups.first_row],
        "combination": problem.combination[groups.first_row],
        **{f"word_{i}": word for i, word in enumerate(layout.words)},
        **{f"block_{i}": codes for i, codes in enumerate(layout.blocks)},
        **{f"near_{i}": values for i, values in enumerate(conditions.near)},
        **{f"differing_{i}": codes for i, codes in enumerate(conditions.differing)},
    }
    columns |= {f"discrete_{i}": conditions.discrete[i] for block in layout.block_columns for i in block if block[1:]}
    is_apart = problem.n_right is not None and not groups.is_collapsed  # then right rows have numbers of their own

    def side(n_members: Ints, first: int) -> Columns:
        within = n_members * (n_members - 1) // 2
        counted: Columns = {"number": number - first, "n_members": n_members, "n_pairs_within": within}
        return {name: column[n_members > 0] for name, column in (counted | columns).items()}

    return side(groups.n_left, 0), side(groups.n_right, problem.n_left if is_apart else 0)


def member_columns(problem: Problem, groups: Groups) -> tuple[Columns, Columns]:
    """Give the tables that say which rows a left and a right group has."""
    left = groups.of_row[: problem.n_left]
    right = left if problem.n_right is None else groups.of_row[problem.n_left :]
    sides = ({"number": side.astype(np.int32), "place": np.arange(len(side), dtype=np.int32)} for side in (left, right))
    return next(sides), next(sides)


@dataclass(frozen=True, slots=True, eq=False)
class PairQuery:
    """Write the queries for the pairs of a problem whose tables a database holds."""

    problem: Problem
    conditions: Conditions
    layout: Layout
    is_collapsed: bool

    @property
    def one_table(self) -> bool:
        """Whether pairs are sought within a table, not between two."""
        return self.problem.n_right is None

    def pairs(self, wanted: str | None = None) -> str:
        """Select (left_row, right_row); of some left rows only, if ``wanted`` is a condition on ``{row}``."""
        direction: Direction = "across" if not self.one_table else "either" if wanted is None else "forwards"
        if not self.is_collapsed:
            left = LEFT_PEOPLE if wanted is None else _where(LEFT_PEOPLE, wanted.format(row="number"))
            met = self._joins(direction, left, MET)
            return f"SELECT {_rows('left_group', 'right_group', direction)} FROM ({met}) AS met"
        left, members = LEFT_PEOPLE, LEFT_MEMBERS
        if wanted is not None:
            members = _where(LEFT_MEMBERS, wanted.format(row="place"))
            left = _where(LEFT_PEOPLE, f"number IN (SELECT chosen.number FROM {members} AS chosen)")
        keep = {
            "either": "WHERE met.left_group <> met.right_group OR x.place < y.place",
            "forwards": "WHERE x.place < y.place",
            "across": "",
        }
        return (
            f"SELECT {_rows('x.place', 'y.place', direction)} FROM ({self._joins(direction, left, MET)}) AS met "
            f"JOIN {members} AS x ON x.number = met.left_group JOIN {RIGHT_MEMBERS} AS y ON y.number = met.right_group "
            f"{keep[direction]}"
        )

    def degrees(self) -> str:
        """Select (left_row, n_pairs) of every left row that has any."""
        if not self.is_collapsed:
            return f"SELECT left_row, count(*) AS n_pairs FROM ({self.pairs()}) AS found GROUP BY left_row"
        if not self.one_table:
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
        if self.one_table:
            first, second = f"least({first}, {second})", f"greatest({first}, {second})"
            n_pairs = f"CASE WHEN l.number = r.number THEN l.n_pairs_within ELSE {n_pairs} END"
        output = f"l.label AS label, {first} AS first_one, {second} AS second_one, {n_pairs} AS n_pairs"
        met = self._joins("either" if self.one_table else "across", LEFT_PEOPLE, output)
        return (
            "SELECT label, first_one, second_one, CAST(sum(n_pairs) AS BIGINT) AS n_pairs "
            f"FROM ({met}) AS met GROUP BY label, first_one, second_one HAVING sum(n_pairs) > 0 "
            "ORDER BY label, first_one, second_one"
        )

    def _joins(self, direction: Direction, left: str, output: str) -> str:
        """Unite one join for each set of blocks left out; a pair meets the conditions of exactly one of them."""
        sets = combinations(range(len(self.layout.blocks)), self.conditions.max_changes)
        return " UNION ALL ".join(self._join(direction, left, output, left_out) for left_out in sets)

    def _join(self, direction: Direction, left: str, output: str, left_out: tuple[int, ...]) -> str:
        keys = [self._key(word, left_out) for word in range(len(self.layout.words))]
        left_keys = ", ".join(f"{key} AS key_{i}" for i, key in enumerate(keys))
        right_keys = ", ".join(f"{key} + step.by_{i} AS key_{i}" for i, key in enumerate(keys))
        is_half = direction == "either"
        n_right = self.problem.n_rows if self.problem.n_right is None else self.problem.n_right
        # in the same cell the smaller number comes first; of two cells, one is always the left one
        reach = f"CASE WHEN step.is_ahead = 1 THEN {n_right} ELSE number END" if is_half else "number"
        right = (
            f"SELECT {RIGHT_PEOPLE}.*, {reach} AS reach, {right_keys} "
            f"FROM {RIGHT_PEOPLE} CROSS JOIN {self._steps(is_half)}"
        )
        conditions = " AND ".join(
            [f"l.key_{i} = r.key_{i}" for i in range(len(keys))]
            + list(self._order(direction))
            + [f"l.differing_{i} <> r.differing_{i}" for i in range(len(self.conditions.differing))]
            + list(self._changes(left_out))
            + [f"abs(l.near_{i} - r.near_{i}) <= {_number(limit)}" for i, limit in enumerate(self.conditions.limits)]
        )
        left = f"SELECT *, {left_keys} FROM {left} AS chosen"
        return f"SELECT {output} FROM ({left}) AS l JOIN ({right}) AS r ON {conditions}"

    def _key(self, word: int, left_out: tuple[int, ...]) -> str:
        """Take the blocks left out away from a packed word."""
        parts = [(block, self.layout.block_parts[block]) for block in left_out]
        return f"word_{word}" + "".join(f" - block_{b} * {part.radix}" for b, part in parts if part.word == word)

    def _steps(self, is_half: bool) -> str:
        """List what to add to the words of a row to reach each neighbouring cell."""
        rows = []
        for step in neighbour_steps(len(self.layout.cell_parts), is_directed=not is_half):
            added = [0] * len(self.layout.words)
            for part, by in zip(self.layout.cell_parts, step, strict=True):
                added[part.word] += by * part.radix
            # a word of 64 bits, also where the number itself is small
            words = ", ".join(f"CAST({word} AS BIGINT)" for word in added)
            rows.append(f"({words}, {int(any(step))})")
        names = ", ".join(f"by_{i}" for i in range(len(self.layout.words)))
        return f"(VALUES {', '.join(rows)}) AS step({names}, is_ahead)"

    def _order(self, direction: Direction) -> Iterator[str]:
        if direction == "either":
            yield f"l.number {'<=' if self.is_collapsed else '<'} r.reach"
        elif direction == "forwards" and not self.is_collapsed:
            yield "l.number < r.reach"

    def _changes(self, left_out: tuple[int, ...]) -> Iterator[str]:
        """Let a pair through in one join alone: that of its differing blocks, filled up with the first other ones."""
        for position, block in enumerate(left_out):
            if block != position:  # some earlier block is not left out, so this one can be no filling
                yield f"l.block_{block} <> r.block_{block}"
        columns = [
            f"discrete_{column}" if self.layout.block_columns[block][1:] else f"block_{block}"
            for block in left_out
            for column in self.layout.block_columns[block]
        ]
        if len(columns) > self.conditions.max_changes:  # blocks are more than single columns
            differs = (f"CASE WHEN l.{column} <> r.{column} THEN 1 ELSE 0 END" for column in columns)
            yield f"{' + '.join(differs)} <= {self.conditions.max_changes}"


def _number(value: float) -> str:
    """Write a float that every dialect reads back bit by bit; a plain literal would be a decimal to some."""
    return f"CAST('{value!r}' AS DOUBLE)"


def _where(table: str, condition: str) -> str:
    return f"(SELECT * FROM {table} WHERE {condition})"


def _rows(left: str, right: str, direction: Direction) -> str:
    if direction == "either":
        left, right = f"least({left}, {right})", f"greatest({left}, {right})"
    return f"{left} AS left_row, {right} AS right_row"
