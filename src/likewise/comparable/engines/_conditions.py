"""A problem made small: conditions that always hold dropped, equalities folded into one key, equal rows collapsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from likewise.comparable.engines._problem import Problem

Ints = NDArray[np.int64]

LARGEST_WORD: Final = 2**62  # packed codes stay clear of the sign bit
COLLAPSED_BELOW: Final = 0.7  # groups a row: above this, expanding groups costs more than it saves


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """Hold what is left of a problem when conditions that always hold are gone and equalities are one key."""

    key: Ints  # has to be equal
    discrete: tuple[Ints, ...]  # at most max_changes of these differ; there are more of them than that
    max_changes: int
    near: tuple[NDArray[np.float64], ...]
    limits: tuple[float, ...]
    cells: tuple[Ints, ...]  # values within the limit lie in one cell or in neighbouring ones
    differing: tuple[NDArray[np.int32], ...]  # every one of these differs

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Reduce a problem; exact, since rounding never turns the order of two differences around."""
        must_equal: list[NDArray[Any]] = [problem.labels, *problem.equal]
        kept: list[tuple[NDArray[np.float64], float, Ints]] = []
        for values, limit in zip(problem.near, problem.limits, strict=True):
            distinct, ranks = np.unique(values, return_inverse=True)
            component, is_enough = split_at_gaps(distinct, limit)
            must_equal.append(component[ranks])
            if not is_enough:
                kept.append((values, limit, cut_cells(distinct, limit)[ranks]))
        discrete = [column for column in map(_dense, problem.discrete) if column.any()]
        if problem.max_changes == 0:
            must_equal += discrete
        if problem.max_changes == 0 or len(discrete) <= problem.max_changes:
            discrete = []
        sensitive: tuple[NDArray[np.int32], ...] = ()
        if problem.sensitive_differs == "any":
            sensitive = (problem.combination,)
        elif problem.sensitive_differs == "all":
            sensitive = tuple(problem.combinations[problem.combination].T)
        return cls(
            key=fold(must_equal),
            discrete=tuple(discrete),
            max_changes=problem.max_changes if discrete else 0,
            near=tuple(values for values, _, _ in kept),
            limits=tuple(limit for _, limit, _ in kept),
            cells=tuple(cells for _, _, cells in kept),
            differing=sensitive,
        )

    def take(self, rows: Ints) -> Conditions:
        """Keep some rows."""
        return Conditions(
            self.key[rows],
            tuple(column[rows] for column in self.discrete),
            self.max_changes,
            tuple(column[rows] for column in self.near),
            self.limits,
            tuple(column[rows] for column in self.cells),
            tuple(column[rows] for column in self.differing),
        )


def fold(columns: list[NDArray[Any]]) -> Ints:
    """Give the distinct rows of some columns of integers numbers from 0 on."""
    folded, size = np.zeros(len(columns[0]), np.int64), 1
    for column in map(_dense, columns):
        n_codes = int(column.max(initial=0)) + 1
        if size * n_codes > LARGEST_WORD:
            folded = _dense(folded)
            size = int(folded.max(initial=0)) + 1
        folded = folded * n_codes + column
        size *= n_codes
    return _dense(folded)


def _dense(column: NDArray[Any]) -> Ints:
    if column.size and column.min() >= 0 and column.max() < 4 * column.size:  # a table is quicker than a sort
        seen = np.zeros(int(column.max()) + 1, np.int64)
        seen[column] = 1
        codes: Ints = np.cumsum(seen)[column] - 1
    else:
        codes = np.unique(column, return_inverse=True)[1].astype(np.int64, copy=False)
    return codes


def split_at_gaps(distinct: NDArray[np.float64], limit: float) -> tuple[Ints, bool]:
    """Give ascending values the number of their stretch between wide gaps; say if all in a stretch are near."""
    with np.errstate(over="ignore"):  # an infinite difference is rightly a far one
        stretch = np.cumsum(np.diff(distinct, prepend=distinct[0]) > limit, dtype=np.int64)
        starts = np.flatnonzero(np.diff(stretch, prepend=-1))
        ends = np.append(starts[1:], len(distinct)) - 1
        return stretch, not (distinct[ends] - distinct[starts] > limit).any()


def cut_cells(distinct: NDArray[np.float64], limit: float) -> Ints:
    """Give ascending values numbers, so that any two within the limit have the same or neighbouring ones."""
    n = len(distinct)
    with np.errstate(over="ignore"):
        # the first value that is too far from each; the sum may round, the difference is the condition itself
        following = np.searchsorted(distinct, distinct + limit, side="right")
        while (early := (following < n) & (distinct[np.minimum(following, n - 1)] - distinct <= limit)).any():
            following[early] += 1
        while (late := (following - 1 > np.arange(n)) & (distinct[following - 1] - distinct > limit)).any():
            following[late] -= 1
    starts = np.zeros(n, np.int64)
    jumps = following.tolist()
    at = jumps[0]
    while at < n:
        starts[at] = 1
        at = jumps[at]
    return np.cumsum(starts)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Say which rows are one and the same as far as any condition goes."""

    of_row: Ints
    first_row: Ints  # one row of each group
    n_left: Ints  # its rows in the left table
    n_right: Ints  # its rows in the right table; the same when there is one table

    @classmethod
    def of(cls, conditions: Conditions, problem: Problem) -> Self:
        """Collapse equal rows, unless there are too few of them to gain from it."""
        ranks = [np.unique(column, return_inverse=True)[1] for column in conditions.near]
        of_row = fold([conditions.key, *conditions.discrete, *ranks, problem.combination])
        n_groups = int(of_row.max(initial=-1)) + 1
        if n_groups > COLLAPSED_BELOW * problem.n_rows:
            of_row, n_groups = np.arange(problem.n_rows), problem.n_rows
        first_row = np.zeros(n_groups, np.int64)
        first_row[of_row[::-1]] = np.arange(problem.n_rows)[::-1]
        n_left = np.bincount(of_row[: problem.n_left], minlength=n_groups)
        n_right = n_left if problem.n_right is None else np.bincount(of_row[problem.n_left :], minlength=n_groups)
        return cls(of_row, first_row, n_left, n_right)

    @property
    def is_collapsed(self) -> bool:
        """Whether there are fewer groups than rows."""
        return len(self.first_row) < len(self.of_row)
