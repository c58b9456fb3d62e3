"""All pairs within one table, bucket by bucket: what queries would look up again and again is found once a bucket.

The nodes of a run come in the order of the sweep column, so those near the nodes of one run in another are found by going
along both at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise.comparable.engines._columns import mix
from likewise.comparable.engines.memory._buckets import Index, hash_cells
from likewise.comparable.engines.memory._packing import HALF, LOW, Nodes
from likewise.comparable.engines.memory._search import (
    ALL,
    ANY,
    ONE,
    ZERO,
    Rule,
    count_ones,
    first_words,
    lone_blocks,
)


class Joined(NamedTuple):
    """An index of one table, and what the nodes of each bucket are joined with besides each other."""

    index: Index
    first_bucket: NDArray[np.int64]  # of each signature, and the end
    beyond: NDArray[np.int32]  # (n_buckets, 0, 1 or 4): buckets of the neighbouring cells on one side, -1 for none

    @property
    def n_places(self) -> int:
        """How many places of nodes there are."""
        return len(self.index.order)


def join_buckets(nodes: Nodes, index: Index) -> Joined:
    """Find the neighbours of each bucket; every two neighbours are found once."""
    n_beyond = 0 if not len(index.first_cell) else 1 if not len(index.second_cell) else 4
    n_buckets = len(index.first_run) - 1
    beyond = np.empty((n_buckets, n_beyond), np.int32)
    if n_beyond:
        cells, hashed = (index.first_cell, index.second_cell), (index.slots, index.slot_start)
        runs = index.order, index.run_start, index.first_run
        _find_beyond(nodes.words, nodes.key, index.kept, cells, hashed, runs, index.first_bucket, beyond)
    return Joined(index, index.first_bucket, beyond)


@compiled
def _find_beyond(
    words: Any, key: Any, kept: Any, cells: Any, hashed: Any, runs: Any, first_bucket: Any, beyond: Any
) -> None:
    """Look up the buckets of neighbouring cells: of the same first cell and the next second, or of the next first."""
    (cell_1, cell_2), (slots, slot_start), (order, run_start, first_run) = cells, hashed, runs
    n_discrete, reach = kept.shape[1], np.int64(len(cell_2) > 0)
    for signature in range(len(first_bucket) - 1):
        first_slot, n_slots = slot_start[signature], slot_start[signature + 1] - slot_start[signature]
        for bucket in range(first_bucket[signature], first_bucket[signature + 1]):
            node = order[run_start[first_run[bucket]]]
            outside = mix(ZERO, np.uint64(key[node]))
            for k in range(n_discrete):
                outside = mix(outside, words[node, 1 + k] & kept[signature, k])
            own_1, own_2 = np.int64(cell_1[node]), np.int64(cell_2[node]) if reach else np.int64(0)
            for number in range(beyond.shape[1]):
                c1, c2 = own_1 + 1, own_2 + number - 1 if reach else np.int64(0)
                if number == 3:
                    c1, c2 = own_1, own_2 + 1
                beyond[bucket, number] = -1
                slot = np.int64(hash_cells(outside, c1, c2) & np.uint64(n_slots - 1))
                while slots[first_slot + slot] >= 0:
                    there = slots[first_slot + slot]
                    other = order[run_start[first_run[there]]]
                    same = key[other] == key[node] and cell_1[other] == c1 and (reach == 0 or cell_2[other] == c2)
                    for k in range(n_discrete):
                        same &= (words[other, 1 + k] ^ words[node, 1 + k]) & kept[signature, k] == ZERO
                    if same:
                        beyond[bucket, number] = there
                        break
                    slot = (slot + 1) & (n_slots - 1)


def find_pairs(
    nodes: Nodes, joined: Joined, rule: Rule, part: slice, most: int, *, by_name: bool
) -> tuple[Any, Any, Any] | None:
    """Find the pairs of the nodes at some places of the order with those at later ones or in neighbouring cells.

    Returns first nodes, how many second ones each has, and all of these; a node may be the first one several times.
    Their names instead, if asked. None, if there are more pairs than ``most`` and more than one place to ask for.
    """
    index = joined.index
    most = most if part.stop - part.start > 1 else len(nodes.key)
    window = nodes.window.view(np.int64)[:, 0].take(index.order[part]).view(np.int32).reshape(-1, 2)
    run = int(np.searchsorted(index.run_start, part.start, side="right")) - 1
    bucket = int(np.searchsorted(index.first_run, run, side="right")) - 1
    signature = int(np.searchsorted(joined.first_bucket, bucket, side="right")) - 1
    guards = (nodes.guard, nodes.fill, nodes.near.guard, first_words(nodes))
    blocks = index.left_out, index.blocks, index.members, lone_blocks(nodes, index)
    runs = index.order, index.run_start, index.run_combination, index.first_run, joined.first_bucket, joined.beyond
    laid = (index.words, True) if len(index.words) else (nodes.words, False)
    where = part.start, part.stop, run, bucket, signature
    how = index.splits, by_name, most
    firsts, counts, found = _join_runs(laid, guards, nodes.combinations, blocks, runs, rule, where, window, how)
    return None if len(found) > most else (firsts, counts, found)


@compiled
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
def _join_runs(
    laid: Any, guards: Any, combinations: Any, signatures: Any, runs: Any, rule: Any, where: Any, window: Any, how: Any
) -> tuple[Any, Any, Any]:
    """Go through the runs of a part of the order and, for each, through those its nodes may have partners in."""
    (guard, fill, near_guard, of_first), (left_out, blocks, members, alone) = guards, signatures
    order, run_start, run_combination, first_run, first_bucket, beyond = runs
    (placed, is_placed), (splits, by_name, most) = laid, how
    n_discrete, n_near, n_left_out = len(guard), len(near_guard), left_out.shape[1]
    is_plain = n_left_out == 1 and n_discrete == 1 and rule.max_changes == 1
    if_any, if_one = np.uint64(rule.sensitive != ANY), ~ZERO if rule.max_changes <= 1 else ZERO
    discrete_at, near_at, low_at, guard_1, fill_1, near_guard_1 = of_first
    first_place, end_place, run, bucket, signature = where
    firsts, counts = np.empty(most + 1, np.int32), np.empty(most + 1, np.int64)
    found = np.empty(most + 1, np.int32)  # most of it never touched, and so never given any memory
    n_firsts, n_found, n_most = 0, np.uint64(0), np.uint64(most)
    while run < len(run_start) - 1 and run_start[run] < end_place:
        while first_run[bucket + 1] <= run:
            bucket += 1
        while first_bucket[signature + 1] <= bucket:
            signature += 1
        is_lowest, block_1 = members[signature] <= ONE, alone[signature]
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
                at, stop = run_start[other], run_start[other + 1]
                for here in range(start, end):
                    q = here - first_place
                    if other == run:
                        at = here + 1
                    step = 1
                    while at < stop and order[at] < window[q, 0]:  # leap ahead, shorter again after leaping too far
                        if at + step < stop and order[at + step] < window[q, 0]:
                            at += step
                            step *= 2
                        elif step == 1:
                            at += 1
                        else:
                            step = max(step // 4, 1)
                    if at == stop:
                        break
                    last = window[q, 1]
                    if order[at] > last:
                        continue
                    query = np.uint64(here) if is_placed else np.uint64(order[here])
                    own, own_1 = placed[query, 0] >> HALF, placed[query, discrete_at]
                    near_1, low_1 = placed[query, near_at] | near_guard_1, placed[query, low_at]
                    # first what tells most apart, with no branch that cannot be foretold, and few enough numbers to
                    # stay in registers: this loop is where the time goes
                    n_before = n_found
                    for place in range(np.uint64(at), np.uint64(stop)):
                        node = order[place]
                        if node > last:
                            break
                        to = place if is_placed else np.uint64(node)
                        bits = ((placed[to, discrete_at] ^ own_1) + fill_1) & guard_1
                        kept = ((placed[to, near_at] | near_guard_1) - low_1) & (near_1 - placed[to, low_at])
                        passes = (bits & (bits - ONE) & if_one == ZERO) & (kept & near_guard_1 == near_guard_1)
                        passes &= (placed[to, 0] >> HALF) ^ own | if_any != ZERO
                        found[n_found] = place
                        n_found += np.uint64(passes)
                        if n_found > n_most:
                            return firsts[:0], counts[:0], found
                    # then all the rest
                    n_passed, n_found = n_found, n_before
                    for passed in range(n_before, n_passed):
                        place = np.uint64(found[passed])
                        to = place if is_placed else np.uint64(order[place])
                        passes, changed = True, placed[to, discrete_at] ^ own_1
                        if not is_plain:
                            n_changes = 0
                            for k in range(1, 1 + n_discrete):
                                word = placed[to, k] ^ placed[query, k]
                                n_changes += count_ones((word + fill[k - 1]) & guard[k - 1])
                            passes = n_changes <= rule.max_changes
                        for k in range(1 + n_discrete, n_discrete + n_near):
                            bits, low = near_guard[k - n_discrete], k + 1 + n_near
                            kept = (placed[to, k + 1] | bits) - placed[query, low]
                            passes &= kept & ((placed[query, k + 1] | bits) - placed[to, low]) & bits == bits
                        if rule.sensitive == ALL:
                            for k in range(combinations.shape[1]):
                                passes &= combinations[own, k] != combinations[placed[to, 0] >> HALF, k]
                        # a pair is taken under the signature of the blocks it differs in, filled up with the lowest
                        if is_plain:
                            passes &= is_lowest | (changed & block_1 != ZERO)
                        elif passes:
                            differing, n_equal = ZERO, 0
                            for p in range(n_left_out):
                                block, differs = left_out[signature, p], False
                                for k in range(n_discrete):
                                    differs |= (placed[to, 1 + k] ^ placed[query, 1 + k]) & blocks[block, k] != ZERO
                                differing |= np.uint64(differs) << np.uint64(block)
                                n_equal += not differs
                            for _ in range(n_equal):
                                differing |= differing + ONE
                            passes = differing == members[signature]
                        found[n_found] = np.int32(placed[to, 0] & LOW) if by_name else order[place]
                        n_found += np.uint64(passes)
                    if n_found > n_before:
                        firsts[n_firsts] = np.int32(placed[query, 0] & LOW) if by_name else order[here]
                        counts[n_firsts] = n_found - n_before
                        n_firsts += 1
        run += 1
    return firsts[:n_firsts].copy(), counts[:n_firsts].copy(), found[:n_found].copy()
