"""The excess, by person: how much further people are from comparable people of other groups than from their own.

A person with partners of both kinds has a mean gap to those of other groups and one to those of the own group; the
excess is the mean of the difference over these people. That two groups sit elsewhere in a compared column, or that one
is larger, makes no excess, since everybody is compared with people near by on both sides. But a discrete column that
may change has nothing near by: where groups differ in it, partners of other groups are further away for it alone. So
the excess is also taken of the pairs that are equal in all discrete columns.

It is bounded by the jackknife: what the excess would be without each person, as one of those it is the mean of and as a
partner of others. The upper end is no lower than the same error above none, for where nobody is treated differently, an
excess below none has an error that is too small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.inference._intervals import (
    FEWEST_PEOPLE,
    KURTOSIS_PEOPLE,
    NOTHING,
    Interval,
    reach_of_student,
)
from likewise.auditing.question._weights import sum_products
from likewise.comparable import ComparablePairs

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]

AT_ONCE: Final = 1 << 18  # pairs: their temporaries stay small
ROUNDING: Final = 1e-9  # of the weight of a person's partners: what is left is none


@dataclass(frozen=True, slots=True, eq=False)
class ComparedPeople:
    """The labels of all people, and how much each counts."""

    labels: Rows
    weights: Floats


class Partners:
    """Everybody's partners in those pairs of one kind that count; the two people of each have the same label."""

    def __init__(self, pairs: ComparablePairs, people: ComparedPeople, counts: Flags | None = None) -> None:
        self._pairs, self._weights, self._counts = pairs, people.weights, counts
        self.n = self.add_up(np.ones(len(pairs)))

    def add_up(self, values: NDArray[Any]) -> Floats:
        """Add up the values of everybody's pairs, by the weights of the partners."""
        total = np.zeros(len(self._weights))
        for person, partner, value in self.directed(values):
            total += np.bincount(person, self._weights[partner] * value, len(total))
        return total

    def directed(self, values: NDArray[Any]) -> Iterator[tuple[Rows, Rows, NDArray[Any]]]:
        """Yield persons, their partners and values, each pair from both sides, a few at a time."""
        for start in range(0, len(values), AT_ONCE):
            some: Any = slice(start, start + AT_ONCE)
            some = some if self._counts is None else start + np.flatnonzero(self._counts[some])
            left, right = self._pairs.left[some], self._pairs.right[some]
            yield left, right, values[some]
            yield right, left, values[some]


def equal_in_discrete(pairs: ComparablePairs) -> Flags:
    """Return which pairs are equal in all discrete columns."""
    equal = np.ones(len(pairs), np.bool_)
    for values in pairs.left_table.discrete.T:
        column = np.ascontiguousarray(values)
        for start in range(0, len(pairs), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            equal[some] &= column[pairs.left[some]] == column[pairs.right[some]]
    return equal


class Excess:
    """What each person has in excess, given the values of pairs with other groups and of those with the own group."""

    def __init__(
        self,
        sides: tuple[Partners, Partners],
        values: tuple[NDArray[Any], NDArray[Any]],
        people: ComparedPeople,
    ) -> None:
        self._sides, self._values, self._people = sides, values, people
        self._sums = [side.add_up(one) for side, one in zip(sides, values, strict=True)]
        has_both = (sides[0].n > 0) & (sides[1].n > 0)
        self._counts = people.weights * has_both
        self.by_person = self._without()

    def n(self, label: int | None = None) -> int:
        """Count the people with partners of both kinds."""
        return int(np.count_nonzero(self._counts[self._of(label)]))

    def mean(self, label: int | None = None) -> float:
        """Return the mean over the people with partners of both kinds."""
        counts = self._counts[self._of(label)]
        return float((counts * self.by_person[self._of(label)]).sum() / counts.sum())

    def leave_out(self, label: int | None = None) -> Floats:
        """Return what the mean is without each person that it depends on."""
        of_label = self._of(label)
        counts, changes = self._counts[of_label], self._changes[:, of_label]
        changes = changes[:, (changes != 0).any(axis=0)]
        total, n = float((counts * self.by_person[of_label]).sum()) + changes[0], float(counts.sum()) + changes[1]
        is_left = n > ROUNDING * counts.sum()  # without some there is no estimate, which says nothing of them
        without: Floats = total[is_left] / n[is_left]
        return without

    def _of(self, label: int | None) -> Any:
        return slice(None) if label is None else self._people.labels == label

    @cached_property
    def _changes(self) -> Floats:
        """How the sum over people, and their number, change without each person."""
        changes = np.stack([-self._counts * self.by_person, -self._counts])
        for person, partner, gone in self._entries():
            counts, was, now = self._counts[person], self.by_person[person], self._without(person, gone)
            is_gone = np.isnan(now)
            lost = counts * np.where(is_gone, -was, now - was), np.where(is_gone, -counts, 0.0)
            for change, one in zip(changes, lost, strict=True):
                change += np.bincount(partner, one, len(change))
        return changes

    def _without(self, person: Any = slice(None), gone: Any = ((0.0, 0.0), (0.0, 0.0))) -> Floats:
        """Return the excess of people without some of their partners: a weight and a sum of values of either kind."""
        means = []
        for side, total, (weight, value) in zip(self._sides, self._sums, gone, strict=True):
            left = side.n[person] - weight
            is_left = left > ROUNDING * side.n[person]
            means.append(np.where(is_left, (total[person] - value) / np.where(is_left, left, 1.0), np.nan))
        excess = means[0] - means[1]  # NaN where there are no partners of one kind
        return np.where(self._counts[person] > 0, excess, 0.0)

    def _entries(self) -> Iterator[tuple[Rows, Rows, Any]]:
        """Yield persons, a partner of each that is left out, and the weight and the values that go with the partner."""
        weights, nothing = self._people.weights, (0.0, 0.0)
        for place, (side, one) in enumerate(zip(self._sides, self._values, strict=True)):
            for person, partner, value in side.directed(one):
                gone = weights[partner], weights[partner] * value
                yield person, partner, (gone, nothing) if place == 0 else (nothing, gone)


def bound_left_out(value: float, without: Floats, confidence: float) -> Interval | None:
    """Bound an estimate by the jackknife; None where nothing varies, or too few people count to say anything."""
    n, squares = len(without), np.square(without - without.mean()) if len(without) else without
    total = float(squares.sum())
    if total <= NOTHING:
        return None
    n_counting = min(float(n), KURTOSIS_PEOPLE * total**2 / sum_products(squares, squares))
    if n_counting < FEWEST_PEOPLE:
        return None
    reach = reach_of_student(n_counting, confidence) * math.sqrt((n - 1) / n * total)
    return value - reach, value + reach
