"""The points of a search as a table in plain text, which Markdown shows as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from likewise._format import count_of, show_found, show_value
from likewise.frontier._point import FrontierPoint


def write_summary(points: Sequence[FrontierPoint], best: FrontierPoint, utility: str) -> str:
    """Write a row for each point; below, what was measured on, and what numbers do not say of the chosen one."""
    head = ["", "model", "utility", "loss", "unfairness", "gain", ""]
    rows = [head, *(_row(point, point is best, utility) for point in points)]
    widths = [max(3, *(len(row[column]) for row in rows)) for column in range(len(head))]
    rows.insert(1, ["-" * width for width in widths])
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    notes = [*(_measured_on(best, utility) if best.audit else ()), *best.notes]
    return "\n".join([*(f"| {line} |" for line in lines), *(f"\n{note}" for note in notes)])


def _row(point: FrontierPoint, is_best: bool, utility: str) -> list[str]:
    mark = "chosen" if is_best else ""
    if point.error is not None:
        return [mark, _safe(point.name), "", "", "", "", _safe(point.error)]
    measure = measure_of(point)
    words = [
        *(["collapsed"] if point.is_collapsed else []),
        *(["squeezed"] if point.is_squeezed else []),
        *(["efficient"] if point.is_efficient else []),
        *([] if point.is_within_budget else ["over budget"]),
    ]
    loss, gain = point.loss, point.gain
    return [
        mark,
        _safe(point.name),
        show_value(utility, point.utility.value),
        "" if point.is_base else show_found(utility, loss.value, loss.low, loss.high, 3),
        show_value(measure, point.unfairness.value),
        "" if point.is_base else show_found(measure, gain.value, gain.low, gain.high),
        ", ".join(words),
    ]


def measure_of(point: FrontierPoint) -> str:
    """Name a measure that the unfairness is made of: they are written alike."""
    return next(iter(point.parts), "gap_mean").partition(" ")[0]


def count_pairs(point: FrontierPoint) -> int:
    """Say how many pairs the unfairness was measured on."""
    return 0 if point.audit is None else point.audit["gap_mean"].n


def _measured_on(point: FrontierPoint, utility: str) -> Iterator[str]:
    n_rows = len(point.audit.question.table) if point.audit else 0
    pairs = count_of(count_pairs(point), "comparable pair")
    of_what = f"Utility is {utility}, unfairness {'the mean of ' * (len(point.parts) > 1)}{' and '.join(point.parts)}."
    yield f"Measured on {count_of(n_rows, 'held-out row')}, {pairs} among them.\n{of_what}"


def _safe(text: str) -> str:
    return text.replace("|", "\\|")  # which would end the cell
