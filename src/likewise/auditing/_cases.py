"""The worst pairs as evidence: two people side by side, what differs between them, and by how much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._format import line_up
from likewise.auditing._question import Question
from likewise.auditing._worst import DIGITS
from likewise.comparable import SHIFT_TOLERANCE, Comparability
from likewise.schema import CodedTable
from likewise.schema._internal import Frame, open_frame

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]

KINDS: Final = ("sensitive", "discrete", "ordinal", "matched", "continuous")


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """Hold what two people have in one column.

    Parameters
    ----------
    column : str
    role : {"sensitive", "discrete", "ordinal", "matched", "continuous"}
    left, right : object
        What the table says of the two people; None where it says nothing.
    differs : bool
        Whether the rule sees a difference: two ages in one bin are the same to it.
    shift : float or None
        How far apart they are: as a share of the training range where continuous, in ranks where ordinal.
    tolerance : float or None
        How far apart the rule lets them be.

    Examples
    --------
    >>> from likewise.auditing import Factor
    >>> factor = Factor(column="age", role="continuous", left=30, right=31, differs=True, shift=0.02, tolerance=0.025)
    >>> factor.shift <= factor.tolerance
    True
    """

    column: str
    role: str
    left: Any
    right: Any
    differs: bool
    shift: float | None = None
    tolerance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCase:
    """Hold two comparable people side by side, and how differently they are scored.

    Parameters
    ----------
    left_row, right_row : int
        Their rows, counted from 0.
    left_id, right_id : object
        What the user calls these rows; the rows themselves, if nothing.
    label : object
        The label both have; None in regression, where it plays no part.
    left_score, right_score : float, or tuple of float
        As the model gave them; the probabilities of all labels where there are more than two.
    gap : float
        Between the two scores; in regression, in the unit of gaps.
    rank_gap : float
        Between the two ranks among all scored people.
    is_flip : bool or None
        Whether they get different decisions; None without decisions.
    factors : tuple of Factor
        Every column that was compared, sensitive ones first.
    left_decision, right_decision : bool or object
        Whether the decision is yes; of more than two labels, the one that is decided for. None without decisions.

    Examples
    --------
    >>> from likewise.auditing import Factor, PairCase
    >>> sex = Factor(column="sex", role="sensitive", left="f", right="m", differs=True)
    >>> job = Factor(column="job", role="discrete", left="cook", right="cook", differs=False)
    >>> case = PairCase(left_row=3, right_row=8, left_id=3, right_id=8, label="yes", left_score=0.25, right_score=0.75,
    ...                 gap=0.5, rank_gap=0.4, is_flip=True, factors=(sex, job))
    >>> case.differing
    ('sex',)
    >>> print(case)
              row 3  row 8
       label  yes    yes
       score  0.25   0.75
    *  sex    f      m
       job    cook   cook
    Gap 0.5, rank gap 0.4; the decisions differ.
    """

    left_row: int
    right_row: int
    left_id: Any
    right_id: Any
    label: Any
    left_score: float | tuple[float, ...]
    right_score: float | tuple[float, ...]
    gap: float
    rank_gap: float
    is_flip: bool | None
    factors: tuple[Factor, ...]
    left_decision: Any = None
    right_decision: Any = None

    @property
    def differing(self) -> tuple[str, ...]:
        """The columns in which the two differ."""
        return tuple(factor.column for factor in self.factors if factor.differs)

    def __str__(self) -> str:
        kind, *names = name_people(self)
        rows = [("", "", *(f"{kind} {name}" for name in names))]
        rows += [] if self.label is None else [("", "label", str(self.label), str(self.label))]
        rows += [("", "score", _show(self.left_score), _show(self.right_score))]
        rows += [("*" if one.differs else "", one.column, _show(one.left), _show(one.right)) for one in self.factors]
        decisions = "; the decisions differ" if self.is_flip else ""
        return f"{line_up(rows)}\nGap {self.gap:.4g}, rank gap {self.rank_gap:.4g}{decisions}."


def name_people(case: Any) -> tuple[str, str, str]:
    """Say what two people go by, and how: by their ids, where the user has any, and otherwise by their rows."""
    ids, rows = (case.left_id, case.right_id), (case.left_row, case.right_row)
    if ids == rows:
        return "row", f"{rows[0]:,}", f"{rows[1]:,}"
    return "id", _show(ids[0]), _show(ids[1])


def _show(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(map(_show, value))
    return f"{value:.6g}" if isinstance(value, float) else "(missing)" if value is None else str(value)


def describe_pairs(
    left: Rows, right: Rows, gaps: Floats, rank_gaps: Floats, question: Question
) -> tuple[PairCase, ...]:
    """Put the two people of each pair side by side, with the values of the user's own table."""
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
            label=None if scores.task == "regression" else labels[place],
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
    """Put people side by side, column by column: tables are read that way.

    Parameters
    ----------
    frame : Frame
        The user's own table, as :func:`likewise.schema.open_frame` gives it.
    table : CodedTable
        The same people, as the rule sees them.
    rule : Comparability
    left, right : array of int, shape (n_pairs,)
        Row positions.

    Yields
    ------
    list of Factor
        What each pair has in one column; sensitive columns come first.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise import Comparability, load_dataset
    >>> from likewise.auditing._internal import compare_columns
    >>> from likewise.schema import open_frame
    >>> data = load_dataset("planted")
    >>> table = data.roles.learn(data.train.X).encode(data.train.X, data.train.y)
    >>> columns = compare_columns(open_frame(data.train.X), table, Comparability(), np.array([0]), np.array([1]))
    >>> [factor.role for factors in columns for factor in factors][:2]
    ['sensitive', 'sensitive']
    """
    limits = {"continuous": rule.continuous_limits(table), "ordinal": rule.ordinal_limits(table)}
    for kind in KINDS:
        for column, name in enumerate(table.names[kind]):
            codes = getattr(table, kind)[:, column]
            has_shift = kind in limits
            shifts: list[float | None] = [None] * len(left)
            if has_shift:  # ranks as floats: the difference of two int32 may overflow
                shifts = np.abs(codes[left].astype(np.float64) - codes[right]).tolist()
            sides = zip(frame.cells(name, left), frame.cells(name, right), strict=True)
            differs = (codes[left] != codes[right]).tolist()
            yield [
                Factor(
                    column=name,
                    role=kind,
                    left=one,
                    right=other,
                    differs=is_other,
                    shift=shift,
                    tolerance=round(float(limits[kind][column]) - SHIFT_TOLERANCE, DIGITS) if has_shift else None,
                )
                for (one, other), is_other, shift in zip(sides, differs, shifts, strict=True)
            ]


def choose_ids(question: Question, rows: Rows) -> list[Any]:
    """Say what the user calls these rows; the rows themselves, if nothing."""
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
    return list(decisions[rows].astype(bool).tolist())


def plain_score(score: Any) -> float | tuple[float, ...]:
    """Give one score, or those of all labels, as plain numbers."""
    return float(score) if score.ndim == 0 else tuple(score.tolist())
