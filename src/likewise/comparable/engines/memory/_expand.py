"""From pairs of groups of equal rows back to pairs of rows, in order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from likewise.comparable.engines.memory._arrays import lengthen, sort_by_rank
from likewise.comparable.engines.memory._nodes import PackedTable


class Groups(NamedTuple):
    """Which rows are in a group, and which groups a group is comparable to."""

    group_of: NDArray[np.int32]  # of each left row
    member_start: NDArray[np.int64]
    members: NDArray[np.int32]  # right rows of each group, ascending
    partner_start: NDArray[np.int64]
    partners: NDArray[np.int32]


def gather_groups(packed: PackedTable, counts: NDArray[np.int64], partners: NDArray[np.int32]) -> Groups:
    """Put the answers for all groups together; groups without left rows have no answer of their own."""
    members, member_start = sort_by_rank(packed.right_node_of, packed.n_nodes)
    n_partners = np.zeros(packed.n_nodes, np.int64)
    n_partners[packed.nodes_of(packed.left_node_of)] = counts
    partner_start = np.concatenate([[0], np.cumsum(n_partners)])
    return Groups(packed.left_node_of, member_start, members, partner_start, partners)


@njit(cache=True, nogil=True)
def expand_rows(groups: Any, rows: Any, only_above: Any, most: Any) -> tuple[Any, Any]:
    """List the partners of each row in ascending order, until more than ``most`` are found.

    The rows of one group share their partners: they are gathered and sorted once, and the row takes those above it.
    """
    n_groups = len(groups.member_start) - 1
    list_start = np.full(n_groups, -1, np.int64)
    list_end = np.empty(n_groups, np.int64)
    lists = np.empty(4096, np.int32)
    names = np.empty(4096, np.int32)
    counts = np.empty(len(rows), np.int64)
    n_listed, n_names, n_done = 0, 0, 0
    for row in rows:
        group = groups.group_of[row]
        if list_start[group] < 0:
            list_start[group] = n_listed
            for p in range(groups.partner_start[group], groups.partner_start[group + 1]):
                start, end = groups.member_start[groups.partners[p]], groups.member_start[groups.partners[p] + 1]
                if only_above:
                    start += np.searchsorted(groups.members[start:end], row + 1)
                if n_listed + end - start > len(lists):
                    lists = lengthen(lists, n_listed, end - start)
                lists[n_listed : n_listed + end - start] = groups.members[start:end]
                n_listed += end - start
            lists[list_start[group] : n_listed].sort()
            list_end[group] = n_listed
        start, end = list_start[group], list_end[group]
        if only_above:
            start += np.searchsorted(lists[start:end], row + 1)
        if n_names + end - start > len(names):
            names = lengthen(names, n_names, end - start)
        names[n_names : n_names + end - start] = lists[start:end]
        counts[n_done] = end - start
        n_names += end - start
        n_done += 1
        if n_names > most:
            break
    return counts[:n_done], names[:n_names]


@njit(cache=True, nogil=True)
def count_partners(groups: Any, only_above: Any) -> Any:
    """Count the partners of each left row; with ``only_above``, those after it."""
    n_rows = len(groups.group_of)
    degrees = np.zeros(n_rows, np.int64)
    present = np.diff(groups.member_start)
    if only_above:
        present[:] = 0  # rows already passed, from the last one up
    for row in range(n_rows - 1, -1, -1):
        group = groups.group_of[row]
        for p in range(groups.partner_start[group], groups.partner_start[group + 1]):
            degrees[row] += present[groups.partners[p]]
        if only_above:
            present[group] += 1
    return degrees
