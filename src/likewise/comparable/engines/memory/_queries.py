"""Queries to an index, in parts and on several threads: all pairs unordered, partners in order, or counts.

The budget says how much of everything may be in memory at a time, in bytes at most: few tables come near that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from likewise._checks import parameter
from likewise._memory import give_memory_back, n_cores
from likewise._threads import beside, make_ahead, take_rows
from likewise.comparable._pairs import Rows
from likewise.comparable.engines._columns import spans_of
from likewise.comparable.engines._problem import Bunch, Found, Problem, Visit, take_parts
from likewise.comparable.engines.memory._buckets import Common, Plan, find_common, make_plan
from likewise.comparable.engines.memory._index import Index, build_index
from likewise.comparable.engines.memory._joining import Joined, find_pairs, join_buckets, pair_names
from likewise.comparable.engines.memory._ordering import order_pairs, order_partners
from likewise.comparable.engines.memory._packing import PackedTable
from likewise.comparable.engines.memory._parts import answer_in_parts, in_flight
from likewise.comparable.engines.memory._search import (
    NAMES,
    NODES,
    NONE,
    PLACES,
    SENSITIVE,
    Room,
    Rule,
    find_partners,
    prepare_tests,
    reorder,
    tally_pairs,
)
from likewise.exceptions import TooManyPairs

# upper limits: more memory than this makes nothing faster
CHUNK: Final = 1 << 21  # pairs in one answer at most
MOST_GROUP_PAIRS: Final = 1 << 26  # beyond, equal rows are searched one by one rather than kept as groups
MOST_TALLIED: Final = 1 << 22
MOST_PLACES: Final = 1 << 27  # of nodes in buckets, at a time; also keeps their numbers well within four bytes
MOST_LOOKED_UP: Final = 1 << 24  # runs of nodes that the queries of one part may lead to, each as often as it does

LEAST: Final = 64_000_000  # what a search may take in any case
A_THREAD: Final = 4_000_000
FEWEST_PAIRS: Final = 1 << 12
MANY_THREADS: Final = 4  # fewer are busy with one index at a time, which takes less memory
# bytes
IN_ANSWER: Final = 24  # of a pair that is found, copied, named and put in order
IN_LIST: Final = 16  # of a pair while all are put in order
IN_SLICE: Final = 24  # the same, with what is handed out
IN_GROUPS: Final = 40  # of a pair of groups, kept in both directions
OF_RUN: Final = 40  # of a run of nodes that a query leads to
OF_PLACE: Final = 32  # of a node in its bucket
OF_HASHED_PLACE: Final = 56  # the same where buckets are found by hash
OF_RANKING: Final = 40  # of a row, while a column is ranked
OF_ALL: Final = 20  # of a node, for what the buckets of all signatures have in common
OF_BUILDING: Final = 68  # of a node, while the buckets of a signature are made

Nodes = NDArray[np.int32]
Answer = tuple[NDArray[np.int64], Rows]  # how many partners each query has; all of them, query by query


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of everything may be in memory at a time."""

    most_signatures: int  # in an index
    most_placed: int  # signatures in an index that also has the words of its nodes
    n_threads: int
    n_ahead: int  # indexes of one signature that are built while another is gone through
    n_heavy: int  # answers under way at a time that may each name every node there is
    chunk: int  # pairs in an answer
    looked_up: int  # runs that the queries of one part may lead to, each as often as it does
    sliced: int  # pairs found before they are put in order
    tallied: int  # kinds of pairs that are counted in a table
    listed: int  # pairs that are listed first and put in order then
    kept: int  # pairs that are kept at all, beside a search for more
    group_pairs: int


