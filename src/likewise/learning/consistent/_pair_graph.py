"""Comparable pairs of training rows as a weighted graph of groups of equal rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._format import count_of
from likewise._random import stream
from likewise.comparable import Comparability, explain_no_pairs, group_pairs, sample_pairs
from likewise.exceptions import NoComparablePairs, TooManyPairs
from likewise.schema import CodedTable

POOL: Final = 8_000_000  # pairs that are kept of tens of millions, for rounds to draw from
PAIRS_A_ROUND: Final = 250_000  # pairs of groups: with more, each round draws its own

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairSettings:
    """Which pairs count, and how much."""

    rule: Comparability
    balance_labels: bool = True
    balance_people: bool = True
    memory_limit: int | str | None = None


class Draw(NamedTuple):
    """Pairs of groups for one round, and the weight of each."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    weight: Numbers


class Groups(NamedTuple):
    """Pairs of groups of rows, the group of each row, and the label of each group."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    group_of: NDArray[np.int32]
    labels: NDArray[np.int64]

    def refuse_none(self, rule: Comparability, table: CodedTable) -> None:
        """Refuse rows without any pair, and say what to change."""
        if not len(self.left):
            explained = explain_no_pairs(rule, table)
            raise NoComparablePairs(f"No comparable pairs among {count_of(len(table), 'training row')}. {explained}")

    def add_partners(self, sources: NDArray[np.intp]) -> Groups:
        """Add rows behind the others, each paired with the group of its source."""
        n_groups = len(self.labels)
        added = np.arange(n_groups, n_groups + len(sources), dtype=np.int32)
        owners = self.group_of[sources]
        return Groups(
            np.concatenate([self.left, owners]),
            np.concatenate([self.right, added]),
            np.concatenate([self.group_of, added]),
            np.concatenate([self.labels, self.labels[owners]]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class PairGraph:
    """Pairs of groups of rows, with weights that make the mean over all pairs of people a weighted sum.

    Rows of a group have the same partners. A pair of groups stands for all pairs of their rows: the sum over pairs of
    groups of ``weight * mass[left] * mass[right]``, with half of that where both are the same group, is 1. Pairs are
    sorted by label.
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    weight: Numbers  # of one pair of people
    label_ends: NDArray[np.int64]  # where the pairs of each label end
    rows: NDArray[np.intp]  # those in any pair
    group_of: NDArray[np.int32]  # of each of these
    row_mass: Numbers  # their sample weights
    mass: Numbers  # summed over each group
    n_rows: int  # with the others
    n_pairs: dict[int, int]  # pairs of people by label code

    @classmethod
    def find(cls, table: CodedTable, settings: PairSettings, row_mass: Numbers, seed: int) -> PairGraph:
        """Find the pairs of a table, grouped, or a uniform sample of those that do not fit into memory."""
        found = find_groups(table, settings, seed)
        found.refuse_none(settings.rule, table)
        return cls.weigh(found, row_mass, settings)

    @classmethod
    def weigh(cls, found: Groups, row_mass: Numbers, settings: PairSettings) -> PairGraph:
        """Weigh pairs of groups, given the sample weight of each row."""
        group_of = found.group_of
        mass = np.asarray(np.bincount(group_of, row_mass), np.float64)
        is_counting = (mass[found.left] > 0) & (mass[found.right] > 0)
        if not is_counting.any():
            raise NoComparablePairs("No two rows with a sample weight above 0 are comparable. Give others a weight.")
        left, right = found.left[is_counting], found.right[is_counting]
        label = found.labels[left]
        size = np.bincount(group_of).astype(np.float64)
        degree = _count_partners(left, right, mass)
        n_people = np.where(left == right, size[left] * (size[left] - 1) / 2, size[left] * size[right])
        counts = np.bincount(label, n_people)
        order = np.argsort(label, kind="stable") if len(left) <= POOL else _thin(label)
        left, right, label = left[order], right[order], label[order]
        own = np.bincount(group_of, row_mass**2)
        n_weighted = np.where(left == right, (mass[left] ** 2 - own[left]) / 2, mass[left] * mass[right])
        is_paired = np.zeros(len(mass), bool)
        is_paired[left] = is_paired[right] = True
        number = (np.cumsum(is_paired) - 1).astype(np.int32)
        rows = np.flatnonzero(is_paired[group_of])
        return cls(
            left=number[left],
            right=number[right],
            weight=_weigh(left, right, label, degree, n_weighted, settings),
            label_ends=np.searchsorted(label, np.arange(len(counts)), side="right"),
            rows=rows,
            group_of=number[group_of[rows]],
            row_mass=row_mass[rows],
            mass=mass[is_paired],
            n_rows=len(row_mass),
            n_pairs={code: round(n) for code, n in enumerate(counts.tolist()) if n},
        )

    @property
    def is_drawn(self) -> bool:
        """Whether there are so many pairs that each round draws its own."""
        return len(self.left) > self._most

    @property
    def _most(self) -> int:
        return PAIRS_A_ROUND

    def draw(self, random: np.random.Generator) -> Draw:
        """Return all pairs, or as many of every label as fit into a round: one of each stretch of the list."""
        if not self.is_drawn:
            return Draw(self.left, self.right, self.weight)
        starts = np.concatenate([[0], self.label_ends[:-1]])
        sizes = self.label_ends - starts
        parts, scales = [], []
        for start, size, share in zip(starts, sizes, _share(sizes, self._most), strict=True):
            step = size / max(share, 1)
            parts.append(start + ((np.arange(share) + random.random(share)) * step).astype(np.int64))
            scales.append(np.full(share, step))
        at = np.minimum(np.concatenate(parts), len(self.left) - 1)
        return Draw(self.left[at], self.right[at], self.weight[at] * np.concatenate(scales))

    def sum_groups(self, values: Numbers) -> Numbers:
        """Sum values of the rows in pairs over each group, column by column, by sample weight."""
        n_groups = len(self.mass)
        sums = np.empty((n_groups, values.shape[1]))
        for k in range(values.shape[1]):
            sums[:, k] = np.bincount(self.group_of, self.row_mass * values[:, k], n_groups)
        return sums


