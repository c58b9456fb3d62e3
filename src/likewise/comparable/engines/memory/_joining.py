"""All pairs within one table, bucket by bucket: what queries would look up again and again is found once a bucket.

The nodes of a run come in the order of the sweep column, so those near the nodes of one run in another are found by
going along both at a time.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled, compiled_with_arrays
from likewise._threads import share_work
from likewise.comparable.engines._columns import mix
from likewise.comparable.engines.memory._index import Index
from likewise.comparable.engines.memory._packing import LOW, Nodes
from likewise.comparable.engines.memory._search import (
    ALL,
    ANY,
    NAMES,
    NO_FLOORS,
    PLACES,
    ZERO,
    Asked,
    Room,
    Tests,
    leap_ahead,
    test_spans,
)

AT_ONCE: Final = 512  # buckets whose neighbours a thread looks up
FEWEST_WEIGHED: Final = 1 << 18  # places: fewer are gone through before it matters which thread has most to do
LONG: Final = 8  # places in a run, on average: of shorter ones all take about as long
STEPS: Final = 4  # of a place, on average


Pairs = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]


class Joined(NamedTuple):
    """An index of one table, and what the nodes of each bucket are joined with besides each other."""

    buckets: Index
    beyond: NDArray[np.int32]  # (n_buckets, 0 or 1): the bucket of the next cell, -1 for none
    steps: NDArray[np.int64]  # before each run, and in all; of places of one run all the same

    @property
    def n_steps(self) -> int:
        """How much work there is: one step or more a place, more where there are many to compare with."""
        return int(self.steps[-1])

    @property
    def grain(self) -> int:
        """Count the steps of a place on average."""
        return max(round(self.n_steps / max(len(self.buckets.order), 1)), 1)

    def places(self, part: slice) -> slice:
        """Return the places whose first steps are among some."""
        return slice(self._place_at(part.start), self._place_at(part.stop))

    def _place_at(self, step: int) -> int:
        if step == self.n_steps:
            return len(self.buckets.order)
        run = bisect_right(self.steps, step) - 1  # NumPy would let go of Python's lock, and wait for it
        (place, stop), (before, end) = (
            self.buckets.run_start[run : run + 2].tolist(),
            self.steps[run : run + 2].tolist(),
        )
        return int(place - (before - step) * (stop - place) // (end - before))


def join_buckets(nodes: Nodes, index: Index) -> Joined:
    """Find the neighbours of each bucket; every two neighbours are found once."""
    n_buckets = len(index.first_run) - 1
    beyond = np.empty((n_buckets, int(len(index.cell) > 0)), np.int32)
    if beyond.size:
        hashed = index.slots, index.slot_start
        runs = index.order, index.run_start, index.first_run
        where = nodes.words, nodes.key, index.kept, index.cell, hashed, runs, index.first_bucket
        share_work(lambda first: _find_beyond(*where, first, beyond), range(0, n_buckets, AT_ONCE))
    return Joined(index, beyond, _count_steps(index, beyond))


def _count_steps(index: Index, beyond: NDArray[np.int32]) -> NDArray[np.int64]:
    """Count the steps before each run, and all: more of them where there are many to compare with, if runs are long."""
    n_places, n_runs = len(index.order), len(index.run_start) - 1
    if n_places < max(FEWEST_WEIGHED, LONG * n_runs):
        return index.run_start
    sizes, n_others = np.diff(index.run_start), np.empty(n_runs, np.int64)
    _count_others(index.run_start, index.first_run, beyond, index.splits, n_others)
    weights = 1 + n_others * (STEPS - 1) * n_places // max(int((n_others * sizes).sum()), 1)
    return np.concatenate([[0], np.cumsum(weights * sizes)])


@compiled
def _count_others(run_start: Any, first_run: Any, beyond: Any, splits: Any, n_others: Any) -> None:
    """Count whom the places of each run are compared with, as if all were within their windows."""
    for bucket in range(len(first_run) - 1):
        end = run_start[first_run[bucket + 1]]
        n_beyond = 0
        for there in beyond[bucket]:
            if there >= 0:
                n_beyond += run_start[first_run[there + 1]] - run_start[first_run[there]]
        for run in range(first_run[bucket], first_run[bucket + 1]):
            n_own = 0 if splits else (run_start[run + 1] - run_start[run]) // 2
            n_others[run] = end - run_start[run + 1] + n_own + n_beyond


@compiled
def _find_beyond(
    words: Any, key: Any, kept: Any, cell: Any, hashed: Any, runs: Any, first_bucket: Any, first: Any, beyond: Any
) -> None:
    """Look up, for some buckets, that of the next cell."""
    (slots, slot_start), (order, run_start, first_run) = hashed, runs
    n_discrete = kept.shape[1]
    for signature in range(len(first_bucket) - 1):
        first_slot, n_slots = slot_start[signature], slot_start[signature + 1] - slot_start[signature]
        stop = min(first_bucket[signature + 1], first + AT_ONCE)
        for bucket in range(max(first_bucket[signature], first), stop):
            node = order[run_start[first_run[bucket]]]
            outside = mix(ZERO, np.uint64(key[node]))
            for k in range(n_discrete):
                outside = mix(outside, words[node, 1 + k] & kept[signature, k])
            beyond[bucket, 0] = -1
            next_cell = cell[node] + 1
            slot = np.int64(mix(outside, np.uint64(next_cell)) & np.uint64(n_slots - 1))
            while slots[first_slot + slot] >= 0:
                there = slots[first_slot + slot]
                other = order[run_start[first_run[there]]]
                same = key[other] == key[node] and cell[other] == next_cell
                for k in range(n_discrete):
                    same &= (words[other, 1 + k] ^ words[node, 1 + k]) & kept[signature, k] == ZERO
                if same:
                    beyond[bucket, 0] = there
                    break
                slot = (slot + 1) & (n_slots - 1)


def find_pairs(
    nodes: Nodes, joined: Joined, tests: Tests, part: slice, most_spans: int, room: Room, *, called: int
) -> Pairs | None:
    """Find the pairs of the nodes at some places of the order with those at later ones or in neighbouring cells.

    Returns first ones, how many second ones each has, and all of these, called by node, name or place; a node may be
    the first one several times. The latter stay in the room. None, if there may be more spans than ``most_spans`` or
    are more pairs than there is room for, and more than one place to ask for.
    """
    index = joined.buckets
    runs = index.run_start, index.run_combination, index.first_run, index.first_bucket, joined.beyond
    if part.stop - part.start <= 1:
        most_spans, room = len(index.run_start), Room(len(nodes.key))
    asked = part.start, part.stop, most_spans
    is_all, room.spans, pairs = _find(
        tests, nodes.words, nodes.window, runs, index.splits, asked, room.spans, room.found, called
    )
    return pairs if is_all else None


@compiled_with_arrays
def _find(
    tests: Any, words: Any, windows: Any, runs: Any, splits: Any, asked: Any, room: Any, found: Any, called: Any
) -> tuple[Any, Any, Any]:
    """Return whether all pairs of some places were found, the room for spans, and these pairs."""
    start, stop, most_spans = asked
    (placed, is_placed), there = tests.laid, tests.places[0][start:stop]
    n_spans, window, room = _join_runs(tests, runs, start, there, windows, splits, most_spans, room)
    spans = room[: max(n_spans, 0)]
    rows = np.arange(start, stop).astype(np.int32) if is_placed else there
    counts, seconds = test_spans(tests, Asked(placed, rows, NO_FLOORS), window, spans, found, called)
    is_all = n_spans >= 0 and len(counts) == len(spans)
    return is_all, room, (*_take_firsts(words, there, spans, counts, start, called), seconds)


@compiled_with_arrays
def _take_firsts(
    words: Any, nodes_there: Any, spans: Any, counts: Any, first_place: Any, called: Any
) -> tuple[Any, Any]:
    """Return the first ones of spans in which any were found, and how many in each."""
    firsts, n_seconds, n = np.empty(len(counts), np.int32), np.empty(len(counts), np.int64), 0
    for s in range(len(counts)):
        if counts[s]:
            node = nodes_there[spans[s, 3]]
            firsts[n] = node
            if called == PLACES:
                firsts[n] = first_place + spans[s, 3]
            elif called == NAMES:
                firsts[n] = words[node, 0] & LOW
            n_seconds[n] = counts[s]
            n += 1
    return firsts[:n], n_seconds[:n]


@compiled_with_arrays
def pair_names(firsts: Any, counts: Any, seconds: Any) -> tuple[Any, Any]:
    """Return the pairs of first names and second ones, the smaller on the left."""
    left, right = np.empty_like(seconds), np.empty_like(seconds)
    at = 0
    for place in range(len(firsts)):
        own = firsts[place]
        for k in range(at, at + counts[place]):
            left[k], right[k] = min(own, seconds[k]), max(own, seconds[k])
        at += counts[place]
    return left, right


@compiled
def _last_up_to(starts: Any, place: Any) -> Any:
    """Return the last of ascending starts that is not beyond a place."""
    low, high = 0, len(starts)
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= place:
            low = middle
        else:
            high = middle
    return low


@compiled_with_arrays
def _join_runs(
    tests: Any, runs: Any, first_place: Any, nodes_there: Any, windows: Any, splits: Any, most: Any, spans: Any
) -> tuple[Any, Any, Any]:
    """Go through the runs of a part of the order and, for each, through those its nodes may have partners in.

    Returns how many spans there are, or -1 for more than ``most``, each node's window, and the spans in the room given,
    or in more: rows of (start and end in the order, signature, place in the part), as for queries.
    """
    run_start, run_combination, first_run, first_bucket, beyond = runs
    combinations, order, rule = tests.combinations, tests.places[0], tests.rule
    end_place = first_place + len(nodes_there)
    run = _last_up_to(run_start, first_place)
    bucket = _last_up_to(first_run, run)
    signature = _last_up_to(first_bucket, bucket)
    window = np.empty((len(nodes_there), 2), np.int32)
    for q in range(len(nodes_there)):
        window[q, 0], window[q, 1] = windows[nodes_there[q], 0], windows[nodes_there[q], 1]
    n_spans = 0
    while run < len(run_start) - 1 and run_start[run] < end_place:
        while first_run[bucket + 1] <= run:
            bucket += 1
        while first_bucket[signature + 1] <= bucket:
            signature += 1
        start, end = max(run_start[run], first_place), min(run_start[run + 1], end_place)
        for number in range(-1, beyond.shape[1]):
            there = bucket if number < 0 else np.int64(beyond[bucket, number])
            if there < 0:
                continue
            for other in range(run + np.int64(splits) if number < 0 else first_run[there], first_run[there + 1]):
                if splits:
                    one, two = run_combination[run], run_combination[other]
                    n_alike = np.int64(one == two) if rule.sensitive == ANY else 0
                    if rule.sensitive == ALL:
                        for k in range(combinations.shape[1]):
                            n_alike += combinations[one, k] == combinations[two, k]
                    if n_alike:
                        continue
                if n_spans + end - start > most:
                    return -1, window, spans
                if n_spans + end - start > len(spans):
                    longer = np.empty((2 * (n_spans + end - start), 4), np.int32)
                    for s in range(n_spans):  # an assignment of slices takes seconds to compile
                        for k in range(4):
                            longer[s, k] = spans[s, k]
                    spans = longer
                at, stop = run_start[other], run_start[other + 1]
                for here in range(start, end):
                    q = here - first_place
                    at = leap_ahead(order, here + 1 if other == run else at, stop, window[q, 0])
                    if at == stop:
                        break
                    spans[n_spans, 0], spans[n_spans, 1] = at, stop
                    spans[n_spans, 2], spans[n_spans, 3] = signature, q
                    n_spans += order[at] <= window[q, 1]
        run += 1
    return n_spans, window, spans
