"""What the rows are joined on: the conditions that can fail, and the cheapest blocks and cells to join by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._codes import number_together
from likewise.comparable._internal import balance_blocks

Ints = NDArray[np.int64]

LARGEST_WORD: Final = 2**62  # packed codes stay clear of the sign bit
COLLAPSED_BELOW: Final = 0.7  # groups a row: above this, expanding groups costs more than it saves


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """A sample of the people by what joins can be planned on: all equalities in one key, changes and cells."""

    key: Ints  # has to be equal
    discrete: tuple[Ints, ...]  # at most max_changes of these differ; there are more of them than that
    max_changes: int
    cells: tuple[Ints, ...]  # values within the limit lie in one cell or in neighbouring ones

    def take(self, rows: Ints) -> Conditions:
        """Keep some rows."""
        return Conditions(
            self.key[rows],
            tuple(column[rows] for column in self.discrete),
            self.max_changes,
            tuple(column[rows] for column in self.cells),
        )


def fold(columns: Sequence[NDArray[np.integer[Any]]]) -> Ints:
    """Number the distinct rows of some columns of integers from 0 on."""
    return number_together(columns, len(columns[0]))[1].astype(np.int64)


MOST_JOINS: Final = 24  # each is several stages of a Spark job
MOST_CELL_COLUMNS: Final = 3  # each triples the rows of one side
COST_OF_CANDIDATE: Final = 1.0  # of comparing two rows that met, in units of putting one row through a join
SAMPLED_ROWS: Final = 2_000
SAMPLED_JOINS: Final = 3


@dataclass(frozen=True, slots=True)
class KeyPart:
    """Place one code in a packed key: ``word += code * radix``."""

    word: int
    radix: int


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """Which discrete columns form each block, and which near columns are cut into cells."""

    blocks: tuple[tuple[int, ...], ...]
    cells: tuple[int, ...]
    n_candidates: float


def plan_joins(conditions: Conditions, n_groups: int) -> JoinPlan:
    """Cut blocks and pick near columns for the cheapest joins of so many groups, of which some are given."""
    n_given = len(conditions.key)
    sample = conditions.take(np.sort(np.random.default_rng(0).permutation(n_given)[:SAMPLED_ROWS]))
    n_sampled = len(sample.key)
    n_alone = 0.5 * n_sampled  # of a few rows out of very many, each is all too near itself
    scale = (n_groups / n_sampled) ** 2

    def price(blocks: list[list[int]], cells: list[int]) -> tuple[float, float]:
        n_joins = comb(len(blocks), conditions.max_changes)
        n_met = n_joins * scale * (_sample_candidates(sample, blocks, cells) - n_alone)
        return n_joins * n_groups * (1 + len(neighbour_steps(len(cells)))) + COST_OF_CANDIDATE * n_met, n_met

    n_columns, n_least = len(conditions.discrete), conditions.max_changes + 1
    few_enough = (n for n in range(n_least, n_columns + 1) if comb(n, conditions.max_changes) <= MOST_JOINS)
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
    block_of = balance_blocks([_spread_of(np.bincount(column)) for column in columns], n_blocks)
    return [[column for column, block in enumerate(block_of) if block == one] for one in range(n_blocks)]


def _spread_of(counts: Ints) -> float:
    """Entropy of a column, from how often each of its values occurs."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def neighbour_steps(n_cells: int) -> list[tuple[int, ...]]:
    """List the neighbouring cells to look at, of each two opposite ones only one: pairs have no direction."""
    return [step for step in product((-1, 0, 1), repeat=n_cells) if step >= (0,) * n_cells]


def _sample_candidates(sample: Conditions, blocks: list[list[int]], cells: list[int]) -> float:
    """Count the pairs of groups that meet in a join, on average over a few of the joins."""
    all_left_out = list(combinations(range(len(blocks)), sample.max_changes))
    chosen = np.linspace(0, len(all_left_out) - 1, min(SAMPLED_JOINS, len(all_left_out))).astype(int)
    steps_taken = neighbour_steps(len(cells))
    neighbours = np.array(steps_taken, np.int64).reshape(len(steps_taken), len(cells))
    met = 0.0
    for left_out in (all_left_out[i] for i in chosen):
        inside = [sample.discrete[c] for b, block in enumerate(blocks) if b not in left_out for c in block]
        packed = fold([sample.key, *inside])
        steps = np.zeros(len(neighbours), np.int64)
        for cell, by in zip(cells, neighbours.T, strict=True):
            codes = sample.cells[cell]
            n_codes = int(codes.max()) + 3
            packed, steps = packed * n_codes + codes + 1, steps * n_codes + by
        occupied, counts = np.unique(packed, return_counts=True)
        for step in steps.tolist():
            at = np.minimum(np.searchsorted(occupied, occupied + step), len(occupied) - 1)
            half = 0.5 if step == 0 else 1.0
            met += half * float(np.sum(counts * counts[at] * (occupied[at] == occupied + step)))
    return met / len(chosen)


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
