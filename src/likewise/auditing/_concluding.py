"""From the gathered pairs to the audit: every number, the evidence and the notes."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from likewise.auditing._about import describe_audit
from likewise.auditing._audit import Audit
from likewise.auditing._cases import describe_pairs
from likewise.auditing._coverage import measure_coverage
from likewise.auditing._directions import measure_directions
from likewise.auditing._distributions import describe_distributions
from likewise.auditing._gathering import Gathered, Progress
from likewise.auditing._groups import fairlearn_measures, impact_ratio, rate_groups
from likewise.auditing._intervals import interval_of_share
from likewise.auditing._notes import is_collapsed, write_notes
from likewise.auditing._pair_measures import (
    Precision,
    ScoredPairs,
    SliceMeasures,
    measure_excess,
    measure_pairs,
    score_pairs,
)
from likewise.auditing._people import measure_people
from likewise.auditing._question import Question
from likewise.auditing._settings import AuditSettings
from likewise.auditing._tallied_directions import correct_directions
from likewise.auditing._worst import choose_worst
from likewise.exceptions import ScoresCollapsed
from likewise.record._internal import PAIR_MEASURES, Direction, Measure, PairCase

log = logging.getLogger(__name__)


def conclude_audit(
    question: Question,
    gathered: Gathered,
    within: Gathered | None,
    settings: AuditSettings,
    progress: Progress | None = None,
) -> Audit:
    """Compute every measure and all evidence from gathered pairs; without ``within`` there is no baseline."""
    precision = Precision(settings.n_resamples, settings.confidence, settings.seed)
    scores, table, tell = question.scores, question.table, teller(progress)
    tell("Measuring people")(0.0)
    people = measure_people(scores, table, question.outcomes, **_as_arguments(precision))
    how: dict[str, Any] = {
        "limit": settings.gap_limit,
        "spread": scores.spread,
        "spread_replicates": people.spread_replicates,
        "precision": precision,
    }
    tell("Measuring pairs")(0.0)
    scored = score_pairs(gathered.pairs, scores)
    slices = measure_pairs(scored, gathered.tally, **how)
    equal = None if within is None else score_pairs(within.pairs, scores)
    baselines = None if equal is None or within is None else measure_pairs(equal, within.tally, **how)
    by_slice = {
        label: _join(part, None if baselines is None else baselines[label], precision) for label, part in slices.items()
    }
    tell("Measuring directions")(0.0)
    directions = _find_directions(question, gathered, precision)
    groups = rate_groups(scores, table)
    measures = {
        **_name_slices(by_slice, question),
        **people.measures,
        "coverage": _measure_coverage(gathered, precision),
        "impact_ratio": Measure(impact_ratio(groups), n=len(table)),
    }
    collapsed = is_collapsed(question)
    notes = write_notes(question, gathered, within, measures, groups, settings)
    if collapsed:
        warnings.warn(notes[0], ScoresCollapsed, stacklevel=3)
    return Audit(
        measures=measures,
        by_label={
            label: by_slice[code] for code, label in enumerate(table.classes.tolist()) if question.outcomes is None
        },
        directions=directions,
        coverage=measure_coverage(gathered.has_partner, table if gathered.probed is None else table[gathered.probed]),
        groups=groups,
        fairlearn=fairlearn_measures(scores, table),
        worst=_find_worst(question, gathered, scored, settings.n_worst),
        notes=notes,
        question=question,
        settings=settings,
        scored=scored,
        summaries=describe_distributions(question, gathered, scored, within, equal),
        about=describe_audit(question, gathered, within, settings) | {"is_collapsed": collapsed},
        tally=gathered.tally,
    )


def teller(progress: Progress | None) -> Callable[[str], Callable[[float], None]]:
    """Tell of steps to the caller and the log."""

    def start(step: str) -> Callable[[float], None]:
        log.info("%s", step)

        def tell(share: float) -> None:
            if progress is not None:
                progress(step, share)

        return tell

    return start


def _as_arguments(precision: Precision) -> dict[str, Any]:
    return {"n_resamples": precision.n_resamples, "confidence": precision.confidence, "seed": precision.seed}


def _measure_coverage(gathered: Gathered, precision: Precision) -> Measure:
    share, n = float(gathered.has_partner.mean()), len(gathered.has_partner)
    if gathered.probed is None:
        # a fact about these people: of more of them, more would have a partner, so there is no truth to bound
        return Measure(share, n=n)
    return Measure(share, *interval_of_share(share, n, precision.confidence), n=n)


def _find_directions(question: Question, gathered: Gathered, precision: Precision) -> tuple[Direction, ...]:
    sampled = measure_directions(gathered.pairs, question.table, question.scores, **_as_arguments(precision))
    if gathered.tally is None:
        return sampled
    return correct_directions(sampled, gathered.tally.transitions, question.table, question.scores)


def _join(between: SliceMeasures, within: SliceMeasures | None, precision: Precision) -> dict[str, Measure]:
    """Put the baseline, and what goes beyond it, next to the measures of a slice."""
    if within is None:
        return between.measures
    baseline = {f"within_{name}": within.measures[name] for name in PAIR_MEASURES}
    return {**between.measures, **measure_excess(between, within, precision), **baseline}


def _name_slices(by_slice: Mapping[int | None, Mapping[str, Measure]], question: Question) -> dict[str, Measure]:
    """Give all measures one flat list of names."""
    named = dict(by_slice[None])
    if question.scores.task != "binary":
        return named
    codes = {"positive": question.scores.positive, "negative": 1 - int(question.scores.positive or 0)}
    for prefix, code in codes.items():
        measures = by_slice.get(code, {})  # a label that nobody has is not among the classes
        named |= {f"{prefix}_{name}": measures.get(name, Measure(None)) for name in by_slice[None]}
    return named


def _find_worst(question: Question, gathered: Gathered, scored: ScoredPairs, n_worst: int) -> tuple[PairCase, ...]:
    if gathered.tally is not None:
        worst = gathered.tally.worst.to_columns()
        return describe_pairs(worst["left"], worst["right"], worst["gap"], worst["rank_gap"], question)
    left, right, gaps, rank_gaps = scored.pairs.left, scored.pairs.right, scored.gaps, scored.rank_gaps
    chosen: np.ndarray[Any, Any] = choose_worst(left, right, gaps, rank_gaps, n_worst)
    return describe_pairs(left[chosen], right[chosen], gaps[chosen], rank_gaps[chosen], question)
