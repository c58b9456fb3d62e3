"""Which blocks of discrete columns to leave out in turn, and whether to bucket by cells.

The pairs never depend on the plan, only the time it takes. Costs are estimated from pairs of sampled nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import comb
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.comparable.engines._columns import balance_blocks
from likewise.comparable.engines._packing import PackedRows, Words

SMALL: Final = 500  # with so few nodes any plan will do
MOST_SIGNATURES: Final = 1_500
MOST_BLOCKS: Final = 64
NODES_FOR_SPREADS: Final = 500
NO_BLOCK: Final = -1  # of a column that nodes are not bucketed by
MOST_COMBINATIONS: Final = 256  # with more, a bucket would fall into too many runs
# costs in nanoseconds, of which only the ratios matter
BUILD_ONE: Final = 110_000.0  # a signature's buckets, however few its nodes
BUILD: Final = 60.0  # a node in its bucket
BEYOND: Final = 60.0  # the same, where there are neighbouring cells to look into
TEST: Final = 4.0


class Signature(NamedTuple):
    """What the nodes of a bucket agree in, and in what two of them have to differ."""

    kept: Words  # of each discrete word, the bits that they agree in
    apart: Words  # (n_blocks, discrete words): a pair is taken where it differs in each of these blocks


@dataclass(frozen=True, slots=True)
class Plan:
    """What nodes are bucketed by."""

    blocks: Words  # (n_blocks, discrete words): the bits of each block
    equal: Words  # of each discrete word, the bits that are always agreed in
    n_left_out: int
    has_cells: bool
    splits: bool  # whether to part the nodes of a bucket by their sensitive values

    def signatures(self) -> Iterator[Signature]:
        """Leave out some blocks after others.

        A pair agrees under every signature that leaves out the blocks it differs in. It is taken under the one of
        those blocks, filled up with the lowest others: where it differs in all that are left out, but for those that
        no lower block is kept before.
        """
        for left_out in combinations(range(len(self.blocks)), self.n_left_out):
            others = np.delete(self.blocks, left_out, axis=0)
            apart = [block for place, block in enumerate(left_out) if block != place]
            yield Signature(np.bitwise_or.reduce([self.equal, *others], axis=0), self.blocks[apart])

    def __len__(self) -> int:
        return comb(len(self.blocks), self.n_left_out)


def make_plan(packed: PackedRows, max_changes: int, sensitive_differs: str) -> Plan:
    """Choose the cheapest of a few plans."""
    fields = range(packed.n_equal, len(packed.discrete.word))
    partitions = [list(range(len(fields)))]
    if len(fields) > MOST_BLOCKS or comb(len(fields), max_changes) > MOST_SIGNATURES:
        partitions = []
    partitions += _larger_blocks(packed, max_changes)
    partitions.append([NO_BLOCK] * len(fields))
    may_split = sensitive_differs != "none" and 1 < packed.n_combinations <= MOST_COMBINATIONS
    partition, has_cells = partitions[0], False
    if packed.n_nodes > SMALL:
        partition, has_cells = choose_cheapest(packed, partitions, max_changes, may_split)
    blocks = np.zeros((max(partition, default=NO_BLOCK) + 1, len(packed.discrete.guard)), np.uint64)
    for field, block in zip(fields, partition, strict=True):
        if block != NO_BLOCK:
            blocks[block, packed.discrete.word[field]] |= np.uint64(packed.discrete.mask(field))
    equal = np.zeros(len(packed.discrete.guard), np.uint64)
    for field in range(packed.n_equal):
        equal[packed.discrete.word[field]] |= np.uint64(packed.discrete.mask(field))
    return Plan(blocks, equal, min(max_changes, len(blocks)), has_cells, may_split)


def _larger_blocks(packed: PackedRows, max_changes: int) -> Iterator[list[int]]:
    """Cut the discrete columns into fewer blocks, each about as telling as the others."""
    some = slice(None, None, max(1, packed.n_nodes // NODES_FOR_SPREADS))
    spreads = [_entropy(_read(packed, field, some)) for field in range(packed.n_equal, len(packed.discrete.word))]
    for n_blocks in (max_changes + more for more in (1, 2, 3, 5, 8)):
        if n_blocks >= min(len(spreads), MOST_BLOCKS + 1) or comb(n_blocks, max_changes) > MOST_SIGNATURES:
            return
        yield balance_blocks(spreads, n_blocks)


def _read(packed: PackedRows, field: int, nodes: slice | NDArray[np.int64]) -> Words:
    """Return the bits of a discrete field of some nodes."""
    return packed.words[nodes, 1 + packed.discrete.word[field]] & np.uint64(packed.discrete.mask(field))


def _entropy(codes: Words) -> float:
    shares = np.unique(codes, return_counts=True)[1] / max(len(codes), 1)
    return float(-(shares * np.log(shares)).sum())


def choose_cheapest(
    packed: PackedRows, partitions: list[list[int]], max_changes: int, may_split: bool
) -> tuple[list[int], bool]:
    """Estimate what each partition costs, with cells and without."""
    lefts = np.flatnonzero(packed.is_left)
    rights = lefts if packed.is_within else np.flatnonzero(~packed.is_left)
    n_both = len(lefts) * len(rights) / (2 if packed.is_within else 1)
    # one sampled pair then stands for about a tenth of the work of building one signature's buckets
    n_sampled = 32 + int((packed.n_nodes / 6) ** 0.5)
    if not n_both:
        return partitions[0], False
    random = np.random.default_rng(0)
    left, right = (nodes[random.integers(len(nodes), size=n_sampled)] for nodes in (lefts, rights))
    left, right = _meet(packed, np.repeat(left, n_sampled), np.tile(right, n_sampled), may_split)
    differing = range(packed.n_equal, len(packed.discrete.word))
    differs = np.array([_read(packed, field, left) != _read(packed, field, right) for field in differing], np.bool_)
    is_near = np.ones(len(left), np.bool_)
    if packed.cell is not None:
        is_near = np.abs(packed.cell[left] - packed.cell[right]) <= 1
    best, cheapest = (partitions[0], False), np.inf
    for partition in partitions:
        n_blocks = max(partition, default=NO_BLOCK) + 1
        n_left_out = min(max_changes, n_blocks)
        n_differing = np.zeros(len(left), np.int64)
        for block in range(n_blocks):
            columns = (differs[column] for column, other in enumerate(partition) if other == block)
            n_differing += reduce(np.logical_or, columns)
        # a pair is tested as often as there are signatures that leave out what it differs in
        times = [comb(n_blocks - n, n_left_out - n) if n <= n_left_out else 0 for n in range(n_blocks + 1)]
        n_tests = np.array(times, np.float64)[n_differing] * (n_both / n_sampled**2)
        for has_cells in (False, True)[: 1 if packed.cell is None else 2]:
            # few blocks leave few buckets
            of_node = BUILD + has_cells * BEYOND * (n_blocks + 1) / (n_blocks + 3)
            cost = comb(n_blocks, n_left_out) * (BUILD_ONE + packed.n_nodes * of_node)
            cost += TEST * float((n_tests * is_near if has_cells else n_tests).sum())
            if cost < cheapest:
                best, cheapest = (partition, has_cells), cost
    return best


def _meet(
    packed: PackedRows, left: NDArray[np.int64], right: NDArray[np.int64], may_split: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Keep the pairs of nodes that may be looked at under a signature."""
    first, last = packed.window[left].T
    kept = (right >= first) & (right <= last)
    if may_split:
        kept &= packed.words[left, 0] >> np.uint64(32) != packed.words[right, 0] >> np.uint64(32)
    left, right = left[kept], right[kept]
    for field in range(packed.n_equal):
        kept = _read(packed, field, left) == _read(packed, field, right)
        left, right = left[kept], right[kept]
    return left, right
