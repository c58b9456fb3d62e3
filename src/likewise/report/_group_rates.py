"""People by sensitive value: who has a comparable partner, and how the model decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from likewise._format import show_value
from likewise.report._parts import MOST_ROWS, Cell, Number, Table, Value, join, say_more, show
from likewise.report._side_by_side import show_score
from likewise.report._words import NOTHING, Record, percent

Entry = Mapping[str, Any]


def _plain(number: float | None) -> str:
    return NOTHING if number is None else show_value("impact_ratio", number)


RATES: Final[dict[str, tuple[str, Callable[[Any], str]]]] = {
    "selection_rate": ("Selected", percent),
    "impact_ratio": ("Impact ratio", _plain),
    "true_positive_rate": ("True positive rate", percent),
    "false_positive_rate": ("False positive rate", percent),
    "mean_score": ("Mean score", show_score),
}


def list_groups(record: Record) -> list[Table]:
    """List coverage, rates and fairlearn's numbers, as far as there are any."""
    return [*_list_coverage(record["coverage"]), *_list_rates(record["groups"]), *_list_fairlearn(record["fairlearn"])]


def _list_coverage(coverage: list[Entry]) -> Iterator[Table]:
    rows: list[tuple[Cell, ...]] = []
    for one in coverage[:MOST_ROWS]:
        n, n_with_partner = one["n_people"], one["n_with_partner"]
        share = n_with_partner / n if n else None
        counts = Number(f"{n:,}", n), Number(f"{n_with_partner:,}", n_with_partner)
        rows.append((_people(one), *counts, Number(percent(share), share)))
    if rows:
        yield Table(
            caption="Who has a comparable partner",
            head=("Who", "People", "With a partner", "Share"),
            rows=tuple(rows),
            more=say_more(len(coverage), MOST_ROWS, "groups"),
            is_sortable=True,
        )


def _list_rates(groups: list[Entry]) -> Iterator[Table]:
    known = [name for name in RATES if any(one[name] is not None for one in groups)]
    rows: list[tuple[Cell, ...]] = [
        (
            _people(one),
            Number(f"{one['n_people']:,}", one["n_people"]),
            *(Number(RATES[name][1](one[name]), one[name]) for name in known),
        )
        for one in groups[:MOST_ROWS]
    ]
    if known:
        yield Table(
            caption="How the groups are treated",
            head=("Who", "People", *(RATES[name][0] for name in known)),
            rows=tuple(rows),
            more=say_more(len(groups), MOST_ROWS, "groups"),
            is_sortable=True,
        )


def _list_fairlearn(found: Mapping[str, Any]) -> Iterator[Table]:
    if found:
        head = ("By fairlearn, over all sensitive columns", "Found")
        rows = tuple((name, _plain(value)) for name, value in found.items())
        yield Table(caption="Group metrics of fairlearn", head=head, rows=rows)


def _people(entry: Entry) -> Value:
    parts = [join((show(c), show(v)), " = ") for c, v in zip(entry["columns"], entry["values"], strict=True)]
    if entry.get("label") is not None:
        parts.append(join((Value("label"), show(entry["label"])), " "))
    return join(parts) if parts else Value("everybody")
