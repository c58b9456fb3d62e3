"""Small tables: every two rows are compared in NumPy, which is done before numba would be imported."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._codes import number_together
from likewise.comparable._limits import Nearness
from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import Engine, Problem, join_chunks

MOST_COMPARISONS: Final = 4_000_000  # about 2,800 rows, and a twentieth of a second
AT_ONCE: Final = 1 << 18  # comparisons: few enough to stay in the cache
CHUNK: Final = 1 << 20  # pairs
BYTES_A_COMPARISON: Final = 32  # so that all pairs fit even if every two rows are comparable


class ExhaustiveEngine(Engine):
    """Compare every two rows, a block of left rows at a time; pairs come in order by themselves."""

    @staticmethod
    def suits(problem: Problem, allowed: int) -> bool:
        """Whether the table is small and nothing can run out of memory."""
        n_left, n_right = problem.n_left, problem.n_right
        n_comparisons = n_left * (n_left - 1) // 2 if n_right is None else n_left * n_right
        return n_comparisons <= min(MOST_COMPARISONS, allowed // BYTES_A_COMPARISON)

    def chunks(self, rows: NDArray[np.integer[Any]] | None = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield all pairs, in chunks as long as those of larger tables: sums over chunks come out the same."""
        wanted = np.arange(self._problem.n_left) if rows is None else rows.astype(np.int64)
        n_in_block = max(AT_ONCE // max(self._problem.n_rows, 1), 1)
        kept: list[tuple[Rows, Rows]] = []
        n_kept = 0
        for start in range(0, len(wanted), n_in_block):
            left, right = self._compare(wanted[start : start + n_in_block])
            if kept and n_kept + len(left) > CHUNK:
                yield join_chunks(kept)
                kept, n_kept = [], 0
            if len(left):
                kept.append((left, right))
                n_kept += len(left)
        if kept:
            yield join_chunks(kept)

    def _compare(self, rows: NDArray[np.int64]) -> tuple[Rows, Rows]:
        """Find the pairs of a block of left rows; positions are those of all rows until the end."""
        problem = self._problem
        first = problem.n_left if problem.n_right is not None else int(rows[0]) + 1
        others = np.arange(first, problem.n_rows)
        possible = self._key[rows][:, None] == self._key[first:]
        if problem.n_right is None:
            possible &= rows[:, None] < others
        if problem.sensitive_differs != "none":
            possible &= problem.combination[rows][:, None] != problem.combination[first:]
        for column, test in self._near[:1]:
            possible &= test.holds(column[rows][:, None], column[first:])
        i, j = np.nonzero(possible)
        left, right = rows[i], others[j]
        for column, test in self._near[1:]:
            is_near = test.holds(column[left], column[right])
            left, right = left[is_near], right[is_near]
        left, right = self._few_changes(left, right)
        if problem.sensitive_differs == "all":
            one, other = (problem.combinations[problem.combination[side]] for side in (left, right))
            differs = (one != other).all(axis=1)
            left, right = left[differs], right[differs]
        right = right if problem.n_right is None else right - problem.n_left
        return left.astype(np.int32), right.astype(np.int32)

    def _few_changes(
        self, left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Keep the pairs that differ in few enough discrete columns."""
        problem = self._problem
        if problem.max_changes >= len(problem.discrete):
            return left, right
        n_changes = np.zeros(len(left), np.int64)
        for column in problem.discrete:
            n_changes += column[left] != column[right]
            kept = n_changes <= problem.max_changes
            left, right, n_changes = left[kept], right[kept], n_changes[kept]
        return left, right

    @cached_property
    def _key(self) -> Rows:
        """Equal in rows that agree in everything that has to be equal."""
        return number_together([self._problem.labels, *self._problem.equal], self._problem.n_rows)[1]

    @cached_property
    def _near(self) -> list[tuple[NDArray[np.float64], Nearness]]:
        """Near columns with their tests, the one that excludes most first."""
        columns = zip(self._problem.near, self._problem.tests, strict=True)
        return sorted(columns, key=lambda one: _n_within(*one))


def _n_within(column: NDArray[np.float64], test: Nearness) -> int:
    values = np.sort(column)
    ends = values / test.limit if test.is_ratio else values + test.limit
    return int((np.searchsorted(values, ends, side="right") - np.arange(len(values))).sum())
