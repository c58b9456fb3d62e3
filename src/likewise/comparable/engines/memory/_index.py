"""The index: the buckets of one signature after the other, numbered and laid out on all cores."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._codes import look_up
from likewise._compiling import compiled, compiled_with_arrays
from likewise._ranking import order_rows
from likewise._threads import share_rows
from likewise.comparable.engines._columns import mix
from likewise.comparable.engines.memory._buckets import Common, Plan
from likewise.comparable.engines.memory._packing import PackedTable, Words, take_words

BITS: Final = np.uint64(10)  # that cells are told apart by where buckets are sorted
CELL: Final = (np.uint64(1) << BITS) - np.uint64(1)
HASHED: Final = np.uint64(42)  # bits of a hash that are left out there


class Index(NamedTuple):
    """What the kernels see of the buckets, signature after signature."""

    kept: Words  # (n_signatures, discrete words): the bits that a bucket's nodes agree in
    left_out: NDArray[np.int64]  # (n_signatures, blocks left out)
    members: NDArray[np.uint64]  # the same of each signature as a set of bits
    blocks: Words  # (n_blocks, discrete words): the bits of each block
    cell: NDArray[np.int32]  # of each node; empty if the plan uses none
    splits: bool  # whether a run has one combination of sensitive values only, or is a whole bucket
    is_own: bool  # whether a node's partners are in its own bucket, which need not be looked up by hash then
    order: NDArray[np.int32]  # nodes, run after run
    words: Words  # theirs, so that those of a run lie side by side; empty if there is no room
    run_start: NDArray[np.int64]  # of each run in the order, and the end
    run_combination: NDArray[np.int32]
    first_run: NDArray[np.int64]  # of each bucket, and the end
    first_bucket: NDArray[np.int64]  # of each signature, and the end
    bucket_of: NDArray[np.int32]  # (n_signatures, n_nodes): -1 if nobody there can be a partner; empty if not is_own
    slots: NDArray[np.int32]  # a hash table of buckets for each signature, -1 for a free slot; empty if is_own
    slot_start: NDArray[np.int64]


def build_index(
    packed: PackedTable,
    plan: Plan,
    common: Common,
    signatures: slice,
    *,
    is_placed: bool,
    is_asked: bool = True,
) -> Index:
    """Build the buckets of some signatures, with the words of their nodes if wanted.

    Without ``is_asked``, queries do not find their own buckets: it is for going through all of them.
    """
    nodes, kept = packed.nodes, plan.kept[signatures]
    is_own = packed.is_within and not plan.has_cells
    # in their own buckets, nodes without anybody who differs, or without anybody else, have no partner
    fewest = 0 if not is_own else 2 if plan.needs_difference else 1
    parts = []
    n_buckets = n_placed = n_runs = 0
    for mask in kept:
        numbered = _number_buckets(nodes.words, nodes.key, common.cell, common.indexed, mask)
        n_found_by = packed.n_nodes if is_own and is_asked else 0
        laid = _lay_buckets(common, plan.splits, numbered, is_own, fewest, n_found_by)
        laid.place[laid.place >= 0] += n_buckets
        laid.slots[laid.slots >= 0] += n_buckets
        parts.append(laid._replace(run_start=laid.run_start + n_placed, first_run=laid.first_run + n_runs))
        n_buckets, n_placed = n_buckets + len(laid.first_run), n_placed + len(laid.order)
        n_runs += len(laid.run_start)
        del numbered, laid
    lists = [list(fields) for fields in zip(*parts, strict=True)]
    parts.clear()
    first_bucket = np.cumsum([0] + [len(first_run) for first_run in lists[3]])
    slot_start = np.cumsum([0] + [len(table) for table in lists[5]])
    order = _join(lists[0])
    return Index(
        kept=kept,
        left_out=plan.left_out[signatures],
        members=plan.members[signatures],
        blocks=plan.blocks,
        cell=common.cell,
        splits=plan.splits,
        is_own=is_own,
        order=order,
        words=take_words(nodes.words, order if is_placed else order[:0]),
        run_start=_join([*_emptied(lists[1]), np.array([n_placed])]),
        run_combination=_join(lists[2]),
        first_run=_join([*_emptied(lists[3]), np.array([n_runs])]),
        first_bucket=first_bucket,
        bucket_of=_join(lists[4]).reshape(len(kept), -1),
        slots=_join(lists[5]),
        slot_start=slot_start,
    )


def _join(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """Put arrays together, emptying the list: they are as large as what they make up."""
    return np.concatenate(_emptied(arrays))


def _emptied(arrays: list[NDArray[Any]]) -> list[NDArray[Any]]:
    taken = arrays.copy()
    arrays.clear()
    return taken


def _number_buckets(
    words: Words, key: NDArray[np.int32], cell: NDArray[np.int32], indexed: NDArray[np.int32], kept: Words
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Number the buckets, those of neighbouring cells side by side; return that of each indexed node, and their hashes.

    The first one that is met has number 0.
    """
    bucket_of, firsts = np.empty((2, len(indexed)), np.int32)
    hashes = np.empty(len(indexed), np.uint64)
    slots = np.full(1 << (2 * len(indexed) | 7).bit_length(), -1, np.int32)  # with room to spare
    n_buckets = _number_nodes(words, key, cell, indexed, kept, slots, bucket_of, firsts, hashes)
    hashes = hashes[:n_buckets]
    if len(cell):
        order = _order_by_cells(words, key, cell, firsts[:n_buckets], kept)
        rank_of = np.empty(n_buckets, np.int32)
        rank_of[order] = np.arange(n_buckets, dtype=np.int32)
        look_up(rank_of, bucket_of, bucket_of)
        hashes = hashes.take(order)
    return bucket_of, hashes


