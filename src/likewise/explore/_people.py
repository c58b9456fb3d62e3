"""Two people side by side: every compared column, what differs, and how far the rule lets them be apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._format import count_of
from likewise._json import plain
from likewise.auditing import Factor, Scores
from likewise.auditing._internal import compare_columns
from likewise.comparable import Comparability
from likewise.schema import CodedTable
from likewise.schema._internal import Frame


def compare_people(
    frame: Frame, table: CodedTable, rule: Comparability, left: int, right: int
) -> tuple[list[Factor], int]:
    """List what the two have in each column, and count the discrete columns that differ."""
    factors = [one for (one,) in compare_columns(frame, table, rule, np.array([left]), np.array([right]))]
    codes = table.discrete[[left, right]]
    return factors, int(np.count_nonzero((codes[0] != codes[1])[rule.may_change(table)]))


def describe_factor(factor: Factor, rule: Comparability, n_sensitive: int) -> dict[str, Any]:
    """Write a factor as plain data, with its tolerance in words."""
    is_equal = factor.role == "matched" or factor.column in rule.must_match
    is_equal |= factor.role == "discrete" and rule.max_discrete_changes == 0
    if is_equal or (factor.role == "sensitive" and rule.sensitive_differs == "none"):
        allowed = "has to be equal"
    elif factor.role == "sensitive":
        is_one = rule.sensitive_differs == "any" and n_sensitive > 1
        allowed = "one sensitive factor differs" if is_one else "has to differ"
    elif factor.role == "discrete":
        allowed = f"at most {count_of(rule.max_discrete_changes, 'change')} in all"
    elif factor.role == "ordinal":
        allowed = f"at most {factor.tolerance:g} apart in rank"
    else:
        allowed = f"at most {factor.tolerance:.6g} of range"
    return {
        "column": factor.column,
        "role": factor.role,
        "left": plain(factor.left),
        "right": plain(factor.right),
        "differs": factor.differs,
        "shift": factor.shift,
        "tolerance": factor.tolerance,
        "allowed": allowed,
    }


def say_decision(scores: Scores, table: CodedTable, row: int) -> Any:
    """Say yes or no, or which of several labels is decided for; None where nothing is decided."""
    if scores.decisions is None:
        return None
    decided = scores.decisions[row]
    return plain(table.classes[decided].item()) if scores.task == "multiclass" else bool(decided)


def name_people(frame: Frame, row_id: str | None, rows: NDArray[Any]) -> list[Any]:
    """Call people what the user calls them, or by their rows."""
    return plain(rows.tolist() if row_id is None else frame.cells(row_id, rows))  # type: ignore[no-any-return]  # plain gives Any
