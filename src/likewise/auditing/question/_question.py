"""What is asked about whom: arguments of any form → a coded table, checked scores, and the task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import parameter, suggest
from likewise._codes import number_together
from likewise.auditing._settings import AuditSettings, Task, TaskName
from likewise.auditing.question._decisions import WORDS, are_whole, read_decisions
from likewise.auditing.question._reference import Reference, Values
from likewise.auditing.question._scores import (
    LARGEST,
    Scores,
    ask_scores,
    check_scores,
    interpret_scores,
)
from likewise.auditing.question._task import ResolvedTask, favours_low, resolve_task
from likewise.auditing.question._weights import (
    SampleWeights,
    Weights,
    find_clusters,
    find_weights,
    refuse_weight_role,
    spread_between,
)
from likewise.comparable import Comparability
from likewise.comparable._internal import check_rule
from likewise.exceptions import ParameterError, SchemaError, ScoreError
from likewise.schema import CodedTable, Roles, Schema
from likewise.schema._internal import open_frame

EXAMINED: Final = 100_000  # people who are looked at one by one, evenly spaced, where there are more


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class People:
    """People whose values can be shown: all of them, or some rows (ascending) of the whole table."""

    frame: Any
    table: CodedTable
    rows: NDArray[np.int64] | None = None

    def places(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
        """Return the positions in the frame of some rows of the whole table."""
        return rows if self.rows is None else np.searchsorted(self.rows, rows)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Question:
    """Everything an audit is computed from."""

    frame: Any  # pandas, polars or pyarrow
    schema: Schema
    table: CodedTable  # labels and sensitive columns suffice where the pairs are known
    rule: Comparability
    scores: Scores
    reference: Reference  # who is the control
    outcomes: NDArray[np.float64] | None  # the true numbers, in regression
    origin: str  # where the scores came from, in words
    scored_by: str | None  # whose scores they depend on besides, in words, of models that say so
    is_positive_named: bool  # by the caller, or by labels 0 and 1
    are_decisions: bool = False  # whether decisions were given, as words or whole numbers, and no probabilities
    words: tuple[str, str] = WORDS  # what the decisions 1 and 0 are called
    label_name: str | None = None  # of the column, or of the series, that the labels are in
    shown: People | None = None  # whose values are at hand, where the frame lacks some
    examined: People | None = None  # some of all, with their codes, where the table lacks columns
    checksum: str | None = None  # of the people as compared, where the table lacks columns
    weights: SampleWeights | None = None  # as they were given

    @property
    def counted(self) -> CodedTable:
        """The table of the people who count: those whose weight is not 0."""
        return self.table if self.scores.n_people == len(self.table) else self.table[self.scores.counting]

    @property
    def controls(self) -> NDArray[np.int64]:
        """In which sensitive columns, or combinations of them, each person has the control value: a bit for each."""
        of_people, combinations = number_combinations(self.table)
        return self.reference.mark_all(combinations).take(of_people)

    def examine(self) -> tuple[NDArray[np.int64], CodedTable]:
        """Return the rows and the table of people who count, with all columns; of very many, evenly spaced ones."""
        counting = self.scores.counting
        if self.examined is not None:
            kept = counting[self.examined.rows]
            return self.examined.rows[kept], self.examined.table[kept]  # type: ignore[index]  # it has rows
        rows = np.flatnonzero(counting)
        if len(rows) > EXAMINED:
            rows = rows[np.linspace(0, len(rows) - 1, EXAMINED).astype(np.int64)]
        return rows, self.table if len(rows) == len(self.table) else self.table[rows]

    def look_up(self, *rows: NDArray[np.integer[Any]]) -> tuple[People, list[NDArray[np.integer[Any]]]]:
        """Return the people whose values are at hand, and the positions of some rows among them."""
        people = self.shown or People(frame=self.frame, table=self.table)
        return people, [people.places(some) for some in rows]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EncodedPeople:
    """People before they are scored, and the task that their labels decide."""

    schema: Schema
    table: CodedTable
    outcomes: NDArray[np.float64] | None  # the true numbers, in regression
    settled: ResolvedTask


def encode_people(
    X: Any, y: Any, *, roles: Roles | Schema, rule: Comparability, settings: AuditSettings, scores: Any = None
) -> EncodedPeople:
    """Check and encode people; of the scores only the name of their column matters."""
    if isinstance(roles, Roles | Schema):
        X = open_frame(X).keeping()  # every column is read for the schema, and for its codes
    is_labelled = _has_labels(X, y, roles)
    outcomes = _find_outcomes(X, y, roles, settings.task) if is_labelled else None
    schema = _learn(roles, X, (scores, *settings.columns), is_regression=outcomes is not None)
    refuse_compared(scores, schema.roles)
    refuse_weight_role(settings.sample_weight, scores, schema.roles)
    is_matched = is_labelled and outcomes is None  # else everybody has one and the same label
    table = schema.encode(X, y if is_matched else np.zeros(len(open_frame(X)), np.int64))
    rule.check(table)
    settled = resolve_task(
        settings, table.classes.tolist(), is_regression=outcomes is not None, is_labelled=is_labelled
    )
    return EncodedPeople(schema=schema, table=table, outcomes=outcomes, settled=settled)


def make_question(
    scores: Any,
    X: Any,
    y: Any,
    *,
    roles: Roles | Schema,
    rule: Comparability,
    settings: AuditSettings,
    sample_weight: Any = None,
    cluster: Any = None,
    seen: Any = None,
) -> Question:
    """Check the arguments one after the other, encode the people and score them, by what a model may see of them."""
    check_rule(rule)
    people = encode_people(X, y, roles=roles, rule=rule, settings=settings, scores=scores)
    table, settled = people.table, people.settled
    weights = find_weights(sample_weight if settings.sample_weight is None else settings.sample_weight, X, len(table))
    clusters = find_clusters(cluster if settings.cluster is None else settings.cluster, X, len(table))
    found, subject = ask_scores(scores, X if seen is None else seen, table, settled.positive_label)
    decided = read_decisions(found, subject, settings.favourable)
    values = check_scores(found if decided is None else decided[0], subject, len(table))
    return build_question(
        settings,
        settled,
        values,
        frame=X,
        schema=people.schema,
        table=table,
        rule=rule,
        outcomes=people.outcomes,
        origin=name_origin(scores),
        words=None if decided is None else decided[1],
        are_probabilities=decided is None and not are_whole(found),
        scored_by=getattr(scores, "_scored_by", None),
        weights=weights,
        clusters=clusters,
        label_name=getattr(y, "name", None) if y is not None else None,
    )


def build_question(
    settings: AuditSettings,
    settled: ResolvedTask,
    values: NDArray[np.float64],
    *,
    frame: Any,
    schema: Schema,
    table: CodedTable,
    rule: Comparability,
    outcomes: NDArray[np.float64] | None,
    origin: str,
    words: tuple[str, str] | None = None,
    are_probabilities: bool = True,
    scored_by: str | None = None,
    weights: SampleWeights | None = None,
    clusters: NDArray[np.integer[Any]] | None = None,
    label_name: Any = None,
) -> Question:
    """Return the question about people with checked scores; ``words`` are those of the decisions 1 and 0."""
    unknown = [name for name in settings.confirmed if schema.roles.role_of(name) is None]
    if unknown:
        hint = suggest(unknown[0], [one.name for one in schema.columns])
        raise ParameterError(f"names column '{unknown[0]}', which has no role.{hint}", "confirmed")
    times = None if weights is None else weights.values
    is_low = words is None and favours_low(settings.favourable, table.classes.tolist(), settled)
    scores = interpret_scores(
        values,
        table,
        task=settled.task,
        positive=settled.positive,
        threshold=settings.threshold,
        approval_rate=settings.approval_rate,
        scale=_find_scale(settings.scale, outcomes, settled.task, times),
        is_labelled=settled.is_labelled,
        favours_low=is_low,
        weights=times,
        clusters=clusters,
    )
    return Question(
        frame=frame,
        schema=schema,
        table=table,
        rule=rule,
        reference=Reference.of(settings.reference, table),
        scores=scores,
        outcomes=outcomes,
        origin=origin,
        scored_by=scored_by,
        is_positive_named=settled.is_positive_named,
        words=WORDS if words is None else words,
        are_decisions=not (are_probabilities and words is None) and scores.are_decisions,
        label_name=label_name if isinstance(label_name, str) else schema.roles.label,
        weights=weights,
    )


def refuse_compared(scores: Any, roles: Roles) -> None:
    """Refuse scores from a compared column: only people who are scored alike would be comparable."""
    kinds = ("sensitive", "discrete", "ordinal", "matched", "continuous")
    role = next((kind for kind in kinds if isinstance(scores, str) and scores in roles.names(kind)), None)
    if role is not None:
        raise ScoreError(
            f"Column '{scores}' holds the scores, but its role is {role}: only people who are scored alike would be "
            f"comparable. Put it in {parameter('ignored')}."
        )


def _has_labels(X: Any, y: Any, roles: Roles | Schema) -> bool:
    """Return whether people have labels; those of a schema may have been known of the training rows only."""
    if y is not None or not isinstance(roles, Roles | Schema):
        return True  # or be refused
    if isinstance(roles, Roles):
        return roles.label is not None  # a column that is missing is a mistake
    return roles.roles.label in open_frame(X).names


def _learn(roles: Roles | Schema, X: Any, apart: tuple[Any, ...], *, is_regression: bool) -> Schema:
    """Learn a schema; columns ``apart``, of scores and weights, are not compared."""
    if isinstance(roles, Schema):
        return roles
    names = open_frame(X).names
    for name in apart:
        if isinstance(name, str) and name in names and name not in _names_with_role(roles):
            roles = replace(roles, ignored=(*roles.ignored, name))
    if is_regression and roles.label in names:
        roles = replace(roles, label=None, ignored=(*roles.ignored, roles.label))  # amounts are no labels
    return roles.learn(X)


def _names_with_role(roles: Roles) -> set[str]:
    kinds = ("sensitive", "discrete", "ordinal", "matched", "continuous", "ignored")
    return {name for kind in kinds for name in roles.names(kind)} | {str(roles.label), str(roles.row_id)}


def _find_outcomes(X: Any, y: Any, roles: Roles | Schema, task: TaskName) -> NDArray[np.float64] | None:
    """Return the true numbers of a regression; None for labels, which the schema encodes."""
    if not isinstance(roles, Roles | Schema):
        raise SchemaError(
            f"roles is a {type(roles).__name__}. Give Roles, such as Roles.infer(X, sensitive=['sex']), or the Schema "
            "that roles.learn made of the training rows."
        )
    if task not in ("auto", "regression"):
        return None
    given, label = y, roles.label if isinstance(roles, Roles) else roles.roles.label
    if y is None and label is not None:
        frame = open_frame(X)
        if label not in frame.names:
            raise SchemaError(
                f"There are no labels: the table has no column '{label}'. Pass them as {parameter('y')}."
                f"{suggest(label, frame.names)}"
            )
        given = frame.values(label)
    try:
        found = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
        if task == "auto" and found.dtype.kind in "iub":
            return None
        is_text = found.dtype.kind in "SU" or any(isinstance(value, str) for value in found.flat[:1])
        numbers = None if is_text else found.astype(np.float64)  # "1.5" is the name of a class
    except (TypeError, ValueError, OverflowError):
        numbers = None
    if numbers is None or numbers.ndim != 1 or not np.isfinite(numbers).all():
        if task == "regression":
            raise SchemaError(
                f"Regression needs one finite number per person as outcome. Give them as {parameter('y')}."
            )
        return None
    is_fractional = bool((numbers != np.floor(numbers)).any())
    if task == "auto" and not is_fractional:
        return None
    n_rows = len(open_frame(X))
    if len(numbers) != n_rows:
        raise SchemaError(f"y has {len(numbers):,} outcomes for {n_rows:,} rows. Give one per row.")
    return numbers


def _find_scale(
    scale: float | None,
    outcomes: NDArray[np.float64] | None,
    task: Task,
    weights: NDArray[np.float64] | None = None,
) -> float:
    """Return the unit of gaps: in regression the standard deviation of the outcomes by default."""
    if scale is not None:
        if task != "regression":
            raise ParameterError(
                f"is for {parameter('task', 'regression')}; gaps between probabilities need no unit.", "scale"
            )
        return float(scale)
    if task != "regression":
        return 1.0
    if outcomes is None:
        raise ParameterError("is missing: without outcomes, gaps between amounts have no natural unit.", "scale")
    if np.abs(outcomes).max(initial=0.0) > LARGEST:
        raise ScoreError(f"The outcomes are larger than {LARGEST:g}. Give them, and the scores, in a larger unit.")
    spread = spread_between(outcomes, Weights.of(weights, len(outcomes))) if len(outcomes) else 0.0
    if spread == 0:
        raise ScoreError("All outcomes are equal, so gaps have no natural unit. Give one as scale.")
    return spread


def name_origin(scores: Any) -> str:
    """Return in words where scores come from."""
    if isinstance(scores, str):
        return f"column '{scores}'"
    if hasattr(scores, "predict_proba") or hasattr(scores, "predict"):
        return f"model {type(scores).__name__}"
    return f"function {getattr(scores, '__name__', type(scores).__name__)}" if callable(scores) else "array"


def number_combinations(
    table: CodedTable, columns: Sequence[str] | None = None, kind: type[np.integer[Any]] = np.int64
) -> tuple[NDArray[Any], list[Values]]:
    """Number the combinations of sensitive values that occur, in the order of their codes, and list their values."""
    names = table.names["sensitive"]
    chosen = [names.index(name) for name in (names if columns is None else columns)]
    combinations, numbers = number_together([table.sensitive[:, column] for column in chosen], len(table))
    known = [table.categories.get(names[column]) for column in chosen]
    values = [
        tuple(code if values is None else values[code] for values, code in zip(known, codes, strict=True))
        for codes in combinations.tolist()
    ]
    return numbers.astype(kind, copy=False), values
