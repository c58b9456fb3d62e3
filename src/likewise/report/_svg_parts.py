"""Pieces of SVG: every text escaped, lengths across in percent, so that a chart is as wide as its page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from likewise.report._charts_layout import LETTER
from likewise.report._charts_parts import Axis
from likewise.report._escaping import isolate

LINE: Final = 24  # pixels of a line of text that may be clicked


def tag(name: str, *inner: str, **attributes: str | float) -> str:
    """Write an element; ``class_`` and ``data_tip`` stand for what Python cannot name."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_safe(_plain(value))}"' for key, value in attributes.items()
    )
    return f"<{name}{written}>{''.join(inner)}</{name}>" if inner else f"<{name}{written}/>"


def text(words: str, **attributes: str | float) -> str:
    """Write a text that stands for itself."""
    return tag("text", _safe(words), **attributes)


def _safe(words: str) -> str:
    return escape(isolate(words))


def across(share: float) -> str:
    """Write a place or a length across the chart."""
    return f"{_plain(100 * share)}%"


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:z.2f}".rstrip("0").rstrip(".")


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """Write a line; x in shares of the chart, y in pixels."""
    return tag("line", x1=across(x1), y1=y1, x2=across(x2), y2=y2, class_=class_)


def hit(x: float, width: float, y: float, height: float, tip: str) -> str:
    """Lay an unseen area over a mark: it carries the words, and is easy to hit; its title shows without a script."""
    place: dict[str, str | float] = {"x": across(x), "y": y, "width": across(width), "height": height}
    return tag("rect", tag("title", _safe(tip)), class_="lw-hit", fill="none", data_tip=tip, **place)


def spot(x: float, y: float, tip: str) -> str:
    """Lay an unseen area over a small mark."""
    return tag(
        "circle", tag("title", _safe(tip)), cx=across(x), cy=y, r=LINE / 2, class_="lw-hit", fill="none", data_tip=tip
    )


def dot(x: float, y: float, class_: str, radius: float = 4.5) -> str:
    """Write a round mark."""
    return tag("circle", cx=across(x), cy=y, r=radius, class_=class_)


def diamond(x: float, y: float, class_: str) -> str:
    """Write a mark whose shape differs from a round one."""
    return tag("svg", tag("path", d="M0-5.5L5.5 0L0 5.5L-5.5 0Z", class_=class_), x=across(x), y=y, overflow="visible")


def whisker(axis: Axis, value: float, low: float | None, high: float | None, y: float) -> str:
    """Draw an interval; an end that is not known, or beyond the axis, is left open."""
    if low is None and high is None:
        return ""
    left, right = (axis.place(value if end is None else end) for end in (low, high))
    caps = [axis.place(end) for end in (low, high) if end is not None and axis.low <= end <= axis.high]
    return line(left, y, right, y, "lw-whisker") + "".join(line(at, y - 4, at, y + 4, "lw-whisker") for at in caps)


def keys(names: Iterable[tuple[int, str, str]], y: float, left: float = 0.0) -> str:
    """Write the legend, one line a series: its number, its name, the class of its swatch."""
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
    """Write the axis below the plot."""
    ticks = [
        line(axis.place(tick.at), y, axis.place(tick.at), y + 4, "lw-rule")
        + text(tick.text, x=across(axis.place(tick.at)), y=y + 18, text_anchor="middle", class_="lw-tick")
        for tick in axis.ticks
    ]
    named = text(axis.title, x="50%", y=y + 38, text_anchor="middle", class_="lw-title") if title else ""
    return tag("g", line(0, y, 1, y, "lw-rule"), *ticks, named)


def y_axis(axis: Axis, top: float, height: float) -> str:
    """Write the axis left of the plot, with a faint line at each tick, and its title above."""
    drawn = []
    for tick in axis.ticks:
        y = top + height * (1 - axis.place(tick.at))
        drawn += [line(0, y, 1, y, "lw-grid"), text(tick.text, x=-8, y=y + 4, text_anchor="end", class_="lw-tick")]
    return tag("g", *drawn)


def frame(kind: str, height: float, title: str, description: str, *inner: str) -> str:
    """Put a drawing into an SVG that says what it shows."""
    heads = (tag("title", _safe(title)), tag("desc", _safe(description)))
    return tag(
        "svg",
        *heads,
        *inner,
        xmlns="http://www.w3.org/2000/svg",
        class_=f"lw-chart lw-{kind}",
        role="img",
        width="100%",
        height=height,
    )
