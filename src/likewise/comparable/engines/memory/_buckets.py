"""Buckets of rows that may be comparable: which blocks of discrete columns to leave out, which cells to bucket by.

The pairs never depend on the plan, only the time it takes. Costs are estimated from pairs of sampled nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled_with_arrays
from likewise._threads import share_calls, threads_for
from likewise.comparable.engines._columns import balance_blocks
from likewise.comparable.engines.memory._packing import PackedTable, Words, sort_by_rank

SMALL: Final = 500  # with so few nodes any plan will do
MOST_SIGNATURES: Final = 1_500
MOST_BLOCKS: Final = 64  # a set of blocks is kept as the bits of a word
NODES_FOR_SPREADS: Final = 500
CODE_BITS: Final = 12  # of a column, by which its entropy is estimated
NO_BLOCK: Final = -1  # of a column that nodes are not bucketed by
MOST_COMBINATIONS: Final = 256  # with more, a bucket would fall into too many runs
# Costs in nanoseconds, of which only the ratios matter: fitted by least squares of relative errors to the measured time
# of every plan for the five data sets, on one machine. Those of queries are of older kernels.
BUILD_ONE: Final = 110_000.0  # a signature's buckets, however few its nodes
BUILD: Final = 60.0  # a node in its bucket, compared with none
BEYOND: Final = 110.0  # many buckets of neighbouring cells
RUN: Final = 4.0  # a run of another combination that a node may have partners in
MOST_RUNS: Final = 12  # in a bucket, as far as that matters: most combinations are rare
TEST: Final = 4.0
BUILD_ASKED: Final = 60.0
ASK: Final = 60.0
RUN_ASKED: Final = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What nodes are bucketed by."""

    kept: Words  # (n_signatures, discrete words): the bits that a bucket's nodes agree in
    left_out: NDArray[np.int64]  # (n_signatures, blocks left out)
    members: NDArray[np.uint64]  # the same of each signature as a set of bits
    blocks: Words  # (n_blocks, discrete words): the bits of each block
    has_cells: bool  # whether the near column after the sweep column buckets by its cells
    splits: bool  # whether to part the nodes of a bucket by their sensitive values
    needs_difference: bool  # whether the sensitive values of a pair differ

    def n_looked_up(self, n_combinations: int) -> int:
        """How many runs of nodes a query may lead to under one signature, at most."""
        return (3 if self.has_cells else 1) * (n_combinations if self.splits else 1)


class Common(NamedTuple):
    """What the buckets of all signatures have in common."""

    cell: NDArray[np.int32]  # of each node; empty if the plan uses none
    indexed: NDArray[np.int32]  # nodes that buckets are made of
    combination: NDArray[np.int32]  # of each of them
    order_by: NDArray[np.int32]  # their places by combination; empty if runs are not split


def find_common(packed: PackedTable, plan: Plan) -> Common:
    """Find out once what the buckets of all signatures have in common."""
    nobody, indexed = np.empty(0, np.int32), packed.nodes_of(packed.right_node_of)
    combination = packed.combination if len(indexed) == packed.n_nodes else packed.combination[indexed]
    n_combinations = len(packed.nodes.combinations)
    calls: dict[str, Callable[[], NDArray[np.int32]]] = {
        "cell": lambda: packed.cells_of(1) if plan.has_cells else nobody,
        "order": lambda: sort_by_rank(combination, n_combinations)[0] if plan.splits else nobody,
    }
    found = share_calls(calls, n_threads=threads_for(packed.n_nodes))
    return Common(found["cell"], indexed, combination, found["order"])


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
    has_cells, splits = False, False
    partition = partitions[0]
    if packed.n_nodes > SMALL and len(packed.left_node_of) and len(packed.right_node_of):
        partition, has_cells, splits = _cheapest(packed, partitions, max_changes, sensitive_differs)
    return _draw_up(packed, partition, max_changes, has_cells, splits, sensitive_differs != "none")


def _draw_up(
    packed: PackedTable, partition: list[int], max_changes: int, has_cells: bool, splits: bool, needs_difference: bool
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
        has_cells=has_cells,
        splits=splits,
        needs_difference=needs_difference,
    )


