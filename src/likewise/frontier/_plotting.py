"""The points of a search as a picture: what each model loses, and how unfair it is, with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from likewise._extras import require
from likewise.auditing import Measure
from likewise.frontier._point import FrontierPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = {True: "#555555", False: "#3d85c6"}  # of the base, and of the others
LINE: Final = "#a9c7e4"
BESIDE: Final = (11, 6)  # a name stands so many points beside its dot


def plot_points(
    points: Sequence[FrontierPoint], best: FrontierPoint, utility: str, max_loss: float, ax: Axes | None
) -> Axes:
    """Draw each model that could be measured; the chosen one has a ring, and the dashed line is the budget."""
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
    parts = " and ".join(dict.fromkeys(name.partition(" ")[0] for name in best.parts))
    ax.set(ylim=(0, None), xlabel=f"Loss of {utility.replace('_', ' ')}", ylabel=parts.replace("_", " "))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _ends(measure: Measure, value: float) -> tuple[float, float]:
    return (value if measure.low is None else measure.low), (value if measure.high is None else measure.high)
