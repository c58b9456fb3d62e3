"""What the rows are joined on: the conditions that can fail, and the cheapest blocks and cells to join by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from likewise._codes import number_codes
from likewise.comparable._limits import Nearness
from likewise.comparable.engines._columns import (
    balance_blocks,
    cut_cells,
    number_jointly,
    rank_near,
    rank_values,
    spread_of,
)
from likewise.comparable.engines._problem import Problem

Ints = NDArray[np.int64]

LARGEST_WORD: Final = 2**62  # packed codes stay clear of the sign bit
COLLAPSED_BELOW: Final = 0.7  # groups a row: above this, expanding groups costs more than it saves


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """A problem without the conditions that always hold, and with all equalities in one key."""

    key: Ints  # has to be equal
    discrete: tuple[Ints, ...]  # at most max_changes of these differ; there are more of them than that
    max_changes: int
    near: tuple[NDArray[np.float64], ...]
    tests: tuple[Nearness, ...]
    cells: tuple[Ints, ...]  # values within the limit lie in one cell or in neighbouring ones
    differing: tuple[NDArray[np.int32], ...]  # every one of these differs

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Reduce a problem; exact, since rounding never turns the order of two differences around."""
        must_equal: list[NDArray[Any]] = [problem.labels, *problem.equal]
        kept: list[tuple[NDArray[np.float64], Nearness, Ints]] = []
        for values, test in zip(problem.near, problem.tests, strict=True):
            column = rank_near(values, test)
            if column.component is not None:
                must_equal.append(column.component)
            if not column.is_settled:
                kept.append((values, test, cut_cells(column.lowest, column.highest)[column.ranks].astype(np.int64)))
        discrete = [codes for codes in (number_codes(column)[1] for column in problem.discrete) if codes.any()]
        if problem.max_changes == 0:
            must_equal += discrete
        if problem.max_changes == 0 or len(discrete) <= problem.max_changes:
            discrete = []
        sensitive: tuple[NDArray[np.int32], ...] = ()
        if problem.sensitive_differs == "any":
            sensitive = (problem.combination,)
        elif problem.sensitive_differs == "all":
            sensitive = tuple(problem.combinations[problem.combination].T)
        return cls(
            key=fold(must_equal),
            discrete=tuple(discrete),
            max_changes=problem.max_changes if discrete else 0,
            near=tuple(values for values, _, _ in kept),
            tests=tuple(test for _, test, _ in kept),
            cells=tuple(cells for _, _, cells in kept),
            differing=sensitive,
        )

    def take(self, rows: Ints) -> Conditions:
        """Keep some rows."""
        return Conditions(
            self.key[rows],
            tuple(column[rows] for column in self.discrete),
            self.max_changes,
            tuple(column[rows] for column in self.near),
            self.tests,
            tuple(column[rows] for column in self.cells),
            tuple(column[rows] for column in self.differing),
        )


def fold(columns: Sequence[NDArray[np.integer[Any]]]) -> Ints:
    """Number the distinct rows of some columns of integers from 0 on."""
    return number_codes(number_jointly(columns, len(columns[0])))[1]


@dataclass(frozen=True, slots=True, eq=False)
class EqualRows:
    """EqualRows of rows that are equal in everything that any condition looks at."""

    of_row: Ints
    first_row: Ints  # one row of each group
    n_left: Ints  # its rows in the left table
    n_right: Ints  # its rows in the right table; the same when there is one table

    @classmethod
    def of(cls, conditions: Conditions, problem: Problem) -> Self:
        """Collapse equal rows, unless there are too few of them to gain from it."""
        ranks = [rank_values(column)[0] for column in conditions.near]
        of_row = fold([conditions.key, *conditions.discrete, *ranks, problem.combination])
        n_groups = int(of_row.max(initial=-1)) + 1
        if n_groups > COLLAPSED_BELOW * problem.n_rows:
            of_row, n_groups = np.arange(problem.n_rows), problem.n_rows
        first_row = np.zeros(n_groups, np.int64)
        first_row[of_row[::-1]] = np.arange(problem.n_rows)[::-1]
        n_left = np.bincount(of_row[: problem.n_left], minlength=n_groups)
        n_right = n_left if problem.n_right is None else np.bincount(of_row[problem.n_left :], minlength=n_groups)
        return cls(of_row, first_row, n_left, n_right)

    @property
    def is_collapsed(self) -> bool:
        """Whether there are fewer groups than rows."""
        return len(self.first_row) < len(self.of_row)


