"""How far apart the two people of each pair are, kept once, so that a moved threshold is a filter over numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.comparable import Comparability, ComparablePairs
from likewise.comparable._internal import SHIFT_TOLERANCE
from likewise.explore._reach import Point, base_shift, rule_at
from likewise.schema import CodedTable

BAND: Final = 1e-9  # quotients nearer than this to a threshold are rounded too much to decide by


@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """Hold for each pair how many discrete columns differ, and the largest continuous shift.

    Where columns have limits of their own, a shift is relative to them: the threshold at which its column allows it.
    """

    pairs: ComparablePairs
    rule: Comparability
    changes: NDArray[np.uint16]
    shifts: NDArray[np.float64]
    is_relative: bool

    def within(self, point: Point) -> NDArray[np.bool_]:
        """Tell which pairs are comparable at these thresholds, as the rule's definition does."""
        few = self.changes <= point.changes
        if not self.is_relative:
            few &= self.shifts <= np.float64(point.shift) + SHIFT_TOLERANCE
            return few
        near = self.shifts <= point.shift
        unsure = np.flatnonzero(few & (np.abs(self.shifts - point.shift) <= BAND * (1 + point.shift)))
        if len(unsure):  # a product and a quotient round differently, so the rule itself decides
            table, rule = self.pairs.left_table, rule_at(self.rule, point)
            near[unsure] = rule.holds(table[self.pairs.left[unsure]], table[self.pairs.right[unsure]])
        return few & near


def measure_distances(pairs: ComparablePairs, rule: Comparability) -> Distances:
    """Go through the compared columns one by one."""
    table, left, right = pairs.left_table, pairs.left, pairs.right
    changes = np.zeros(len(pairs), np.uint16)
    for column in np.flatnonzero(rule.may_change(table)):
        codes = np.ascontiguousarray(table.discrete[:, column])
        changes += codes[left] != codes[right]
    shares, is_relative = _proportions(rule, table)
    shifts = np.zeros(len(pairs))
    for column in np.flatnonzero(shares > 0):
        values = np.ascontiguousarray(table.continuous[:, column])
        apart = np.abs(values[left] - values[right])
        if is_relative:
            apart = (apart - SHIFT_TOLERANCE) / shares[column]
        np.maximum(shifts, apart, out=shifts)
    return Distances(pairs, rule, changes, shifts, is_relative)


def _proportions(rule: Comparability, table: CodedTable) -> tuple[NDArray[np.float64], bool]:
    """Give each continuous column's limit as a share of the threshold; 0 where none but equal values are allowed."""
    names: Any = table.names["continuous"]
    must_match = np.array([name in rule.must_match for name in names], dtype=np.bool_)
    base = base_shift(rule)
    if isinstance(rule.max_continuous_shift, int | float) or base == 0:
        return np.where(must_match, 0.0, 1.0), False
    shares = np.round(rule.continuous_limits(table) - SHIFT_TOLERANCE, 15) / base
    return np.where(must_match, 0.0, shares), True
