"""Drawing pairs uniformly without finding the others.

Every pair stands in the window of one of its rows, in one bucket of the signature that is its own. So a place in all
windows of all signatures is drawn, each as likely as any other, and is kept if it is a pair's own: all pairs are then
equally likely. How often a place was kept, times the number of places, estimates how many pairs there are.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import join_chunks
from likewise.comparable.engines.memory._index import Index
from likewise.comparable.engines.memory._packing import LOW
from likewise.comparable.engines.memory._queries import PairSearch
from likewise.comparable.engines.memory._search import (
    NAMES,
    NO_FLOORS,
    Asked,
    Windows,
    find_windows,
    make_room,
    prepare_tests,
    test_spans,
)

PILOT: Final = 4_096  # places tried under each signature before it is known how many will be needed
SETTLED: Final = 40_000  # pairs that make the estimate good to half a percent
MOST_OF_PAIRS: Final = 0.5  # to draw more takes longer than to go through all
MOST_OF_PLACES: Final = 0.1  # the same: to look at a place out of order takes up to twenty times as long
MOST_ROUNDS: Final = 8
AT_ONCE: Final = 1 << 19  # places drawn at a time, of which there may be billions; fixed, as the pairs depend on it

Pairs = tuple[Rows, Rows]


class Drawn(NamedTuple):
    """Different pairs in order, and an estimate of how many there are in all."""

    left: Rows
    right: Rows
    n_total: int
    error: float  # standard error of that


def draw_pairs(search: PairSearch, n: int, random: np.random.Generator) -> Drawn | None:
    """Draw ``n`` different pairs; None, if there are too few for that to be the quicker way."""
    places = _Places(search)
    n_places = sum(places.totals)
    if not n_places:
        return None
    kept = [places.draw(number, PILOT, random) for number in range(len(places.totals))]
    share = sum(total * len(found[0]) / PILOT for total, found in zip(places.totals, kept, strict=True))
    share /= n_places
    left, right = np.empty(0, np.int32), np.empty(0, np.int32)
    n_drawn = n_kept = 0
    for _ in range(MOST_ROUNDS):
        n_more = max(n - len(left), SETTLED - n_kept, 1)
        n_draws = int(1.1 * n_more / share) + PILOT if share else n_places
        if n_drawn + n_draws > MOST_OF_PLACES * n_places or n > MOST_OF_PAIRS * share * n_places:
            return None
        chances = np.array(places.totals, np.float64) / n_places
        for number, n_here in enumerate(random.multinomial(n_draws, chances / chances.sum()).tolist()):
            kept[number] = places.draw(number, n_here, random)
        n_drawn += n_draws
        n_kept += sum(len(found[0]) for found in kept)
        share = n_kept / n_drawn
        left, right = _add_different((left, right), kept, random)
        if len(left) >= n:
            order = np.lexsort((right[:n], left[:n]))
            uncertain = (n_kept + 1) / (n_drawn + 2)  # that all places seen are pairs does not make all of them pairs
            error = n_places * (uncertain * (1 - uncertain) / n_drawn) ** 0.5
            return Drawn(left[order], right[order], round(n_places * share), error)
    return None


class _Places:
    """The windows of all rows under all signatures; no more indexes in memory than fit."""

    def __init__(self, search: PairSearch) -> None:
        self._search = search
        packed = search.packed
        self._queries = packed.nodes_of(packed.left_node_of)
        self._kept: dict[int, tuple[Index, NDArray[np.int64]]] = {}
        self.totals: list[int] = []
        for number in range(len(search.plan.kept)):
            ends = self._prepare(number)[1]
            self.totals.append(int(ends[-1]) if len(ends) else 0)

    def draw(self, number: int, n: int, random: np.random.Generator) -> Pairs:
        """Draw so many places under a signature, and give the pairs that are there."""
        kept = [(np.empty(0, np.int32), np.empty(0, np.int32))]
        if self.totals[number]:
            for start in range(0, n, AT_ONCE):
                kept += self._draw_some(number, min(n - start, AT_ONCE), random)
        return join_chunks(kept)

    def _draw_some(self, number: int, n: int, random: np.random.Generator) -> list[Pairs]:
        search = self._search
        index, ends = self._prepare(number)
        drawn = np.sort(random.integers(self.totals[number], size=n))
        at = np.searchsorted(ends, drawn, side="right")
        offsets = drawn - np.where(at > 0, ends[at - 1], 0)
        queries = self._queries[at]

        def answer(part: slice) -> Pairs:
            return _look_at(search, index, queries[part], offsets[part])

        return [pairs for _, pairs in search.answer_in_parts(answer, index, n)]

    def _prepare(self, number: int) -> tuple[Index, NDArray[np.int64]]:
        """Build the buckets of a signature, and count the places up to the end of each query's windows."""
        if number in self._kept:
            return self._kept[number]
        search = self._search
        self._kept = self._kept if search.fits_in_one else {}
        index = search.index_of(number)
        ends = np.empty(len(self._queries), np.int64)

        def answer(part: slice) -> NDArray[np.int64]:
            return _count_places(search, index, self._queries[part])

        for part, counts in search.answer_in_parts(answer, index, len(self._queries)):
            ends[part] = counts
        np.cumsum(ends, out=ends)
        self._kept[number] = index, ends
        return index, ends


