"""A problem made small: conditions that always hold dropped, equalities folded into one key, equal rows collapsed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from likewise.comparable.engines._near import cut_cells, rank_near
from likewise.comparable.engines._numbering import number_jointly, rank_values
from likewise.comparable.engines._problem import Problem, number_codes

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
            column = rank_near(values, limit)
            if column.component is not None:
                must_equal.append(column.component)
            if not column.is_settled:
                kept.append((values, limit, cut_cells(column.lowest, column.highest)[column.ranks].astype(np.int64)))
        discrete = [codes for codes in (number_codes(column)[1] for column in problem.discrete) if codes.any()]
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


def fold(columns: Sequence[NDArray[np.integer[Any]]]) -> Ints:
    """Give the distinct rows of some columns of integers numbers from 0 on."""
    return number_codes(number_jointly(columns, len(columns[0])))[1]


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
        ranks = [rank_values(column)[0] for column in conditions.near]
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
