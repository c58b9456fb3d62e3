"""The readable table of the remedies: means over splits, in percent."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np

from _remedies_methods import REMEDIES

LABELS: Final = (1, 0)
HEADS: Final = (
    *(
        "remedy",
        "splits",
        "chosen value",
        "ROC AUC",
        "AP",
        "log loss",
        "gap, pos / neg",
        "excess by person",
        "rank gap",
    ),
    *("SD of scores", "seconds"),
)
ABOUT: Final = """# Remedies

Test rows, means over splits, in percentage points (but not the log loss); ± is the standard deviation over splits. A
gap is the mean absolute difference between the scores of comparable people with the positive or the negative label. The
excess by person is how much more a person's score differs from comparable people of other groups than from comparable
people of the same group. A rank gap, the mean of both labels', is the share of people whose scores lie between the two.

Values were chosen on held-out training rows: the smallest rank gaps at an average precision at most one point below the
plain model's, else the plain model; of two values the strength comes first. Models see the sensitive columns; with
smoothed targets both were tried, and the table says which was chosen. Scores smoothed for a batch are those of
everybody in the test table, smoothed together: not usable for one applicant. Seconds are processor time of one fit of
the chosen model with its antidotes or teachers. `benchmarks/remedies.py` says how it is measured, and
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
            title + (f" ({n_earlier} splits with other values than are tried now)" if n_earlier else ""),
            f"{len(mine)}" + (f", {n_failed} failed" if n_failed else ""),
            _chosen(mine),
            _percent(mine, "roc_auc"),
            _percent(mine, "average_precision"),
            _mean_of([cell["measures"]["log_loss"] for cell in mine], 3),
            _both(mine, "gap_mean"),
            _percent(mine, "excess"),
            _mean_of([50 * sum(cell["measures"][f"rank_gap_mean[{label}]"] for label in LABELS) for cell in mine], 2),
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
    counts = Counter(", ".join(filter(None, map(_name_value, cell["params"].items()))) for cell in cells)
    return "; ".join(f"{value} ({n})" for value, n in counts.most_common() if value) or "-"


def _name_value(param: tuple[str, Any]) -> str:
    name, value = param
    if name == "discard_sensitive":
        return "" if value else "seeing sensitive columns"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _percent(cells: list[dict[str, Any]], measure: str) -> str:
    return _mean_of([100 * cell["measures"][measure] for cell in cells if cell["measures"][measure] is not None], 2)


def _both(cells: list[dict[str, Any]], measure: str) -> str:
    return " / ".join(_percent(cells, f"{measure}[{label}]") for label in LABELS)


def _mean_of(values: list[float], digits: int) -> str:
    if not values:
        return "-"
    spread = f" ± {np.std(values):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"
