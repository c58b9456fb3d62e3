"""How far the two thresholds can be moved: the loosest rule whose pairs fit into a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from likewise._format import count_of
from likewise.comparable import Comparability, count_pairs
from likewise.comparable._internal import EngineName
from likewise.exceptions import TooManyPairs
from likewise.schema import CodedTable

WHOLE_RANGE: Final = 1.0  # a shift of it says that anything goes
SMALLEST: Final = 0.001  # shifts below it are not told from none when a rule is tightened
FIRST: Final = 0.01  # where a shift of nothing starts to grow
REFINED: Final = 3  # halvings of the last step
MOST_STEPS: Final = 16  # over the discrete columns: hundreds of them are not tried one by one

Counter = Callable[[int, float], int]


@dataclass(frozen=True, slots=True)
class Point:
    """Two thresholds: discrete changes (T_d) and the largest continuous shift (T_c)."""

    changes: int
    shift: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Say where the thresholds start, where they end, and why there."""

    asked: Point
    start: Point
    end: Point
    most_changes: int  # as many as there are discrete columns that may differ
    has_shift: bool  # whether there is a continuous column
    n_asked: int
    n_end: int
    budget: int

    @property
    def why(self) -> str:
        """Tell in plain words why the thresholds end where they do."""
        held = f"{count_of(self.n_end, 'pair')} at these ends"
        if self.end.changes >= self.most_changes and (self.end.shift >= WHOLE_RANGE or not self.has_shift):
            return f"The thresholds go all the way: {held}."
        told = f"The thresholds end where the pairs would be more than the {self.budget:,} held in memory: {held}."
        if self.start != self.asked:
            told += (
                f" The rule asked for has {count_of(self.n_asked, 'pair')}, so the page starts at a stricter one. "
                "Hold more pairs (max_pairs), or ask for a stricter rule."
            )
        return told


def base_shift(rule: Comparability) -> float:
    """Give the number that the threshold of continuous columns stands for: the largest, where there are several."""
    limit = rule.max_continuous_shift
    if isinstance(limit, Mapping):
        return float(max(limit.values(), default=0.0))
    return float(max(limit, default=0.0)) if isinstance(limit, Sequence) else float(limit)


def rule_at(rule: Comparability, point: Point) -> Comparability:
    """Move the thresholds of a rule; several continuous limits keep their proportions."""
    base, limit = base_shift(rule), rule.max_continuous_shift
    share = point.shift / base if base else 1.0
    moved: Any = point.shift
    if isinstance(limit, Mapping):
        moved = {name: one * share if base else point.shift for name, one in limit.items()}
    elif isinstance(limit, Sequence):
        moved = tuple(one * share if base else point.shift for one in limit)
    return replace(rule, max_discrete_changes=point.changes, max_continuous_shift=moved)


def find_reach(table: CodedTable, rule: Comparability, budget: int, engine: EngineName) -> Reach:
    """Tighten the rule until its pairs fit, then loosen both thresholds in turn for as long as they do."""
    most = int(rule.may_change(table).sum())
    asked = Point(min(rule.max_discrete_changes, most), base_shift(rule))
    known: dict[Point, int] = {}

    def count(point: Point) -> int:
        if point not in known:
            known[point] = count_pairs(table, rule_at(rule, point), engine=engine).total
        return known[point]

    start = _tighten(asked, count, budget)
    end = _loosen(start, count, budget, most, has_shift=bool(table.names["continuous"]))
    return Reach(
        asked=asked,
        start=start,
        end=end,
        most_changes=most,
        has_shift=bool(table.names["continuous"]),
        n_asked=count(asked),
        n_end=count(end),
        budget=budget,
    )


def _tighten(point: Point, count: Callable[[Point], int], budget: int) -> Point:
    while count(point) > budget:
        if point.shift > 0:
            halved = round(point.shift / 2, 4)
            point = replace(point, shift=halved if halved >= SMALLEST else 0.0)
        elif point.changes > 0:
            point = replace(point, changes=point.changes - max(point.changes // MOST_STEPS, 1))
        else:
            raise TooManyPairs(
                f"Even people who are equal in all compared columns make {count_of(count(point), 'pair')}, more than "
                f"the {budget:,} that are held. Hold more (max_pairs), or compare more columns."
            )
    return point


def _loosen(point: Point, count: Callable[[Point], int], budget: int, most: int, *, has_shift: bool) -> Point:
    can_change, can_shift = point.changes < most, has_shift and point.shift < WHOLE_RANGE
    too_far, stride = WHOLE_RANGE, max(most // MOST_STEPS, 1)
    while can_change or can_shift:
        if can_shift:
            further = replace(point, shift=min(round(2 * point.shift, 4) or FIRST, WHOLE_RANGE))
            fits = count(further) <= budget
            point, too_far = (further, too_far) if fits else (point, further.shift)
            can_shift = fits and point.shift < WHOLE_RANGE
        if can_change:
            further = replace(point, changes=min(point.changes + stride, most))
            fits = count(further) <= budget
            point, stride = (further, stride) if fits else (point, stride // 2)
            can_change = stride > 0 and point.changes < most
    for _ in range(REFINED if has_shift and point.shift < too_far else 0):
        between = replace(point, shift=round((point.shift + too_far) / 2, 3))
        if not point.shift < between.shift < too_far:
            break
        point, too_far = (between, too_far) if count(between) <= budget else (point, between.shift)
    return point
