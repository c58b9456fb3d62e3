"""An audit as Markdown that an auditor can read from top to bottom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import likewise.report._measures as measures
import likewise.report._summary as summary
from likewise.record import AuditRecord
from likewise.report._directions import ABOUT_DIRECTIONS, direction_table
from likewise.report._pairs import FactorRow, PairView, pair_views, worst_pairs
from likewise.report._people import ABOUT_PEOPLE, group_tables, people_table, summarize_people
from likewise.report._text import NOTHING, Cell, Table, Value, count_left_out, escape, markdown_table

MAX_PAIRS: Final = 10


def to_markdown(record: AuditRecord | Mapping[str, Any]) -> str:
    """Render an audit as Markdown.

    Nothing is computed here: every number is in the record.

    Parameters
    ----------
    record : AuditRecord or mapping
        What ``Audit.to_record`` or ``Audit.to_dict`` returns.

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
    '# How differently similar people are scored'
    """
    record = AuditRecord.of(record)
    lines = [
        "# How differently similar people are scored",
        "",
        *_write_verdict(record),
        *_write_compared(record),
        *_write_notes(record),
        *_write_gaps(record),
        *_write_performance(record),
        *_write_directions(record),
        *_write_worst_pairs(record),
        *_write_people(record),
        *_write_groups(record),
        *_write_reproduction(record),
        *_write_caveats(record),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _write_verdict(record: AuditRecord) -> list[str]:
    verdict = summary.sum_up_verdict(record)
    if verdict is None:
        return []
    lines = ["## Verdict", "", f"**{verdict.outcome}:** {verdict.text}", ""]
    checks = summary.check_table(record)
    if checks is not None:
        reasons = [f"- {escape(check.name)}: {escape(check.reason)}" for check in summary.open_checks(record)]
        lines += [*_write_table(checks), *reasons, *([""] if reasons else [])]
    return lines


def _write_compared(record: AuditRecord) -> list[str]:
    facts = [f"- {escape(fact.name)}: {escape(fact.text)}" for fact in summary.list_facts(record)]
    return ["## What was compared", "", *facts, ""]


def _write_notes(record: AuditRecord) -> list[str]:
    notes = summary.list_notes(record)
    return ["## Notes", "", *(f"- {escape(note)}" for note in notes), ""] if notes else []


def _write_gaps(record: AuditRecord) -> list[str]:
    baseline = [measures.ABOUT_BASELINE, ""] if measures.has_baseline(record) else []
    gaps = ["## Gaps", "", f"{measures.ABOUT_GAPS} {measures.describe_intervals(record)}", "", *baseline]
    ranks = ["## Rank gaps", "", measures.ABOUT_RANKS, ""]
    more = measures.count_labels_left_out(record)
    for lines, slices in ((gaps, measures.gap_slices(record)), (ranks, measures.rank_slices(record))):
        for one in slices:
            lines += [f"### {escape(one.title)}: {one.counted}", ""]
            lines += ["Nothing could be measured.", ""] if one.table is None else _write_table(one.table)
        lines += [more, ""] if more else []
    return gaps + ranks


def _write_performance(record: AuditRecord) -> list[str]:
    title = "## Model performance and calibration"
    return [title, "", measures.ABOUT_PERFORMANCE, "", *_write_table(measures.performance_table(record))]


def _write_directions(record: AuditRecord) -> list[str]:
    directions = direction_table(record)
    title = "## Differences between groups (signed mean gap)"
    return [] if directions is None else [title, "", ABOUT_DIRECTIONS, "", *_write_table(directions)]


def _write_worst_pairs(record: AuditRecord) -> list[str]:
    pairs = pair_views(record, MAX_PAIRS)
    if not pairs:
        return []
    lines = ["## Worst pairs", "", "Differences are in bold. Rows are counted from 0.", ""]
    for pair in pairs:
        lines += _write_pair(pair)
    more = count_left_out(len(worst_pairs(record)), MAX_PAIRS, "pairs")
    return [*lines, more, ""] if more else lines


def _write_pair(pair: PairView) -> list[str]:
    head = ("", *(escape(name.shown) for name in pair.people), "Difference")
    rows = [("score", *pair.scores, pair.gap), *_write_decisions(pair), *map(_write_factor, pair.factors)]
    more = [pair.more, ""] if pair.more else []
    return [f"### {pair.number}. {escape(pair.headline)}", "", *markdown_table(head, rows, text_columns=4), *more]


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


def _write_people(record: AuditRecord) -> list[str]:
    people = people_table(record)
    listed = [] if people is None else _write_table(people)
    return ["## Largest gap per person", "", f"{ABOUT_PEOPLE} {summarize_people(record)}", "", *listed]


def _write_groups(record: AuditRecord) -> list[str]:
    tables = group_tables(record)
    return (
        ["## Coverage and selection rates by group", "", *(line for one in tables for line in _write_table(one))]
        if tables
        else []
    )


def _write_reproduction(record: AuditRecord) -> list[str]:
    return [
        "## How to reproduce",
        "",
        f"{summary.ABOUT_REPRODUCTION} Given this audit's record and the data, `{summary.verify_command(record)}` "
        "recomputes them and reports whether they agree.",
        "",
        *_write_table(summary.provenance_table(record)),
    ]


def _write_caveats(record: AuditRecord) -> list[str]:
    return ["## What this does not show", "", *(f"- {caveat}" for caveat in summary.list_caveats(record)), ""]


def _write_table(one: Table) -> list[str]:
    rows = [[_write_cell(cell) for cell in row] for row in one.rows]
    lines = markdown_table([str(cell) for cell in one.head], rows, text_columns=one.n_text)
    return [*lines, one.more, ""] if one.more else lines


def _write_cell(cell: Cell) -> str:
    is_ours = not isinstance(cell, Value) and str(cell) == NOTHING  # our own dash does not begin a list
    return NOTHING if is_ours else escape(str(cell))
