"""Charts as SVG for a page: no colours, ids or scripts; every text escaped, widths in percent, styled by charts.css."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import pairwise
from typing import Final

from likewise.report import _charts as charts
from likewise.report._charts import LEFT, LETTER, Axis, Chart
from likewise.report._text import isolate

PLOT: Final = 168.0
SQUARE: Final = 260.0
BELOW: Final = 46.0  # ticks and title of the axis
LINE: Final = 24  # pixels of a line of text that may be clicked


def draw_svg(chart: Chart) -> str:
    """Return a chart as SVG; the same chart gives the same text."""
    if isinstance(chart, charts.Histogram):
        return _draw_histogram(chart)
    return _draw_reliability(chart) if isinstance(chart, charts.Reliability) else _draw_dots(chart)


def _draw_histogram(chart: charts.Histogram) -> str:
    legend = keys(
        [(i, one.counted, "bar" if i == 0 else f"lw-step lw-step-{i}") for i, one in enumerate(chart.series)], 0, LEFT
    )
    title_at = LINE * len(chart.series) + 20
    top = title_at + 12 + LINE * len(chart.markers)
    places = [chart.x.place(edge) for edge in chart.edges]
    first, *others = chart.series
    drawn = [_bars(first, places, chart.y, top)]
    drawn += [_steps(one, places, chart.y, top, f"lw-step lw-step-{i}") for i, one in enumerate(others, 1)]
    layers = [tag("g", *marks, class_="lw-series", data_series=str(i)) for i, marks in enumerate(drawn)]
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


def _bars(series: charts.Series, places: list[float], y: Axis, top: float) -> list[str]:
    bars = []
    for (left, right), share in zip(pairwise(places), series.shares, strict=True):
        height, gap = PLOT * y.place(share), 0.04 * (right - left)
        place = {"x": across(left + gap), "width": across(right - left - 2 * gap)}
        bars.append(tag("rect", y=top + PLOT - height, height=height, class_="lw-bar", **place))
    return bars


def _steps(series: charts.Series, places: list[float], y: Axis, top: float, class_: str) -> list[str]:
    """Return a stepped line, in pieces: SVG has no path with points in percent."""
    heights = [top + PLOT * (1 - y.place(share)) for share in (0.0, *series.shares, 0.0)]
    steps = [
        line(a, h, b, h, class_) for (a, b), h in zip(pairwise(places), heights[1:-1], strict=True) if h < top + PLOT
    ]
    risers = [line(x, a, x, b, class_) for x, (a, b) in zip(places, pairwise(heights), strict=True) if a != b]
    return steps + risers


def _markers(chart: charts.Histogram, top: float, bottom: float) -> list[str]:
    drawn = []
    for row, (marker, is_left) in enumerate(charts.place_markers(chart.markers, chart.x)):
        y, x = top + LINE * row + LINE / 2, chart.x.place(marker.value)
        number = chart.markers.index(marker)
        end = {True: marker.low, False: marker.high}[is_left]
        beyond = x if end is None else chart.x.place(end)
        at = across(min(beyond, x) if is_left else max(beyond, x))
        shift, anchor = (-10, "end") if is_left else (10, "start")
        words = text(marker.text, x=at, y=y + 4, dx=shift, text_anchor=anchor, class_="lw-name")
        drawn += [
            line(x, y, x, bottom, f"lw-marker lw-marker-{number}"),
            whisker(chart.x, marker.value, marker.low, marker.high, y),
            (dot if number == 0 else diamond)(x, y, "lw-point"),
            words,
            spot(x, y, marker.tip),
        ]
    return drawn


def _draw_dots(chart: charts.DotPlot) -> str:
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


def _row(axis: Axis, one: charts.Dot, top: float, height: float) -> str:
    names = [text(words, x=0, y=top + 14 + 16 * i, class_="lw-name") for i, words in enumerate(one.lines)]
    shown = text(one.text, x="100%", y=top + 14, text_anchor="end", class_="lw-name lw-value")
    y, x = top + height - 18, axis.place(one.value)
    zero = line(axis.place(0), y - 8, axis.place(0), y + 8, "lw-zero")
    marks = [whisker(axis, one.value, one.low, one.high, y), dot(x, y, "lw-dot" if one.is_filled else "lw-ring")]
    before = line(axis.place(0), y, x, y, "lw-move") if one.is_bar else ""
    if one.start is not None:
        start = axis.place(one.start)
        ring = tag("g", dot(start, y, "lw-ring"), class_="lw-series", data_series="1")
        before = line(start, y, x, y, "lw-move") + ring
    after = tag("g", *marks, class_="lw-series", data_series=str(int(not one.is_filled)))
    track = line(0, y, 1, y, "lw-grid")
    return tag("g", *names, shown, track, zero, before, after, hit(0, 1, top, height - 4, one.tip))


def _draw_reliability(chart: charts.Reliability) -> str:
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


def tag(name: str, *inner: str, **attributes: str | float) -> str:
    """Return an element; ``class_`` and ``data_tip`` stand for names that Python does not allow."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_safe(_plain(value))}"' for key, value in attributes.items()
    )
    return f"<{name}{written}>{''.join(inner)}</{name}>" if inner else f"<{name}{written}/>"


