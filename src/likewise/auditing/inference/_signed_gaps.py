"""What is left of signed gaps where the two people of a pair are alike in every compared column.

Groups may differ in a compared column within the tolerance, so that a mean signed gap is partly what the column makes.
The adjusted gap is the intercept of a regression of the pairs' signed gaps on their signed differences in the columns.
A pair p of weight w with residual e and differences x (a 1 first) moves it by psi = w e (A^-1)_0 x, where A is the sum
of w x x'; from these follows the influence of people or clusters, as for a mean (``_intervals.py``). What is fitted
takes people, too: by so much the variance grows and the degrees of freedom are fewer. Interval and p-value are of the
same t, so that they never contradict each other.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.auditing.inference._intervals import FEWEST_PEOPLE, ROUNDING, Influence, Interval, PairGraph
from likewise.auditing.question._weights import Weights
from likewise.exceptions import ScoreError
from likewise.record._internal import ColumnBalance
from likewise.schema import CodedTable

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]

AT_ONCE: Final = 1 << 17  # pairs: their temporaries stay small
MOST_VALUES: Final = 40  # of a discrete column: the rarer ones that change are taken for one value
SAME: Final = 1e-10  # of the largest variance: a combination of columns that varies less does not vary
TOLD: Final = 1e-6  # how near to 1 the intercept stands apart from the columns


@dataclass(frozen=True, slots=True, eq=False)
class SignedPairs:
    """Pairs of two groups: the people of each, the target's score minus the origin's, and what the pair counts."""

    origin: Rows
    target: Rows
    gaps: Floats
    weights: Weights


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A signed gap, with its influence where enough people count."""

    value: float
    influence: Influence | None = None

    def interval(self, confidence: float, end: float = math.inf) -> Interval | None:
        """Return the confidence interval, within what gaps can be."""
        if self.influence is None:
            return None
        reach = self.influence.reach(confidence)
        low, high = max(self.value - reach, -end), min(self.value + reach, end)
        return min(low, self.value), max(high, self.value)

    @property
    def p_value(self) -> float | None:
        """How often a gap as far from zero would be seen if there was none."""
        return None if self.influence is None else self.influence.p_value(self.value)


