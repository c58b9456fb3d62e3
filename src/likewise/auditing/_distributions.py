"""How gaps and scores are spread out, counted once and kept as plain data: what charts are drawn from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._calibration import calibration_bins
from likewise.auditing._gathering import Gathered
from likewise.auditing._histograms import count_by_group, round_edges
from likewise.auditing._pair_measures import ScoredPairs
from likewise.auditing._people import positives_of
from likewise.auditing._person_list import describe_person_gaps
from likewise.auditing._question import Question
from likewise.auditing._sketch import coarsest_edges, merge_fine
from likewise.auditing._tally import PairTally

Floats = NDArray[np.float64]


def describe_distributions(
    question: Question, gathered: Gathered, scored: ScoredPairs, within: Gathered | None, equal: ScoredPairs | None
) -> dict[str, Any]:
    """Collect what the record keeps of all pairs and people, whose single values it does not."""
    sides = [(scored, gathered.tally)]
    if within is not None and equal is not None:
        sides.append((equal, within.tally))
    return {
        "distributions": _spread_gaps(question, sides),
        "person_gaps": describe_person_gaps(question, scored, gathered.tally),
        "calibration": _compare_scores(question),
        "score_distribution": _spread_scores(question),
    }


def _spread_gaps(question: Question, sides: list[tuple[ScoredPairs, PairTally | None]]) -> dict[str, Any]:
    """Count gaps of comparable pairs, and of those equal in the sensitive columns, in the same bins."""
    largest = max(
        float(scored.gaps.max(initial=0.0)) if tally is None else float(tally.most[0].max(initial=0.0))
        for scored, tally in sides
    )
    steps = [tally.step for _, tally in sides if tally is not None]
    edges = coarsest_edges(largest, max(steps)) if steps else round_edges(largest)
    scores, classes = question.scores, question.table.classes
    between, *others = (
        count_by_group(scored.gaps, scored.labels, len(classes), edges)
        if tally is None
        else merge_fine(tally.gap_bins, tally.step, edges)
        for scored, tally in sides
    )
    equal = others[0] if others else None
    slices = [{"of": "all", **_counted(between.sum(axis=0), None if equal is None else equal.sum(axis=0))}]
    for code, label in enumerate(classes.tolist() if scores.task != "regression" else []):
        is_positive = None if scores.positive is None else code == scores.positive
        counted = _counted(between[code], None if equal is None else equal[code])
        slices.append({"of": "label", "label": label, "is_positive": is_positive, **counted})
    return {"edges": edges.tolist(), "slices": slices}


def _counted(between: NDArray[np.int64], within: NDArray[np.int64] | None) -> dict[str, Any]:
    return {
        "n": int(between.sum()),
        "counts": between.tolist(),
        "n_within": None if within is None else int(within.sum()),
        "within_counts": None if within is None else within.tolist(),
    }


def _compare_scores(question: Question) -> list[dict[str, Any]]:
    """Put the scores of two labels next to what came true, in the bins of the calibration error."""
    if question.scores.task != "binary":
        return []
    return calibration_bins(positives_of(question.scores, question.table), question.scores.values)


def _spread_scores(question: Question) -> dict[str, Any] | None:
    """Count the scores of people by label."""
    scores, table = question.scores, question.table
    if scores.task != "binary":
        return None
    edges = round_edges(1.0)
    counts = count_by_group(scores.values, table.labels, len(table.classes), edges)
    return {
        "edges": edges.tolist(),
        "slices": [
            {"label": label, "counts": of_label.tolist()}
            for label, of_label in zip(table.classes.tolist(), counts, strict=True)
        ],
    }
