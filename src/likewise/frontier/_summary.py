"""The results of a search: tables in Markdown and HTML, a chart, and warnings about the chosen model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from likewise._extras import require
from likewise._format import count_of, show_found, show_interval, show_limit, show_value
from likewise._warnings import warn
from likewise.auditing import Measure
from likewise.exceptions import GainUncertain, NothingWithinBudget, ScoresSqueezed
from likewise.frontier._criteria import Criteria, in_words
from likewise.frontier._points import FEW_PAIRS, FrontierPoint, SelectionIntervals, count_pairs, measure_of
from likewise.record._internal import slice_of
from likewise.report._internal import card_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = {True: "#555555", False: "#3d85c6"}  # the base, the candidates
EXCESS: Final = 5  # its column in the table
LINE: Final = "#a9c7e4"
BESIDE: Final = (11, 6)  # offset of a name from its dot, in points
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


def write_summary(
    points: Sequence[FrontierPoint], best: FrontierPoint, utility: str, selection: SelectionIntervals
) -> str:
    """Return a Markdown table with a row per point; below it, the sample sizes and notes on the chosen one."""
    head = ["", "model", in_words(utility), "loss", "unfairness", "excess", "gain", ""]
    rows = [head, *(_row(point, point is best, utility) for point in points)]
    if not any(row[EXCESS] for row in rows[1:]):
        rows = [row[:EXCESS] + row[EXCESS + 1 :] for row in rows]
    widths = [max(3, *(len(row[column]) for row in rows)) for column in range(len(rows[0]))]
    rows.insert(1, ["-" * width for width in widths])
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    notes = [*measured_on(best), *show_selection(best, utility, selection), *best.notes]
    return "\n".join([*(f"| {line} |" for line in lines), *(f"\n{note}" for note in notes)])


def _row(point: FrontierPoint, is_best: bool, utility: str) -> list[str]:
    mark = "chosen" if is_best else ""
    if point.error is not None:
        return [mark, _safe(point.name), "", "", "", "", "", _safe(point.error)]
    measure = measure_of(point)
    loss, gain = point.loss, point.gain
    return [
        mark,
        _safe(point.name),
        show_value(utility, point.utility.value),
        "" if point.is_base else show_found(utility, loss.value, loss.low, loss.high, 3),
        show_value(measure, point.unfairness.value, points=has_points(point)),
        _show_excess(point, measure),
        "" if point.is_base else show_found(measure, gain.value, gain.low, gain.high, points=has_points(point)),
        ", ".join(say_state(point)),
    ]


def say_state(point: FrontierPoint) -> list[str]:
    """Return what is to be said of a measured model beside its numbers, in a few words."""
    return [
        *(["collapsed"] if point.is_collapsed else []),
        *(["squeezed"] if point.is_squeezed else []),
        *([point.refused] if point.refused else []),
        *(["efficient"] if point.is_efficient else []),
        *([] if point.is_within_budget else ["over budget"]),
    ]


def _show_excess(point: FrontierPoint, measure: str) -> str:
    """Return the unfairness in excess of same-group pairs, where the audit measured all parts of it."""
    if point.audit is None:
        return ""
    names = [f"{slice_of(name)}excess_{name.removeprefix(slice_of(name))}" for name in point.parts]
    found = [point.audit.measures[name].value for name in names if name in point.audit.measures]
    known = [value for value in found if value is not None]
    is_whole = bool(known) and len(known) == len(point.parts)
    return show_value(measure, float(np.mean(known)), points=has_points(point)) if is_whole else ""


def has_points(point: FrontierPoint) -> bool:
    """Whether gaps are between probabilities."""
    return point.audit is not None and point.audit.record.in_points


def measured_on(point: FrontierPoint, *, with_excess: bool = True) -> Iterator[str]:
    """Yield what the numbers were measured on, and what they are."""
    if point.audit is None:
        return
    n_rows = len(point.audit.question.table)
    pairs = count_of(count_pairs(point), "comparable pair")
    names = " and ".join(map(in_words, point.parts))
    of_what = f"Unfairness: {'the average of ' * (len(point.parts) > 1)}{names}. Loss and gain: against the base."
    excess = (
        " Excess: over same-group pairs (baseline)." if with_excess and _show_excess(point, measure_of(point)) else ""
    )
    yield f"Measured on {count_of(n_rows, 'held-out row')}, {pairs}.\n{of_what}{excess}"


def show_selection(best: FrontierPoint, utility: str, selection: SelectionIntervals) -> Iterator[str]:
    """Yield the intervals of the chosen model that allow for its choice, if there are any."""
    gain, loss = selection.gain, selection.loss
    if best.is_base or (gain.low is None and loss.low is None):
        return
    shown = [
        f"gain {show_found(measure_of(best), gain.value, gain.low, gain.high, points=has_points(best))}",
        f"loss {show_found(utility, loss.value, loss.low, loss.high, 3)}",
    ]
    n = count_of(selection.n_candidates, "candidate")
    yield f"Intervals that allow for the choice among {n}: {', '.join(shown)}."


def _safe(text: str) -> str:
    return text.replace("|", "\\|")  # a bare | would end the cell


def plot_points(
    points: Sequence[FrontierPoint], best: FrontierPoint, utility: str, max_loss: float, ax: Axes | None
) -> Axes:
    """Draw every measured model; a ring marks the chosen one, a dashed line the budget."""
    if ax is None:
        pyplot = require("matplotlib.pyplot", "plots", "Drawing a chart")
        _, ax = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for point in points:
        y, x = point.unfairness.value, 0.0 if point.is_base else point.loss.value
        if x is None or y is None:
            continue
        ax.hlines(y, *_ends(point.loss, x), color=LINE)
        ax.vlines(x, *_ends(point.unfairness, y), color=LINE)
        ax.plot(x, y, "s" if point.is_base else "o", color=COLOURS[point.is_base])
        if point is best:
            ax.plot(x, y, "o", markersize=15, color="black", fillstyle="none")
        ax.annotate(point.name, (x, y), BESIDE, textcoords="offset points", parse_math=False)
    ax.axvline(max_loss, color="black", linestyle="--", linewidth=1)
    ax.annotate("budget", (max_loss, 0), (-4, 4), textcoords="offset points", ha="right")
    parts = " and ".join(dict.fromkeys(in_words(name.partition(" ")[0]) for name in best.parts))
    ax.set(ylim=(0, None), xlabel=f"Loss of {in_words(utility)}", ylabel=parts)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _ends(measure: Measure, value: float) -> tuple[float, float]:
    return (value if measure.low is None else measure.low), (value if measure.high is None else measure.high)


def describe_choice(
    points: Sequence[FrontierPoint], best: FrontierPoint, selection: SelectionIntervals, criteria: Criteria
) -> dict[str, Any]:
    """Return which model was chosen and why, as plain data for the log."""
    numbered = list(enumerate(points))
    return {
        "chosen": points.index(best),
        "name": best.name,
        "reason": _why_base(points, criteria) if best.is_base else _why_chosen(best, criteria),
        "within_budget": [number for number, one in numbered if one.is_within_budget],
        "efficient": [number for number, one in numbered if one.is_efficient],
        "refused": {str(number): one.refused for number, one in numbered if one.refused},
        "collapsed": [number for number, one in numbered if one.is_collapsed],
        "failed": [number for number, one in numbered if one.error is not None],
        "allowing_for_selection": selection.to_dict(),
    }


def _why_chosen(best: FrontierPoint, criteria: Criteria) -> str:
    budget = f"{show_limit(criteria.utility, criteria.max_loss)} of {in_words(criteria.utility)}"
    surely = "surely " if criteria.cautious else ""
    return f"The least unfair of the models that {surely}lose at most {budget} and are less unfair than the base."


def warn_of_choice(
    best: FrontierPoint, points: Sequence[FrontierPoint], criteria: Criteria, selection: SelectionIntervals
) -> None:
    """Warn if the base was chosen, if the gain may be chance, and if it comes from compressed scores."""
    if best.is_base:
        warn(_why_base(points, criteria), NothingWithinBudget)
        return
    has_intervals = best.loss.low is not None or best.gain.low is not None
    gain = selection.gain
    if has_intervals and (gain.low is None or gain.low <= 0):  # too few people count for an interval, or it has 0
        warn(_why_uncertain(best, gain), GainUncertain)
    if best.is_squeezed and criteria.rewards_squeezing:
        warn(_why_squeezed(best, criteria), ScoresSqueezed)


def _why_uncertain(best: FrontierPoint, gain: Measure) -> str:
    found = show_found(measure_of(best), gain.value, gain.low, gain.high, points=has_points(best))
    return (
        f"{best.name} is less unfair than the base by {found}, on {count_of(count_pairs(best), 'pair')}: the gain may "
        "be due to chance. Use more rows or a larger validation_fraction; base_estimator_ may be just as fair."
    )


def _why_squeezed(best: FrontierPoint, criteria: Criteria) -> str:
    return (
        f"{best.name} is the least unfair within the budget, but partly because its scores are closer together. "
        f"{' '.join(best.notes)} This costs hardly any {in_words(criteria.utility)}. Search with "
        'utility="log_loss", which penalises it, or with unfairness="rank_gap_mean", which it does not reduce.'
    )


def _why_refused(refused: Sequence[FrontierPoint]) -> str:
    """Return why candidates within the budget were not chosen either."""
    few = next((point for point in refused if point.refused == FEW_PAIRS), None)
    if few is None:
        return (
            "Every candidate within the budget has a log loss above that of giving everybody the shares of the labels, "
            "so the base was chosen. Train with less weight, or stop earlier."
        )
    counts = " and ".join(f"{part.n:,} for {in_words(name)}" for name, part in few.parts.items())
    return (
        f"The held-out rows have too few pairs to choose by ({counts}), and no gain is clear, so the base was chosen: "
        "a choice might make things worse. Use more rows, or a larger validation_fraction."
    )


def _why_base(points: Sequence[FrontierPoint], criteria: Criteria) -> str:
    """Return why no candidate was chosen, and what to do."""
    budget = f"{show_limit(criteria.utility, criteria.max_loss)} of {in_words(criteria.utility)}"
    usable = [point for point in points if not point.is_base and point.is_measured and not point.is_collapsed]
    refused = [point for point in usable if point.refused and point.is_within_budget]
    if refused and not any(point.is_within_budget for point in usable if not point.refused):
        return _why_refused(refused)
    if any(point.is_within_budget for point in usable):
        return (
            f"No candidate that loses at most {budget} is less unfair than the base, so the base was chosen. Try "
            "other values, or a larger max_loss."
        )
    if not usable:
        return (
            "Every candidate failed or gives all people nearly the same score, so the base was chosen. Try milder "
            "values; frontier_ lists the result of each."
        )
    nearest = min(usable, key=lambda point: np.inf if point.loss.value is None else point.loss.value)
    surely = " surely" if criteria.cautious else ""
    return (
        f"No candidate{surely} loses at most {budget}, so the base was chosen. The nearest, {nearest.name}, loses "
        f"{nearest.loss.value:.4g}. Allow a larger max_loss, or try milder values."
    )


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
    rows = "".join(_html_row(number, one, one is best, utility) for number, one in enumerate(points))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _html_row(number: int, point: FrontierPoint, is_best: bool, utility: str) -> str:
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