MOST_JOINS: Final = 256
MOST_CELL_COLUMNS: Final = 3  # each triples the rows of one side
COST_OF_CANDIDATE: Final = 1.0  # of comparing two rows that met, in units of putting one row through a join
SAMPLED_ROWS: Final = 2_000
SAMPLED_JOINS: Final = 3


@dataclass(frozen=True, slots=True)
class KeyPart:
    """Place one code in a packed key: ``word += code * radix``."""

    word: int
    radix: int


@dataclass(frozen=True, slots=True, eq=False)
class JoinKeys:
    """What the rows are joined on.

    The discrete columns form blocks. For each set of ``max_changes`` blocks there is one join on the packed words less
    those blocks; `cells` widen it to neighbouring cells of some near columns.
    """

    words: tuple[Ints, ...]
    blocks: tuple[Ints, ...]
    block_parts: tuple[KeyPart, ...]
    cell_parts: tuple[KeyPart, ...]
    block_columns: tuple[tuple[int, ...], ...]  # which discrete columns a block is of
    n_candidates: float  # pairs of rows that meet in a join, as estimated


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """Which discrete columns form each block, and which near columns are cut into cells."""

    blocks: tuple[tuple[int, ...], ...]
    cells: tuple[int, ...]
    n_candidates: float


def choose_keys(conditions: Conditions, groups: EqualRows, *, is_directed: bool) -> JoinKeys:
    """Choose blocks and near columns for the cheapest joins, estimated from a sample of rows, and pack the codes."""
    weights = np.maximum(groups.n_left, groups.n_right)
    return _pack(conditions, plan_joins(conditions, weights, is_directed=is_directed))


def plan_joins(
    conditions: Conditions,
    weights: Ints,
    *,
    is_directed: bool,
    n_groups: int | None = None,
    most_joins: int = MOST_JOINS,
) -> JoinPlan:
    """Cut blocks and pick near columns for the cheapest joins.

    ``n_groups`` says how many groups there are in all, if the given ones are only some of them.
    """
    n_given = len(conditions.key)
    rows = np.sort(np.random.default_rng(0).permutation(n_given)[:SAMPLED_ROWS])
    sample, sample_weights = conditions.take(rows), weights[rows]
    # of a few rows out of very many, each is all too near itself
    n_alone = 0.0 if n_groups is None or is_directed else 0.5 * len(rows)
    n_alone_met = n_alone and 0.5 * float(np.sum(sample_weights**2))
    n_groups = n_given if n_groups is None else n_groups
    scale = (n_groups / len(rows)) ** 2

    def price(blocks: list[list[int]], cells: list[int]) -> tuple[float, float]:
        n_joins = comb(len(blocks), conditions.max_changes)
        met, pairs_met = _sample_candidates(sample, blocks, cells, sample_weights, is_directed)
        rows_joined = n_joins * n_groups * (1 + len(neighbour_steps(len(cells), is_directed)))
        times = n_joins * scale
        return rows_joined + COST_OF_CANDIDATE * times * (met - n_alone), times * (pairs_met - n_alone_met)

    n_columns, n_least = len(conditions.discrete), conditions.max_changes + 1
    few_enough = (n for n in range(n_least, n_columns + 1) if comb(n, conditions.max_changes) <= most_joins)
    most = max(few_enough, default=n_least)
    blocks = _cut_blocks(conditions.discrete, most) if n_columns else []
    cells: list[int] = []
    best = price(blocks, cells)
    for _ in range(min(MOST_CELL_COLUMNS, len(conditions.cells))):
        tries = [(price(blocks, [*cells, c]), [*cells, c]) for c in range(len(conditions.cells)) if c not in cells]
        if not tries or min(tries)[0] >= best:
            break
        best, cells = min(tries)
    if n_columns:
        for n_blocks in sorted({int(n) for n in np.geomspace(n_least, most, 6)}, reverse=True)[1:]:
            tried = _cut_blocks(conditions.discrete, n_blocks)
            best, blocks = min((best, blocks), (price(tried, cells), tried))
    return JoinPlan(tuple(map(tuple, blocks)), tuple(cells), best[1])


