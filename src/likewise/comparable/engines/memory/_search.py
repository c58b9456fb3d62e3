"""The search itself, in three passes over a batch of queries: windows, buckets, tests.

The passes are separate functions over plain arrays because that is what compiles to tight loops: taking a slice,
handing an array to a helper or replacing it by a longer one costs more in a hot loop than the test it is there for.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from likewise._compiling import compiled
from likewise.comparable.engines._columns import mix
from likewise.comparable.engines.memory._buckets import hash_cells

ANY: Final = 0
ALL: Final = 1
NONE: Final = 2
SENSITIVE: Final = {"any": ANY, "all": ALL, "none": NONE}


class Rule(NamedTuple):
    """What the kernels see of the rule beyond what is packed into the nodes."""

    sensitive: int
    max_changes: int


HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
FOUR = np.uint64(4)
PAIRS_OF_BITS = np.uint64(0x5555555555555555)
FOURS_OF_BITS = np.uint64(0x3333333333333333)
BYTES_OF_BITS = np.uint64(0x0F0F0F0F0F0F0F0F)
BYTES = np.uint64(0x0101010101010101)
TOP_BYTE = np.uint64(56)
MOST_RUNS_A_QUERY = 1024


@compiled
def count_ones(word: Any) -> Any:
    """Count the bits set in a word; LLVM knows this formula and makes one instruction of it."""
    word = word - ((word >> ONE) & PAIRS_OF_BITS)
    word = (word & FOURS_OF_BITS) + ((word >> TWO) & FOURS_OF_BITS)
    word = (word + (word >> FOUR)) & BYTES_OF_BITS
    return np.int64((word * BYTES) >> TOP_BYTE)


@compiled
def find_windows(nodes: Any, queries: Any) -> tuple[Any, Any, Any]:
    """Find, for each query, the comparable ranks of every near column.

    Returns words of the lowest and of the highest ranks, the latter with the guards set, and the first and last node
    that is near in the sweep column.
    """
    words, sweep, guard = nodes.words, nodes.sweep, nodes.near.guard
    near_word, near_shift, near_mask = nodes.near.word, nodes.near.shift, nodes.near.mask
    near_start, near_lowest, near_highest = nodes.near.start, nodes.near.lowest, nodes.near.highest
    first_word = 1 + len(nodes.guard)
    low = np.zeros((len(queries), len(guard)), np.uint64)
    high = np.zeros((len(queries), len(guard)), np.uint64)
    window = np.empty((len(queries), 2), np.int32)
    for q in range(len(queries)):
        window[q, 0], window[q, 1] = 0, len(words) - 1
        for k in range(len(guard)):
            high[q, k] = guard[k]
        for k in range(len(near_word)):
            rank = np.int64((words[queries[q], near_word[k]] >> near_shift[k]) & near_mask[k])
            lowest, highest = near_lowest[near_start[k] + rank], near_highest[near_start[k] + rank]
            low[q, near_word[k] - first_word] |= np.uint64(lowest) << near_shift[k]
            high[q, near_word[k] - first_word] |= np.uint64(highest) << near_shift[k]
            if k == 0:
                window[q, 0], window[q, 1] = sweep[lowest], sweep[highest + 1] - 1
    return low, high, window


@compiled
def find_buckets(nodes: Any, index: Any, queries: Any) -> tuple[Any, Any]:
    """Find the buckets that may hold partners of each query.

    Returns rows of (bucket, signature), query after query, and where each query's start.
    """
    words, key, kept, bucket_of = nodes.words, nodes.key, index.kept, index.bucket_of
    cell_1, cell_2, slots, slot_start = index.first_cell, index.second_cell, index.slots, index.slot_start
    order, run_start, first_run = index.order, index.run_start, index.first_run
    n_signatures, n_discrete = kept.shape
    reach_1, reach_2 = np.int64(len(cell_1) > 0), np.int64(len(cell_2) > 0)
    buckets = np.empty((len(queries) * n_signatures * (1 + 2 * reach_1) * (1 + 2 * reach_2), 2), np.int64)
    starts = np.zeros(len(queries) + 1, np.int64)
    n_buckets = 0
    for q in range(len(queries)):
        query = queries[q]
        own_1 = np.int64(cell_1[query]) if reach_1 else 0
        own_2 = np.int64(cell_2[query]) if reach_2 else 0
        for signature in range(n_signatures):
            if index.is_own:
                buckets[n_buckets, 0], buckets[n_buckets, 1] = bucket_of[signature, query], signature
                n_buckets += bucket_of[signature, query] >= 0
                continue
            outside = mix(ZERO, np.uint64(key[query]))
            for k in range(n_discrete):
                outside = mix(outside, words[query, 1 + k] & kept[signature, k])
            first_slot, n_slots = slot_start[signature], slot_start[signature + 1] - slot_start[signature]
            for c1 in range(own_1 - reach_1, own_1 + reach_1 + 1):
                for c2 in range(own_2 - reach_2, own_2 + reach_2 + 1):
                    slot = np.int64(hash_cells(outside, c1, c2) & np.uint64(n_slots - 1))
                    while slots[first_slot + slot] >= 0:
                        bucket = slots[first_slot + slot]
                        other = order[run_start[first_run[bucket]]]
                        same = (
                            key[other] == key[query]
                            and (reach_1 == 0 or cell_1[other] == c1)
                            and (reach_2 == 0 or cell_2[other] == c2)
                        )
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
def find_spans(
    nodes: Any, index: Any, rule: Any, queries: Any, window: Any, buckets: Any, bucket_start: Any
) -> tuple[Any, Any]:
    """Find the nodes near each query in the sweep column, in the runs whose sensitive values differ as they must.

    Queries have to come in ascending order. Returns rows of (start and end in the order, signature), query after
    query, and where each query's start.
    """
    words, combinations = nodes.words, nodes.combinations
    order, run_start, run_combination, first_run = index.order, index.run_start, index.run_combination, index.first_run
    n_columns = combinations.shape[1]
    # queries come in ascending order, so a run's window only ever moves on; for few of them, noting how far it did
    # would cost more than searching again
    moves_on = index.is_noted and len(run_start) <= MOST_RUNS_A_QUERY * len(queries)
    reached = run_start[:-1].copy() if moves_on else run_start
    n_runs = 0
    for bucket in buckets[:, 0]:
        n_runs += first_run[bucket + 1] - first_run[bucket]
    spans = np.empty((n_runs, 3), np.int64)
    starts = np.zeros(len(queries) + 1, np.int64)
    n_spans = 0
    for q in range(len(queries)):
        own = np.int64(words[queries[q], 0] >> HALF)
        for b in range(bucket_start[q], bucket_start[q + 1]):
            bucket, signature = buckets[b, 0], buckets[b, 1]
            for run in range(first_run[bucket], first_run[bucket + 1]):
                other = run_combination[run]
                if index.splits:
                    n_alike = np.int64(other == own) if rule.sensitive == ANY else 0
                    if rule.sensitive == ALL:
                        for k in range(n_columns):
                            n_alike += combinations[own, k] == combinations[other, k]
                    if n_alike:
                        continue
                at, end, step = reached[run], run_start[run + 1], 1
                while at < end and order[at] < window[q, 0]:  # leap ahead, shorter again after leaping too far
                    if at + step < end and order[at + step] < window[q, 0]:
                        at += step
                        step *= 2
                    elif step == 1:
                        at += 1
                    else:
                        step = max(step // 4, 1)
                if moves_on:
                    reached[run] = at
                if at < end and order[at] <= window[q, 1]:
                    spans[n_spans, 0], spans[n_spans, 1], spans[n_spans, 2] = at, end, signature
                    n_spans += 1
        starts[q + 1] = n_spans
    return spans, starts


@compiled
def test_nodes(
    nodes: Any, index: Any, rule: Any, queries: Any, floors: Any, windows: Any, found_at: Any, most: Any
) -> tuple[Any, Any]:
    """Test the nodes of each query's spans.

    Returns how many partners each query has, and all of them; gives up, with no counts, at more than ``most``.
    """
    words, fill, guard, near_guard = nodes.words, nodes.fill, nodes.guard, nodes.near.guard
    order, left_out, blocks, members = index.order, index.left_out, index.blocks, index.members
    combinations, n_discrete, n_near = nodes.combinations, len(guard), len(near_guard)
    (low, high, window), (spans, starts) = windows, found_at
    differs_in_any, max_changes = rule.sensitive == ANY, rule.max_changes
    counts = np.zeros(len(queries), np.int64)
    found = np.empty(most, np.int32)  # most of it never touched, and so never given any memory
    n_found = 0
    for q in range(len(queries)):
        query, floor, n_before = queries[q], floors[q], n_found
        own = words[query, 0] >> HALF
        for s in range(starts[q], starts[q + 1]):
            signature = spans[s, 2]
            for place in range(spans[s, 0], spans[s, 1]):
                node = order[place]
                if node > window[q, 1]:
                    break
                # no branch before the last condition: one that cannot be foretold costs more than they all do
                head = words[node, 0]
                passes = (np.int64(head & LOW) > floor) & ((not differs_in_any) | (head >> HALF != own))
                n_changes = 0
                for k in range(1, 1 + n_discrete):
                    n_changes += count_ones(((words[node, k] ^ words[query, k]) + fill[k - 1]) & guard[k - 1])
                passes &= n_changes <= max_changes
                for k in range(n_near):
                    word = words[node, 1 + n_discrete + k]
                    inside = ((word | near_guard[k]) - low[q, k]) & (high[q, k] - word) & near_guard[k]
                    passes &= inside == near_guard[k]
                if not passes:
                    continue
                if rule.sensitive == ALL:
                    for k in range(combinations.shape[1]):
                        passes &= combinations[own, k] != combinations[head >> HALF, k]
                # a pair is found under every signature that leaves out the blocks it differs in; it is taken under
                # the one of those blocks, filled up with the lowest others
                differing, n_alike = ZERO, 0
                for p in range(left_out.shape[1]):
                    block, differs = left_out[signature, p], False
                    for k in range(n_discrete):
                        differs |= (words[node, 1 + k] ^ words[query, 1 + k]) & blocks[block, k] != ZERO
                    differing |= np.uint64(differs) << np.uint64(block)
                    n_alike += not differs
                for _ in range(n_alike):
                    differing |= differing + ONE
                if passes and differing == members[signature]:
                    if n_found == most:
                        return counts[:0], found[:0]
                    found[n_found] = node
                    n_found += 1
        counts[q] = n_found - n_before
    return counts, found[:n_found].copy()


@compiled
def list_partners(nodes: Any, index: Any, rule: Any, queries: Any, only_above: Any, most: Any) -> tuple[Any, Any]:
    """List the names of each query's partners in ascending order.

    Queries have to come in ascending order. With ``only_above``, only names above the query's own count. Returns how
    many partners each query has, and all their names; nothing, if there are more than ``most`` and more than one
    query to ask separately.
    """
    words = nodes.words
    floors = np.full(len(queries), -1, np.int64)
    if only_above:
        for q in range(len(queries)):
            floors[q] = np.int64(words[queries[q], 0] & LOW)
    windows = find_windows(nodes, queries)
    spans = find_spans(nodes, index, rule, queries, windows[2], *find_buckets(nodes, index, queries))
    most = most if len(queries) > 1 else len(nodes.key)
    counts, found = test_nodes(nodes, index, rule, queries, floors, windows, spans, most)
    for k in range(len(found)):
        found[k] = np.int32(words[found[k], 0] & LOW)
    start = 0
    for n in counts:
        if n > 1:
            found[start : start + n].sort()
        start += n
    return counts, found


@compiled
def list_pairs(nodes: Any, index: Any, rule: Any, queries: Any, most: Any) -> tuple[Any, Any, Any]:
    """List the pairs of each query with later nodes, by name, the smaller name on the left; in no order.

    Queries have to come in ascending order. Also says whether it did: not, if there are more than ``most`` pairs and
    more than one query to ask separately.
    """
    words = nodes.words
    counts, right = _find_later(nodes, index, rule, queries, most)
    left = np.empty_like(right)
    k = 0
    for q in range(len(counts)):
        own = np.int32(words[queries[q], 0] & LOW)
        for _ in range(counts[q]):
            other = np.int32(words[right[k], 0] & LOW)
            left[k], right[k] = min(own, other), max(own, other)
            k += 1
    return left, right, len(counts) == len(queries)


@compiled
def _find_later(nodes: Any, index: Any, rule: Any, queries: Any, most: Any) -> tuple[Any, Any]:
    """Find the partners of each query among the nodes after it."""
    low, high, window = find_windows(nodes, queries)
    for q in range(len(queries)):
        window[q, 0] = max(window[q, 0], queries[q] + 1)
    spans = find_spans(nodes, index, rule, queries, window, *find_buckets(nodes, index, queries))
    floors = np.full(len(queries), -1, np.int64)
    most = most if len(queries) > 1 else len(nodes.key)
    return test_nodes(nodes, index, rule, queries, floors, (low, high, window), spans, most)


@compiled
def reorder(order: Any, counts: Any, names: Any) -> tuple[Any, Any]:
    """Put answers into another order: the one at ``i`` goes to ``order[i]``."""
    counts_there, names_there = np.empty_like(counts), np.empty_like(names)
    counts_there[order] = counts
    start = np.cumsum(counts_there) - counts_there
    at = 0
    for i in range(len(order)):
        to = start[order[i]]
        for k in range(counts[i]):
            names_there[to + k] = names[at + k]
        at += counts[i]
    return counts_there, names_there


@compiled
def tally_partners(
    nodes: Any, index: Any, rule: Any, queries: Any, only_after: Any, of_node: Any, most: Any, tally: Any
) -> Any:
    """Add the pairs of each query to ``tally``, by label and the two combinations; with ``only_after``, each pair once.

    ``of_node`` has each node's label and how many rows it stands for. Queries have to come in ascending order. Says
    whether it did: not, if there are more than ``most`` pairs of nodes and more than one query to ask separately.
    """
    words = nodes.words
    labels, weights = of_node
    if only_after:
        counts, found = _find_later(nodes, index, rule, queries, most)
    else:
        windows, floors = find_windows(nodes, queries), np.full(len(queries), -1, np.int64)
        spans = find_spans(nodes, index, rule, queries, windows[2], *find_buckets(nodes, index, queries))
        most = most if len(queries) > 1 else len(nodes.key)
        counts, found = test_nodes(nodes, index, rule, queries, floors, windows, spans, most)
    k = 0
    for q in range(len(counts)):
        own = np.int64(words[queries[q], 0] >> HALF)
        for _ in range(counts[q]):
            other = np.int64(words[found[k], 0] >> HALF)
            one, two = (other, own) if only_after and other < own else (own, other)
            tally[labels[queries[q]], one, two] += weights[queries[q]] * weights[found[k]]
            k += 1
    return len(counts) == len(queries)
