"""The figures of the paper from our cells, as PNG files whose bytes depend on the cells alone."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from paper._drawn import LABELS, RULE_WORDS, Boxes, Convergence, Frontiers, Picture, Random, TradeOff

# Okabe and Ito's colours, which people with any kind of colour vision tell apart
BLACK, ORANGE, SKY, GREEN, BLUE, RED, PINK = "#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"
GREY: Final = "#999999"
SIDES: Final = {"positive": 1, "negative": 0}  # the label of each side
STYLES: Final = {  # series: colour, marker
    "SenSeI": (PINK, "v"),
    "LCIFR": (SKY, "^"),
    "Anti": (GREEN, "o"),
    "AntiDRO": (BLUE, "s"),
    "Anti, ours": (ORANGE, "D"),
    "AntiDRO, ours": (RED, "P"),
}
SPARE: Final = ((BLACK, "X"), (GREY, "h"), (ORANGE, "<"), (BLUE, ">"))
SETTINGS: Final[dict[Any, Any]] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "errorbar.capsize": 2.0,
    "savefig.dpi": 150,
    "figure.constrained_layout.w_pad": 0.09,
    "legend.frameon": False,
}


def draw(pictures: Sequence[Picture], folder: Path) -> None:
    """Write each picture in 256 colours; its file says which numbers it was drawn from."""
    folder.mkdir(parents=True, exist_ok=True)
    for picture in pictures:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()  # whatever the user has set
            matplotlib.rcParams.update(SETTINGS)
            figure = DRAWERS[type(picture)](picture)
            drawn, words = io.BytesIO(), PngInfo()
            figure.savefig(drawn, format="png")
        words.add_text("Description", f"drawn from {picture.digest()}")
        image = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        image.save(folder / f"{picture.name}.png", optimize=True, pnginfo=words)


def draw_boxes(picture: Boxes) -> Figure:
    """Gaps by rule (columns) and label (rows), one box a method, and the utilities below."""
    n_methods = len(picture.methods)
    figure = Figure(figsize=(11.0, 1.9 + 0.72 * n_methods), layout="constrained")
    grid = figure.add_gridspec(3, 6)
    for row, side in enumerate(LABELS):
        for column, rule in enumerate(picture.rules):
            axes = figure.add_subplot(grid[row, 2 * column : 2 * column + 2])
            _draw_box_panel(axes, picture, rule, side)
            axes.set_title(f"{LABELS[side]}, {RULE_WORDS[rule]}", loc="left", fontsize=9)
            _name_methods(axes, picture, is_named=column == 0)
    for column, (name, title) in enumerate(picture.utilities.items()):
        axes = figure.add_subplot(grid[2, 2 * column : 2 * column + 2])
        for place, method in enumerate(picture.methods):
            average, deviation = method.utilities[name]
            colour = _block_colour(method.kind)
            axes.errorbar(average, place, xerr=deviation, fmt="o", color=colour, markersize=5)
        axes.set_title(title, loc="left", fontsize=9)
        axes.margins(x=0.12)
        _name_methods(axes, picture, is_named=column == 0)
    kinds = {"others": "without antidotes", "antidotes": "with the paper's antidotes", "ours": "with ours"}
    patches: list[Artist] = [
        Patch(facecolor=_block_colour(kind), alpha=0.55, label=words) for kind, words in kinds.items()
    ]
    patches += [Line2D([], [], color=BLACK, label="median"), Line2D([], [], color=BLACK, ls="--", label="mean")]
    _add_legend(figure, patches, picture, n_columns=5)
    return figure


def _draw_box_panel(axes: Axes, picture: Boxes, rule: str, side: str) -> None:
    boxes = [box for method in picture.methods for box in method.boxes.values() if box is not None]
    end = max((box["whishi"] for box in boxes), default=1.0)
    for place, method in enumerate(picture.methods):
        box = method.boxes.get(f"{rule} {side}")
        if box is None:
            axes.annotate("no pairs", (0, place), va="center", fontsize=8)
            continue
        drawn = axes.bxp(
            [dict(box)],
            positions=[place],
            widths=[0.62],
            orientation="horizontal",
            showfliers=False,
            showmeans=True,
            meanline=True,
            patch_artist=True,
            manage_ticks=False,
            medianprops={"color": BLACK, "linewidth": 1.2},
            meanprops={"color": BLACK, "linestyle": "--", "linewidth": 1.0},
        )
        drawn["boxes"][0].set(facecolor=_block_colour(method.kind), alpha=0.55, linewidth=0.8)
        if box["whishi"] < 0.01 * end:  # too small to be seen
            words = f" mean {box['mean']:.2f}" if box["mean"] >= 0.01 else " mean below 0.01"
            axes.annotate(words, (box["whishi"], place), va="center", fontsize=8)
    axes.set_xlim(0.0, 1.03 * end)  # the same for all panels, to be compared
    axes.set_xlabel("gap, percentage points", fontsize=8)


def _name_methods(axes: Axes, picture: Boxes, *, is_named: bool) -> None:
    axes.set_yticks(range(len(picture.methods)), [method.name if is_named else "" for method in picture.methods])
    axes.set_ylim(len(picture.methods) - 0.4, -0.6)  # the first at the top
    axes.grid(visible=False, axis="y")


def _block_colour(kind: str) -> str:
    return {"others": GREY, "antidotes": GREEN, "ours": ORANGE}[kind]


def draw_trade_off(picture: TradeOff) -> Figure:
    """Utility over gaps: each method a line, in the order of what it is steered by, with deviations both ways."""
    figure = Figure(figsize=(9.0, 7.6), layout="constrained")
    panels = figure.subplots(2, 2, sharex="col", sharey="row")
    spare = iter(SPARE * len(picture.series))
    styles = {name: STYLES.get(name) or next(spare) for name in picture.series}
    for row, (utility, utility_words) in enumerate(
        (("roc_auc", "ROC AUC"), ("average_precision", "average precision"))
    ):
        for column, side in enumerate(LABELS):
            axes, gap = panels[row][column], f"gap_mean[{SIDES[side]}]"
            for name, points in picture.series.items():
                colour, marker = styles[name]
                (x, dx), (y, dy) = _columns(points, gap), _columns(points, utility)
                axes.errorbar(x, y, xerr=dx, yerr=dy, fmt="none", ecolor=colour, elinewidth=0.7, alpha=0.45)
                axes.plot(x, y, color=colour, marker=marker, markersize=5, linewidth=1.2, zorder=3)
            for name, numbers in picture.published.items():
                axes.plot(
                    *(numbers[gap], numbers[utility]),
                    **{"marker": styles[name][1] if name in styles else "*", "markersize": 9, "linestyle": ""},
                    **{"markerfacecolor": "none", "markeredgewidth": 1.4, "zorder": 5},
                    markeredgecolor=styles[name][0] if name in styles else BLACK,
                )
            axes.margins(0.07)
            if column == 0:
                axes.set_ylabel(f"{utility_words}, % (higher is better)")
            if row == 1:
                axes.set_xlabel(f"mean gap, {LABELS[side]}, % (lower is better)")
    handles = [
        Line2D([], [], color=colour, marker=marker, markersize=6, label=name)
        for name, (colour, marker) in styles.items()
    ]
    if picture.published:
        hollow: dict[str, Any] = {"marker": "o", "markersize": 9, "markerfacecolor": "none", "markeredgecolor": BLACK}
        handles.append(Line2D([], [], linestyle="", label="the same, published", **hollow))
    _add_legend(figure, handles, picture, n_columns=4)
    return figure


def _columns(points: Sequence[Mapping[str, tuple[float, float]]], name: str) -> tuple[list[float], list[float]]:
    return [point[name][0] for point in points], [point[name][1] for point in points]


def draw_convergence(picture: Convergence) -> Figure:
    """Share of comparable rows over iterations, one panel a generator, a line for each kind of column."""
    figure = Figure(figsize=(4.6 * max(len(picture.panels), 1) + 0.8, 4.0), layout="constrained")
    panels = figure.subplots(1, max(len(picture.panels), 1), sharey=True, squeeze=False)[0]
    looks: dict[str, tuple[str, Any]] = {
        "sensitive": (GREEN, ":"),
        "discrete": (BLUE, "--"),
        "continuous": (RED, "-."),
        "together": (BLACK, "-"),
    }
    for axes, (title, curves) in zip(panels, picture.panels.items(), strict=False):
        for kind, (colour, dashes) in looks.items():
            if kind not in curves:
                continue
            iterations, means, deviations = curves[kind]
            axes.plot(iterations, means, color=colour, linestyle=dashes, linewidth=1.6, label=kind)
            low = [average - deviation for average, deviation in zip(means, deviations, strict=True)]
            high = [average + deviation for average, deviation in zip(means, deviations, strict=True)]
            axes.fill_between(iterations, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.set_title(title, loc="left", fontsize=9)
        axes.set_xlabel("iteration")
        axes.set_ylim(-0.02, 1.03)  # a line at nought is seen
    panels[0].set_ylabel("share of rows comparable to their source")
    handles = [Line2D([], [], color=colour, linestyle=dashes, label=kind) for kind, (colour, dashes) in looks.items()]
    _add_legend(figure, handles, picture, n_columns=4)
    return figure


def draw_random(picture: Random) -> Figure:
    """Gap and area over the share of rows added, ours and published."""
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    words = {"gap_mean[1]": "mean gap, positive label, %", "roc_auc": "ROC AUC, %"}
    looks = {"random": (BLUE, "o"), "antidotes": (RED, "D"), "antidotes, ours": (ORANGE, "P")}
    for axes, (name, title) in zip(panels, words.items(), strict=True):
        for series, points in picture.series.items():
            colour, marker = looks.get(series, (BLACK, "X"))
            shares = [share for share, _ in points]
            averages, deviations = _columns([numbers for _, numbers in points], name)
            axes.errorbar(shares, averages, yerr=deviations, color=colour, marker=marker, label=series)
        for series, printed in picture.published.items():
            colour, marker = looks.get(series, (BLACK, "X"))
            shown = [(share, numbers[name]) for share, numbers in printed if name in numbers]
            axes.plot(
                [share for share, _ in shown],
                [number for _, number in shown],
                **{"color": colour, "marker": marker, "markersize": 9, "markerfacecolor": "none", "linestyle": "--"},
                label=f"{series}, published",
            )
        axes.set_xlabel("rows added, % of the training rows")
        axes.set_ylabel(title)
        axes.margins(0.08)
    named = sorted(zip(*panels[0].get_legend_handles_labels(), strict=True), key=lambda pair: pair[1])
    _add_legend(figure, [handle for handle, _ in named], picture, n_columns=5)
    return figure


def draw_frontiers(picture: Frontiers) -> Figure:
    """Average precision and log loss over the gap, each method a line through its settings.

    A method looks the same in all figures: also those that were not run count.
    """
    figure = Figure(figsize=(9.0, 5.4), layout="constrained")
    panels = figure.subplots(1, 2)
    colours = (BLACK, BLUE, SKY, GREEN, ORANGE, RED, PINK, GREY)
    markers = ("o", "s", "^", "D", "v", "P", "X")
    looks = {
        name: (colours[place % len(colours)], markers[place % len(markers)])
        for place, (name, points) in enumerate(picture.series.items())
        if points
    }
    words = {"average_precision": "average precision, % (higher is better)", "log_loss": "log loss (lower is better)"}
    for axes, (number, title) in zip(panels, words.items(), strict=True):
        for name, (colour, marker) in looks.items():
            (x, _), (y, _) = (_columns(picture.series[name], column) for column in ("gap", number))
            order = sorted(range(len(x)), key=x.__getitem__)
            axes.plot([x[at] for at in order], [y[at] for at in order], color=colour, marker=marker, markersize=5)
        axes.set_xlabel("mean gap, % (lower is better)")
        axes.set_ylabel(title)
        axes.margins(0.07)
    handles = [Line2D([], [], color=look[0], marker=look[1], label=name) for name, look in looks.items()]
    _add_legend(figure, handles, picture, n_columns=3)
    return figure


def _add_legend(figure: Figure, handles: Sequence[Any], picture: Picture, *, n_columns: int) -> None:
    """Put title, what the marks mean, and their names above everything, where they cover nothing."""
    legend = figure.legend(handles=handles, loc="outside upper center", ncols=n_columns, alignment="center")
    legend.set_title(f"{picture.title}\n{picture.note}")
    legend.get_title().set_multialignment("center")


DRAWERS: Final[dict[type, Callable[[Any], Figure]]] = {
    Boxes: draw_boxes,
    TradeOff: draw_trade_off,
    Convergence: draw_convergence,
    Random: draw_random,
    Frontiers: draw_frontiers,
}
