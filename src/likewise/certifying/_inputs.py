"""How the inputs of a model's last step depend on the columns of a table: each on one, by the fitted encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.certifying._neighbourhood import (
    CodedColumn,
    Codes,
    Neighbourhood,
    NumberColumn,
    Numbers,
    middle_of,
    number_at,
    order_of,
)
from likewise.exceptions import LikewiseError, ScoreError
from likewise.schema._internal import open_frame

Flags = NDArray[np.bool_]

# Both look at one column at a time; the second kind keeps the order of its numbers.
ENCODERS: Final = ("OneHotEncoder", "OrdinalEncoder", "TargetEncoder")
SCALERS: Final = ("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "SimpleImputer", "StandardScaler")
WRAPPERS: Final = ("AugmentedClassifier", "AugmentedRegressor", "ConsistentClassifier", "ConsistentRegressor")
READABLE: Final = (
    "linear models, trees, forests and boosted trees of scikit-learn (not HistGradientBoosting, which keeps its trees "
    "private), XGBoost and LightGBM"
)
NEAR: Final = 2**31  # floats apart: a float32 is 2**29 of them wide


class Encoded(NamedTuple):
    """Inputs of rows; ``absent`` where a sparse matrix holds nothing, which counts as 0 or as missing."""

    values: Numbers
    absent: Flags | None

    def where_absent(self, value: float) -> Numbers:
        """Return the inputs with a value put where nothing is held."""
        return self.values if self.absent is None else np.where(self.absent, value, self.values)


@dataclass(frozen=True, slots=True, eq=False)
class InnerModel:
    """A fitted model taken apart: the columns it takes, the steps that encode them, and the last step."""

    names: tuple[str, ...] | None  # None for a model of arrays, which takes all columns in order
    steps: tuple[Any, ...]
    last: Any

    @classmethod
    def of(cls, model: Any) -> InnerModel:
        """Take a model out of pipelines, and out of the models of likewise that wrap another."""
        last, steps = model, list[Any]()
        names = getattr(model, "feature_names_in_", None)
        while True:
            kind = type(last).__name__
            if type(last).__module__.startswith("likewise.") and kind in WRAPPERS and hasattr(last, "estimator_"):
                last = last.estimator_
                names = names if steps else getattr(last, "feature_names_in_", names)
            elif kind == "Pipeline" and hasattr(last, "steps"):
                steps += [step for _, step in last.steps[:-1] if step is not None and not isinstance(step, str)]
                last = last.steps[-1][1]
            else:
                return cls(None if names is None else tuple(map(str, names)), tuple(steps), last)

    def shown(self, frame: Any) -> Any:
        """Return what the model takes of a frame: its columns in its order, or an array."""
        opened = open_frame(frame)
        if self.names is None:
            return np.column_stack([opened.values(name) for name in opened.names])
        absent = [name for name in self.names if name not in opened.names]
        if absent:
            raise ScoreError(f"The model was fitted on column '{absent[0]}', which the table lacks. Add it.")
        return opened.select(list(self.names))

    def encode(self, frame: Any) -> Encoded:
        """Encode rows as the last step takes them."""
        found = self.shown(frame)
        for step in self.steps:
            found = step.transform(found)
        if hasattr(found, "tocoo"):
            entries = found.tocoo()
            values, absent = np.zeros(entries.shape), np.ones(entries.shape, np.bool_)
            values[entries.row, entries.col], absent[entries.row, entries.col] = entries.data, False
            return Encoded(values, absent)
        if not isinstance(found, np.ndarray):
            opened = open_frame(found)
            found = np.column_stack([opened.values(name) for name in opened.names])
        return Encoded(np.asarray(found, np.float64), None)

    def seen(self, around: Neighbourhood) -> set[str]:
        """Return the columns that the model takes."""
        return set(open_frame(around.frame).names if self.names is None else self.names)

    def fixed_columns(self, around: Neighbourhood) -> tuple[str, ...]:
        """Return the columns that the model sees and the rule does not compare: they stay as they are."""
        compared = {column.name for column in around.coded} | {column.name for column in around.numbers}
        return tuple(sorted(self.seen(around) - compared))

    def refuse_mixing(self, numbers: Sequence[str]) -> None:
        """Refuse steps that mix columns, or that turn the numbers of continuous columns into categories."""
        names = self.names
        for step in self.steps:
            _check_step(step, names, set(numbers))
            names = None  # of what comes out


def _check_step(step: Any, names: Sequence[str] | None, numbers: set[str]) -> None:
    kind = type(step).__name__
    if kind == "ColumnTransformer":
        for _, inner, columns in step.transformers_:
            if isinstance(inner, str):
                continue
            _check_step(inner, _names_of(columns, names), numbers)
    elif kind == "Pipeline":
        for _, inner in step.steps:
            if inner is not None and not isinstance(inner, str):
                _check_step(inner, names, numbers)
    elif kind in ENCODERS:
        coded = sorted(numbers if names is None else numbers & set(names))
        if coded:
            raise ScoreError(
                f"The model's {kind} may turn the continuous column '{coded[0]}' into categories, so values between "
                "those it knows have no score. Make the column discrete in the roles, or scale it instead."
            )
    elif kind not in SCALERS and not (kind == "FunctionTransformer" and step.func is None):
        known = ", ".join((*ENCODERS, *SCALERS))
        raise ScoreError(
            f"The model has a step {kind}, through which single columns cannot be followed. Steps that can be: {known}."
        )


def _names_of(columns: Any, names: Sequence[str] | None) -> Sequence[str] | None:
    """Return the names of a ColumnTransformer's columns, which may be given by position or mask."""
    if isinstance(columns, str):
        return [columns]
    if not isinstance(columns, slice) and all(isinstance(one, str) for one in columns):
        return list(columns)
    return None if names is None else np.asarray(names, object)[columns].tolist()