def _cut_blocks(columns: tuple[Ints, ...], n_blocks: int) -> list[list[int]]:
    block_of = balance_blocks([spread_of(np.bincount(column)) for column in columns], n_blocks)
    return [[column for column, block in enumerate(block_of) if block == one] for one in range(n_blocks)]


def neighbour_steps(n_cells: int, is_directed: bool) -> list[tuple[int, ...]]:
    """List the neighbouring cells to look at; of each two opposite ones only one, if pairs have no direction."""
    steps = list(product((-1, 0, 1), repeat=n_cells))
    return steps if is_directed else [step for step in steps if step >= (0,) * n_cells]


def _sample_candidates(
    sample: Conditions, blocks: list[list[int]], cells: list[int], weights: Ints, is_directed: bool
) -> tuple[float, float]:
    """Count the pairs of groups, and those of rows, that meet in a join, on average over a few of the joins."""
    all_left_out = list(combinations(range(len(blocks)), sample.max_changes))
    chosen = np.linspace(0, len(all_left_out) - 1, min(SAMPLED_JOINS, len(all_left_out))).astype(int)
    steps_taken = neighbour_steps(len(cells), is_directed)
    neighbours = np.array(steps_taken, np.int64).reshape(len(steps_taken), len(cells))
    met = pairs_met = 0.0
    for left_out in (all_left_out[i] for i in chosen):
        inside = [sample.discrete[c] for b, block in enumerate(blocks) if b not in left_out for c in block]
        packed = fold([sample.key, *inside])
        steps = np.zeros(len(neighbours), np.int64)
        for cell, by in zip(cells, neighbours.T, strict=True):
            codes = sample.cells[cell]
            n_codes = int(codes.max()) + 3
            packed, steps = packed * n_codes + codes + 1, steps * n_codes + by
        occupied, bucket, counts = np.unique(packed, return_inverse=True, return_counts=True)
        masses = np.bincount(bucket, weights=weights, minlength=len(occupied))
        for step in steps.tolist():
            at = np.minimum(np.searchsorted(occupied, occupied + step), len(occupied) - 1)
            found = occupied[at] == occupied + step
            half = 0.5 if step == 0 and not is_directed else 1.0
            met += half * float(np.sum(counts * counts[at] * found))
            pairs_met += half * float(np.sum(masses * masses[at] * found))
    return met / len(chosen), pairs_met / len(chosen)


def place_codes(sizes: Sequence[int]) -> list[KeyPart]:
    """Place codes in as few packed words as hold them; each is below its size."""
    parts: list[KeyPart] = []
    word, size = 0, 1
    for n_codes in sizes:
        if size * n_codes > LARGEST_WORD:
            word, size = word + 1, 1
        parts.append(KeyPart(word, size))
        size *= n_codes
    return parts


def _pack(conditions: Conditions, plan: JoinPlan) -> JoinKeys:
    """Put the key, the blocks and the cells of a row into as few integers as hold them."""
    codes = [fold([conditions.discrete[c] for c in block]) for block in plan.blocks]
    # one unused code at either end, so that a step out of the first or last cell leads nowhere
    cells = [conditions.cells[c] + 1 for c in plan.cells]
    sizes = [int(column.max()) + 1 for column in (conditions.key, *codes)] + [int(column.max()) + 2 for column in cells]
    parts = place_codes(sizes)
    words = [np.zeros(len(conditions.key), np.int64) for _ in range(parts[-1].word + 1)]
    for part, column in zip(parts, (conditions.key, *codes, *cells), strict=True):
        words[part.word] += column * part.radix
    block_parts, cell_parts = parts[1 : len(codes) + 1], parts[len(codes) + 1 :]
    return JoinKeys(tuple(words), tuple(codes), tuple(block_parts), tuple(cell_parts), plan.blocks, plan.n_candidates)
