"""Comparable pairs of training rows as a weighted graph of groups of equal rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise._format import count_of
from likewise._random import stream
from likewise.comparable import Comparability, explain_no_pairs, group_pairs
from likewise.exceptions import NoComparablePairs, ParameterError, TooManyPairs
from likewise.schema import CodedTable, Roles, Schema

MOST_PEOPLE: Final = 500_000  # of more, pairs are listed among some at a time
SOME_PEOPLE: Final = 200_000
PAIRS_A_ROUND: Final = 250_000  # pairs of groups: with more, some are drawn
ROUNDS_A_DRAW: Final = 5  # rounds that use the same of them
DRAWS_A_POOL: Final = 6
FEWEST_PEOPLE: Final = 1_000
COMPILED_FROM: Final = 100_000  # pairs: with fewer, compiling takes longer than it saves

Numbers = NDArray[np.float64]
Rows = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class PairSettings:
    """Which pairs count, and how much."""

    rule: Comparability
    balance_labels: bool = True
    balance_people: bool = True
    memory_limit: int | str | None = None


class Draw(NamedTuple):
    """Pairs of groups for one round, those of a left group together, and the weight of each pair of people; or rows."""

    left: Rows
    right: Rows
    weight: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Pairs of groups of rows in order, the group of each row, and the label of each group."""

    left: Rows
    right: Rows
    group_of: Rows
    labels: NDArray[np.int64]
    n_times: float = 1.0  # how many pairs there are for each of these, where they are a sample
    draw_again: Callable[[np.random.Generator], Groups] | None = None  # another sample

    def refuse_none(self, rule: Comparability, table: CodedTable) -> None:
        """Refuse rows without any pair, and say what to change."""
        if not len(self.left):
            explained = explain_no_pairs(rule, table)
            raise NoComparablePairs(f"No comparable pairs among {count_of(len(table), 'training row')}. {explained}")

    def add_partners(self, sources: NDArray[np.intp]) -> Groups:
        """Add rows behind the others, each paired with the group of its source."""
        n_groups, again = len(self.labels), self.draw_again
        added = np.arange(n_groups, n_groups + len(sources), dtype=np.int32)
        owners = self.group_of[sources]
        left = np.concatenate([self.left, owners])
        order = np.argsort(left, kind="stable")
        return Groups(
            left[order],
            np.concatenate([self.right, added])[order],
            np.concatenate([self.group_of, added]),
            np.concatenate([self.labels, self.labels[owners]]),
            self.n_times,
            None if again is None else lambda random: again(random).add_partners(sources),
        )


def learn_schema(roles: Any, frame: Any) -> Schema:
    """Learn the schema of a frame by its roles, unless it is given; refuse anything else."""
    if isinstance(roles, Schema):
        return roles
    if not isinstance(roles, Roles):
        raise ParameterError(f"is {roles!r}; pass Roles, which name the sensitive columns among others.", "roles")
    return roles.learn(frame)


def check_rule(rule: Any) -> Comparability:
    """Return the rule, or the default one for None; refuse anything else."""
    if not isinstance(rule, Comparability | None):
        raise ParameterError(f"is {rule!r}; give a Comparability, or None for its defaults.", "rule")
    return rule or Comparability()


