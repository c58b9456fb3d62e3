"""From the gathered pairs to the audit: every number, the evidence and the notes."""

from __future__ import annotations

import logging
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import metadata
from typing import Any, Final

import numpy as np

from likewise._memory import give_memory_back
from likewise._threads import begin
from likewise._version import __version__
from likewise.auditing._settings import AuditSettings
from likewise.auditing.evidence._coverage import measure_coverage
from likewise.auditing.evidence._directions import adjust_together, describe_directions
from likewise.auditing.evidence._distributions import (
    calibration_of_question,
    describe_person_gaps,
    gap_distribution,
    score_distribution,
)
from likewise.auditing.evidence._groups import fairlearn_measures, measure_impact, rate_groups
from likewise.auditing.evidence._reference import measure_targets
from likewise.auditing.evidence._regression import regress_on_groups
from likewise.auditing.evidence._review_pairs import WorsePairs, describe_worst, find_candidates
from likewise.auditing.inference._intervals import METHOD, interval_of_share
from likewise.auditing.inference._pair_measures import measure_pairs
from likewise.auditing.pairs._gather import Gathered, Progress
from likewise.auditing.pairs._meter import ScoredPairs
from likewise.auditing.people._performance import measure_people
from likewise.auditing.question._question import Question
from likewise.auditing.question._reference import Reference
from likewise.auditing.question._scores import Scores
from likewise.auditing.question._weights import effective_size, mean_of
from likewise.auditing.result._audit import Audit
from likewise.auditing.result._notes import find_note, write_notes
from likewise.comparable import Comparability
from likewise.exceptions import ScoresCollapsed
from likewise.record import AuditRecord
from likewise.record._internal import (
    MIRROR,
    OF_SCORES,
    ColumnDirections,
    Coverage,
    DataOrigin,
    Direction,
    Measure,
    Note,
    PairTotals,
    SettingsRecord,
    WeightsRecord,
    key_of,
    split_key,
)
from likewise.schema import Schema
from likewise.schema._internal import hash_array, hash_table

PACKAGES: Final = ("numpy", "scipy", "scikit-learn", "numba", "narwhals", "pyarrow")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Checksums:
    """What the people and their scores are known by."""

    table: str
    scores: str


def find_checksums(question: Question) -> Checksums:
    """Return those of a question."""
    return Checksums(question.checksum or hash_table(question.table), hash_array(question.scores.values))


def conclude_audit(
    question: Question,
    gathered: Gathered,
    within: Gathered | None,
    settings: AuditSettings,
    progress: Progress | None = None,
    checksums: Callable[[], Checksums] | None = None,
    *,
    mirrored: Gathered | None = None,
    candidates: WorsePairs | None = None,
) -> Audit:
    """Compute every measure and all evidence from gathered pairs; without ``within`` there is no baseline.

    Where the rule asks that the control is no better, ``mirrored`` has the pairs whose target is no better.
    ``candidates`` are the pairs of which some are shown, where the columns of others are not at hand.
    ``checksums`` returns those of the question, which may take long, if they were begun before.
    """
    checksums = begin(partial(find_checksums, question), len(question.table)) if checksums is None else checksums
    scores, table, start = question.scores, question.table, step_reporter(progress)
    start("Measuring people and pairs")(0.0)
    reference = question.reference
    by_slice, scored, of_pairs = _measure_pairs(question, gathered, within, settings)
    if candidates is None:
        candidates = find_candidates(question, gathered, settings.n_worst, settings.seed)
    give_memory_back(len(table))
    confidence = settings.confidence if settings.n_resamples else None
    people = measure_people(scores, table, question.outcomes, settings)
    groups = rate_groups(scores, table, reference=reference.values, confidence=confidence)
    directions = _find_directions(question, gathered, confidence, reference)
    sensitive = table.names["sensitive"]
    of_columns = [
        _find_directions(question, gathered, confidence, reference, [name])
        for name in (sensitive if len(sensitive) > 1 and directions else ())
    ]
    directions, *of_columns = adjust_together(directions, *of_columns)
    give_memory_back(len(table))
    start("Gathering evidence")(0.0)
    measures = {
        **_name_slices(by_slice, table.classes.tolist() if scores.has_labels else []),
        **measure_targets(question, gathered, settings),
        **({} if mirrored is None else measure_targets(question, mirrored, settings, part=MIRROR)),
        **people,
        "matched_share": _measure_coverage(gathered, scores, settings.confidence),
        "impact_ratio": measure_impact(groups, scores.n_people, confidence),
    }
    weights = _describe_weights(question, gathered, within)
    notes = write_notes(question, gathered, within, measures, settings, weights)
    collapse = find_note(notes, "collapsed")
    if collapse is not None:
        warnings.warn(str(collapse), ScoresCollapsed, stacklevel=3)
    if question.are_decisions:
        measures = {key: one for key, one in measures.items() if split_key(key)[0] not in OF_SCORES}
    evidence: dict[str, Any] = {
        "directions": directions,
        "column_directions": tuple(map(ColumnDirections, sensitive, of_columns)),
        "groups": groups,
        "regression": regress_on_groups(question, confidence),
        **of_pairs,
        **_show_people(question, gathered, candidates),
        "weights": weights,
    }
    record = _write_record(question, gathered, within, settings, measures, notes, checksums(), evidence)
    baseline = None if within is None else (ScoredPairs(within.pairs, scores), within.summary)
    return Audit(
        record=record, question=question, settings=settings, scored=scored, summary=gathered.summary, baseline=baseline
    )


