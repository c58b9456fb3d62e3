"""Small tables: every two rows are compared in NumPy, which is done before numba would be imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.comparable._limits import Nearness
from likewise.comparable._pairs import Rows
from likewise.comparable.engines._problem import Engine, Problem, join_chunks

MOST_COMPARISONS: Final = 4_000_000  # about 2,800 rows, and a twentieth of a second
AT_ONCE: Final = 1 << 18  # comparisons: few enough to stay in the cache
CHUNK: Final = 1 << 21  # pairs
BYTES_A_COMPARISON: Final = 32  # so that all pairs fit even if every two rows are comparable


class ExhaustiveEngine(Engine):
    """Compare every two rows, a block of left rows at a time; pairs come in order by themselves."""

    def __init__(self, problem: Problem, allowed: int) -> None:
        super().__init__(problem)
        self._allowed = allowed

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

    def draw(self, n: int, random: np.random.Generator) -> Any:
        """Draw pairs without counting them, as MemoryEngine does: the same seed draws the same pairs."""
        from likewise.comparable.engines.memory._engine import MemoryEngine

        return MemoryEngine(self._problem, self._allowed).draw(n, random)

    def groups(self, most: int) -> tuple[Rows, tuple[Rows, Rows] | None]:
        """Merge equal rows within one table: each row's group, and the comparable pairs of groups in order."""
        problem = self._problem
        codes = (problem.labels, *problem.equal, *problem.discrete, problem.combination)
        key = _number_jointly([*codes, *problem.near], problem.n_rows)
        _, first_row, own = np.unique(key, return_index=True, return_inverse=True)
        by_appearance = np.argsort(first_row)
        number = np.empty(len(first_row), np.int32)
        number[by_appearance] = np.arange(len(first_row), dtype=np.int32)
        group_of, firsts = number[own], first_row[by_appearance].astype(np.int32)
        pairs = ExhaustiveEngine(problem.take(firsts), self._allowed).listing(most)
        if pairs is not None and problem.sensitive_differs == "none":  # equal rows are comparable to each other
            repeated = np.flatnonzero(np.bincount(group_of, minlength=len(firsts)) > 1).astype(np.int32)
            left, right = (np.concatenate([one, repeated]) for one in pairs)
            order = np.lexsort((right, left))
            pairs = left[order], right[order]
        return group_of, pairs

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
    def _key(self) -> NDArray[np.int64]:
        """Equal in rows that agree in everything that has to be equal."""
        return _number_jointly([self._problem.labels, *self._problem.equal], self._problem.n_rows)

    @cached_property
    def _near(self) -> list[tuple[NDArray[np.float64], Nearness]]:
        """Near columns with their tests, the one that excludes most first."""
        columns = zip(self._problem.near, self._problem.tests, strict=True)
        return sorted(columns, key=lambda one: _n_within(*one))


def _n_within(column: NDArray[np.float64], test: Nearness) -> int:
    values = np.sort(column)
    ends = values / test.limit if test.is_ratio else values + test.limit
    return int((np.searchsorted(values, ends, side="right") - np.arange(len(values))).sum())


def _number_jointly(columns: Sequence[NDArray[Any]], n_rows: int) -> NDArray[np.int64]:
    """Number rows so that those which agree in all columns have the same number, and no others."""
    numbers = np.zeros(n_rows, np.int64)
    for column in columns:
        codes = np.unique(column, return_inverse=True)[1]  # dense after each column, so that no product overflows
        numbers = np.unique(numbers * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return numbers
