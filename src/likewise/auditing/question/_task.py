"""The task and its positive label, decided by the labels before anybody is scored."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any, Final

from likewise.auditing._settings import AuditSettings, Task, TaskName
from likewise.exceptions import ParameterError, ScoreError

SIDES: Final = ("low", "high")  # of the scores
# words, and beginnings of words, in the name of an outcome that is bad for people
BAD_WORDS: Final = frozenset(
    ("bad", "late", "died", "dead", "death", "loss", "risk", "fired", "deny", "chargeoff", "noshow", "dropout")
)
BAD_STEMS: Final = (
    *("default", "delinq", "arrear", "overdue", "unpaid", "bankrupt", "foreclos", "evict", "churn", "attrit", "lapse"),
    *("fraud", "denie", "denial", "reject", "declin", "refus", "recid", "reoffen", "arrest", "rearrest", "convict"),
    *("violat", "fail", "dropp", "dismiss", "layoff", "terminat", "unemploy", "mortal", "relaps", "readmi"),
)
NEGATIONS: Final = frozenset(("no", "not", "non", "never", "without"))


class Unnamed(Enum):
    """The positive label, where neither the caller nor a label of the table names it."""

    LAST = "the last label that the model knows"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedTask:
    """The task and its positive label: its position among the labels, one beyond them if nobody has it."""

    task: Task
    positive: int | None
    positive_label: Any
    is_positive_named: bool
    is_labelled: bool = True


def resolve_task(
    settings: AuditSettings, labels: list[Any], *, is_regression: bool = False, is_labelled: bool = True
) -> ResolvedTask:
    """Decide what the scores are about by the labels, in order, and refuse settings that do not go with it."""
    if not is_labelled:
        return _resolve_unlabelled(settings)
    kind: Task = "regression" if is_regression else _choose_task(settings.task, labels)
    _refuse_unused(kind, settings)
    code = _find_positive(labels, settings.positive) if kind == "binary" else None
    return ResolvedTask(
        task=kind,
        positive=code,
        positive_label=None if code is None else _label_at(labels, code, settings.positive),
        is_positive_named=settings.positive is not None or labels in ([0, 1], [0], [1]),
    )


def _resolve_unlabelled(settings: AuditSettings) -> ResolvedTask:
    """Return the task of people without labels, all of whom have the code 0; nobody has the positive one."""
    if settings.task == "multiclass":
        raise ParameterError(
            "is 'multiclass', which needs labels. Without them give one score per person: a probability or a decision.",
            "task",
        )
    kind: Task = "regression" if settings.task == "regression" else "binary"
    _refuse_unused(kind, settings)
    return ResolvedTask(
        task=kind,
        positive=1 if kind == "binary" else None,
        positive_label=Unnamed.LAST if settings.positive is None else settings.positive,
        is_positive_named=True,
        is_labelled=False,
    )


def favours_low(favourable: Any, labels: list[Any], settled: ResolvedTask) -> bool:
    """Return whether low scores are the favourable ones: those of people who probably have the other label."""
    if favourable is None:
        return False
    if settled.task == "multiclass":
        raise ParameterError(
            f"is {favourable!r}, but with more than two labels no side of the scores is favourable. Leave it away.",
            "favourable",
        )
    if not isinstance(favourable, Hashable):
        raise ParameterError(f"is {favourable!r}; name the favourable label.", "favourable")
    if settled.is_labelled and settled.task == "binary" and favourable in labels:
        return labels.index(favourable) != settled.positive
    if isinstance(favourable, str) and favourable in SIDES:
        return favourable == SIDES[0]
    if settled.task == "binary" and not settled.is_labelled and favourable in (0, 1):  # truth values, too
        return not favourable
    if settled.is_labelled and settled.task == "binary":
        if favourable == settled.positive_label:  # which nobody has
            return False
        known = f"one of the labels {labels}, or 'low' or 'high' for that side of the scores"
    else:
        known = "'low' or 'high' for that side of the scores, or one of the values of decisions in words"
    raise ParameterError(f"is {favourable!r}; give {known}.", "favourable")


def reads_as_bad(name: Any) -> bool:
    """Whether the name of an outcome, or one of its values, reads as bad for people: a default, but not no_default."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name) if isinstance(name, str) else ""
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", parted)]
    joined = [one + other for one, other in pairwise(words)]  # drop_out, no_show
    told = joined if NEGATIONS.intersection(words) else words + joined
    return any(word in BAD_WORDS or (word.startswith(BAD_STEMS)) for word in told)


def _choose_task(task: TaskName, labels: list[Any]) -> Task:
    if task in ("binary", "auto") and len(labels) <= 2:
        return "binary"
    if task == "binary":
        raise ScoreError(f"There are {len(labels):,} labels, so this is no binary task. Leave task away.")
    return "multiclass"


def _refuse_unused(kind: Task, settings: AuditSettings) -> None:
    """Refuse settings that this task has no use for, rather than leave them without effect."""
    reasons = {"positive": "has no positive label"} if kind != "binary" else {}
    if kind == "multiclass":
        reasons |= dict.fromkeys(("threshold", "approval_rate"), "decides on the likeliest label")
    for name, reason in reasons.items():
        value = getattr(settings, name)
        if value is not None:
            raise ParameterError(f"is {value!r}, but a {kind} task {reason}. Leave it away.", name)
    if kind == "binary" and settings.threshold is not None and not 0 <= settings.threshold <= 1:
        raise ParameterError(
            f"is {settings.threshold!r}, but probabilities lie from 0 to 1. Give one of these.", "threshold"
        )


def _find_positive(labels: list[Any], positive: Any) -> int:
    """Return the code of the positive label: the last in order by default."""
    if positive is not None:
        if isinstance(positive, Hashable) and positive in labels:
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
