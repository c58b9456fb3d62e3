"""Pairs side by side → a table with one row a pair, for files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from likewise.auditing._formulas import as_text
from likewise.exceptions import ScoreError
from likewise.record._internal import PairCase

if TYPE_CHECKING:
    import pyarrow as pa

Sides = dict[str, tuple[list[Any], list[Any]]]


def cases_table(cases: Sequence[PairCase], labels: Sequence[Any] | None = None) -> pa.Table:
    """Write pairs as a table: one row a pair, and two columns for everything that both people have.

    Parameters
    ----------
    cases : sequence of PairCase
        Such as the ``worst`` pairs of an audit.
    labels : sequence, optional
        Where people have a score for each label, the labels, to name the columns of scores by; otherwise these are
        numbered from 0.

    Returns
    -------
    pyarrow.Table
        ``rank``, ``left_row``, ``right_row``, ``left_id``, ``right_id``, ``label``, ``left_score``, ``right_score``,
        ``gap``, ``rank_gap``, ``flip``, ``differs``, and ``left_…`` and ``right_…`` of every compared column. Where
        such a name is taken, the column's has an underscore more.

    Examples
    --------
    >>> from likewise.auditing import Factor, PairCase, cases_table
    >>> sex = Factor(column="sex", role="sensitive", left="f", right="m", differs=True)
    >>> case = PairCase(left_row=3, right_row=8, left_id=3, right_id=8, label="yes", left_score=0.25, right_score=0.75,
    ...                 gap=0.5, rank_gap=0.4, is_flip=True, factors=(sex,))
    >>> table = cases_table([case])
    >>> table.column_names[-3:], table["right_sex"].to_pylist()
    (['differs', 'left_sex', 'right_sex'], ['m'])
    """
    import pyarrow as pa

    columns: dict[str, Any] = {"rank": pa.array(range(1, len(cases) + 1), pa.int64())}
    for name, (left, right) in _rows_and_ids(cases).items():
        columns[f"left_{name}"], columns[f"right_{name}"] = typed_alike(left, right)
    columns["label"] = typed([case.label for case in cases])
    scores = scores_by_name(cases, labels)
    for name, (left, right) in scores.items():
        columns[f"left_{name}"], columns[f"right_{name}"] = pa.array(left, pa.float64()), pa.array(right, pa.float64())
    columns["gap"] = pa.array([case.gap for case in cases], pa.float64())
    columns["rank_gap"] = pa.array([case.rank_gap for case in cases], pa.float64())
    columns["flip"] = pa.array([case.is_flip for case in cases], pa.bool_())
    columns["differs"] = pa.array([", ".join(case.differing) for case in cases], pa.string())
    for name, (left, right) in _factors(cases, {"row", "id", *scores}).items():
        columns[f"left_{name}"], columns[f"right_{name}"] = typed_alike(left, right)
    return pa.table(columns)


def _rows_and_ids(cases: Sequence[PairCase]) -> Sides:
    return {
        "row": ([case.left_row for case in cases], [case.right_row for case in cases]),
        "id": ([case.left_id for case in cases], [case.right_id for case in cases]),
    }


def scores_by_name(cases: Sequence[PairCase], labels: Sequence[Any] | None) -> Sides:
    """Name the scores of both people: one a person, or one a label."""
    left, right = [case.left_score for case in cases], [case.right_score for case in cases]
    if not any(isinstance(score, tuple) for score in left):
        return {"score": (left, right)}
    sides = [list(zip(*side, strict=True)) for side in (left, right)]
    n_labels = len(sides[0])
    if labels is not None and len(labels) != n_labels:
        raise ScoreError(f"{len(labels):,} labels for {n_labels:,} scores a person. Give one label for each score.")
    named: Sides = {}
    for label, one, other in zip(range(n_labels) if labels is None else labels, *sides, strict=True):
        named[_unused(f"score_{label}", named)] = list(one), list(other)
    return named


def _factors(cases: Sequence[PairCase], taken: set[str]) -> Sides:
    named: Sides = {}
    for column in range(len(cases[0].factors) if cases else 0):
        factors = [case.factors[column] for case in cases]
        name = _unused(factors[0].column, {*taken, *named})
        named[name] = [factor.left for factor in factors], [factor.right for factor in factors]
    return named


def _unused(name: str, taken: set[str] | Sides) -> str:
    while name in taken:
        name += "_"
    return name


def typed_alike(left: list[Any], right: list[Any]) -> tuple[Any, Any]:
    """Find the type of both sides together: one of them may hold nothing but missing values."""
    both = typed([*left, *right])
    return both.slice(0, len(left)), both.slice(len(left))


def typed(values: list[Any]) -> Any:
    """Find the type of values, which is text where it is none or several."""
    import pyarrow as pa

    try:
        array = pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # several types: text can hold them all
        array = pa.array([as_text(value) for value in values], pa.string())
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array