def _add_different(known: Pairs, found: list[Pairs], random: np.random.Generator) -> Pairs:
    """Add what was found, in random order, behind what is known; of equal pairs only the first stays."""
    left = np.concatenate([one for one, _ in found])
    right = np.concatenate([other for _, other in found])
    order = random.permutation(len(left))
    left, right = np.concatenate([known[0], left[order]]), np.concatenate([known[1], right[order]])
    _, first = np.unique((left.astype(np.int64) << 32) | right, return_index=True)
    first.sort()
    return left[first], right[first]


def _cut_windows(search: PairSearch, index: Index, queries: Any) -> Windows:
    """Find the windows of some (ascending) queries; within one table, only what comes after each query."""
    windows = find_windows(search.packed.nodes, index, search.rule, queries, only_after=search.packed.is_within)
    _cut_spans(index.order, windows.window, windows.spans, windows.starts)
    return windows


@compiled
def _cut_spans(order: Any, window: Any, spans: Any, starts: Any) -> None:
    """End each span with its window: so far it goes to the end of its run."""
    for q in range(len(window)):
        for s in range(starts[q], starts[q + 1]):
            spans[s, 1] = spans[s, 0] + np.searchsorted(order[spans[s, 0] : spans[s, 1]], window[q, 1], side="right")


def _count_places(search: PairSearch, index: Index, queries: Any) -> NDArray[np.int64]:
    """Count the places in the windows of each query."""
    windows = _cut_windows(search, index, queries)
    so_far = np.concatenate([[0], np.cumsum(windows.spans[:, 1] - windows.spans[:, 0])])
    return so_far[windows.starts[1:]] - so_far[windows.starts[:-1]]


def _look_at(search: PairSearch, index: Index, drawn: Any, offsets: Any) -> Pairs:
    """Test what stands at a place in the windows of each drawn (ascending) query; give the pairs there by name."""
    nodes = search.packed.nodes
    queries, of_draw = np.unique(drawn, return_inverse=True)
    window, spans, starts = _cut_windows(search, index, queries)
    ends = np.cumsum(spans[:, 1] - spans[:, 0])
    before = np.concatenate([[0], ends])[starts[of_draw]]
    at = np.searchsorted(ends, before + offsets, side="right")
    place = spans[at, 1] - (ends[at] - before - offsets)
    draws = np.arange(len(drawn))
    aimed = np.column_stack([place, place + 1, spans[at, 2], draws]).astype(np.int32)  # spans of one place each
    asked = Asked(nodes.words, drawn, NO_FLOORS)
    tests = prepare_tests(nodes, index, search.rule)
    counts, other = test_spans(tests, asked, window[of_draw], aimed, make_room(len(drawn) + 1), NAMES)
    one = (nodes.words[drawn[counts > 0], 0] & LOW).astype(np.int32)
    return (np.minimum(one, other), np.maximum(one, other)) if search.packed.is_within else (one, other)
