"""How differently the two people of a pair are scored: each metric a plain function of pairs and scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise._ranking import Levels
from likewise._threads import share_rows, take_rows
from likewise.exceptions import ScoreError

Floats = NDArray[np.float64]
GAP_TOLERANCE: Final = 1e-9  # 0.9 - 0.8 > 0.1 in floats: a gap at the limit is not above it
QUANTILES: Final = {"median": 0.5, "q3": 0.75, "q95": 0.95}


class Pairs(Protocol):
    """Anything with the two row positions of each pair."""

    @property
    def left(self) -> NDArray[np.integer]:
        """One row of each pair."""

    @property
    def right(self) -> NDArray[np.integer]:
        """The other."""


def score_gaps(pairs: Pairs, scores: ArrayLike) -> Floats:
    """Return the gap of each pair: the distance between its two scores.

    Parameters
    ----------
    pairs : ComparablePairs
        Or anything with the row positions ``left`` and ``right``.
    scores : array of float, shape (n_people,) or (n_people, n_classes)
        One score per person, or the probabilities of all classes.

    Returns
    -------
    array of float, shape (n_pairs,)
        The absolute difference; between two rows of probabilities, their total-variation distance: the share of
        probability that would have to move to make them equal.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, mine_pairs
    >>> from likewise.auditing import score_gaps
    >>> pairs = mine_pairs(CodedTable(sensitive=[[0], [1]]), Comparability())
    >>> score_gaps(pairs, [0.25, 0.75])
    array([0.5])
    >>> score_gaps(pairs, [[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
    array([0.5])
    """
    values = of_people(pairs, scores)
    return gap_between(values[pairs.left], values[pairs.right])


def gap_between(left: Floats, right: Floats) -> Floats:
    """Return the distance between scores; between rows of probabilities, their total-variation distance."""
    apart: Floats = np.abs(right - left)
    return apart if apart.ndim == 1 else apart.sum(axis=1) / 2


def signed_gaps(pairs: Pairs, scores: ArrayLike) -> Floats:
    """Return the signed gap of each pair: the right score minus the left one.

    Parameters
    ----------
    pairs : ComparablePairs
        Or anything with the row positions ``left`` and ``right``.
    scores : array of float, shape (n_people,)

    Returns
    -------
    array of float, shape (n_pairs,)
        Negative where the right person is scored lower.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, mine_pairs
    >>> from likewise.auditing import signed_gaps
    >>> signed_gaps(mine_pairs(CodedTable(sensitive=[[0], [1]]), Comparability()), [0.75, 0.25])
    array([-0.5])
    """
    values = of_people(pairs, scores)
    if values.ndim != 1:
        raise ScoreError("A signed gap needs one score per person; these are probabilities of several labels.")
    gaps = np.empty(len(pairs.left))

    def measure(part: slice) -> None:
        np.subtract(values.take(pairs.right[part]), values.take(pairs.left[part]), out=gaps[part])

    share_rows(measure, len(gaps))
    return gaps


def rank_scores(scores: ArrayLike, *, weights: ArrayLike | None = None) -> Floats:
    """Return the share of all people each person is scored above, counting equal scores half.

    Parameters
    ----------
    scores : array of float, shape (n_people,) or (n_people, n_classes)
        Columns are ranked one by one.
    weights : array of float, shape (n_people,), optional
        How much each person counts; all alike, if not given.

    Returns
    -------
    array of float
        Between 0 and 1, of the shape of ``scores``. A strictly increasing change of the scores changes nothing.

    Examples
    --------
    >>> from likewise.auditing import rank_scores
    >>> rank_scores([0.1, 0.5, 0.5, 0.9])
    array([0.125, 0.5  , 0.5  , 0.875])
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim == 2:
        ranked = [rank_scores(column, weights=weights) for column in values.T]
        return np.column_stack(ranked) if values.size else values
    return rank_levels(Levels.of(values), None if weights is None else np.asarray(weights, dtype=np.float64))


def rank_levels(levels: Levels, weights: Floats | None) -> Floats:
    """Return what :func:`rank_scores` does, by the levels of the scores."""
    counts, total = levels.count(weights), max(len(levels.of_rows), 1) if weights is None else weights.sum()
    below = np.cumsum(counts)
    below -= counts
    shares: Floats = counts / 2
    shares += below
    shares /= total
    return take_rows(shares, levels.of_rows)


def rank_gaps(pairs: Pairs, scores: ArrayLike) -> Floats:
    """Return the rank gap of each pair: the distance between its two ranks among all scored people.

    Moving all scores closer together makes gaps small; rank gaps stay as they are.

    Parameters
    ----------
    pairs : ComparablePairs
        Or anything with the row positions ``left`` and ``right``.
    scores : array of float, shape (n_people,) or (n_people, n_classes)
        Of all scored people, also those in no pair. With several labels, the label with the largest rank gap counts.

    Returns
    -------
    array of float, shape (n_pairs,)
        From 0 to 1: a share of all people.

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, mine_pairs
    >>> from likewise.auditing import rank_gaps
    >>> pairs = mine_pairs(CodedTable(sensitive=[[0], [1], [1], [1]], labels=[1, 1, 0, 0]), Comparability())
    >>> rank_gaps(pairs, [0.1, 0.2, 0.15, 0.16])
    array([0.75])
    """
    ranks = rank_scores(of_people(pairs, scores))
    return rank_gap_between(ranks[pairs.left], ranks[pairs.right])


def rank_gap_between(left: Floats, right: Floats) -> Floats:
    """Return the distance between ranks; the largest one of all classes."""
    apart: Floats = np.abs(right - left)
    return apart if apart.ndim == 1 else apart.max(axis=1)


def find_flips(pairs: Pairs, decisions: ArrayLike) -> NDArray[np.bool_]:
    """Return which pairs got two different decisions.

    Parameters
    ----------
    pairs : ComparablePairs
        Or anything with the row positions ``left`` and ``right``.
    decisions : array, shape (n_people,)
        What was decided for each person: yes or no, or a label.

    Returns
    -------
    array of bool, shape (n_pairs,)

    Examples
    --------
    >>> from likewise import CodedTable, Comparability, mine_pairs
    >>> from likewise.auditing import find_flips
    >>> find_flips(mine_pairs(CodedTable(sensitive=[[0], [1]]), Comparability()), [True, False])
    array([ True])
    """
    decided = of_people(pairs, decisions, numbers=False)
    flips: NDArray[np.bool_] = decided[pairs.left] != decided[pairs.right]
    return flips


def describe_gaps(gaps: ArrayLike, *, limit: float | None = None) -> Mapping[str, float]:
    """Summarize gaps: mean, median, upper quartile, 95th percentile and maximum.

    Parameters
    ----------
    gaps : array of float, shape (n_pairs,)
    limit : float, optional
        Also return the share of pairs above it.

    Returns
    -------
    dict of str to float
        ``mean``, ``median``, ``q3``, ``q95``, ``max`` and, with a limit, ``share_above``; empty without gaps.

    Examples
    --------
    >>> from likewise.auditing import describe_gaps
    >>> summary = describe_gaps([0.0, 0.125, 0.375, 0.5], limit=0.25)
    >>> summary["mean"], summary["q3"], summary["share_above"]
    (0.25, 0.40625, 0.5)
    """
    values = np.asarray(gaps, dtype=np.float64)
    if not len(values):
        return {}
    ordered = np.sort(values)
    found = {"mean": float(ordered.mean())}
    found |= {name: quantile_of_sorted(ordered, share) for name, share in QUANTILES.items()}
    found["max"] = float(ordered[-1])
    if limit is not None:
        found["share_above"] = float(np.count_nonzero(values > limit + GAP_TOLERANCE) / len(values))
    return found


def quantile_of_sorted(ordered: Floats, share: float) -> float:
    """Interpolate linearly between the two nearest values, as ``numpy.quantile`` does, without sorting again."""
    place = share * (len(ordered) - 1)
    low = min(int(place), len(ordered) - 1)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (ordered[high] - ordered[low]) * (place - low))


def of_people(pairs: Pairs, given: ArrayLike, *, numbers: bool = True) -> NDArray[np.float64]:
    """Check that there is a value for every row that the pairs point at."""
    if getattr(pairs, "left_table", None) is not getattr(pairs, "right_table", None):
        raise ScoreError("These pairs are between two tables, so their rows have no one list of scores.")
    values = np.asarray(given, dtype=np.float64 if numbers else None)
    n_people = 1 + max(int(pairs.left.max(initial=-1)), int(pairs.right.max(initial=-1)))
    what = "scores" if numbers else "decisions"
    if len(values) < n_people:
        raise ScoreError(
            f"There are {len(values):,} {what}, but the pairs point at {n_people:,} rows. Give one per row."
        )
    if numbers and not np.isfinite(values).all():
        raise ScoreError("Some scores are NaN or infinite. Score every row.")
    return values
