"""People one by one: the worst gap that each of them has, and how well scores of a height keep their word."""

from __future__ import annotations

from typing import Final

from likewise._format import count_of
from likewise.report._parts import Cell, Number, Table, say_more, show
from likewise.report._side_by_side import name_person, show_score
from likewise.report._words import NOTHING, Record, percent

MOST_PEOPLE: Final = 20

ABOUT_PERSONS: Final = (
    "Means over pairs hide single people. Here everybody with a comparable partner counts once, with the largest gap "
    "to a comparator."
)


def say_persons(record: Record) -> str:
    """Sum up the worst gaps of all people."""
    found = record["person_gaps"]
    if not found["n_people"]:
        return "Nobody has a comparable partner."
    people = count_of(found["n_people"], "person has", "people have")
    ends = f"mean {percent(found['mean'])}, median {percent(found['median'])}, 95th percentile {percent(found['q95'])}"
    return f"{people} a comparable partner. The worst gap of each: {ends}."


def list_persons(record: Record) -> Table | None:
    """List the people with the largest worst gaps; None where nobody has one."""
    worst = [one for one in record["person_gaps"]["worst"] if one["worst_gap"]]
    rows: list[tuple[Cell, ...]] = [
        (
            name_person(one["row"], one["id"]),
            NOTHING if one["label"] is None else show(one["label"]),
            name_person(one["comparator_row"], one["comparator_id"]),
            _score(one["score"]),
            _score(one["comparator_score"]),
            Number(percent(one["worst_gap"]), one["worst_gap"]),
            Number(f"{one['n_partners']:,}", one["n_partners"]),
        )
        for one in worst[:MOST_PEOPLE]
    ]
    if not rows:
        return None
    head = ("Person", "Label", "Comparator", "Score", "Score of the comparator", "Worst gap", "Comparators")
    has_labels = any(one["label"] is not None for one in worst)
    return Table(
        caption="People with the largest worst gaps",
        head=head if has_labels else (head[0], *head[2:]),
        rows=tuple(row if has_labels else (row[0], *row[2:]) for row in rows),
        n_text=3 if has_labels else 2,
        more=say_more(len(worst), MOST_PEOPLE, "people"),
        is_sortable=True,
    )


def _score(score: object) -> Number:
    return Number(show_score(score), score if isinstance(score, int | float) else None)


def list_calibration(record: Record) -> Table | None:
    """List bins of people from low to high scores; None where the scores are no probabilities of one label."""
    rows = tuple(
        (
            f"{show_score(one['low'])} to {show_score(one['high'])}",
            f"{one['n']:,}",
            percent(one["mean_score"]),
            percent(one["observed"]),
        )
        for one in record["calibration"]
    )
    if not rows:
        return None
    head = ("Scores", "People", "Mean score", "With the positive label")
    return Table(caption="Calibration: people in bins, by their scores", head=head, rows=rows)
