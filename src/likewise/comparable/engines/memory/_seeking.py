"""Asking an index for pairs: all of them in no order, those of some nodes in order, or only how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import Problem, take_parts
from likewise.comparable.engines.memory._arrays import order_rights
from likewise.comparable.engines.memory._asking import ask
from likewise.comparable.engines.memory._index import Index, build_index
from likewise.comparable.engines.memory._nodes import PackedTable
from likewise.comparable.engines.memory._plan import make_plan
from likewise.comparable.engines.memory._room import make_room
from likewise.comparable.engines.memory._search import (
    NONE,
    SENSITIVE,
    Rule,
    list_pairs,
    list_partners,
    reorder,
    tally_partners,
)

Found = TypeVar("Found")
Nodes = NDArray[np.int32]
Answer = tuple[NDArray[np.int64], Rows]  # how many partners each query has; all of them, query by query


class Seeker:
    """Search the nodes of a packed table within the memory allowed."""

    def __init__(self, problem: Problem, packed: PackedTable, allowed: int) -> None:
        self.packed = packed
        self.plan = make_plan(packed, problem.max_changes, problem.sensitive_differs)
        self.room = make_room(problem, packed, self.plan, allowed)
        self._problem = problem
        self._within = problem.n_right is None
        self.rule = Rule(SENSITIVE[problem.sensitive_differs], problem.max_changes)

    def pairs(self) -> Iterator[tuple[Rows, Rows]]:
        """Yield the pairs within one table by name, in no order but each once; a few signatures after the other."""
        nodes, chunk = self.packed.nodes, self.room.chunk
        queries = np.arange(self.packed.n_nodes, dtype=np.int32)
        for index in self._indexes():

            def answer(part: slice, index: Index = index) -> tuple[Rows, Rows] | None:
                left, right, is_done = list_pairs(nodes, index, self.rule, queries[part], chunk)
                return (left, right) if is_done else None

            yield from (pairs for _, pairs in self.ask(answer, len(queries)))

    def partners(self, queries: Nodes, *, only_above: bool) -> Iterator[tuple[slice, Answer]]:
        """Yield the names of each query's partners, query by query."""
        if self.fits_in_one:
            index = build_index(self.packed, self.plan, slice(None), self.room.walked)
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
        packed, chunk = self.packed, self.room.chunk
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

            for _, found in self.ask(answer, len(queries)):
                tally += found
        if self._within and self.rule.sensitive == NONE:  # equal rows are comparable to each other
            own = packed.combination
            np.add.at(tally, (packed.labels, own, own), weights * (weights - 1) // 2)
        return tally

    def _indexes(self) -> Iterator[Index]:
        """Build the buckets of as many signatures at a time as fit."""
        at_once = self.room.most_signatures
        for start in range(0, len(self.plan.kept), at_once):
            yield build_index(self.packed, self.plan, slice(start, start + at_once), self.room.walked)

    def index_of(self, signature: int) -> Index:
        """Build the buckets of one signature."""
        return build_index(self.packed, self.plan, slice(signature, signature + 1), self.room.walked)

    @property
    def fits_in_one(self) -> bool:
        """Whether there is room for the buckets of all signatures at a time."""
        return len(self.plan.kept) <= self.room.most_signatures

    def ask(self, answer: Callable[[slice], Found | None], n_queries: int) -> Iterator[tuple[slice, Found]]:
        """Ask as many queries at a time as fit."""
        n_looked_up = self.plan.n_looked_up(len(self._problem.combinations))
        return ask(answer, n_queries, self.room.looked_up // n_looked_up, self.room.n_threads, self.room.n_heavy)

    def _partners_in(self, index: Index, queries: Nodes, only_above: bool) -> Iterator[tuple[slice, Answer]]:
        nodes, chunk = self.packed.nodes, self.room.chunk

        def answer(part: slice) -> Answer | None:
            by_node = np.argsort(queries[part])
            counts, partners = list_partners(nodes, index, self.rule, queries[part][by_node], only_above, chunk)
            return reorder(by_node, counts, partners) if len(counts) else None

        return self.ask(answer, len(queries))

    def _partners_by_slices(self, queries: Nodes, only_above: bool) -> Iterator[tuple[slice, Answer]]:
        """Search a slice of the queries under one signature after the other, then put what was found in order.

        Every slice has all buckets built anew, so slices are as long as what is found for them fits.
        """
        at, size = 0, max(len(queries) // 64, 1)
        while at < len(queries):
            part = slice(at, min(at + size, len(queries)))
            size = part.stop - at
            found, is_all = take_parts(self.pairs_of(queries[part], only_above=only_above), self.room.sliced)
            if not is_all and size > 1:
                size = max(size // 2, 1)
                continue
            if not is_all:  # one query has them all
                found = list(self.pairs_of(queries[part], only_above=only_above))
            counts, partners = order_rights(found, size)
            yield part, (counts, partners)
            at = part.stop
            size = max(int(0.7 * size * self.room.sliced / (len(partners) + 1)), 1)

    def pairs_of(self, queries: Nodes, *, only_above: bool) -> Iterator[tuple[Rows, Rows]]:
        """Yield the place of a query and the name of its partner, in no order."""
        for index in self._indexes():
            for part, (counts, partners) in self._partners_in(index, queries, only_above):
                yield np.repeat(np.arange(part.start, part.stop, dtype=np.int32), counts), partners
