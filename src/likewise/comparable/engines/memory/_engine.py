"""The engine: rows in, pairs out, in order and in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import Problem
from likewise.comparable.engines.memory._asking import ask
from likewise.comparable.engines.memory._expand import Groups, count_partners, expand_rows, gather_groups
from likewise.comparable.engines.memory._index import Index, build_index
from likewise.comparable.engines.memory._nodes import PackedTable, pack
from likewise.comparable.engines.memory._plan import make_plan
from likewise.comparable.engines.memory._search import SENSITIVE, list_partners, reorder, tally_partners

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
        wanted = np.arange(self._problem.n_left, dtype=np.int32) if rows is None else rows.astype(np.int32)
        packed, groups = self._prepare()
        if groups is None:
            answers = self._search(packed, packed.left_node_of[wanted], only_above=self._within, keep=True)
        else:
            answers = self._expand(groups, wanted)
        for answered, (counts, partners) in answers:
            if len(partners):
                yield np.repeat(wanted[answered], counts), partners

    def degrees(self) -> NDArray[np.int64]:
        """Count, for each left row, the pairs it is the left row of; list none."""
        packed, groups = self._prepare()
        if groups is not None:
            degrees: NDArray[np.int64] = count_partners(groups, self._within)
            return degrees
        answers = self._search(packed, packed.left_node_of, only_above=self._within, keep=False)
        return np.concatenate([np.empty(0, np.int64)] + [counts for _, (counts, _) in answers])

    def counts(self) -> NDArray[np.int64]:
        """Count pairs as rows of (label code, combination, combination, pairs), sorted; only what occurs."""
        problem = self._problem
        n_labels, n_combinations = int(problem.labels.max(initial=-1)) + 1, len(problem.combinations)
        if n_labels * n_combinations**2 > MOST_TALLIED:
            return self._count_by_listing()
        tally = self._tally(pack(problem), (n_labels, n_combinations, n_combinations))
        where = np.argwhere(tally)
        return np.column_stack([where, tally[tuple(where.T)]])

    def _prepare(self) -> tuple[PackedTable, Groups | None]:
        """Pack the rows; where equal ones were merged, find the pairs of groups too."""
        packed = pack(self._problem)
        if not packed.is_grouped:
            return packed, None
        counts, partners = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
        n_partners = 0
        for _, answer in self._search(packed, packed.nodes_of(packed.left_node_of), only_above=False, keep=True):
            counts.append(answer[0])
            partners.append(answer[1])
            n_partners += len(answer[1])
            if n_partners > MOST_GROUP_PAIRS:
                return pack(self._problem, group_below=0), None
        return packed, gather_groups(packed, np.concatenate(counts), np.concatenate(partners))

    def _search(
        self, packed: PackedTable, queries: NDArray[np.int32], *, only_above: bool, keep: bool
    ) -> Iterator[tuple[slice, Answer]]:
        problem = self._problem
        index = build_index(packed, make_plan(packed, problem.max_changes, problem.sensitive_differs))

        def answer(part: slice) -> Answer | None:
            by_node = np.argsort(queries[part])
            counts, partners = list_partners(
                packed.nodes, index, self._rule, problem.max_changes, queries[part][by_node], only_above, keep, CHUNK
            )
            return reorder(by_node, counts, partners) if len(counts) else None

        return ask(answer, len(queries))

    def _expand(self, groups: Groups, rows: NDArray[np.int32]) -> Iterator[tuple[slice, Answer]]:
        at = 0
        while at < len(rows):
            counts, partners = expand_rows(groups, rows[at:], self._within, CHUNK)
            yield slice(at, at + len(counts)), (counts, partners)
            at += len(counts)

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
