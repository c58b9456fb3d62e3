"""The buckets of one signature: nodes in order of hash, cell and combination; and in which runs partners may be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._ranking import order_rows
from likewise.comparable.engines._columns import Rows
from likewise.comparable.engines._packing import HALF, PackedRows, Words
from likewise.comparable.engines._plan import Plan

LOW = np.uint64(0xFFFFFFFF)
UNKNOWN, NOBODY = -2, -1  # combinations: of a run of several, and of one that nobody looks for partners in


class Detail(NamedTuple):
    """What the buckets of all signatures have in common: nodes in order of cell, side and combination."""

    order: Rows  # nodes
    cell: Rows  # of these, in that order; nothing without cells
    kind: Rows  # of these: one number for all whom a run may hold

    @classmethod
    def of(cls, packed: PackedRows, plan: Plan) -> Detail:
        """Order nodes once."""
        kind = packed.kind if plan.splits else (packed.kind >= packed.n_combinations).astype(np.int32)
        cell = packed.cell if plan.has_cells and packed.cell is not None else np.zeros(packed.n_nodes, np.int32)
        order = order_rows(kind)
        if plan.has_cells:
            order = order[order_rows(cell[order])]
        return cls(order, cell[order] if plan.has_cells else cell[:0], kind[order])


class Buckets(NamedTuple):
    """Nodes bucket by bucket, and each bucket run by run. What the kernel sees of a signature."""

    order: Rows  # nodes, run after run; those of a run ascend
    run_start: Rows  # of each run, and the end
    combination: Rows  # of each run
    begin: Rows  # the first run to look for partners in, for each run
    end: Rows  # and the one after the last
    rows: Rows  # of each node in the order


def lay_buckets(packed: PackedRows, plan: Plan, detail: Detail, kept: Words, *, only_after: bool) -> Buckets:
    """Lay out the nodes under a signature, given what they agree in; nodes of one hash share a bucket.

    With ``only_after``, each run looks into itself and later ones alone, and so finds every two nodes once.
    """
    both = packed.hash(kept)[detail.order]
    both &= ~LOW
    both |= np.arange(len(both), dtype=np.uint64)
    both.sort()
    place = (both & LOW).astype(np.intp)
    both >>= HALF
    is_new = np.ones(len(place) + 1, np.bool_)
    np.not_equal(both[1:], both[:-1], out=is_new[1:-1])
    cell = detail.cell[place] if plan.has_cells else None
    is_next: NDArray[np.bool_] | None = None
    if cell is not None:  # of one hash, in the cell after that of the place before
        is_next = ~is_new[:-1]
        is_next[1:] &= cell[1:] == cell[:-1] + 1
        is_new[1:-1] |= cell[1:] != cell[:-1]
    starts_bucket = is_new.copy()
    kind = detail.kind[place]
    is_new[1:-1] |= kind[1:] != kind[:-1]
    run_start = np.flatnonzero(is_new).astype(np.int32)
    at = run_start[:-1]
    bucket = np.cumsum(starts_bucket[at], dtype=np.int32) - np.int32(1)
    first_run = np.append(np.flatnonzero(starts_bucket[at]), len(at)).astype(np.int32)
    n_before = n_after = np.zeros(len(first_run) + 1, np.int32)
    if is_next is not None:  # whether the bucket before, and the one after, is of the cell before or after
        n_before = np.append(is_next[at[first_run[:-1]]], [False, False]).astype(np.int32)
        n_after = np.append(n_before[1:], 0)
    begin = first_run[bucket - n_before[bucket]]
    if only_after:
        begin = np.arange(len(at), dtype=np.int32) + np.int32(plan.splits)
    kind = kind[at]
    if plan.splits:
        combination = kind - np.int32(packed.n_combinations) * (kind >= packed.n_combinations)
    else:
        combination = np.full(len(at), UNKNOWN, np.int32)
    end = first_run[bucket + 1 + n_after[bucket]]
    if not packed.is_within:
        is_right = kind >= (packed.n_combinations if plan.splits else 1)
        combination = np.where(is_right, combination, np.int32(NOBODY))
        end = np.where(is_right, begin, end)  # they look for nobody
    order = detail.order[place]
    return Buckets(order, run_start, combination, begin, end, packed.rows[order])