def _show_people(question: Question, gathered: Gathered, candidates: WorsePairs) -> dict[str, Any]:
    """Return the evidence about people: who is matched, how they are scored, and pairs to look at."""
    return {
        "coverage": _cover_groups(gathered, question),
        "fairlearn": fairlearn_measures(question.scores, question.table),
        "calibration": calibration_of_question(question),
        "score_distribution": score_distribution(question),
        "worst_pairs": describe_worst(question, candidates),
    }


def _measure_pairs(
    question: Question, gathered: Gathered, within: Gathered | None, settings: AuditSettings
) -> tuple[dict[int | None, dict[str, Measure]], ScoredPairs, dict[str, Any]]:
    """Measure the pairs by label, with those of the baseline; also return the pairs, and the evidence that is of them.

    Gaps of pairs are not looked at where they are in a summary, unless intervals are wanted.
    """
    scores = question.scores
    scored = ScoredPairs(gathered.pairs, scores)
    equal = None if within is None else ScoredPairs(within.pairs, scores)
    baseline = None if within is None or equal is None else (equal, within.summary)

    measures = measure_pairs(scored, gathered.summary, settings, baseline)
    evidence = {
        "distributions": gap_distribution(question, gathered, within),
        "person_gaps": describe_person_gaps(question, gathered.sums),
    }
    return measures, scored, evidence


def describe_rule(rule: Comparability, schema: Schema, scores: Scores) -> str:
    """Describe in words when two people are comparable, also where they need not share an outcome."""
    described = rule.describe(schema, same_label=scores.has_labels)
    return described if scores.is_labelled else f"{described} Their outcomes are not known, and not compared."


def step_reporter(progress: Progress | None) -> Callable[[str], Callable[[float], None]]:
    """Return a function that logs a step and returns another to report the share of it that is done."""

    def start(step: str) -> Callable[[float], None]:
        log.info("%s", step)

        def report(share: float) -> None:
            if progress is not None:
                progress(step, share)

        return report

    return start


def _write_record(
    question: Question,
    gathered: Gathered,
    within: Gathered | None,
    settings: AuditSettings,
    measures: Mapping[str, Measure],
    notes: tuple[Note, ...],
    checksums: Checksums,
    evidence: Mapping[str, Any],
) -> AuditRecord:
    scores, table, roles = question.scores, question.table, question.schema.roles
    labels, positive, controls = table.classes.tolist(), scores.positive, question.reference.values or None
    return AuditRecord(
        likewise=__version__,
        made_at=None,
        data=DataOrigin(
            file=None,
            sha256=None,
            n_rows=len(table),
            table_checksum=checksums.table,
            scores_checksum=checksums.scores,
            scores=question.origin,
        ),
        roles=roles.to_dict(),
        rule=question.rule.to_dict(),
        rule_in_words=describe_rule(question.rule, question.schema, scores),
        task=scores.task,
        positive=labels[positive] if positive is not None and positive < len(labels) else None,
        favours_low=scores.favours_low,
        labels=tuple(labels) if scores.has_labels else (),
        threshold=scores.threshold,
        scale=scores.scale,
        settings=SettingsRecord(
            **settings.to_dict() | {"reference": controls, "confirmed": settings.confirmed}, intervals=METHOD
        ),
        versions=dict(list_versions()),
        pairs=_count_pairs(gathered, within),
        is_collapsed=find_note(notes, "collapsed") is not None,
        measures=measures,
        notes=notes,
        verdict=None,
        **evidence,
    )


