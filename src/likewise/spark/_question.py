"""Arguments of an audit in Spark, checked, and the people encoded and scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from likewise._checks import suggest
from likewise.auditing._internal import AuditSettings, ResolvedTask, refuse_compared, resolve_task
from likewise.comparable import Comparability
from likewise.exceptions import SchemaError, ScoreError
from likewise.schema import Roles, Schema
from likewise.schema._internal import KINDS, refuse_absent
from likewise.spark._frames import check_frame, column, number_rows
from likewise.spark._people import AskGiven, CodedPeople, Coder, code_people, refer
from likewise.spark._schema import Survey, check_columns, check_people, learn_schema, survey_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameQuestion:
    """What is asked about the people of a frame; without scores, only their codes are needed."""

    scores: Any
    roles: Roles | Schema
    rule: Comparability
    label: str | None = None
    settings: AuditSettings = AuditSettings()  # noqa: RUF009  # it is frozen
    files: Sequence[str] | None = None  # in the order of their rows


def prepare_people(frame: DataFrame, question: FrameQuestion) -> tuple[CodedPeople, ResolvedTask | None]:
    """Check the arguments, then encode and score everybody; without scores there is no task."""
    empty = check_frame(frame)
    label = _find_label(empty.column_names, question)
    refuse_compared(question.scores, question.roles.roles if isinstance(question.roles, Schema) else question.roles)
    is_regression = question.scores is not None and _is_regression(frame, label, question.settings.task)
    _check_scores(question.scores, empty.column_names)
    coded_label = None if is_regression else label
    schema, survey = _learn(frame, empty, question, label, coded_label)
    reference = refer(schema, survey, coded_label)
    question.rule.check(reference)
    resolved = None
    if question.scores is not None:
        resolved = resolve_task(question.settings, reference.classes.tolist(), is_regression=is_regression)
    ask = None if resolved is None else AskGiven(question.scores, resolved.positive_label)
    coder = Coder(schema, reference, coded_label, label if is_regression else None, ask)
    wanted = list(empty.column_names)
    if question.scores is None or isinstance(question.scores, str):  # no model, which might use other columns
        needed = {
            label,
            question.scores,
            schema.roles.row_id,
            *(name for kind in KINDS for name in schema.roles.names(kind)),
        }
        wanted = [name for name in wanted if name in needed]
    return code_people(number_rows(frame, question.files), coder, wanted), resolved


def _find_label(names: list[str], question: FrameQuestion) -> str:
    roles = question.roles.roles if isinstance(question.roles, Schema) else question.roles
    if not isinstance(roles, Roles):
        raise SchemaError(
            f"roles is a {type(roles).__name__}. Pass Roles, such as Roles(sensitive=['sex'], ...), or a Schema from "
            "likewise.spark.learn."
        )
    if question.label is not None and roles.label not in (None, question.label):
        raise SchemaError(f"label is '{question.label}', but the roles name '{roles.label}'. Use one of them.")
    label = question.label or roles.label
    if label is None:
        raise SchemaError("There are no labels: the roles name no label column. Pass its name as label.")
    if label not in names:
        raise SchemaError(f"There are no labels: the frame has no column '{label}'.{suggest(label, names)}")
    return label


def _is_regression(frame: DataFrame, label: str, task: str) -> bool:
    """Whether outcomes are amounts rather than classes, decided by fractions as in memory."""
    from pyspark.sql import functions as F  # noqa: N812

    if task not in ("auto", "regression"):
        return False
    is_number = dict(frame.dtypes)[label].startswith(NUMERIC)
    number = column(label).cast("double") if is_number else F.lit(None)
    is_finite = number.isNotNull() & ~F.isnan(number) & (F.abs(number) < float("inf"))
    counts = [F.count(F.when(~is_finite, 1)), F.count(F.when(number != F.floor(number), 1))]
    n_odd, n_fractions = frame.agg(*counts).collect()[0]
    if task == "regression" and n_odd:
        raise SchemaError(
            f"Regression needs one finite outcome per person; column '{label}' has none in {n_odd:,} rows."
        )
    return task == "regression" or (is_number and not n_odd and bool(n_fractions))


def _check_scores(scores: Any, names: list[str]) -> None:
    if isinstance(scores, str) and scores not in names:
        raise ScoreError(
            f"There is no column '{scores}' to take scores from.{suggest(scores, names)} Name another, or pass a "
            "model or a function."
        )
    known = ("predict_proba", "predict", "score_batch")
    if scores is None or isinstance(scores, str) or callable(scores) or any(hasattr(scores, one) for one in known):
        return
    raise ScoreError(
        f"The scores are a {type(scores).__name__}. The rows of a Spark frame have no fixed order: add them to the "
        "frame as a column and pass its name, or pass a model or a function."
    )


def _learn(
    frame: DataFrame, empty: pa.Table, question: FrameQuestion, label: str, coded_label: str | None
) -> tuple[Schema, Survey]:
    if isinstance(question.roles, Schema):
        schema = question.roles
        refuse_absent(schema.roles, empty.column_names, (*KINDS, "row_id"))
        survey = survey_frame(frame, schema.roles, coded_label)
        check_people(frame, survey, schema.roles, coded_label)
        return schema, survey
    roles = question.roles
    ignored = tuple(name for name in roles.ignored if name != label)
    if isinstance(question.scores, str) and roles.role_of(question.scores) is None and question.scores != label:
        ignored = (*ignored, question.scores)  # scores are audited, not compared
    if coded_label is None:
        ignored = (*ignored, label)  # amounts are not labels
    roles = replace(roles, label=coded_label, ignored=ignored)
    check_columns(empty, roles)
    survey = survey_frame(frame, roles, coded_label)
    if not survey.n_rows:
        raise SchemaError("The frame has no rows, so there is nothing to audit. Pass a frame with rows.")
    check_people(frame, survey, roles, coded_label)
    return learn_schema(frame, roles, survey, empty), survey
