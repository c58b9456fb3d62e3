"""The readable form of what benchmarks/generation.py measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Record = dict[str, Any]

INTRODUCTION = """# Generators of antidote data: speed and quality

Written by `python benchmarks/generation.py`, which says how it is measured and can be run again.
{machines}

*Raw rows* are made before those that are not comparable to their source, or there already, are left out; *kept* is the
share that stays. Adult is its training split, 30,162 rows, each asked for with the six other marital statuses.
"""

# the published rows "LR+Anti", in percent: ROC, AP, positive gap mean and Q3, negative gap mean and Q3
PUBLISHED = {
    "adult": (89.72, 75.04, 24.72, 30.84, 8.66, 14.64),
    "law_school": (86.22, 97.80, 1.79, 2.20, 6.56, 8.64),
    "oulad": (62.17, 76.24, 6.42, 9.19, 7.10, 9.78),
    "dutch": (85.41, 83.38, 9.55, 10.37, 10.74, 12.70),
}
SIX = (
    *("roc_auc", "average_precision", "positive_gap_mean", "positive_gap_q3", "negative_gap_mean", "negative_gap_q3"),
)


def write_report(results: Record, path: Path) -> None:
    machines = "\n".join(f"- {device}: {words}" for device, words in results["machines"].items())
    cells = results["cells"]
    parts = [
        INTRODUCTION.format(machines=machines),
        "## Speed on Adult, batches of 4096 pairs, two layers of 256\n\n" + SPEED_WORDS + _speed(cells),
        "## Quality\n\n" + QUALITY_WORDS + _quality(cells),
        "## Logistic regression with the paper's share of antidotes\n\n" + MODEL_WORDS + _models(cells),
    ]
    path.write_text("\n".join(part.rstrip() + "\n" for part in parts))


SPEED_WORDS = """On a processor: one thread, processor seconds. On a GPU: by the clock. The evaluation of each record
(2,000 rows) is in the processor's figure. ctgan learns rows, not pairs; its networks have the same widths. Raw rows a
second: encoding, Post and the user's frame included, on the GPU the median of five calls. There the steps are recorded
as one CUDA graph; *same as plain* says whether its losses and rows are those of plain steps, bit by bit.

"""

QUALITY_WORDS = """*Comparable* is the share of raw rows that meet the rule by their discrete columns, their
continuous ones, the sensitive ones, and all together (only the adversarial generator makes rows that do not).
*Efficacy*: accuracy, balanced accuracy and F1 of a logistic regression that was trained on antidotes alone, on real
test rows. *Detectability*: ROC AUC of a classifier that tells antidotes from real rows with the same sensitive values;
50 is best. *Copied*: antidotes that equal a training row.

"""

MODEL_WORDS = """All in percent, on the test rows; gaps are mean / upper quartile. Rank gap and spread show whether
a gap was bought by squeezing the scores together.

"""


def _speed(cells: Record) -> str:
    rows = []
    for name, cell in cells.items():
        device, part, kind = [*name.split("/"), "", ""][:3]
        if part != "speed":
            continue
        if "failed" in cell:
            rows.append([device, kind, cell["failed"], "", "", "", ""])
            continue
        rate = cell["steps_per_s"]
        rival = cells.get(f"{device}/speed/ctgan", {}).get("steps_per_s")
        ratio = f"{rate / rival:.1f}x" if rival and kind != "ctgan" else ""
        made = cell.get("raw_rows_per_s") or cell.get("rows_per_s")
        rows.append([device, kind, f"{rate:,.2f}", f"{1000 / rate:,.2f}", ratio, f"{made:,.0f}"])
        rows[-1].append({True: "yes", False: "**no**"}.get(cell.get("same_bits"), ""))
    heads = ["device", "", "steps a second", "ms a step", "of ctgan's rate", "raw rows a second", "same as plain"]
    return _markdown(heads, rows)


def _quality(cells: Record) -> str:
    rows = []
    for device, dataset, kind, cell in _each(cells):
        if "failed" in cell:
            rows.append([dataset, kind, device, cell["failed"], *[""] * 7])
            continue
        comparable = cell.get("comparable")
        shares = (
            " / ".join(_percent(comparable[key]) for key in ("discrete", "continuous", "sensitive", "together"))
            if comparable
            else ""
        )
        efficacy = " / ".join(_percent(cell["efficacy"][key]) for key in ("accuracy", "balanced_accuracy", "f1"))
        rows.append(
            [
                dataset,
                "real rows" if kind == "none" else kind,
                device,
                shares,
                _percent(cell.get("kept")),
                _percent(cell.get("coverage")),
                efficacy,
                _percent(cell.get("detectability")),
                _percent(cell.get("copied")),
                _seconds(cell.get("fit_s")),
                _seconds(cell.get("seconds_to_80")),
            ]
        )
    heads = ["data", "generator", "device", "comparable: discrete / continuous / sensitive / all", "kept", "coverage"]
    return _markdown([*heads, "efficacy", "detectability", "copied", "fit, s", "to 80% of its ratio, s"], rows)


def _models(cells: Record) -> str:
    rows = []
    for device, dataset, kind, cell in _each(cells):
        if "failed" in cell:
            continue
        found = [100 * cell["audit"][name] for name in SIX]
        title = "no antidotes" if kind == "none" else f"{kind}, {device}"
        rest = [_percent(cell["audit"][name]) for name in ("rank_gap_mean", "score_spread", "brier")]
        rows.append([dataset, title, _percent(cell.get("ratio")), *_six(found), *rest])
        if kind == "uniform" and dataset in PUBLISHED:
            rows.append([dataset, "*published, LR+Anti*", "", *_six(PUBLISHED[dataset]), "", "", ""])
    heads = ["data", "antidotes", "per 100 rows", "ROC", "AP", "positive gap", "negative gap"]
    return _markdown([*heads, "rank gap", "spread", "Brier"], rows)


def _each(cells: Record) -> list[tuple[str, str, str, Record]]:
    split = [(name.split("/"), cell) for name, cell in cells.items()]
    found = [(names[0], names[2], names[3], cell) for names, cell in split if names[1] == "quality"]
    order = list(dict.fromkeys(dataset for _, dataset, _, _ in found))
    return sorted(found, key=lambda one: order.index(one[1]))


def _six(numbers: Any) -> list[str]:
    roc, precision, *gaps = (f"{number:.2f}" for number in numbers)
    return [roc, precision, f"{gaps[0]} / {gaps[1]}", f"{gaps[2]} / {gaps[3]}"]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:,.1f}"


def _markdown(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
