"""An audit as one page of HTML that opens from disk, fetches nothing and prints; and as a card for notebooks."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape as escape_html
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from likewise._format import count_of
from likewise.exceptions import ParameterError
from likewise.record import AuditRecord
from likewise.record._internal import Check, Comparison, of_every_part, show_interval, show_value
from likewise.report import _charts as charts
from likewise.report import _measures as measures
from likewise.report import _summary as summary
from likewise.report._parts import TITLE, Part, change_part, list_parts
from likewise.report._svg import draw_svg
from likewise.report._text import Number, Table, Value, clean, isolate, measured, show, title

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

STYLES: Final = ("report.css", "charts.css")
CARD_STYLES: Final = ("card.css", "charts.css")
SCRIPT: Final = "report.js"
PAGE: Final = "report.html"
PAIRS_SHOWN: Final = (20, 8, 3)  # fewer where the page would be too large
MAX_BYTES: Final = 2_900_000
MAX_CARD_LABELS: Final = 4
N_OPEN: Final = 3  # pairs unfolded at first


@dataclass(frozen=True, slots=True)
class Figure:
    """A number for the head of the page, with its interval."""

    title: str
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class Head:
    """What is above the parts of a page, and whence its numbers are."""

    title: str
    likewise: Value
    file: Value | None = None
    made_at: Value | None = None
    origin: str = "the record, audit.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """The first section: a sentence, answers, and how the limits of the policy came out."""

    title: str
    lead: str
    warning: str = ""
    answers: Sequence[summary.Fact] = ()
    outcome: str = ""
    checks: Table | None = None
    open: Sequence[Check] = ()
    figures: Sequence[Figure] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart as SVG."""

    title: str
    svg: Markup


def to_html(
    record: AuditRecord | Mapping[str, Any],
    *,
    before: AuditRecord | Mapping[str, Any] | None = None,
    comparison: Comparison | None = None,
) -> str:
    """Render an audit as one self-contained page of HTML.

    Nothing is computed here: every number is in the record.

    Parameters
    ----------
    record : AuditRecord or mapping
        What ``Audit.to_record`` or ``Audit.to_dict`` returns.
    before : AuditRecord or mapping, optional
        The record of an audit of the same people with another model, to compare with; it takes ``comparison``.
    comparison : Comparison, optional
        What :func:`likewise.compare_audits` returns for the two.

    Returns
    -------
    str
        HTML, to be written in UTF-8; the same records give the same text.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.report import to_html
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> page = to_html(found.to_dict())
    >>> page.startswith("<!DOCTYPE html>"), len(page) < 3_000_000
    (True, True)
    """
    shown = AuditRecord.of(record)
    if (before is None) != (comparison is None):
        raise ParameterError("and before go together. Give both, or neither.", "comparison")
    changes = None
    if before is not None and comparison is not None:
        changes = change_part(shown, AuditRecord.of(before), comparison)
    page = ""
    for n_pairs in PAIRS_SHOWN:
        page = render(_head(TITLE, shown), list_parts(shown, n_pairs, changes), _first(shown))
        if len(page.encode("utf-8", "replace")) < MAX_BYTES:
            break
    return page


def card_style() -> str:
    """Return the style of what is shown in a notebook: cards and charts that follow the theme of the page."""
    return _read_all(CARD_STYLES)


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
    facts = [text for text in (summary.tidy_text(record.rule_in_words), summary.describe_coverage(record)) if text]
    notes = "".join(f"<li>{escape_html(isolate(note))}</li>" for note in summary.list_notes(record))
    drawn = charts.gap_charts(record)
    parts = [
        f"<style>{card_style()}</style>",
        f"<p><strong>Audit</strong> of {people}: {pairs}</p>",
        _card_table(record),
        draw_svg(drawn[0]) if drawn else "",
        *(f'<p class="lw-said">{escape_html(isolate(words))}</p>' for words in facts),
        f"<details><summary>Notes</summary><ul>{notes}</ul></details>" if notes else "",
    ]
    return f'<div class="lw-card">{"".join(parts)}</div>'


