"""Short forms of an audit: a section for a model card in Markdown, and a card of HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from html import escape as escape_html
from importlib import resources
from typing import Any, Final

import likewise.report._summary as summary
from likewise._format import count_of
from likewise.record import AuditRecord
from likewise.record._internal import Direction
from likewise.report._directions import SIGNIFICANT, is_significant
from likewise.report._measures import MAX_LABELS, describe_intervals, has_baseline, performance_table
from likewise.report._text import (
    Number,
    escape,
    escape_value,
    isolate,
    markdown_table,
    measured,
    p_value,
    signed_number,
)
from likewise.report.charts._charts import MAX_DIRECTIONS, gap_charts, measures_of, name_slice
from likewise.report.charts._svg import draw_svg

MAX_CARD_LABELS: Final = 4
COLUMNS: Final = {"gap_mean": "Mean gap", "gap_q3": "Upper quartile (Q3)"}
BASELINE: Final = {"within_gap_mean": "Mean gap, same-group pairs (baseline)"}
EXCESS: Final = {"excess_gap_mean": "Mean gap, excess over the baseline"}


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
    lines = [
        "## Individual fairness: how comparable people are scored",
        "",
        *_write_question(record),
        *_write_data(record),
        *_write_gaps(record),
        *_write_directions(record),
        *_write_performance(record),
        *_write_caveats(record),
        *_write_reproduction(record),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _write_question(record: AuditRecord) -> list[str]:
    columns = " and ".join(map(escape_value, record.sensitive)) or "the sensitive columns"
    verdict = summary.sum_up_verdict(record)
    judged = [f"Verdict of the policy: {escape(str(verdict))}", ""] if verdict else []
    question = f"Does the model give similar scores to comparable people (rule below) who differ in {columns}?"
    return ["### The question", "", question, "", *judged]


def _write_data(record: AuditRecord) -> list[str]:
    facts = [f"- {escape(fact.name)}: {escape(fact.text)}" for fact in summary.list_facts(record)]
    return ["### Data and rule", "", *facts, ""]


def _write_gaps(record: AuditRecord) -> list[str]:
    names = COLUMNS | (BASELINE | EXCESS if has_baseline(record) else {})
    shown = [one for one in record.distributions.slices if one.n][: MAX_LABELS + 1]  # all pairs come first
    rows = [
        (escape(name_slice(one)), f"{one.n:,}", *(str(measured(measures_of(record, one), name)) for name in names))
        for one in shown
    ]
    return [
        "### Gaps between comparable people",
        "",
        f"The gap of a pair is the absolute difference between its two scores. {describe_intervals(record)}",
        "",
        *markdown_table(("Pairs", "N", *names.values()), rows),
    ]


def _write_directions(record: AuditRecord) -> list[str]:
    found = sorted(filter(is_significant, record.directions), key=lambda one: -abs(one.mean_gap))
    lines = ["### Significant differences between groups", ""]
    if not found:
        return [*lines, f"No transition between sensitive values has an adjusted p-value below {SIGNIFICANT:g}.", ""]
    n_more = len(found) - MAX_DIRECTIONS
    more = [f"- {n_more:,} more significant differences in the record (audit.json)."] if n_more > 0 else []
    return [*lines, *map(_describe_direction, found[:MAX_DIRECTIONS]), *more, ""]


def _describe_direction(one: Direction) -> str:
    return (
        f"- From {escape_value(one.origin)} to {escape_value(one.target)}: signed mean gap "
        f"{signed_number(one.mean_gap, one.low, one.high)} over {count_of(one.n_pairs, 'pair')}, "
        f"adjusted p {escape(p_value(one.p_adjusted))}."
    )


def _write_performance(record: AuditRecord) -> list[str]:
    table = performance_table(record)
    rows = [tuple(escape(str(cell)) for cell in row) for row in table.rows]
    return ["### Model performance", "", *markdown_table([str(one) for one in table.head], rows)] if rows else []


def _write_caveats(record: AuditRecord) -> list[str]:
    caveats = [*summary.list_notes(record), *summary.list_caveats(record)]
    return ["### Caveats", "", *(f"- {escape(words)}" for words in caveats), ""]


def _write_reproduction(record: AuditRecord) -> list[str]:
    return ["### How to reproduce", "", *(f"- {words}" for words in _reproduction(record)), ""]


def _reproduction(record: AuditRecord) -> Iterator[str]:
    settings = record.settings
    yield f"`{summary.verify_command(record)}` recomputes the numbers from the record and the data."
    yield (
        f"likewise {escape_value(record.likewise)}, {count_of(settings.n_resamples, 'bootstrap resample')}, "
        f"seed {settings.seed}."
    )
    if record.data.scores_checksum:
        yield f"Checksum of the scores (SHA-256): {escape_value(record.data.scores_checksum)}"


def to_card(record: AuditRecord | Mapping[str, Any]) -> str:
    """Render the headline numbers of an audit as a fragment of HTML for a notebook.

    Nothing is computed here: every number is in the record.

    Parameters
    ----------
    record : AuditRecord or mapping
        What ``Audit.to_record`` or ``Audit.to_dict`` returns.

    Returns
    -------
    str
        HTML to embed in a page; the same record gives the same text.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.report import to_card
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> to_card(found.to_dict()).startswith('<div class="lw-card">')
    True
    """
    record = AuditRecord.of(record)
    people = count_of(record.data.n_rows, "person", "people")
    sample = summary.describe_sample(record)
    pairs = f"{count_of(record.pairs.n, 'comparable pair')}{f', {sample}' if sample else ''}"
    facts = [text for text in (summary.show_rule(record), summary.describe_coverage(record)) if text]
    notes = "".join(f"<li>{escape_html(isolate(note))}</li>" for note in summary.list_notes(record))
    charts = gap_charts(record)
    parts = [
        f"<style>{_read_styles()}</style>",
        f"<p><strong>Audit</strong> of {people}: {pairs}</p>",
        _card_table(record),
        draw_svg(charts[0]) if charts else "",
        *(f'<p class="lw-said">{escape_html(isolate(words))}</p>' for words in facts),
        f"<details><summary>Notes</summary><ul>{notes}</ul></details>" if notes else "",
    ]
    return f'<div class="lw-card">{"".join(parts)}</div>'


def _card_table(record: AuditRecord) -> str:
    columns = COLUMNS | (BASELINE if has_baseline(record) else {})
    head = "".join(f'<th scope="col">{title}</th>' for title in ("Pairs", "N", *columns.values()))
    shown = [one for one in record.distributions.slices if one.n][: MAX_CARD_LABELS + 1]  # all pairs come first
    rows = "".join(
        f'<tr><th scope="row"><bdi>{escape_html(name_slice(one))}</bdi></th><td>{one.n:,}</td>'
        + "".join(_card_cell(measured(measures_of(record, one), name)) for name in columns)
        + "</tr>"
        for one in shown
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _card_cell(number: Number) -> str:
    interval = f"<small>({number.interval})</small>" if number.interval else ""
    return f"<td>{number.shown}{interval}</td>"


@cache
def _read_styles() -> str:
    files = resources.files("likewise.report") / "assets"
    return "\n".join((files / name).read_text("utf-8").replace("\r\n", "\n") for name in ("card.css", "charts.css"))
