"""Who has a comparable partner, and the largest gap of each person."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise._checks import check_count
from likewise.auditing.pairs._gaps import Pairs
from likewise.auditing.question._question import number_combinations
from likewise.exceptions import ScoreError
from likewise.record._internal import Coverage
from likewise.schema import CodedTable


def find_partnered(pairs: Pairs, n_people: int) -> NDArray[np.bool_]:
    """Return who is matched: in at least one pair.

    Parameters
    ----------
    pairs : ComparablePairs
        Or anything with the row positions ``left`` and ``right``.
    n_people : int
        How many people there are, those in no pair included.

    Returns
    -------
    array of bool, shape (n_people,)

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, mine_pairs
    >>> from likewise.auditing import find_partnered
    >>> table = CodedTable(sensitive=[[0], [1], [1]], labels=[1, 1, 0])
    >>> find_partnered(mine_pairs(table, Comparability()), len(table))
    array([ True,  True, False])
    """
    _refuse_strangers(pairs, n_people)
    has_partner = np.zeros(n_people, np.bool_)
    has_partner[pairs.left] = True
    has_partner[pairs.right] = True
    return has_partner


def measure_coverage(
    has_partner: ArrayLike, table: CodedTable, *, weights: NDArray[np.float64] | None = None
) -> tuple[Coverage, ...]:
    """Count matched people: of all people, by label, by sensitive value and by combination of values.

    Parameters
    ----------
    has_partner : array of bool, shape (n_people,)
        As :func:`find_partnered` gives it.
    table : CodedTable
        The people.
    weights : array of float, shape (n_people,), optional
        How much each person counts; a weight of 0 leaves the person out.

    Returns
    -------
    tuple of Coverage
        All people first; then each label, where there are several; each value of each sensitive column; and, with
        several sensitive columns, each combination. Only what occurs in the table.

    Examples
    --------
    >>> from likewise import CodedTable
    >>> from likewise.auditing import measure_coverage
    >>> for part in measure_coverage([True, True, False], CodedTable(sensitive=[[0], [1], [1]])):
    ...     print(part.columns, part.values, part.share)
    () () 0.6666666666666666
    ('sensitive_0',) (0,) 1.0
    ('sensitive_0',) (1,) 0.5
    """
    partnered = np.asarray(has_partner)
    if partnered.shape != (len(table),) or (partnered.size and partnered.dtype != np.bool_):
        raise ScoreError(
            f"has_partner has shape {partnered.shape} and type {partnered.dtype}; the table has {len(table):,} rows. "
            "Give True or False for each, as find_partnered does."
        )
    (whole,) = _count(partnered, np.zeros(len(table), np.int64), 1, weights)
    found = [Coverage(**whole)]
    if len(table.classes) > 1:
        counted = _count(partnered, table.labels, len(table.classes), weights)
        labels = zip(table.classes.tolist(), counted, strict=True)
        found += [Coverage(label=label, **one) for label, one in labels if one["n_people"]]
    names = table.names["sensitive"]
    for columns in [*((name,) for name in names), *([names] if len(names) > 1 else [])]:
        numbers, combinations = number_combinations(table, columns)
        groups = zip(combinations, _count(partnered, numbers, len(combinations), weights), strict=True)
        found += [Coverage(columns=columns, values=values, **one) for values, one in groups if one["n_people"]]
    return tuple(found)


def person_gaps(pairs: Pairs, gaps: ArrayLike, n_people: int) -> NDArray[np.float64]:
    """Return the largest gap between each person and anybody comparable.

    Parameters
    ----------
    pairs : ComparablePairs
        Or anything with the row positions ``left`` and ``right``.
    gaps : array of float, shape (n_pairs,)
        Of whatever kind: gaps, or rank gaps.
    n_people : int
        How many people there are, those in no pair included.

    Returns
    -------
    array of float, shape (n_people,)
        NaN for people in no pair.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, mine_pairs
    >>> from likewise.auditing import person_gaps, score_gaps
    >>> table = CodedTable(sensitive=[[0], [1], [1], [1]], labels=[1, 1, 1, 0])
    >>> pairs = mine_pairs(table, Comparability())
    >>> person_gaps(pairs, score_gaps(pairs, [0.5, 0.25, 1.0, 0.0]), len(table))
    array([0.5 , 0.25, 0.5 ,  nan])
    """
    _refuse_strangers(pairs, n_people)
    values = np.asarray(gaps, dtype=np.float64)
    if values.shape != (len(pairs.left),):
        raise ScoreError(
            f"The gaps have shape {values.shape}; there are {len(pairs.left):,} pairs. Give one gap per pair."
        )
    worst = np.full(n_people, -np.inf)
    np.maximum.at(worst, pairs.left, values)
    np.maximum.at(worst, pairs.right, values)
    worst[np.isneginf(worst)] = np.nan
    return worst


def _count(
    partnered: NDArray[np.bool_], numbers: NDArray[np.integer], n_numbers: int, weights: NDArray[np.float64] | None
) -> list[dict[str, Any]]:
    """Count the people of each number who count, and those of them who are matched."""
    if weights is not None:
        counting = weights > 0
        partnered, numbers, weights = partnered[counting], numbers[counting], weights[counting]
    partnered = partnered.astype(np.bool_)  # an empty list has no type
    everybody = np.bincount(numbers, minlength=n_numbers).tolist()
    with_partner = np.bincount(numbers[partnered], minlength=n_numbers).tolist()
    shares: list[float | None] = [None] * n_numbers
    if weights is not None:
        sums = (np.bincount(numbers, times, n_numbers).tolist() for times in (weights * partnered, weights))
        shares = [part / whole if whole else None for part, whole in zip(*sums, strict=True)]
    names = ("n_people", "n_with_partner", "weighted_share")
    return [dict(zip(names, one, strict=True)) for one in zip(everybody, with_partner, shares, strict=True)]


def _refuse_strangers(pairs: Pairs, n_people: int) -> None:
    check_count("n_people", n_people, or_none=False)
    if getattr(pairs, "left_table", None) is not getattr(pairs, "right_table", None):
        raise ScoreError("These pairs are between two tables, so their rows are not of one list of people.")
    n_known = 1 + max(int(pairs.left.max(initial=-1)), int(pairs.right.max(initial=-1)))
    if n_known > n_people:
        raise ScoreError(f"n_people is {n_people:,}, but the pairs point at {n_known:,} rows. Count all rows.")
