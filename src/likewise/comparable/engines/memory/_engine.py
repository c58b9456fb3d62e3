"""The engine: rows in, pairs out, in order and in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import Problem, gather_chunks, join_chunks, pick_from_chunks, take_parts
from likewise.comparable.engines.memory._arrays import order_pairs
from likewise.comparable.engines.memory._asking import ask
from likewise.comparable.engines.memory._expand import (
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
from likewise.comparable.engines.memory._index import Index, build_index
from likewise.comparable.engines.memory._nodes import PackedTable, number_equal_rows, pack
from likewise.comparable.engines.memory._plan import MOST_SIGNATURES, Plan, make_plan
from likewise.comparable.engines.memory._search import (
    NONE,
    SENSITIVE,
    Rule,
    list_pairs,
    list_partners,
    reorder,
    tally_partners,
)

CHUNK: Final = 1 << 21  # pairs in one answer at most
MOST_GROUP_PAIRS: Final = 1 << 26  # beyond, equal rows are searched one by one rather than kept as groups
MOST_TALLIED: Final = 1 << 22
MOST_PLACES: Final = 1 << 27  # of nodes in buckets, at a time; also keeps their numbers well within four bytes
MOST_LOOKED_UP: Final = 1 << 24  # runs of nodes that the queries of one part may lead to

Answer = tuple[NDArray[np.int64], NDArray[np.int32]]  # how many partners each query has; all of them, query by query

Lists = tuple[NDArray[np.int64], NDArray[np.int32]]  # where each group's list of partner rows starts; all of them


class MemoryEngine:
    """Find comparable pairs in memory, exactly.

    Equal rows are merged where that at least halves the table; the pairs of groups are found first and taken apart
    into rows as they are asked for.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._within = problem.n_right is None
        self._rule = Rule(SENSITIVE[problem.sensitive_differs], problem.max_changes)

    def chunks(self, rows: NDArray[np.integer[Any]] | None = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield all pairs in order, a bounded number at a time; only those of some (ascending) left rows, if given."""
        if self._groups is not None:
            wanted, counts, lists = self._prepare(self._groups, rows)
            ends = np.cumsum(counts)
            at = 0
            while at < len(wanted):
                # as many rows as fit, and at least one
                stop = max(int(np.searchsorted(ends, ends[at] - counts[at] + CHUNK, side="right")), at + 1)
                if counts[at:stop].any():
                    yield _write_pairs(self._groups, wanted[at:stop], counts[at:stop], lists)
                at = stop
            return
        wanted = np.arange(self._problem.n_left, dtype=np.int32) if rows is None else rows.astype(np.int32)
        packed = self._ungrouped
        for part, (counts, partners) in self._partners(packed, packed.left_node_of[wanted], only_above=self._within):
            if len(partners):
                yield np.repeat(wanted[part], counts), partners

    def listing(self, most: int) -> tuple[Rows, Rows] | None:
        """Return all pairs in order, or None if there are more than ``most``."""
        if self._groups is not None:
            prepared = self._prepare(self._groups)
            return None if prepared[1].sum() > most else _write_pairs(self._groups, *prepared)
        if not self._within:
            return gather_chunks(self.chunks(), most)
        parts, is_all = take_parts(self._pairs(self._ungrouped), most)
        return order_pairs(parts, self._problem.n_left) if is_all else None

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
            for left, _ in self._pairs(self._ungrouped):
                degrees += np.bincount(left, minlength=len(degrees))
        else:
            packed = self._ungrouped
            for part, (counts, _) in self._partners(packed, packed.left_node_of, only_above=False):
                degrees[part] = counts
        return degrees

    def counts(self) -> NDArray[np.int64]:
        """Count pairs as rows of (label code, combination, combination, pairs), sorted; only what occurs."""
        problem = self._problem
        n_labels, n_combinations = int(problem.labels.max(initial=-1)) + 1, len(problem.combinations)
        if n_labels * n_combinations**2 > MOST_TALLIED:
            return self._count_by_listing()
        tally = self._tally(self._packed, (n_labels, n_combinations, n_combinations))
        where = np.argwhere(tally)
        return np.column_stack([where, tally[tuple(where.T)]])

    def groups(self, most: int) -> tuple[NDArray[np.int32], tuple[Rows, Rows] | None]:
        """Merge equal rows within one table: each row's group, and the comparable pairs of groups in order.

        Groups are numbered by their first rows. A group is paired with itself where equal rows are comparable. There
        are no pairs but None, if there are more than ``most``.
        """
        group_of, first_row = number_equal_rows(self._problem)
        parts, is_all = take_parts(self._pairs(pack(self._problem.take(first_row), group_below=0)), most)
        if not is_all:
            return group_of, None
        if self._rule.sensitive == NONE:
            repeated = np.flatnonzero(np.bincount(group_of, minlength=len(first_row)) > 1).astype(np.int32)
            parts.append((repeated, repeated))
        return group_of, order_pairs(parts, len(first_row))

    @cached_property
    def _packed(self) -> PackedTable:
        return pack(self._problem)

    @cached_property
    def _ungrouped(self) -> PackedTable:
        return pack(self._problem, group_below=0) if self._packed.is_grouped else self._packed

    @cached_property
    def _groups(self) -> Groups | None:
        """The pairs of groups of equal rows; None if rows were not merged, or these pairs are too many to keep."""
        packed = self._packed
        if not packed.is_grouped:
            return None
        if not self._within:
            answers = self._partners(packed, packed.nodes_of(packed.left_node_of), only_above=False)
            found, is_all = take_parts((answer for _, answer in answers), MOST_GROUP_PAIRS)
            return gather_groups(packed, *_concatenate(found)) if is_all else None
        parts, is_all = take_parts(self._pairs(packed), MOST_GROUP_PAIRS)
        if not is_all:
            return None
        if self._rule.sensitive == NONE:  # equal rows are comparable to each other
            own = np.arange(packed.n_nodes, dtype=np.int32)
            parts.append((own, own))
        return gather_groups(packed, *mirror(*join_chunks(parts), packed.n_nodes))

    def _plan(self, packed: PackedTable, most_signatures: int = MOST_SIGNATURES) -> tuple[Plan, int]:
        """Make a plan; also say how many queries may be asked at a time."""
        plan = make_plan(packed, self._problem.max_changes, self._problem.sensitive_differs, most_signatures)
        return plan, MOST_LOOKED_UP // plan.n_looked_up(len(self._problem.combinations))

    def _pairs(self, packed: PackedTable) -> Iterator[tuple[Rows, Rows]]:
        """Yield the pairs within one table by name, in no order but each once; a few signatures after the other."""
        plan, most_in_part = self._plan(packed)
        queries = np.arange(packed.n_nodes, dtype=np.int32)
        at_once = _signatures_that_fit(packed)
        for start in range(0, len(plan.kept), at_once):
            index = build_index(packed, plan, slice(start, start + at_once))

            def answer(part: slice, index: Index = index) -> tuple[Rows, Rows] | None:
                left, right, is_done = list_pairs(packed.nodes, index, self._rule, queries[part], CHUNK)
                return (left, right) if is_done else None

            yield from (pairs for _, pairs in ask(answer, len(queries), most_in_part))

    def _partners(
        self, packed: PackedTable, queries: NDArray[np.int32], *, only_above: bool
    ) -> Iterator[tuple[slice, Answer]]:
        """Yield the names of each query's partners, query by query."""
        plan, most_in_part = self._plan(packed, _signatures_that_fit(packed))
        index = build_index(packed, plan)

        def answer(part: slice) -> Answer | None:
            by_node = np.argsort(queries[part])
            counts, partners = list_partners(packed.nodes, index, self._rule, queries[part][by_node], only_above, CHUNK)
            return reorder(by_node, counts, partners) if len(counts) else None

        return ask(answer, len(queries), most_in_part)

    def _prepare(
        self, groups: Groups, rows: NDArray[np.integer[Any]] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], Lists | None]:
        """Find out how many pairs all rows have, or some; list the partners of whole groups where that fits."""
        n_listed = int(np.diff(groups.partner_start)[groups.group_of].sum())
        lists = list_rows(groups) if rows is None and self._within and n_listed <= MOST_GROUP_PAIRS else None
        degrees = count_partners(groups) if lists is None else count_later(groups.group_of, *lists)
        wanted = np.arange(len(degrees), dtype=np.int32) if rows is None else rows.astype(np.int32)
        return wanted, degrees[wanted], lists

    def _tally(self, packed: PackedTable, shape: tuple[int, int, int]) -> NDArray[np.int64]:
        """Count signature after signature: only one index is in memory at a time, and no pair."""
        plan, most_in_part = self._plan(packed)
        weights = np.bincount(packed.node_of, minlength=packed.n_nodes)
        queries = packed.nodes_of(packed.left_node_of)
        tally = np.zeros(shape, np.int64)
        for signature in range(len(plan.kept)):
            index = build_index(packed, plan, slice(signature, signature + 1))

            def answer(part: slice, index: Index = index) -> NDArray[np.int64] | None:
                found = np.zeros(shape, np.int64)
                of_node = (packed.labels, weights)
                is_done = tally_partners(
                    packed.nodes, index, self._rule, queries[part], self._within, of_node, CHUNK, found
                )
                return found if is_done else None

            for _, found in ask(answer, len(queries), most_in_part):
                tally += found
        if self._within and self._rule.sensitive == NONE:  # equal rows are comparable to each other
            own = packed.combination
            np.add.at(tally, (packed.labels, own, own), weights * (weights - 1) // 2)
        return tally

    def _count_by_listing(self) -> NDArray[np.int64]:
        """Count pairs of so many kinds that a table of all kinds would not fit."""
        problem = self._problem
        # a row's label and combination as one number, in their order; two of these always fit into a word
        by_label = problem.labels.astype(np.int64) * len(problem.combinations) + problem.combination
        kinds, kind_of = np.unique(by_label, return_inverse=True)
        right_kind = kind_of[0 if self._within else problem.n_left :]
        totals: Counter[int] = Counter()
        for left, right in self.chunks():
            one, two = kind_of[left], right_kind[right]
            if self._within:
                one, two = np.minimum(one, two), np.maximum(one, two)
            found, n = np.unique(one * len(kinds) + two, return_counts=True)
            totals.update(dict(zip(found.tolist(), n.tolist(), strict=True)))
        both = np.array(sorted(totals), np.int64)
        one, two = kinds[both // max(len(kinds), 1)], kinds[both % max(len(kinds), 1)]
        label, first = np.divmod(one, max(len(problem.combinations), 1))
        second = two % max(len(problem.combinations), 1)
        return np.column_stack([label, first, second, np.array([totals[k] for k in both.tolist()], np.int64)])


def _signatures_that_fit(packed: PackedTable) -> int:
    return max(MOST_PLACES // max(packed.n_nodes, 1), 1)


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


def _concatenate(answers: list[Answer]) -> Answer:
    counts = [np.empty(0, np.int64), *(counts for counts, _ in answers)]
    partners = [np.empty(0, np.int32), *(partners for _, partners in answers)]
    return np.concatenate(counts), np.concatenate(partners)
