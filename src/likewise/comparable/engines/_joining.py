"""The search itself: one compiled loop over nodes, the runs they may have partners in, and the nodes there.

The innermost loop has no branch that cannot be foretold, and few enough numbers to stay in registers: this is where
the time goes. What is left is tested by all the rest. Indices are unsigned: others are tested for counting from the
end.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled, compiled_part
from likewise.comparable.engines._buckets import Buckets
from likewise.comparable.engines._columns import Rows
from likewise.comparable.engines._packing import HALF, PackedRows, Words
from likewise.comparable.engines._plan import Signature

ZERO, ONE, TWO, FOUR = (np.uint64(number) for number in (0, 1, 2, 4))
LOW = np.uint64(0xFFFFFFFF)
PAIRS_OF_BITS = np.uint64(0x5555555555555555)
FOURS_OF_BITS = np.uint64(0x3333333333333333)
BYTES_OF_BITS = np.uint64(0x0F0F0F0F0F0F0F0F)
BYTES = np.uint64(0x0101010101010101)
TOP_BYTE = np.uint64(56)

FEW: Final = 16  # nodes in a run: all are tested, which takes less than to find those in a window

# what is asked of each node
PARTNERS: Final = 0
HIGHER: Final = 1  # partners of higher rows
WINDOWS: Final = 2  # how many nodes there are to test
AIMED: Final = 3  # the one at a place among these, if it is a partner


class Asked(NamedTuple):
    """Which nodes are asked for partners, by their places in ascending order, and what of them."""

    places: Rows
    what: int = PARTNERS
    only_after: bool = False
    offsets: NDArray[np.int64] = np.empty(0, np.int64)


class Tests(NamedTuple):
    """What two nodes of a bucket are tested by."""

    numbers: NDArray[np.uint64]  # of the first word of each kind, and whether combinations and blocks are to differ
    guards: tuple[Words, Words, Words, Words, Words]  # of discrete, near and sensitive words; with the fills of two
    kept: Words
    apart: Words
    max_changes: int


def prepare_tests(packed: PackedRows, signature: Signature, max_changes: int, *, must_differ: bool) -> Tests:
    """Put together what the nodes of a signature's buckets are tested by."""
    discrete, near, sensitive = packed.discrete, packed.near, packed.sensitive
    near_at = 1 + len(discrete.guard) if len(near.guard) else 0
    first = (int(words[0]) if len(words) else 0 for words in (discrete.guard, discrete.fill, near.guard))
    few = ~ZERO if max_changes <= 1 else ZERO  # one change at most then shows in the first word
    numbers = [int(len(discrete.guard) > 0), near_at, near_at + len(near.guard), *first, few, not must_differ]
    return Tests(
        np.array(numbers, np.uint64),
        (discrete.guard, discrete.fill, near.guard, sensitive.guard, sensitive.fill),
        signature.kept,
        signature.apart,
        max_changes,
    )


@compiled_part
def count_ones(word: Any) -> Any:
    """Count the bits set in a word; LLVM knows this formula and makes one instruction of it."""
    word = word - ((word >> ONE) & PAIRS_OF_BITS)
    word = (word & FOURS_OF_BITS) + ((word >> TWO) & FOURS_OF_BITS)
    word = (word + (word >> FOUR)) & BYTES_OF_BITS
    return np.int64((word * BYTES) >> TOP_BYTE)


@compiled_part
def _leap(order: Any, at: Any, end: Any, node: Any) -> Any:
    """Return the first of some places that has no lower node, in ever longer leaps and then in shorter ones."""
    step = 1
    while at + step < end and order[np.uint64(at + step)] < node:
        at += step
        step *= 2
    end = min(end, at + step)
    while at < end:
        middle = (at + end) >> 1
        if order[np.uint64(middle)] < node:
            at = middle + 1
        else:
            end = middle
    return at


@compiled_part
def _are_comparable(words: Any, node: Any, other: Any, tests: Any) -> Any:
    """Test two nodes of a bucket by all conditions but those of the sweep column and the first near word."""
    _, (guard, fill, near_guard, far_guard, far_fill), kept, apart, max_changes = tests
    n_discrete, n_near = len(guard), len(near_guard)
    n_changes, passes = 0, True
    for k in range(n_discrete):
        differing = words[node, 1 + k] ^ words[other, 1 + k]
        passes &= differing & kept[k] == ZERO
        n_changes += count_ones((differing + fill[k]) & guard[k])
    passes &= n_changes <= max_changes
    for block in range(len(apart)):
        differing = ZERO
        for k in range(n_discrete):
            differing |= (words[node, 1 + k] ^ words[other, 1 + k]) & apart[block, k]
        passes &= differing != ZERO
    for k in range(1, n_near):
        rank, low, bits = 1 + n_discrete + k, 1 + n_discrete + n_near + k, near_guard[k]
        within = ((words[other, rank] | bits) - words[node, low]) & ((words[node, rank] | bits) - words[other, low])
        passes &= within & bits == bits
    for k in range(len(far_guard)):
        at = 1 + n_discrete + 2 * n_near + k
        passes &= ((words[node, at] ^ words[other, at]) + far_fill[k]) & far_guard[k] == far_guard[k]
    return passes