def _order_by_cells(
    words: Words, key: NDArray[np.int32], cell: NDArray[np.int32], firsts: NDArray[np.int32], kept: Words
) -> NDArray[Any]:
    """Order buckets, given the first node of each, so that those of neighbouring cells lie side by side."""
    outside = np.empty(len(firsts), np.uint64)
    _hash_nodes(words, key, cell[:0], firsts, kept, outside)
    outside = outside >> HASHED << BITS  # where hashes or cells are alike by chance, others lie between neighbours
    return order_rows(outside | cell.take(firsts).astype(np.uint64) & CELL)


@compiled
def _hash_node(words: Any, key: Any, cell: Any, node: Any, kept: Any) -> Any:
    mixed = mix(np.uint64(0), np.uint64(key[node]))
    for k in range(len(kept)):
        mixed = mix(mixed, words[node, 1 + k] & kept[k])
    return mix(mixed, np.uint64(cell[node] if len(cell) else 0))


@compiled
def _hash_nodes(words: Any, key: Any, cell: Any, indexed: Any, kept: Any, hashes: Any) -> None:
    for position in range(len(indexed)):
        hashes[position] = _hash_node(words, key, cell, indexed[position], kept)


@compiled
def _are_together(words: Any, key: Any, cell: Any, kept: Any, node: Any, other: Any) -> Any:
    """Tell whether two nodes belong to one bucket."""
    same = key[other] == key[node] and (len(cell) == 0 or cell[other] == cell[node])
    for k in range(len(kept)):
        same &= (words[other, 1 + k] ^ words[node, 1 + k]) & kept[k] == np.uint64(0)
    return same


@compiled
def _number_nodes(
    words: Any,
    key: Any,
    cell: Any,
    indexed: Any,
    kept: Any,
    slots: Any,
    bucket_of: Any,
    firsts: Any,
    hashes: Any,
) -> Any:
    """Number buckets in order of first appearance; return how many there are."""
    mask, n_buckets = np.uint64(len(slots) - 1), np.int32(0)
    for position in range(len(indexed)):
        node = indexed[position]
        mixed = _hash_node(words, key, cell, node, kept)
        slot = mixed & mask
        bucket = slots[slot]
        while bucket >= 0:
            other = firsts[np.uint32(bucket)]
            if _are_together(words, key, cell, kept, node, other):
                break
            slot = (slot + np.uint64(1)) & mask
            bucket = slots[slot]
        if bucket < 0:
            bucket = n_buckets
            slots[slot], firsts[bucket], hashes[bucket] = bucket, node, mixed
            n_buckets += np.int32(1)
        bucket_of[position] = bucket
    return n_buckets


