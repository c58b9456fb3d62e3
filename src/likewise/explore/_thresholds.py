"""The two thresholds of the page: how far they go, the rule at any of them, its pairs, and their baseline."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import parameter
from likewise._format import count_of
from likewise.auditing import Audit
from likewise.auditing._internal import (
    AuditSettings,
    ComparedPeople,
    Excess,
    Partners,
    Question,
    ScoredPeople,
    find_among,
    leave_out_pairs,
    mean_of,
    run_audit,
)
from likewise.comparable import Comparability, ComparablePairs, count_pairs, iter_pairs
from likewise.comparable._internal import SHIFT_TOLERANCE, FieldLimit, Measure, join_chunks
from likewise.exceptions import NoComparablePairs, ScoresCollapsed, TooManyPairs
from likewise.schema import CodedTable, Roles, Schema

Floats = NDArray[np.float64]

WHOLE_RANGE: Final = 1.0  # a shift of 1 allows anything
SMALLEST: Final = 0.001  # smaller shifts count as none when tightening
FIRST: Final = 0.01  # first step up from a shift of 0
REFINED: Final = 3  # bisections of the last step
MOST_STEPS: Final = 16  # over the discrete columns, which may be hundreds
BAND: Final = 1e-9  # nearer to the threshold than this, rounding decides: ask the rule
FEW: Final = 1_000  # pairs to audit: only the checks matter here
STEPS: Final = 8
MOST_TIMES: Final = 2  # how many same-group pairs are held for each other pair that may be


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The largest number of discrete changes (T_d) and the largest continuous shift (T_c)."""

    changes: int
    shift: float
    tolerances: tuple[tuple[str, str], ...] = ()  # limits on single columns, as a rule has them


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far apart two people may be in one column, in its units: where it starts, and the most that is in reach."""

    column: str
    measure: Measure
    start: float
    most: float
    is_own: bool  # of the rule's limits; the others follow the threshold until they are moved

    def limit(self, amount: float) -> str:
        """Return the limit as a rule has it."""
        return str(FieldLimit(amount, self.measure))


def list_tolerances(table: CodedTable, rule: Comparability, reach: ThresholdRange) -> list[Tolerance]:
    """List the columns whose tolerances can be moved one by one."""
    found = []
    for name in (*table.names["continuous"], *table.names["ordinal"]):
        if name in rule.limits:
            own = FieldLimit.read(name, rule.limits[name])
            found.append(Tolerance(name, own.measure, own.amount, own.amount, True))
        elif name in rule.must_match or isinstance(rule.max_continuous_shift, Sequence):
            continue
        elif name in table.names["ordinal"]:
            ranks = float(rule.ordinal_limits(table)[table.names["ordinal"].index(name)])
            found.append(Tolerance(name, "ranks", ranks, ranks, False))
        elif name in table.units:
            unit, place = table.units[name], table.names["continuous"].index(name)
            ends = [rule_at(rule, point).continuous_limits(table)[place] for point in (reach.start, reach.end)]
            shares = (max(share - SHIFT_TOLERANCE, 0.0) for share in ends)
            start, most = (float(f"{share * unit.width / (unit.day or 1.0):.9g}") for share in shares)
            found.append(Tolerance(name, "units" if unit.day is None else "days", start, most, False))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdRange:
    """Where the thresholds start, where they end, and why."""

    asked: Thresholds
    start: Thresholds
    end: Thresholds
    most_changes: int  # the number of discrete columns that may differ
    has_shift: bool  # whether there is a continuous column without a limit of its own
    n_asked: int
    n_end: int
    budget: int

    @property
    def why(self) -> str:
        """Why the thresholds end where they do."""
        held = f"{count_of(self.n_end, 'pair')} there"
        if self.end.changes >= self.most_changes and (self.end.shift >= WHOLE_RANGE or not self.has_shift):
            return f"The thresholds cover their full range: {held}."
        words = f"The thresholds end where there would be more pairs than the {self.budget:,} held in memory: {held}."
        if self.start != self.asked:
            words += (
                f" The requested rule has {count_of(self.n_asked, 'pair')}, so the page starts at a stricter one. "
                f"Raise {parameter('max_pairs')}, or use a stricter rule."
            )
        return words


def base_shift(rule: Comparability) -> float:
    """Return the continuous threshold of a rule: the largest, if there are several."""
    limit = rule.max_continuous_shift
    if isinstance(limit, Mapping):
        return float(max(limit.values(), default=0.0))
    return float(max(limit, default=0.0)) if isinstance(limit, Sequence) else float(limit)


def rule_at(rule: Comparability, point: Thresholds) -> Comparability:
    """Return the rule at other thresholds; several continuous limits keep their proportions."""
    alone = dict(point.tolerances)
    base, limit = base_shift(rule), rule.max_continuous_shift
    share = point.shift / base if base else 1.0
    moved: Any = point.shift
    if isinstance(limit, Mapping):
        moved = {name: one * share if base else point.shift for name, one in limit.items() if name not in alone}
    elif isinstance(limit, Sequence):
        moved = tuple(one * share if base else point.shift for one in limit)
    limits = {**rule.limits, **alone}
    return replace(rule, max_discrete_changes=point.changes, max_continuous_shift=moved, limits=limits)


def find_reach(table: CodedTable, rule: Comparability, budget: int) -> ThresholdRange:
    """Tighten the rule until its pairs fit, then loosen both thresholds in turn while they do."""
    most = int(rule.may_change(table).sum())
    asked = Thresholds(min(rule.max_discrete_changes, most), base_shift(rule))
    known: dict[Thresholds, int] = {}

    def count(point: Thresholds) -> int:
        if point not in known:
            known[point] = count_pairs(table, rule_at(rule, point)).total
        return known[point]

    has_shift = any(name not in rule.limits for name in table.names["continuous"])
    start = _tighten(asked, count, budget)
    end = _loosen(start, count, budget, most, has_shift=has_shift)
    return ThresholdRange(
        asked=asked,
        start=start,
        end=end,
        most_changes=most,
        has_shift=has_shift,
        n_asked=count(asked),
        n_end=count(end),
        budget=budget,
    )


def _tighten(point: Thresholds, count: Callable[[Thresholds], int], budget: int) -> Thresholds:
    while count(point) > budget:
        if point.shift > 0:
            halved = round(point.shift / 2, 4)
            point = replace(point, shift=halved if halved >= SMALLEST else 0.0)
        elif point.changes > 0:
            point = replace(point, changes=point.changes - max(point.changes // MOST_STEPS, 1))
        else:
            raise TooManyPairs(
                f"People who are equal in all compared columns alone make {count_of(count(point), 'pair')}, more than "
                f"{budget:,}. Raise {parameter('max_pairs')}, or compare more columns."
            )
    return point


def _loosen(
    point: Thresholds, count: Callable[[Thresholds], int], budget: int, most: int, *, has_shift: bool
) -> Thresholds:
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


@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """For each pair, the number of discrete changes and the largest (relative) continuous shift."""

    pairs: ComparablePairs
    rule: Comparability
    changes: NDArray[np.uint16]
    shifts: NDArray[np.float64]
    is_relative: bool

    def within(self, point: Thresholds) -> NDArray[np.bool_]:
        """Whether each pair is comparable at these thresholds, exactly as by the rule."""
        few = self.changes <= point.changes
        if point.tolerances:
            places, table = np.flatnonzero(few), self.pairs.left_table
            left, right = (table[rows[places]] for rows in (self.pairs.left, self.pairs.right))
            few[places] = rule_at(self.rule, point).holds(left, right)
            return few
        if not self.is_relative:
            few &= self.shifts <= (np.float64(point.shift) + SHIFT_TOLERANCE if point.shift else 0.0)
            return few
        near = self.shifts <= point.shift
        is_close = np.abs(self.shifts - point.shift) <= BAND * (1 + point.shift) if point.shift else near
        unsure = np.flatnonzero(few & is_close)
        if len(unsure):  # products and quotients round differently: the rule decides
            table, rule = self.pairs.left_table, rule_at(self.rule, point)
            near[unsure] = rule.holds(table[self.pairs.left[unsure]], table[self.pairs.right[unsure]])
        return few & near


def measure_distances(pairs: ComparablePairs, rule: Comparability) -> Distances:
    """Compute the distances column by column."""
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
        tie = max(table.precision.get(table.names["continuous"][column], 0.0), SHIFT_TOLERANCE)
        if is_relative:
            apart = (apart - tie) / shares[column]
        elif tie > SHIFT_TOLERANCE:  # a tie of coarse numbers; what differs at all is not equal
            apart = np.where(apart > 0, np.maximum(apart - (tie - SHIFT_TOLERANCE), np.finfo(np.float64).tiny), 0.0)
        np.maximum(shifts, apart, out=shifts)
    return Distances(pairs, rule, changes, shifts, is_relative)


def _proportions(rule: Comparability, table: CodedTable) -> tuple[NDArray[np.float64], bool]:
    """Return each continuous column's limit as a share of the threshold; 0 where no threshold moves it."""
    names: Any = table.names["continuous"]
    must_match = np.array([name in (*rule.must_match, *rule.limits) for name in names], dtype=np.bool_)
    base = base_shift(rule)
    if isinstance(rule.max_continuous_shift, int | float) or base == 0:
        return np.where(must_match, 0.0, 1.0), False
    shares = np.round(rule.continuous_shifts(table), 15) / base
    return np.where(must_match, 0.0, shares), True


