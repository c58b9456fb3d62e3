"""The results of a search: a table in Markdown, a chart, the choice in words, and warnings about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from likewise._extras import require
from likewise._format import count_of
from likewise._warnings import warn
from likewise.auditing import Measure
from likewise.exceptions import GainUncertain, NothingWithinBudget
from likewise.frontier._criteria import Criteria
from likewise.frontier._points import FrontierPoint
from likewise.record._internal import in_words, show_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = {True: "#555555", False: "#3d85c6"}  # the base, the candidates
LINE: Final = "#a9c7e4"
BESIDE: Final = (11, 6)  # offset of a name from its dot, in points


def write_summary(points: Sequence[FrontierPoint], best: FrontierPoint, criteria: Criteria) -> str:
    """Return a Markdown table with a row per point; below it, what it was measured on and notes on the chosen one."""
    names = list(points[0].gains)
    rows = [["", "model", in_words(criteria.utility), "loss", *map(in_words, names), ""]]
    rows += [_row(point, point is best, criteria, names) for point in points]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    notes = [_measured_on(points[0], criteria), choose_words(points, best, criteria), *best.notes]
    return "\n".join([*(f"| {line} |" for line in lines), *(f"\n{note}" for note in notes)])


def _row(point: FrontierPoint, is_best: bool, criteria: Criteria, names: Sequence[str]) -> list[str]:
    start = ["chosen" if is_best else "", _safe(point.name)]
    if point.error is not None:
        return [*start, *[""] * (2 + len(names)), _safe(point.error)]
    utility, loss = criteria.utility, point.loss
    return [
        *start,
        show_value(utility, point.measures[utility].value),
        "" if point.is_base else loss.show(utility, 3),
        *(show_value(name, point.measures[name].value, points=has_points(point)) for name in names),
        ", ".join(_state(point)),
    ]


def _state(point: FrontierPoint) -> Iterator[str]:
    said = {
        "collapsed": point.is_collapsed,
        "squeezed": bool(point.notes),
        "efficient": point.is_efficient,
        "over budget": not point.is_within_budget,
    }
    yield from (word for word, is_so in said.items() if is_so)


def has_points(point: FrontierPoint) -> bool:
    """Whether gaps are between probabilities."""
    return point.audit is not None and point.audit.record.in_points


def _measured_on(base: FrontierPoint, criteria: Criteria) -> str:
    """Return what the numbers were measured on."""
    if base.audit is None:
        return ""
    rows, pairs = count_of(base.loss.n, "row"), count_of(base.audit.record.pairs.n, "comparable pair")
    absent = [name for name in criteria.unfairness if name not in base.gains]
    why = f" No {in_words(absent[0])}: nobody has comparable people of the own and of other groups." if absent else ""
    return f"Measured on {rows} that were scored out of fold, {pairs}. Loss: against the base.{why}"


def _safe(text: str) -> str:
    return text.replace("|", "\\|")  # a bare | would end the cell


def plot_points(points: Sequence[FrontierPoint], best: FrontierPoint, criteria: Criteria, ax: Axes | None) -> Axes:
    """Draw every measured model; a ring marks the chosen one, a dashed line the budget."""
    if ax is None:
        pyplot = require("matplotlib.pyplot", "plots", "Drawing a chart")
        _, ax = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for point in points:
        y, x = point.unfairness.value, point.loss.value
        if x is None or y is None:
            continue
        ax.hlines(y, *_ends(point.loss, x), color=LINE)
        ax.vlines(x, *_ends(point.unfairness, y), color=LINE)
        ax.plot(x, y, "s" if point.is_base else "o", color=COLOURS[point.is_base])
        if point is best:
            ax.plot(x, y, "o", markersize=15, color="black", fillstyle="none")
        ax.annotate(point.name, (x, y), BESIDE, textcoords="offset points", parse_math=False)
    ax.axvline(criteria.max_loss, color="black", linestyle="--", linewidth=1)
    ax.annotate("budget", (criteria.max_loss, 0), (-4, 4), textcoords="offset points", ha="right")
    ax.set(xlabel=f"Loss of {in_words(criteria.utility)}", ylabel=in_words(next(iter(points[0].gains))))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _ends(measure: Measure, value: float) -> tuple[float, float]:
    return (value if measure.low is None else measure.low), (value if measure.high is None else measure.high)


def describe_choice(points: Sequence[FrontierPoint], best: FrontierPoint, criteria: Criteria) -> dict[str, Any]:
    """Return which model was chosen and why, as plain data for the log."""
    numbered = list(enumerate(points))
    return {
        "chosen": points.index(best),
        "name": best.name,
        "reason": choose_words(points, best, criteria),
        "within_budget": [number for number, one in numbered if one.is_within_budget],
        "efficient": [number for number, one in numbered if one.is_efficient],
        "collapsed": [number for number, one in numbered if one.is_collapsed],
        "failed": [number for number, one in numbered if one.error is not None],
    }


def choose_words(points: Sequence[FrontierPoint], best: FrontierPoint, criteria: Criteria) -> str:
    """Return why a model was chosen."""
    if not best.is_base:
        order = " and then of ".join(in_words(name) for name in points[0].gains)
        surely = "surely " if criteria.cautious else ""
        return (
            f"Chosen: the least of {order} among the models that {surely}lose at most {criteria.budget}, each "
            "difference as far as it exceeds one standard error."
        )
    usable = [point for point in points if not point.is_base and point.error is None and not point.is_collapsed]
    if not usable:
        return (
            "Every candidate failed or gives all people nearly the same score, so the base was chosen. Try milder "
            "values; frontier_ lists the result of each."
        )
    if any(point.is_within_budget for point in usable):
        return (
            f"No candidate that loses at most {criteria.budget} is less unfair than the base by more than one standard "
            "error, so the base was chosen. Try other values, or a larger max_loss."
        )
    nearest = min(usable, key=lambda point: point.loss.value or 0.0)
    return (
        f"No candidate loses at most {criteria.budget}, so the base was chosen. The nearest, {nearest.name}, loses "
        f"{nearest.loss.value:.4g}. Allow a larger max_loss, or try milder values."
    )


def warn_of_choice(best: FrontierPoint, points: Sequence[FrontierPoint], criteria: Criteria) -> None:
    """Warn if the base was chosen, or if the gain may be chance."""
    if best.is_base:
        warn(choose_words(points, best, criteria), NothingWithinBudget)
        return
    gains = [gain for gain in best.gains.values() if gain.low is not None]
    if gains and all(gain.low is not None and gain.low <= 0 for gain in gains):
        name, gain = next((name, gain) for name, gain in best.gains.items() if gain.low is not None)
        shown = gain.show(name, points=has_points(best))
        warn(f"{best.name} reduces the {in_words(name)} by {shown}, which may be due to chance.", GainUncertain)