def text(words: str, **attributes: str | float) -> str:
    """Return an escaped text."""
    return tag("text", _safe(words), **attributes)


def _safe(words: str) -> str:
    return escape(isolate(words))


def across(share: float) -> str:
    """Format a position or a width in percent of the chart."""
    return f"{_plain(100 * share)}%"


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:z.2f}".rstrip("0").rstrip(".")


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """Return a line; x in shares of the chart, y in pixels."""
    return tag("line", x1=across(x1), y1=y1, x2=across(x2), y2=y2, class_=class_)


def hit(x: float, width: float, y: float, height: float, tip: str) -> str:
    """Return an invisible area over a mark, easy to hit, with a tooltip; its title shows without a script."""
    place: dict[str, str | float] = {"x": across(x), "y": y, "width": across(width), "height": height}
    return tag("rect", tag("title", _safe(tip)), class_="lw-hit", fill="none", data_tip=tip, **place)


def spot(x: float, y: float, tip: str) -> str:
    """Return an invisible area over a small mark."""
    return tag(
        "circle", tag("title", _safe(tip)), cx=across(x), cy=y, r=LINE / 2, class_="lw-hit", fill="none", data_tip=tip
    )


def dot(x: float, y: float, class_: str, radius: float = 4.5) -> str:
    """Return a round mark."""
    return tag("circle", cx=across(x), cy=y, r=radius, class_=class_)


def diamond(x: float, y: float, class_: str) -> str:
    """Return a diamond, to tell it from a round mark."""
    return tag("svg", tag("path", d="M0-5.5L5.5 0L0 5.5L-5.5 0Z", class_=class_), x=across(x), y=y, overflow="visible")


def whisker(axis: Axis, value: float, low: float | None, high: float | None, y: float) -> str:
    """Return an interval; an unknown end, or one beyond the axis, has no cap."""
    if low is None and high is None:
        return ""
    left, right = (axis.place(value if end is None else end) for end in (low, high))
    caps = [axis.place(end) for end in (low, high) if end is not None and axis.low <= end <= axis.high]
    return line(left, y, right, y, "lw-whisker") + "".join(line(at, y - 4, at, y + 4, "lw-whisker") for at in caps)


def keys(names: Iterable[tuple[int, str, str]], y: float, left: float = 0.0) -> str:
    """Return the legend, one line per series: its number, its name, the class of its swatch."""
    written = []
    for row, (number, name, swatch) in enumerate(names):
        middle = y + LINE * row + LINE / 2
        sample = {
            "bar": tag("rect", x=left, y=middle - 5, width=14, height=10, class_="lw-bar"),
            "filled": tag("circle", cx=left + 7, cy=middle, r=4.5, class_="lw-dot"),
            "hollow": tag("circle", cx=left + 7, cy=middle, r=4.5, class_="lw-ring"),
        }.get(swatch) or tag("line", x1=left, y1=middle, x2=left + 14, y2=middle, class_=swatch)
        area = tag("rect", x=left - 2, y=middle - 12, width=26 + LETTER * len(name), height=LINE, class_="lw-area")
        words = text(name, x=left + 22, y=middle + 4, class_="lw-name")
        written.append(tag("g", area, sample, words, class_="lw-key", data_series=str(number), data_name=name))
    return "".join(written)


def x_axis(axis: Axis, y: float, *, title: bool = True) -> str:
    """Return the axis below the plot."""
    ticks = [
        line(axis.place(tick.at), y, axis.place(tick.at), y + 4, "lw-rule")
        + text(tick.text, x=across(axis.place(tick.at)), y=y + 18, text_anchor="middle", class_="lw-tick")
        for tick in axis.ticks
    ]
    named = text(axis.title, x="50%", y=y + 38, text_anchor="middle", class_="lw-title") if title else ""
    return tag("g", line(0, y, 1, y, "lw-rule"), *ticks, named)


def y_axis(axis: Axis, top: float, height: float) -> str:
    """Return the axis left of the plot, with a faint line at each tick."""
    drawn = []
    for tick in axis.ticks:
        y = top + height * (1 - axis.place(tick.at))
        drawn += [line(0, y, 1, y, "lw-grid"), text(tick.text, x=-8, y=y + 4, text_anchor="end", class_="lw-tick")]
    return tag("g", *drawn)


def frame(kind: str, height: float, title: str, description: str, *inner: str) -> str:
    """Return a drawing as SVG with title and description."""
    heads = (tag("title", _safe(title)), tag("desc", _safe(description)))
    size: dict[str, str | float] = {"width": "100%", "height": height}
    named = {"xmlns": "http://www.w3.org/2000/svg", "class_": f"lw-chart lw-{kind}", "role": "img"}
    return tag("svg", *heads, *inner, **named, **size)
