"""What is asked of whom: arguments of any form → a coded table, checked scores, and the task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_choice, suggest
from likewise.auditing._scores import TASKS, Scores, Task, collect_scores, interpret_scores
from likewise.comparable import Comparability
from likewise.exceptions import RuleError, SchemaError, ScoreError
from likewise.schema import CodedTable, Roles, Schema, open_frame

TaskName = Literal["auto", "binary", "multiclass", "regression"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Question:
    """Hold everything an audit is computed from."""

    frame: Any
    schema: Schema
    table: CodedTable
    rule: Comparability
    scores: Scores
    outcomes: NDArray[np.float64] | None  # what really came, in regression
    origin: str  # where the scores came from, in words
    is_positive_named: bool  # by the caller, or by labels 0 and 1


def state_question(
    scores: Any,
    X: Any,
    y: Any,
    *,
    roles: Roles | Schema,
    rule: Comparability,
    task: TaskName,
    positive: Any,
    threshold: float | None,
    approval_rate: float | None,
    scale: float | None,
) -> Question:
    """Check the arguments one after the other, each with a message of its own."""
    check_choice("task", task, ("auto", *TASKS))
    if not isinstance(rule, Comparability):
        raise RuleError(f"The rule is {rule!r}; give a Comparability, such as Comparability(max_discrete_changes=1).")
    _check_decisions(threshold, approval_rate)
    outcomes = _find_outcomes(X, y, roles, task)
    schema = _learn(roles, X, scores, is_regression=outcomes is not None)
    _refuse_compared(scores, schema.roles)
    table = schema.encode(X, y if outcomes is None else np.zeros(len(outcomes), np.int64))
    rule.check(table)
    labels = table.classes.tolist()
    kind: Task = "regression" if outcomes is not None else _choose_task(task, labels)
    _refuse_idle(kind, positive, threshold, approval_rate)
    code = _find_positive(labels, positive) if kind == "binary" else None
    values = collect_scores(scores, X, table, None if code is None else _label_at(labels, code, positive))
    unit = _find_scale(scale, outcomes)
    answered = interpret_scores(
        values, table, task=kind, positive=code, threshold=threshold, approval_rate=approval_rate, scale=unit
    )
    return Question(
        frame=X,
        schema=schema,
        table=table,
        rule=rule,
        scores=answered,
        outcomes=outcomes,
        origin=_name_origin(scores),
        is_positive_named=positive is not None or labels in ([0, 1], [0], [1]),
    )


def _check_decisions(threshold: float | None, approval_rate: float | None) -> None:
    if threshold is not None and approval_rate is not None:
        raise ValueError("threshold and approval_rate both say who is approved; give one of them.")
    for name, value, most in (("threshold", threshold, np.inf), ("approval_rate", approval_rate, 1.0)):
        if value is None:
            continue
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not is_number or not np.isfinite(value) or (name == "approval_rate" and not 0 <= value <= most):
            wanted = "a share from 0 to 1" if name == "approval_rate" else "a finite number"
            raise ValueError(f"{name} is {value!r}; give {wanted}.")


def _refuse_idle(kind: Task, positive: Any, threshold: float | None, approval_rate: float | None) -> None:
    """Refuse what this task has no use for, rather than leave it without effect."""
    decided = {"threshold": threshold, "approval_rate": approval_rate} if kind == "multiclass" else {}
    wanted = {"positive": positive, **decided} if kind != "binary" else {}
    for name, value in wanted.items():
        if value is not None:
            reason = "has no positive label" if name == "positive" else "decides on the likeliest label"
            raise ValueError(f"{name} is {value!r}, but a {kind} task {reason}. Leave it away.")
    if kind == "binary" and threshold is not None and not 0 <= threshold <= 1:
        raise ValueError(f"threshold is {threshold!r}, but probabilities lie from 0 to 1. Give one of these.")


def _refuse_compared(scores: Any, roles: Roles) -> None:
    """Refuse to compare people by how they are scored: pairs would be those that are scored alike."""
    kinds = ("sensitive", "discrete", "ordinal", "matched", "continuous")
    role = next((kind for kind in kinds if isinstance(scores, str) and scores in roles.names(kind)), None)
    if role is not None:
        raise ScoreError(
            f"Column '{scores}' holds the scores, but its role is {role}: only people who are scored alike would be "
            "comparable. Put it in ignored."
        )


def _learn(roles: Roles | Schema, X: Any, scores: Any, *, is_regression: bool) -> Schema:
    if isinstance(roles, Schema):
        return roles
    names = open_frame(X).names
    if isinstance(scores, str) and scores in names and scores not in _names_with_role(roles):
        roles = replace(roles, ignored=(*roles.ignored, scores))  # scores are judged, not compared
    if is_regression and roles.label in names:
        roles = replace(roles, label=None, ignored=(*roles.ignored, roles.label))  # amounts are no labels
    return roles.learn(X)


def _names_with_role(roles: Roles) -> set[str]:
    kinds = ("sensitive", "discrete", "ordinal", "matched", "continuous", "ignored")
    return {name for kind in kinds for name in roles.names(kind)} | {str(roles.label), str(roles.row_id)}


def _find_outcomes(X: Any, y: Any, roles: Roles | Schema, task: TaskName) -> NDArray[np.float64] | None:
    """Read the true numbers of a regression; labels of a classification are left to the schema."""
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
                f"There are no labels: the frame has no column '{label}'. Give them as y.{suggest(label, frame.names)}"
            )
        given = frame.data[label]
    try:
        found = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
        is_text = found.dtype.kind in "SU" or any(isinstance(value, str) for value in found.flat[:1])
        numbers = None if is_text else found.astype(np.float64)  # "1.5" is the name of a class
    except (TypeError, ValueError):
        numbers = None
    if numbers is None or numbers.ndim != 1 or not np.isfinite(numbers).all():
        if task == "regression":
            raise SchemaError("Regression needs one finite number a person as outcome. Give them as y.")
        return None
    is_fractional = bool((numbers != np.floor(numbers)).any())
    if task == "auto" and not is_fractional:
        return None
    n_rows = len(open_frame(X))
    if len(numbers) != n_rows:
        raise SchemaError(f"y has {len(numbers):,} outcomes for {n_rows:,} rows. Give one a row.")
    return numbers


def _choose_task(task: TaskName, labels: list[Any]) -> Task:
    if task in ("binary", "auto") and len(labels) <= 2:
        return "binary"
    if task == "binary":
        raise ScoreError(f"There are {len(labels):,} labels, so this is no binary task. Leave task away.")
    return "multiclass"


def _find_positive(labels: list[Any], positive: Any) -> int:
    """Give the code of the positive label: the last in order, unless told otherwise."""
    if positive is not None:
        if positive in labels:
            return labels.index(positive)
        if len(labels) == 1 and isinstance(positive, str) == isinstance(labels[0], str):
            return 1  # nobody has it
        raise ScoreError(f"No row has the positive label {positive!r}; the labels are {labels}. Name one of these.")
    if len(labels) == 1:
        if labels[0] in (0, 1):  # truth values, too
            return 0 if labels[0] else 1
        raise ScoreError(
            f"Every row has the label {labels[0]!r}, so it cannot be told which label the scores are about. "
            "Say which one is positive."
        )
    return len(labels) - 1


def _label_at(labels: list[Any], code: int, positive: Any) -> Any:
    if code < len(labels):
        return labels[code]
    return positive if positive is not None else type(labels[0])(1)


def _find_scale(scale: float | None, outcomes: NDArray[np.float64] | None) -> float:
    """Measure gaps of a regression in standard deviations of the outcome."""
    if scale is not None:
        if outcomes is None:
            raise ValueError("scale is for task='regression'; gaps between probabilities need no unit.")
        if isinstance(scale, bool) or not isinstance(scale, int | float | np.number) or not 0 < scale < np.inf:
            raise ValueError(f"scale is {scale!r}; give a number above 0.")
        return float(scale)
    if outcomes is None:
        return 1.0
    spread = float(outcomes.std()) if len(outcomes) else 0.0
    if spread == 0:
        raise ScoreError("All outcomes are equal, so gaps have no natural unit. Give one as scale.")
    return spread


def _name_origin(scores: Any) -> str:
    if isinstance(scores, str):
        return f"column '{scores}'"
    if hasattr(scores, "predict_proba") or hasattr(scores, "predict"):
        return f"model {type(scores).__name__}"
    return f"function {getattr(scores, '__name__', type(scores).__name__)}" if callable(scores) else "array"
