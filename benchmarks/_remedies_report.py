"""The readable table of the remedies: means over splits, in percent."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np

from _remedies_methods import REMEDIES

HEADS: Final = (
    *("remedy", "splits", "chosen value", "ROC AUC", "AP", "log loss", "gap, pos / neg", "excess, pos / neg"),
    *("rank gap, pos / neg", "SD of scores", "seconds"),
)
ABOUT: Final = """# What can be done against gaps

Test rows, means over splits into training and test rows, in percent but for the log loss; after ± the standard
deviation over splits. A gap is the mean absolute difference between the scores of comparable people with the positive
or the negative label; the excess is the part of it beyond pairs of the same group, which a rule allows too; a rank gap
is the share of people whose scores lie between the two. Values were chosen on held-out training rows: the smallest rank
gaps with at most 0.02 more log loss than the plain model, else the plain model. Seconds are the processor's, of one fit
of the chosen model, its antidotes included. `benchmarks/remedies.py` says how it is measured, and
`remedies.json.xz` has every cell.
"""


def write_page(stored: dict[str, dict[str, Any]]) -> str:
    """Write one table per data set."""
    cells = [*stored.values()]
    parts = [ABOUT]
    for name in dict.fromkeys(cell["data"] for cell in cells):
        here = [cell for cell in cells if cell["data"] == name]
        parts.append(f"\n## {name}\n\n{_write_table(here)}")
    return "".join(parts)


def _write_table(cells: list[dict[str, Any]]) -> str:
    lines = ["| " + " | ".join(HEADS) + " |", "|" + " --- |" * len(HEADS)]
    remedies = {remedy.title: remedy for remedy in REMEDIES}
    for title in _in_order(cells):
        mine = [cell for cell in cells if cell["remedy"] == title and "failed" not in cell]
        n_failed = sum(cell["remedy"] == title and "failed" in cell for cell in cells)
        if not mine:
            lines.append(f"| {title} | 0, {n_failed} failed |" + " |" * (len(HEADS) - 2))
            continue
        n_earlier = sum(not remedies[title].is_current(cell) for cell in mine)
        shown = [
            title + (f" ({n_earlier} splits with other weights than are tried now)" if n_earlier else ""),
            f"{len(mine)}" + (f", {n_failed} failed" if n_failed else ""),
            _chosen(mine),
            _percent(mine, "roc_auc"),
            _percent(mine, "average_precision"),
            _mean_of([cell["measures"]["log_loss"] for cell in mine], 3),
            _both(mine, "gap_mean"),
            _both(mine, "excess_gap_mean"),
            _both(mine, "rank_gap_mean"),
            _percent(mine, "score_spread"),
            _mean_of([cell["seconds"] for cell in mine], 1),
        ]
        lines.append("| " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def _in_order(cells: list[dict[str, Any]]) -> list[str]:
    known = {cell["remedy"] for cell in cells}
    return [remedy.title for remedy in REMEDIES if remedy.title in known]


def _chosen(cells: list[dict[str, Any]]) -> str:
    """Return the values that were chosen, the most frequent first."""
    counts = Counter(
        ", ".join(f"{value:g}" if isinstance(value, float) else value for value in cell["params"].values())
        for cell in cells
    )
    return "; ".join(f"{value} ({n})" for value, n in counts.most_common() if value) or "-"


def _percent(cells: list[dict[str, Any]], measure: str) -> str:
    return _mean_of([100 * cell["measures"][measure] for cell in cells if cell["measures"][measure] is not None], 2)


def _both(cells: list[dict[str, Any]], measure: str) -> str:
    return " / ".join(_percent(cells, f"{label}_{measure}") for label in ("positive", "negative"))


def _mean_of(values: list[float], digits: int) -> str:
    if not values:
        return "-"
    spread = f" ± {np.std(values):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"
