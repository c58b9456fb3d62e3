"""Several audits over time as one page of HTML: conclusions, charts of the main measures, worst pairs, coverage."""

from __future__ import annotations

import math
from typing import Any, Final

from likewise._format import count_of
from likewise._version import __version__
from likewise.record._internal import AuditSeries, SeriesPair, SeriesPoint, key_of, kind_of, show_value, split_key
from likewise.report._charts import Dot, DotPlot, as_number, as_percent, make_axis
from likewise.report._html import First, Head, render
from likewise.report._parts import Part
from likewise.report._text import NOTHING, Cell, Number, Table, measured, percent, shorten, show, title

SHOWN_TOO: Final = ("impact_ratio", "gap_mean", "flip_rate", "roc_auc", "r2", "matched_share")
RATES: Final = ("control_only_rate", "target_only_rate")
MOST_PAIRS: Final = 50
LONGEST_NAME: Final = 28
OUTCOMES: Final = {
    "worse": ("Fail", "Worse", "people are treated more differently, beyond chance"),
    "no worse": ("Pass", "No worse", "no difference in treatment grew beyond chance"),
    "inconclusive": ("Inconclusive", "Inconclusive", "too few pairs, or no intervals"),
}
ABOUT: Final = (
    "Differences are from the first audit to the last, with intervals as of independent samples: where people are in "
    "both, they are usually too wide. Intervals of the conclusions hold for all of them together (Bonferroni). Nothing "
    "is concluded from gaps, impact ratio and performance, which also move where nobody is treated differently."
)
ABOUT_PAIRS: Final = (
    "A pair is new, or resolved, where it is among the worst pairs of the last, or of the first, audit only."
)
NO_IDS: Final = "People cannot be told across these audits: name their identifier (--row-id) in each."


def series_to_html(series: AuditSeries) -> str:
    """Render several audits over time as one self-contained page of HTML.

    Parameters
    ----------
    series : AuditSeries
        What :func:`likewise.auditing.compare_series` returns.

    Returns
    -------
    str
        HTML, to be written in UTF-8; the same series gives the same text.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.auditing import compare_series
    >>> from likewise.report import series_to_html
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> series_to_html(compare_series([found.record, found.record])).startswith("<!DOCTYPE html>")
    True
    """
    css, outcome, why = OUTCOMES[series.outcome]
    lead = First(title="Result", lead=f"{outcome}: {why}.", outcome=css.lower())
    drawn = (_chart(series, name) for name in (*series.concluded, *SHOWN_TOO))
    notes = tuple(note.text for note in series.notes)
    pairs = [
        _pair_table(title, pairs, series.points[-1].in_points)
        for title, pairs in (("New worst pairs", series.new_pairs), ("Resolved worst pairs", series.resolved_pairs))
        if pairs is not None
    ]
    about_pairs = NO_IDS if series.new_pairs is None else ABOUT_PAIRS
    parts = [
        Part(
            name="result",
            title="Conclusions",
            texts=(ABOUT,),
            items=tuple(str(one) for one in series.conclusions),
            parts=(Part(title="Notes", items=notes),) if notes else (),
        ),
        Part(
            name="measures",
            title="Measures over time",
            tables=(_measure_table(series),),
            charts=tuple(one for one in drawn if one is not None),
        ),
        Part(
            name="pairs",
            title="New and resolved worst pairs",
            texts=(about_pairs, *(f"{one.caption}." for one in pairs if not one.rows)),
            tables=tuple(one for one in pairs if one.rows),
        ),
        Part(name="coverage", title="Coverage by group", tables=(_coverage_table(series),)),
    ]
    return render(Head("Audits over time", show(__version__), origin="the records"), parts, lead)


def _measure_table(series: AuditSeries) -> Table:
    known = [*_list_shown(series), *(name for name in SHOWN_TOO if name in series.points[-1].measures)]
    rows: list[tuple[Cell, ...]] = [
        ("Date", *(show(one.made_at) if one.made_at else NOTHING for one in series.points)),
        ("People", *(f"{one.n_people:,}" for one in series.points)),
        ("Comparable pairs", *(f"{one.n_pairs:,}" for one in series.points)),
        *((title(name), *(_number(one, name) for one in series.points)) for name in known),
    ]
    return Table(caption="Measures over time", head=("Measure", *_names(series)), rows=tuple(rows))


def _list_shown(series: AuditSeries) -> list[str]:
    """List what is concluded on, and the rates of each transition."""
    parts = {split_key(key)[1] for key in series.concluded} - {None}
    rates = [key_of(name, part) for part in sorted(map(str, parts)) for name in RATES]
    return [*series.concluded, *(key for key in rates if key in series.points[-1].measures)]


def _number(point: SeriesPoint, name: str) -> Number | str:
    return measured(point.measures, name, points=point.in_points) if name in point.measures else NOTHING


def _names(series: AuditSeries) -> tuple[Cell, ...]:
    return tuple(show(one.name) for one in series.points)


def _chart(series: AuditSeries, name: str) -> DotPlot | None:
    """Draw one measure, a row an audit."""
    dots = tuple(dot for dot in (_dot(one, name) for one in series.points) if dot is not None)
    if len(dots) < 2:
        return None
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None]
    named = title(name)
    return DotPlot(
        named,
        " ".join(f"{dot.tip}." for dot in dots),
        make_axis(
            named,
            min(0.0, *ends),
            max(ends),
            as_number if kind_of(name).unit == "number" else as_percent,
            is_grown=True,
        ),
        dots,
        "Value, with its interval",
        "",
    )


def _dot(point: SeriesPoint, name: str) -> Dot | None:
    found = point.measures.get(name)
    if found is None or found.value is None:
        return None
    if not all(math.isfinite(one or 0) for one in (found.value, found.low, found.high)):
        return None
    label = shorten(str(show(point.name)), LONGEST_NAME)
    points = point.in_points
    shown = found.show(name, points=points)
    value = show_value(name, found.value, points=points)
    return Dot((label,), value, f"{label}: {shown}", found.value, found.low, found.high)


def _pair_table(title: str, pairs: tuple[SeriesPair, ...], points: bool) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (show(one.left_id), show(one.right_id), show_value("gap_mean", one.gap, points=points))
        for one in pairs[:MOST_PAIRS]
    ]
    return Table(
        caption=f"{title}: {count_of(len(pairs), 'pair')}",
        head=("One person", "The other", "Gap"),
        rows=tuple(rows),
        n_text=2,
        more=f"{len(pairs) - MOST_PAIRS:,} more pairs are in the records." if len(pairs) > MOST_PAIRS else "",
    )


def _coverage_table(series: AuditSeries) -> Table:
    groups = list(dict.fromkeys(name for one in series.points for name in one.coverage))
    rows: list[tuple[Cell, ...]] = [
        (show(name), *(_share(one.coverage.get(name)) for one in series.points)) for name in groups
    ]
    everybody: tuple[Cell, ...] = ("All people", *(_number(one, "matched_share") for one in series.points))
    return Table(caption="Matched people by group", head=("Group", *_names(series)), rows=(everybody, *rows))


def _share(value: float | None) -> Any:
    return NOTHING if value is None else percent(value)
