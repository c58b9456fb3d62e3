"""The audit of people in a Spark frame: encoded, scored and paired in Spark, concluded on the driver."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from likewise._checks import parameter
from likewise._format import count_of
from likewise.auditing import Audit
from likewise.auditing._internal import (
    AuditSettings,
    Gathered,
    People,
    Question,
    SampleWeights,
    build_question,
    check_scores,
    check_weights,
    conclude_audit,
    find_candidates,
    name_origin,
    refuse_unanswerable,
    rows_to_show,
    thin_out,
)
from likewise.comparable import Comparability, explain_no_pairs
from likewise.comparable._internal import check_rule
from likewise.exceptions import NoComparablePairs, ScoreError
from likewise.schema import CodedTable, Roles, Schema
from likewise.spark._frames import faults
from likewise.spark._pairs import PairSearch
from likewise.spark._people import CodedPeople, FrameQuestion, Gathering, hash_frame, prepare_people

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Progress = Callable[[str, float], None]

MOST_SENT: Final = 2_000  # pairs that people may be shown of: their columns are fetched to find the closest matches
SETTINGS: Final = {one.name for one in fields(AuditSettings)} - {"when_too_many"}  # Spark always streams

log = logging.getLogger(__name__)


@AuditSettings.listed_by(SETTINGS)
def audit(
    scores: Any,
    frame: DataFrame,
    *,
    roles: Roles | Schema,
    rule: Comparability | None = None,
    label: str | None = None,
    files: Sequence[str] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Audit:
    """Audit the score gaps between comparable people of a Spark frame.

    The result equals that of :func:`likewise.audit` on the same table: the same pairs, the same numbers. The columns
    stay in Spark. The driver holds the label, sensitive codes, score and rank of each person (about 30 bytes, and twice
    that while collecting them), and up to ``max_pairs`` pairs; 10 million people take about 1 GB.

    Rows are numbered by file (sorted by name) and position in it, or by partition if the frame does not come from
    Parquet files. likewise and the libraries of the model must be installed on the executors.

    Parameters
    ----------
    scores : str, model or function
        The column with the scores; or anything with ``predict_proba`` (or ``predict``), or a function, called with
        pandas frames of some thousand rows.
    frame : Spark DataFrame
        The people.
    roles : Roles or Schema
        The roles of the columns. Pass a schema learned from the training rows to scale continuous columns by their
        ranges; with roles alone, the ranges are those of the frame, as by :func:`likewise.spark.learn`.
    rule : Comparability, optional
        When two people are comparable; ``Comparability()`` if not given.
    label : str, optional
        The label column, if the roles name none; without either, people are compared whatever their outcome.
    files : sequence of str, optional
        The files of the frame, as in ``frame.inputFiles()``, in the order to number their rows; by name, if not given.
    progress : function, optional
        Called with the name of a step and the share of it that is done.
    **settings
        The other parameters of :func:`likewise.audit`, from ``task`` to ``max_pairs``; ``sample_weight`` is a column.
        Beyond ``max_pairs`` Spark sums up all pairs, as with ``when_too_many="stream"``.

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
    rule = check_rule(Comparability() if rule is None else rule)
    checked = AuditSettings.of_arguments(settings, SETTINGS)
    asked = FrameQuestion(scores=scores, roles=roles, rule=rule, label=label, settings=checked, files=files)
    return audit_frame(frame, asked, progress)