@dataclass(frozen=True, slots=True, eq=False)
class CodedInputs:
    """The inputs that a column of categories determines, and their values for each code."""

    column: CodedColumn
    inputs: Codes
    values: Numbers  # (codes, inputs); a further row for missing ranks
    absent: Flags | None
    is_known: Flags  # per code: whether the model can encode it


@dataclass(frozen=True, slots=True, eq=False)
class NumberInputs:
    """The inputs that a continuous column determines, each of them never falling as the number rises."""

    column: NumberColumn
    inputs: Codes
    base: int  # a person who has a number in the column


class Thresholds(NamedTuple):
    """Limits that inputs are compared with, each of a continuous column by its position among them."""

    column: Codes
    input: Codes
    limit: Numbers
    is_rounded: Flags  # whether the model rounds the input to float32 before it compares


@dataclass(frozen=True, slots=True, eq=False)
class ReadInputs:
    """All inputs by the column that determines them; the others stay as they are."""

    model: InnerModel
    around: Neighbourhood
    own: Encoded
    coded: tuple[CodedInputs, ...]
    numbers: tuple[NumberInputs, ...]

    @classmethod
    def read(cls, model: InnerModel, around: Neighbourhood) -> ReadInputs:
        """Ask the model's own encoders for the inputs of every category and of both ends of every continuous column."""
        model.refuse_mixing([column.name for column in around.numbers])
        seen = model.seen(around)
        own = _encode(model, around.frame)
        coded = tuple(_read_coded(model, around, column) for column in around.coded if column.name in seen)
        numbers = tuple(_read_numbers(model, around, column) for column in around.numbers if column.name in seen)
        found = np.concatenate(
            [np.empty(0, np.int64), *(one.inputs for one in coded), *(one.inputs for one in numbers)]
        )
        if len(np.unique(found)) < len(found):
            raise ScoreError("The model has an input that depends on two columns, so neither can be followed.")
        return cls(model, around, own, coded, numbers)

    def first_at(self, asked: Thresholds) -> Numbers:
        """Return the first number of each column with which its input is not below the limit, by bisection.

        All thresholds are found together: a step asks the model's encoders once.
        """
        columns = [one.column for one in self.numbers]
        is_whole = np.array([column.is_whole for column in columns], np.bool_)[asked.column]
        ends = [
            np.array([find(part) for part in parts])[asked.column]
            for find, parts in (
                (np.nanmin, [column.low for column in columns]),
                (np.nanmax, [column.high for column in columns]),
            )
        ]

        def position(numbers: Numbers) -> Codes:
            # bisection goes over whole numbers where there is nobody in between, else over all floats in order
            return np.where(is_whole, np.rint(numbers).astype(np.int64), order_of(numbers))

        def is_below(positions: Codes) -> Flags:
            numbers = np.where(is_whole, positions.astype(np.float64), number_at(positions))
            return self._inputs_at(asked, numbers) < asked.limit

        below, above = position(ends[0]) - 1, position(ends[1]) + 1  # an input may be below its limit in all the range
        guess = self._guess(asked, ends)
        for probe in (position(guess) - NEAR, position(guess) + NEAR):
            inside = (probe > below) & (probe < above)
            probe = np.where(inside, probe, position(ends[0]))
            low = is_below(probe)
            below = np.where(inside & low, np.maximum(probe, below), below)
            above = np.where(inside & ~low, np.minimum(probe, above), above)
        while True:
            middle = middle_of(below, above)
            if (middle == below).all():
                break
            low = is_below(middle)
            above = np.where(low | (middle == below), above, middle)
            below = np.where(low, middle, below)
        return np.where(is_whole, above.astype(np.float64), number_at(above))

    def _guess(self, asked: Thresholds, ends: list[Numbers]) -> Numbers:
        """Return where the inputs reach their limits if they are proportional to the numbers."""
        first, last = (self._inputs_at(asked, end) for end in ends)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = np.nan_to_num((asked.limit - first) / (last - first))
        return ends[0] + np.clip(share, 0.0, 1.0) * (ends[1] - ends[0])

    def _inputs_at(self, asked: Thresholds, numbers: Numbers) -> Numbers:
        people = np.array([one.base for one in self.numbers], np.int64)[asked.column]
        changed = {
            one.column.name: np.where(asked.column == at, numbers, one.column.own[people])
            for at, one in enumerate(self.numbers)
        }
        frame = self.around.rows(people, {}, changed)
        values = self.model.encode(frame).where_absent(0.0)[np.arange(len(numbers)), asked.input]
        return np.where(asked.is_rounded, values.astype(np.float32).astype(np.float64), values)

    def refused_categories(self) -> dict[str, int]:
        """Return in which columns the model cannot encode how many of the categories."""
        counts = {one.column.name: int((~one.is_known).sum()) for one in self.coded}
        return {name: n for name, n in counts.items() if n}


