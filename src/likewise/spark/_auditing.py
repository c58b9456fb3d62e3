"""The audit of people in a Spark frame: coded, scored and paired there, concluded on the driver."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise._format import count_of
from likewise.auditing import Audit
from likewise.auditing._internal import (
    AuditSettings,
    Gathered,
    People,
    Question,
    TaskName,
    answer_question,
    check_scores,
    conclude_audit,
    name_origin,
    rows_to_show,
)
from likewise.comparable import Comparability, explain_no_pairs
from likewise.exceptions import NoComparablePairs, RuleError, ScoreError
from likewise.schema import CodedTable, Roles, Schema
from likewise.spark._asking import Asked, ask_frame
from likewise.spark._checksum import hash_frame
from likewise.spark._faults import faults
from likewise.spark._people import CodedPeople
from likewise.spark._searching import PairSearch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Progress = Callable[[str, float], None]

log = logging.getLogger(__name__)


def audit(
    scores: Any,
    frame: DataFrame,
    *,
    roles: Roles | Schema,
    rule: Comparability | None = None,
    label: str | None = None,
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
    files: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Measure how differently comparable people of a Spark frame are scored.

    It is the audit that :func:`likewise.audit` makes of the same table: the same pairs, the same numbers. The columns
    stay in Spark. The driver holds label, sensitive codes, score and rank of each person, about 30 bytes and, while
    they arrive, twice as much, and up to ``max_pairs`` pairs; 10 million people take about 1 GB there.

    Rows are numbered by file (in the order of their names) and position in it; those of a frame that comes from no
    Parquet files, by partition. likewise has to be installed where the executors run Python, and so has whatever the
    model needs, which travels there as Spark's functions do.

    Parameters
    ----------
    scores : str, model or function
        The column that holds the scores; or anything with ``predict_proba`` (or ``predict``), or a function, which
        are shown pandas frames with some thousand rows at a time.
    frame : Spark DataFrame
        The people.
    roles : Roles or Schema
        What the columns are. Give the schema learned from the training rows to scale continuous columns by their
        ranges; with roles alone, the ranges are those of the frame, as :func:`likewise.spark.learn` finds them.
    rule : Comparability, optional
        When two people are comparable; ``Comparability()`` if not given.
    label : str, optional
        The column of the label, where the roles name none.
    task, positive, threshold, approval_rate, scale, gap_limit, baseline, n_worst, n_resamples, confidence
        As for :func:`likewise.audit`.
    random_state, max_pairs
        As for :func:`likewise.audit`; beyond ``max_pairs`` Spark tallies all pairs, as ``when_too_many="stream"`` does.
    files : sequence of str, optional
        The files that the frame was read from, in the order in which their rows are to be numbered, as
        ``frame.inputFiles()`` names them; by name, if not given.
    progress : function, optional
        Called with a step's name and the share of it that is done.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pyspark.sql import SparkSession
    >>> import likewise.spark
    >>> from likewise import Roles
    >>> session = SparkSession.builder.getOrCreate()
    >>> people = {"sex": ["f", "m", "m"], "age": [31, 31, 60], "hired": [1, 1, 0], "score": [0.5, 0.75, 0.25]}
    >>> roles = Roles(sensitive="sex", continuous="age", label="hired")
    >>> found = likewise.spark.audit("score", session.createDataFrame(pa.table(people)), roles=roles)
    >>> found["gap_max"].value, found.worst[0].left_score
    (0.25, 0.5)
    """
    rule = Comparability() if rule is None else rule
    if not isinstance(rule, Comparability):
        raise RuleError(f"The rule is {rule!r}; give a Comparability, such as Comparability(max_discrete_changes=1).")
    settings = AuditSettings(
        task=task,
        positive=positive,
        threshold=threshold,
        approval_rate=approval_rate,
        scale=scale,
        gap_limit=gap_limit,
        baseline=baseline,
        n_worst=n_worst,
        n_resamples=n_resamples,
        confidence=confidence,
        seed=random_state,
        max_pairs=max_pairs,
    )
    asked = Asked(scores=scores, roles=roles, rule=rule, label=label, settings=settings, files=files)
    return audit_frame(frame, asked, progress)