def find_groups(table: CodedTable, settings: PairSettings, seed: int, *, of_all: bool = False) -> Groups:
    """Return all pairs of groups of equal rows, or those among some of the people, who can be drawn again.

    Some are enough where there are many people with many pairs, unless the pairs ``of_all`` are asked for; and where
    all pairs do not fit into memory.
    """
    random = stream(seed, "people whose pairs are listed")
    if len(table) > MOST_PEOPLE and not of_all:
        some = _list_some(table, settings, random, SOME_PEOPLE)
        if len(some.left) > PAIRS_A_ROUND:
            return some
    try:
        return _list_all(table, settings)
    except TooManyPairs:
        return _list_some(table, settings, random, len(table) // 2)


def _list_all(table: CodedTable, settings: PairSettings) -> Groups:
    groups = group_pairs(table, settings.rule, memory_limit=settings.memory_limit)
    labels = np.zeros(len(groups.sizes), np.int64)
    labels[groups.group_of] = table.labels
    return Groups(groups.left, groups.right, groups.group_of, labels)


def _list_some(table: CodedTable, settings: PairSettings, random: np.random.Generator, n: int) -> Groups:
    """List the pairs among ``n`` people drawn at random, or fewer if these do not fit; the others are in one group."""
    people = np.sort(random.choice(len(table), n, replace=False))
    try:
        found = _list_all(table[people], settings)
    except TooManyPairs:
        if n < FEWEST_PEOPLE:
            raise
        return _list_some(table, settings, random, n // 2)
    group_of = np.full(len(table), len(found.labels), np.int32)
    group_of[people] = found.group_of
    return Groups(
        found.left,
        found.right,
        group_of,
        np.append(found.labels, 0),
        len(table) * (len(table) - 1) / (n * (n - 1)),
        lambda random: _list_some(table, settings, random, n),
    )


@dataclass(frozen=True, eq=False)
class PairGraph:
    """Pairs of groups of rows, with weights that make the mean over all pairs of people a weighted sum.

    Rows of a group have the same partners. A pair of groups stands for all pairs of their rows: the sum over pairs of
    groups of ``weight * mass[left] * mass[right]``, with half of that where both are the same group, is 1.
    """

    left: Rows
    right: Rows
    label: NDArray[np.int64]  # of each group
    scale: Numbers  # of each label: the weight of a pair of people, if nobody had more than one partner
    degree: Numbers  # by which a pair of people weighs less: the partners of a row of each group, or 1
    rows: NDArray[np.intp]  # those in any pair
    group_of: Rows  # of each of these
    row_mass: Numbers  # their sample weights
    mass: Numbers  # summed over each group; 0 of a group without a partner
    n_rows: int  # with the others
    n_pairs: dict[int, int]  # pairs of people by label code
    draw_again: Callable[[np.random.Generator], PairGraph] | None  # where these are a sample

    @classmethod
    def weigh(cls, found: Groups, row_mass: Numbers, settings: PairSettings) -> PairGraph:
        """Weigh pairs of groups, given the sample weight of each row."""
        group_of, label, left, right = found.group_of, found.labels, found.left, found.right
        mass, size = np.asarray(np.bincount(group_of, row_mass), np.float64), np.bincount(group_of).astype(np.float64)
        if not mass.all():
            is_counting = (mass[left] > 0) & (mass[right] > 0)
            left, right = left[is_counting], right[is_counting]
        if not len(left):
            raise NoComparablePairs("No two rows with a sample weight above 0 are comparable. Give others a weight.")
        partners = sum_partners(left, right, mass)
        is_paired = partners > 0
        is_own = np.zeros(len(mass), bool)
        is_own[left[left == right]] = True
        n_partners = partners if (mass == size).all() else sum_partners(left, right, size)
        weights, degree, squares = mass * partners / 2, np.ones(len(mass)), np.bincount(group_of, row_mass**2) / 2
        if settings.balance_people:  # no person's pairs weigh more than one pair does (Metropolis weights)
            degree = np.where(is_paired, partners, 1.0)
            weights = mass * _sum_balanced(left, right, mass, degree) - is_own * mass**2 / degree / 2
        weights -= is_own * squares / degree  # a row is no partner of itself
        totals = np.bincount(label, weights)
        totals = totals * np.count_nonzero(totals) if settings.balance_labels else np.full_like(totals, totals.sum())
        rows, again = np.flatnonzero(is_paired[group_of]), found.draw_again
        counts = np.bincount(label, size * (n_partners - is_own) / 2) * found.n_times
        return cls(
            left=left,
            right=right,
            label=label,
            scale=np.divide(1.0, totals, where=totals > 0, out=np.zeros(len(totals))),
            degree=degree,
            rows=rows,
            group_of=group_of[rows],
            row_mass=row_mass[rows],
            mass=mass * is_paired,
            n_rows=len(row_mass),
            n_pairs={code: round(n) for code, n in enumerate(counts.tolist()) if n},
            draw_again=None if again is None else lambda random: cls.weigh(again(random), row_mass, settings),
        )

    @cached_property
    def weight(self) -> Numbers:
        """The weight of each pair of people."""
        return self._weigh(self.left, self.right)

    @property
    def is_drawn(self) -> bool:
        """Whether there are so many pairs that some are drawn for each round."""
        return len(self.left) > PAIRS_A_ROUND

    def draw(self, random: np.random.Generator, n: int | None = None) -> Draw:
        """Return all pairs, or as many of every label as fit into a round: one of each stretch of its list."""
        if not self.is_drawn:
            return Draw(self.left, self.right, self.weight)
        by_label, n_listed, ends = self._lists
        sizes = np.bincount(self.label[by_label], n_listed[by_label]).astype(np.int64)
        shares = _share(sizes, n or PAIRS_A_ROUND)
        steps = sizes / np.maximum(shares, 1)
        starts = np.cumsum(sizes) - sizes
        ranks = np.concatenate(
            [
                start + np.minimum(((np.arange(share) + random.random(share)) * step).astype(np.int64), size - 1)
                for start, share, step, size in zip(starts, shares, steps, sizes, strict=True)
            ]
        )
        place = np.searchsorted(ends, ranks, side="right")
        group = by_label[place]
        at = self._first[group] + ranks - (ends[place] - n_listed[group])
        left, right = self.left[at], self.right[at]
        return Draw(left, right, self._weigh(left, right) * np.repeat(steps, shares))

    def draw_rows(self, pairs: Draw, random: np.random.Generator) -> tuple[Draw, bool]:
        """Return pairs of rows, by their places in ``rows``, of those of groups, and whether they are but a part.

        The weight of each includes those of its rows. Where they are more than fit into a round, some are drawn of
        every pair of groups: one of each stretch of its list.
        """
        left, right, weight = pairs
        members, sizes = np.argsort(self.group_of, kind="stable"), np.bincount(self.group_of, minlength=len(self.mass))
        first, n_listed = np.cumsum(sizes) - sizes, sizes[left] * sizes[right]
        n_taken = np.ceil(n_listed * min(PAIRS_A_ROUND / n_listed.sum(), 1.0)).astype(np.int64)
        at, steps = np.repeat(np.arange(len(left)), n_taken), n_listed / n_taken
        place, is_part = np.arange(len(at)) - np.repeat(np.cumsum(n_taken) - n_taken, n_taken), bool((steps > 1).any())
        if is_part:
            drawn = ((place + random.random(len(at))) * steps[at]).astype(np.int64)
            place = np.minimum(drawn, n_listed[at] - 1)
        one, other = (
            members[first[group[at]] + k]
            for group, k in zip((left, right), divmod(place, sizes[right][at]), strict=True)
        )
        weight = (np.where(left == right, 0.5, 1.0) * weight * steps)[at] * self.row_mass[one] * self.row_mass[other]
        is_pair = one != other  # in a pair of a group with itself, all are listed both ways round
        return Draw(one[is_pair], other[is_pair], weight[is_pair]), is_part

    def sum_groups(self, values: Numbers) -> Numbers:
        """Sum values of the rows in pairs over each group, column by column, by sample weight."""
        n_groups = len(self.mass)
        sums = np.empty((n_groups, values.shape[1]))
        for k in range(values.shape[1]):
            sums[:, k] = np.bincount(self.group_of, self.row_mass * values[:, k], n_groups)
        return sums

    def _weigh(self, left: Rows, right: Rows) -> Numbers:
        return np.asarray(self.scale[self.label[left]] / np.maximum(self.degree[left], self.degree[right]))

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        """Where the pairs of each left group start."""
        n_listed = np.bincount(self.left, minlength=len(self.mass))
        return np.cumsum(n_listed) - n_listed

    @cached_property
    def _lists(self) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]]:
        """Groups by label, the number of pairs of each left group, and where they end if put together by label."""
        by_label = np.argsort(self.label, kind="stable")
        n_listed = np.diff(self._first, append=len(self.left))
        return by_label, n_listed, np.cumsum(n_listed[by_label])


