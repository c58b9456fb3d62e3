"""What mining finds: pairs of row positions, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.schema import CodedTable

Rows = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class ComparablePairs:
    """Point at comparable pairs in a table, or between two tables; the rows themselves are not copied.

    Pairs are ordered by ``left``, then ``right``. Within one table ``left < right``.

    Parameters
    ----------
    left, right : array of int, shape (n_pairs,)
        Row positions in ``left_table`` and ``right_table``.
    left_table, right_table : CodedTable
        Where the rows are; the same table twice when pairs were mined within one.
    n_total : int, optional
        How many comparable pairs there are in all; more than ``len(self)`` when only some were kept, None when
        mining stopped at a limit before the total was known.
    n_total_error : float, optional
        The standard error of ``n_total`` where it is an estimate; None where it is exact.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, mine_pairs
    >>> table = CodedTable(sensitive=[[0], [1], [1]], labels=[1, 1, 0])
    >>> pairs = mine_pairs(table, Comparability())
    >>> pairs.left, pairs.right, pairs.label
    (array([0], dtype=int32), array([1], dtype=int32), array([1]))
    """

    left: Rows
    right: Rows
    left_table: CodedTable
    right_table: CodedTable
    n_total: int | None = None
    n_total_error: float | None = None

    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        about = "" if self.n_total_error is None else "about "
        of = "" if self.is_complete else " of more" if self.n_total is None else f" of {about}{self.n_total:,}"
        return f"<ComparablePairs: {len(self):,}{of} pairs>"

    @property
    def is_complete(self) -> bool:
        """Whether these are all the comparable pairs there are."""
        return self.n_total == len(self) and self.n_total_error is None

    @property
    def label(self) -> NDArray[Any]:
        """The label that both rows of each pair have."""
        return self.left_table.classes[self.left_table.labels[self.left]]


@dataclass(frozen=True, slots=True, eq=False)
class GroupedPairs:
    """Point at comparable pairs of groups of equal rows: the same pairs, compressed.

    Rows are equal when they have the same label and the same values in all compared columns. Pairs of groups are
    ordered by ``left``, then ``right``, with ``left < right``; a group is paired with itself only where equal rows
    are comparable to each other (``sensitive_differs="none"``) and there are several.

    Parameters
    ----------
    left, right : array of int, shape (n_group_pairs,)
        Groups, numbered by the first row of each.
    group_of : array of int, shape (n_rows,)
        The group of each row.
    table : CodedTable
        Where the rows are.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, group_pairs
    >>> table = CodedTable(sensitive=[[0], [1], [1], [1]], labels=[1, 1, 1, 0])
    >>> groups = group_pairs(table, Comparability())
    >>> groups.group_of.tolist(), groups.left.tolist(), groups.right.tolist(), groups.n_pairs.tolist()
    ([0, 1, 1, 2], [0], [1], [2])
    """

    left: Rows
    right: Rows
    group_of: NDArray[np.int32]
    table: CodedTable

    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        return f"<GroupedPairs: {self.n_total:,} pairs (pairs of groups: {len(self):,}, groups: {len(self.sizes):,})>"

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows each group has."""
        return np.bincount(self.group_of).astype(np.int64)

    @property
    def n_pairs(self) -> NDArray[np.int64]:
        """How many pairs of rows each pair of groups stands for."""
        left, right, sizes = np.asarray(self.left), np.asarray(self.right), self.sizes
        if left.shape != right.shape or not all(np.issubdtype(side.dtype, np.integer) for side in (left, right)):
            raise ValueError(
                f"left and right are whole numbers, one of each for a pair; there are {len(left):,} of {left.dtype} "
                f"and {len(right):,} of {right.dtype}."
            )
        if len(left) and not 0 <= min(left.min(), right.min()) <= max(left.max(), right.max()) < len(sizes):
            raise IndexError(
                f"left and right number groups as group_of does, from 0 to {len(sizes) - 1:,}; others occur."
            )
        of_left = sizes[left]
        return np.where(left == right, of_left * (of_left - 1) >> 1, of_left * sizes[right])

    @property
    def n_total(self) -> int:
        """How many pairs of rows there are in all."""
        return int(self.n_pairs.sum())


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Numbers of comparable pairs, by label and by the sensitive values of the two people.

    Within one table a pair has no direction: the two sensitive values stand in the order of their codes. Between
    two tables the left row's come first.

    Parameters
    ----------
    counts : mapping of (label, sensitive values, sensitive values) to int
        Only what occurs.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, count_pairs
    >>> table = CodedTable(sensitive=[[0], [1], [1]], labels=[1, 1, 1])
    >>> count_pairs(table, Comparability()).by_transition
    {((0,), (1,)): 2}
    """

    counts: Mapping[tuple[Any, tuple[Any, ...], tuple[Any, ...]], int]

    @property
    def total(self) -> int:
        """All comparable pairs."""
        return sum(self.counts.values())

    @property
    def by_label(self) -> dict[Any, int]:
        """Pairs for each label that has any."""
        totals: Counter[Any] = Counter()
        for (label, _, _), n in self.counts.items():
            totals[label] += n
        return dict(totals)

    @property
    def by_transition(self) -> dict[tuple[tuple[Any, ...], tuple[Any, ...]], int]:
        """Pairs for each two combinations of sensitive values."""
        totals: Counter[tuple[tuple[Any, ...], tuple[Any, ...]]] = Counter()
        for (_, first, second), n in self.counts.items():
            totals[first, second] += n
        return dict(totals)
