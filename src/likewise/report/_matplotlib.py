"""Charts drawn with matplotlib, for notebooks; text of the data is never read as a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from likewise._checks import check_choice
from likewise._extras import require
from likewise.record import AuditRecord
from likewise.report import _charts as charts
from likewise.report._attribution import attribution_chart, certificate_chart
from likewise.report._charts import Axis, Chart, Marker
from likewise.report._text import as_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACCENT: Final = "#3d85c6"
FAINT: Final = 0.15
CHARTS: Final[dict[str, Callable[[AuditRecord], Chart | None]]] = {
    "directions": charts.direction_chart,
    "people": charts.person_chart,
    "scores": charts.score_chart,
    "calibration": charts.calibration_chart,
    "attribution": attribution_chart,
    "certificates": certificate_chart,
}


def plot_chart(
    record: AuditRecord | Mapping[str, Any], kind: str, ax: Axes | None = None, *, label: Any = None
) -> Axes:
    """Draw a chart of an audit with matplotlib.

    Nothing is computed here: every number is in the record.

    Parameters
    ----------
    record : AuditRecord or mapping
        What ``Audit.to_record`` or ``Audit.to_dict`` returns.
    kind : {"gaps", "directions", "people", "scores", "calibration", "attribution", "certificates"}
        Which chart.
    ax : matplotlib.axes.Axes, optional
        Where to draw; otherwise on a new figure.
    label : any, optional
        For gaps: only pairs with this label; otherwise all pairs.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from likewise import audit, load_dataset
    >>> from likewise.report import plot_chart
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> plot_chart(found.to_dict(), "gaps", Figure().subplots()).get_xlabel()
    'Gap between the two scores of a pair'
    """
    record = AuditRecord.of(record)
    check_choice("kind", kind, ("gaps", *CHARTS))
    chart = _choose_gaps(record, label) if kind == "gaps" else CHARTS[kind](record)
    if chart is None:
        raise ValueError(f"Nothing to draw: this audit, with task {record.task!r}, has no {kind}.")
    if ax is None:
        height = 1.4 + 0.42 * len(chart.dots) if isinstance(chart, charts.DotPlot) else 4.2
        pyplot = require("matplotlib.pyplot", "plots", "Drawing a chart")
        _, ax = pyplot.subplots(figsize=(7, height), layout="constrained")
    return draw_matplotlib(chart, ax)


def _choose_gaps(record: AuditRecord, label: Any) -> Chart | None:
    names = [None if one.of == "all" else one.label for one in record.distributions.slices if one.n]
    if label is not None and label not in names:
        known = ", ".join(repr(name) for name in names if name is not None) or "none"
        raise ValueError(f"No pair has the label {as_text(label)!r}; the labels of pairs are {known}.")
    return charts.gap_charts(record)[names.index(label)] if label in names else None


def draw_matplotlib(chart: Chart, axes: Axes) -> Axes:
    """Draw a chart on these axes and on no others."""
    if isinstance(chart, charts.Histogram):
        _draw_histogram(chart, axes)
    elif isinstance(chart, charts.DotPlot):
        _draw_dots(chart, axes)
    else:
        _draw_reliability(chart, axes)
    legend = axes.legend(
        frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0
    )
    for words in legend.get_texts():
        words.set_parse_math(False)
    axes.set_title(chart.title, loc="left", pad=24, parse_math=False)  # above the legend
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes


def _draw_histogram(chart: charts.Histogram, axes: Axes) -> None:
    ink = axes.xaxis.label.get_color()
    widths = [high - low for low, high in pairwise(chart.edges)]
    first, *others = chart.series
    axes.bar(chart.edges[:-1], first.shares, widths, align="edge", color=ACCENT, alpha=0.85, label=first.counted)
    for one, style in zip(others, ("-", "--", ":") * len(others), strict=False):
        axes.stairs(one.shares, chart.edges, color=ink, linestyle=style, linewidth=1.5, label=one.counted)
    _set_axis(axes, chart.x, chart.y)
    rows = reversed(charts.place_markers(chart.markers, chart.x))  # upwards from the plot
    for row, (marker, is_left) in enumerate(rows):
        _mark(axes, marker, chart.y.high * (1.06 + 0.08 * row), chart.markers.index(marker), is_left, ink)
    axes.set_ylim(chart.y.low, chart.y.high * (1.04 + 0.08 * len(chart.markers)))
    axes.grid(axis="y", alpha=FAINT)
    axes.set_axisbelow(True)


def _mark(axes: Axes, marker: Marker, y: float, number: int, is_left: bool, ink: Any) -> None:
    axes.vlines(marker.value, 0, y, color=ink, linewidth=1, linestyle=("-", "--", ":")[number % 3])
    _interval(axes, marker.value, marker.low, marker.high, y, ink)
    axes.plot([marker.value], [y], marker=("o", "D", "s")[number % 3], color=ink, markersize=5, linestyle="")
    ends = [end for end in (marker.value, marker.low, marker.high) if end is not None]
    at, beside, side = ((min(ends), y), (-8, 0), "right") if is_left else ((max(ends), y), (8, 0), "left")
    looks: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": "small", "parse_math": False}
    axes.annotate(marker.text, at, beside, ha=side, **looks)


def _interval(axes: Axes, value: float, low: float | None, high: float | None, y: float, ink: Any) -> None:
    if low is None and high is None:
        return
    axes.hlines(y, value if low is None else low, value if high is None else high, color=ink, linewidth=1.5)
    ends = [end for end in (low, high) if end is not None]
    axes.plot(ends, [y] * len(ends), marker="|", color=ink, linestyle="", markersize=7)


def _draw_dots(chart: charts.DotPlot, axes: Axes) -> None:
    ink = axes.xaxis.label.get_color()
    rows = range(len(chart.dots))
    named = {True: chart.filled, False: chart.hollow}
    axes.axvline(0, color=ink, linewidth=1, alpha=0.7)
    for y, one in zip(rows, chart.dots, strict=True):
        _interval(axes, one.value, one.low, one.high, y, ink)
        if one.is_bar:
            axes.hlines(y, 0, one.value, color=ACCENT, linewidth=3, alpha=0.45)
        if one.start is not None:
            axes.hlines(y, one.start, one.value, color=ACCENT, linewidth=3, alpha=0.45)
            _dot(axes, one.start, y, False, ink, named.pop(False, None))
        _dot(axes, one.value, y, one.is_filled, ink, named.pop(one.is_filled, None))
    axes.set_yticks(list(rows), labels=["\n".join(one.lines) for one in chart.dots], fontsize="small", parse_math=False)
    axes.set_ylim(len(chart.dots) - 0.5, -0.5)  # the first row on top
    axes.set_xlim(chart.x.low, chart.x.high)
    axes.set_xticks([tick.at for tick in chart.x.ticks], labels=[tick.text for tick in chart.x.ticks])
    left, right = chart.ends
    axes.set_xlabel(f"{left}   |   {right}" if left else chart.x.title, parse_math=False)
    axes.grid(axis="y", alpha=FAINT)
    axes.set_axisbelow(True)


def _dot(axes: Axes, x: float, y: float, is_filled: bool, ink: Any, label: str | None) -> None:
    looks: dict[str, Any] = (
        {"color": ACCENT} if is_filled else {"markerfacecolor": axes.get_facecolor(), "markeredgecolor": ink}
    )
    axes.plot([x], [y], marker="o", markersize=7, linestyle="", label=label, zorder=3, **looks)


def _draw_reliability(chart: charts.Reliability, axes: Axes) -> None:
    ink = axes.xaxis.label.get_color()
    xs, ys = [point.x for point in chart.points], [point.y for point in chart.points]
    axes.plot([0, 1], [0, 1], color=ink, linestyle="--", linewidth=1, alpha=0.6, label="Perfect calibration")
    axes.plot(xs, ys, color=ACCENT, linewidth=1.5)
    sizes = [20 + 80 * point.weight for point in chart.points]
    axes.scatter(xs, ys, sizes, color=ACCENT, zorder=3, clip_on=False, label="Bins of people")
    _set_axis(axes, chart.x, chart.y)
    axes.set_ylim(chart.y.low, chart.y.high)
    axes.set_aspect("equal")
    axes.grid(axis="y", alpha=FAINT)


def _set_axis(axes: Axes, x: Axis, y: Axis) -> None:
    axes.set_xlabel(x.title)
    axes.set_ylabel(y.title)
    axes.set_xlim(x.low, x.high)
    axes.set_xticks([tick.at for tick in x.ticks], labels=[tick.text for tick in x.ticks])
    axes.set_yticks([tick.at for tick in y.ticks], labels=[tick.text for tick in y.ticks])