def sum_partners(left: Rows, right: Rows, values: Numbers, weight: Numbers | None = None) -> Numbers:
    """Sum, for each group, the values of its partners; one that is a partner of itself counts once.

    Where groups have a ``weight``, a pair counts by the smaller one of its two.
    """
    if len(left) >= COMPILED_FROM:
        sums = np.zeros(len(values))
        _add_partners(left, right, values, weight, sums)
        return sums
    n, pair = len(values), 1.0 if weight is None else np.minimum(weight[left], weight[right])
    back = values[left] * pair * (left != right)
    return np.asarray(np.bincount(left, values[right] * pair, n) + np.bincount(right, back, n))


def _sum_balanced(left: Rows, right: Rows, mass: Numbers, degree: Numbers) -> Numbers:
    """Sum, for each left group, the masses of its right ones, each divided by the larger degree of the two."""
    if len(left) >= COMPILED_FROM:
        sums = np.zeros(len(mass))
        _add_balanced(left, right, mass, degree, sums)
        return sums
    return np.asarray(np.bincount(left, mass[right] / np.maximum(degree[left], degree[right]), len(mass)), np.float64)


@compiled
def _add_partners(left: Any, right: Any, values: Any, weight: Any, sums: Any) -> None:
    """Sum over pairs ordered by their left side; a run of the same one is summed in a register."""
    k = 0
    while k < len(left):
        group, total, value = left[k], 0.0, values[left[k]]
        while k < len(left) and left[k] == group:
            partner = np.uint32(right[k])  # an index without a sign takes no test for being negative
            pair = 1.0 if weight is None else min(weight[group], weight[partner])
            total += pair * values[partner]
            if right[k] != group:
                sums[partner] += pair * value
            k += 1
        sums[group] += total


@compiled
def _add_balanced(left: Any, right: Any, mass: Any, degree: Any, sums: Any) -> None:
    for k in range(len(left)):
        group, partner = np.uint32(left[k]), np.uint32(right[k])
        sums[group] += mass[partner] / max(degree[group], degree[partner])


def _share(sizes: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Share a number of pairs among labels: a label with few pairs keeps all of them."""
    shares = np.zeros_like(sizes)
    left_over = most
    for place, label in enumerate(np.argsort(sizes, kind="stable")):
        shares[label] = min(sizes[label], left_over // (len(sizes) - place))
        left_over -= shares[label]
    return shares
