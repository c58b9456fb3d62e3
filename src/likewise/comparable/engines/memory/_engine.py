"""The engine: rows in, pairs out, in order and in bounded memory; equal rows are searched as one group."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled, compiled_with_arrays
from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import (
    Engine,
    Found,
    Problem,
    StartVisit,
    gather_chunks,
    join_chunks,
    take_parts,
)
from likewise.comparable.engines.memory._ordering import (
    order_pairs,
    order_partners,
)
from likewise.comparable.engines.memory._packing import PackedTable, pack, pack_distinct, sort_by_rank
from likewise.comparable.engines.memory._queries import Answer, PairSearch, check_packing
from likewise.comparable.engines.memory._random_pairs import Drawn, draw_pairs
from likewise.comparable.engines.memory._search import NONE

# where each group's list of partner rows starts, all of them, and how many of its group's come after each row
Lists = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]


class Groups(NamedTuple):
    """Which rows are in a group, and which groups a group is comparable to."""

    group_of: NDArray[np.int32]  # of each left row
    member_start: NDArray[np.int64]
    members: NDArray[np.int32]  # right rows of each group, ascending
    partner_start: NDArray[np.int64]
    partners: NDArray[np.int32]  # groups
    is_within: bool  # whether left and right rows are of one table: only later rows are partners then


class MemoryEngine(Engine):
    """Find comparable pairs in memory, exactly, with at most ``allowed`` bytes for all that is made of the problem.

    Equal rows are merged where that at least halves the table; the pairs of groups are found first and taken apart
    into rows as they are asked for.
    """

    def __init__(self, problem: Problem, allowed: int) -> None:
        self._ranked_at_once = check_packing(problem, allowed)
        super().__init__(problem)
        self._allowed = allowed
        self._within = problem.n_right is None
        # equal rows as one, where that at least halves the table
        self._search = PairSearch(problem, pack(problem, at_once=self._ranked_at_once), allowed)

    def chunks(self, rows: NDArray[np.integer[Any]] | None = None) -> Iterator[tuple[Rows, Rows]]:
        if self._groups is not None:
            wanted, counts, lists = self._prepare(self._groups, rows)
            ends, chunk = np.cumsum(counts), self._search.budget.chunk
            at = 0
            while at < len(wanted):
                # as many rows as fit, and at least one
                stop = max(int(np.searchsorted(ends, ends[at] - counts[at] + chunk, side="right")), at + 1)
                if counts[at:stop].any():
                    yield _write_pairs(self._groups, wanted[at:stop], counts[at:stop], lists)
                at = stop
            return
        wanted = np.arange(self._problem.n_left, dtype=np.int32) if rows is None else rows.astype(np.int32)
        yield from self._stream(self._by_row(), wanted)

    def visit(self, start: StartVisit[Found]) -> Iterator[tuple[float, Found]]:
        if self._groups is not None:
            return super().visit(start)
        search = self._by_row()
        return search.visit(start(search.packed.rows))

    def listing(self, most: int) -> tuple[Rows, Rows] | None:
        """Return all pairs in order, or None if there are more than ``most``, or than fit beside the search."""
        if self._groups is not None:
            prepared = self._prepare(self._groups)
            most = min(most, max(self._search.budget.kept, self._search.budget.listed))
            return None if prepared[1].sum() > most else _write_pairs(self._groups, *prepared)
        search = self._by_row()
        if self._within:
            parts, is_all = take_parts(search.pairs(), min(most, search.budget.listed))
            if is_all:
                return order_pairs(parts)
            del parts
        most = min(most, search.budget.kept)
        if self._within and most <= search.budget.listed:
            return None
        beside = PairSearch(self._problem, search.packed, self._allowed - 8 * most)
        return gather_chunks(self._stream(beside, np.arange(self._problem.n_left, dtype=np.int32)), most)

    def pick(self, rows: NDArray[np.int64], places: NDArray[np.int64]) -> Rows:
        if self._groups is None:
            return super().pick(rows, places)
        picked: Rows = pick_members(self._groups, rows, places)
        return picked

    def degrees(self) -> NDArray[np.int64]:
        degrees = np.zeros(self._problem.n_left, np.int64)
        if self._groups is not None:
            degrees[:] = count_partners(self._groups)
        elif self._within:
            for left, _ in self._by_row().pairs():
                add_counts(degrees, left)
        else:
            search = self._by_row()
            degrees += search.count_partners(search.packed.left_node_of)
        return degrees

    def draw(self, n: int, random: np.random.Generator) -> Drawn | None:
        """Draw ``n`` different pairs without counting them; None, if there are too few for that to be quicker."""
        return draw_pairs(self._by_row(), n, random)

    def counts(self) -> NDArray[np.int64]:
        problem = self._problem
        n_labels, n_combinations = int(problem.labels.max(initial=-1)) + 1, len(problem.combinations)
        if n_labels * n_combinations**2 > self._search.budget.tallied:
            return super().counts()
        tally = self._search.tally(problem.labels, (n_labels, n_combinations, n_combinations))
        where = np.argwhere(tally)
        return np.column_stack([where, tally[tuple(where.T)]])

    def _by_row(self) -> PairSearch:
        """Search every row by itself from now on."""
        if self._search.packed.is_grouped:
            del self._search  # not both at a time
            packed = pack(self._problem, group_below=0, at_once=self._ranked_at_once)
            self._search = PairSearch(self._problem, packed, self._allowed)
        return self._search

    @cached_property
    def _groups(self) -> Groups | None:
        """The pairs of groups of equal rows; None if rows were not merged, or these pairs are too many to keep."""
        search, packed = self._search, self._search.packed
        if not packed.is_grouped:
            return None
        parts: list[tuple[Rows, Rows]]
        if not self._within:
            queries = packed.nodes_of(packed.left_node_of)
            parts, is_all = take_parts(search.pairs_of(queries, only_above=False), search.budget.group_pairs)
            if not is_all:
                return None
            places, partners = order_pairs(parts)
            return gather_groups(packed, np.bincount(places, minlength=len(queries)), partners)
        parts, is_all = take_parts(search.pairs(), search.budget.group_pairs)
        if not is_all:
            return None
        if search.rule.sensitive == NONE:  # equal rows are comparable to each other
            own = np.arange(packed.n_nodes, dtype=np.int32)
            parts.append((own, own))
        return gather_groups(packed, *mirror(*join_chunks(parts), packed.n_nodes))

    def _stream(self, search: PairSearch, rows: NDArray[np.int32]) -> Iterator[tuple[Rows, Rows]]:
        """Yield the pairs of some rows in order, none of them merged with another."""
        for part, answer in search.partners(search.packed.left_node_of[rows], only_above=self._within):
            yield from _cut(rows[part], answer, search.budget.chunk)

    def _prepare(
        self, groups: Groups, rows: NDArray[np.integer[Any]] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], Lists | None]:
        """Find out how many pairs all rows have, or some; list the partners of whole groups where that fits."""
        most = self._search.budget.group_pairs
        n_listed = int(np.diff(groups.partner_start)[groups.group_of].sum())
        lists = None
        if rows is None and self._within and n_listed <= most:
            listed = np.empty(n_listed, np.int32)  # here, for large pages: see below
            starts, n_later = list_rows(groups, listed)
            lists = starts, listed, n_later
        degrees = count_partners(groups) if lists is None else lists[2]
        wanted = np.arange(len(degrees), dtype=np.int32) if rows is None else rows.astype(np.int32)
        return wanted, degrees[wanted], lists


def find_groups(problem: Problem, allowed: int, most: int) -> tuple[NDArray[np.int32], tuple[Rows, Rows] | None]:
    """Merge equal rows within one table: each row's group, by its first row, and the pairs of groups in order.

    A group is paired with itself where equal rows are comparable; no pairs but None, if there are over ``most``.
    """
    group_of, firsts, packed = pack_distinct(problem, check_packing(problem, allowed))
    search = PairSearch(firsts, packed, allowed)
    parts, is_all = take_parts(search.pairs(), min(most, max(search.budget.listed, 0)))
    if not is_all:
        return group_of, None
    if search.rule.sensitive == NONE:
        repeated = np.flatnonzero(np.bincount(group_of, minlength=firsts.n_rows) > 1).astype(np.int32)
        parts.append((repeated, repeated))
    return group_of, order_pairs(parts)


def _write_pairs(
    groups: Groups, rows: NDArray[np.int32], counts: NDArray[np.int64], lists: Lists | None
) -> tuple[Rows, Rows]:
    # made here rather than in the kernels: numpy asks for large pages, which are much quicker to touch first. Both at a
    # time: the C library then keeps the pages for the next call, where it would give two arrays back to the system
    left, right = np.empty((2, int(counts.sum())), np.int32)
    if lists is not None:
        take_later(groups.group_of, *lists[:2], rows, counts, left, right)
    else:
        gather_rows(groups, rows, left, right)
        order_partners(counts, right)
    return left, right


def _cut(rows: NDArray[np.int32], answer: Answer, chunk: int) -> Iterator[tuple[Rows, Rows]]:
    """Make pairs of rows and their partners, no more at a time than a chunk has or one row needs."""
    counts, partners = answer
    ends = np.cumsum(counts)
    at, done = 0, 0
    while at < len(rows):
        stop = max(int(np.searchsorted(ends, done + chunk, side="right")), at + 1)
        if ends[stop - 1] > done:
            yield np.repeat(rows[at:stop], counts[at:stop]), partners[done : ends[stop - 1]]
        at, done = stop, int(ends[stop - 1])


@compiled
def add_counts(counts: Any, rows: Any) -> None:
    """Count each row as often as it is there."""
    for row in rows:
        counts[np.uint32(row)] += 1


def gather_groups(packed: PackedTable, counts: NDArray[np.int64], partners: NDArray[np.int32]) -> Groups:
    """Put the partners of all groups together, given those of each group that has left rows."""
    n_partners = np.zeros(packed.n_nodes, np.int64)
    n_partners[packed.nodes_of(packed.left_node_of)] = counts
    members, member_start = sort_by_rank(packed.right_node_of, packed.n_nodes)
    partner_start = np.concatenate([[0], np.cumsum(n_partners)])
    return Groups(packed.left_node_of, member_start, members, partner_start, partners, packed.is_within)


@compiled_with_arrays
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


@compiled_with_arrays
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


@compiled_with_arrays
def list_rows(groups: Any, lists: Any) -> tuple[Any, Any]:
    """List the partner rows of every group within one table; return where each list starts and how many come later.

    Row after row is written to the lists of the groups its own group is comparable to, and so each list comes out
    sorted: what is not yet written of its own group's list when a row's turn is over comes after it.
    """
    group_of, partner_start, partners = groups.group_of, groups.partner_start, groups.partners
    n_groups, sizes = len(partner_start) - 1, groups.member_start[1:] - groups.member_start[:-1]
    starts = np.zeros(n_groups + 1, np.int64)
    for group in range(n_groups):
        for p in range(partner_start[group], partner_start[group + 1]):
            starts[partners[p] + 1] += sizes[group]
    for group in range(n_groups):
        starts[group + 1] += starts[group]
    filled = starts.astype(np.uint32)  # of half the size, to stay in the nearest cache
    n_later = np.empty(len(group_of), np.int64)
    for row in range(len(group_of)):
        group = group_of[row]
        for p in range(partner_start[group], partner_start[group + 1]):
            to = np.uint32(partners[p])  # unsigned: others are tested for counting from the end
            lists[filled[to]] = row
            filled[to] += np.uint32(1)
        n_later[row] = starts[group + 1] - filled[group]
    return starts, n_later


@compiled
def take_later(group_of: Any, starts: Any, lists: Any, rows: Any, counts: Any, left: Any, right: Any) -> None:
    """Write out the pairs of some rows: of the list of its group, each row takes the end, as long as its count."""
    at = 0
    for k in range(len(rows)):
        row, n = rows[k], counts[k]
        end = starts[group_of[row] + 1]
        to_left, to_right, later = left[at : at + n], right[at : at + n], lists[end - n : end]
        for place in range(n):  # of slices from their start, which are written several numbers at a time
            to_left[place] = row
            to_right[place] = later[place]
        at += n


@compiled_with_arrays
def gather_rows(groups: Any, rows: Any, left: Any, right: Any) -> None:
    """Write out the pairs of some rows, each put together from the members of its partner groups, in no order."""
    members, member_start = groups.members, groups.member_start
    partner_start, partners = groups.partner_start, groups.partners
    at = 0
    for k in range(len(rows)):
        group = groups.group_of[rows[k]]
        for p in range(partner_start[group], partner_start[group + 1]):
            for m in range(member_start[partners[p] + 1] - 1, member_start[partners[p]] - 1, -1):
                if groups.is_within and members[m] <= rows[k]:
                    break
                left[at], right[at] = rows[k], members[m]
                at += 1


@compiled_with_arrays
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
