"""The points of a search as a table in plain text, which Markdown shows as one."""

from __future__ import annotations

from collections.abc import Sequence

from likewise._wording import show_found, show_value
from likewise.frontier._point import FrontierPoint


def write_summary(points: Sequence[FrontierPoint], best: FrontierPoint, utility: str) -> str:
    """Write a row for each point, and below it what the numbers do not say of the chosen one."""
    head = ["", "model", utility, "loss", "unfairness", "seconds", ""]
    rows = [head, *(_row(point, point is best, utility) for point in points)]
    widths = [max(3, *(len(row[column]) for row in rows)) for column in range(len(head))]
    rows.insert(1, ["-" * width for width in widths])
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([*(f"| {line} |" for line in lines), *(f"\n{note}" for note in best.notes)])


def _row(point: FrontierPoint, is_best: bool, utility: str) -> list[str]:
    mark = "chosen" if is_best else ""
    if point.error is not None:
        return [mark, _safe(point.name), "", "", "", f"{point.seconds:.1f}", _safe(point.error)]
    measure = next(iter(point.parts), "gap_mean").partition(" ")[0]
    words = [
        *(["collapsed"] if point.is_collapsed else []),
        *(["efficient"] if point.is_efficient else []),
        *([] if point.is_within_budget else ["over budget"]),
    ]
    loss, unfair = point.loss, point.unfairness
    return [
        mark,
        _safe(point.name),
        show_value(utility, point.utility.value, 4),
        show_found(utility, loss.value, loss.low, loss.high, 4),
        show_found(measure, unfair.value, unfair.low, unfair.high),
        f"{point.seconds:.1f}",
        ", ".join(words),
    ]


def _safe(text: str) -> str:
    return text.replace("|", "\\|")  # which would end the cell