def audit_frame(frame: DataFrame, asked: FrameQuestion, progress: Progress | None) -> Audit:
    """Run an audit, and release what Spark has cached for it."""
    if asked.scores is None:
        raise ScoreError("There are no scores. Name their column, or pass a model or a function.")
    report = _reporter(progress)
    report("Learning the schema")
    with faults("auditing the people"):
        people, resolved = prepare_people(frame, asked)
        assert resolved is not None  # there are scores
        try:
            report("Encoding and scoring people")
            held = people.gather()
            values = check_scores(held.given, _subject(asked.scores), people.n_people)
            question = build_question(
                asked.settings,
                resolved,
                values,
                frame=None,
                schema=people.coder.schema,
                table=held.table,
                rule=asked.rule,
                outcomes=held.outcomes,
                origin=name_origin(asked.scores),
                words=people.coder.words,
                weights=_weigh(held, asked.settings.sample_weight),
            )
            refuse_unanswerable(asked.rule, question)
            asked.settings.check_limit(question.scores.task)
            return _measure(people, question, asked.settings, progress)
        finally:
            people.forget()


def _measure(people: CodedPeople, question: Question, settings: AuditSettings, progress: Progress | None) -> Audit:
    report, rule = _reporter(progress), question.rule
    search = PairSearch(people, question, settings)
    try:
        report("Finding comparable pairs")
        summary = search.summarize(rule)
        if not summary.n_total:
            reason = _explain(rule, question, people, search.count(rule) if rule.asks_more else 0)
            raise NoComparablePairs(f"No comparable pairs among {count_of(question.scores.n_people, 'row')}. {reason}")
        within = None
        if settings.baseline and rule.sensitive_differs != "none":
            report("Finding same-group pairs")
            equal = Comparability.from_dict(rule.to_dict() | {"sensitive_differs": "none"})
            within = Gathered.from_summary(search.summarize(equal), question.table)
        mirrored = None
        if rule.no_better:
            report("Finding the mirror image")
            mirrored = Gathered.from_summary(search.summarize(rule, is_mirrored=True), question.table)
    finally:
        search.forget()
    report("Collecting the people to show")
    gathered = Gathered.from_summary(summary, question.table)
    candidates = thin_out(
        find_candidates(question, gathered, settings.n_worst, settings.seed), settings.seed, MOST_SENT
    )
    rows = np.union1d(rows_to_show(gathered.sums), np.concatenate([candidates.person, candidates.comparator]))
    shown, table = people.look_up(rows)
    checksum = hash_frame(people.frame, people.coder.reference, people.n_people)
    of_people = People(frame=shown, table=table, rows=rows)
    question = replace(question, shown=of_people, examined=people.examine(), checksum=checksum)
    return conclude_audit(question, gathered, within, settings, progress, mirrored=mirrored, candidates=candidates)


def _reporter(progress: Progress | None) -> Callable[[str], None]:
    def report(step: str) -> None:
        log.info("%s", step)
        if progress is not None:
            progress(step, 0.0)

    return report


def _weigh(held: Gathering, name: str | None) -> SampleWeights | None:
    return None if name is None else check_weights(held.weights, f"column '{name}'", len(held.table))


def _subject(scores: Any) -> str:
    """Return the subject of a sentence about scores."""
    if isinstance(scores, str):
        return f"The scores of column '{scores}'"
    return "The scores of the function" if not hasattr(scores, "predict") else f"The scores of {type(scores).__name__}"


def _explain(rule: Comparability, question: Question, people: CodedPeople, n_either: int) -> str:
    """Explain why there are no pairs, from a small table with one or two people of each kind, and a sample."""
    if n_either:
        return f"Without {' and '.join(map(parameter, rule.asks_more))} there would be {count_of(n_either, 'pair')}."
    table, reference = question.counted, people.coder.reference
    kinds, counts = np.unique(np.column_stack([table.labels, table.sensitive]), axis=0, return_counts=True)
    few = np.repeat(kinds, np.minimum(counts, 2), axis=0)
    others = ("discrete", "ordinal", "matched", "continuous")
    empty: dict[str, Any] = {
        kind: np.zeros((len(few), len(reference.names[kind])), np.float64 if kind == "continuous" else np.int32)
        for kind in others
    }
    small = CodedTable(labels=few[:, 0], classes=table.classes, sensitive=few[:, 1:], names=reference.names, **empty)
    return explain_no_pairs(rule, small, question.schema.roles.label, sample=people.sample())
