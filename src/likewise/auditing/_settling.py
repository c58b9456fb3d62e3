"""Which task it is, and which label is the positive one: settled by the labels, before anybody is scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from likewise._checks import check_choice
from likewise.auditing._scores import TASKS, Task
from likewise.exceptions import ScoreError

TaskName = Literal["auto", "binary", "multiclass", "regression"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Hold what is known before the scores are.

    Parameters
    ----------
    task : {"binary", "multiclass", "regression"}
    positive : int, optional
        The position of the positive label among the labels; one beyond them, if nobody has it.
    positive_label : optional
        That label.
    is_positive_named : bool
        By the caller, or by labels 0 and 1.
    threshold, approval_rate : float, optional
        As given.

    Examples
    --------
    >>> from likewise.auditing import settle_task
    >>> settle_task("auto", ["no", "yes"]).positive_label
    'yes'
    """

    task: Task
    positive: int | None
    positive_label: Any
    is_positive_named: bool
    threshold: float | None
    approval_rate: float | None


def settle_task(
    task: TaskName,
    labels: list[Any],
    *,
    is_regression: bool = False,
    positive: Any = None,
    threshold: float | None = None,
    approval_rate: float | None = None,
) -> Settled:
    """Settle what the scores are about, and refuse arguments that do not go with it.

    Parameters
    ----------
    task : {"auto", "binary", "multiclass", "regression"}
    labels : list
        In order.
    is_regression : bool
        Whether the outcomes are numbers, and no labels.
    positive, threshold, approval_rate
        As for :func:`audit`.

    Returns
    -------
    Settled

    Examples
    --------
    >>> from likewise.auditing import settle_task
    >>> settle_task("auto", [0, 1, 2]).task
    'multiclass'
    """
    check_choice("task", task, ("auto", *TASKS))
    check_decisions(threshold, approval_rate)
    kind: Task = "regression" if is_regression else _choose_task(task, labels)
    _refuse_idle(kind, positive, threshold, approval_rate)
    code = _find_positive(labels, positive) if kind == "binary" else None
    return Settled(
        task=kind,
        positive=code,
        positive_label=None if code is None else _label_at(labels, code, positive),
        is_positive_named=positive is not None or labels in ([0, 1], [0], [1]),
        threshold=threshold,
        approval_rate=approval_rate,
    )


def check_decisions(threshold: float | None, approval_rate: float | None) -> None:
    """Refuse thresholds and rates that are none."""
    if threshold is not None and approval_rate is not None:
        raise ValueError("threshold and approval_rate both say who is approved; give one of them.")
    for name, value, most in (("threshold", threshold, np.inf), ("approval_rate", approval_rate, 1.0)):
        if value is None:
            continue
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not is_number or not np.isfinite(value) or (name == "approval_rate" and not 0 <= value <= most):
            wanted = "a share from 0 to 1" if name == "approval_rate" else "a finite number"
            raise ValueError(f"{name} is {value!r}; give {wanted}.")


def _choose_task(task: TaskName, labels: list[Any]) -> Task:
    if task in ("binary", "auto") and len(labels) <= 2:
        return "binary"
    if task == "binary":
        raise ScoreError(f"There are {len(labels):,} labels, so this is no binary task. Leave task away.")
    return "multiclass"


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
