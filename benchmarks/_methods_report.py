"""The methods on Adult as a readable table, the published numbers beside ours."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev
from typing import Any

Record = dict[str, Any]

INTRODUCTION = """# The methods of the paper on Adult

Written by `python benchmarks/methods.py`, which says how it is measured and can be run again. All in percent, on the
test rows: area under the ROC curve, average precision, and gaps between the scores of comparable people (mean / upper
quartile) with a high and with a low income. Ours are means over seeds, with the standard deviation of the mean gaps.
Rank gaps, log loss and the spread of scores show whether a gap was bought by squeezing the scores together.

LR and NN with antidotes have {ratio} antidotes for each row, made by `GibbsGenerator`; AntiDRO draws on {rounds}
rounds of them, with an antidote weight of 0.5 and an L2 penalty of 0.001, where it says nothing else. All other
networks have the paper's penalty of 0.01 unless they say otherwise.
"""

# of the paper's table on Adult
PUBLISHED: dict[str, tuple[float, ...]] = {
    "LR": (90.04, 75.72, 31.75, 43.55, 10.25, 18.37),
    "LR+Proj": (81.40, 62.19, 25.10, 34.83, 23.29, 33.03),
    "LR+Dis": (89.95, 75.59, 30.81, 41.10, 9.40, 17.78),
    "LR+Anti": (89.72, 75.04, 24.72, 30.84, 8.66, 14.64),
    "LR+Anti+Dis": (89.56, 74.83, 23.02, 26.61, 8.12, 13.91),
    "NN": (88.18, 70.09, 33.21, 47.84, 13.03, 23.37),
    "NN+Proj": (87.42, 68.51, 32.38, 46.45, 13.59, 23.69),
    "NN+Dis": (88.15, 70.27, 32.90, 44.79, 11.83, 23.36),
    "SenSR": (86.01, 66.19, 28.68, 44.21, 14.88, 23.07),
    "SenSeI": (86.42, 66.08, 27.92, 35.92, 13.22, 26.01),
    "LCIFR": (87.35, 68.52, 32.51, 44.84, 12.97, 26.49),
    "NN+Anti": (87.95, 69.51, 26.05, 35.76, 10.42, 16.88),
    "NN+Anti+Dis": (87.79, 69.40, 24.40, 32.12, 9.56, 15.54),
    "AntiDRO": (87.91, 71.08, 17.46, 20.04, 5.48, 6.87),
}
SIX = (
    *("roc_auc", "average_precision", "positive_gap_mean", "positive_gap_q3", "negative_gap_mean", "negative_gap_q3"),
)
WORSE = 0.3  # of area and precision: no more than this below the published ones is as good


def write_report(results: Record, path: Path, settings: Record) -> None:
    """Write the table; rows in the order of the paper, then our own."""
    cells = results["cells"]
    methods = [*PUBLISHED, *dict.fromkeys(cell["method"] for cell in cells.values() if cell["method"] not in PUBLISHED)]
    heads = ["method", "seeds", "ROC", "AP", "positive gap", "negative gap", "rank gaps", "log loss", "spread"]
    heads += ["published: ROC, AP, gaps", "as good", "CPU s"]
    rows = []
    for method in methods:
        mine = [cell for cell in cells.values() if cell["method"] == method]
        if mine:
            rows.append([method, str(len(mine)), *_row(method, mine)])
    machines = "\n".join(f"- {name}: {_described(machine)}" for name, machine in results["machines"].items())
    parts = [INTRODUCTION.format(**settings), _markdown(heads, rows), "## Where it was measured\n", machines]
    path.write_text("\n".join(parts) + "\n", "utf-8")


def _row(method: str, cells: list[Record]) -> list[str]:
    means = {name: 100 * mean(cell["numbers"][name] for cell in cells) for name in cells[0]["numbers"]}
    gaps = [
        f"{means[f'{side}_gap_mean']:.2f} ± {_deviation(cells, f'{side}_gap_mean'):.2f} / {means[f'{side}_gap_q3']:.2f}"
        for side in ("positive", "negative")
    ]
    ranks = f"{means['positive_rank_gap_mean']:.2f}, {means['negative_rank_gap_mean']:.2f}"
    published = PUBLISHED.get(method)
    numbers = [means[name] for name in SIX]
    return [
        *(f"{means[name]:.2f}" for name in SIX[:2]),
        *gaps,
        ranks,
        *(f"{means[name]:.2f}" for name in ("log_loss", "score_spread")),
        _six(published) if published else "",
        _verdict(numbers, published) if published else "",
        f"{mean(cell['cpu_s'] for cell in cells):.0f}",
    ]


def _deviation(cells: list[Record], name: str) -> float:
    values = [100 * cell["numbers"][name] for cell in cells]
    return stdev(values) if len(values) > 1 else 0.0


def _verdict(ours: list[float], published: tuple[float, ...]) -> str:
    """Say which of the numbers are not as good as published."""
    names = ("ROC", "AP", "positive mean", "positive Q3", "negative mean", "negative Q3")
    worse = [
        f"{name} {one - other:+.2f}"
        for name, one, other in zip(names, ours, published, strict=True)
        if (one < other - WORSE if name in ("ROC", "AP") else one > other)
    ]
    return ", ".join(worse) if worse else "yes"


def _six(numbers: tuple[float, ...]) -> str:
    roc, ap, *gaps = numbers
    return f"{roc:.2f}, {ap:.2f}, {gaps[0]:.2f} / {gaps[1]:.2f}, {gaps[2]:.2f} / {gaps[3]:.2f}"


def _described(machine: Record) -> str:
    versions = [f"{name} {machine[name]}" for name in ("likewise", "numpy", "sklearn", "torch") if name in machine]
    return f"{machine['n_cores']} cores, Python {machine['python']}, {', '.join(versions)}"


def _markdown(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
