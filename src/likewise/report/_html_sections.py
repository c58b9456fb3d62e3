"""What the page holds, section by section: words, tables and charts, ready to be laid out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from likewise._format import show_value
from likewise.report import _measured as measured
from likewise.report._again import ABOUT_AGAIN, list_known, list_limits, say_command
from likewise.report._changes import ABOUT_CHANGES, list_change_notes, list_changes, list_origins, pair_records
from likewise.report._charts import (
    Chart,
    calibration_chart,
    change_chart,
    direction_chart,
    gap_charts,
    person_chart,
    score_chart,
)
from likewise.report._compared import (
    list_checks,
    list_compared,
    list_notes,
    list_reasons,
    say_found,
    say_lead,
    say_share,
    say_verdict,
)
from likewise.report._directions import ABOUT_DIRECTIONS, ABOUT_MATRIX, lay_matrix, list_directions, say_no_directions
from likewise.report._group_rates import list_groups
from likewise.report._parts import say_more, show
from likewise.report._person_gaps import ABOUT_PERSONS, list_calibration, list_persons, say_persons
from likewise.report._side_by_side import find_worst, lay_pairs
from likewise.report._svg import draw_svg
from likewise.report._words import PEOPLE_TITLES, Record

if TYPE_CHECKING:
    from markupsafe import Markup

FIGURES: Final = {"gap_mean": "Mean gap", "gap_q3": "Upper quartile"}
N_OPEN: Final = 3  # of the pairs, before anybody clicks

Section = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number for the head of the page, with its interval."""

    title: str
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart, drawn."""

    title: str
    svg: Markup


def list_sections(record: Record, before: Record | None, comparison: Mapping[str, Any] | None, n_pairs: int) -> Section:
    """Gather everything that the template lays out."""
    sections = {
        "verdict": _verdict(record),
        "compared": {"facts": list_compared(record), "notes": list_notes(record)},
        "gaps": _gaps(record),
        "baseline": _baseline(record),
        "directions": _directions(record),
        "pairs": _pairs(record, n_pairs),
        "persons": {
            **{"about": ABOUT_PERSONS, "summary": say_persons(record), "table": list_persons(record)},
            "chart": _draw(person_chart(record)),
        },
        "quality": _quality(record),
        "groups": {"tables": list_groups(record)},
        "changes": _changes(record, before, comparison),
        "again": {"about": ABOUT_AGAIN, "command": say_command(record), "table": list_known(record)},
        "limits": list_limits(record),
    }
    data = record["data"]
    collapse = list_notes(record)[:1] if record.get("is_collapsed") else []  # the first note tells of it
    head = {
        "collapse": "".join(collapse),
        "is_by_label": record["task"] != "regression",
        "title": "How differently similar people are treated",
        "file": show(data["file"]) if data["file"] else None,
        "made_at": show(record["made_at"]) if record["made_at"] else None,
        "likewise": show(record["likewise"]),
    }
    return {"head": head, **sections}


def _verdict(record: Record) -> Section:
    outcome, _, rest = say_verdict(record).partition(":")
    return {
        "outcome": outcome,
        "kind": outcome.lower(),
        "rest": rest,
        **{"lead": say_lead(record), "found": say_found(record)},
        "figures": _figures(record),
        "checks": list_checks(record),
        "reasons": list_reasons(record),
    }


def _figures(record: Record) -> list[Figure]:
    """Choose the numbers that everybody asks for first."""
    measures = record["measures"]
    labels = ("positive_", "negative_") if record["task"] == "binary" else ("",)
    quality = next((name for name in ("roc_auc", "r2", "accuracy") if name in measures), None)
    names = [f"{label}{name}" for label in labels for name in FIGURES]
    titles = {
        f"{label}{name}": f"{title}{_name_label(record, label)}" for label in labels for name, title in FIGURES.items()
    }
    if quality is not None:
        names.append(quality)
        titles[quality] = PEOPLE_TITLES[quality]
    figures = [_figure(titles[name], name, measures.get(name)) for name in names]
    figures.append(_figure("Coverage", "coverage", measures.get("coverage")))
    figures.append(Figure("Comparable pairs", f"{record['pairs']['n']:,}", say_share(record).removeprefix(", ")))
    return [one for one in figures if one is not None]


def _name_label(record: Record, label: str) -> str:
    positive = record["positive"]
    if not label:
        return ""
    found = [one["label"] for one in record["by_label"] if (one["label"] == positive) == (label == "positive_")]
    return f", label {show(found[0])}" if len(found) == 1 else f", {label.rstrip('_')} label"


def _figure(title: str, name: str, measure: Mapping[str, Any] | None) -> Figure | None:
    if measure is None or measure["value"] is None:
        return None
    low, high = (None if measure[end] is None else show_value(name, measure[end]) for end in ("low", "high"))
    interval = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}" if high else ""
    return Figure(title, show_value(name, measure["value"]), interval)


def _gaps(record: Record) -> Section:
    charted = [one for one in record["distributions"]["slices"] if one["n"]]
    charts = list(zip(charted, gap_charts(record), strict=True))
    parts = []
    for one in measured.list_gaps(record, beyond=False):
        fits = [
            chart
            for found, chart in charts
            if (found["of"] == "all") == one.is_all and (one.is_all or found["label"] == one.label)
        ]
        parts.append({"slice": one, "chart": _draw(fits[0] if fits else None)})
    return {
        **{"about": measured.ABOUT_GAPS, "intervals": measured.say_intervals(record), "parts": parts},
        **{"about_ranks": measured.ABOUT_RANKS, "ranks": measured.list_ranks(record, beyond=False)},
        "more": measured.say_more_labels(record),
    }


def _baseline(record: Record) -> Section:
    return {
        "about": measured.ABOUT_BASELINE if measured.has_baseline(record) else "",
        "table": measured.list_excess(record),
    }


def _directions(record: Record) -> Section:
    return {
        **{"about": ABOUT_DIRECTIONS, "about_matrix": ABOUT_MATRIX, "none": say_no_directions(record)},
        **{"matrix": lay_matrix(record), "table": list_directions(record)},
        "chart": _draw(direction_chart(record)),
    }


def _pairs(record: Record, n_pairs: int) -> Section:
    pairs = lay_pairs(record, n_pairs)
    return {"pairs": pairs, "n_open": N_OPEN, "more": say_more(len(find_worst(record)), n_pairs, "pairs")}


def _quality(record: Record) -> Section:
    return {
        **{"about": measured.ABOUT_PEOPLE, "table": measured.list_people(record)},
        "charts": [one for one in map(_draw, (calibration_chart(record), score_chart(record))) if one],
        "bins": list_calibration(record),
    }


def _changes(record: Record, before: Record | None, comparison: Mapping[str, Any] | None) -> Section | None:
    if before is None and comparison is None:
        return None
    found = comparison if comparison is not None else pair_records(before or {}, record)
    return {
        "about": ABOUT_CHANGES,
        "origins": None if before is None else list_origins(before, record),
        "table": list_changes(found),
        "notes": list_change_notes(found),
        "chart": _draw(None if comparison is None else change_chart(comparison)),
    }


def _draw(chart: Chart | None) -> Drawing | None:
    """Draw a chart; it escapes what it says itself."""
    from markupsafe import Markup

    return None if chart is None else Drawing(chart.title, Markup(draw_svg(chart)))