def check_input(
    scores: Any,
    X: Any,
    y: Any,
    settings: AuditSettings,
    sample_weight: Any = None,
    *,
    roles: Roles | Schema,
    rule: Comparability,
) -> Audit:
    """Check all arguments by auditing a few pairs; try looser rules where one has no pairs."""
    few = replace(settings, baseline=False, n_worst=0, n_resamples=0, max_pairs=FEW)
    found: Audit | None = None
    first: NoComparablePairs | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoresCollapsed)  # shown on the page
        for looser in _loosened(rule):
            try:
                found = run_audit(scores, X, y, few, roles=roles, rule=looser, sample_weight=sample_weight)
                break
            except NoComparablePairs as error:
                first = first or error
    if found is None:
        assert first is not None
        raise first
    return found


def _loosened(rule: Comparability) -> Iterator[Comparability]:
    yield rule
    base = base_shift(rule) or FIRST
    for step in range(1, STEPS):
        point = Thresholds(rule.max_discrete_changes + step, min(base * 2**step, WHOLE_RANGE))
        yield rule_at(rule, point)
    yield replace(rule, max_discrete_changes=10_000, max_continuous_shift=max(WHOLE_RANGE, base))


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """Same-group pairs with their distances, gaps and weights."""

    distances: Distances
    gaps: Floats
    people: ComparedPeople
    weights: Floats | None

    def measure(
        self, point: Thresholds, between: ComparablePairs, gaps: Floats
    ) -> list[tuple[int, float | None, float | None]]:
        """Return number, mean gap and excess by person at the thresholds, of all and of each label.

        ``between`` are the pairs between groups there.
        """
        chosen, equal = np.flatnonzero(self.distances.within(point)), self.distances.pairs
        own, within = self.gaps[chosen], replace(equal, left=equal.left[chosen], right=equal.right[chosen])
        weights = None if self.weights is None else self.weights[chosen]
        sides = Partners(between, self.people), Partners(within, self.people)
        excess, labels = Excess(sides, (gaps, own), self.people), self.people.labels[within.left]
        found = []
        for label in (None, *range(len(equal.left_table.classes))):
            of_label = slice(None) if label is None else labels == label
            n, some = len(own[of_label]), None if weights is None else weights[of_label]
            mean = mean_of(own[of_label], some) if n else None
            found.append((n, mean, excess.mean(label) if excess.n(label) else None))
        return found


