"""The engine: rows in, pairs out, in order and in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import Problem, gather_chunks, join_chunks
from likewise.comparable.engines.memory._arrays import order_pairs
from likewise.comparable.engines.memory._asking import ask
from likewise.comparable.engines.memory._expand import (
    Groups,
    count_partners,
    gather_groups,
    gather_rows,
    list_rows,
    mirror,
    take_later,
)
from likewise.comparable.engines.memory._index import Index, build_index
from likewise.comparable.engines.memory._nodes import PackedTable, pack
from likewise.comparable.engines.memory._plan import make_plan
from likewise.comparable.engines.memory._search import SENSITIVE, list_pairs, list_partners, reorder, tally_partners

CHUNK: Final = 1 << 22  # pairs in one answer at most
MOST_GROUP_PAIRS: Final = 1 << 26  # beyond, equal rows are searched one by one rather than kept as groups
MOST_TALLIED: Final = 1 << 22

Answer = tuple[NDArray[np.int64], NDArray[np.int32]]  # how many partners each query has; all of them, query by query


class MemoryEngine:
    """Find comparable pairs in memory, exactly.

    Equal rows are merged where that at least halves the table; the pairs of groups are found first and taken apart
    into rows as they are asked for.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._within = problem.n_right is None
        self._rule = SENSITIVE[problem.sensitive_differs]

    def chunks(self, rows: NDArray[np.integer[Any]] | None = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield all pairs in order, a bounded number at a time; only those of some (ascending) left rows, if given."""
        return self._chunks(pack(self._problem), rows)

    def _chunks(self, packed: PackedTable, rows: NDArray[np.integer[Any]] | None = None) -> Iterator[tuple[Rows, Rows]]:
        wanted = np.arange(self._problem.n_left, dtype=np.int32) if rows is None else rows.astype(np.int32)
        groups = self._find_groups(packed) if packed.is_grouped else None
        if groups is not None:
            yield from self._expand(groups, None if rows is None else wanted)
            return
        if packed.is_grouped:
            packed = pack(self._problem, group_below=0)
        for part, (counts, partners) in self._partners(packed, packed.left_node_of[wanted], only_above=self._within):
            if len(partners):
                yield np.repeat(wanted[part], counts), partners

    def listing(self, most: int) -> tuple[Rows, Rows] | None:
        """Return all pairs in order, or None if there are more than ``most``."""
        packed = pack(self._problem)
        if packed.is_grouped or not self._within:
            return gather_chunks(self._chunks(packed), most)
        parts = []
        n_pairs = 0
        for pairs in self._pairs(packed):
            parts.append(pairs)
            n_pairs += len(pairs[0])
            if n_pairs > most:
                return None
        return order_pairs(parts, self._problem.n_left)

    def degrees(self) -> NDArray[np.int64]:
        """Count, for each left row, the pairs it is the left row of; list none."""
        packed = pack(self._problem)
        groups = self._find_groups(packed) if packed.is_grouped else None
        if groups is not None:
            degrees: NDArray[np.int64] = count_partners(groups)
            return degrees
        degrees = np.zeros(self._problem.n_left, np.int64)
        if packed.is_grouped:
            packed = pack(self._problem, group_below=0)
        if self._within:
            for left, _ in self._pairs(packed):
                degrees += np.bincount(left, minlength=len(degrees))
        else:
            for part, (counts, _) in self._partners(packed, packed.left_node_of, only_above=False):
                degrees[part] = counts
        return degrees

    def counts(self) -> NDArray[np.int64]:
        """Count pairs as rows of (label code, combination, combination, pairs), sorted; only what occurs."""
        problem = self._problem
        n_labels, n_combinations = int(problem.labels.max(initial=-1)) + 1, len(problem.combinations)
        if n_labels * n_combinations**2 > MOST_TALLIED:
            return self._count_by_listing()
        tally = self._tally(pack(problem), (n_labels, n_combinations, n_combinations))
        where = np.argwhere(tally)
        return np.column_stack([where, tally[tuple(where.T)]])

    def _find_groups(self, packed: PackedTable) -> Groups | None:
        """Find the pairs of groups; None if they are too many to keep."""
        n_pairs = 0
        if self._within:
            parts = []
            for pairs in self._pairs(packed):
                parts.append(pairs)
                n_pairs += len(pairs[0])
                if n_pairs > MOST_GROUP_PAIRS:
                    return None
            if self._rule == SENSITIVE["none"]:  # equal rows are comparable to each other
                own = np.arange(packed.n_nodes, dtype=np.int32)
                parts.append((own, own))
            return gather_groups(packed, *mirror(*join_chunks(parts), packed.n_nodes))
        counts, partners = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
        for _, answer in self._partners(packed, packed.nodes_of(packed.left_node_of), only_above=False):
            counts.append(answer[0])
            partners.append(answer[1])
            n_pairs += len(answer[1])
            if n_pairs > MOST_GROUP_PAIRS:
                return None
        return gather_groups(packed, np.concatenate(counts), np.concatenate(partners))

    def _pairs(self, packed: PackedTable) -> Iterator[tuple[Rows, Rows]]:
        """Yield the pairs within one table by name, in no order but each once."""
        problem = self._problem
        index = build_index(packed, make_plan(packed, problem.max_changes, problem.sensitive_differs))
        queries = np.arange(packed.n_nodes, dtype=np.int32)

        def answer(part: slice) -> tuple[Rows, Rows] | None:
            left, right, is_done = list_pairs(
                packed.nodes, index, self._rule, problem.max_changes, queries[part], CHUNK
            )
            return (left, right) if is_done else None

        return (pairs for _, pairs in ask(answer, len(queries)))

    def _partners(
        self, packed: PackedTable, queries: NDArray[np.int32], *, only_above: bool
    ) -> Iterator[tuple[slice, Answer]]:
        """Yield the names of each query's partners, query by query."""
        problem = self._problem
        index = build_index(packed, make_plan(packed, problem.max_changes, problem.sensitive_differs))

        def answer(part: slice) -> Answer | None:
            by_node = np.argsort(queries[part])
            counts, partners = list_partners(
                packed.nodes, index, self._rule, problem.max_changes, queries[part][by_node], only_above, CHUNK
            )
            return reorder(by_node, counts, partners) if len(counts) else None

        return ask(answer, len(queries))

    def _expand(self, groups: Groups, rows: NDArray[np.int32] | None) -> Iterator[tuple[Rows, Rows]]:
        """Yield the pairs of all rows, or of some, from the pairs of groups."""
        degrees = count_partners(groups)
        n_listed = int(np.diff(groups.partner_start)[groups.group_of].sum())
        lists = list_rows(groups) if rows is None and self._within and n_listed <= MOST_GROUP_PAIRS else None
        rows = np.arange(len(degrees), dtype=np.int32) if rows is None else rows
        counts = degrees[rows]
        ends = np.cumsum(counts)
        at = 0
        while at < len(rows):
            # as many rows as fit, and at least one
            stop = max(int(np.searchsorted(ends, ends[at] - counts[at] + CHUNK, side="right")), at + 1)
            some = slice(at, stop)
            # made here rather than in the kernels: numpy asks for large pages, which are much quicker to touch first
            left, right = (np.empty(int(counts[some].sum()), np.int32) for _ in range(2))
            if lists is not None:
                take_later(groups.group_of, *lists, rows[some], counts[some], left, right)
            else:
                gather_rows(groups, rows[some], left, right)
            if len(left):
                yield left, right
            at = stop

    def _tally(self, packed: PackedTable, shape: tuple[int, int, int]) -> NDArray[np.int64]:
        """Count signature after signature: only one index is in memory at a time, and no pair."""
        problem = self._problem
        plan = make_plan(packed, problem.max_changes, problem.sensitive_differs)
        weights = np.bincount(packed.node_of, minlength=packed.n_nodes)
        queries = packed.nodes_of(packed.left_node_of)
        tally = np.zeros(shape, np.int64)
        for signature in range(len(plan.kept)):
            index = build_index(packed, plan, slice(signature, signature + 1))

            def answer(part: slice, index: Index = index) -> NDArray[np.int64] | None:
                found = np.zeros(shape, np.int64)
                is_done = tally_partners(
                    packed.nodes, index, self._rule, problem.max_changes, queries[part], self._within,
                    packed.labels, weights, CHUNK, found,
                )
                return found if is_done else None

            for _, found in ask(answer, len(queries)):
                tally += found
        if self._within and self._rule == SENSITIVE["none"]:  # equal rows are comparable to each other
            own = packed.combination
            np.add.at(tally, (packed.labels, own, own), weights * (weights - 1) // 2)
        return tally

    def _count_by_listing(self) -> NDArray[np.int64]:
        """Count pairs of so many kinds that a table of all kinds would not fit."""
        problem = self._problem
        totals: Counter[tuple[int, int, int]] = Counter()
        right_combination = problem.combination[0 if self._within else problem.n_left :]
        for left, right in self.chunks():
            one, two = problem.combination[left], right_combination[right]
            if self._within:
                one, two = np.minimum(one, two), np.maximum(one, two)
            kinds, n = np.unique(np.column_stack([problem.labels[left], one, two]), axis=0, return_counts=True)
            totals.update(dict(zip(map(tuple, kinds.tolist()), n.tolist(), strict=True)))
        return np.array([(*kind, n) for kind, n in sorted(totals.items())], np.int64).reshape(-1, 4)