class ColumnDifferences:
    """By how much the two people of each pair differ in the compared columns that differ at all; in none by default."""

    def __init__(self, pairs: SignedPairs, table: CodedTable | None = None) -> None:
        self._pairs = pairs
        self._numbers: list[tuple[NDArray[Any], float]] = []
        self._places: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []  # of the values of either person
        self.n_values = 0
        self.balance: list[ColumnBalance] = []
        if table is not None:
            self._find_numbers(pairs, table)
            self._find_values(pairs, table)

    def _find_numbers(self, pairs: SignedPairs, table: CodedTable) -> None:
        for kind in ("continuous", "ordinal"):
            for name, column in zip(table.names[kind], getattr(table, kind).T, strict=True):
                moved = column[pairs.target] - column[pairs.origin].astype(np.float64)
                widest = float(np.abs(moved).max(initial=0.0))
                if widest:
                    width = 1.0 if kind == "continuous" else max(len(table.categories.get(name, ())) - 1, widest)
                    self.balance.append(ColumnBalance(name, difference=pairs.weights.mean(moved) / width))
                    self._numbers.append((np.ascontiguousarray(column), widest))

    def _find_values(self, pairs: SignedPairs, table: CodedTable) -> None:
        for name, column in zip(table.names["discrete"], table.discrete.T, strict=True):
            sides = column[pairs.origin], column[pairs.target]
            changes = sides[0] != sides[1]
            if changes.any():
                self.balance.append(ColumnBalance(name, changed=pairs.weights.mean(changes)))
                self._add_values(*sides, changes)

    def _add_values(self, origin: Rows, target: Rows, changes: NDArray[np.bool_]) -> None:
        """Number the values of a discrete column that change, the most frequent first; the rare ones as the last."""
        values, counts = np.unique(np.concatenate([origin[changes], target[changes]]), return_counts=True)
        ranks = np.empty(len(values), np.intp)
        ranks[np.argsort(-counts, kind="stable")] = np.arange(len(values))
        places = self.n_values + np.minimum(ranks, MOST_VALUES - 1)
        first, second = (
            np.where(changes, places[np.minimum(np.searchsorted(values, side), len(values) - 1)], -1)
            for side in (origin, target)
        )
        self._places.append((first, second))
        self.n_values += min(len(values), MOST_VALUES)

    def blocks(self) -> Iterator[tuple[slice, Floats, Any]]:
        """Yield some pairs at a time: a row of 1 and of each number's differences, and those of discrete values."""
        from scipy.sparse import csr_array

        pairs = self._pairs
        for start in range(0, len(pairs.gaps), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            origin, target = pairs.origin[some], pairs.target[some]
            numbers = np.ones((1 + len(self._numbers), len(origin)))
            for row, (column, widest) in zip(numbers[1:], self._numbers, strict=True):
                np.divide(column[target] - column[origin].astype(np.float64), widest, out=row)
            found: list[tuple[Floats, Rows, Rows]] = [(np.zeros(0), np.zeros(0, np.intp), np.zeros(0, np.intp))]
            for sides in self._places:
                changed = np.flatnonzero(sides[0][some] >= 0)
                for sign, side in zip((-1.0, 1.0), sides, strict=True):
                    found.append((np.full(len(changed), sign), side[some][changed], changed))
            data, places, rows = (np.concatenate(part) for part in zip(*found, strict=True))
            yield some, numbers, csr_array((data, (places, rows)), shape=(self.n_values, len(origin)))


def estimate_gap(pairs: SignedPairs, columns: ColumnDifferences, graph: PairGraph, unseen: float) -> Estimate | None:
    """Return the signed gap of people who are alike in the columns; None where it cannot be told apart from them.

    Where nothing varies, two of four more people might still be ``unseen`` apart.
    """
    found = _regress(pairs, columns)
    if found is None:
        return None
    n_left = sum(graph.sizes) - found.rank + 1
    n = min(graph.n, n_left)
    value = found.value if abs(found.value) > ROUNDING * pairs.weights.mean(np.abs(pairs.gaps)) else 0.0
    if n < FEWEST_PEOPLE - ROUNDING:
        return Estimate(value)
    known = graph.influence_of_parts(found.parts).scaled(math.sqrt(sum(graph.sizes) / n_left))
    of_nothing = np.array([2 * unseen / (n + 4)])
    return Estimate(value, replace(known, n=n) if known.error else Influence(of_nothing, n))


@dataclass(frozen=True, slots=True, eq=False)
class _Regression:
    value: float
    parts: Floats  # by how much each pair moves the value
    rank: int


def _regress(pairs: SignedPairs, columns: ColumnDifferences) -> _Regression | None:
    """Fit the signed gaps, and return the intercept; None where the columns tell the groups apart in every pair."""
    products: Any = 0.0
    for some, numbers, values in columns.blocks():
        weights, every = pairs.weights.take(some).values, np.vstack([numbers, pairs.gaps[some]])
        weighed = every * weights
        dense, across = np.einsum("ip,jp->ij", every, weighed), values @ weighed.T
        weighed_values = values.copy()
        weighed_values.data *= weights[values.indices]
        within = (weighed_values @ values.T).toarray()
        products = products + np.block([[dense, across.T], [across, within]])
    place = len(numbers)  # of the gaps
    sums, products = (np.delete(one, place, 0) for one in (products[:, place], np.delete(products, place, 1)))
    scale = 1 / np.sqrt(np.where(products.diagonal() > 0, products.diagonal(), 1.0))
    sizes, turned = np.linalg.eigh(products * scale[:, None] * scale)
    counts = sizes > SAME * sizes[-1]
    inverse = (turned[:, counts] / sizes[counts]) @ turned[:, counts].T
    if abs(float(turned[0, counts] @ turned[0, counts]) - 1) > TOLD:
        return None
    fitted, first = inverse @ (scale * sums) * scale, inverse[0] * scale * scale[0]
    parts = np.empty(len(pairs.gaps))
    for some, numbers, values in columns.blocks():
        at, moved = (np.einsum("i,ip->p", one[:place], numbers) + values.T @ one[place:] for one in (fitted, first))
        parts[some] = pairs.weights.take(some).times((pairs.gaps[some] - at) * moved)
    return _Regression(float(fitted[0]), parts, int(np.count_nonzero(counts)))


def adjust_p_values(p_values: ArrayLike) -> Floats:
    """Raise p-values because there are several, so that one small by chance is not taken for a finding (Holm).

    Parameters
    ----------
    p_values : array of float
        From 0 to 1.

    Returns
    -------
    array of float
        In the same order. Calling everything up to 0.05 a finding is then wrong at all, even once, at most 5 times
        in 100.

    Examples
    --------
    >>> from likewise.auditing import adjust_p_values
    >>> adjust_p_values([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    try:
        given = np.asarray(p_values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ScoreError("The p-values are not numbers. Give a list of numbers.") from None
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise ScoreError(f"The p-values are {reprlib.repr(p_values)}. Give a list of numbers from 0 to 1.")
    order = np.argsort(given, kind="stable")
    raised = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    adjusted = np.empty(len(given))
    adjusted[order] = np.minimum(raised, 1.0)
    return adjusted
