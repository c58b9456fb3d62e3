"""How much of everything may be in memory at a time, so that all of it together stays within what is allowed.

The figures are bytes at most: few tables come near them, and no table goes beyond.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from likewise._parameters import parameter
from likewise.comparable.engines._problem import Problem
from likewise.comparable.engines.memory._buckets import Plan
from likewise.comparable.engines.memory._packing import PackedTable
from likewise.exceptions import TooManyPairs

# upper limits: more memory than this makes nothing faster
CHUNK: Final = 1 << 21  # pairs in one answer at most
MOST_GROUP_PAIRS: Final = 1 << 26  # beyond, equal rows are searched one by one rather than kept as groups
MOST_TALLIED: Final = 1 << 22
MOST_PLACES: Final = 1 << 27  # of nodes in buckets, at a time; also keeps their numbers well within four bytes
MOST_LOOKED_UP: Final = 1 << 24  # runs of nodes that the queries of one part may lead to

LEAST: Final = 64_000_000  # what a search may take in any case
A_THREAD: Final = 4_000_000
FEWEST_PAIRS: Final = 1 << 12
# bytes
IN_ANSWER: Final = 16  # of a pair that is found, copied and named
IN_LIST: Final = 12  # of a pair while all are put in order
IN_SLICE: Final = 24  # the same, with what is handed out
IN_GROUPS: Final = 40  # of a pair of groups, kept in both directions
OF_RUN: Final = 40  # of a run of nodes that a query leads to
OF_PLACE: Final = 32  # of a node in its bucket
OF_HASHED_PLACE: Final = 56  # the same where buckets are found by hash
OF_BUILDING: Final = 88  # of a node, while the buckets of a signature are made


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of everything may be in memory at a time."""

    most_signatures: int  # in an index
    n_threads: int
    n_heavy: int  # answers under way at a time that may each name every node there is
    chunk: int  # pairs in an answer
    looked_up: int  # runs that the queries of one part may lead to
    walked: int  # runs that each thread may note its way through
    sliced: int  # pairs found before they are put in order
    tallied: int  # kinds of pairs that are counted in a table
    listed: int  # pairs that are listed first and put in order then
    kept: int  # pairs that are kept at all, beside a search for more
    group_pairs: int


def share_memory(problem: Problem, packed: PackedTable, plan: Plan, allowed: int) -> Budget:
    """Share what is left beside the packed rows among all that a search needs; refuse if it is too little."""
    of_place = OF_HASHED_PLACE if plan.n_cells > 0 or not packed.is_within else OF_PLACE
    n_nodes = packed.n_nodes
    # also degrees of rows and their sums, queries and weights of nodes
    held = _own_bytes(problem) + _packed_bytes(packed) + 16 * problem.n_left + 12 * n_nodes
    heavy = IN_ANSWER * n_nodes
    one_index = (OF_BUILDING + of_place) * n_nodes
    least = one_index + heavy + A_THREAD
    left = max(allowed, LEAST) - held
    if left < least:
        _refuse(problem, held + least, allowed)
    for_index = max(left // 2, one_index)
    n_places = min((for_index - OF_BUILDING * n_nodes) // of_place, MOST_PLACES)
    rest = left - for_index
    quarter = rest // 4
    n_threads = max(min(n_cores(), quarter // A_THREAD), 1)
    n_in_flight = n_threads + 2
    return Budget(
        most_signatures=max(n_places // max(n_nodes, 1), 1),
        n_threads=n_threads,
        n_heavy=max(quarter // max(heavy, 1), 1),
        chunk=min(max(quarter // (IN_ANSWER * n_in_flight), FEWEST_PAIRS), CHUNK),
        looked_up=min(quarter // (OF_RUN * n_threads), MOST_LOOKED_UP),
        walked=quarter // (8 * n_threads),
        sliced=max(quarter // IN_SLICE, 1),
        tallied=min(quarter // (8 * n_in_flight), MOST_TALLIED),
        listed=rest // 2 // IN_LIST,
        kept=(left - 2 * least) // 8,
        group_pairs=min(left // IN_GROUPS, MOST_GROUP_PAIRS),
    )


def check_packing(problem: Problem, allowed: int) -> None:
    """Refuse a table whose rows cannot even be packed with what is allowed."""
    n_bits = sum(int(column.max(initial=0)).bit_length() + 1 for column in problem.discrete)
    n_bits += len(problem.near) * (problem.n_rows.bit_length() + 1)
    a_row = 80 + 16 * len(problem.near) + 4 * len(problem.discrete) + 8 * (2 + n_bits // 40)
    needed = _own_bytes(problem) + a_row * problem.n_rows
    if needed > max(allowed, LEAST):
        _refuse(problem, needed, allowed)


def _refuse(problem: Problem, needed: int, allowed: int) -> NoReturn:
    raise TooManyPairs(
        f"A search among {problem.n_rows:,} rows in memory takes {needed / 1e9:,.2g} GB or more, beyond the "
        f"{allowed / 1e9:,.2g} GB allowed. Raise {parameter('memory_limit')}, or choose "
        f"{parameter('engine', 'duckdb')}, which may need less."
    )


def _own_bytes(problem: Problem) -> int:
    """Count what stating the problem made, beside the columns of the table itself."""
    columns: tuple[Any, ...] = (*problem.equal, *problem.discrete, *problem.near, problem.combination)
    return sum(column.nbytes for column in columns if column.base is None)


def _packed_bytes(packed: PackedTable) -> int:
    nodes = packed.nodes
    arrays = (nodes.words, nodes.key, nodes.sweep, nodes.near.lowest, nodes.near.highest, packed.labels, packed.node_of)
    return sum(array.nbytes for array in arrays)


def n_cores() -> int:
    """Count the cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