def audit_frame(frame: DataFrame, asked: Asked, progress: Progress | None) -> Audit:
    """Carry an audit out, and have Spark forget what it kept for it."""
    if asked.scores is None:
        raise ScoreError("There are no scores. Name the column that holds them, or give a model or a function.")
    tell = _teller(progress)
    tell("Learning what the columns hold")
    with faults("auditing the people"):
        people, settled = ask_frame(frame, asked)
        assert settled is not None  # there are scores
        try:
            tell("Coding and scoring people")
            held = people.gather()
            values = check_scores(held.given, _subject(asked.scores), people.n_people)
            question = answer_question(
                asked.settings,
                settled,
                values,
                frame=None,
                schema=people.coder.schema,
                table=held.table,
                rule=asked.rule,
                outcomes=held.outcomes,
                origin=name_origin(asked.scores),
            )
            asked.settings.check_limit(question.scores.task)
            return _measure(people, question, asked.settings, progress)
        finally:
            people.forget()


def _measure(people: CodedPeople, question: Question, settings: AuditSettings, progress: Progress | None) -> Audit:
    tell, rule = _teller(progress), question.rule
    search = PairSearch(people, question, settings)
    try:
        tell("Finding comparable pairs")
        tally = search.tally(rule)
        if not tally.n_total:
            reason = _explain(rule, question, people.coder.reference)
            raise NoComparablePairs(f"No comparable pairs among {count_of(people.n_people, 'row')}. {reason}")
        within = None
        if settings.baseline and rule.sensitive_differs != "none":
            tell("Finding pairs equal in the sensitive columns")
            equal = Comparability.from_dict(rule.to_dict() | {"sensitive_differs": "none"})
            within = Gathered.from_tally(search.tally(equal), question.table)
    finally:
        search.forget()
    tell("Fetching the people to show")
    rows = rows_to_show(tally)
    shown, table = people.look_up(rows)
    checksum = hash_frame(people.frame, people.coder.reference, people.n_people)
    question = replace(question, shown=People(frame=shown, table=table, rows=rows), checksum=checksum)
    return conclude_audit(question, Gathered.from_tally(tally, question.table), within, settings, progress)


def _teller(progress: Progress | None) -> Callable[[str], None]:
    def tell(step: str) -> None:
        log.info("%s", step)
        if progress is not None:
            progress(step, 0.0)

    return tell


def _subject(scores: Any) -> str:
    """Begin a sentence about scores."""
    if isinstance(scores, str):
        return f"The scores of column '{scores}'"
    return "The scores of the function" if not hasattr(scores, "predict") else f"The scores of {type(scores).__name__}"


def _explain(rule: Comparability, question: Question, reference: CodedTable) -> str:
    """Ask what to do of a small table: one or two people of each kind, with all columns that there are."""
    table = question.table
    kinds, counts = np.unique(np.column_stack([table.labels, table.sensitive]), axis=0, return_counts=True)
    few = np.repeat(kinds, np.minimum(counts, 2), axis=0)
    others = ("discrete", "ordinal", "matched", "continuous")
    empty: dict[str, Any] = {kind: np.zeros((len(few), len(reference.names[kind]))) for kind in others}
    small = CodedTable(
        labels=few[:, 0], classes=table.classes, sensitive=few[:, 1:], names=reference.names, **_as_codes(empty)
    )
    return explain_no_pairs(rule, small, question.schema.roles.label)


def _as_codes(arrays: dict[str, Any]) -> dict[str, Any]:
    return {kind: array if kind == "continuous" else array.astype(np.int32) for kind, array in arrays.items()}
