"""Two audits of the same people, before and after: what changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from likewise._format import show_value
from likewise.report._compared import say_origin, say_verdict
from likewise.report._escaping import clean
from likewise.report._parts import Cell, Number, Table, show
from likewise.report._words import GAP_TITLES, NOTHING, PEOPLE_TITLES, RANK_TITLES, Record, found_in, title_of

SLICES: Final = ("gap_mean", "gap_q3", "excess_gap_mean")
NAMES: Final = (
    *(f"{label}_{name}" for label in ("positive", "negative") for name in SLICES),
    *GAP_TITLES,
    "excess_gap_mean",
    *RANK_TITLES,
    *PEOPLE_TITLES,
)

ABOUT_CHANGES: Final = (
    "The difference is after less before. Where it has an interval, that is of the paired difference, which is far "
    "narrower than those of the two numbers; in bold are differences whose interval is all on one side of zero."
)


def pair_records(before: Record, after: Record) -> dict[str, Any]:
    """Put the numbers of two records next to each other, without a difference: nothing is computed here."""
    shared = [name for name in after["measures"] if name in before["measures"]]
    return {
        "changes": {
            name: {"before": before["measures"][name], "after": after["measures"][name], "difference": None}
            for name in shared
        },
        "notes": [],
    }


def list_changes(comparison: Mapping[str, Any]) -> Table:
    """List the numbers before and after, those of gaps first."""
    changes = comparison["changes"]
    rows: list[tuple[Cell, ...]] = []
    for name in NAMES:
        change = changes.get(name)
        if change is not None and (change["before"]["value"] is not None or change["after"]["value"] is not None):
            sides = (found_in({name: change[side]}, name) for side in ("before", "after"))
            rows.append((title_of(name), *sides, _difference(name, change["difference"])))
    head = ("Measure", "Before", "After", "Difference")
    return Table(caption="Every number, before and after", head=head, rows=tuple(rows))


def list_change_notes(comparison: Mapping[str, Any]) -> list[str]:
    """Give what the numbers alone do not say."""
    return [clean(note) for note in comparison["notes"]]


def list_origins(before: Record, after: Record) -> Table:
    """Say which two audits these are."""
    both = (before, after)
    rows: list[tuple[Cell, ...]] = [
        ("Scores", *map(say_origin, both)),
        ("Date", *(show(one["made_at"]) if one["made_at"] else NOTHING for one in both)),
        ("Verdict", *(say_verdict(one) or "No policy was given." for one in both)),
    ]
    return Table(caption="The two audits", head=("What", "Before", "After"), rows=tuple(rows), n_text=3)


def _difference(name: str, measure: Mapping[str, Any] | None) -> Cell:
    if measure is None or measure["value"] is None:
        return NOTHING
    value, low, high = measure["value"], measure["low"], measure["high"]
    if low is None or high is None:
        return _signed(name, value)
    told = f"{_signed(name, value)} ({_signed(name, low)} to {_signed(name, high)})"
    return Number(told, is_bold=low > 0 or high < 0)


def _signed(name: str, value: float) -> str:
    value = round(value, 12)  # 0.3 - 0.1 - 0.2 is no change
    shown = show_value(name, value)
    return shown if value <= 0 or shown == show_value(name, 0.0) else f"+{shown}"