@compiled_part
def _sift(
    words: Any, order: Any, node: Any, at: Any, to: Any, first: Any, last: Any, numbers: Any, seconds: Any, n: Any
) -> Any:
    """Write those of some places, whose nodes are in a window, that pass the first test; return how many there are."""
    discrete_at, near_at, low_at, guard, fill, near_guard, few, may_be_alike = numbers
    head, own, near, low = words[node, 0], words[node, discrete_at], words[node, near_at], words[node, low_at]
    near |= near_guard
    for place in range(np.uint64(at), np.uint64(to)):
        that = np.uint64(order[place])
        bits = ((words[that, discrete_at] ^ own) + fill) & guard
        within = ((words[that, near_at] | near_guard) - low) & (near - words[that, low_at])
        passes = (bits & (bits - ONE) & few == ZERO) & (within & near_guard == near_guard)
        passes &= ((words[that, 0] ^ head) >> HALF != ZERO) | (may_be_alike != ZERO)
        passes &= that - np.uint64(first) <= np.uint64(last - first)  # unsigned: lower ones are far above
        seconds[n] = place
        n += np.uint64(passes)
    return n


@compiled
def join(nodes: Any, buckets: Any, asked: Any, tests: Any, room: Any) -> tuple[Any, Any, Any]:
    """Find the partners of the nodes at some places, as far as there is room for.

    Returns how many of the nodes have any, how many partners there are in all, and where to go on. The former, as
    their position among the places, and how many partners each has are written to ``room``, and so are the places of
    all partners, one node's after the other.
    """
    (words, window), (order, run_start, combination, begin, end) = nodes, buckets
    places, start, stop, offsets, what, only_after = asked
    firsts, counts, seconds, lows, highs = room
    n_firsts, n_found, run, last_run, last_begun = 0, np.uint64(0), 0, len(run_start) - 1, -1
    while last_run - run > 1:  # to the run of the first place
        middle = (run + last_run) >> 1
        if run_start[middle] <= places[start]:
            run = middle
        else:
            last_run = middle
    for k in range(start, stop):
        here = places[k]
        while run_start[run + 1] <= here:
            run += 1
        if run != last_begun:
            for other in range(begin[run], end[run]):
                lows[other - begin[run]] = highs[other - begin[run]] = run_start[other]
            last_begun = run
        node, n_before = np.uint64(order[here]), n_found
        first, last = window[node, 0], window[node, 1]
        head, offset = words[node, 0], offsets[k] if what == AIMED else 0
        for other in range(begin[run], end[run]):
            if combination[other] == -1 or combination[other] == np.int64(head >> HALF):
                continue
            number, stop_here = other - begin[run], np.int64(run_start[other + 1])
            at, to = np.int64(run_start[other]), stop_here
            if to - at > FEW or what >= WINDOWS:
                at = _leap(order, np.int64(lows[number]), stop_here, np.int64(first))
                to = _leap(order, max(at, np.int64(highs[number])), stop_here, np.int64(last) + 1)
                lows[number], highs[number] = at, to
            if only_after and other == run:
                at = here + 1
            if what >= WINDOWS:
                n_here = to - at
                if what == WINDOWS:
                    n_found += np.uint64(n_here)
                    continue
                if not 0 <= offset < n_here:
                    offset -= n_here
                    continue
                at, to, offset = at + offset, at + offset + 1, -1
            if n_found + np.uint64(to - at) > np.uint64(len(seconds)):
                return n_firsts, n_before, k
            n_sifted = _sift(words, order, node, at, to, first, last, tests[0], seconds, n_found)
            for s in range(n_found, n_sifted):
                that = np.uint64(order[np.uint64(seconds[s])])
                passes = _are_comparable(words, node, that, tests)
                passes &= what != HIGHER or words[that, 0] & LOW > head & LOW
                seconds[n_found] = seconds[s]
                n_found += np.uint64(passes)
        if n_found > n_before or what == WINDOWS:
            firsts[n_firsts], counts[n_firsts] = k, n_found - n_before
            n_firsts += 1
    return n_firsts, n_found, stop


class Joined(NamedTuple):
    """Partners that were found: positions of nodes among the places asked for, how many each has, and their places."""

    firsts: Rows
    counts: NDArray[np.int64]
    seconds: Rows
    stop: int  # where to go on


def find_partners(
    packed: PackedRows, buckets: Buckets, tests: Tests, asked: Asked, start: int, stop: int, room: Rows
) -> tuple[Joined, Rows]:
    """Find the partners of the nodes at some of the places asked for, at least of one; also return the room, or more.

    The partners stay in the room.
    """
    firsts, counts = np.empty(stop - start, np.int32), np.empty(stop - start, np.int64)
    nodes = packed.words, packed.window
    most_runs = int((buckets.end - buckets.begin).max(initial=0))
    lows, highs = np.empty((2, most_runs), np.int32)
    while True:
        where = asked.places, start, stop, asked.offsets, asked.what, asked.only_after
        rooms = firsts, counts, room, lows, highs
        n_firsts, n_found, reached = join(nodes, tuple(buckets)[:-1], where, tuple(tests), rooms)
        if reached > start or start == stop:
            found = room[: 0 if asked.what == WINDOWS else n_found]
            return Joined(firsts[:n_firsts], counts[:n_firsts], found, reached), room
        room = np.empty(2 * len(room), np.int32)
