"""Pairs side by side → a sheet for a reviewer: one line a factor, with room for what the reviewer finds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from likewise.auditing._cases_table import scores_by_name, typed, typed_alike
from likewise.auditing._formulas import as_text
from likewise.comparable._internal import SHIFT_TOLERANCE
from likewise.record._internal import Factor, PairCase

if TYPE_CHECKING:
    import pyarrow as pa


def review_table(worst: Sequence[PairCase], *, labels: Sequence[Any] | None = None) -> pa.Table:
    """Write pairs as a review sheet: one line for every factor of every pair.

    Of each pair, the first is the person under review and the other the comparator. Before it goes into a CSV file,
    :func:`defuse_formulas` makes it safe to open in a spreadsheet.

    Parameters
    ----------
    worst : sequence of PairCase
        Such as the ``worst`` pairs of an audit.
    labels : sequence, optional
        Where people have a score for each label, the labels, to name the columns of scores by; otherwise these are
        numbered from 0.

    Returns
    -------
    pyarrow.Table
        ``pair`` (1 for the worst), ``gap``, ``rank_gap``, ``outcome``, ``decisions_differ``, the row, id, score and
        decision of the ``person_`` and of the ``comparator_``; ``factor`` and ``role``, what the two have in it,
        whether it ``differs`` to the rule, the ``difference`` and its ``tolerance`` where the rule has one for this
        factor alone, and whether it is ``within_tolerance``; and, empty, ``disposition`` and ``explanation``.

    Examples
    --------
    >>> from likewise.auditing import Factor, PairCase, review_table
    >>> sex = Factor(column="sex", role="sensitive", left="f", right="m", differs=True)
    >>> age = Factor(column="age", role="continuous", left=30, right=31, differs=True, shift=0.02, tolerance=0.025)
    >>> case = PairCase(left_row=3, right_row=8, left_id=3, right_id=8, label="yes", left_score=0.25, right_score=0.75,
    ...                 gap=0.5, rank_gap=0.4, is_flip=True, factors=(sex, age))
    >>> sheet = review_table([case])
    >>> sheet["factor"].to_pylist(), sheet["comparator_value"].to_pylist(), sheet["within_tolerance"].to_pylist()
    (['sex', 'age'], ['m', '31'], [None, True])
    """
    import pyarrow as pa

    lines = [(pair, factor) for pair, case in enumerate(worst) for factor in case.factors]
    pairs = pa.array([pair for pair, _ in lines], pa.int64())
    factors = [factor for _, factor in lines]
    texts = {
        "factor": [factor.column for factor in factors],
        "role": [factor.role for factor in factors],
        "person_value": [_known(factor.left) for factor in factors],
        "comparator_value": [_known(factor.right) for factor in factors],
    }
    differences = [(_known(factor.shift), factor.tolerance) for factor in factors]
    return pa.table(
        {name: column.take(pairs) for name, column in _describe_pairs(worst, labels).items()}
        | {name: pa.array([as_text(value) for value in values], pa.string()) for name, values in texts.items()}
        | {
            "differs": pa.array([factor.differs for factor in factors], pa.bool_()),
            "difference": pa.array([difference for difference, _ in differences], pa.float64()),
            "tolerance": pa.array([tolerance for _, tolerance in differences], pa.float64()),
            "within_tolerance": pa.array([_is_within(factor) for factor in factors], pa.bool_()),
            "disposition": pa.nulls(len(lines), pa.string()),
            "explanation": pa.nulls(len(lines), pa.string()),
        }
    )


def _describe_pairs(worst: Sequence[PairCase], labels: Sequence[Any] | None) -> dict[str, Any]:
    """Say what all lines of a pair have in common."""
    import pyarrow as pa

    ids = typed_alike([case.left_id for case in worst], [case.right_id for case in worst])
    decisions = typed_alike([case.left_decision for case in worst], [case.right_decision for case in worst])
    scores = scores_by_name(worst, labels)
    sides: dict[str, dict[str, Any]] = {
        "person": {"row": [case.left_row for case in worst], "id": ids[0], "decision": decisions[0]},
        "comparator": {"row": [case.right_row for case in worst], "id": ids[1], "decision": decisions[1]},
    }
    described: dict[str, Any] = {
        "pair": pa.array(range(1, len(worst) + 1), pa.int64()),
        "gap": pa.array([case.gap for case in worst], pa.float64()),
        "rank_gap": pa.array([case.rank_gap for case in worst], pa.float64()),
        "outcome": typed([case.label for case in worst]),
        "decisions_differ": pa.array([case.is_flip for case in worst], pa.bool_()),
    }
    for side, (who, known) in enumerate(sides.items()):
        described[f"{who}_row"] = pa.array(known["row"], pa.int64())
        described[f"{who}_id"] = known["id"]
        for name, values in scores.items():
            described[f"{who}_{name}"] = pa.array(values[side], pa.float64())
        described[f"{who}_decision"] = known["decision"]
    return described


def _is_within(factor: Factor) -> bool | None:
    """Hold a difference against its tolerance; a column that must match tolerates none."""
    if factor.role == "matched":
        return not factor.differs
    shift = _known(factor.shift)
    return None if shift is None or factor.tolerance is None else shift <= factor.tolerance + SHIFT_TOLERANCE


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
