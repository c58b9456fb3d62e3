"""Two people side by side: their gap split over columns, and one of them with changed values, scored again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._format import count_of
from likewise._json import plain
from likewise.auditing import Factor, Scores
from likewise.auditing._internal import AuditSettings, Question, compare_columns, mean_of
from likewise.comparable import Comparability
from likewise.exceptions import LikewiseError, ScoreError
from likewise.explain._internal import (
    MAX_COLUMNS,
    N_ORDERS,
    NOT_COMPARED,
    Mixer,
    open_mixer,
    roles_of,
    split_pairs,
    sum_parts,
)
from likewise.explore._pairs import HeldPairs
from likewise.schema import CodedTable, Schema
from likewise.schema._internal import Frame, open_frame, overwrite_columns

N_KNOWN: Final = 64  # people scored along to find the score column and to check that the model is deterministic
NEAR: Final = 1e-4  # reproducibility of float32 models
MOST_OPTIONS: Final = 500
LARGEST: Final = 1e15  # beyond this integers are not exact
Plain = dict[str, Any]
Places = NDArray[np.int64]
MOST_PAIRS: Final = 20_000  # of which gaps are split at once
MOST_MIXTURES: Final = 1 << 18  # that the model is asked for at once, at most; a logistic regression takes a second


def compare_people(
    frame: Frame, table: CodedTable, rule: Comparability, left: int, right: int
) -> tuple[list[Factor], int]:
    """Return the values of two people in each column, and the number of discrete changes."""
    factors = [one for (one,) in compare_columns(frame, table, rule, np.array([left]), np.array([right]))]
    codes = table.discrete[[left, right]]
    return factors, int(np.count_nonzero((codes[0] != codes[1])[rule.may_change(table)]))


def describe_factor(factor: Factor, rule: Comparability, n_sensitive: int) -> dict[str, Any]:
    """Return a factor as plain data, with its tolerance in words."""
    is_equal = factor.role == "matched" or factor.column in rule.must_match
    is_equal |= factor.role == "discrete" and rule.max_discrete_changes == 0
    if is_equal or (factor.role == "sensitive" and rule.sensitive_differs == "none"):
        allowed = "must be equal"
    elif factor.role == "sensitive":
        is_one = rule.sensitive_differs == "any" and n_sensitive > 1
        allowed = "at least one sensitive factor differs" if is_one else "must differ"
    elif factor.role == "discrete":
        allowed = f"at most {count_of(rule.max_discrete_changes, 'change')} in all"
    elif factor.limit is not None:
        allowed = f"at most {factor.limit:,.9g}{' days' if factor.unit == 'days' else ''}"
    elif factor.tolerance is None:  # relative to a value that is missing
        allowed = ""
    elif factor.role == "ordinal":
        allowed = f"at most {factor.tolerance:g} ranks apart"
    else:
        allowed = f"at most {factor.tolerance:.6g} of range"
    return {**plain(asdict(factor)), "allowed": allowed}


def say_decision(question: Question, row: int) -> Any:
    """Return the decision in words, or the predicted label; None without decisions."""
    scores = question.scores
    if scores.decisions is None:
        return None
    decided = int(scores.decisions[row])
    is_label = scores.task == "multiclass"
    return plain(question.table.classes[decided].item()) if is_label else question.words[1 - decided]


def name_people(frame: Frame, row_id: str | None, rows: NDArray[Any]) -> list[Any]:
    """Return the ids of people, or their row numbers."""
    return plain(rows.tolist() if row_id is None else frame.cells(row_id, rows))  # type: ignore[no-any-return]  # plain gives Any


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """The values a column can take: one of some options, or a number."""

    column: str
    role: str
    options: tuple[Any, ...] | None  # None for a number
    low: float | None = None
    high: float | None = None
    is_whole: bool = False
    why_not: str | None = None  # why it cannot be changed

    def read(self, given: Any) -> Any:
        """Convert an option's index, or a number, to a value of the column."""
        if self.why_not is not None:
            raise ScoreError(f"Column '{self.column}' cannot be changed here: {self.why_not}.")
        is_number = isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)
        if self.options is not None:
            if not is_number or given != int(given) or not 0 <= given < len(self.options):
                raise ScoreError(f"Column '{self.column}' has {len(self.options):,} values; choose one of them.")
            return self.options[int(given)]
        if not is_number or abs(given) > LARGEST:
            raise ScoreError(f"Column '{self.column}' holds numbers; enter a finite one.")
        if self.is_whole and given != int(given):
            raise ScoreError(f"Column '{self.column}' holds integers, and {given:g} is not one.")
        return int(given) if self.is_whole else float(given)

    def is_outside(self, value: Any) -> bool:
        """Whether a number is outside the training range."""
        is_known = self.options is None and self.low is not None and self.high is not None
        return is_known and not self.low <= value <= self.high


