"""Linear models: the highest and lowest score of anybody comparable, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from likewise.certifying._inputs import CodedInputs, NumberInputs, ReadInputs
from likewise.certifying._neighbourhood import (
    DOWN,
    OTHER_VALUE,
    OWN_VALUE,
    UP,
    CodedColumn,
    Codes,
    ExtremeRows,
    Neighbourhood,
    Numbers,
    boxes_of,
)
from likewise.exceptions import ScoreError

MODULES: Final = ("sklearn.linear_model", "sklearn.svm", "sklearn.discriminant_analysis")
BLOCKED: Final = -np.inf


def linear_weights(last: Any) -> Numbers | None:
    """Return the weight of each input, if a model is linear and has one score."""
    kind = type(last)
    if not kind.__module__.startswith(MODULES) or kind.__name__ in ("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"):
        return None
    weights = getattr(last, "coef_", None)
    if weights is None:
        return None
    weights = np.asarray(weights.toarray() if hasattr(weights, "toarray") else weights, np.float64)
    if weights.ndim == 2 and len(weights) > 1:
        raise ScoreError(
            f"This {kind.__name__} has {len(weights)} scores per person; a certificate is about one. Certify a model "
            "of two labels, or of one outcome."
        )
    return weights.reshape(-1)


def search_linear(inputs: ReadInputs, weights: Numbers) -> ExtremeRows:
    """Return the comparable rows with the highest and with the lowest score of each person; both are exact.

    The score is a sum over columns. Each sensitive, ordinal and continuous column takes its best value, and those
    discrete columns change that gain most.
    """
    around = inputs.around
    rows = ExtremeRows.start(around)
    for direction, sign in ((UP, 1.0), (DOWN, -1.0)):
        for number in inputs.numbers:
            rows.numbers[number.column.name][direction] = _best_end(inputs, number, sign * weights, direction)
        parts = [_best_codes(one, sign * weights, direction) for one in inputs.coded]
        by_name = {part.name: part for part in parts}
        for part in parts:
            if part.kind == "ordinal":
                rows.codes[part.name][direction] = part.best
        discrete = [part for part in parts if part.kind == "discrete"]
        _change_most(rows, discrete, around.rule.max_discrete_changes, direction)
        _set_sensitive(rows, around, by_name, direction)
    return rows


def _best_end(inputs: ReadInputs, one: NumberInputs, weights: Numbers, direction: int) -> Numbers:
    """Return the end of each person's interval at which a column adds most; the own number if the ends are alike."""
    column, people = one.column, np.arange(len(inputs.around))
    signs = np.sign(weights[one.inputs])
    if len(one.inputs) and signs.min() < 0 < signs.max():
        raise ScoreError(
            f"The model has inputs of opposite weight for column '{column.name}', so its score may be highest between "
            "two numbers. Encode the column once."
        )
    ends = [column.low[direction], column.high[direction]]
    sums = []
    for end in ends:
        frame = inputs.around.rows(people, {}, {column.name: end})
        sums.append(inputs.model.encode(frame).where_absent(0.0)[:, one.inputs] @ weights[one.inputs])
    best = np.where(sums[1] > sums[0], ends[1], ends[0])
    return np.where((sums[1] == sums[0]) | np.isnan(best), column.own, best)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """What a column of categories can add to each person's score."""

    name: str
    kind: str
    own: Codes
    best: Codes  # the own one included
    gain: Numbers
    other: Codes  # the best that is not the own one; -1 without any
    other_gain: Numbers  # may be a loss


def _best_codes(one: CodedInputs, weights: Numbers, direction: int) -> _Part:
    column = one.column
    values = one.values if one.absent is None else np.where(one.absent, 0.0, one.values)
    added = np.nan_to_num(values) @ weights[one.inputs]  # per code; a missing rank has its own, which never changes
    is_open = np.append(one.is_known, False)[None, :] & np.ones((len(column.own), 1), np.bool_)
    people, codes = np.arange(len(column.own)), np.arange(column.n_codes + 1)[None, :]
    if column.kind == "ordinal":
        is_open &= (codes >= column.low[direction][:, None]) & (codes <= column.high[direction][:, None])
    elif not column.may_change:
        is_open[:] = False
    is_open[people, column.own] = False
    gains = np.where(is_open, added[None, :] - added[column.own][:, None], BLOCKED)
    other = gains.argmax(axis=1)
    other_gain = gains[people, other]
    improves = other_gain > 0
    best, gain = np.where(improves, other, column.own), np.where(improves, other_gain, 0.0)
    return _Part(
        column.name, column.kind, column.own, best, gain, np.where(other_gain > BLOCKED, other, -1), other_gain
    )


def _change_most(rows: ExtremeRows, parts: list[_Part], n_changes: int, direction: int) -> None:
    """Change the columns that gain most, as many as the rule allows."""
    if not parts:
        return
    gains = np.stack([part.gain for part in parts])
    ranks = (-gains).argsort(axis=0, kind="stable").argsort(axis=0)
    for part, rank in zip(parts, ranks, strict=True):
        rows.codes[part.name][direction] = np.where(rank < n_changes, part.best, part.own)


def _set_sensitive(rows: ExtremeRows, around: Neighbourhood, parts: dict[str, _Part], direction: int) -> None:
    """Take the box of sensitive values that gains most; of those that gain alike, the one with fewest changes."""
    columns = [parts.get(one.name) or _unseen(one) for one in around.coded if one.kind == "sensitive"]
    if not columns:
        return
    gains, n_changed, codes = [], [], []
    for box in boxes_of(around.rule, len(columns)):
        taken = [_take(column, value) for column, value in zip(columns, box, strict=True)]
        codes.append([code for code, _ in taken])
        gains.append(np.sum([gain for _, gain in taken], axis=0))
        n_changed.append(np.sum([code != one.own for (code, _), one in zip(taken, columns, strict=True)], axis=0))
    most = np.max(gains, axis=0)
    chosen = np.where(np.array(gains) == most, n_changed, len(columns) + 1).argmin(axis=0)
    rows.is_possible[direction] &= most > BLOCKED
    for at, column in enumerate(columns):
        code = np.choose(chosen, [taken[at] for taken in codes])
        rows.codes[column.name][direction] = np.where(most > BLOCKED, code, column.own)


def _unseen(column: CodedColumn) -> _Part:
    """Return what a sensitive column adds that the model does not see: nothing, with any other value."""
    own, is_alone = column.own, column.n_codes < 2
    other = np.where(is_alone, -1, (own + 1) % max(column.n_codes, 1))
    return _Part(
        column.name, "sensitive", own, own, np.zeros(len(own)), other, np.full(len(own), BLOCKED if is_alone else 0.0)
    )


def _take(column: _Part, value: int) -> tuple[Codes, Numbers]:
    """Return the code of each person that gains most of those that a box allows, and the gain."""
    if value == OWN_VALUE:
        return column.own, np.zeros(len(column.own))
    return (column.other, column.other_gain) if value == OTHER_VALUE else (column.best, column.gain)