def share_memory(problem: Problem, packed: PackedTable, plan: Plan, allowed: int) -> Budget:
    """Share what is left beside the packed rows among all that a search needs; refuse if it is too little."""
    of_place = OF_HASHED_PLACE if plan.has_cells or not packed.is_within else OF_PLACE
    n_nodes = packed.n_nodes
    # also degrees of rows and their sums; queries of nodes, or their labels, combinations and weights
    held = _own_bytes(problem) + _packed_bytes(packed) + 16 * problem.n_left + (16 + OF_ALL) * n_nodes
    heavy = IN_ANSWER * n_nodes
    one_index = (OF_BUILDING + of_place) * n_nodes
    least = one_index + heavy + A_THREAD
    left = max(allowed, LEAST) - held
    if left < least:
        _refuse(problem, held + least, allowed)
    all_indexes = (OF_BUILDING + of_place * len(plan.kept)) * n_nodes
    for_index = all_indexes if left // 2 < all_indexes <= 2 * left // 3 else max(left // 2, one_index)
    n_places = min((for_index - OF_BUILDING * n_nodes) // of_place, MOST_PLACES)
    rest = left - for_index
    quarter = rest // 4
    n_threads = max(min(n_cores(), quarter // A_THREAD), 1)
    n_in_flight = in_flight(n_threads) + 1  # with the one that is handed out
    of_placed = of_place + 8 * packed.nodes.words.shape[1]
    placed_index = (OF_BUILDING + of_placed) * n_nodes
    return Budget(
        most_signatures=max(n_places // max(n_nodes, 1), 1),
        most_placed=for_index // (of_placed * max(n_nodes, 1)),
        n_threads=n_threads,
        n_ahead=int(n_threads >= MANY_THREADS and 2 * placed_index <= for_index),
        n_heavy=max(quarter // max(heavy, 1), 1),
        chunk=min(max(quarter // (IN_ANSWER * n_in_flight), FEWEST_PAIRS), CHUNK),
        looked_up=min(quarter // (OF_RUN * n_threads), MOST_LOOKED_UP),
        sliced=max(quarter // IN_SLICE, 1),
        tallied=min(quarter // (8 * n_in_flight), MOST_TALLIED),
        listed=rest // 2 // IN_LIST,
        kept=(left - 2 * least) // 8,
        group_pairs=min(left // IN_GROUPS, MOST_GROUP_PAIRS),
    )


def check_packing(problem: Problem, allowed: int) -> int:
    """Refuse a table whose rows cannot even be packed with what is allowed; return how many columns to rank at once."""
    n_near, own = len(problem.near), _own_bytes(problem)
    needed = 0
    for is_exact in (False, True):  # to look at all codes takes longer than to be sure without
        bits = [33] * len(problem.discrete)
        if is_exact:
            bits = [highest.bit_length() + 1 for _, highest in spans_of(problem.discrete)]
        n_bits = sum(bits) + 2 * n_near * (problem.n_rows.bit_length() + 1)
        needed = own + (80 + 16 * n_near + 4 * len(bits) + 8 * (2 + n_bits // 40)) * problem.n_rows
        if needed <= max(allowed, LEAST):
            break
    else:
        _refuse(problem, needed, allowed)
    return 1 + (max(allowed, LEAST) - needed) // (OF_RANKING * max(problem.n_rows, 1))


def _refuse(problem: Problem, needed: int, allowed: int) -> NoReturn:
    raise TooManyPairs(
        f"A search among {problem.n_rows:,} rows in memory takes {needed / 1e9:,.2g} GB or more, beyond the "
        f"{allowed / 1e9:,.2g} GB allowed. Raise {parameter('memory_limit')}.",
        needed,
    )


def _own_bytes(problem: Problem) -> int:
    """Count what stating the problem made, beside the columns of the table itself."""
    columns: tuple[Any, ...] = (*problem.equal, *problem.discrete, *problem.near, problem.combination)
    return sum(column.nbytes for column in columns if column.base is None)


def _packed_bytes(packed: PackedTable) -> int:
    nodes = packed.nodes
    arrays = (
        nodes.words,
        nodes.key,
        nodes.window,
        nodes.near.lowest,
        nodes.near.highest,
        packed.rows,
        packed.node_of,
    )
    return sum(array.nbytes for array in arrays)


def _keep_for_indexes(packed: PackedTable) -> PackedTable:
    """Keep what it takes to build indexes and to go through them: no way back to rows, no ranks."""
    near, nobody = packed.nodes.near, np.empty(0, np.int32)
    nodes = packed.nodes._replace(near=near._replace(lowest=nobody, highest=nobody))
    return replace(packed, nodes=nodes, rows=nobody, node_of=nobody)


class PairSearch:
    """Search the nodes of a packed table within the memory allowed."""

    def __init__(self, problem: Problem, packed: PackedTable, allowed: int) -> None:
        self.packed = packed
        self.plan = make_plan(packed, problem.max_changes, problem.sensitive_differs)
        self.budget = share_memory(problem, packed, self.plan, allowed)
        self._n_combinations = len(problem.combinations)
        self._within = problem.n_right is None
        self._rooms: deque[Room] = deque()
        self.rule = Rule(SENSITIVE[problem.sensitive_differs], problem.max_changes)

    def pairs(self) -> Iterator[tuple[Rows, Rows]]:
        """Yield the pairs within one table by name, in no order but each once; a few signatures after the other."""
        for joined in self._joined(self.budget.most_signatures):
            yield from (pairs for _, pairs in self._go_through(joined, NAMES, pair_names, in_order=True))
            del joined  # not two at a time

    def visit(self, visit: Visit[Found]) -> Iterator[tuple[float, Found]]:
        """Hand out the pairs of nodes within one table, on several threads; yield the share done and what is made.

        It is the last question that can be asked: what it does not need is let go.
        """
        _ = self._common
        self.packed = _keep_for_indexes(self.packed)
        n_indexes = n_left = len(self.plan.kept)
        give_memory_back(self.packed.n_nodes)  # of packing
        for joined in self._joined(1):

            def visit_some(firsts: Any, counts: Any, seconds: Any, people: Rows = joined.buckets.order) -> Found:
                return visit(Bunch(firsts, counts, seconds, people))

            n_done, n_steps = 0, joined.n_steps
            for part, made in self._go_through(joined, PLACES, visit_some):
                n_done += part.stop - part.start
                yield 1 - (n_left - n_done / n_steps) / n_indexes, made
            n_left -= 1
            del joined, visit_some  # not two at a time

    def partners(self, queries: Nodes, *, only_above: bool) -> Iterator[tuple[slice, Answer]]:
        """Yield the names of each query's partners, query by query."""
        if self.fits_in_one:
            return self._partners_in(self._build(0, len(self.plan.kept)), queries, only_above)
        return self._partners_by_slices(queries, only_above)

    def count_partners(self, queries: Nodes) -> NDArray[np.int64]:
        """Count the partners of each query."""
        counts = np.zeros(len(queries), np.int64)
        for index in self._indexes():
            for part, (n_found, _) in self._partners_in(index, queries, only_above=False):
                counts[part] += n_found
        return counts

    def tally(self, labels: NDArray[np.int32], shape: tuple[int, int, int]) -> NDArray[np.int64]:
        """Count by the labels of rows, signature after signature: one index is in memory at a time, and no pair."""
        packed = self.packed
        labels, combination = take_rows(labels, packed.rows), packed.combination
        weights = np.empty(0, np.int64)
        if packed.is_grouped:
            weights = np.bincount(packed.node_of, minlength=packed.n_nodes)
        tally = np.zeros(shape, np.int64)

        def count(firsts: Nodes, counts: NDArray[np.int64], seconds: Nodes) -> NDArray[np.int64]:
            counted = np.zeros(shape, np.int64)
            pairs = firsts, counts, seconds, not self._within
            tally_pairs(combination, labels, weights, *pairs, counted)
            return counted

        for counted in self._visit_joined(count) if self._within else self._visit_partners(count):
            tally += counted
        # equal rows are comparable to each other
        if packed.is_grouped and self._within and self.rule.sensitive == NONE:
            np.add.at(tally, (labels, combination, combination), weights * (weights - 1) // 2)
        return tally

    def _visit_joined(self, visit: Callable[..., Found]) -> Iterator[Found]:
        """Hand out the pairs within one table as first nodes, how many second ones each has, and these."""
        for joined in self._joined(1):
            yield from (made for _, made in self._go_through(joined, NODES, visit))
            del joined  # not two at a time

    def _visit_partners(self, visit: Callable[..., Found]) -> Iterator[Found]:
        """Hand out the pairs between two tables in the same way."""
        packed = self.packed
        queries = packed.nodes_of(packed.left_node_of)
        for signature in range(len(self.plan.kept)):
            index = self.index_of(signature)

            def answer(part: slice, index: Index = index) -> tuple[Found] | None:
                with self._room() as room:
                    found = find_partners(packed.nodes, index, self.rule, queries[part], room)
                    return None if found is None else (visit(queries[part], *found),)

            yield from (made for _, (made,) in self.answer_in_parts(answer, index, len(queries), in_order=False))
            del index, answer  # not two at a time

    def _joined(self, at_once: int) -> Iterator[Joined]:
        """Build the buckets of some signatures at a time, to go through all of them."""
        starts = range(0, len(self.plan.kept), at_once)
        n_ahead = min(self.budget.n_ahead, len(starts) - 1) if at_once == 1 else 0
        _ = self._common

        def join(start: int) -> Joined:
            with beside(n_ahead):
                return join_buckets(self.packed.nodes, self._build(start, start + at_once, is_asked=False))

        yield from make_ahead(join, starts, n_ahead)

    def _indexes(self) -> Iterator[Index]:
        """Build the buckets of as many signatures at a time as fit."""
        at_once = self.budget.most_signatures
        for start in range(0, len(self.plan.kept), at_once):
            yield self._build(start, start + at_once)

    def index_of(self, signature: int) -> Index:
        """Build the buckets of one signature."""
        return self._build(signature, signature + 1)

    def _build(self, start: int, stop: int, *, is_asked: bool = True) -> Index:
        """Build the buckets of some signatures."""
        stop = min(stop, len(self.plan.kept))
        is_placed = stop - start <= self.budget.most_placed
        how = {"is_placed": is_placed, "is_asked": is_asked}
        return build_index(self.packed, self.plan, self._common, slice(start, stop), **how)

    @cached_property
    def _common(self) -> Common:
        return find_common(self.packed, self.plan)

    @property
    def fits_in_one(self) -> bool:
        """Whether there is room for the buckets of all signatures at a time."""
        return len(self.plan.kept) <= self.budget.most_signatures

    def answer_in_parts(
        self, answer: Callable[[slice], Found | None], index: Index, n_queries: int, *, in_order: bool = True
    ) -> Iterator[tuple[slice, Found]]:
        """Ask an index as many queries at a time as fit."""
        most_in_part = self.budget.looked_up // (len(index.kept) * self.plan.n_looked_up(self._n_combinations))
        threads = self.budget.n_threads, self.budget.n_heavy
        return answer_in_parts(answer, n_queries, most_in_part, *threads, in_order=in_order)

    def _go_through(
        self, joined: Joined, called: int, make: Callable[..., Found], *, in_order: bool = False
    ) -> Iterator[tuple[slice, Found]]:
        """Make something of the pairs in joined buckets, in parts of about equal work; yield the steps done, and it."""
        tests = prepare_tests(self.packed.nodes, joined.buckets, self.rule)
        most_spans = self.budget.looked_up

        def answer(part: slice) -> tuple[Found] | None:
            places = joined.places(part)
            with self._room() as room:
                found = find_pairs(self.packed.nodes, joined, tests, places, most_spans, room, called=called)
                return None if found is None else (make(*found),)

        def is_lone(part: slice) -> bool:
            places = joined.places(part)
            return places.stop - places.start <= 1

        how = joined.n_steps, joined.n_steps, self.budget.n_threads, self.budget.n_heavy
        answers = answer_in_parts(answer, *how, in_order=in_order, grain=joined.grain, is_lone=is_lone)
        yield from ((part, made) for part, (made,) in answers)

    @contextmanager
    def _room(self) -> Iterator[Room]:
        """Lend room to a thread; what is found there has to be made something of before the room is given back."""
        try:
            room = self._rooms.pop()
        except IndexError:  # at most one for each thread
            room = Room(self.budget.chunk)
        yield room
        self._rooms.append(room)

    def _partners_in(self, index: Index, queries: Nodes, only_above: bool) -> Iterator[tuple[slice, Answer]]:
        nodes = self.packed.nodes

        def answer(part: slice) -> Answer | None:
            by_node = np.argsort(queries[part])
            ordered = queries[part][by_node]
            with self._room() as room:
                found = find_partners(nodes, index, self.rule, ordered, room, only_above=only_above, called=NAMES)
                if found is None:
                    return None
                counts, names = found
                order_partners(counts, names)
                return reorder(by_node, counts, names)

        return self.answer_in_parts(answer, index, len(queries))

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
            places, partners = order_pairs(found)
            yield part, (np.bincount(places, minlength=size), partners)
            at = part.stop
            size = max(int(0.7 * size * self.budget.sliced / (len(partners) + 1)), 1)

    def pairs_of(self, queries: Nodes, *, only_above: bool) -> Iterator[tuple[Rows, Rows]]:
        """Yield the place of a query and the name of its partner, in no order."""
        for index in self._indexes():
            for part, (counts, partners) in self._partners_in(index, queries, only_above):
                yield np.repeat(np.arange(part.start, part.stop, dtype=np.int32), counts), partners
