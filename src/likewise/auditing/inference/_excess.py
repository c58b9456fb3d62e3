"""The excess, by person: how much further people are from comparable people of other groups than from their own.

A person with partners of both kinds has a mean gap to those of other groups and one to those of the own group; the
excess is the mean of the difference over these people. That two groups sit elsewhere in a compared column, or that one
is larger, makes no excess, since everybody is compared with people near by on both sides. But a discrete column that
may change has nothing near by: where groups differ in it, partners of other groups are further away for it alone. So
the excess is also taken of the pairs that are equal in all discrete columns.

It is bounded by the jackknife: what the excess would be without each person, as one of those it is the mean of and as a
partner of others. In clusters, what it would be without each cluster; partners of the own cluster do not count, or
people would be nearer to their own group for the cluster alone. The upper end is no lower than the same error above
none, for where nobody is treated differently, an excess below none has an error that is too small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.inference._intervals import Influence
from likewise.auditing.question._weights import Units
from likewise.comparable import ComparablePairs

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]

AT_ONCE: Final = 1 << 18  # pairs: their temporaries stay small
ROUNDING: Final = 1e-9  # of the weight of a person's partners: what is left is none


@dataclass(frozen=True, slots=True, eq=False)
class ComparedPeople:
    """The labels of all people, how much each counts, and who varies apart from whom."""

    labels: Rows
    weights: Floats
    units: Units


class Partners:
    """Everybody's partners in those pairs of one kind that count; the two people of each have the same label."""

    def __init__(self, pairs: ComparablePairs, people: ComparedPeople, counts: Flags | None = None) -> None:
        if people.units.numbers is not None:
            left, right = (people.units.take(side) for side in (pairs.left, pairs.right))
            counts = (left != right) if counts is None else counts & (left != right)
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

    def influence(self, label: int | None = None) -> Influence:
        """Return the influence of each unit that the mean depends on: what it changes by without that one."""
        counts = self._counts[self._of(label)]
        changes = self._changes.sum(axis=2) if label is None else self._changes[:, :, label]
        changes = changes[:, (changes != 0).any(axis=0)]
        n = float(counts.sum())
        total = n * self.mean(label) + changes[0]
        is_left = n + changes[1] > ROUNDING * n  # without some there is no estimate, which says nothing of them
        without = total[is_left] / (n + changes[1][is_left])
        shrunk = math.sqrt(1 - 1 / max(len(without), 1))
        return Influence((without - without.mean() if len(without) else without) * shrunk, float(len(without)))

    def _of(self, label: int | None) -> Any:
        return slice(None) if label is None else self._people.labels == label

    @cached_property
    def _changes(self) -> Floats:
        """How the sum over people, and their number, change without each unit, by the label of people."""
        labels, units = self._people.labels, self._people.units
        n_labels = int(labels.max(initial=0)) + 1
        changes = np.zeros((2, units.n * n_labels))

        def add(unit: Rows, person: Any, lost: tuple[Floats, Floats]) -> None:
            for change, one in zip(changes, lost, strict=True):
                change += np.bincount(unit * n_labels + labels[person], one, len(change))

        everybody = np.arange(len(labels))
        add(units.take(everybody), everybody, (-self._counts * self.by_person, -self._counts))
        for person, unit, gone in self._entries():
            counts, was, now = self._counts[person], self.by_person[person], self._without(person, gone)
            is_gone = np.isnan(now)
            add(unit, person, (counts * np.where(is_gone, -was, now - was), np.where(is_gone, -counts, 0.0)))
        return changes.reshape(2, units.n, n_labels)

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
        """Yield persons, a unit that each has partners in, and the weight and values of these, of each kind."""
        weights, units, nothing = self._people.weights, self._people.units, (0.0, 0.0)
        entries = (
            (place, person, partner, (weights[partner], weights[partner] * value))
            for place, (side, one) in enumerate(zip(self._sides, self._values, strict=True))
            for person, partner, value in side.directed(one)
        )
        if units.numbers is None:  # nobody is a partner of both kinds
            for place, person, partner, gone in entries:
                yield person, partner, (gone, nothing) if place == 0 else (nothing, gone)
            return
        parts = [
            (np.full(len(person), place), person.astype(np.int64) * units.n + units.take(partner), *gone)
            for place, person, partner, gone in entries
        ]
        places, keys, weight, value = (np.concatenate(column) for column in zip(*parts, strict=True))
        keys, numbers = np.unique(keys, return_inverse=True)
        sums = [
            [np.bincount(numbers, one * (places == place), len(keys)) for one in (weight, value)] for place in (0, 1)
        ]
        yield *np.divmod(keys, units.n), sums
