"""People by sensitive value: who has a comparable partner, and how the model decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from likewise._wording import show_value
from likewise.report._parts import MOST_ROWS, Cell, Number, Table, Value, join, say_more, show
from likewise.report._side_by_side import show_score
from likewise.report._words import NOTHING, Record, percent

Entry = Mapping[str, Any]


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
    head = ("Who", "People", "Selected", "Impact ratio", "True positive rate", "False positive rate", "Mean score")
    rows: list[tuple[Cell, ...]] = [
        (
            _people(one),
            Number(f"{one['n_people']:,}", one["n_people"]),
            Number(percent(one["selection_rate"]), one["selection_rate"]),
            Number(_plain(one["impact_ratio"]), one["impact_ratio"]),
            Number(percent(one["true_positive_rate"]), one["true_positive_rate"]),
            Number(percent(one["false_positive_rate"]), one["false_positive_rate"]),
            Number(show_score(one["mean_score"]), one["mean_score"]),
        )
        for one in groups[:MOST_ROWS]
    ]
    if rows:
        more = say_more(len(groups), MOST_ROWS, "groups")
        yield Table(caption="How the groups are treated", head=head, rows=tuple(rows), more=more, is_sortable=True)


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


def _plain(number: float | None) -> str:
    return NOTHING if number is None else show_value("impact_ratio", number)
