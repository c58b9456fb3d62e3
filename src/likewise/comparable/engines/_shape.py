"""What a query for pairs depends on: the names and numbers alone, whoever holds the rows."""

from __future__ import annotations

from dataclasses import dataclass

from likewise.comparable.engines._conditions import Conditions
from likewise.comparable.engines._layout import Layout, Part
from likewise.comparable.engines._problem import Problem


@dataclass(frozen=True, slots=True)
class Block:
    """Name the columns of a block: where its codes stand in the packed words, and the single columns it is of."""

    parts: tuple[tuple[str, Part], ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryShape:
    """Say which columns the tables of people have, and what a pair of them has to meet."""

    n_words: int
    blocks: tuple[Block, ...]
    cell_parts: tuple[Part, ...]
    max_changes: int  # rows are joined on all but each set of so many blocks
    limits: tuple[float, ...]  # of the near columns
    n_differing: int
    is_one_table: bool  # pairs are sought within a table, not between two
    is_collapsed: bool  # a row of people stands for several, which the tables of members name
    beyond: int  # more than any number of a right row
    n_candidates: float  # pairs of rows that meet in a join, as estimated
    gives_label: bool = False
    n_carried: int = 0  # columns that come along with each row of a pair
    is_one_join: bool = False  # for all sets of blocks together: more rows in a join, but fewer joins
    has_salted_keys: bool = False  # some keys of the one join have very many rows
    has_salted_members: bool = False  # some groups have very many rows


def shape_of(problem: Problem, conditions: Conditions, layout: Layout, *, is_collapsed: bool) -> QueryShape:
    """Describe the tables that `people_columns` and `member_columns` make."""
    blocks = tuple(
        Block(
            parts=((f"block_{number}", part),),
            columns=tuple(f"discrete_{column}" for column in columns) if columns[1:] else (f"block_{number}",),
        )
        for number, (part, columns) in enumerate(zip(layout.block_parts, layout.block_columns, strict=True))
    )
    return QueryShape(
        n_words=len(layout.words),
        blocks=blocks,
        cell_parts=layout.cell_parts,
        max_changes=conditions.max_changes,
        limits=conditions.limits,
        n_differing=len(conditions.differing),
        is_one_table=problem.n_right is None,
        is_collapsed=is_collapsed,
        beyond=problem.n_rows if problem.n_right is None else problem.n_right,
        n_candidates=layout.n_candidates,
    )