def render_parts(title: str, record: AuditRecord, parts: Sequence[Part]) -> str:
    """Lay out the parts of a page in the frame of the report."""
    return render(_head(title, record), [replace(part, name=f"part-{at}") for at, part in enumerate(parts, start=1)])


def render(head: Head, parts: Sequence[Part], first: First | None = None) -> str:
    """Lay out a page: what comes first, then its parts."""
    page = {"head": head, "parts": parts, "first": first, "draw": _draw, "n_open": N_OPEN}
    return load_template(PAGE).render(page)


def _head(title: str, record: AuditRecord) -> Head:
    file, made_at = (None if one is None else show(one) for one in (record.data.file or None, record.made_at or None))
    return Head(title, show(record.likewise), file, made_at)


def _card_table(record: AuditRecord) -> str:
    columns = (*measures.SUMMARIZED, *(("same_group_gap_mean",) * measures.has_baseline(record)))
    head = "".join(f'<th scope="col">{words}</th>' for words in ("Pairs", "N", *map(title, columns)))
    shown = [one for one in record.distributions.slices if one.n][: MAX_CARD_LABELS + 1]  # all pairs come first
    rows = "".join(
        f'<tr><th scope="row"><bdi>{escape_html(charts.name_slice(one))}</bdi></th><td>{one.n:,}</td>'
        + "".join(
            _card_cell(measured(charts.measures_of(record, one), name, points=record.in_points)) for name in columns
        )
        + "</tr>"
        for one in shown
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _card_cell(number: Number) -> str:
    interval = f"<small>({number.interval})</small>" if number.interval else ""
    return f"<td>{number.shown}{interval}</td>"


def _first(record: AuditRecord) -> First:
    return First(
        title="Result" if record.verdict is None else "Verdict",
        lead=summary.lead_sentence(record),
        warning="" if record.collapse is None else summary.tidy_text(record.collapse.text),
        answers=summary.list_answers(record),
        outcome="" if record.verdict is None else record.verdict.outcome,
        checks=summary.check_table(record),
        open=summary.open_checks(record),
        figures=_figures(record),
    )


def _figures(record: AuditRecord) -> list[Figure]:
    """Choose the numbers for the head of the page."""
    found = record.measures
    quality = next((name for name in ("roc_auc", "r2", "accuracy") if name in found), "")
    names = ["excess", *of_every_part(("signed_gap",), found), "gap_mean", "impact_ratio", quality, "matched_share"]
    points = record.in_points
    figures = [
        Figure(
            title(name),
            show_value(name, one.value, points=points),
            show_interval(name, one.low, one.high, points=points),
        )
        for name in names
        if (one := found.get(name)) is not None and one.value is not None
    ]
    sample = summary.describe_sample(record)
    return [*figures, Figure("Comparable pairs", f"{record.pairs.n:,}", sample)]


def _draw(chart: charts.Chart | None) -> Drawing | None:
    """Draw a chart; the drawing escapes its texts itself."""
    from markupsafe import Markup

    return None if chart is None else Drawing(chart.title, Markup(draw_svg(chart)))


@cache
def load_template(name: str) -> Template:
    """Compile a page once, with its style and script, and with the hashes that allow no others."""
    import jinja2
    from markupsafe import Markup, escape

    style, script = _read_all(STYLES), _read(SCRIPT)
    pages = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_show_unseen,
    )
    pages.filters["alone"] = lambda value: escape(clean(value))  # for elements that isolate their content
    sources = f"style-src {_hash(style)}; script-src {_hash(script)}; img-src data:"
    ours = {
        "policy": f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'",
        **{"style": Markup(style), "script": Markup(script)},  # our own files
    }
    return pages.get_template(name, globals=ours)


def _show_unseen(value: Any) -> Any:
    """Name invisible characters and isolate right-to-left words, whatever a record holds."""
    return isolate(clean(value)) if type(value) is str else value  # markup is our own


def _read(name: str) -> str:
    """Read an asset, with the line ends that a browser hashes."""
    return (resources.files("likewise.report") / "assets" / name).read_text("utf-8").replace("\r\n", "\n")


@cache
def _read_all(names: tuple[str, ...]) -> str:
    return "\n".join(map(_read, names))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
