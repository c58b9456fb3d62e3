"""Two people of a pair side by side, with the values of the user's own table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.pairs._selection import DIGITS
from likewise.auditing.question._question import Question
from likewise.comparable import Comparability
from likewise.record._internal import Factor, PairCase
from likewise.schema import CodedTable
from likewise.schema._internal import Frame, open_frame

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
KINDS: Final = ("sensitive", "discrete", "ordinal", "matched", "continuous")


def describe_pairs(
    left: Rows, right: Rows, gaps: Floats, rank_gaps: Floats, question: Question
) -> tuple[PairCase, ...]:
    """Return the two people of each pair side by side, with the values of the user's own table."""
    table, scores = question.table, question.scores
    people, places = question.look_up(left, right)
    compared = compare_columns(open_frame(people.frame), people.table, question.rule, *places)
    factors = zip(*compared, strict=True) if len(left) else iter(())
    labels = table.classes[table.labels[left]].tolist()
    ids = [choose_ids(question, rows) for rows in (left, right)]
    flips = None if scores.decisions is None else (scores.decisions[left] != scores.decisions[right]).tolist()
    decisions = [_say_decisions(question, rows) for rows in (left, right)]
    return tuple(
        PairCase(
            left_row=int(left[place]),
            right_row=int(right[place]),
            left_id=ids[0][place],
            right_id=ids[1][place],
            label=labels[place] if scores.has_labels else None,
            left_score=plain_score(scores.values[left[place]]),
            right_score=plain_score(scores.values[right[place]]),
            gap=float(gaps[place]),
            rank_gap=float(rank_gaps[place]),
            is_flip=None if flips is None else flips[place],
            factors=of_pair,
            left_decision=decisions[0][place],
            right_decision=decisions[1][place],
        )
        for place, of_pair in enumerate(factors)
    )


def compare_columns(
    frame: Frame, table: CodedTable, rule: Comparability, left: Rows, right: Rows
) -> Iterator[list[Factor]]:
    """Yield what each pair has in one column after the other, sensitive columns first."""
    shifts_of = {"continuous": rule.continuous_shifts(table), "ordinal": rule.ordinal_shifts(table)}
    limits = {"continuous": rule.continuous_limits(table), "ordinal": rule.ordinal_limits(table)}
    both = np.concatenate([left, right])  # a column is read as a whole, so once
    for kind in KINDS:
        for column, name in enumerate(table.names[kind]):
            codes = getattr(table, kind)[:, column]
            has_shift = kind in limits
            shifts: list[float | None] = [None] * len(left)
            if has_shift:  # ranks as floats: the difference of two int32 may overflow
                shifts = np.abs(codes[left].astype(np.float64) - codes[right]).tolist()
            tolerance, tie = None, 0.0  # none where it is relative to the value
            if has_shift and not math.isnan(shifts_of[kind][column]):
                tolerance = round(float(shifts_of[kind][column]), DIGITS)
                tie = max(float(limits[kind][column]) - tolerance, 0.0)
            cells = frame.cells(name, both)
            sides = zip(cells[: len(left)], cells[len(left) :], strict=True)
            differs = (codes[left] != codes[right]).tolist()
            in_units = rule.differences(name, table, left, right) if kind == "continuous" else None
            yield [
                Factor(
                    column=name,
                    role=kind,
                    left=one,
                    right=other,
                    differs=is_other,
                    shift=shift,
                    tolerance=tolerance,
                    tie=tie,
                    **({} if in_units is None else in_units.at(place)),
                )
                for place, ((one, other), is_other, shift) in enumerate(zip(sides, differs, shifts, strict=True))
            ]


def choose_ids(question: Question, rows: Rows) -> list[Any]:
    """Return the identifiers of these rows; the row numbers where there are none."""
    row_id = question.schema.roles.row_id
    if row_id is None:
        return list(rows.tolist())
    people, (places,) = question.look_up(rows)
    return open_frame(people.frame).cells(row_id, places)


def _say_decisions(question: Question, rows: Rows) -> list[Any]:
    decisions = question.scores.decisions
    if decisions is None:
        return [None] * len(rows)
    if question.scores.task == "multiclass":
        return list(question.table.classes[decisions[rows]].tolist())
    return [question.words[0] if one else question.words[1] for one in decisions[rows].tolist()]


def plain_score(score: Any) -> float | tuple[float, ...]:
    """Return one score, or those of all classes, as plain numbers."""
    return float(score) if score.ndim == 0 else tuple(score.tolist())
