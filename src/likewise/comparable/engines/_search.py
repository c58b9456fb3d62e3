"""The search of large tables: one signature after the other, in parts on all cores, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.comparable.engines._asking import BucketSearch, Make, name_pairs
from likewise.comparable.engines._buckets import Buckets
from likewise.comparable.engines._columns import Rows
from likewise.comparable.engines._drawing import draw_pairs
from likewise.comparable.engines._joining import Asked, Joined
from likewise.comparable.engines._problem import Bunch, Engine, Found, Pairs, Problem, StartVisit

HALF: Final = 32
CHUNK: Final = 1 << 20  # pairs that are handed out at a time
IN_LIST: Final = 24  # bytes of a pair while all are put in order


class MemoryEngine(Engine):
    """Find comparable pairs in memory, exactly, with at most ``allowed`` bytes for all that is made of the problem."""

    def __init__(self, problem: Problem, allowed: int) -> None:
        super().__init__(problem)
        self._search = BucketSearch(problem, allowed)
        self._most_listed = self._search.n_bytes_left // IN_LIST

    def chunks(self, rows: NDArray[np.integer[Any]] | None = None) -> Iterator[Pairs]:
        listed = self.listing(self._most_listed) if rows is None else None
        if listed is not None:
            yield from cut_pairs(listed)
            return
        wanted = np.arange(self._problem.n_left) if rows is None else rows
        ends = np.cumsum(self.degrees[wanted])
        at = n_before = 0
        while at < len(wanted):  # as many rows as fit, and at least one
            stop = max(int(np.searchsorted(ends, n_before + self._most_listed, side="right")), at + 1)
            n_here = int(ends[stop - 1]) - n_before
            listed = self._list(n_here, wanted[at:stop]) if n_here else None
            if listed is not None:
                yield from cut_pairs(listed)
            at, n_before = stop, n_before + n_here

    def listing(self, most: int) -> Pairs | None:
        """Return all pairs in order, or None if there are more than ``most``, or than fit beside the search."""
        return self._list(min(most, self._most_listed))

    def pieces(
        self, make: Callable[[NDArray[Any], NDArray[Any]], Found], values: NDArray[Any] | None = None
    ) -> Iterator[Found]:
        if values is None:
            return (found for _, found in self._search.join(self._by_row(make)))
        packed = self._search.packed
        of_nodes = values[packed.rows + np.where(packed.is_left, 0, self._first_right)]
        last: tuple[Any, NDArray[Any]] = (None, of_nodes)  # the order of a signature, and the values in it

        def take(buckets: Buckets, asked: Asked, joined: Joined) -> Found:
            nonlocal last
            order, by_place = last
            if order is not buckets.order:
                by_place = of_nodes[buckets.order]
                last = buckets.order, by_place
            return make(np.repeat(by_place[asked.places[joined.firsts]], joined.counts), by_place[joined.seconds])

        return (found for _, found in self._search.join(take))

    def visit(self, start: StartVisit[Found]) -> Iterator[tuple[float, Found]]:
        visit = start(self._search.packed.rows)

        def hand_out(buckets: Buckets, asked: Asked, joined: Joined) -> Found:
            return visit(Bunch(asked.places[joined.firsts], joined.counts, joined.seconds, buckets.order))

        return self._search.join(hand_out)

    def draw(self, n: int, random: np.random.Generator) -> Any:
        """Draw ``n`` different pairs without counting them; None, if there are too few for that to be quicker."""
        return draw_pairs(self._search, n, random)

    def _list(self, most: int, rows: NDArray[np.integer[Any]] | None = None) -> Pairs | None:
        parts, n_found = list[NDArray[np.int64]](), 0
        for _, both in self._search.join(self._by_row(_as_numbers), rows):
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
            return make(*name_pairs(self._search.packed, buckets, asked, joined))

        return name


def cut_pairs(pairs: Pairs) -> Iterator[Pairs]:
    """Hand out pairs some at a time."""
    for start in range(0, len(pairs[0]), CHUNK):
        yield pairs[0][start : start + CHUNK], pairs[1][start : start + CHUNK]


def _as_numbers(left: Rows, right: Rows) -> NDArray[np.int64]:
    """Put pairs into numbers that have their order."""
    both = left.astype(np.int64)
    both <<= HALF
    both |= right
    return both
