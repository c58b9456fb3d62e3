"""From pairs of groups of equal rows back to pairs of rows, in order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise.comparable.engines.memory._packing import PackedTable, sort_by_rank


class Groups(NamedTuple):
    """Which rows are in a group, and which groups a group is comparable to."""

    group_of: NDArray[np.int32]  # of each left row
    member_start: NDArray[np.int64]
    members: NDArray[np.int32]  # right rows of each group, ascending
    partner_start: NDArray[np.int64]
    partners: NDArray[np.int32]  # groups
    is_within: bool  # whether left and right rows are of one table: only later rows are partners then


def gather_groups(packed: PackedTable, counts: NDArray[np.int64], partners: NDArray[np.int32]) -> Groups:
    """Put the partners of all groups together, given those of each group that has left rows."""
    n_partners = np.zeros(packed.n_nodes, np.int64)
    n_partners[packed.nodes_of(packed.left_node_of)] = counts
    members, member_start = sort_by_rank(packed.right_node_of, packed.n_nodes)
    partner_start = np.concatenate([[0], np.cumsum(n_partners)])
    return Groups(packed.left_node_of, member_start, members, partner_start, partners, packed.is_within)


@compiled
def mirror(left: Any, right: Any, n_groups: Any) -> tuple[Any, Any]:
    """List, for each group, its partners on either side: how many, and all of them."""
    counts = np.zeros(n_groups, np.int64)
    for k in range(len(left)):
        counts[left[k]] += 1
        counts[right[k]] += left[k] != right[k]
    filled = np.cumsum(counts) - counts
    partners = np.empty(counts.sum(), np.int32)
    for k in range(len(left)):
        partners[filled[left[k]]] = right[k]
        filled[left[k]] += 1
        if left[k] != right[k]:
            partners[filled[right[k]]] = left[k]
            filled[right[k]] += 1
    return counts, partners


@compiled
def count_partners(groups: Any) -> Any:
    """Count the partners of each left row."""
    group_of, partner_start, partners = groups.group_of, groups.partner_start, groups.partners
    degrees = np.zeros(len(group_of), np.int64)
    present = groups.member_start[1:] - groups.member_start[:-1]  # np.diff takes seconds to compile
    if groups.is_within:
        present[:] = 0  # rows passed so far, from the last one up
    for row in range(len(group_of) - 1, -1, -1):
        group = group_of[row]
        for p in range(partner_start[group], partner_start[group + 1]):
            degrees[row] += present[partners[p]]
        if groups.is_within:
            present[group] += 1
    return degrees


@compiled
def list_rows(groups: Any) -> tuple[Any, Any]:
    """List the partner rows of every group within one table: where each list starts, and all of them.

    Row after row is written to the lists of the groups its own group is comparable to, and so each list comes out
    sorted.
    """
    group_of, partner_start, partners = groups.group_of, groups.partner_start, groups.partners
    n_groups, sizes = len(partner_start) - 1, groups.member_start[1:] - groups.member_start[:-1]
    starts = np.zeros(n_groups + 1, np.int64)
    for group in range(n_groups):
        for p in range(partner_start[group], partner_start[group + 1]):
            starts[partners[p] + 1] += sizes[group]
    for group in range(n_groups):
        starts[group + 1] += starts[group]
    filled = starts.copy()
    lists = np.empty(starts[-1], np.int32)
    for row in range(len(group_of)):
        for p in range(partner_start[group_of[row]], partner_start[group_of[row] + 1]):
            lists[filled[partners[p]]] = row
            filled[partners[p]] += 1
    return starts, lists


@compiled
def count_later(group_of: Any, starts: Any, lists: Any) -> Any:
    """Count the rows after each row in the list of its group."""
    passed = starts.copy()
    counts = np.empty(len(group_of), np.int64)
    for row in range(len(group_of)):
        group = group_of[row]
        while passed[group] < starts[group + 1] and lists[passed[group]] <= row:
            passed[group] += 1
        counts[row] = starts[group + 1] - passed[group]
    return counts


@compiled
def take_later(group_of: Any, starts: Any, lists: Any, rows: Any, counts: Any, left: Any, right: Any) -> None:
    """Write out the pairs of some rows: of the list of its group, each row takes the end, as long as its count."""
    at = 0
    for k in range(len(rows)):
        shift = starts[group_of[rows[k]] + 1] - counts[k] - at
        for place in range(at, at + counts[k]):
            left[place] = rows[k]
            right[place] = lists[shift + place]
        at += counts[k]


@compiled
def gather_rows(groups: Any, rows: Any, left: Any, right: Any) -> None:
    """Write out the pairs of some rows, each put together from the members of its partner groups and sorted."""
    members, member_start = groups.members, groups.member_start
    partner_start, partners = groups.partner_start, groups.partners
    at = 0
    for k in range(len(rows)):
        group, start = groups.group_of[rows[k]], at
        for p in range(partner_start[group], partner_start[group + 1]):
            for m in range(member_start[partners[p] + 1] - 1, member_start[partners[p]] - 1, -1):
                if groups.is_within and members[m] <= rows[k]:
                    break
                left[at], right[at] = rows[k], members[m]
                at += 1
        right[start:at].sort()


@compiled
def pick_members(groups: Any, rows: Any, places: Any) -> Any:
    """Find the partner at a place of each row's sorted partners without sorting them: by halving the range of rows."""
    members, member_start = groups.members, groups.member_start
    partner_start, partners = groups.partner_start, groups.partners
    picked = np.empty(len(rows), np.int32)
    for k in range(len(rows)):
        group = groups.group_of[rows[k]]
        lowest, highest = rows[k] + 1 if groups.is_within else np.int64(0), np.int64(len(members) - 1)
        first = lowest
        while lowest < highest:
            middle, n_up_to = (lowest + highest) >> 1, np.int64(0)
            for p in range(partner_start[group], partner_start[group + 1]):
                some = members[member_start[partners[p]] : member_start[partners[p] + 1]]
                n_up_to += np.searchsorted(some, middle, side="right") - np.searchsorted(some, first)
            if n_up_to > places[k]:
                highest = middle
            else:
                lowest = middle + 1
        picked[k] = lowest
    return picked
