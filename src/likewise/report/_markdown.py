"""An audit as Markdown that an auditor can read from top to bottom."""

from __future__ import annotations

from typing import Final

from likewise.report import _measured as measured
from likewise.report._again import ABOUT_AGAIN, list_known, list_limits, say_command
from likewise.report._compared import list_checks, list_compared, list_notes, list_reasons, say_verdict
from likewise.report._directions import ABOUT_DIRECTIONS, list_directions
from likewise.report._escaping import escape, table
from likewise.report._group_rates import list_groups
from likewise.report._parts import Cell, Table, Value, say_more
from likewise.report._person_gaps import ABOUT_PERSONS, list_persons, say_persons
from likewise.report._side_by_side import FactorRow, PairView, find_worst, lay_pairs
from likewise.report._words import NOTHING, Record, check_record

MOST_PAIRS: Final = 10


def to_markdown(record: Record) -> str:
    """Write an audit as Markdown.

    Nothing is computed here: every number is in the record.

    Parameters
    ----------
    record : mapping
        What ``Audit.to_dict`` gives.

    Returns
    -------
    str
        Markdown with tables; the same record gives the same text.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.report import to_markdown
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> to_markdown(found.to_dict()).splitlines()[0]
    '# How differently similar people are treated'
    """
    check_record(record)
    lines = [
        "# How differently similar people are treated",
        "",
        *_write_verdict(record),
        *_write_compared(record),
        *_write_notes(record),
        *_write_gaps(record),
        *_write_people(record),
        *_write_directions(record),
        *_write_worst_pairs(record),
        *_write_persons(record),
        *_write_groups(record),
        *_write_again(record),
        *_write_limits(record),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _write_verdict(record: Record) -> list[str]:
    if record["verdict"] is None:
        return []
    outcome, _, rest = say_verdict(record).partition(":")
    lines = ["## Verdict", "", f"**{outcome}:**{rest}", ""]
    checks = list_checks(record)
    if checks is not None:
        reasons = [f"- {escape(name)}: {escape(reason)}" for name, reason in list_reasons(record)]
        lines += [*_write_table(checks), *reasons, *([""] if reasons else [])]
    return lines


def _write_compared(record: Record) -> list[str]:
    return [
        "## What was compared",
        "",
        *(f"- {escape(name)}: {escape(text)}" for name, text in list_compared(record)),
        "",
    ]


def _write_notes(record: Record) -> list[str]:
    """Write what limits the numbers, before anybody reads them."""
    notes = list_notes(record)
    return ["## Notes", "", *(f"- {escape(note)}" for note in notes), ""] if notes else []


def _write_gaps(record: Record) -> list[str]:
    baseline = [measured.ABOUT_BASELINE, ""] if measured.has_baseline(record) else []
    gaps = ["## Gaps", "", f"{measured.ABOUT_GAPS} {measured.say_intervals(record)}", "", *baseline]
    ranks = ["## Rank gaps", "", measured.ABOUT_RANKS, ""]
    more = measured.say_more_labels(record)
    for lines, slices in ((gaps, measured.list_gaps(record)), (ranks, measured.list_ranks(record))):
        for one in slices:
            lines += [f"### {escape(one.title)}: {one.counted}", ""]
            lines += ["Nothing can be measured.", ""] if one.table is None else _write_table(one.table)
        lines += [more, ""] if more else []
    return gaps + ranks


def _write_people(record: Record) -> list[str]:
    title = "## Utility, calibration and spread"
    return [title, "", measured.ABOUT_PEOPLE, "", *_write_table(measured.list_people(record))]


def _write_directions(record: Record) -> list[str]:
    directions = list_directions(record)
    return [] if directions is None else ["## Both directions", "", ABOUT_DIRECTIONS, "", *_write_table(directions)]


def _write_worst_pairs(record: Record) -> list[str]:
    pairs = lay_pairs(record, MOST_PAIRS)
    if not pairs:
        return []
    lines = ["## Worst pairs", "", "What differs is in bold. Rows are counted from 0.", ""]
    for pair in pairs:
        lines += _write_pair(pair)
    more = say_more(len(find_worst(record)), MOST_PAIRS, "pairs")
    return [*lines, more, ""] if more else lines


def _write_pair(pair: PairView) -> list[str]:
    head = ("", *(escape(name.shown) for name in pair.people), "Difference")
    rows = [("score", *pair.scores, pair.gap), *_write_decisions(pair), *map(_write_factor, pair.factors)]
    more = [pair.more, ""] if pair.more else []
    return [f"### {pair.number}. {escape(pair.headline)}", "", *table(head, rows, text_columns=4), *more]


def _write_decisions(pair: PairView) -> list[tuple[str, ...]]:
    if pair.decided is None:
        return []
    left, right = (escape(one.shown) for one in pair.decided)
    return [("decision", left, right, "") if left == right else ("decision", f"**{left}**", f"**{right}**", "differs")]


def _write_factor(factor: FactorRow) -> tuple[str, ...]:
    column = f"{escape(factor.column.shown)} ({escape(factor.role)})"
    left, right = escape(factor.left.shown), escape(factor.right.shown)
    if not factor.differs:
        return column, left, right, ""
    allowed = f", {factor.allowed} allowed" if factor.allowed else ""
    return column, f"**{left}**", f"**{right}**", f"{factor.difference}{allowed}"


def _write_persons(record: Record) -> list[str]:
    persons = list_persons(record)
    listed = [] if persons is None else _write_table(persons)
    return ["## Worst gap of each person", "", f"{ABOUT_PERSONS} {say_persons(record)}", "", *listed]


def _write_groups(record: Record) -> list[str]:
    tables = list_groups(record)
    return (
        ["## People by sensitive value", "", *(line for one in tables for line in _write_table(one))] if tables else []
    )


def _write_again(record: Record) -> list[str]:
    return [
        "## How to have it again",
        "",
        f"{ABOUT_AGAIN} With the record of this audit and the data, `{say_command(record)}` computes them anew and "
        "says whether they agree.",
        "",
        *_write_table(list_known(record)),
    ]


def _write_limits(record: Record) -> list[str]:
    return ["## What this does not show", "", *(f"- {limit}" for limit in list_limits(record)), ""]


def _write_table(one: Table) -> list[str]:
    rows = [[_write_cell(cell) for cell in row] for row in one.rows]
    lines = table([str(cell) for cell in one.head], rows, text_columns=one.n_text)
    return [*lines, one.more, ""] if one.more else lines


def _write_cell(cell: Cell) -> str:
    is_ours = not isinstance(cell, Value) and str(cell) == NOTHING  # a dash of ours begins no list
    return NOTHING if is_ours else escape(str(cell))
