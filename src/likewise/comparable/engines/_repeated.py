"""Tables in which rows repeat: distinct rows are searched, and their pairs multiplied out into pairs of rows, in order.

Row after row is written to the lists of the groups its own group is comparable to, and so each list comes out sorted:
what is not yet written of its own group's list when a row's turn is over comes after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise._ranking import order_rows
from likewise.comparable.engines._columns import Rows
from likewise.comparable.engines._problem import Engine, Found, Pairs, Problem, StartVisit
from likewise.comparable.engines._search import CHUNK, IN_LIST, MemoryEngine

MOST_DISTINCT: Final = 0.5  # share of the rows: with more, rows are searched one by one
OF_ENTRY: Final = 4  # bytes of a row in a list


class Lists(NamedTuple):
    """For each group, the right rows comparable to its own ones, in order; and how many of them each left row has."""

    rows: Rows
    ends: NDArray[np.int64]  # of each group
    group_of: Rows  # of each left row
    counts: NDArray[np.int64]  # of each left row: the last ones of its group's list


class RepeatedRows(Engine):
    """Search distinct rows, and multiply out; search rows one by one, where the lists of partners do not fit."""

    def __init__(self, problem: Problem, numbered: tuple[Rows, Rows], allowed: int) -> None:
        super().__init__(problem)
        self._group_of, firsts = numbered
        self._distinct, self._allowed = MemoryEngine(problem.take(firsts), allowed), allowed

    def chunks(self, rows: NDArray[np.integer[Any]] | None = None) -> Iterator[Pairs]:
        if self._lists is None:
            yield from self._single.chunks(rows)
            return
        wanted = np.arange(self._problem.n_left, dtype=np.int32) if rows is None else rows.astype(np.int32)
        ends = np.cumsum(self._lists.counts[wanted])
        at = n_before = 0
        while at < len(wanted):  # as many rows as fit, and at least one
            stop = max(int(np.searchsorted(ends, n_before + CHUNK, side="right")), at + 1)
            if ends[stop - 1] > n_before:
                yield _write_pairs(self._lists, wanted[at:stop])
            at, n_before = stop, int(ends[stop - 1])

    def visit(self, start: StartVisit[Found]) -> Iterator[tuple[float, Found]]:
        return self._single.visit(start) if self._lists is None else super().visit(start)

    def listing(self, most: int) -> Pairs | None:
        if self._lists is None:
            return self._single.listing(most)
        if self._lists.counts.sum() > min(most, self._allowed // IN_LIST):
            return None
        return _write_pairs(self._lists, np.arange(self._problem.n_left, dtype=np.int32))

    def pick(self, rows: NDArray[np.int64], places: NDArray[np.int64]) -> Rows:
        if self._lists is None:
            return self._single.pick(rows, places)
        starts = self._lists.ends[self._lists.group_of[rows]] - self._lists.counts[rows]
        picked: Rows = self._lists.rows[starts + places]
        return picked

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        return self._single.degrees if self._lists is None else self._lists.counts

    def counts(self, weights: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        return self._distinct.counts(np.bincount(self._group_of))

    def draw(self, n: int, random: np.random.Generator) -> Any:
        return self._single.draw(n, random)

    @cached_property
    def _single(self) -> MemoryEngine:
        """Search rows one by one."""
        return MemoryEngine(self._problem, self._allowed)

    @cached_property
    def _lists(self) -> Lists | None:
        """The partners of all groups; None if they do not fit."""
        n_left, is_within, sizes = self._problem.n_left, self._problem.n_right is None, np.bincount(self._group_of)
        listed = self._distinct.listing(self._allowed)
        if listed is None:
            return None
        left, right = listed
        group_of = others = self._group_of
        if is_within:
            own = pairs_of_equals(self._problem, sizes)
            left, right = np.concatenate([left, right, own]), np.concatenate([right, left, own])
        else:
            group_of, others = group_of[:n_left], group_of[n_left:] - group_of[:n_left].max(initial=-1) - np.int32(1)
            sizes = np.bincount(others)
        order = order_rows(right)
        left, right = left[order], right[order]
        lengths = np.bincount(left, sizes[right], int(group_of.max(initial=-1)) + 1).astype(np.int64)
        ends = np.cumsum(lengths)
        if OF_ENTRY * lengths.sum() > self._allowed // 4:
            return None
        rows, counts = np.empty(lengths.sum(), np.int32), lengths[group_of]
        starts = np.searchsorted(right, np.arange(len(sizes) + 1))
        _spread(others, starts, left, ends - lengths, ends, is_within, rows, counts)
        return Lists(rows, ends, group_of, counts)


def pairs_of_equals(problem: Problem, sizes: NDArray[np.int64]) -> Rows:
    """Return the groups whose rows are comparable to each other: all of several, where nothing has to differ."""
    return np.flatnonzero((sizes > 1) & (problem.sensitive_differs == "none")).astype(np.int32)


@compiled
def _spread(
    group_of: Any, starts: Any, lists_of: Any, filled: Any, ends: Any, is_within: Any, rows: Any, counts: Any
) -> None:
    """Write each row to the lists of the groups that its own is comparable to; count those that come later."""
    for row in range(len(group_of)):
        group = group_of[row]
        for place in range(starts[group], starts[group + 1]):
            to = np.uint32(lists_of[place])  # unsigned: others are tested for counting from the end
            rows[filled[to]] = row
            filled[to] += 1
        if is_within:
            counts[row] = ends[group] - filled[group]


def _write_pairs(lists: Lists, rows: Rows) -> Pairs:
    """Write out the pairs of some left rows."""
    left, right = np.empty((2, int(lists.counts[rows].sum())), np.int32)
    _take_later(*lists, rows, left, right)
    return left, right


@compiled
def _take_later(listed: Any, ends: Any, group_of: Any, counts: Any, rows: Any, left: Any, right: Any) -> None:
    """Write out the pairs of some rows: each row takes the end of its group's list, as long as its count."""
    at = 0
    for row in rows:
        n, end = counts[row], ends[group_of[row]]
        to_left, to_right, later = left[at : at + n], right[at : at + n], listed[end - n : end]
        for place in range(n):  # of slices from their start, which are written several numbers at a time
            to_left[place] = row
            to_right[place] = later[place]
        at += n