def find_baseline(question: Question, rule: Comparability, end: Thresholds, *, most: int) -> Baseline | None:
    """Find the same-group pairs of the loosest rule; None if the rule itself asks for them, or if they are too many."""
    if rule.sensitive_differs == "none":
        return None
    table, scores = question.table, question.scores
    equal = replace(rule, sensitive_differs="none")
    loosest = rule_at(equal, end)
    if count_pairs(table[scores.counting], loosest).total > MOST_TIMES * most:
        return None
    left, right = join_chunks([(one.left, one.right) for one in find_pairs(question, loosest)])
    pairs = ComparablePairs(left, right, table, table, len(left))
    people = ScoredPeople.of(table, scores, signed=False)
    gaps = np.concatenate([np.empty(0), *(batch.gaps for batch in people.measure_parts(left, right))])
    compared = ComparedPeople(people.labels, scores.weighing.values, scores.units)
    return Baseline(measure_distances(pairs, equal), gaps, compared, scores.weigh_pairs(left, right))


def find_pairs(question: Question, rule: Comparability) -> Iterable[ComparablePairs]:
    """Find pairs piece by piece, less those that weights of 0 or an audit by the rule leave out."""
    pieces = find_among(question.scores.counting, question.table, lambda some: iter_pairs(some, rule))
    return leave_out_pairs(pieces, question, rule)
