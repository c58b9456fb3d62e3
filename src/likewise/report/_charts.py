"""The charts of a report, described from the record of an audit. Counts become shares; nothing else is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from likewise._format import count_of
from likewise.report._charts_parts import (
    Chart,
    Histogram,
    Marker,
    Point,
    Reliability,
    Series,
    as_number,
    as_percent,
    make_axis,
)
from likewise.report._charts_rows import change_chart, direction_chart, show_gap, show_short
from likewise.report._escaping import tidy
from likewise.report._words import Record, percent, say

__all__ = [
    "Chart",
    "calibration_chart",
    "change_chart",
    "direction_chart",
    "gap_charts",
    "person_chart",
    "score_chart",
]

PAIRS: Final = "Comparable pairs"
BASELINE: Final = "Baseline"
MARKED: Final = {"gap_mean": ("Mean", "Mean gap"), "gap_q3": ("Q3", "Upper quartile (Q3)")}

Entry = Mapping[str, Any]


def gap_charts(record: Record) -> tuple[Histogram, ...]:
    """Describe how the gaps of pairs spread, slice by slice; slices without a pair are left out."""
    distributions = record["distributions"]
    edges = tuple(distributions["edges"])
    charts = (_gap_chart(record, one, edges) for one in distributions["slices"] if one["n"])
    return tuple(charts)


def _gap_chart(record: Record, found: Entry, edges: tuple[float, ...]) -> Histogram:
    measures = measures_of(record, found)
    series = [_series(PAIRS, found["counts"], found["n"])]
    if found["n_within"] and found["within_counts"]:
        series.append(_series(BASELINE, found["within_counts"], found["n_within"]))
    counts = [found["counts"], found["within_counts"]][: len(series)]
    markers = [
        Marker(
            short,
            f"{short} {show_short(one['value'])}",
            f"{long}: {show_gap(one)}",
            one["value"],
            one["low"],
            one["high"],
        )
        for (short, long), one in ((words, measures.get(name)) for name, words in MARKED.items())
        if one is not None and one["value"] is not None
    ]
    name = name_slice(found)
    beside = f", and of {count_of(found['n_within'], 'baseline pair')}" if len(series) > 1 else ""
    spoken = "".join(f" {marker.tip}." for marker in markers)
    return _histogram(
        f"Gaps. {name}",
        f"Distribution of the gaps of {count_of(found['n'], 'comparable pair')}{beside}.{spoken}",
        ("Gap between the two scores of a pair", "Share of pairs"),
        edges,
        series,
        counts,
        markers,
        "Gap",
    )


def measures_of(record: Record, found: Entry) -> Mapping[str, Any]:
    """Find what was measured of a slice of the distributions."""
    if found["of"] == "all":
        measures: Mapping[str, Any] = record["measures"]
        return measures
    return next((one["measures"] for one in record["by_label"] if one["label"] == found["label"]), {})


def name_slice(found: Entry) -> str:
    """Say which pairs a slice of the distributions has."""
    if found["of"] == "all":
        return "All pairs"
    return f"Label {name_value(found['label'])}{' (positive)' if found['is_positive'] else ''}"


def person_chart(record: Record) -> Histogram | None:
    """Describe the worst gap that each person has."""
    found = record["person_gaps"]
    if not found["n_people"]:
        return None
    words = {"median": ("Median", "Median"), "q95": ("Q95", "95th percentile")}
    markers = [
        Marker(short, f"{short} {show_short(found[name])}", f"{long}: {percent(found[name])}", found[name])
        for name, (short, long) in words.items()
        if found[name] is not None
    ]
    spoken = "".join(f" {marker.tip}." for marker in markers)
    people = count_of(found["n_people"], "person", "people")
    return _histogram(
        "Worst gap of each person",
        f"Distribution of the worst gap of {people} with a comparable partner.{spoken}",
        ("Worst gap of a person", "Share of people"),
        tuple(found["edges"]),
        [_series("People with a partner", found["counts"], found["n_people"])],
        [found["counts"]],
        markers,
        "Worst gap",
    )


def score_chart(record: Record) -> Histogram | None:
    """Describe how the scores spread, for each label."""
    found = record["score_distribution"]
    slices = [] if found is None else [one for one in found["slices"] if sum(one["counts"])]
    if found is None or not slices:
        return None
    slices.sort(key=lambda one: one["label"] != record["positive"])  # the positive label as bars
    series = [_series(f"Label {name_value(one['label'])}", one["counts"], sum(one["counts"])) for one in slices]
    cut = record["threshold"]
    markers = [] if cut is None else [Marker("Cut", f"Cut {cut:.4g}", f"The decision is yes from {cut:.6g} on", cut)]
    return _histogram(
        "Scores by label",
        "Distribution of the scores of " + " and of ".join(f"{one.n:,} people with {one.name}" for one in series) + ".",
        ("Score", "Share of people"),
        tuple(found["edges"]),
        series,
        [one["counts"] for one in slices],
        markers,
        "Score",
    )


def calibration_chart(record: Record) -> Reliability | None:
    """Describe how often the positive label occurs among people of about the same score."""
    bins = [one for one in record["calibration"] if one["n"]]
    if not bins:
        return None
    largest = max(one["n"] for one in bins)
    error = record["measures"].get("calibration_error")
    spoken = f" Calibration error {show_gap(error)}." if error is not None and error["value"] is not None else ""
    points = tuple(
        Point(
            one["mean_score"],
            one["observed"],
            one["n"] / largest,
            f"Mean score {percent(one['mean_score'])}: label observed for {percent(one['observed'])} "
            f"of {count_of(one['n'], 'person', 'people')}",
        )
        for one in bins
    )
    return Reliability(
        "Reliability of the scores",
        f"Observed share of the positive label over the mean score, in {count_of(len(bins), 'bin')} of people. "
        f"On the diagonal the two agree.{spoken}",
        make_axis("Mean score of a bin", 0.0, 1.0, as_percent),
        make_axis("Observed share of the positive label", 0.0, 1.0, as_percent),
        points,
    )


def name_value(value: Any) -> str:
    """Write a value of the data on one line, cut where it is long."""
    return tidy(say(value))


def _histogram(
    title: str,
    description: str,
    axes: tuple[str, str],
    edges: tuple[float, ...],
    series: Sequence[Series],
    counts: Sequence[Sequence[int]],
    markers: Sequence[Marker],
    what: str,
) -> Histogram:
    write = as_number if what == "Score" else as_percent
    tallest = max(share for one in series for share in one.shares)
    bounds = [(write(low, high - low), write(high, high - low)) for low, high in pairwise(edges)]
    tips = tuple(
        f"{what} {low} to {high}. "
        + "; ".join(
            f"{s.name}: {percent(s.shares[i])} ({c[i]:,} of {s.n:,})" for s, c in zip(series, counts, strict=True)
        )
        for i, (low, high) in enumerate(bounds)
    )
    return Histogram(
        title,
        description,
        make_axis(axes[0], edges[0], edges[-1], write),
        make_axis(axes[1], 0.0, tallest, as_percent, is_grown=True),
        edges,
        tuple(series),
        tuple(markers),
        tips,
    )


def _series(name: str, counts: Sequence[int], n: int) -> Series:
    return Series(name, n, tuple(count / n for count in counts))
