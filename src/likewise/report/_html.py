"""An audit as one page of HTML that opens from disk, fetches nothing and prints; and as a card for notebooks."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape as escape_html
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from likewise._format import count_of
from likewise.exceptions import ParameterError
from likewise.record import AuditRecord
from likewise.record._internal import Comparison, of_every_part, show_interval, show_value
from likewise.report import _attribution as attribution
from likewise.report import _charts as charts
from likewise.report import _evidence as evidence
from likewise.report import _measures as measures
from likewise.report import _summary as summary
from likewise.report._svg import draw_svg
from likewise.report._text import Number, clean, count_left_out, isolate, measured, show, title

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

STYLES: Final = ("report.css", "charts.css")
CARD_STYLES: Final = ("card.css", "charts.css")
SCRIPT: Final = "report.js"
PAGE: Final = "report.html"
PARTS: Final = "parts.html"
TITLE: Final = "How differently similar people are scored"
PAIRS_SHOWN: Final = (20, 8, 3)  # fewer where the page would be too large
MAX_BYTES: Final = 2_900_000
MAX_CARD_LABELS: Final = 4
N_OPEN: Final = 3  # pairs unfolded at first

Section = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number for the head of the page, with its interval."""

    title: str
    value: str
    interval: str


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
        changes = _changes(shown, AuditRecord.of(before), comparison)
    template, page = load_template(PAGE), ""
    for n_pairs in PAIRS_SHOWN:
        page = template.render(_list_sections(shown, n_pairs) | {"changes": changes})
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


def render_parts(title: str, record: AuditRecord, parts: Sequence[summary.Part]) -> str:
    """Lay out the parts of a page in the frame of the report."""
    named = [(f"part-{number}", part) for number, part in enumerate(parts, start=1)]
    contents = [(name, part.title, True) for name, part in named]
    return load_template(PARTS).render(head=_head(title, record), contents=contents, parts=named)


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


def _list_sections(record: AuditRecord, n_pairs: int) -> Section:
    """Collect everything that the template lays out."""
    return {
        "head": {
            **_head(TITLE, record),
            "collapse": "" if record.collapse is None else summary.tidy_text(record.collapse.text),
            "is_by_label": record.has_labels,
        },
        "verdict": _verdict(record),
        "compared": {"facts": summary.list_facts(record), "notes": summary.list_notes(record)}
        | {"departures": summary.departure_table(record)},
        "gaps": _gaps(record),
        "baseline": {
            "about": measures.ABOUT_BASELINE if measures.has_baseline(record) else "",
            "table": measures.excess_table(record),
        },
        "directions": _directions(record),
        "attribution": _attribution(record),
        "pairs": {
            "pairs": evidence.pair_views(record, n_pairs),
            "parts": attribution.parts_of_pairs(record),
            "n_open": N_OPEN,
            "more": count_left_out(len(evidence.worst_pairs(record)), n_pairs, "pairs"),
        },
        "review": {
            "about": summary.ABOUT_REVIEWS,
            "summary": str(record.review_summary),
            "tables": [
                one
                for one in (summary.standing_table(record), summary.agreement_table(record), summary.review_log(record))
                if one
            ],
        },
        "named": _named(record),
        "certificates": _certificates(record),
        "people": {
            "about": evidence.ABOUT_PEOPLE,
            "summary": evidence.summarize_people(record),
            "table": evidence.people_table(record),
            "chart": _draw(charts.person_chart(record)),
        },
        "performance": {
            "is_known": measures.has_performance(record),
            "about": measures.ABOUT_PERFORMANCE if measures.has_performance(record) else measures.ABOUT_SPREAD,
            "table": measures.performance_table(record),
            "charts": [
                one for one in map(_draw, (charts.calibration_chart(record), charts.score_chart(record))) if one
            ],
            "bins": measures.calibration_table(record),
        },
        "rates": {"tables": evidence.rate_tables(record)},
        "coverage": {"tables": evidence.coverage_tables(record)},
        "reproduce": {
            "about": summary.ABOUT_REPRODUCTION,
            "command": summary.verify_command(record),
            "table": summary.provenance_table(record),
        },
        "caveats": summary.list_caveats(record),
    }