def list_fields(schema: Schema, X: Any, categories: dict[str, tuple[Any, ...]]) -> dict[str, Field]:
    """Return the values each compared column can take, by the schema and this table."""
    frame, roles = open_frame(X), schema.roles
    fields: dict[str, Field] = {}
    for role in ("sensitive", "discrete", "ordinal", "matched", "continuous"):
        for name in roles.names(role):
            family = frame.column(name).dtype.family
            if role == "continuous" or name in roles.bins:
                low, high = schema.ranges.get(name, (None, None))
                is_whole = "int" in frame.column(name).dtype.arrow
                why_not = None if family == "numbers" else f"it holds {family}"
                fields[name] = Field(name, role, None, low, high, is_whole, why_not)
                continue
            options, why_not = categories.get(name, ()), None
            if len(options) > MOST_OPTIONS:
                options, why_not = (), f"it has {len(options):,} distinct values, too many to choose from"
            fields[name] = Field(name, role, options, why_not=why_not)
    return fields


def ask_model(model: Any, frame: Any) -> NDArray[np.float64]:
    """Return a model's or function's scores of a few rows."""
    wanted = getattr(model, "feature_names_in_", None)
    try:
        if wanted is not None:
            frame = open_frame(frame).select([str(name) for name in wanted])
        ask: Callable[[Any], Any] = getattr(model, "predict_proba", None) or getattr(model, "predict", None) or model
        found = ask(frame)
        values = np.asarray(found.to_numpy() if hasattr(found, "to_numpy") else found, dtype=np.float64)
    except LikewiseError:
        raise
    except Exception as error:  # models of any kind may fail on values they were not made for
        lines = str(error).strip().splitlines() or ["no reason given"]
        raise ScoreError(f"The model cannot score this: {type(error).__name__}: {lines[0][:300]}") from error
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def score_changed(model: Any, X: Any, scores: Scores, row: int, changed: dict[str, Any]) -> NDArray[np.float64]:
    """Score one person with changed fields, along with people of known scores."""
    import pyarrow as pa

    known = np.unique(np.append(np.linspace(0, len(scores) - 1, N_KNOWN).astype(np.int64), row))
    rows = np.append(known, row)
    where = np.arange(len(rows)) == len(rows) - 1
    try:
        made = pa.table({name: pa.array([value] * len(rows)) for name, value in changed.items()})
        frame = overwrite_columns(X, rows, made, dict.fromkeys(changed, where))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ScoreError(f"This value does not fit its column ({type(error).__name__}).") from error
    values = ask_model(model, frame)
    if values.ndim not in (1, 2) or len(values) != len(rows) or not np.isfinite(values[-1]).all():
        raise ScoreError("The model returned no finite score for this person.")
    wanted = scores.values[known]
    answers = values[:, None] if values.ndim == 1 else values
    chosen = [_find_column(answers[:-1], one) for one in (wanted[:, None] if wanted.ndim == 1 else wanted).T]
    return answers[-1, chosen]


