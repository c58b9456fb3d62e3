"""The engine: rows in, pairs out, in order and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import (
    Problem,
    count_by_listing,
    gather_chunks,
    join_chunks,
    pick_from_chunks,
    take_parts,
)
from likewise.comparable.engines.memory._budget import check_packing
from likewise.comparable.engines.memory._groups import (
    Groups,
    count_later,
    count_partners,
    gather_groups,
    gather_rows,
    list_rows,
    mirror,
    pick_members,
    take_later,
)
from likewise.comparable.engines.memory._packing import number_equal_rows, pack
from likewise.comparable.engines.memory._queries import Answer, PairSearch, add_counts, order_pairs, order_rights
from likewise.comparable.engines.memory._random_pairs import Drawn, draw_pairs
from likewise.comparable.engines.memory._search import NONE

Lists = tuple[NDArray[np.int64], NDArray[np.int32]]  # where each group's list of partner rows starts; all of them


class MemoryEngine:
    """Find comparable pairs in memory, exactly.

    Equal rows are merged where that at least halves the table; the pairs of groups are found first and taken apart
    into rows as they are asked for.

    Parameters
    ----------
    problem : Problem
    allowed : int
        How many bytes all that is made of the problem may take together. With less it takes longer, and with too
        little :class:`~likewise.exceptions.TooManyPairs` is raised.
    """

    def __init__(self, problem: Problem, allowed: int) -> None:
        check_packing(problem, allowed)
        self._problem = problem
        self._allowed = allowed
        self._within = problem.n_right is None

    def chunks(self, rows: NDArray[np.integer[Any]] | None = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield all pairs in order, a bounded number at a time; only those of some (ascending) left rows, if given."""
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
        yield from self._stream(self._ungrouped, wanted)

    def listing(self, most: int) -> tuple[Rows, Rows] | None:
        """Return all pairs in order, or None if there are more than ``most``, or than fit beside the search."""
        if self._groups is not None:
            prepared = self._prepare(self._groups)
            most = min(most, max(self._search.budget.kept, self._search.budget.listed))
            return None if prepared[1].sum() > most else _write_pairs(self._groups, *prepared)
        search = self._ungrouped
        if self._within:
            parts, is_all = take_parts(search.pairs(), min(most, search.budget.listed))
            if is_all:
                return order_pairs(parts, self._problem.n_left)
            del parts
        most = min(most, search.budget.kept)
        if self._within and most <= search.budget.listed:
            return None
        beside = PairSearch(self._problem, search.packed, self._allowed - 8 * most)
        return gather_chunks(self._stream(beside, np.arange(self._problem.n_left, dtype=np.int32)), most)

    def pick(self, rows: NDArray[np.int64], places: NDArray[np.int64]) -> Rows:
        """Return, for each of some (ascending) left rows, the right row at a place among those paired with it."""
        if self._groups is None:
            return pick_from_chunks(self, rows, places)
        picked: Rows = pick_members(self._groups, rows, places)
        return picked

    def degrees(self) -> NDArray[np.int64]:
        """Count, for each left row, the pairs it is the left row of; list none."""
        degrees = np.zeros(self._problem.n_left, np.int64)
        if self._groups is not None:
            degrees[:] = count_partners(self._groups)
        elif self._within:
            for left, _ in self._ungrouped.pairs():
                add_counts(degrees, left)
        else:
            degrees += self._ungrouped.count_partners(self._ungrouped.packed.left_node_of)
        return degrees

    def draw(self, n: int, random: np.random.Generator) -> Drawn | None:
        """Draw ``n`` different pairs without counting them; None, if there are too few for that to be quicker."""
        drawn = draw_pairs(self._ungrouped, n, random)
        if drawn is None and self._ungrouped is not self.__dict__.get("_search"):
            del self._ungrouped  # what comes next may merge equal rows again
        return drawn

    def counts(self) -> NDArray[np.int64]:
        """Count pairs as rows of (label code, combination, combination, pairs), sorted; only what occurs."""
        problem = self._problem
        n_labels, n_combinations = int(problem.labels.max(initial=-1)) + 1, len(problem.combinations)
        if n_labels * n_combinations**2 > self._search.budget.tallied:
            return count_by_listing(self, problem)
        tally = self._search.tally((n_labels, n_combinations, n_combinations))
        where = np.argwhere(tally)
        return np.column_stack([where, tally[tuple(where.T)]])

    def groups(self, most: int) -> tuple[NDArray[np.int32], tuple[Rows, Rows] | None]:
        """Merge equal rows within one table: each row's group, and the comparable pairs of groups in order.

        Groups are numbered by their first rows. A group is paired with itself where equal rows are comparable. There
        are no pairs but None, if there are more than ``most``.
        """
        group_of, first_row = number_equal_rows(self._problem)
        firsts = self._problem.take(first_row)
        search = PairSearch(firsts, pack(firsts, group_below=0), self._allowed)
        parts, is_all = take_parts(search.pairs(), min(most, max(search.budget.listed, 0)))
        if not is_all:
            return group_of, None
        if search.rule.sensitive == NONE:
            repeated = np.flatnonzero(np.bincount(group_of, minlength=len(first_row)) > 1).astype(np.int32)
            parts.append((repeated, repeated))
        return group_of, order_pairs(parts, len(first_row))

    def check_memory(self) -> None:
        """Raise now, rather than at the first question, if the memory allowed is too little."""
        _ = self._search

    @cached_property
    def _search(self) -> PairSearch:
        """Search equal rows as one, where that at least halves the table."""
        return PairSearch(self._problem, pack(self._problem), self._allowed)

    @cached_property
    def _ungrouped(self) -> PairSearch:
        """Search every row by itself."""
        if not self._search.packed.is_grouped:
            return self._search
        del self._search  # not both at a time
        return PairSearch(self._problem, pack(self._problem, group_below=0), self._allowed)

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
            return gather_groups(packed, *order_rights(parts, len(queries))) if is_all else None
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
        lists = list_rows(groups) if rows is None and self._within and n_listed <= most else None
        degrees = count_partners(groups) if lists is None else count_later(groups.group_of, *lists)
        wanted = np.arange(len(degrees), dtype=np.int32) if rows is None else rows.astype(np.int32)
        return wanted, degrees[wanted], lists


def _write_pairs(
    groups: Groups, rows: NDArray[np.int32], counts: NDArray[np.int64], lists: Lists | None
) -> tuple[Rows, Rows]:
    # made here rather than in the kernels: numpy asks for large pages, which are much quicker to touch first
    left, right = (np.empty(int(counts.sum()), np.int32) for _ in range(2))
    if lists is not None:
        take_later(groups.group_of, *lists, rows, counts, left, right)
    else:
        gather_rows(groups, rows, left, right)
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