def _count_pairs(gathered: Gathered, within: Gathered | None) -> PairTotals:
    """Count the pairs there are, those measured, and those that intervals are computed from."""
    return PairTotals(
        measured="all" if gathered.is_complete else "sample",
        n_probed=None if gathered.probed is None else len(gathered.probed),
        n=gathered.n_measured,
        n_total=gathered.n_total,
        n_kept=len(gathered.pairs),
        n_total_error=gathered.n_total_error,
        n_within=None if within is None else within.n_measured,
        n_within_total=None if within is None else within.n_total,
        n_within_kept=None if within is None else len(within.pairs),
        n_within_total_error=None if within is None else within.n_total_error,
    )


@cache
def list_versions(more: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions of Python, of the packages that numbers depend on, and of ``more`` where installed."""
    versions = {"python": platform.python_version()}
    for package in (*PACKAGES, *more):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _describe_weights(question: Question, gathered: Gathered, within: Gathered | None) -> WeightsRecord | None:
    """Return where the weights come from, and effective numbers of people and pairs; None without weights."""
    given, scores = question.weights, question.scores
    if given is None:
        return None
    return WeightsRecord(
        origin=given.origin,
        checksum=given.checksum,
        n_people=scores.n_people,
        n_zero=given.n_zero,
        n_effective=scores.weighing.effective,
        n_effective_pairs=gathered.effective_size,
        n_effective_within=None if within is None else within.effective_size,
    )


def _measure_coverage(gathered: Gathered, scores: Scores, confidence: float) -> Measure:
    weights = scores.weights if gathered.probed is None or scores.weights is None else scores.weights[gathered.probed]
    share = mean_of(gathered.has_partner, weights)
    n = len(gathered.has_partner) if weights is None else int(np.count_nonzero(weights))
    if gathered.probed is None:
        # a fact about these people: among more of them, more would have a partner, so there is no truth to bound
        return Measure(share, n=n)
    return Measure(share, *interval_of_share(share, n if weights is None else effective_size(weights), confidence), n=n)


def _cover_groups(gathered: Gathered, question: Question) -> tuple[Coverage, ...]:
    table, weights = question.table, question.scores.weights
    if gathered.probed is not None:
        table, weights = table[gathered.probed], None if weights is None else weights[gathered.probed]
    return measure_coverage(gathered.has_partner, table, weights=weights)


def _find_directions(
    question: Question,
    gathered: Gathered,
    confidence: float | None,
    reference: Reference,
    columns: Sequence[str] | None = None,
) -> tuple[Direction, ...]:
    found = describe_directions(
        gathered.sums.transitions,
        gathered.pairs,
        question.table,
        question.scores,
        reference,
        confidence=confidence,
        columns=columns,
    )
    if question.shown is None:
        return found
    # compared columns stayed on Spark, and nothing is adjusted by what is not at hand
    unknown: dict[str, Any] = dict.fromkeys(("adjusted_gap", "adjusted_low", "adjusted_high", "p_value", "p_adjusted"))
    return tuple(replace(one, **unknown, balance=()) for one in found)


def _name_slices(by_slice: Mapping[int | None, Mapping[str, Measure]], labels: Sequence[Any]) -> dict[str, Measure]:
    """Return all measures of pairs by name: those of all pairs, then those of each label."""
    slices = [(None, by_slice[None]), *((label, by_slice[code]) for code, label in enumerate(labels))]
    return {key_of(name, label): measure for label, measures in slices for name, measure in measures.items()}
