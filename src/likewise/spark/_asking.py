"""Arguments of any form → people that Spark has coded and scored, and the task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from likewise._checks import suggest
from likewise.auditing._internal import AuditSettings, Settled, refuse_compared, settle_task
from likewise.comparable import Comparability
from likewise.exceptions import SchemaError, ScoreError
from likewise.schema import Roles, Schema
from likewise.schema._internal import KINDS
from likewise.spark._coding import AskGiven, Coder, refer
from likewise.spark._columns import check_frame, column, refuse_absent
from likewise.spark._learning import check_columns
from likewise.spark._lesson import teach
from likewise.spark._people import CodedPeople, code_people
from likewise.spark._rows import number_rows
from likewise.spark._survey import Survey, refuse_missing, refuse_row_ids, survey_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked about the people of a frame; without scores, only their codes are wanted."""

    scores: Any
    roles: Roles | Schema
    rule: Comparability
    label: str | None = None
    settings: AuditSettings = AuditSettings()  # noqa: RUF009  # it is frozen
    files: Sequence[str] | None = None  # in the order of their rows


def ask_frame(frame: DataFrame, asked: Asked) -> tuple[CodedPeople, Settled | None]:
    """Check the arguments one after the other, then code and score everybody; without scores there is no task."""
    empty = check_frame(frame)
    label = _find_label(empty.column_names, asked)
    refuse_compared(asked.scores, asked.roles.roles if isinstance(asked.roles, Schema) else asked.roles)
    is_regression = asked.scores is not None and _is_regression(frame, label, asked.settings.task)
    _check_scores(asked.scores, empty.column_names)
    coded_label = None if is_regression else label
    schema, survey = _learn(frame, empty, asked, label, coded_label)
    reference = refer(schema, survey, coded_label)
    asked.rule.check(reference)
    settled = None
    if asked.scores is not None:
        settled = settle_task(asked.settings, reference.classes.tolist(), is_regression=is_regression)
    ask = None if settled is None else AskGiven(asked.scores, settled.positive_label)
    coder = Coder(schema, reference, coded_label, label if is_regression else None, ask)
    wanted = list(empty.column_names)
    if asked.scores is None or isinstance(asked.scores, str):  # no model that might want to see more
        needed = {
            label,
            asked.scores,
            schema.roles.row_id,
            *(name for kind in KINDS for name in schema.roles.names(kind)),
        }
        wanted = [name for name in wanted if name in needed]
    return code_people(number_rows(frame, asked.files), coder, wanted), settled


def _find_label(names: list[str], asked: Asked) -> str:
    roles = asked.roles.roles if isinstance(asked.roles, Schema) else asked.roles
    if not isinstance(roles, Roles):
        raise SchemaError(
            f"roles is a {type(roles).__name__}. Give Roles, such as Roles(sensitive=['sex'], ...), or the Schema that "
            "likewise.spark.learn made of the training rows."
        )
    if asked.label is not None and roles.label not in (None, asked.label):
        raise SchemaError(f"label is '{asked.label}', but the roles name '{roles.label}'. Name one of them.")
    label = asked.label or roles.label
    if label is None:
        raise SchemaError("There are no labels: the roles name no label column. Name it as label.")
    if label not in names:
        raise SchemaError(f"There are no labels: the frame has no column '{label}'.{suggest(label, names)}")
    return label


def _is_regression(frame: DataFrame, label: str, task: str) -> bool:
    """Tell amounts from classes as an audit of a table in memory does: by fractions."""
    from pyspark.sql import functions as F  # noqa: N812

    if task not in ("auto", "regression"):
        return False
    is_number = dict(frame.dtypes)[label].startswith(NUMERIC)
    number = column(label).cast("double") if is_number else F.lit(None)
    is_finite = number.isNotNull() & ~F.isnan(number) & (F.abs(number) < float("inf"))
    asked = [F.count(F.when(~is_finite, 1)), F.count(F.when(number != F.floor(number), 1))]
    n_odd, n_fractions = frame.agg(*asked).collect()[0]
    if task == "regression" and n_odd:
        raise SchemaError(
            f"Regression needs one finite number a person as outcome; column '{label}' has none in {n_odd:,} rows."
        )
    return task == "regression" or (is_number and not n_odd and bool(n_fractions))


def _check_scores(scores: Any, names: list[str]) -> None:
    if isinstance(scores, str) and scores not in names:
        raise ScoreError(
            f"There is no column '{scores}' to take scores from.{suggest(scores, names)} Name another, or give a model "
            "or a function."
        )
    known = ("predict_proba", "predict", "score_batch")
    if scores is None or isinstance(scores, str) or callable(scores) or any(hasattr(scores, one) for one in known):
        return
    raise ScoreError(
        f"The scores are a {type(scores).__name__}. The rows of a Spark frame have no order to meet them by: add them "
        "to the frame as a column and give its name, or give a model or a function."
    )


def _learn(
    frame: DataFrame, empty: pa.Table, asked: Asked, label: str, coded_label: str | None
) -> tuple[Schema, Survey]:
    if isinstance(asked.roles, Schema):
        schema = asked.roles
        refuse_absent(empty.column_names, replace(schema.roles, label=None))
        survey = survey_frame(frame, schema.roles, coded_label)
        refuse_missing(survey, schema.roles, coded_label)
        refuse_row_ids(frame, schema.roles)
        return schema, survey
    roles = asked.roles
    ignored = tuple(name for name in roles.ignored if name != label)
    if isinstance(asked.scores, str) and roles.role_of(asked.scores) is None and asked.scores != label:
        ignored = (*ignored, asked.scores)  # scores are judged, not compared
    if coded_label is None:
        ignored = (*ignored, label)  # amounts are no labels
    roles = replace(roles, label=coded_label, ignored=ignored)
    check_columns(empty, roles)
    survey = survey_frame(frame, roles, coded_label)
    if not survey.n_rows:
        raise SchemaError("The frame has no rows, so there is nothing to audit. Give a frame with rows.")
    refuse_missing(survey, roles, coded_label)
    refuse_row_ids(frame, roles)
    return teach(frame, roles, survey, empty), survey