def _head(title: str, record: AuditRecord) -> Section:
    return {
        "title": title,
        "file": show(record.data.file) if record.data.file else None,
        "made_at": show(record.made_at) if record.made_at else None,
        "likewise": show(record.likewise),
    }


def _verdict(record: AuditRecord) -> Section:
    return {
        "summary": summary.sum_up_verdict(record),
        "lead": summary.lead_sentence(record),
        "means": " ".join([*record.conclusions[1:], summary.mean_sentences(record)]),
        "figures": _figures(record),
        "checks": summary.check_table(record),
        "open": summary.open_checks(record),
    }


def _figures(record: AuditRecord) -> list[Figure]:
    """Choose the numbers for the head of the page."""
    found = record.measures
    quality = next((name for name in ("roc_auc", "r2", "accuracy") if name in found), "")
    names = ["excess", *of_every_part(("gap_mean",), found), quality, "impact_ratio", "signed_gap", "matched_share"]
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


def _gaps(record: AuditRecord) -> Section:
    charted = [one for one in record.distributions.slices if one.n]
    drawn = list(zip(charted, charts.gap_charts(record), strict=True))
    parts = []
    for one in measures.gap_slices(record, excess=False):
        fits = [
            chart
            for found, chart in drawn
            if (found.of == "all") == one.is_all and (one.is_all or found.label == one.label)
        ]
        parts.append({"slice": one, "chart": _draw(fits[0] if fits else None)})
    return {
        "about": measures.ABOUT_GAPS,
        "intervals": measures.describe_intervals(record),
        "parts": parts,
        "about_ranks": measures.ABOUT_RANKS,
        "more": measures.count_labels_left_out(record),
    }


def _directions(record: AuditRecord) -> Section:
    return {
        "about": evidence.about_directions(record),
        "about_matrix": evidence.about_matrix(record),
        "none": evidence.explain_no_directions(record),
        "targets": measures.target_table(record),
        "matrix": evidence.direction_matrix(record),
        "table": evidence.direction_table(record),
        "about_columns": evidence.ABOUT_COLUMN_DIRECTIONS,
        "columns": evidence.column_direction_table(record),
        "balance": summary.balance_table(record),
        "about_regression": measures.about_regression(record),
        "regression": measures.regression_table(record),
        "chart": _draw(charts.direction_chart(record)),
    }


def _attribution(record: AuditRecord) -> Section | None:
    found = record.attribution
    if found is None:
        return None
    return {
        "about": attribution.ABOUT,
        "summary": attribution.describe_attribution(found, points=record.in_points),
        "chart": _draw(attribution.attribution_chart(record)),
        "columns": attribution.column_table(record),
        "about_transitions": attribution.ABOUT_TRANSITIONS,
        "transitions": attribution.transition_table(record),
    }


def _named(record: AuditRecord) -> Section | None:
    if record.named is None:
        return None
    return {
        "about": attribution.ABOUT_NAMED,
        "summary": f"{record.named.headline}. {record.named.reference}",
        "table": attribution.named_table(record),
    }


def _certificates(record: AuditRecord) -> Section | None:
    found = record.certificates
    if found is None:
        return None
    return {
        "about": attribution.ABOUT_CERTIFICATES,
        "summary": attribution.describe_certificates(found),
        "chart": _draw(attribution.certificate_chart(record)),
        "limits": attribution.limit_table(record),
        "about_plausibility": attribution.ABOUT_PLAUSIBILITY if found.plausibility is not None else "",
        "plausibility": attribution.describe_plausibility(found),
        "people": attribution.certified_table(record),
    }


def _changes(record: AuditRecord, before: AuditRecord, comparison: Comparison) -> Section:
    table = measures.change_table(comparison, points=record.in_points)
    return {
        "about": measures.about_changes(table),
        "conclusions": [str(one) for one in comparison.conclusions],
        "origins": summary.origin_table(before, record),
        "table": table,
        "notes": [clean(str(note)) for note in comparison.notes],
        "chart": _draw(charts.change_chart(comparison, points=record.in_points)),
    }


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
