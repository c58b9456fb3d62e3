"""How gaps, scores and the largest gaps of people are distributed: what charts are drawn from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.evidence._cases import choose_ids, plain_score
from likewise.auditing.pairs._gaps import QUANTILES, quantile_of_sorted
from likewise.auditing.pairs._gather import Gathered
from likewise.auditing.pairs._quantiles import coarsest_edges, count_by_group, count_in_bins, merge_fine, round_edges
from likewise.auditing.pairs._selection import DIGITS
from likewise.auditing.pairs._summary import PairSummary
from likewise.auditing.people._calibration import calibration_bins
from likewise.auditing.people._performance import positives_of
from likewise.auditing.question._question import Question
from likewise.auditing.question._weights import WeightedOrder, mean_of
from likewise.record._internal import (
    CalibrationBin,
    GapDistribution,
    GapSlice,
    PersonGap,
    PersonGaps,
    ScoreDistribution,
    ScoreSlice,
)

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
MOST_PEOPLE: Final = 50


def gap_distribution(question: Question, gathered: Gathered, within: Gathered | None) -> GapDistribution:
    """Count gaps of comparable pairs, and of same-group pairs, in the same bins."""
    sides = [one.sums for one in (gathered, within) if one is not None]
    largest = max(float(sums.most[0].max(initial=0.0)) for sums in sides)
    edges = coarsest_edges(largest, max(sums.step for sums in sides))
    scores, classes = question.scores, question.table.classes
    between, *others = (merge_fine(sums.gap_bins, sums.step, edges) for sums in sides)
    same = others[0] if others else None
    n_pairs, n_same = sides[0].n, sides[-1].n
    slices = [
        _slice("all", (between.sum(axis=0), n_pairs.sum()), same if same is None else (same.sum(axis=0), n_same.sum()))
    ]
    for code, label in enumerate(classes.tolist() if scores.has_labels else []):
        is_positive = None if scores.positive is None else code == scores.positive
        baseline = None if same is None else (same[code], n_same[code])
        named = {"label": label, "is_positive": is_positive}
        slices.append(_slice("label", (between[code], n_pairs[code]), baseline, **named))
    return GapDistribution(tuple(edges.tolist()), tuple(slices))


def _slice(
    of: Literal["all", "label"],
    between: tuple[NDArray[Any], np.int64],
    within: tuple[NDArray[Any], np.int64] | None,
    **named: Any,
) -> GapSlice:
    """Return a slice of pairs; of weights in its bins, as counts that add up to the number of pairs."""
    return GapSlice(
        of=of,
        n=int(between[1]),
        counts=add_up_to(*between),
        n_within=None if within is None else int(within[1]),
        within_counts=None if within is None else add_up_to(*within),
        **named,
    )


def add_up_to(amounts: NDArray[Any], n: Any) -> tuple[float, ...]:
    """Return counts as they are, and weights scaled so that they add up to a number of people or pairs."""
    total = amounts.sum()
    is_weighted = amounts.dtype.kind == "f" and total > 0
    return tuple((amounts * (int(n) / total) if is_weighted else amounts.astype(np.int64)).tolist())


def calibration_of_question(question: Question) -> tuple[CalibrationBin, ...]:
    """Compare the scores of a binary task with the labels, in the bins of the calibration error."""
    if question.scores.task != "binary" or not question.scores.has_labels:
        return ()
    scores = question.scores
    is_positive, levels = positives_of(scores, question.table), scores.ranking.levels()
    bins = calibration_bins(is_positive, scores.values, weights=scores.weighing, levels=levels)
    return tuple(CalibrationBin(**one) for one in bins)  # type: ignore[arg-type]  # n is a whole number


def score_distribution(question: Question) -> ScoreDistribution | None:
    """Count the scores of people by label."""
    scores, table = question.scores, question.table
    if scores.task != "binary" or not scores.has_labels:
        return None
    edges = round_edges(1.0)
    counts = count_by_group(scores.values, table.labels, len(table.classes), edges, scores.weights)
    n_people = np.bincount(table.labels[scores.counting], minlength=len(table.classes))
    slices = zip(table.classes.tolist(), map(add_up_to, counts, n_people), strict=True)
    return ScoreDistribution(tuple(edges.tolist()), tuple(ScoreSlice(*one) for one in slices))


def describe_person_gaps(question: Question, sums: PairSummary) -> PersonGaps:
    """Summarize the largest gap of each matched person, and list the people with the largest."""
    gaps = sums.person_gaps()
    people = choose_people(gaps)
    comparators = sums.partner_of[people].astype(np.int64)
    is_known, weights = ~np.isnan(gaps), question.scores.weights
    known, times = gaps[is_known], None if weights is None else weights[is_known]
    edges = round_edges(float(known.max(initial=0.0)))
    known = np.sort(known) if times is None else known
    find = partial(quantile_of_sorted, known) if times is None else WeightedOrder.of(known, times).quantile
    median, q95 = (find(QUANTILES[name]) if len(known) else None for name in ("median", "q95"))
    return PersonGaps(
        edges=tuple(edges.tolist()),
        counts=add_up_to(count_in_bins(known, edges, times), len(known)),
        n_people=len(known),
        mean=mean_of(known, times) if len(known) else None,
        median=median,
        q95=q95,
        worst=tuple(_list_people(people, comparators, sums.n_pairs_of, gaps, question)),
    )


def choose_people(gaps: NDArray[np.float64]) -> Rows:
    """Return the people with the largest gaps; of gaps that differ by rounding only, earlier rows come first."""
    partnered = np.flatnonzero(~np.isnan(gaps))
    rounded = np.round(gaps[partnered], DIGITS)
    if len(rounded) > MOST_PEOPLE:  # to sort all people takes longer
        is_large = rounded >= np.partition(rounded, -MOST_PEOPLE)[-MOST_PEOPLE]
        partnered, rounded = partnered[is_large], rounded[is_large]
    return partnered[np.lexsort([partnered, -rounded])][:MOST_PEOPLE]


def rows_to_show(sums: PairSummary) -> NDArray[np.int64]:
    """Return the rows of people that an audit shows: those with the largest gaps, and with the most pairs."""
    people = choose_people(sums.person_gaps())
    busiest = np.argmax(sums.n_pairs_of, keepdims=True) if len(sums.n_pairs_of) else people[:0]
    return np.unique(np.concatenate([people, sums.partner_of[people], busiest]).astype(np.int64))


def _list_people(
    people: Rows, comparators: Rows, n_partners: Rows, gaps: NDArray[np.float64], question: Question
) -> Iterator[PersonGap]:
    table, values = question.table, question.scores.values
    labels = table.classes[table.labels[people]].tolist()
    ids = choose_ids(question, people), choose_ids(question, comparators)
    for place, row in enumerate(people.tolist()):
        yield PersonGap(
            row=int(row),
            id=ids[0][place],
            label=labels[place] if question.scores.has_labels else None,
            score=plain_score(values[row]),
            worst_gap=float(gaps[row]),
            n_partners=int(n_partners[row]),
            comparator_row=int(comparators[place]),
            comparator_id=ids[1][place],
            comparator_score=plain_score(values[comparators[place]]),
        )
