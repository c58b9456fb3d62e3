"""An audit as Markdown: a report that an auditor can read from top to bottom, and a section for a model card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import likewise.report._attribution as attribution
import likewise.report._evidence as evidence
import likewise.report._measures as measures
import likewise.report._summary as summary
from likewise._format import count_of
from likewise.record import AuditRecord
from likewise.record._internal import Direction, title_of
from likewise.report._charts import MAX_DIRECTIONS, measures_of, name_slice
from likewise.report._parts import TITLE, Part, list_parts
from likewise.report._text import (
    NOTHING,
    Cell,
    Table,
    Value,
    escape,
    escape_value,
    markdown_table,
    measured,
    p_value,
)

MAX_PAIRS: Final = 10
ROWS_LEFT_OUT: Final = "Rows of people are left out here. The HTML report and the review sheet hold them."


def to_markdown(record: AuditRecord | Mapping[str, Any], *, rows: bool = False) -> str:
    """Render an audit as Markdown.

    Nothing is computed here: every number is in the record.

    Parameters
    ----------
    record : AuditRecord or mapping
        What ``Audit.to_record`` or ``Audit.to_dict`` returns.
    rows : bool
        Whether to show people: the worst pairs side by side, and who has the largest gaps. By default they are left
        out, as Markdown ends on pages of jobs and in logs.

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
    checks = summary.check_table(record)
    reasons = [f"{escape(check.full_name)}: {escape(check.reason)}" for check in summary.open_checks(record)]
    lead = [escape(summary.lead_sentence(record)), ""]
    answers = [lead, _list_facts(summary.list_answers(record)), _table(checks), _bullets(reasons) if reasons else []]
    parts = [_leave_out_rows(part, record) if not rows else part for part in list_parts(record, MAX_PAIRS)]
    return _join(
        f"# {TITLE}",
        [line for lines in answers for line in lines],
        *(_write_part(part, 2) for part in parts),
    )


def _leave_out_rows(part: Part, record: AuditRecord) -> Part:
    """Return a part without single people."""
    if part.name == "compared":
        notes = tuple(summary.list_notes(record, rows=False))
        return replace(part, parts=tuple(replace(one, items=notes) for one in part.parts) if notes else ())
    if part.is_of_rows:
        return Part(title=part.title, name=part.name, texts=(ROWS_LEFT_OUT,))
    return replace(part, parts=tuple(one for one in part.parts if not one.is_of_rows))


def to_model_card(record: AuditRecord | Mapping[str, Any]) -> str:
    """Render an audit as a section of a model card.

    Nothing is computed here: every number is in the record. The section reports measurements and makes no claim of
    compliance.

    Parameters
    ----------
    record : AuditRecord or mapping
        What ``Audit.to_record`` or ``Audit.to_dict`` returns.

    Returns
    -------
    str
        Markdown that begins with a heading of the second level.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.report import to_model_card
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> print(to_model_card(found.to_dict()).splitlines()[0])
    ## Individual fairness: how comparable people are scored
    """
    record = AuditRecord.of(record)
    columns = " and ".join(map(escape_value, record.sensitive)) or "the sensitive columns"
    verdict = record.verdict
    judged = [] if verdict is None else [f"Verdict of the policy: {escape(verdict.headline)}", ""]
    question = f"Does the model give similar scores to comparable people (rule below) who differ in {columns}?"
    about_gaps = "The gap of a pair is the absolute difference between its two scores."
    performance = measures.performance_table(record)
    caveats = [*summary.list_notes(record), *summary.list_caveats(record)]
    return _join(
        "## Individual fairness: how comparable people are scored",
        _section("### The question", question, judged),
        _section("### Data and rule", _facts(record)),
        _section(
            "### Gaps between comparable people",
            f"{about_gaps} {measures.describe_intervals(record)}",
            _gap_summary(record),
        ),
        _section("### Significant differences between groups", _significant(record)),
        _worst_possible(record),
        _section("### Model performance", _table(performance)) if measures.has_performance(record) else [],
        _section("### Caveats", _bullets(map(escape, caveats))),
        _section("### How to reproduce", _bullets(_reproduction(record))),
    )


def _worst_possible(record: AuditRecord) -> list[str]:
    table = attribution.limit_table(record)
    about = "Between each person and everybody who would be comparable, in the table or not, whatever the label."
    return [] if table is None else _section("### Worst possible gaps", about, _table(table))


def _join(title: str, *sections: list[str]) -> str:
    return "\n".join([title, "", *(line for section in sections for line in section)]).rstrip("\n") + "\n"


def _section(title: str, *parts: str | list[str]) -> list[str]:
    """Return a section: paragraphs, and lists of lines that end with an empty one."""
    lines = [line for part in parts for line in ([part, ""] if isinstance(part, str) else part)]
    return [title, "", *lines]


def _bullets(items: Iterable[str]) -> list[str]:
    return [*(f"- {item}" for item in items), ""]


