"""The search of large tables: one signature after the other, in parts on all cores, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._memory import n_cores
from likewise._threads import answer_in_parts
from likewise.comparable.engines._buckets import Buckets, Detail, lay_buckets
from likewise.comparable.engines._columns import Rows
from likewise.comparable.engines._joining import HIGHER, PARTNERS, Asked, Joined, find_partners, prepare_tests
from likewise.comparable.engines._packing import PackedRows, check_room, pack
from likewise.comparable.engines._plan import Signature, make_plan
from likewise.comparable.engines._problem import Bunch, Engine, Found, Pairs, Problem, StartVisit

HALF: Final = 32
CHUNK: Final = 1 << 20  # pairs that are handed out at a time
ROOM: Final = 1 << 18  # pairs that a thread keeps room for
PART: Final = 1 << 14  # places in a part
A_THREAD: Final = 8_000_000  # bytes
IN_LIST: Final = 24  # bytes of a pair while all are put in order

Make = Callable[[Buckets, Asked, Joined], Found]


class MemoryEngine(Engine):
    """Find comparable pairs in memory, exactly, with at most ``allowed`` bytes for all that is made of the problem."""

    def __init__(self, problem: Problem, allowed: int) -> None:
        super().__init__(problem)
        self.packed = pack(problem, allowed)
        self.plan = make_plan(self.packed, problem.max_changes, problem.sensitive_differs)
        left = check_room(problem, allowed, self.packed.words.shape[1])
        self._n_threads = max(min(n_cores(), left // 4 // A_THREAD), 1)
        self._most_listed = max(left - self._n_threads * A_THREAD, 0) // IN_LIST
        self._must_differ = problem.sensitive_differs != "none"
        self._rooms: deque[Rows] = deque()  # memory that is taken and given back for each part keeps others waiting

    def chunks(self, rows: NDArray[np.integer[Any]] | None = None) -> Iterator[Pairs]:
        listed = self.listing(self._most_listed) if rows is None else None
        if listed is not None:
            for start in range(0, len(listed[0]), CHUNK):
                yield listed[0][start : start + CHUNK], listed[1][start : start + CHUNK]
            return
        wanted = np.arange(self._problem.n_left) if rows is None else rows
        ends = np.cumsum(self.degrees[wanted])
        at = n_before = 0
        while at < len(wanted):  # as many rows as fit, and at least one
            most = n_before + min(CHUNK, self._most_listed)
            stop = max(int(np.searchsorted(ends, most, side="right")), at + 1)
            if ends[stop - 1] > n_before:
                pairs = self._list(int(ends[stop - 1]) - n_before, wanted[at:stop])
                assert pairs is not None
                yield pairs
            at, n_before = stop, int(ends[stop - 1])

    def listing(self, most: int) -> Pairs | None:
        """Return all pairs in order, or None if there are more than ``most``, or than fit beside the search."""
        return self._list(min(most, self._most_listed))

    def pieces(self, make: Callable[[Rows, Rows], Found]) -> Iterator[Found]:
        return (found for _, found in self._join(self._by_row(make)))

    def visit(self, start: StartVisit[Found]) -> Iterator[tuple[float, Found]]:
        visit = start(self.packed.rows)

        def hand_out(buckets: Buckets, asked: Asked, joined: Joined) -> Found:
            return visit(Bunch(asked.places[joined.firsts], joined.counts, joined.seconds, buckets.order))

        return self._join(hand_out)

    def draw(self, n: int, random: np.random.Generator) -> Any:
        """Draw ``n`` different pairs without counting them; None, if there are too few for that to be quicker."""
        from likewise.comparable.engines._drawing import draw_pairs

        return draw_pairs(self, n, random)

    def ask(
        self, signature: Signature, buckets: Buckets, asked: Asked, make: Make[Found]
    ) -> Iterator[tuple[int, Found]]:
        """Yield how many nodes are done, and what is made of their partners under a signature, part by part."""
        tests = prepare_tests(self.packed, signature, self._problem.max_changes, must_differ=self._must_differ)

        def answer(start: int, stop: int) -> tuple[Found, int]:
            try:
                room = self._rooms.pop()
            except IndexError:  # at most once for each thread
                room = np.empty(ROOM, np.int32)
            joined, room = find_partners(self.packed, buckets, tests, asked, start, stop, room)
            made = make(buckets, asked, joined)
            self._rooms.append(room)
            return made, joined.stop

        return answer_in_parts(answer, len(asked.places), PART, self._n_threads)

    def lay(self, signature: Signature, *, only_after: bool) -> Buckets:
        """Lay out the nodes under a signature."""
        return lay_buckets(self.packed, self.plan, self._detail, signature.kept, only_after=only_after)

    @cached_property
    def _detail(self) -> Detail:
        return Detail.of(self.packed, self.plan)

    def _join(self, make: Make[Found], rows: NDArray[np.integer[Any]] | None = None) -> Iterator[tuple[float, Found]]:
        """Yield the share done and what is made of all pairs, or of those that some left rows are the left one of."""
        only_after = self.packed.is_within and rows is None
        is_asked = None if rows is None else self._nodes_of(rows)
        for number, signature in enumerate(self.plan.signatures()):
            buckets = self.lay(signature, only_after=only_after)
            if is_asked is None:
                asked = ask_all(buckets, only_after=only_after)
            else:
                places = np.flatnonzero(is_asked[buckets.order]).astype(np.int32)
                asked = Asked(places, HIGHER if self.packed.is_within else PARTNERS)
            for n_done, made in self.ask(signature, buckets, asked, make):
                yield (number + n_done / len(asked.places)) / len(self.plan), made

    def _nodes_of(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Find the nodes of some left rows."""
        is_asked, nodes = np.zeros(self._problem.n_left, np.bool_), self.packed.is_left
        is_asked[rows] = True
        nodes[nodes] = is_asked[self.packed.rows[nodes]]
        return nodes

    def _list(self, most: int, rows: NDArray[np.integer[Any]] | None = None) -> Pairs | None:
        parts, n_found = list[NDArray[np.int64]](), 0
        for _, both in self._join(self._by_row(_as_numbers), rows):
            parts.append(both)
            n_found += len(both)
            if n_found > most:
                return None
        both = np.concatenate([np.empty(0, np.int64), *parts])
        parts.clear()
        both.sort()
        return (both >> HALF).astype(np.int32), both.astype(np.int32)  # of which the lower half fits

    def _by_row(self, make: Callable[[Rows, Rows], Found]) -> Make[Found]:
        """Make something of pairs of rows, the smaller on the left within one table."""

        def name(buckets: Buckets, asked: Asked, joined: Joined) -> Found:
            return make(*name_pairs(self.packed, buckets, asked, joined))

        return name


def name_pairs(packed: PackedRows, buckets: Buckets, asked: Asked, joined: Joined) -> Pairs:
    """Return pairs by row, the smaller on the left within one table."""
    left = np.repeat(buckets.rows[asked.places[joined.firsts]], joined.counts)
    right = buckets.rows[joined.seconds]
    return (np.minimum(left, right), np.maximum(left, right)) if packed.is_within else (left, right)


def ask_all(buckets: Buckets, *, only_after: bool, what: int = PARTNERS) -> Asked:
    """Ask every node that may have partners."""
    may_have = np.repeat(buckets.begin < buckets.end, np.diff(buckets.run_start))
    return Asked(np.flatnonzero(may_have).astype(np.int32), what, only_after)


def _as_numbers(left: Rows, right: Rows) -> NDArray[np.int64]:
    """Put pairs into numbers that have their order."""
    both = left.astype(np.int64)
    both <<= HALF
    both |= right
    return both
