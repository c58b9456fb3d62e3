"""Buckets of rows that may be comparable: which blocks of discrete columns to leave out, which cells to bucket by.

The pairs never depend on the plan, only the time it takes. Costs are estimated from pairs of sampled nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled_with_arrays
from likewise.comparable.engines._columns import balance_blocks, spread_of
from likewise.comparable.engines.memory._packing import PackedTable, Words

SMALL: Final = 2_000  # with so few nodes any plan will do
MOST_SIGNATURES: Final = 1_500
MOST_BLOCKS: Final = 64  # a set of blocks is kept as the bits of a word
MOST_TOLD_APART: Final = 1 << 12  # codes of a column, where its entropy is estimated
NO_BLOCK: Final = -1  # of a column that nodes are not bucketed by
MOST_COMBINATIONS: Final = 256  # with more, a bucket would fall into too many runs
# relative costs, in nanoseconds on one machine; only their ratios matter
BUILD: Final = 60.0
OWN: Final = 5.0
HASHED: Final = 60.0
RUN: Final = 20.0
TEST: Final = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What nodes are bucketed by."""

    kept: Words  # (n_signatures, discrete words): the bits that a bucket's nodes agree in
    left_out: NDArray[np.int64]  # (n_signatures, blocks left out)
    members: NDArray[np.uint64]  # the same of each signature as a set of bits
    blocks: Words  # (n_blocks, discrete words): the bits of each block
    n_cells: int  # how many near columns, after the sweep column, bucket by their cells
    splits: bool  # whether to part the nodes of a bucket by their sensitive values
    needs_difference: bool  # whether the sensitive values of a pair differ

    def n_looked_up(self, n_combinations: int) -> int:
        """How many runs of nodes a query may lead to under one signature, at most."""
        return 3**self.n_cells * (n_combinations if self.splits else 1)


def make_plan(
    packed: PackedTable, max_changes: int, sensitive_differs: str, most_signatures: int = MOST_SIGNATURES
) -> Plan:
    """Choose the cheapest of a few plans."""
    n_columns, most = len(packed.fields), min(most_signatures, MOST_SIGNATURES)
    partitions = [list(range(n_columns))]
    if n_columns > MOST_BLOCKS or comb(n_columns, max_changes) > most:
        partitions = []
    partitions += _larger_blocks(packed, max_changes, most)
    partitions.append([NO_BLOCK] * n_columns)
    n_cells, splits = 0, False
    partition = partitions[0]
    if packed.n_nodes > SMALL and len(packed.left_node_of) and len(packed.right_node_of):
        partition, n_cells, splits = _cheapest(packed, partitions, max_changes, sensitive_differs)
    return _draw_up(packed, partition, max_changes, n_cells, splits, sensitive_differs != "none")


def _draw_up(
    packed: PackedTable, partition: list[int], max_changes: int, n_cells: int, splits: bool, needs_difference: bool
) -> Plan:
    n_blocks, n_words = max(partition, default=NO_BLOCK) + 1, len(packed.nodes.guard)
    blocks = np.zeros((n_blocks, n_words), np.uint64)
    for (word, mask), block in zip(packed.fields, partition, strict=True):
        if block != NO_BLOCK:
            blocks[block, word - 1] |= mask
    left_out = list(combinations(range(n_blocks), min(max_changes, n_blocks)))
    kept = [np.bitwise_or.reduce(np.delete(blocks, some, axis=0), axis=0, initial=0) for some in left_out]
    members = np.array([sum(1 << block for block in some) for some in left_out], np.uint64)
    return Plan(
        kept=np.array(kept, np.uint64).reshape(len(left_out), n_words),
        left_out=np.array(left_out, np.int64).reshape(len(left_out), -1),
        members=members,
        blocks=blocks,
        n_cells=n_cells,
        splits=splits,
        needs_difference=needs_difference,
    )


