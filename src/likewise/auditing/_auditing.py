"""The audit: people, rule and scores in, numbers and evidence out."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from likewise._wording import count_of
from likewise.auditing._about import describe_audit
from likewise.auditing._audit import Audit
from likewise.auditing._cases import choose_worst, describe_cases
from likewise.auditing._coverage import measure_coverage
from likewise.auditing._directions import measure_directions
from likewise.auditing._distributions import describe_distributions
from likewise.auditing._gathering import Gathered, Progress, gather_pairs
from likewise.auditing._groups import fairlearn_measures, impact_ratio, rate_groups
from likewise.auditing._measures import PAIR_MEASURES, Measure
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
from likewise.auditing._question import Question, TaskName, state_question
from likewise.auditing._settings import check_limit, check_settings
from likewise.comparable import Comparability, EngineName, explain_no_pairs
from likewise.exceptions import NoComparablePairs, ScoresCollapsed
from likewise.schema import Roles, Schema

log = logging.getLogger(__name__)


def audit(
    scores: Any,
    X: Any,
    y: Any = None,
    *,
    roles: Roles | Schema,
    rule: Comparability | None = None,
    task: TaskName = "auto",
    positive: Any = None,
    threshold: float | None = None,
    approval_rate: float | None = None,
    scale: float | None = None,
    gap_limit: float = 0.1,
    baseline: bool = True,
    n_worst: int = 100,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    random_state: int = 0,
    max_pairs: int = 5_000_000,
    engine: EngineName = "auto",
    progress: Progress | None = None,
) -> Audit:
    """Measure how differently comparable people are scored.

    Parameters
    ----------
    scores : array, str, model or function
        The scores of the rows of ``X``: an array, the name of a column of ``X``, anything with ``predict_proba`` (a
        model is shown the columns it was fitted on; without ``predict_proba``, ``predict`` is asked), or a function
        from a frame to scores. Two labels: the probability of the positive one. More: one column a label.
    X : pandas, polars or pyarrow table
        The people.
    y : array, optional
        Their labels, or true numbers; the label column of ``X``, if not given. Rows of ``X``, ``y`` and scores meet by
        position, whatever an index says.
    roles : Roles or Schema
        What the columns are. Give the schema learned from the training rows to scale continuous columns by their
        ranges; with roles alone, the ranges are those of ``X``.
    rule : Comparability, optional
        When two people are comparable; ``Comparability()`` if not given.
    task : {"auto", "binary", "multiclass", "regression"}
        What the scores are; "auto" goes by the labels. In regression the label plays no part in who is comparable.
    positive : optional
        Of two labels, the one that the scores are the probability of; by default the last in order (1 of 0 and 1,
        "yes" of "no" and "yes").
    threshold : float, optional
        The decision is yes from this score on; 0.5 by default, and none in regression. Of more than two labels the
        likeliest is decided on, at any score.
    approval_rate : float, optional
        Instead of a threshold: the share of people to say yes to.
    scale : float, optional
        In regression, the unit of gaps; by default the standard deviation of the outcomes.
    gap_limit : float
        Also say which share of the pairs has a gap above it.
    baseline : bool
        Also measure pairs that are equal in the sensitive columns: how much equal people already differ.
    n_worst : int
        How many of the worst pairs to keep as evidence.
    n_resamples : int
        Replicates of the bootstrap, 40 or more at a confidence of 0.95; 0 for no intervals.
    confidence : float
        Of the intervals, two-sided.
    random_state : int
        One seed: the same numbers again.
    max_pairs : int
        Beyond so many pairs, a uniform sample of them is measured, and the notes say so.
    engine : {"auto", "memory", "duckdb"}
        How to find the pairs; they are the same.
    progress : function, optional
        Called with a step's name and the share of it that is done.

    Returns
    -------
    Audit

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> data = load_dataset("planted")  # its lender scores the group "green" lower by 0.1
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles.learn(data.train.X), rule=data.rule)
    >>> round(found["gap_max"].value, 3), found["within_gap_max"].value
    (0.1, 0.0)
    """
    rule = Comparability() if rule is None else rule
    settings = {
        "task": task,
        "gap_limit": gap_limit,
        "approval_rate": approval_rate,
        "baseline": baseline,
        "n_resamples": n_resamples,
        "confidence": confidence,
        "seed": random_state,
        "max_pairs": max_pairs,
        "n_worst": n_worst,
    }
    check_settings(settings)
    precision = Precision(n_resamples, confidence, random_state)
    question = state_question(
        scores,
        X,
        y,
        roles=roles,
        rule=rule,
        task=task,
        positive=positive,
        threshold=threshold,
        approval_rate=approval_rate,
        scale=scale,
    )
    check_limit(gap_limit, question.scores.task)
    tell = _teller(progress)
    gathered = _gather(question, rule, settings, engine, tell("Finding comparable pairs"))
    if not len(gathered.pairs):
        explained = explain_no_pairs(rule, question.table, question.schema.roles.label)
        raise NoComparablePairs(f"No comparable pairs among {count_of(len(question.table), 'row')}. {explained}")
    within = None
    if baseline and rule.sensitive_differs != "none":
        equal = _equal_in_sensitive(rule)
        within = _gather(question, equal, settings, engine, tell("Finding pairs equal in the sensitive columns"))
    return _measure(question, gathered, within, settings, precision, tell)


def _measure(
    question: Question,
    gathered: Gathered,
    within: Gathered | None,
    settings: dict[str, Any],
    precision: Precision,
    tell: Callable[[str], Callable[[float], None]],
) -> Audit:
    scores, table = question.scores, question.table
    tell("Measuring people")(0.0)
    people = measure_people(scores, table, question.outcomes, **_as_arguments(precision))
    how: dict[str, Any] = {
        "limit": settings["gap_limit"],
        "spread": scores.spread,
        "spread_replicates": people.spread_replicates,
        "precision": precision,
    }
    tell("Measuring pairs")(0.0)
    scored = score_pairs(gathered.pairs, scores)
    slices = measure_pairs(scored, **how)
    equal = None if within is None else score_pairs(within.pairs, scores)
    baselines = None if equal is None else measure_pairs(equal, **how)
    by_slice = {
        label: _join(part, None if baselines is None else baselines[label], precision) for label, part in slices.items()
    }
    tell("Measuring directions")(0.0)
    directions = measure_directions(gathered.pairs, table, scores, **_as_arguments(precision))
    coverage = measure_coverage(gathered.has_partner, table)
    groups = rate_groups(scores, table)
    measures = {
        **_name_slices(by_slice, question),
        **people.measures,
        # a fact about these people: of more of them, more would have a partner, so there is no truth to bound
        "coverage": Measure(float(gathered.has_partner.mean()), n=len(table)),
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
        coverage=coverage,
        groups=groups,
        fairlearn=fairlearn_measures(scores, table),
        worst=_find_worst(question, scored, settings["n_worst"]),
        notes=notes,
        question=question,
        scored=scored,
        summaries=describe_distributions(question, scored, equal),
        about=describe_audit(question, gathered, within, settings) | {"is_collapsed": collapsed},
    )


def _teller(progress: Progress | None) -> Callable[[str], Callable[[float], None]]:
    """Tell of steps to the caller and the log."""

    def start(step: str) -> Callable[[float], None]:
        log.info("%s", step)

        def tell(share: float) -> None:
            if progress is not None:
                progress(step, share)

        return tell

    return start


def _gather(
    question: Question, rule: Comparability, settings: dict[str, Any], engine: EngineName, tell: Callable[[float], None]
) -> Gathered:
    most, seed = settings["max_pairs"], settings["seed"]
    return gather_pairs(question.table, rule, most=most, seed=seed, engine=engine, progress=tell)


def _equal_in_sensitive(rule: Comparability) -> Comparability:
    return Comparability.from_dict(rule.to_dict() | {"sensitive_differs": "none"})


def _as_arguments(precision: Precision) -> dict[str, Any]:
    return {"n_resamples": precision.n_resamples, "confidence": precision.confidence, "seed": precision.seed}


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


def _find_worst(question: Question, scored: ScoredPairs, n_worst: int) -> tuple[Any, ...]:
    positions = choose_worst(scored.pairs.left, scored.pairs.right, scored.gaps, scored.rank_gaps, n_worst)
    return describe_cases(positions, scored, question)
