"""Nodes asked for their partners: one signature after the other, in parts on all cores, in bounded memory."""

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
from likewise.comparable.engines._problem import Found, Pairs, Problem

ROOM: Final = 1 << 18  # pairs that a thread keeps room for
PART: Final = 1 << 14  # places in a part
A_THREAD: Final = 8_000_000  # bytes

Make = Callable[[Buckets, Asked, Joined], Found]


class BucketSearch:
    """Ask the rows of a problem, packed as nodes, for their partners bucket by bucket."""

    def __init__(self, problem: Problem, allowed: int) -> None:
        self.packed = pack(problem, allowed)
        self.plan = make_plan(self.packed, problem.max_changes, problem.sensitive_differs)
        self._problem, left = problem, check_room(problem, allowed, self.packed.words.shape[1])
        self._n_threads = max(min(n_cores(), left // 4 // A_THREAD), 1)
        self.n_bytes_left = max(left - self._n_threads * A_THREAD, 0)
        self._rooms: deque[Rows] = deque()  # memory that is taken and given back for each part keeps others waiting

    def ask(
        self, signature: Signature, buckets: Buckets, asked: Asked, make: Make[Found]
    ) -> Iterator[tuple[int, Found]]:
        """Yield how many nodes are done, and what is made of their partners under a signature, part by part."""
        tests = prepare_tests(
            self.packed, signature, self._problem.max_changes, must_differ=self._problem.sensitive_differs != "none"
        )

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

    def join(self, make: Make[Found], rows: NDArray[np.integer[Any]] | None = None) -> Iterator[tuple[float, Found]]:
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


def name_pairs(packed: PackedRows, buckets: Buckets, asked: Asked, joined: Joined) -> Pairs:
    """Return pairs by row, the smaller on the left within one table."""
    left = np.repeat(buckets.rows[asked.places[joined.firsts]], joined.counts)
    right = buckets.rows[joined.seconds]
    return (np.minimum(left, right), np.maximum(left, right)) if packed.is_within else (left, right)


def ask_all(buckets: Buckets, *, only_after: bool, what: int = PARTNERS) -> Asked:
    """Ask every node that may have partners."""
    may_have = np.repeat(buckets.begin < buckets.end, np.diff(buckets.run_start))
    return Asked(np.flatnonzero(may_have).astype(np.int32), what, only_after)