def _larger_blocks(packed: PackedTable, max_changes: int, most_signatures: int) -> list[list[int]]:
    """Cut the discrete columns into fewer blocks, each about as telling as the others."""
    words = packed.nodes.words[:: max(1, len(packed.nodes.words) // 1_000)].view(np.int64)
    spreads = []
    for word, mask in packed.fields:
        shift = (int(mask) & -int(mask)).bit_length() - 1
        codes = (words[:, word] >> shift) & min(int(mask) >> shift, MOST_TOLD_APART - 1)
        spreads.append(spread_of(np.bincount(codes)))
    partitions = []
    for n_blocks in (max_changes + more for more in (1, 2, 3, 5, 8)):
        if n_blocks >= min(len(spreads), MOST_BLOCKS + 1) or comb(n_blocks, max_changes) > most_signatures:
            break
        partitions.append(balance_blocks(spreads, n_blocks))
    return partitions


def _cheapest(
    packed: PackedTable, partitions: list[list[int]], max_changes: int, sensitive_differs: str
) -> tuple[list[int], int, bool]:
    random = np.random.default_rng(0)
    left_nodes, right_nodes = packed.nodes_of(packed.left_node_of), packed.nodes_of(packed.right_node_of)
    # one sampled pair then stands for about a tenth of the work of building one signature's buckets
    n_sampled = 32 + int((packed.n_nodes / 2) ** 0.5)
    left, right = random.choice(left_nodes, n_sampled), random.choice(right_nodes, n_sampled)
    fields = np.array([[word, mask] for word, mask in packed.fields], np.uint64).reshape(-1, 2)
    no_cell = np.empty(0, np.int32)
    sampled = np.concatenate([left, right])
    cells = [packed.cells_of(i, sampled) if i < packed.n_near else no_cell for i in (0, 1, 2)]
    # each pair of sampled nodes is tested as often as there are signatures that leave out what it differs in
    n_blocks = [max(partition, default=NO_BLOCK) + 1 for partition in partitions]
    n_left_out = [min(max_changes, m) for m in n_blocks]
    times = np.array([_count_signatures(m, n) for m, n in zip(n_blocks, n_left_out, strict=True)], np.float64)
    block_of = np.array(partitions, np.int64).reshape(len(partitions), -1)
    tests = _count_tests(packed.nodes.words[sampled], packed.nodes.key[sampled], *cells, fields, block_of, times)
    n_tests = (tests * (len(left_nodes) * len(right_nodes) / n_sampled**2)).tolist()
    best, cheapest = (partitions[0], 0, False), np.inf
    n_combinations = len(packed.nodes.combinations)
    may_split = sensitive_differs != "none" and 1 < n_combinations <= MOST_COMBINATIONS
    for i, n_signatures in enumerate(map(comb, n_blocks, n_left_out)):
        for n_cells in range(max(1, min(3, packed.n_near))):
            for splits in (False, True) if may_split else (False,):
                look_up = OWN if n_cells == 0 and packed.is_within else HASHED * 3**n_cells
                look_up += RUN * 2**n_cells * (min(n_combinations, 4) if splits else 1)
                cost = n_signatures * (len(right_nodes) * BUILD + len(left_nodes) * look_up)
                cost += n_tests[i][n_cells][splits] * TEST
                if cost < cheapest:
                    best, cheapest = (partitions[i], n_cells, splits), cost
    return best


@cache
def _count_signatures(n_blocks: int, n_left_out: int) -> list[int]:
    """Count, for each number of differing blocks, the signatures that leave out all of them."""
    n, m = n_left_out, n_blocks
    return [comb(m - d, n - d) if d <= n else 0 for d in range(MOST_BLOCKS + 1)]


@compiled_with_arrays
def _count_tests(
    words: Any,
    key: Any,
    sweep_cell: Any,
    first_cell: Any,
    second_cell: Any,
    fields: Any,
    block_of: Any,
    times: Any,
) -> Any:
    """Count, for each partition, number of cells and splitting or not, how many tests the sampled pairs would cost."""
    tests = np.zeros((len(block_of), 3, 2))
    n_sampled = len(key) // 2
    for a in range(n_sampled):
        for b in range(n_sampled, 2 * n_sampled):
            if key[a] != key[b]:
                continue
            if len(sweep_cell) and abs(sweep_cell[a] - sweep_cell[b]) > 1:
                continue
            near_first = len(first_cell) == 0 or abs(first_cell[a] - first_cell[b]) <= 1
            near_second = len(second_cell) == 0 or abs(second_cell[a] - second_cell[b]) <= 1
            same = words[a, 0] >> np.uint64(32) == words[b, 0] >> np.uint64(32)
            for i in range(len(block_of)):
                differing, n_differing = np.uint64(0), 0
                for column in range(len(fields)):
                    word, block = np.int64(fields[column, 0]), block_of[i, column]
                    if block >= 0 and (words[a, word] ^ words[b, word]) & fields[column, 1] != np.uint64(0):
                        n_differing += (differing >> np.uint64(block)) & np.uint64(1) == np.uint64(0)
                        differing |= np.uint64(1) << np.uint64(block)
                        if times[i, n_differing] == 0:  # no signature leaves out so many
                            break
                n = times[i, n_differing]
                for n_cells in range(3):
                    if (n_cells < 1 or near_first) and (n_cells < 2 or near_second):
                        tests[i, n_cells, 0] += n
                        if not same:
                            tests[i, n_cells, 1] += n
    return tests