def _encode(model: InnerModel, frame: Any) -> Encoded:
    try:
        return model.encode(frame)
    except LikewiseError:
        raise
    except Exception as error:
        raise ScoreError(f"The model cannot encode this table: {reason_of(error)}.") from error


def _read_coded(model: InnerModel, around: Neighbourhood, column: CodedColumn) -> CodedInputs:
    def rows(codes: Codes) -> Any:
        return around.rows(np.zeros(len(codes), np.int64), {column.name: codes}, {})

    codes = np.arange(column.n_codes)
    is_known = np.ones(column.n_codes, np.bool_)
    try:
        found = model.encode(rows(codes))
    except Exception:  # of some category: which one does it not know?
        for code in codes:
            try:
                model.encode(rows(codes[code : code + 1]))
            except Exception:
                is_known[code] = False
        codes = codes[is_known]
        found = _encode(model, rows(codes))
    changes = found.where_absent(np.inf)
    with np.errstate(invalid="ignore"):
        same = (changes == changes[:1]) | (np.isnan(changes) & np.isnan(changes[:1]))
    inputs = np.flatnonzero(~same.all(axis=0))
    n_values = column.n_codes + 1
    values, absent = np.full((n_values, len(inputs)), np.nan), np.zeros((n_values, len(inputs)), np.bool_)
    values[codes] = found.values[:, inputs]
    if found.absent is not None:
        absent[codes] = found.absent[:, inputs]
    missing = np.flatnonzero(column.own == column.n_codes)[:1]
    if len(missing):
        one = _encode(model, around.rows(missing, {}, {}))
        values[-1] = one.values[0, inputs]
        absent[-1] = False if one.absent is None else one.absent[0, inputs]
    return CodedInputs(column, inputs, values, None if found.absent is None else absent, is_known)


def _read_numbers(model: InnerModel, around: Neighbourhood, column: NumberColumn) -> NumberInputs:
    present = np.flatnonzero(~np.isnan(column.own))
    if not len(present):
        return NumberInputs(column, np.empty(0, np.int64), 0)
    if around.table.units[column.name].day is not None:
        raise ScoreError(
            f"The model sees column '{column.name}', which holds dates or times. Give it a number instead."
        )
    ends = np.array([np.nanmin(column.low), np.nanmax(column.high)])
    people = np.full(2, present[0])
    found = _encode(model, around.rows(people, {}, {column.name: ends})).where_absent(0.0)
    if (found[1] < found[0]).any():
        raise ScoreError(
            f"The model has an input that falls as column '{column.name}' rises. Scale it in its own order."
        )
    return NumberInputs(column, np.flatnonzero(found[0] != found[1]), int(present[0]))


def reason_of(error: Exception) -> str:
    """Return the kind of an error, and the first line of what it says."""
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:300].rstrip(' .')}"


def unreadable(last: Any) -> ScoreError:
    """Return the error about a model that cannot be looked into."""
    return ScoreError(f"A {type(last).__name__} cannot be looked into. What can: {READABLE}.")
