"""An audit as a short card of HTML for notebooks: headline numbers and one chart, no script, nothing from outside."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib import resources
from typing import Final

from likewise._format import count_of
from likewise.report._charts import gap_charts, measures_of, name_slice
from likewise.report._compared import list_compared, list_notes, say_share
from likewise.report._escaping import isolate
from likewise.report._measured import has_baseline
from likewise.report._svg import draw_svg
from likewise.report._words import Record, check_record, found_in

MOST_LABELS: Final = 4
COLUMNS: Final = {"gap_mean": "Mean gap", "gap_q3": "Upper quartile (Q3)"}
BASELINE: Final = {"within_gap_mean": "Baseline, mean gap"}


def to_card(record: Record) -> str:
    """Write the headline numbers of an audit as a piece of HTML for a notebook.

    Nothing is computed here: every number is in the record.

    Parameters
    ----------
    record : mapping
        What ``Audit.to_dict`` gives.

    Returns
    -------
    str
        HTML to stand inside a page; the same record gives the same text.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.report import to_card
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> to_card(found.to_dict()).startswith('<div class="lw-card">')
    True
    """
    check_record(record)
    people = count_of(record["data"]["n_rows"], "person", "people")
    pairs = f"{count_of(record['pairs']['n'], 'comparable pair')}{say_share(record)}"
    facts = dict(list_compared(record))
    told = [facts[name] for name in ("Rule", "Coverage") if name in facts]
    notes = "".join(f"<li>{escape(isolate(note))}</li>" for note in list_notes(record))
    charts = gap_charts(record)
    parts = [
        f"<style>{_read_styles()}</style>",
        f"<p><strong>Audit</strong> of {people}: {pairs}</p>",
        _table(record),
        draw_svg(charts[0]) if charts else "",
        *(f'<p class="lw-said">{escape(isolate(words))}</p>' for words in told),
        f"<details><summary>Before reading the numbers</summary><ul>{notes}</ul></details>" if notes else "",
    ]
    return f'<div class="lw-card">{"".join(parts)}</div>'


def _table(record: Record) -> str:
    columns = COLUMNS | (BASELINE if has_baseline(record) else {})
    head = "".join(f'<th scope="col">{title}</th>' for title in ("Pairs", "Number", *columns.values()))
    shown = [one for one in record["distributions"]["slices"] if one["n"]][: MOST_LABELS + 1]  # all pairs come first
    rows = "".join(
        f'<tr><th scope="row"><bdi>{escape(name_slice(one))}</bdi></th><td>{one["n"]:,}</td>'
        + "".join(_cell(found_in(measures_of(record, one), name)) for name in columns)
        + "</tr>"
        for one in shown
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(found: str) -> str:
    """Put the interval below the number."""
    value, _, interval = found.partition(" (")
    return f"<td>{value}{f'<small>({interval}</small>' if interval else ''}</td>"


@cache
def _read_styles() -> str:
    files = resources.files("likewise.report") / "assets"
    return "\n".join((files / name).read_text("utf-8").replace("\r\n", "\n") for name in ("card.css", "charts.css"))