def write_parts(title: str, parts: Iterable[Part]) -> str:
    """Write the parts of a page, one below the other."""
    return _join(f"# {escape(title)}", *(_write_part(part, 2, is_captioned=True) for part in parts))


def _write_part(part: Part, level: int, *, is_captioned: bool = False) -> list[str]:
    """Write a part and those below it; charts and the matrix are for pages that can draw them."""
    is_captioned = is_captioned or len(part.tables) > 1
    heads = [[f"**{escape(one.caption)}**", ""] if is_captioned else [] for one in part.tables]
    tables = [line for head, one in zip(heads, part.tables, strict=True) for line in (*head, *_table(one))]
    return _section(
        f"{'#' * level} {escape(part.title)}",
        *map(escape, part.texts),
        _bullets(map(escape, part.items)) if part.items else [],
        _list_facts(part.facts) if part.facts else [],
        tables,
        [line for one in part.pairs for line in _side_by_side(one, (part.beside or {}).get(one.number, ""), level + 1)],
        [line for one in part.parts if one.matrix is None for line in _write_part(one, level + 1)],
        [part.more, ""] if part.more else [],
    )


def _facts(record: AuditRecord) -> list[str]:
    return _list_facts(summary.list_facts(record))


def _list_facts(facts: Iterable[summary.Fact]) -> list[str]:
    return _bullets(f"{escape(fact.name)}: {escape(fact.text)}" for fact in facts)


def _side_by_side(pair: evidence.PairView, beside: str, level: int) -> list[str]:
    head = ("", *(escape(name.shown) for name in pair.people), "Difference")
    rows = [("score", *pair.scores, pair.gap), *_decisions(pair), *map(_factor, pair.factors)]
    more = [line for one in (pair.more, escape(beside)) if one for line in (one, "")]
    title = f"{'#' * level} {pair.number}. {escape(pair.headline)}"
    return _section(title, markdown_table(head, rows, text_columns=4), more)


def _decisions(pair: evidence.PairView) -> list[tuple[str, ...]]:
    if pair.decided is None:
        return []
    left, right = (escape(one.shown) for one in pair.decided)
    return [("decision", left, right, "") if left == right else ("decision", f"**{left}**", f"**{right}**", "differs")]


def _factor(factor: evidence.FactorRow) -> tuple[str, ...]:
    column = f"{escape(factor.column.shown)} ({escape(factor.role)})"
    left, right = escape(factor.left.shown), escape(factor.right.shown)
    if not factor.differs:
        return column, left, right, ""
    allowed = f", {factor.allowed} allowed" if factor.allowed else ""
    return column, f"**{left}**", f"**{right}**", f"{factor.difference}{allowed}"


def _gap_summary(record: AuditRecord) -> list[str]:
    names = (*measures.SUMMARIZED, *(("same_group_gap_mean", "excess") if measures.has_baseline(record) else ()))
    shown = [one for one in record.distributions.slices if one.n][: measures.MAX_LABELS + 1]  # all pairs come first
    rows = [
        (
            escape(name_slice(one)),
            f"{one.n:,}",
            *(str(measured(measures_of(record, one), name, points=record.in_points)) for name in names),
        )
        for one in shown
    ]
    return markdown_table(("Pairs", "N", *map(title_of, names)), rows)


def _significant(record: AuditRecord) -> list[str]:
    found = sorted(filter(evidence.is_significant, record.directions), key=lambda one: one.rank)
    if not found:
        below = f"{evidence.SIGNIFICANT:g}"
        return [f"No transition between sensitive values has a Holm-adjusted p-value below {below}.", ""]
    n_more = len(found) - MAX_DIRECTIONS
    more = [f"{n_more:,} more significant differences in the record (audit.json)."] if n_more > 0 else []
    return _bullets([*(_describe_direction(one, record.in_points) for one in found[:MAX_DIRECTIONS]), *more])


def _describe_direction(one: Direction, points: bool) -> str:
    return (
        f"From {escape_value(one.origin)} to {escape_value(one.target)}: adjusted gap "
        f"{evidence.adjusted_gap(one, points=points)} over {count_of(one.n_pairs, 'pair')}, "
        f"p (Holm) {escape(p_value(one.p_adjusted))}."
    )


def _reproduction(record: AuditRecord) -> list[str]:
    lines = [
        f"`{summary.verify_command(record)}` recomputes the numbers from the record and the data.",
        f"likewise {escape_value(record.likewise)}, seed {record.settings.seed}.",
    ]
    checksum = record.data.scores_checksum
    return [*lines, f"Checksum of the scores (SHA-256): {escape_value(checksum)}"] if checksum else lines


def _table(one: Table | None) -> list[str]:
    if one is None:
        return []
    rows = [[_cell(cell) for cell in row] for row in one.rows]
    lines = markdown_table([str(cell) for cell in one.head], rows, text_columns=one.n_text)
    return [*lines, one.more, ""] if one.more else lines


def _cell(cell: Cell) -> str:
    is_ours = not isinstance(cell, Value) and str(cell) == NOTHING  # our own dash does not begin a list
    return NOTHING if is_ours else escape(str(cell))
