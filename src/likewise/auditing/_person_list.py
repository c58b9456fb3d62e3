"""The worst gap of each person: how these are spread out, and who has the largest, with the comparator."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._cases import DIGITS, choose_ids, plain_score
from likewise.auditing._coverage import person_gaps
from likewise.auditing._gaps import QUANTILES, quantile_of_sorted
from likewise.auditing._histograms import count_in_bins, round_edges
from likewise.auditing._pair_measures import ScoredPairs
from likewise.auditing._question import Question

MOST_PEOPLE: Final = 50

Rows = NDArray[np.int64]


def describe_person_gaps(question: Question, scored: ScoredPairs) -> dict[str, Any]:
    """Sum up the worst gap of everybody who has a partner, and list those with the largest."""
    gaps = person_gaps(scored.pairs, scored.gaps, len(question.table))
    partnered = np.flatnonzero(~np.isnan(gaps))
    known = np.sort(gaps[partnered])
    edges = round_edges(float(known.max(initial=0.0)))
    # gaps that differ by rounding are equal: of these, earlier rows come first
    people = partnered[np.lexsort([partnered, -np.round(gaps[partnered], DIGITS)])][:MOST_PEOPLE]
    return {
        "edges": edges.tolist(),
        "counts": count_in_bins(known, edges).tolist(),
        "n_people": len(partnered),
        "mean": float(known.mean()) if len(known) else None,
        **{name: quantile_of_sorted(known, QUANTILES[name]) if len(known) else None for name in ("median", "q95")},
        "worst": _list_people(people, gaps, question, scored),
    }


def _list_people(
    people: Rows, gaps: NDArray[np.float64], question: Question, scored: ScoredPairs
) -> list[dict[str, Any]]:
    table, values = question.table, question.scores.values
    comparators, n_partners = _find_comparators(people, scored, len(table))
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
