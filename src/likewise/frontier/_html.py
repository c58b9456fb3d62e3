"""A fitted search in a notebook: the frontier as SVG, every model in a table, the choice in words; no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Final

import numpy as np

from likewise._format import show_interval, show_limit, show_value
from likewise.frontier._criteria import in_words
from likewise.frontier._point import FrontierPoint, measure_of
from likewise.frontier._selection import SelectionIntervals
from likewise.frontier._summary import has_points, measured_on, say_state, show_selection
from likewise.report._internal import card_style

WIDTH: Final = 640.0
HEIGHT: Final = 330.0
LEFT: Final = 64.0
RIGHT: Final = 14.0
TOP: Final = 34.0
BOTTOM: Final = 46.0
N_TICKS: Final = 4
RADIUS: Final = 4.5
RING: Final = 9.0
STYLE: Final = """
.lw-card.lw-card tbody th { min-width: 8rem; font-weight: 400; }
.lw-card.lw-card .lw-chosen td, .lw-card.lw-card .lw-chosen th { font-weight: 600; }
.lw-card.lw-card .lw-frontier { height: auto; padding: 0; margin: 0 0 16px; }
.lw-card.lw-card .lw-frontier .lw-base { fill: none; stroke: currentColor; stroke-width: 1.75; }
.lw-card.lw-card .lw-frontier .lw-over { fill: none; }
.lw-card.lw-card .lw-frontier .lw-reach { stroke: var(--lw-accent); stroke-opacity: 0.45; stroke-width: 1.5; }
.lw-card.lw-card .lw-frontier .lw-budget { stroke-dasharray: 5 4; stroke-opacity: 0.7; }
.lw-card.lw-card td.lw-state { min-width: 6rem; text-align: left; white-space: normal; }
"""


def show_search(
    points: Sequence[FrontierPoint],
    best: FrontierPoint,
    selection: SelectionIntervals,
    utility: str,
    max_loss: float,
) -> str:
    """Return the frontier as a fragment of HTML that needs nothing else and follows the theme of the page."""
    n = len(points) - 1
    said = [
        *(f"<p>{escape(words)}</p>" for words in show_selection(best, utility, selection)),
        *(f'<p class="lw-said">{escape(words)}</p>' for words in (*measured_on(best, with_excess=False), *best.notes)),
    ]
    parts = [
        f"<style>{card_style()}{STYLE}</style>",
        f"<p><strong>Search</strong> among {n:,} candidate{'s' * (n != 1)}: {escape(_say_choice(best, utility))}</p>",
        draw_frontier(points, best, utility, max_loss),
        _table(points, best, utility),
        *said,
    ]
    return f'<div class="lw-card">{"".join(parts)}</div>'


def _say_choice(best: FrontierPoint, utility: str) -> str:
    if best.is_base:
        return "the base was chosen, as no candidate within the budget is less unfair."
    points = has_points(best)
    gap = show_value(measure_of(best), best.unfairness.value, points=points)
    gain = show_value(measure_of(best), best.gain.value, points=points)
    loss = show_value(utility, best.loss.value, 3)
    return f"{best.name} was chosen. Its unfairness is {gap}, {gain} less than the base, at a loss of {loss}."


def _table(points: Sequence[FrontierPoint], best: FrontierPoint, utility: str) -> str:
    heads = ("model", in_words(utility), "loss", "unfairness", "gain", "")
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    rows = "".join(_row(number, one, one is best, utility) for number, one in enumerate(points))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _row(number: int, point: FrontierPoint, is_best: bool, utility: str) -> str:
    measure, points = measure_of(point), has_points(point)
    cells = [""] * 4
    if point.is_measured:
        loss, gain = point.loss, point.gain
        found = [
            (show_value(utility, point.utility.value), ""),
            (show_value(utility, loss.value, 3), show_interval(utility, loss.low, loss.high, 3)),
            (show_value(measure, point.unfairness.value, points=points), ""),
            (
                show_value(measure, gain.value, points=points),
                show_interval(measure, gain.low, gain.high, points=points),
            ),
        ]
        cells = [f"{escape(value)}{f'<small>{escape(ends)}</small>' if ends else ''}" for value, ends in found]
    if point.is_base:
        cells[1] = cells[3] = ""
    state = ", ".join([*(["chosen"] if is_best else []), *say_state(point)]) if point.is_measured else str(point.error)
    chosen = ' class="lw-chosen"' if is_best else ""
    shown = "".join(f"<td>{cell}</td>" for cell in cells)
    name = f'<th scope="row">{number}. {escape(point.name)}</th>'
    return f'<tr{chosen}>{name}{shown}<td class="lw-state">{escape(state)}</td></tr>'


def draw_frontier(points: Sequence[FrontierPoint], best: FrontierPoint, utility: str, max_loss: float) -> str:
    """Return loss against unfairness as SVG: rings for the base and the chosen model, a line along efficient ones."""
    known = [
        (number, one, 0.0 if one.is_base else float(one.loss.value or 0.0), float(one.unfairness.value))
        for number, one in enumerate(points)
        if one.unfairness.value is not None and (one.is_base or one.loss.value is not None)
    ]
    xs, ys = [x for *_, x, _ in known], [y for *_, y in known]
    low, high = min(0.0, *xs), max(0.0, max_loss if max_loss < 3 * max(xs, default=0.0) else 0.0, *xs)
    room = 0.06 * ((high - low) or 1e-3)
    x_axis, y_axis = (low - room, high + room), (0.0, 1.12 * max(*ys, 1e-9))

    def across(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - x_axis[0]) / (x_axis[1] - x_axis[0])

    def down(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - y_axis[0]) / (y_axis[1] - y_axis[0])

    measure, in_points = measure_of(best), has_points(best)
    drawn = [_line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "lw-zero")]
    for tick in _ticks(*y_axis):
        drawn.append(_line(LEFT, down(tick), WIDTH - RIGHT, down(tick), "lw-grid"))
        drawn.append(_text(show_value(measure, tick, points=in_points), LEFT - 8, down(tick) + 4, "end", "lw-tick"))
    drawn += [_text(f"{tick:.3g}", across(tick), HEIGHT - BOTTOM + 18, "middle", "lw-tick") for tick in _ticks(*x_axis)]
    if x_axis[0] <= max_loss <= x_axis[1]:
        drawn.append(_line(across(max_loss), TOP - 8, across(max_loss), HEIGHT - BOTTOM, "lw-budget"))
        drawn.append(_text("budget", across(max_loss) - 5, TOP, "end", "lw-tick"))
    path = sorted((across(x), down(y)) for _, one, x, y in known if one.is_efficient)
    drawn += [_line(*one, *two, "lw-reach") for one, two in pairwise(path)]
    for number, one, x, y in known:
        drawn += _mark(number, one, one is best, across(x), down(y))
    of = ", ".join(dict.fromkeys(in_words(name.partition(" ")[0]) for name in best.parts))
    drawn.append(_text(f"Unfairness: {of}", 0, 14, "start", "lw-title"))
    drawn.append(_text(f"Loss of {in_words(utility)}", WIDTH - RIGHT, HEIGHT - 6, "end", "lw-title"))
    told = "; ".join(f"{number}: {one.name}, loss {x:.3g}, unfairness {y:.3g}" for number, one, x, y in known)
    said = f"Chosen: {points.index(best)}. Budget: {show_limit(utility, max_loss)}. {told}."
    inside = (
        f"<title>Loss against unfairness of {len(known):,} models</title><desc>{escape(said)}</desc>{''.join(drawn)}"
    )
    size = f"{WIDTH:g} {HEIGHT:g}"
    return f'<svg class="lw-chart lw-frontier" viewBox="0 0 {size}" role="img">{inside}</svg>'


def _mark(number: int, point: FrontierPoint, is_best: bool, x: float, y: float) -> list[str]:
    """Return the mark of a model: a dot, open where it is beyond the budget, a square for the base, and its number."""
    tip = f"<title>{escape(f'{number}: {point.name}')}</title>"
    kind = "lw-dot" if point.is_within_budget else "lw-dot lw-over"
    place = f'cx="{x:.1f}" cy="{y:.1f}"'
    mark = f'<circle {place} r="{RADIUS}" class="{kind}">{tip}</circle>'
    if point.is_base:
        corner = f'x="{x - RADIUS:.1f}" y="{y - RADIUS:.1f}" width="{2 * RADIUS}" height="{2 * RADIUS}"'
        mark = f'<rect {corner} class="lw-base">{tip}</rect>'
    ring = [f'<circle {place} r="{RING}" class="lw-ring"/>'] if is_best else []
    words = f"{number}, chosen" if is_best else "base" if point.is_base else str(number)
    if is_best and x > WIDTH / 4:  # others are nearer to the budget, to its right
        return [mark, *ring, _text(words, x - RING, y - RING, "end", "lw-value")]
    return [mark, *ring, _text(words, x + RADIUS + 4, y - 6, "start", "lw-value" if is_best else "lw-tick")]


def _ticks(low: float, high: float) -> list[float]:
    """Return a few round numbers between two ends."""
    step = 10 ** np.floor(np.log10((high - low) / N_TICKS))
    step *= min((one for one in (1, 2, 5, 10) if (high - low) / (one * step) <= N_TICKS + 1), default=10)
    first = int(np.ceil(low / step - 1e-9))
    return [round(float(place * step), 12) for place in range(first, int(np.floor(high / step + 1e-9)) + 1)]


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{class_}"/>'


def _text(words: str, x: float, y: float, anchor: str, class_: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{class_}">{escape(words)}</text>'