def find_groups(table: CodedTable, settings: PairSettings, seed: int) -> Groups:
    """Return all pairs of groups of equal rows; where they do not fit, some pairs of rows."""
    try:
        groups = group_pairs(table, settings.rule, memory_limit=settings.memory_limit)
    except TooManyPairs:
        some = sample_pairs(
            table,
            settings.rule,
            n=POOL,
            random_state=stream(seed, "pool of pairs"),
            memory_limit=settings.memory_limit,
            total="estimate",
        )
        return Groups(some.left, some.right, np.arange(len(table), dtype=np.int32), table.labels.astype(np.int64))
    labels = np.zeros(len(groups.sizes), np.int64)
    labels[groups.group_of] = table.labels
    return Groups(groups.left, groups.right, groups.group_of, labels)


def _weigh(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    label: NDArray[np.int64],
    degree: Numbers,
    n_weighted: Numbers,
    settings: PairSettings,
) -> Numbers:
    """Return the weight of one pair of people in each pair of groups."""
    weight = np.ones(len(left))
    if settings.balance_people:  # no person's pairs weigh more than one pair does (Metropolis weights)
        weight = 1 / np.maximum(degree[left], degree[right])
    totals = np.bincount(label, weight * n_weighted)
    if not settings.balance_labels:
        return np.asarray(weight / totals.sum())
    totals *= np.count_nonzero(totals)
    return np.asarray(weight / totals[label])


def _count_partners(left: NDArray[np.int32], right: NDArray[np.int32], mass: Numbers) -> Numbers:
    """Count the partners of a row of each group, by sample weight."""
    n_groups, is_other = len(mass), left != right
    return np.asarray(np.bincount(left, mass[right], n_groups) + np.bincount(right, is_other * mass[left], n_groups))


def _thin(label: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of some millions of pairs in equal steps, sorted by label; of a label with few, all of them."""
    sizes = np.bincount(label)
    places = [np.flatnonzero(label == code) for code in range(len(sizes))]
    steps = [np.linspace(0, max(n - 1, 0), m).astype(np.int64) for n, m in zip(sizes, _share(sizes, POOL), strict=True)]
    return np.concatenate([here[step] for here, step in zip(places, steps, strict=True)])


def _share(sizes: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Share a number of pairs among labels: a label with few pairs keeps all of them."""
    shares = np.zeros_like(sizes)
    left_over = most
    for place, label in enumerate(np.argsort(sizes, kind="stable")):
        shares[label] = min(sizes[label], left_over // (len(sizes) - place))
        left_over -= shares[label]
    return shares
