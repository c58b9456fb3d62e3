"""The worst pairs side by side: each factor, its difference, and what the rule allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from likewise._format import show_value
from likewise.report._parts import Value, join, show
from likewise.report._words import NOTHING, Record

MOST_COLUMNS: Final = 24
MOST_TELLING: Final = 60  # of columns that differ or are sensitive
EQUAL: Final = "must be equal"
UNITS: Final = {"ordinal": "in rank", "continuous": "of the range"}

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FactorRow:
    """One column of the two people; ``allowed`` is a number where the rule sets one, ``tolerance`` words for it."""

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
        """What the pair is about, in a line."""
        decisions = f", {self.decisions}" if self.decisions else ""
        label = "" if self.label is None else f", label {self.label}"
        return f"gap {self.gap}, rank gap {self.rank_gap}{decisions}{label}"


def find_worst(record: Record) -> list[Entry]:
    """Give the pairs with a gap: where nobody differs, no pair is the worst."""
    return [pair for pair in record["worst_pairs"] if pair["gap"]]


def lay_pairs(record: Record, most: int) -> list[PairView]:
    """Lay out the pairs with the largest gaps."""
    names = join(show(label) for label in record["labels"]) if record["task"] == "multiclass" else None
    worst = enumerate(find_worst(record)[:most], start=1)
    return [_lay_pair(number, pair, record["rule"], names) for number, pair in worst]


def _lay_pair(number: int, pair: Entry, rule: Entry, score_names: Value | None) -> PairView:
    factors, allowances = _choose(pair["factors"]), _say_allowances(pair["factors"], rule)
    return PairView(
        number,
        show_value("gap_max", pair["gap"]),
        show_value("rank_gap_max", pair["rank_gap"]),
        {True: "two different decisions", False: "the same decision", None: ""}[pair["is_flip"]],
        None if pair["label"] is None else show(pair["label"]),
        (name_person(pair["left_row"], pair["left_id"]), name_person(pair["right_row"], pair["right_id"])),
        score_names,
        (show_score(pair["left_score"]), show_score(pair["right_score"])),
        None if pair["is_flip"] is None else (_decision(pair["left_decision"]), _decision(pair["right_decision"])),
        tuple(_lay_factor(factor, allowances) for factor in factors),
        _say_left_out(pair["factors"], factors),
    )


def _decision(decision: Any) -> Value:
    return Value("yes" if decision else "no") if isinstance(decision, bool) else show(decision)


def _choose(factors: Sequence[Entry]) -> list[Entry]:
    """Of very many columns, keep what differs or is sensitive, and the first of the others."""
    telling = [one["column"] for one in factors if one["differs"] or one["role"] == "sensitive"]
    known = set(telling)
    others = [one["column"] for one in factors if one["column"] not in known]
    kept = {*telling[:MOST_TELLING], *others[: max(MOST_COLUMNS - len(telling), 0)]}
    return [one for one in factors if one["column"] in kept]


def _say_left_out(factors: Sequence[Entry], kept: Sequence[Entry]) -> str:
    n_differing = sum(one["differs"] for one in factors) - sum(one["differs"] for one in kept)
    n_equal = len(factors) - len(kept) - n_differing
    equal = f"{n_equal:,} more {'column is' if n_equal == 1 else 'columns are'} equal." if n_equal else ""
    return f"{n_differing:,} more differ; they are in the record. {equal}".strip() if n_differing else equal


def name_person(row: int, known_as: Any) -> Value:
    """Name a person by the row, and by the id where there is one."""
    name = Value(f"Row {row:,}")
    return name if known_as is None or known_as == row else join((name, show(known_as)), ", id ")


def show_score(score: Any) -> str:
    """Write a score, or the scores of all labels."""
    if isinstance(score, list | tuple):
        return ", ".join(map(show_score, score))
    if score is None:
        return NOTHING
    return f"{score:.4f}" if abs(score) <= 1 else f"{score:,.6g}"


def _lay_factor(factor: Entry, allowances: Mapping[str, str]) -> FactorRow:
    allowed = "" if factor["tolerance"] is None else f"{factor['tolerance']:.4g}"
    return FactorRow(
        show(factor["column"]),
        factor["role"],
        show(factor["left"]),
        show(factor["right"]),
        factor["differs"],
        _difference(factor) if factor["differs"] else "",
        allowed,
        allowances.get(factor["column"]) or (f"{allowed} {UNITS[factor['role']]}" if allowed else ""),
    )


def _difference(factor: Entry) -> str:
    return "differs" if factor["shift"] is None else f"{factor['shift']:.4g} {UNITS[factor['role']]}"


def _say_allowances(factors: Sequence[Entry], rule: Entry) -> dict[str, str]:
    """Say what the rule allows in columns that are no amounts, and in those that must match."""
    by_role = {role: [one["column"] for one in factors if one["role"] == role] for role in ("sensitive", "discrete")}
    must_match = {*(rule.get("must_match") or ()), *(one["column"] for one in factors if one["role"] == "matched")}
    discrete = [column for column in by_role["discrete"] if column not in must_match]
    n_changes = min(rule.get("max_discrete_changes", 0), len(discrete))
    change = f"{n_changes:,} of {len(discrete):,} may differ" if n_changes else EQUAL
    wanted = {"none": EQUAL, "any": "one must differ" if len(by_role["sensitive"]) > 1 else "must differ"}
    of_sensitive = wanted.get(str(rule.get("sensitive_differs", "any")), "must differ")
    return {
        **dict.fromkeys(by_role["sensitive"], of_sensitive),
        **dict.fromkeys(discrete, change),
        **dict.fromkeys(must_match, EQUAL),
    }
