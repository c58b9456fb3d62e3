"""Charts as SVG for a page: no colours, no ids and no script inside; the style sheet of charts gives the looks."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from likewise.report._charts_layout import LEFT, lay_out
from likewise.report._charts_parts import Axis, Chart, Dot, DotPlot, Histogram, Reliability, Series
from likewise.report._svg_parts import (
    LINE,
    across,
    diamond,
    dot,
    frame,
    hit,
    keys,
    line,
    spot,
    tag,
    text,
    whisker,
    x_axis,
    y_axis,
)

PLOT: Final = 168.0
SQUARE: Final = 260.0
BELOW: Final = 46.0  # ticks and title of the axis


def draw_svg(chart: Chart) -> str:
    """Draw a chart; the same chart gives the same text."""
    if isinstance(chart, Histogram):
        return _draw_histogram(chart)
    return _draw_reliability(chart) if isinstance(chart, Reliability) else _draw_dots(chart)


def _draw_histogram(chart: Histogram) -> str:
    legend = keys(
        [(i, one.counted, "bar" if i == 0 else f"lw-step lw-step-{i}") for i, one in enumerate(chart.series)], 0, LEFT
    )
    title_at = LINE * len(chart.series) + 20
    top = title_at + 12 + LINE * len(chart.markers)
    places = [chart.x.place(edge) for edge in chart.edges]
    layers = [
        tag("g", *_bars(one, places, chart.y, top), class_="lw-series", data_series=str(i))
        if i == 0
        else tag(
            "g", *_steps(one, places, chart.y, top, f"lw-step lw-step-{i}"), class_="lw-series", data_series=str(i)
        )
        for i, one in enumerate(chart.series)
    ]
    hits = [hit(a, b - a, top, PLOT, tip) for (a, b), tip in zip(pairwise(places), chart.tips, strict=True)]
    return frame(
        "histogram",
        top + PLOT + BELOW,
        chart.title,
        chart.description,
        legend,
        text(chart.y.title, x=LEFT, y=title_at, class_="lw-title"),
        y_axis(chart.y, top, PLOT),
        *layers,
        x_axis(chart.x, top + PLOT),
        *_markers(chart, title_at + 12, top + PLOT),
        *hits,
    )


def _bars(series: Series, places: list[float], y: Axis, top: float) -> list[str]:
    bars = []
    for (left, right), share in zip(pairwise(places), series.shares, strict=True):
        height, gap = PLOT * y.place(share), 0.04 * (right - left)
        place = {"x": across(left + gap), "width": across(right - left - 2 * gap)}
        bars.append(tag("rect", y=top + PLOT - height, height=height, class_="lw-bar", **place))
    return bars


def _steps(series: Series, places: list[float], y: Axis, top: float, class_: str) -> list[str]:
    """Draw a stepped line: SVG knows no path whose points are in percent."""
    heights = [top + PLOT * (1 - y.place(share)) for share in (0.0, *series.shares, 0.0)]
    steps = [
        line(a, h, b, h, class_) for (a, b), h in zip(pairwise(places), heights[1:-1], strict=True) if h < top + PLOT
    ]
    risers = [line(x, a, x, b, class_) for x, (a, b) in zip(places, pairwise(heights), strict=True) if a != b]
    return steps + risers


def _markers(chart: Histogram, top: float, bottom: float) -> list[str]:
    drawn = []
    for row, (marker, is_left) in enumerate(lay_out(chart.markers, chart.x)):
        y, x = top + LINE * row + LINE / 2, chart.x.place(marker.value)
        number = chart.markers.index(marker)
        end = {True: marker.low, False: marker.high}[is_left]
        beyond = x if end is None else chart.x.place(end)
        words = text(
            marker.text,
            x=across(min(beyond, x) if is_left else max(beyond, x)),
            y=y + 4,
            dx=-10 if is_left else 10,
            text_anchor="end" if is_left else "start",
            class_="lw-name",
        )
        drawn += [
            line(x, y, x, bottom, f"lw-marker lw-marker-{number}"),
            whisker(chart.x, marker.value, marker.low, marker.high, y),
            (dot if number == 0 else diamond)(x, y, "lw-point"),
            words,
            spot(x, y, marker.tip),
        ]
    return drawn


def _draw_dots(chart: DotPlot) -> str:
    used = [(0, chart.filled, "filled"), (1, chart.hollow, "hollow")]
    has_starts = any(one.start is not None for one in chart.dots)
    occurring = {0, 1} if has_starts else {int(not one.is_filled) for one in chart.dots}
    shown = [key for key in used if key[0] in occurring]
    y = LINE * len(shown) + 10.0
    rows = []
    for one in chart.dots:
        height = 16 * len(one.lines) + 32.0
        rows.append(_row(chart.x, one, y, height))
        y += height
    ends = [
        text(words, x=across(i), y=y + 36, text_anchor=("start", "end")[i], class_="lw-title")
        for i, words in enumerate(chart.ends)
        if words
    ]
    below = x_axis(chart.x, y, title=False)
    return frame(
        "dots", y + (BELOW if ends else 28), chart.title, chart.description, keys(shown, 0), *rows, below, *ends
    )


def _row(axis: Axis, one: Dot, top: float, height: float) -> str:
    names = [text(words, x=0, y=top + 14 + 16 * i, class_="lw-name") for i, words in enumerate(one.lines)]
    shown = text(one.text, x="100%", y=top + 14, text_anchor="end", class_="lw-name lw-value")
    y, x = top + height - 18, axis.place(one.value)
    zero = line(axis.place(0), y - 8, axis.place(0), y + 8, "lw-zero")
    marks = [whisker(axis, one.value, one.low, one.high, y), dot(x, y, "lw-dot" if one.is_filled else "lw-ring")]
    before = ""
    if one.start is not None:
        start = axis.place(one.start)
        ring = tag("g", dot(start, y, "lw-ring"), class_="lw-series", data_series="1")
        before = line(start, y, x, y, "lw-move") + ring
    after = tag("g", *marks, class_="lw-series", data_series=str(int(not one.is_filled)))
    track = line(0, y, 1, y, "lw-grid")
    return tag("g", *names, shown, track, zero, before, after, hit(0, 1, top, height - 4, one.tip))


def _draw_reliability(chart: Reliability) -> str:
    top = 32.0
    bottom = top + SQUARE
    places = [(chart.x.place(point.x), top + SQUARE * (1 - chart.y.place(point.y))) for point in chart.points]
    steps = [line(*a, *b, "lw-line") for a, b in pairwise(places)]
    dots = [
        dot(x, y, "lw-dot", 2.5 + 3.5 * point.weight**0.5) for (x, y), point in zip(places, chart.points, strict=True)
    ]
    hits = [spot(x, y, point.tip) for (x, y), point in zip(places, chart.points, strict=True)]
    return frame(
        "square",
        bottom + BELOW,
        chart.title,
        chart.description,
        text(chart.y.title, x=LEFT, y=14, class_="lw-title"),
        y_axis(chart.y, top, SQUARE),
        line(0, bottom, 1, top, "lw-diagonal"),
        *steps,
        *dots,
        x_axis(chart.x, bottom),
        *hits,
    )