def _larger_blocks(packed: PackedTable, max_changes: int, most_signatures: int) -> list[list[int]]:
    """Cut the discrete columns into fewer blocks, each about as telling as the others."""
    spreads = np.empty(len(packed.fields))
    _measure_spreads(packed.nodes.words, max(1, packed.n_nodes // NODES_FOR_SPREADS), _fields_of(packed), spreads)
    partitions = []
    for n_blocks in (max_changes + more for more in (1, 2, 3, 5, 8)):
        if n_blocks >= min(len(spreads), MOST_BLOCKS + 1) or comb(n_blocks, max_changes) > most_signatures:
            break
        partitions.append(balance_blocks(spreads.tolist(), n_blocks))
    return partitions


def _fields_of(packed: PackedTable) -> Words:
    """Return the word of each field and its mask there."""
    return np.array(packed.fields, np.uint64).reshape(-1, 2)


@compiled_with_arrays
def _measure_spreads(words: Any, step: Any, fields: Any, spreads: Any) -> None:
    """Write the entropy of each field, of its lowest bits, among every so many nodes."""
    counts, n = np.empty(1 << CODE_BITS, np.int64), (len(words) + step - 1) // step
    for column in range(len(fields)):
        word, mask, shift = np.int64(fields[column, 0]), fields[column, 1], np.uint64(0)
        while not (mask >> shift) & np.uint64(1):
            shift += np.uint64(1)
        mask = (mask >> shift) & np.uint64((1 << CODE_BITS) - 1)
        counts[: np.int64(mask) + 1] = 0
        for node in range(0, len(words), step):
            counts[(words[node, word] >> shift) & mask] += 1
        spreads[column] = np.log(max(n, 1))
        for code in range(np.int64(mask) + 1):
            if counts[code]:
                spreads[column] -= counts[code] / n * np.log(counts[code])


def _cheapest(
    packed: PackedTable, partitions: list[list[int]], max_changes: int, sensitive_differs: str
) -> tuple[list[int], bool, bool]:
    left_nodes = packed.nodes_of(packed.left_node_of)
    right_nodes = left_nodes if packed.is_within else packed.nodes_of(packed.right_node_of)
    # one sampled pair then stands for about a tenth of the work of building one signature's buckets
    n_sampled = 32 + int((packed.n_nodes / 6) ** 0.5)
    random = np.random.default_rng(0)
    left, right = (nodes.take(random.integers(len(nodes), size=n_sampled)) for nodes in (left_nodes, right_nodes))
    cells = np.zeros((2, n_sampled), np.int32)  # by side; one cell, where there is no such column
    if packed.n_near > 1:
        cells = packed.cells_of(1, np.concatenate([left, right])).reshape(2, -1)
    # each pair of sampled nodes is tested as often as there are signatures that leave out what it differs in
    n_blocks = [max(partition, default=NO_BLOCK) + 1 for partition in partitions]
    n_left_out = [min(max_changes, m) for m in n_blocks]
    times = np.array([_count_signatures(m, n) for m, n in zip(n_blocks, n_left_out, strict=True)], np.float64)
    tests = np.zeros((len(partitions), 2, 2))
    block_of = np.array(partitions, np.int64).reshape(len(partitions), -1)
    nodes = packed.nodes
    _count_tests(nodes.words, nodes.key, nodes.window, left, right, cells, _fields_of(packed), block_of, times, tests)
    n_both = len(left_nodes) * len(right_nodes) / (2 if packed.is_within else 1)
    n_tests = (tests * (n_both / n_sampled**2)).tolist()
    best, cheapest = (partitions[0], False, False), np.inf
    n_combinations = len(packed.nodes.combinations)
    may_split = sensitive_differs != "none" and 1 < n_combinations <= MOST_COMBINATIONS
    for i, n_signatures in enumerate(map(comb, n_blocks, n_left_out)):
        for has_cells in (False, True) if packed.n_near > 1 else (False,):
            of_cells = has_cells * BEYOND * (n_blocks[i] + 1) / (n_blocks[i] + 3)  # few blocks leave few buckets
            for splits in (False, True) if may_split else (False,):
                if packed.is_within:
                    of_node = BUILD + of_cells + RUN * (min(n_combinations, MOST_RUNS) - 1) * splits
                    cost = n_signatures * (BUILD_ONE + len(left_nodes) * of_node)
                else:
                    of_query = ASK * 3**has_cells + RUN_ASKED * 2**has_cells * (min(n_combinations, 4) if splits else 1)
                    cost = n_signatures * (len(right_nodes) * BUILD_ASKED + len(left_nodes) * of_query)
                cost += n_tests[i][has_cells][splits] * TEST
                if cost < cheapest:
                    best, cheapest = (partitions[i], has_cells, splits), cost
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
    window: Any,
    left: Any,
    right: Any,
    cells: Any,
    fields: Any,
    block_of: Any,
    times: Any,
    tests: Any,
) -> None:
    """Count, for each partition, cells and splitting or not, how many tests the sampled pairs would cost."""
    differ = np.empty(len(fields), np.int64)
    for i in range(len(left)):
        for j in range(len(right)):
            a, b = left[i], right[j]
            if key[a] != key[b] or b < window[a, 0] or b > window[a, 1]:
                continue
            n_differ = 0
            for column in range(len(fields)):
                differ[n_differ] = column
                word = np.int64(fields[column, 0])
                n_differ += (words[a, word] ^ words[b, word]) & fields[column, 1] != np.uint64(0)
            is_near = abs(cells[0, i] - cells[1, j]) <= 1
            same = words[a, 0] >> np.uint64(32) == words[b, 0] >> np.uint64(32)
            for partition in range(len(block_of)):
                differing, n_differing = np.uint64(0), 0
                for k in range(n_differ):
                    block = block_of[partition, differ[k]]
                    if block >= 0:
                        n_differing += (differing >> np.uint64(block)) & np.uint64(1) == np.uint64(0)
                        differing |= np.uint64(1) << np.uint64(block)
                        if times[partition, n_differing] == 0:  # no signature leaves out so many
                            break
                n = times[partition, n_differing]
                for has_cells in range(1 + is_near):
                    tests[partition, has_cells, 0] += n
                    if not same:
                        tests[partition, has_cells, 1] += n
