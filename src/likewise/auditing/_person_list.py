"""The worst gap of each person: how these are spread out, and who has the largest, with the comparator."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._cases import choose_ids, plain_score
from likewise.auditing._coverage import person_gaps
from likewise.auditing._gaps import QUANTILES, quantile_of_sorted
from likewise.auditing._histograms import count_in_bins, round_edges
from likewise.auditing._pair_measures import ScoredPairs
from likewise.auditing._question import Question
from likewise.auditing._tally import PairTally
from likewise.auditing._worst import DIGITS

MOST_PEOPLE: Final = 50

Rows = NDArray[np.int64]


def describe_person_gaps(question: Question, scored: ScoredPairs, tally: PairTally | None) -> dict[str, Any]:
    """Sum up the worst gap of everybody who has a partner, and list those with the largest."""
    if tally is None:
        gaps = person_gaps(scored.pairs, scored.gaps, len(question.table))
        people = choose_people(gaps)
        comparators, n_partners = _find_comparators(people, scored, len(gaps))
    else:
        gaps = tallied_gaps(tally)
        people = choose_people(gaps)
        comparators, n_partners = tally.partner_of[people].astype(np.int64), tally.n_pairs_of
    partnered = np.flatnonzero(~np.isnan(gaps))
    known = np.sort(gaps[partnered])
    edges = round_edges(float(known.max(initial=0.0)))
    return {
        "edges": edges.tolist(),
        "counts": count_in_bins(known, edges).tolist(),
        "n_people": len(partnered),
        "mean": float(known.mean()) if len(known) else None,
        **{name: quantile_of_sorted(known, QUANTILES[name]) if len(known) else None for name in ("median", "q95")},
        "worst": _list_people(people, comparators, n_partners, gaps, question),
    }


def choose_people(gaps: NDArray[np.float64]) -> Rows:
    """Find those with the largest gaps; of gaps that differ by rounding only, earlier rows come first."""
    partnered = np.flatnonzero(~np.isnan(gaps))
    return partnered[np.lexsort([partnered, -np.round(gaps[partnered], DIGITS)])][:MOST_PEOPLE]


def tallied_gaps(tally: PairTally) -> NDArray[np.float64]:
    """Give the worst gap of each person; NaN for people in no pair."""
    return np.where(tally.n_pairs_of > 0, tally.worst_gap_of, np.nan)


def rows_to_show(tally: PairTally) -> Rows:
    """Say whose values an audit shows: the people of the worst pairs, who has the largest gaps, who most pairs.

    Parameters
    ----------
    tally : PairTally
        Of all pairs.

    Returns
    -------
    array of int
        Rows, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.auditing._internal import PairBatch, PairTally, TallyShape, rows_to_show
    >>> shape = TallyShape(n_people=9, n_labels=1, n_combinations=2, largest=1.0, limit=0.1, n_worst=5, n_kept=10)
    >>> gaps = np.array([0.25])
    >>> tally = PairTally(shape)
    >>> tally.add(PairBatch(left=np.array([2]), right=np.array([7]), labels=np.array([0]), gaps=gaps, rank_gaps=gaps))
    >>> rows_to_show(tally)
    array([2, 7])
    """
    worst = tally.worst.to_columns()
    people = choose_people(tallied_gaps(tally))
    busiest = np.argmax(tally.n_pairs_of, keepdims=True) if len(tally.n_pairs_of) else people[:0]
    rows = [worst["left"], worst["right"], people, tally.partner_of[people], busiest]
    return np.unique(np.concatenate(rows).astype(np.int64))


def _list_people(
    people: Rows, comparators: Rows, n_partners: Rows, gaps: NDArray[np.float64], question: Question
) -> list[dict[str, Any]]:
    table, values = question.table, question.scores.values
    labels = table.classes[table.labels[people]].tolist()
    ids = choose_ids(question, people), choose_ids(question, comparators)
    return [
        {
            "row": int(row),
            "id": ids[0][place],
            "label": None if question.scores.task == "regression" else labels[place],
            "score": plain_score(values[row]),
            "worst_gap": float(gaps[row]),
            "n_partners": int(n_partners[row]),
            "comparator_row": int(comparators[place]),
            "comparator_id": ids[1][place],
            "comparator_score": plain_score(values[comparators[place]]),
        }
        for place, row in enumerate(people.tolist())
    ]


def _find_comparators(people: Rows, scored: ScoredPairs, n_people: int) -> tuple[Rows, Rows]:
    """Find whom each is furthest from, the earliest row of several; and, for everybody, in how many pairs one is."""
    left, right = scored.pairs.left, scored.pairs.right
    n_partners = np.bincount(left, minlength=n_people) + np.bincount(right, minlength=n_people)
    is_listed = np.zeros(n_people, np.bool_)
    is_listed[people] = True
    theirs = np.flatnonzero(is_listed[left] | is_listed[right])
    person = np.concatenate([left[theirs], right[theirs]]).astype(np.int64)
    partner = np.concatenate([right[theirs], left[theirs]]).astype(np.int64)
    gaps = np.tile(np.round(scored.gaps[theirs], DIGITS), 2)
    order = np.lexsort([partner, -gaps, person])
    first = order[np.searchsorted(person[order], people)]
    return partner[first], n_partners
