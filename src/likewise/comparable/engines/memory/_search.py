"""The search itself, in passes over a batch of queries: windows, buckets, spans, tests.

The passes are separate kernels over plain arrays because that is what compiles to tight loops: taking a slice,
handing an array to a helper or replacing it by a longer one costs more in a hot loop than the test it is there for.
Where all pairs are gone through, one kernel calls them all: on many cores, each return to Python waits for its lock.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled, compiled_with_arrays
from likewise.comparable.engines._columns import mix
from likewise.comparable.engines.memory._index import Index
from likewise.comparable.engines.memory._packing import HALF, LOW, Nodes

ANY: Final = 0
ALL: Final = 1
NONE: Final = 2
SENSITIVE: Final = {"any": ANY, "all": ALL, "none": NONE}

# what those who are found are called by
NODES: Final = 0
NAMES: Final = 1  # rows
PLACES: Final = 2  # in the order of an index


class Rule(NamedTuple):
    """What the kernels see of the rule beyond what is packed into the nodes."""

    sensitive: int
    max_changes: int


ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
FOUR = np.uint64(4)
PAIRS_OF_BITS = np.uint64(0x5555555555555555)
FOURS_OF_BITS = np.uint64(0x3333333333333333)
BYTES_OF_BITS = np.uint64(0x0F0F0F0F0F0F0F0F)
BYTES = np.uint64(0x0101010101010101)
TOP_BYTE = np.uint64(56)
FEWEST_SPANS: Final = 1024  # that there is room for


@compiled
def count_ones(word: Any) -> Any:
    """Count the bits set in a word; LLVM knows this formula and makes one instruction of it."""
    word = word - ((word >> ONE) & PAIRS_OF_BITS)
    word = (word & FOURS_OF_BITS) + ((word >> TWO) & FOURS_OF_BITS)
    word = (word + (word >> FOUR)) & BYTES_OF_BITS
    return np.int64((word * BYTES) >> TOP_BYTE)


@compiled_with_arrays
def _find_buckets(
    words: Any, key: Any, kept: Any, bucket_of: Any, cell: Any, hashed: Any, runs: Any, is_own: Any, queries: Any
) -> tuple[Any, Any]:
    """Find the buckets that may hold partners of each query.

    Returns rows of (bucket, signature), query after query, and where each query's start.
    """
    (slots, slot_start), (order, run_start, first_run) = hashed, runs
    n_signatures, n_discrete = kept.shape
    reach = np.int64(len(cell) > 0)
    buckets = np.empty((len(queries) * n_signatures * (1 + 2 * reach), 2), np.int64)
    starts = np.zeros(len(queries) + 1, np.int64)
    n_buckets = 0
    for q in range(len(queries)):
        query = queries[q]
        own = np.int64(cell[query]) if reach else 0
        for signature in range(n_signatures):
            if is_own:
                buckets[n_buckets, 0], buckets[n_buckets, 1] = bucket_of[signature, query], signature
                n_buckets += bucket_of[signature, query] >= 0
                continue
            outside = mix(ZERO, np.uint64(key[query]))
            for k in range(n_discrete):
                outside = mix(outside, words[query, 1 + k] & kept[signature, k])
            first_slot, n_slots = slot_start[signature], slot_start[signature + 1] - slot_start[signature]
            for near in range(own - reach, own + reach + 1):
                slot = np.int64(mix(outside, np.uint64(near)) & np.uint64(n_slots - 1))
                while slots[first_slot + slot] >= 0:
                    bucket = slots[first_slot + slot]
                    other = order[run_start[first_run[bucket]]]
                    same = key[other] == key[query] and (reach == 0 or cell[other] == near)
                    for k in range(n_discrete):
                        same &= (words[other, 1 + k] ^ words[query, 1 + k]) & kept[signature, k] == ZERO
                    if same:
                        buckets[n_buckets, 0], buckets[n_buckets, 1] = bucket, signature
                        n_buckets += 1
                        break
                    slot = (slot + 1) & (n_slots - 1)
        starts[q + 1] = n_buckets
    return buckets[:n_buckets], starts


@compiled
def leap_ahead(order: Any, at: Any, end: Any, first: Any) -> Any:
    """Return the first place before the end that has no lower node; leaps are shorter again after one too far."""
    step = 1
    while at < end and order[at] < first:
        if at + step < end and order[at + step] < first:
            at += step
            step *= 2
        elif step == 1:
            at += 1
        else:
            step = max(step // 4, 1)
    return at


@compiled_with_arrays
def _find_spans(
    words: Any, combinations: Any, runs: Any, run_combination: Any, how: Any, queries: Any, windows: Any, places: Any
) -> tuple[Any, Any, Any]:
    """Find the nodes near each query in the sweep column, in the runs whose sensitive values differ as they must.

    Returns each query's window; rows of (start and end in the order, signature, query), query after query; and where
    each query's start.
    """
    (order, run_start, first_run), (buckets, bucket_start) = runs, places
    splits, sensitive, only_after = how
    n_columns = combinations.shape[1]
    window = np.empty((len(queries), 2), np.int32)
    for q in range(len(queries)):
        first = windows[queries[q], 0]
        window[q, 0] = max(first, queries[q] + 1) if only_after else first
        window[q, 1] = windows[queries[q], 1]
    n_runs = 0
    for bucket in buckets[:, 0]:
        n_runs += first_run[bucket + 1] - first_run[bucket]
    spans = np.empty((n_runs, 4), np.int32)
    starts = np.zeros(len(queries) + 1, np.int64)
    n_spans = 0
    for q in range(len(queries)):
        own = np.int64(words[queries[q], 0] >> HALF)
        for b in range(bucket_start[q], bucket_start[q + 1]):
            bucket, signature = buckets[b, 0], buckets[b, 1]
            for run in range(first_run[bucket], first_run[bucket + 1]):
                other = run_combination[run]
                if splits:
                    n_alike = np.int64(other == own) if sensitive == ANY else 0
                    if sensitive == ALL:
                        for k in range(n_columns):
                            n_alike += combinations[own, k] == combinations[other, k]
                    if n_alike:
                        continue
                end = run_start[run + 1]
                at = leap_ahead(order, run_start[run], end, window[q, 0])
                if at < end and order[at] <= window[q, 1]:
                    spans[n_spans, 0], spans[n_spans, 1] = at, end
                    spans[n_spans, 2], spans[n_spans, 3] = signature, q
                    n_spans += 1
        starts[q + 1] = n_spans
    return window, spans[:n_spans], starts


@compiled_with_arrays
def _sift_spans(
    asked: Any, laid: Any, firsts: Any, order: Any, window: Any, spans: Any, if_one: Any, if_any: Any, found: Any
) -> tuple[Any, Any]:
    """Test the nodes of spans by what tells most apart: how many are left in each, and their places in ``found``.

    No counts, if they fill it. The loop has no branch that cannot be foretold, and few enough numbers to stay in
    registers: this is where the time goes.
    """
    (words, rows, _), (placed, is_placed) = asked, laid
    discrete_at, near_at, low_at, guard_1, fill_1, near_guard_1 = firsts
    counts = np.zeros(len(spans), np.int64)
    n_found, n_most = np.uint64(0), np.uint64(len(found) - 1)  # unsigned: others are tested for counting from the end
    for s in range(len(spans)):
        q, n_before = spans[s, 3], n_found
        query, last = rows[q], window[q, 1]
        own, own_1 = words[query, 0] >> HALF, words[query, discrete_at]
        near_1, low_1 = words[query, near_at] | near_guard_1, words[query, low_at]
        for place in range(np.uint64(spans[s, 0]), np.uint64(spans[s, 1])):
            node = order[place]
            if node > last:
                break
            at = place if is_placed else np.uint64(node)
            bits = ((placed[at, discrete_at] ^ own_1) + fill_1) & guard_1
            kept = ((placed[at, near_at] | near_guard_1) - low_1) & (near_1 - placed[at, low_at])
            passes = (bits & (bits - ONE) & if_one == ZERO) & (kept & near_guard_1 == near_guard_1)
            passes &= (placed[at, 0] >> HALF) ^ own | if_any != ZERO
            found[n_found] = place
            n_found += np.uint64(passes)
            if n_found > n_most:
                return counts[:0], found[:0]
        counts[s] = n_found - n_before
    return counts, found[:n_found]


@compiled
def _test_sifted(asked: Any, laid: Any, how: Any, spans: Any, sifted: Any, called: Any) -> Any:
    """Test what is left of spans by all the rest; leave partners in place of places, and return how many there are."""
    (words, rows, floors), (placed, is_placed), (guards, combinations, places, rule) = asked, laid, how
    (guard, fill, near_guard) = guards
    (order, left_out, blocks, members, alone), (counts, found) = places, sifted
    n_discrete, n_near, n_left_out = len(guard), len(near_guard), left_out.shape[1]
    is_plain = n_left_out == 1 and n_discrete == 1 and rule.max_changes == 1
    n_seen, n_found = np.uint64(0), np.uint64(0)
    for s in range(len(spans)):
        signature, q, end, n_before = spans[s, 2], spans[s, 3], n_seen + np.uint64(counts[s]), n_found
        query, floor, block_1 = rows[q], floors[q] if len(floors) else -1, alone[signature]
        for seen in range(n_seen, end):
            place = np.uint64(found[seen])
            at = place if is_placed else np.uint64(order[place])
            head = placed[at, 0]
            passes = np.int64(head & LOW) > floor
            if not is_plain:
                n_changes = 0
                for k in range(1, 1 + n_discrete):
                    n_changes += count_ones(((placed[at, k] ^ words[query, k]) + fill[k - 1]) & guard[k - 1])
                passes &= n_changes <= rule.max_changes
            for k in range(1, n_near):
                one, low, bits = 1 + n_discrete + k, 1 + n_discrete + n_near + k, near_guard[k]
                kept = (placed[at, one] | bits) - words[query, low]
                passes &= kept & ((words[query, one] | bits) - placed[at, low]) & bits == bits
            if rule.sensitive == ALL:
                for k in range(combinations.shape[1]):
                    passes &= combinations[words[query, 0] >> HALF, k] != combinations[head >> HALF, k]
            # a pair is found under every signature that leaves out the blocks it differs in; it is taken under the one
            # of those blocks, filled up with the lowest others
            if is_plain:
                passes &= (members[signature] <= ONE) | ((placed[at, 1] ^ words[query, 1]) & block_1 != ZERO)
            elif passes:
                differing, n_alike = ZERO, 0
                for p in range(n_left_out):
                    block, differs = left_out[signature, p], False
                    for k in range(n_discrete):
                        differs |= (placed[at, 1 + k] ^ words[query, 1 + k]) & blocks[block, k] != ZERO
                    differing |= np.uint64(differs) << np.uint64(block)
                    n_alike += not differs
                for _ in range(n_alike):
                    differing |= differing + ONE
                passes = differing == members[signature]
            if called == PLACES:
                found[n_found] = place
            else:
                found[n_found] = np.int32(head & LOW) if called == NAMES else order[place]
            n_found += np.uint64(passes)
        n_seen, counts[s] = end, n_found - n_before
    return n_found


class Asked(NamedTuple):
    """Whose partners are sought: where their words are, and names that those of their partners lie above, if any."""

    words: NDArray[np.uint64]
    rows: NDArray[np.int32]  # of each query, among the words
    floors: NDArray[np.int64]


NO_FLOORS: Final = np.empty(0, np.int64)


class Windows(NamedTuple):
    """Where the partners of some (ascending) queries may be: nodes, spans."""

    window: NDArray[np.int32]  # first and last node
    spans: NDArray[np.int32]  # start and end in the order, signature and query; the end is that of the run
    starts: NDArray[np.int64]  # of each query's spans


def find_windows(nodes: Nodes, index: Index, rule: Rule, queries: Any, *, only_after: bool) -> Windows:
    """Find where the partners of each query may be; only those of higher number, if asked."""
    runs = index.order, index.run_start, index.first_run
    hashed = index.slots, index.slot_start
    buckets = _find_buckets(
        nodes.words, nodes.key, index.kept, index.bucket_of, index.cell, hashed, runs, index.is_own, queries
    )
    how = index.splits, rule.sensitive, only_after
    words, combinations = nodes.words, nodes.combinations
    return Windows(*_find_spans(words, combinations, runs, index.run_combination, how, queries, nodes.window, buckets))


class Tests(NamedTuple):
    """What those in spans are tested by."""

    laid: tuple[Any, bool]  # where the words of nodes are, and whether they lie by place
    firsts: tuple[Any, ...]  # where the first word of each kind is, and its guards and fill: most tables have no other
    guards: tuple[Any, Any, Any]
    if_one: np.uint64  # all ones, if one change at most shows in the first word: with more allowed, the others decide
    if_any: np.uint64
    combinations: NDArray[np.int32]
    places: tuple[Any, ...]
    rule: Rule


def prepare_tests(nodes: Nodes, index: Index, rule: Rule) -> Tests:
    """Put together what those in the buckets of an index are tested by."""
    n_discrete, n_near = len(nodes.guard), len(nodes.near.guard)
    near_at = (1 + n_discrete) * (n_near > 0)
    bits = (some[0] if len(some) else ZERO for some in (nodes.guard, nodes.fill, nodes.near.guard))
    return Tests(
        laid=(index.words, True) if len(index.words) else (nodes.words, False),
        firsts=(np.uint64(n_discrete > 0), np.uint64(near_at), np.uint64(near_at + n_near), *bits),
        guards=(nodes.guard, nodes.fill, nodes.near.guard),
        if_one=~ZERO if rule.max_changes <= 1 else ZERO,
        if_any=ZERO if rule.sensitive == ANY else ONE,
        combinations=nodes.combinations,
        places=(index.order, index.left_out, index.blocks, index.members, lone_blocks(nodes, index)),
        rule=rule,
    )


def lone_blocks(nodes: Nodes, index: Index) -> NDArray[np.uint64]:
    """Return, of each signature, the first word of the block that it leaves out alone; 0 where it leaves out more."""
    is_alone = index.left_out.shape[1] == 1 and len(nodes.guard) > 0
    return index.blocks[index.left_out[:, 0], 0] if is_alone else np.zeros(len(index.members), np.uint64)


@compiled_with_arrays
def test_spans(tests: Any, asked: Any, window: Any, spans: Any, found: Any, called: Any) -> tuple[Any, Any]:
    """Test all that is in spans: how many partners each has, and all of them, called by node, name or place.

    No counts, if the first test left more than there is room for. Partners are the front of that room.
    """
    order, laid = tests.places[0], tests.laid
    sifted = _sift_spans(asked, laid, tests.firsts, order, window, spans, tests.if_one, tests.if_any, found)
    tested = spans[: len(sifted[0])]
    how = tests.guards, tests.combinations, tests.places, tests.rule
    n_found = _test_sifted(asked, laid, how, tested, sifted, called)
    return sifted[0], sifted[1][:n_found]


class Room:
    """Where a thread writes what it finds: memory that is taken and given back for each part keeps others waiting."""

    def __init__(self, most_pairs: int) -> None:
        self.found, self.spans = make_room(most_pairs + 1), np.empty((FEWEST_SPANS, 4), np.int32)


@compiled_with_arrays
def make_room(n: Any) -> Any:
    """Return an array that is given no memory before it is written to; for NumPy's, large pages would be cleared."""
    return np.empty(n, np.int32)


