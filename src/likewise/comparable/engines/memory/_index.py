"""The index: the buckets of one signature after the other, numbered and laid out on all cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._codes import look_up
from likewise._compiling import compiled, compiled_with_arrays
from likewise._ranking import part_by_range, sort_rows
from likewise._threads import cut_rows, share_rows, share_work, take_rows, threads_for
from likewise.comparable.engines._columns import mix
from likewise.comparable.engines.memory._buckets import Common, Plan
from likewise.comparable.engines.memory._packing import PackedTable, Words, sort_by_rank, take_words

CELL: Final = np.uint64(0xFFFF)  # the bits that cells are told apart by where buckets are sorted


class Index(NamedTuple):
    """What the kernels see of the buckets, signature after signature."""

    kept: Words  # (n_signatures, discrete words): the bits that a bucket's nodes agree in
    left_out: NDArray[np.int64]  # (n_signatures, blocks left out)
    members: NDArray[np.uint64]  # the same of each signature as a set of bits
    blocks: Words  # (n_blocks, discrete words): the bits of each block
    first_cell: NDArray[np.int32]  # of each node; empty if the plan uses no such cell
    second_cell: NDArray[np.int32]
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
    is_noted: bool  # whether the way through each run is noted for the queries to come


def build_index(
    packed: PackedTable,
    plan: Plan,
    common: Common,
    signatures: slice,
    most_noted: int,
    *,
    is_placed: bool,
    is_asked: bool = True,
) -> Index:
    """Build the buckets of some signatures, with the words of their nodes if wanted.

    The way through runs is noted if there are at most ``most_noted``. Without ``is_asked``, queries do not find their
    own buckets: it is for going through all of them.
    """
    nodes, kept = packed.nodes, plan.kept[signatures]
    cells = common.cells
    is_own = packed.is_within and plan.n_cells == 0
    # in their own buckets, nodes without anybody who differs, or without anybody else, have no partner
    fewest = 0 if not is_own else 2 if plan.needs_difference else 1
    parts = []
    n_buckets = n_placed = n_runs = 0
    for mask in kept:
        numbered = _number_buckets(nodes.words, nodes.key, cells, common.indexed, mask)
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
        first_cell=cells[0],
        second_cell=cells[1],
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
        is_noted=n_runs <= most_noted,
    )


def _join(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """Put arrays together, emptying the list: they are as large as what they make up."""
    return np.concatenate(_emptied(arrays))


def _emptied(arrays: list[NDArray[Any]]) -> list[NDArray[Any]]:
    taken = arrays.copy()
    arrays.clear()
    return taken


@compiled
def hash_cells(mixed: Any, first_cell: Any, second_cell: Any) -> Any:
    """Stir in the cells; 0 stands for one that the plan does not use."""
    return mix(mixed, np.uint64(first_cell) << np.uint64(32) ^ np.uint64(second_cell))


def _number_buckets(
    words: Words, key: NDArray[np.int32], cells: Sequence[NDArray[np.int32]], indexed: NDArray[np.int32], kept: Words
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Number the buckets, those of neighbouring cells side by side; return that of each indexed node, and their hashes.

    Each thread looks for the first node of each bucket among nodes side by side, then for the first of those firsts.
    """
    hashes, first_of = np.empty(len(indexed), np.uint64), np.empty(len(indexed), np.int32)
    where, parts = (words, key, *cells, indexed, kept), cut_rows(len(indexed))
    if len(parts) == 1:
        return _number_few(where, hashes, first_of)
    positions = np.arange(len(indexed), dtype=np.int32)

    def find(i: int) -> None:
        some = parts[i]
        _hash_nodes(words, key, *cells, indexed[some], kept, hashes[some])
        _find_firsts(*where, positions[some], hashes[some], _no_slots(some.stop - some.start), first_of)

    share_work(find, range(len(parts)))
    firsts = np.flatnonzero(first_of == positions).astype(np.int32)
    _join_firsts(where, firsts, hashes.take(firsts), first_of)
    bucket_of, firsts = _number_firsts(first_of, parts)
    of_buckets = hashes.take(firsts)
    if len(cells[0]):
        order = _order_by_cells(words, key, cells, indexed.take(firsts), kept)
        bucket_of[firsts[order]] = np.arange(len(firsts), dtype=np.int32)
        of_buckets = of_buckets.take(order)
    share_work(lambda i: _copy_numbers(first_of, parts[i].start, parts[i].stop, bucket_of), range(len(parts)))
    return bucket_of, of_buckets


