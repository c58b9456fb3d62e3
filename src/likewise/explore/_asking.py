"""What if: a person with one field changed, scored by the model again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._json import plain
from likewise.auditing import Scores
from likewise.exceptions import LikewiseError, ScoreError
from likewise.schema import Schema
from likewise.schema._internal import open_frame, overwrite_columns

N_KNOWN: Final = 64  # people whose score is known, scored along: which column is which, and whether the model is steady
NEAR: Final = 1e-4  # models in float32 repeat themselves this well
MOST_OPTIONS: Final = 500
LARGEST: Final = 1e15  # beyond, whole numbers are not exact


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """What can be put into a column: one of some values, or a number."""

    column: str
    role: str
    options: tuple[Any, ...] | None  # None: a number
    low: float | None = None
    high: float | None = None
    is_whole: bool = False
    why_not: str | None = None  # why it cannot be changed at all

    def describe(self) -> dict[str, Any]:
        """Write it as plain data."""
        return {
            "column": self.column,
            "role": self.role,
            "options": None if self.options is None else plain(self.options),
            "low": self.low,
            "high": self.high,
            "is_whole": self.is_whole,
            "why_not": self.why_not,
        }

    def read(self, given: Any) -> Any:
        """Make of a choice's place, or of a number, what the column holds."""
        if self.why_not is not None:
            raise ScoreError(f"Column '{self.column}' cannot be changed here: {self.why_not}.")
        is_number = isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)
        if self.options is not None:
            if not is_number or given != int(given) or not 0 <= given < len(self.options):
                raise ScoreError(f"Column '{self.column}' has {len(self.options):,} values; choose one of them.")
            return self.options[int(given)]
        if not is_number or abs(given) > LARGEST:
            raise ScoreError(f"Column '{self.column}' holds numbers; give a finite one.")
        if self.is_whole and given != int(given):
            raise ScoreError(f"Column '{self.column}' holds whole numbers; {given:g} is none.")
        return int(given) if self.is_whole else float(given)


def list_fields(schema: Schema, X: Any, categories: dict[str, tuple[Any, ...]]) -> dict[str, Field]:
    """Say what each compared column can hold, as the schema learned it and this table has it."""
    frame, roles = open_frame(X), schema.roles
    fields: dict[str, Field] = {}
    for role in ("sensitive", "discrete", "ordinal", "matched", "continuous"):
        for name in roles.names(role):
            family = frame.column(name).dtype.family
            is_binned = name in roles.bins
            if role == "continuous" or is_binned:
                low, high = schema.ranges.get(name, (None, None))
                is_whole = "int" in frame.column(name).dtype.arrow
                why_not = None if family == "numbers" else f"it holds {family}"
                fields[name] = Field(name, role, None, low, high, is_whole, why_not)
                continue
            options = categories.get(name, ())
            why_not = None
            if len(options) > MOST_OPTIONS:
                why_not = f"it has {len(options):,} different values, too many to choose from"
            fields[name] = Field(name, role, () if why_not else options, why_not=why_not)
    return fields


def ask_model(model: Any, frame: Any) -> NDArray[np.float64]:
    """Ask a model, or a function, for the scores of a few rows."""
    wanted = getattr(model, "feature_names_in_", None)
    try:
        if wanted is not None:
            frame = open_frame(frame).select([str(name) for name in wanted])
        ask: Callable[[Any], Any] = getattr(model, "predict_proba", None) or getattr(model, "predict", None) or model
        found = ask(frame)
        values = np.asarray(found.to_numpy() if hasattr(found, "to_numpy") else found, dtype=np.float64)
    except LikewiseError:
        raise
    except Exception as error:  # whatever a model of any kind does with a value that it was not made for
        lines = str(error).strip().splitlines() or ["it gives no reason"]
        raise ScoreError(f"The model cannot score this: {type(error).__name__}: {lines[0][:300]}") from error
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def score_changed(model: Any, X: Any, scores: Scores, row: int, changed: dict[str, Any]) -> NDArray[np.float64]:
    """Score one person with changed fields, among people whose score is known."""
    import pyarrow as pa

    known = np.unique(np.append(np.linspace(0, len(scores) - 1, N_KNOWN).astype(np.int64), row))
    rows = np.append(known, row)
    where = np.arange(len(rows)) == len(rows) - 1
    try:
        made = pa.table({name: pa.array([value] * len(rows)) for name, value in changed.items()})
        frame = overwrite_columns(X, rows, made, dict.fromkeys(changed, where))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ScoreError(f"This value does not fit into its column ({type(error).__name__}).") from error
    values = ask_model(model, frame)
    if values.ndim not in (1, 2) or len(values) != len(rows) or not np.isfinite(values[-1]).all():
        raise ScoreError("The model gives no finite score for this person.")
    wanted = scores.values[known]
    answers = values[:, None] if values.ndim == 1 else values
    chosen = [_find_column(answers[:-1], one) for one in (wanted[:, None] if wanted.ndim == 1 else wanted).T]
    return answers[-1, chosen]


def _find_column(answers: NDArray[np.float64], known: NDArray[np.float64]) -> int:
    """Find the column of answers that is these people's known score."""
    apart = np.abs(answers - known[:, None]).max(axis=0)
    column = int(apart.argmin())
    scale = max(1.0, float(np.abs(known).max(initial=0.0)))
    if not apart[column] <= NEAR * scale:
        raise ScoreError(
            "The model scores people otherwise now than at the start, so what if has no answer: it may draw at random, "
            "or look at all people at once."
        )
    return column


def can_score(scores: Any) -> bool:
    """Tell a model or a function from scores that are there already."""
    return not isinstance(scores, str) and (
        callable(scores) or hasattr(scores, "predict_proba") or hasattr(scores, "predict")
    )


def is_outside(field: Field, value: Any) -> bool:
    """Tell a number that the people the schema learned from do not reach."""
    return (
        field.options is None
        and field.low is not None
        and field.high is not None
        and not field.low <= value <= field.high
    )