def _find_column(answers: NDArray[np.float64], known: NDArray[np.float64]) -> int:
    """Return the score column that matches the known scores."""
    apart = np.abs(answers - known[:, None]).max(axis=0)
    column = int(apart.argmin())
    scale = max(1.0, float(np.abs(known).max(initial=0.0)))
    if not apart[column] <= NEAR * scale:
        raise ScoreError(
            "The model no longer reproduces its scores, so what-if is not available: it may be random, or depend "
            "on all rows at once."
        )
    return column


def can_score(scores: Any) -> bool:
    """Whether this is a model or a function, rather than scores."""
    return not isinstance(scores, str) and (
        callable(scores) or hasattr(scores, "predict_proba") or hasattr(scores, "predict")
    )


class GapParts:
    """Splits the gaps of held pairs over the columns in which the two people differ, by asking the model."""

    def __init__(self, question: Question, settings: AuditSettings, model: Any, held: HeldPairs) -> None:
        self._question, self._settings, self._model, self._held = question, settings, model, held

    def of_pair(self, place: int) -> Plain:
        """Return the parts of one gap, which add up to it, the largest first; those of no gap may cancel out."""
        left, right = self._rows(np.array([place]))
        split = split_pairs(self._mixer, self._question, left, right)
        parts = split.towards(self._held.gaps[[place]]) if self._held.gaps[place] else split.parts
        roles, names = roles_of(self._question), self._mixer.names
        listed = [(names[split.columns[at]], float(parts[at])) for at in np.argsort(-np.abs(parts), kind="stable")]
        return {
            "gap": float(self._held.gaps[place]),
            "parts": [{"column": name, "role": roles.get(name, NOT_COMPARED), "part": part} for name, part in listed],
            "n_orders": N_ORDERS if len(listed) > MAX_COLUMNS else None,
        }

    def of_pairs(self, places: Places) -> Plain:
        """Return what each column adds to the mean gap of some pairs; of many, of as many as one can wait for."""
        if not len(places):
            raise ScoreError("No pair is selected, so there is no gap to split.")
        drawn = self._draw(places)
        left, right = self._rows(drawn)
        split = split_pairs(self._mixer, self._question, left, right)
        gaps, weights = self._held.gaps[drawn], self._weights(drawn)
        return {
            "n_pairs": len(places),
            "n_split": len(drawn),
            "n_estimated": int((split.n_columns > MAX_COLUMNS).sum()),
            "max_columns": MAX_COLUMNS,
            "n_orders": N_ORDERS,
            "mean_gap": mean_of(gaps, weights),
            "mean_gap_of_all": mean_of(self._held.gaps[places], self._weights(places)),
            "columns": [plain(asdict(one)) for one in sum_parts(split, self._mixer, self._question, gaps, weights)],
        }

    @cached_property
    def _mixer(self) -> Mixer:
        """The people in the columns that the model sees; it is asked for everybody once, to see that it is the one."""
        pairs = self._held.pairs
        people = np.unique(np.concatenate([pairs.left, pairs.right])).astype(np.int64)
        return open_mixer(self._question, self._settings, self._model, people)

    def _draw(self, places: Places) -> Places:
        """Draw pairs at random so that the model is asked for a bounded number of rows; all, where these are few."""
        drawn = places
        if len(places) > MOST_PAIRS:
            drawn = np.random.default_rng(0).choice(places, MOST_PAIRS, replace=False)
        n_columns = self._mixer.count_differences(*self._rows(drawn)).astype(np.float64)
        costs = np.where(n_columns <= MAX_COLUMNS, np.exp2(np.minimum(n_columns, MAX_COLUMNS)), N_ORDERS * n_columns)
        n = max(int(MOST_MIXTURES / costs.mean()), 1)
        return np.sort(drawn if n >= len(drawn) else np.random.default_rng(1).choice(drawn, n, replace=False))

    def _rows(self, places: Places) -> tuple[Places, Places]:
        pairs = self._held.pairs
        return pairs.left[places].astype(np.int64), pairs.right[places].astype(np.int64)

    def _weights(self, places: Places) -> NDArray[np.float64] | None:
        return None if self._held.weights is None else self._held.weights[places]