def find_partners(
    nodes: Nodes,
    index: Index,
    rule: Rule,
    queries: Any,
    room: Room,
    *,
    only_above: bool = False,
    called: int = NODES,
) -> tuple[Any, Any] | None:
    """Find the partners of some (ascending) queries: how many each has, and all of them, called by node or name.

    Only those with higher names, if asked. The latter stay in the room. None, if there are more than that has room for,
    and more than one query to ask separately.
    """
    floors = (nodes.words[queries, 0] & LOW).astype(np.int64) if only_above else NO_FLOORS
    window, spans, starts = find_windows(nodes, index, rule, queries, only_after=False)
    if len(queries) <= 1:
        room = Room(len(nodes.key) * len(index.kept))  # as often may a partner pass the first test
    asked = Asked(nodes.words, queries, floors)
    counts, found = test_spans(prepare_tests(nodes, index, rule), asked, window, spans, room.found, called)
    if len(counts) < len(spans):
        return None
    return _sum_by_query(counts, starts), found


@compiled_with_arrays
def _sum_by_query(counts: Any, starts: Any) -> Any:
    """Add up the partners of each query's spans."""
    sums = np.zeros(len(starts) - 1, np.int64)
    for q in range(len(sums)):
        for s in range(starts[q], starts[q + 1]):
            sums[q] += counts[s]
    return sums


