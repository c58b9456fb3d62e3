"""People and groups: largest gap of each person, calibration, coverage, selection rates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from likewise._format import count_of, show_value
from likewise.record import AuditRecord
from likewise.record._internal import Coverage, GroupRate, PersonGap
from likewise.report._text import (
    MAX_ROWS,
    NOTHING,
    Cell,
    Number,
    Table,
    Value,
    count,
    count_left_out,
    join,
    percent,
    show,
    show_score,
)

MAX_PEOPLE: Final = 20
ABOUT_PEOPLE: Final = (
    "Means over pairs hide individuals. Here every matched person counts once, with the largest gap to a comparable "
    "person."
)


def summarize_people(record: AuditRecord) -> str:
    """Sum up the largest gaps of all matched people."""
    found = record.person_gaps
    if not found.n_people:
        return "Nobody is matched."
    people = count_of(found.n_people, "matched person", "matched people")
    ends = f"mean {percent(found.mean)}, median {percent(found.median)}, 95th percentile {percent(found.q95)}"
    return f"{people}. Largest gap per person: {ends}."


def people_table(record: AuditRecord) -> Table | None:
    """The people with the largest gaps; None where nobody has one."""
    worst = [one for one in record.person_gaps.worst if one.worst_gap]
    if not worst:
        return None
    has_labels = any(one.label is not None for one in worst)
    return Table(
        caption="People with the largest gaps",
        head=(
            *("Person", *(("Label",) * has_labels), "Comparable person", "Score", "Score of the comparable person"),
            *("Largest gap", "Comparable people"),
        ),
        rows=tuple(_person_row(one, has_labels) for one in worst[:MAX_PEOPLE]),
        n_text=3 if has_labels else 2,
        more=count_left_out(len(worst), MAX_PEOPLE, "people"),
        is_sortable=True,
    )


def _person_row(one: PersonGap, has_labels: bool) -> tuple[Cell, ...]:
    label: Cell = NOTHING if one.label is None else show(one.label)
    return (
        name_person(one.row, one.id),
        *((label,) * has_labels),
        name_person(one.comparator_row, one.comparator_id),
        _score(one.score),
        _score(one.comparator_score),
        Number(percent(one.worst_gap), one.worst_gap),
        count(one.n_partners),
    )


def name_person(row: int, identifier: Any) -> Value:
    """Name a person by the row, and by the identifier where there is one."""
    name = Value(f"Row {row:,}")
    return name if identifier is None or identifier == row else join((name, show(identifier)), ", id ")


def _score(score: float | tuple[float, ...]) -> Number:
    return Number(show_score(score), None if isinstance(score, tuple) else score)


def calibration_table(record: AuditRecord) -> Table | None:
    """Mean score and observed rate by bins of people; None where scores are not probabilities of one label."""
    rows = tuple(
        (
            f"{show_score(one.low)} to {show_score(one.high)}",
            count(one.n),
            percent(one.mean_score),
            percent(one.observed),
        )
        for one in record.calibration
    )
    if not rows:
        return None
    head = ("Scores", "People", "Mean score", "Observed rate of the positive label")
    return Table(caption="Calibration by bins of scores", head=head, rows=rows)


def _plain(number: float | None) -> str:
    return NOTHING if number is None else show_value("impact_ratio", number)


RATES: Final[Mapping[str, tuple[str, Callable[[Any], str]]]] = {
    "selection_rate": ("Selection rate", percent),
    "impact_ratio": ("Adverse impact ratio", _plain),
    "true_positive_rate": ("True positive rate", percent),
    "false_positive_rate": ("False positive rate", percent),
    "mean_score": ("Mean score", show_score),
}


def group_tables(record: AuditRecord) -> list[Table]:
    """Coverage, selection rates and fairlearn's metrics, as far as there are any."""
    return [*_coverage_table(record.coverage), *_rate_table(record.groups), *_fairlearn_table(record.fairlearn)]


def _rate_table(groups: Sequence[GroupRate]) -> Iterator[Table]:
    known = [name for name in RATES if any(getattr(one, name) is not None for one in groups)]
    rows: list[tuple[Cell, ...]] = [
        (
            _name_group(one.columns, one.values),
            count(one.n_people),
            *(Number(RATES[name][1](getattr(one, name)), getattr(one, name)) for name in known),
        )
        for one in groups[:MAX_ROWS]
    ]
    if known:
        yield Table(
            caption="Selection rates and scores by group",
            head=("Group", "People", *(RATES[name][0] for name in known)),
            rows=tuple(rows),
            more=count_left_out(len(groups), MAX_ROWS, "groups"),
            is_sortable=True,
        )


def _coverage_table(coverage: Sequence[Coverage]) -> Iterator[Table]:
    rows: list[tuple[Cell, ...]] = [
        (
            _name_group(one.columns, one.values, one.label),
            count(one.n_people),
            count(one.n_with_partner),
            Number(percent(one.share), one.share),
        )
        for one in coverage[:MAX_ROWS]
    ]
    if rows:
        yield Table(
            caption="Coverage: people with at least one comparable pair",
            head=("Group", "People", "Matched", "Share"),
            rows=tuple(rows),
            more=count_left_out(len(coverage), MAX_ROWS, "groups"),
            is_sortable=True,
        )


def _fairlearn_table(found: Mapping[str, float | None]) -> Iterator[Table]:
    if found:
        rows = tuple((name, _plain(value)) for name, value in found.items())
        yield Table(
            caption="Group metrics of fairlearn, over all sensitive columns", head=("Metric", "Value"), rows=rows
        )


def _name_group(columns: Sequence[str], values: Sequence[Any], label: Any = None) -> Value:
    parts = [join((show(c), show(v)), " = ") for c, v in zip(columns, values, strict=True)]
    if label is not None:
        parts.append(join((Value("label"), show(label)), " "))
    return join(parts) if parts else Value("all people")
