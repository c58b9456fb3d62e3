"""The results of a search: a table in Markdown, a chart, and warnings about the chosen model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from likewise._extras import require
from likewise._format import count_of
from likewise._warnings import warn
from likewise.auditing import Measure
from likewise.exceptions import GainUncertain, NothingWithinBudget, ScoresSqueezed
from likewise.frontier._criteria import Criteria
from likewise.frontier._points import FEW_PAIRS, FrontierPoint, SelectionIntervals, count_pairs, measure_of
from likewise.record._internal import EXCESS_OF, in_words, show_limit, show_value, split_key, title_of, with_part

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = {True: "#555555", False: "#3d85c6"}  # the base, the candidates
EXCESS: Final = 5  # its column in the table
LINE: Final = "#a9c7e4"
BESIDE: Final = (11, 6)  # offset of a name from its dot, in points


def write_summary(
    points: Sequence[FrontierPoint], best: FrontierPoint, utility: str, selection: SelectionIntervals
) -> str:
    """Return a Markdown table with a row per point; below it, the sample sizes and notes on the chosen one."""
    head = ["", "model", title_of(utility), "loss", "unfairness", "excess", "gain", ""]
    rows = [head, *(_row(point, point is best, utility) for point in points)]
    if not any(row[EXCESS] for row in rows[1:]):
        rows = [row[:EXCESS] + row[EXCESS + 1 :] for row in rows]
    widths = [max(3, *(len(row[column]) for row in rows)) for column in range(len(rows[0]))]
    rows.insert(1, ["-" * width for width in widths])
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    told = [*show_selection(best, utility, selection), *_show_price(points, best, utility)]
    notes = [*_measured_on(best), *told, *best.notes]
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
        "" if point.is_base else loss.show(utility, 3),
        show_value(measure, point.unfairness.value, points=has_points(point)),
        _show_excess(point, measure),
        "" if point.is_base else gain.show(measure, points=has_points(point)),
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
    names = [with_part(name, EXCESS_OF[split_key(name)[0]]) for name in point.parts if split_key(name)[0] in EXCESS_OF]
    found = [point.audit.measures[name].value for name in names if name in point.audit.measures]
    known = [value for value in found if value is not None]
    is_whole = bool(known) and len(known) == len(point.parts)
    return show_value(measure, float(np.mean(known)), points=has_points(point)) if is_whole else ""


def has_points(point: FrontierPoint) -> bool:
    """Whether gaps are between probabilities."""
    return point.audit is not None and point.audit.record.in_points


def _measured_on(point: FrontierPoint) -> Iterator[str]:
    """Yield what the numbers were measured on, and what they are."""
    if point.audit is None:
        return
    n_rows = len(point.audit.question.table)
    pairs = count_of(count_pairs(point), "comparable pair")
    names = " and ".join(map(in_words, point.parts))
    of_what = f"Unfairness: {'the average of ' * (len(point.parts) > 1)}{names}. Loss and gain: against the base."
    excess = " Excess: over same-group pairs (baseline)." if _show_excess(point, measure_of(point)) else ""
    yield f"Measured on {count_of(n_rows, 'held-out row')}, {pairs}.\n{of_what}{excess}"


def show_selection(best: FrontierPoint, utility: str, selection: SelectionIntervals) -> Iterator[str]:
    """Yield the intervals of the chosen model that allow for its choice, if there are any."""
    gain, loss = selection.gain, selection.loss
    if best.is_base or (gain.low is None and loss.low is None):
        return
    shown = [
        f"gain {gain.show(measure_of(best), points=has_points(best))}",
        f"loss {loss.show(utility, 3)}",
    ]
    n = count_of(selection.n_candidates, "candidate")
    yield f"Intervals that allow for the choice among {n}: {', '.join(shown)}."


def _show_price(points: Sequence[FrontierPoint], best: FrontierPoint, utility: str) -> Iterator[str]:
    """Yield what the chosen model's probabilities cost, where the budget is on another performance."""
    base = next(one for one in points if one.is_base)
    found = [one.audit.measures.get("log_loss") for one in (base, best) if one.audit is not None]
    old, new = (one.value if one is not None else None for one in found) if len(found) == 2 else (None, None)
    if best.is_base or utility == "log_loss" or old is None or new is None or new <= old:
        return
    yield (
        f"Log loss rises from {show_value('log_loss', old, 3)} to {show_value('log_loss', new, 3)}: the budget is on "
        f"{title_of(utility)} alone, and among models within it the least unfair is chosen, whatever its probabilities "
        'cost. Where they matter, search with utility="log_loss".'
    )


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
    parts = " and ".join(dict.fromkeys(title_of(split_key(name)[0]) for name in best.parts))
    ax.set(ylim=(0, None), xlabel=f"Loss of {title_of(utility)}", ylabel=parts)
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
    found = gain.show(measure_of(best), points=has_points(best))
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