def reorder(order: Any, counts: Any, names: Any) -> tuple[Any, Any]:
    """Put answers into another order: the one at ``i`` goes to ``order[i]``."""
    counts_there, names_there = np.empty_like(counts), np.empty_like(names)
    counts_there[order] = counts
    _move((np.cumsum(counts_there) - counts_there)[order], counts, names, names_there)
    return counts_there, names_there


@compiled
def _move(to: Any, counts: Any, names: Any, names_there: Any) -> None:
    at = 0
    for i in range(len(to)):
        for k in range(counts[i]):
            names_there[to[i] + k] = names[at + k]
        at += counts[i]


@compiled
def tally_pairs(
    combination: Any, labels: Any, weights: Any, queries: Any, counts: Any, found: Any, is_ordered: Any, tally: Any
) -> None:
    """Add the pairs to ``tally``, by label and the two combinations, the smaller one first unless ``is_ordered``.

    Without weights, each node counts once.
    """
    k = 0
    for q in range(len(counts)):
        query = queries[q]
        own, label, weight = combination[query], labels[query], weights[query] if len(weights) else 1
        for _ in range(counts[q]):
            other = combination[np.uint32(found[k])]
            one, two = (other, own) if not is_ordered and other < own else (own, other)
            tally[label, one, two] += weight * weights[found[k]] if len(weights) else 1
            k += 1
