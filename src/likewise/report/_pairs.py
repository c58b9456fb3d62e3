"""Worst pairs side by side: each factor, its difference, and the tolerance of the rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from likewise._format import show_value
from likewise.record import AuditRecord
from likewise.record._internal import Factor, PairCase, RuleTerms
from likewise.report._people import name_person
from likewise.report._text import Value, join, show, show_score

MAX_COLUMNS: Final = 24
MAX_RELEVANT: Final = 60  # columns that differ or are sensitive
EQUAL: Final = "must be equal"
UNITS: Final = {"ordinal": "in rank", "continuous": "of the range"}


@dataclass(frozen=True, slots=True)
class FactorRow:
    """One column of the two people; ``allowed`` is a number where the rule sets one, ``tolerance`` is in words."""

    column: Value
    role: str
    left: Value
    right: Value
    differs: bool
    difference: str
    allowed: str
    tolerance: str


@dataclass(frozen=True, slots=True)
class PairView:
    """Two people side by side."""

    number: int
    gap: str
    rank_gap: str
    decisions: str
    label: Value | None
    people: tuple[Value, Value]
    score_names: Value | None
    scores: tuple[str, str]
    decided: tuple[Value, Value] | None
    factors: tuple[FactorRow, ...]
    more: str

    @property
    def headline(self) -> str:
        """Gap, rank gap, decisions and label in a line."""
        decisions = f", {self.decisions}" if self.decisions else ""
        label = "" if self.label is None else f", label {self.label}"
        return f"gap {self.gap}, rank gap {self.rank_gap}{decisions}{label}"


def worst_pairs(record: AuditRecord) -> list[PairCase]:
    """Return the worst pairs that have a gap."""
    return [pair for pair in record.worst_pairs if pair.gap]


def pair_views(record: AuditRecord, most: int) -> list[PairView]:
    """Lay out the pairs with the largest gaps side by side."""
    names = join(show(label) for label in record.labels) if record.task == "multiclass" else None
    worst = enumerate(worst_pairs(record)[:most], start=1)
    return [_view_pair(number, pair, record.terms, names) for number, pair in worst]


def _view_pair(number: int, pair: PairCase, rule: RuleTerms, score_names: Value | None) -> PairView:
    factors, tolerances = _choose(pair.factors), _describe_tolerances(pair.factors, rule)
    return PairView(
        number,
        show_value("gap_max", pair.gap),
        show_value("rank_gap_max", pair.rank_gap),
        {True: "different decisions", False: "the same decision", None: ""}[pair.is_flip],
        None if pair.label is None else show(pair.label),
        (name_person(pair.left_row, pair.left_id), name_person(pair.right_row, pair.right_id)),
        score_names,
        (show_score(pair.left_score), show_score(pair.right_score)),
        None if pair.is_flip is None else (_decision(pair.left_decision), _decision(pair.right_decision)),
        tuple(_view_factor(factor, tolerances) for factor in factors),
        _count_left_out(pair.factors, factors),
    )


def _decision(decision: Any) -> Value:
    return Value("yes" if decision else "no") if isinstance(decision, bool) else show(decision)


def _choose(factors: Sequence[Factor]) -> list[Factor]:
    """Keep the columns that differ or are sensitive, and the first of the others."""
    relevant = [one.column for one in factors if one.differs or one.role == "sensitive"]
    known = set(relevant)
    others = [one.column for one in factors if one.column not in known]
    kept = {*relevant[:MAX_RELEVANT], *others[: max(MAX_COLUMNS - len(relevant), 0)]}
    return [one for one in factors if one.column in kept]


def _count_left_out(factors: Sequence[Factor], kept: Sequence[Factor]) -> str:
    n_differing = sum(one.differs for one in factors) - sum(one.differs for one in kept)
    n_equal = len(factors) - len(kept) - n_differing
    equal = f"{n_equal:,} more {'column is' if n_equal == 1 else 'columns are'} equal." if n_equal else ""
    return f"{n_differing:,} more differ (see audit.json). {equal}".strip() if n_differing else equal


def _view_factor(factor: Factor, tolerances: Mapping[str, str]) -> FactorRow:
    allowed = "" if factor.tolerance is None else f"{factor.tolerance:.4g}"
    return FactorRow(
        show(factor.column),
        factor.role,
        show(factor.left),
        show(factor.right),
        factor.differs,
        _difference(factor) if factor.differs else "",
        allowed,
        tolerances.get(factor.column) or (f"{allowed} {UNITS.get(factor.role, '')}" if allowed else ""),
    )


def _difference(factor: Factor) -> str:
    return "differs" if factor.shift is None else f"{factor.shift:.4g} {UNITS.get(factor.role, '')}"


def _describe_tolerances(factors: Sequence[Factor], rule: RuleTerms) -> dict[str, str]:
    """Describe what the rule allows in sensitive and discrete columns, and in those that must match."""
    by_role = {role: [one.column for one in factors if one.role == role] for role in ("sensitive", "discrete")}
    must_match = {*(rule.must_match or ()), *(one.column for one in factors if one.role == "matched")}
    discrete = [column for column in by_role["discrete"] if column not in must_match]
    n_changes = min(rule.max_discrete_changes, len(discrete))
    change = f"{n_changes:,} of {len(discrete):,} may differ" if n_changes else EQUAL
    wanted = {"none": EQUAL, "any": "one must differ" if len(by_role["sensitive"]) > 1 else "must differ"}
    of_sensitive = wanted.get(rule.sensitive_differs, "must differ")
    return {
        **dict.fromkeys(by_role["sensitive"], of_sensitive),
        **dict.fromkeys(discrete, change),
        **dict.fromkeys(must_match, EQUAL),
    }
