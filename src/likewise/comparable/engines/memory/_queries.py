"""Queries to an index, in parts and on several threads: all pairs unordered, partners in order, or counts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import Problem, take_parts
from likewise.comparable.engines.memory._buckets import Index, build_index, make_plan
from likewise.comparable.engines.memory._budget import share_memory
from likewise.comparable.engines.memory._packing import PackedTable
from likewise.comparable.engines.memory._search import (
    NONE,
    SENSITIVE,
    Rule,
    list_pairs,
    list_partners,
    reorder,
    tally_partners,
)

SHORT = 24  # segments up to this long are sorted by insertion
FEWEST: Final = 1 << 12  # queries in a part
MOST: Final = 1 << 14

Found = TypeVar("Found")
Nodes = NDArray[np.int32]
Answer = tuple[NDArray[np.int64], Rows]  # how many partners each query has; all of them, query by query


def order_pairs(parts: list[tuple[Rows, Rows]], n_left: int) -> tuple[Rows, Rows]:
    """Order pairs by left row, then right row, emptying the list of parts."""
    counts, rights = order_rights(parts, n_left)
    return np.repeat(np.arange(n_left, dtype=np.int32), counts), rights


def order_rights(parts: list[tuple[Rows, Rows]], n_left: int) -> tuple[NDArray[np.int64], Rows]:
    """Put the right rows of pairs in order, emptying the list of parts; also count those of each left row."""
    counts = np.zeros(n_left, np.int64)
    for left, _ in parts:
        add_counts(counts, left)
    ends = np.cumsum(counts)
    rights = np.empty(int(counts.sum()), np.int32)
    filled = ends - counts
    while parts:
        _scatter(*parts.pop(), filled, rights)
    _sort_segments(ends - counts, ends, rights)
    return counts, rights


@compiled
def add_counts(counts: Any, rows: Any) -> None:
    """Count each row as often as it is there."""
    for row in rows:
        counts[row] += 1


@compiled
def _scatter(left: Any, right: Any, filled: Any, rights: Any) -> None:
    for k in range(len(left)):
        rights[filled[left[k]]] = right[k]
        filled[left[k]] += 1


@compiled
def _sort_segments(starts: Any, ends: Any, values: Any) -> None:
    """Sort each segment in place: by insertion while they are short, as most are."""
    for k in range(len(starts)):
        if ends[k] - starts[k] > SHORT:
            values[starts[k] : ends[k]].sort()
            continue
        for i in range(starts[k] + 1, ends[k]):
            value, at = values[i], i
            while at > starts[k] and values[at - 1] > value:
                values[at] = values[at - 1]
                at -= 1
            values[at] = value


def answer_in_parts(
    answer: Callable[[slice], Found | None], n_queries: int, most_in_part: int, n_threads: int, n_heavy: int
) -> Iterator[tuple[slice, Found]]:
    """Yield the answers to all queries in order, part by part; a part that has no answer is asked again in halves.

    A query that is a part of its own is always answered, however long the answer: so of these only ``n_heavy`` are
    under way at a time.
    """
    n_in_part = max(min(max(n_queries // (2 * n_threads), FEWEST), MOST, most_in_part), 1)
    pool = ThreadPoolExecutor(n_threads)
    waiting: deque[tuple[slice, Future[Found | None]]] = deque()
    n_asked = 0
    try:
        while waiting or n_asked < n_queries:
            most_waiting = n_threads + 1 if n_in_part > 1 else min(n_heavy, n_threads + 1)
            while n_asked < n_queries and len(waiting) < most_waiting:
                part = slice(n_asked, min(n_asked + n_in_part, n_queries))
                waiting.append((part, pool.submit(answer, part)))
                n_asked = part.stop
            part, future = waiting.popleft()
            found = future.result()
            if found is not None:
                yield part, found
                continue
            middle = (part.start + part.stop) // 2
            n_in_part = max(n_in_part // 2, 1)  # those to come are likely to be as many
            for half in (slice(middle, part.stop), slice(part.start, middle)):
                waiting.appendleft((half, pool.submit(answer, half)))
    finally:
        pool.shutdown(cancel_futures=True)


class PairSearch:
    """Search the nodes of a packed table within the memory allowed."""

    def __init__(self, problem: Problem, packed: PackedTable, allowed: int) -> None:
        self.packed = packed
        self.plan = make_plan(packed, problem.max_changes, problem.sensitive_differs)
        self.budget = share_memory(problem, packed, self.plan, allowed)
        self._problem = problem
        self._within = problem.n_right is None
        self.rule = Rule(SENSITIVE[problem.sensitive_differs], problem.max_changes)

    def pairs(self) -> Iterator[tuple[Rows, Rows]]:
        """Yield the pairs within one table by name, in no order but each once; a few signatures after the other."""
        nodes, chunk = self.packed.nodes, self.budget.chunk
        queries = np.arange(self.packed.n_nodes, dtype=np.int32)
        for index in self._indexes():

            def answer(part: slice, index: Index = index) -> tuple[Rows, Rows] | None:
                left, right, is_done = list_pairs(nodes, index, self.rule, queries[part], chunk)
                return (left, right) if is_done else None

            yield from (pairs for _, pairs in self.answer_in_parts(answer, len(queries)))

    def partners(self, queries: Nodes, *, only_above: bool) -> Iterator[tuple[slice, Answer]]:
        """Yield the names of each query's partners, query by query."""
        if self.fits_in_one:
            index = build_index(self.packed, self.plan, slice(None), self.budget.walked)
            return self._partners_in(index, queries, only_above)
        return self._partners_by_slices(queries, only_above)

    def count_partners(self, queries: Nodes) -> NDArray[np.int64]:
        """Count the partners of each query."""
        counts = np.zeros(len(queries), np.int64)
        for index in self._indexes():
            for part, (n_found, _) in self._partners_in(index, queries, only_above=False):
                counts[part] += n_found
        return counts

    def tally(self, shape: tuple[int, int, int]) -> NDArray[np.int64]:
        """Count signature after signature: only one index is in memory at a time, and no pair."""
        packed, chunk = self.packed, self.budget.chunk
        weights = np.bincount(packed.node_of, minlength=packed.n_nodes)
        queries = packed.nodes_of(packed.left_node_of)
        tally = np.zeros(shape, np.int64)
        for signature in range(len(self.plan.kept)):
            index = self.index_of(signature)

            def answer(part: slice, index: Index = index) -> NDArray[np.int64] | None:
                found = np.zeros(shape, np.int64)
                of_node = (packed.labels, weights)
                is_done = tally_partners(
                    packed.nodes, index, self.rule, queries[part], self._within, of_node, chunk, found
                )
                return found if is_done else None

            for _, found in self.answer_in_parts(answer, len(queries)):
                tally += found
        if self._within and self.rule.sensitive == NONE:  # equal rows are comparable to each other
            own = packed.combination
            np.add.at(tally, (packed.labels, own, own), weights * (weights - 1) // 2)
        return tally

    def _indexes(self) -> Iterator[Index]:
        """Build the buckets of as many signatures at a time as fit."""
        at_once = self.budget.most_signatures
        for start in range(0, len(self.plan.kept), at_once):
            yield build_index(self.packed, self.plan, slice(start, start + at_once), self.budget.walked)

    def index_of(self, signature: int) -> Index:
        """Build the buckets of one signature."""
        return build_index(self.packed, self.plan, slice(signature, signature + 1), self.budget.walked)

    @property
    def fits_in_one(self) -> bool:
        """Whether there is room for the buckets of all signatures at a time."""
        return len(self.plan.kept) <= self.budget.most_signatures

    def answer_in_parts(self, answer: Callable[[slice], Found | None], n_queries: int) -> Iterator[tuple[slice, Found]]:
        """Ask as many queries at a time as fit."""
        n_looked_up = self.plan.n_looked_up(len(self._problem.combinations))
        return answer_in_parts(
            answer, n_queries, self.budget.looked_up // n_looked_up, self.budget.n_threads, self.budget.n_heavy
        )

    def _partners_in(self, index: Index, queries: Nodes, only_above: bool) -> Iterator[tuple[slice, Answer]]:
        nodes, chunk = self.packed.nodes, self.budget.chunk

        def answer(part: slice) -> Answer | None:
            by_node = np.argsort(queries[part])
            counts, partners = list_partners(nodes, index, self.rule, queries[part][by_node], only_above, chunk)
            return reorder(by_node, counts, partners) if len(counts) else None

        return self.answer_in_parts(answer, len(queries))

    def _partners_by_slices(self, queries: Nodes, only_above: bool) -> Iterator[tuple[slice, Answer]]:
        """Search a slice of the queries under one signature after the other, then put what was found in order.

        Every slice builds all buckets again, so slices are as long as their pairs fit in memory.
        """
        at, size = 0, max(len(queries) // 64, 1)
        while at < len(queries):
            part = slice(at, min(at + size, len(queries)))
            size = part.stop - at
            found, is_all = take_parts(self.pairs_of(queries[part], only_above=only_above), self.budget.sliced)
            if not is_all and size > 1:
                size = max(size // 2, 1)
                continue
            if not is_all:  # one query has them all
                found = list(self.pairs_of(queries[part], only_above=only_above))
            counts, partners = order_rights(found, size)
            yield part, (counts, partners)
            at = part.stop
            size = max(int(0.7 * size * self.budget.sliced / (len(partners) + 1)), 1)

    def pairs_of(self, queries: Nodes, *, only_above: bool) -> Iterator[tuple[Rows, Rows]]:
        """Yield the place of a query and the name of its partner, in no order."""
        for index in self._indexes():
            for part, (counts, partners) in self._partners_in(index, queries, only_above):
                yield np.repeat(np.arange(part.start, part.stop, dtype=np.int32), counts), partners