def _number_few(
    where: tuple[Any, ...], hashes: NDArray[np.uint64], firsts: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Number the buckets in one pass over the nodes, given room for the hash and the first node of each bucket."""
    words, key, *cells, indexed, kept = where
    bucket_of = np.empty(len(indexed), np.int32)
    n_buckets = _number_at_once(*where, _no_slots(len(indexed)), bucket_of, firsts, hashes)
    hashes = hashes[:n_buckets]
    if len(cells[0]):
        order = _order_by_cells(words, key, cells, firsts[:n_buckets], kept)
        rank_of = np.empty(n_buckets, np.int32)
        rank_of[order] = np.arange(n_buckets, dtype=np.int32)
        look_up(rank_of, bucket_of, bucket_of)
        hashes = hashes.take(order)
    return bucket_of, hashes


def _order_by_cells(
    words: Words, key: NDArray[np.int32], cells: Sequence[NDArray[np.int32]], firsts: NDArray[np.int32], kept: Words
) -> NDArray[Any]:
    """Order buckets, given the first node of each, so that those of neighbouring cells lie side by side."""
    outside = np.empty(len(firsts), np.uint64)
    _hash_nodes(words, key, *(cell[:0] for cell in cells), firsts, kept, outside)
    for cell, bits in zip(cells, (np.uint64(16), np.uint64(0)), strict=True):
        outside &= ~(CELL << bits)  # where hashes or cells are alike by chance, others lie between neighbours
        outside |= (cell.take(firsts).astype(np.uint64) & CELL) << bits if len(cell) else np.uint64(0)
    return sort_rows(outside)[0]


def _join_firsts(
    where: tuple[Any, ...], firsts: NDArray[np.int32], hashes: NDArray[np.uint64], first_of: NDArray[np.int32]
) -> None:
    """Find the first position in the same bucket as each of some; many are parted by their hashes before."""
    ranges = [slice(0, len(firsts))]
    if threads_for(len(firsts)) > 1:
        parted, places = np.empty_like(hashes), np.empty(len(hashes), np.int32)
        ranges = part_by_range(hashes, parted, places)
        firsts, hashes = firsts.take(places), parted

    def find(i: int) -> None:
        some = ranges[i]
        _find_firsts(*where, firsts[some], hashes[some], _no_slots(some.stop - some.start), first_of)

    share_work(find, range(len(ranges)))


def _no_slots(n_buckets: int) -> NDArray[np.int32]:
    """Return a hash table with room to spare, of nothing yet."""
    return np.full(1 << (2 * n_buckets | 7).bit_length(), -1, np.int32)


@compiled
def _hash_node(words: Any, key: Any, first_cell: Any, second_cell: Any, node: Any, kept: Any) -> Any:
    mixed = mix(np.uint64(0), np.uint64(key[node]))
    for k in range(len(kept)):
        mixed = mix(mixed, words[node, 1 + k] & kept[k])
    cell_1 = first_cell[node] if len(first_cell) else np.int32(0)
    cell_2 = second_cell[node] if len(second_cell) else np.int32(0)
    return hash_cells(mixed, cell_1, cell_2)


@compiled
def _hash_nodes(words: Any, key: Any, first_cell: Any, second_cell: Any, indexed: Any, kept: Any, hashes: Any) -> None:
    for position in range(len(indexed)):
        hashes[position] = _hash_node(words, key, first_cell, second_cell, indexed[position], kept)


@compiled
def _are_together(words: Any, key: Any, first_cell: Any, second_cell: Any, kept: Any, node: Any, other: Any) -> Any:
    """Tell whether two nodes belong to one bucket."""
    same = (
        key[other] == key[node]
        and (len(first_cell) == 0 or first_cell[other] == first_cell[node])
        and (len(second_cell) == 0 or second_cell[other] == second_cell[node])
    )
    for k in range(len(kept)):
        same &= (words[other, 1 + k] ^ words[node, 1 + k]) & kept[k] == np.uint64(0)
    return same


@compiled
def _number_at_once(
    words: Any,
    key: Any,
    first_cell: Any,
    second_cell: Any,
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
        mixed = _hash_node(words, key, first_cell, second_cell, node, kept)
        slot = mixed & mask
        bucket = slots[slot]
        while bucket >= 0:
            other = firsts[np.uint32(bucket)]
            if _are_together(words, key, first_cell, second_cell, kept, node, other):
                break
            slot = (slot + np.uint64(1)) & mask
            bucket = slots[slot]
        if bucket < 0:
            bucket = n_buckets
            slots[slot], firsts[bucket], hashes[bucket] = bucket, node, mixed
            n_buckets += np.int32(1)
        bucket_of[position] = bucket
    return n_buckets


@compiled
def _find_firsts(
    words: Any,
    key: Any,
    first_cell: Any,
    second_cell: Any,
    indexed: Any,
    kept: Any,
    positions: Any,
    hashes: Any,
    table: Any,
    first_of: Any,
) -> None:
    """Find the first position in the same bucket as each of some, given in ascending order with their hashes."""
    n_slots = len(table)
    for place in range(len(positions)):
        node = indexed[positions[place]]
        slot = np.int64(hashes[place] & np.uint64(n_slots - 1))
        while table[slot] >= 0:
            other = indexed[table[slot]]
            if _are_together(words, key, first_cell, second_cell, kept, node, other):
                break
            slot = (slot + 1) & (n_slots - 1)
        if table[slot] < 0:
            table[slot] = positions[place]
        first_of[positions[place]] = table[slot]


def _number_firsts(first_of: NDArray[np.int32], parts: list[slice]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number buckets by their first positions; return the numbers at these positions, and the positions."""
    bucket_of, n_before = np.empty_like(first_of), np.zeros(len(parts) + 1, np.int64)

    def count(i: int) -> None:
        n_before[i + 1] = _count_firsts(first_of, parts[i].start, parts[i].stop)

    share_work(count, range(len(parts)))
    np.cumsum(n_before, out=n_before)
    firsts = np.empty(n_before[-1], np.int32)

    def number(i: int) -> None:
        _write_numbers(first_of, parts[i].start, parts[i].stop, n_before[i], bucket_of, firsts)

    share_work(number, range(len(parts)))
    return bucket_of, firsts


@compiled
def _count_firsts(first_of: Any, start: Any, stop: Any) -> Any:
    n_firsts = 0
    for position in range(start, stop):
        n_firsts += first_of[position] == position
    return n_firsts


@compiled
def _write_numbers(first_of: Any, start: Any, stop: Any, number: Any, bucket_of: Any, firsts: Any) -> None:
    """Number the buckets that are first met at some positions."""
    for position in range(start, stop):
        if first_of[position] == position:
            bucket_of[position], firsts[number] = number, position
            number += 1


@compiled
def _copy_numbers(first_of: Any, start: Any, stop: Any, bucket_of: Any) -> None:
    """Number all other positions: they lead to the first of their bucket, or to one that does."""
    for position in range(start, stop):
        if first_of[position] != position:
            bucket_of[position] = bucket_of[first_of[first_of[position]]]


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
    lay = _lay_few if threads_for(len(indexed)) == 1 else _lay_many
    laid = lay(indexed, common.order_by, common.combination, bucket_of, len(hashes), splits, fewest)
    order, run_start, run_combination, first_run, number = laid
    place = np.full(n_nodes, -1, np.int32)
    if n_nodes:
        share_rows(lambda part: _write_places(indexed[part], bucket_of[part], number, place), len(indexed))
    slots = np.empty(0, np.int32) if is_own else _fill_slots(hashes, number)
    return Laid(order, run_start, run_combination, first_run, place, slots)


def _lay_many(
    indexed: NDArray[np.int32],
    order_by: NDArray[np.int32],
    combination: NDArray[np.int32],
    bucket_of: NDArray[np.int32],
    n_buckets: int,
    splits: bool,
    fewest: int,
) -> tuple[NDArray[Any], ...]:
    """Return the nodes in order; the start and combination of each run, the first run of each bucket, its number."""
    places, starts = sort_by_rank(take_rows(bucket_of, order_by) if splits else bucket_of, n_buckets)
    order, of_combination = np.empty(len(places), np.int32), np.empty(len(places), np.int32)

    def lay(part: slice) -> None:
        _lay_places(indexed, order_by, combination, places[part], order[part], of_combination[part])

    share_rows(lay, len(places))
    number = np.arange(n_buckets, dtype=np.int32)
    if fewest:
        number, n_placed = _leave_out_poor(starts, order, of_combination, fewest)
        order, of_combination = order[:n_placed].copy(), of_combination[:n_placed].copy()
        sizes = np.diff(starts)[number >= 0]
        starts = np.concatenate([[0], np.cumsum(sizes)])
    is_start = np.zeros(len(order), np.bool_)
    if splits:
        np.not_equal(of_combination[1:], of_combination[:-1], out=is_start[1:])
    is_start[starts[:-1]] = True
    run_start = np.flatnonzero(is_start)
    return order, run_start, of_combination[run_start], np.searchsorted(run_start, starts[:-1]), number


@compiled
def _lay_places(indexed: Any, order_by: Any, combination: Any, places: Any, order: Any, of_combination: Any) -> None:
    """Write the nodes at some places, and their combinations."""
    for k in range(len(places)):
        position = order_by[places[k]] if len(order_by) else places[k]
        order[k], of_combination[k] = indexed[position], combination[position]


@compiled_with_arrays
def _lay_few(
    indexed: Any, order_by: Any, combination: Any, bucket_of: Any, n_buckets: Any, splits: Any, fewest: Any
) -> tuple[Any, ...]:
    """Do the same in one call."""
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


@compiled_with_arrays
def _leave_out_poor(starts: Any, order: Any, of_combination: Any, fewest: Any) -> tuple[Any, Any]:
    """Move the nodes of buckets with two of them, or two combinations, to the front; number these buckets."""
    number = np.full(len(starts) - 1, -1, np.int32)
    n_placed, n_kept = 0, 0
    for bucket in range(len(number)):
        start, stop = starts[bucket], starts[bucket + 1]
        is_poor = stop - start < 2
        if fewest == 2 and not is_poor:
            is_poor = True
            for place in range(start + 1, stop):
                is_poor &= of_combination[place] == of_combination[start]
        if not is_poor:
            number[bucket] = n_kept
            n_kept += 1
            for place in range(start, stop):
                order[n_placed], of_combination[n_placed] = order[place], of_combination[place]
                n_placed += 1
    return number, n_placed


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