class Laid(NamedTuple):
    """The nodes of one signature, bucket after bucket."""

    order: NDArray[np.int32]
    run_start: NDArray[np.int64]
    run_combination: NDArray[np.int32]
    first_run: NDArray[np.int64]  # of each bucket
    place: NDArray[np.int32]  # the bucket of each node, if they are asked for by node
    slots: NDArray[np.int32]  # buckets by hash, if not


def _lay_buckets(
    common: Common,
    splits: bool,
    numbered: tuple[NDArray[np.int32], NDArray[np.uint64]],
    is_own: bool,
    fewest: int,
    n_nodes: int,
) -> Laid:
    """Order the nodes by bucket, leaving out buckets too poor to hold a pair, and number what is left.

    Buckets are found by node, if their number is given, or by hash.
    """
    (bucket_of, hashes), indexed = numbered, common.indexed
    laid = _lay_nodes(indexed, common.order_by, common.combination, bucket_of, len(hashes), splits, fewest)
    order, run_start, run_combination, first_run, number = laid
    place = np.full(n_nodes, -1, np.int32)
    if n_nodes:
        share_rows(lambda part: _write_places(indexed[part], bucket_of[part], number, place), len(indexed))
    slots = np.empty(0, np.int32) if is_own else _fill_slots(hashes, number)
    return Laid(order, run_start, run_combination, first_run, place, slots)


@compiled_with_arrays
def _lay_nodes(
    indexed: Any, order_by: Any, combination: Any, bucket_of: Any, n_buckets: Any, splits: Any, fewest: Any
) -> tuple[Any, ...]:
    """Return the nodes in order; the start and combination of each run, the first run of each bucket, its number."""
    filled = np.zeros(n_buckets + 1, np.int32)
    for bucket in bucket_of:
        filled[bucket + 1] += 1
    for bucket in range(n_buckets):
        filled[bucket + 1] += filled[bucket]
    order, of_combination = np.empty(len(indexed), np.int32), np.empty(len(indexed), np.int32)
    for k in range(len(indexed)):
        position = np.uint32(order_by[k]) if splits else np.uint32(k)
        to = filled[bucket_of[position]]
        order[to], of_combination[to] = indexed[position], combination[position]
        filled[bucket_of[position]] = to + 1
    run_start, run_combination = np.empty(len(indexed), np.int64), np.empty(len(indexed), np.int32)
    first_run, number = np.empty(n_buckets, np.int64), np.full(n_buckets, -1, np.int32)
    start = n_placed = n_kept = n_runs = 0
    for bucket in range(n_buckets):
        stop = filled[bucket]
        is_poor = fewest > 0 and stop - start < 2
        if fewest == 2 and not is_poor:
            place = start + 1
            while place < stop and of_combination[place] == of_combination[start]:
                place += 1
            is_poor = place == stop
        if not is_poor:
            first_run[n_kept], number[bucket] = n_runs, n_kept
            n_kept += 1
            for place in range(start, stop):
                if place == start or (splits and of_combination[place] != of_combination[place - 1]):
                    run_start[n_runs], run_combination[n_runs] = n_placed, of_combination[place]
                    n_runs += 1
                order[n_placed] = order[place]
                n_placed += 1
        start = stop
    return order[:n_placed], run_start[:n_runs], run_combination[:n_runs], first_run[:n_kept], number


@compiled
def _write_places(indexed: Any, bucket_of: Any, number: Any, place: Any) -> None:
    for position in range(len(indexed)):
        place[indexed[position]] = number[bucket_of[position]]


@compiled_with_arrays
def _fill_slots(hashes: Any, number: Any) -> Any:
    """Make a hash table of the buckets that have a number."""
    n_kept = 0
    for bucket in range(len(number)):
        n_kept += number[bucket] >= 0
    slots = np.full(_slots_for(n_kept), -1, np.int32)
    for bucket in range(len(number)):
        if number[bucket] >= 0:
            slot = np.int64(hashes[bucket] & np.uint64(len(slots) - 1))
            while slots[slot] >= 0:
                slot = (slot + 1) & (len(slots) - 1)
            slots[slot] = number[bucket]
    return slots


@compiled
def _slots_for(n_buckets: Any) -> Any:
    """Choose a power of two with room to spare."""
    n_slots = 8
    while n_slots < 2 * n_buckets:
        n_slots *= 2
    return n_slots
