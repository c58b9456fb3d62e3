"""The readable form of what benchmarks/training.py measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from _training_cells import judge, write_markdown

Record = dict[str, Any]

MOST: Final = 2.5  # times the plain network's seconds
OBJECTIVES: Final = ("worst", "mean", "consistency")

INTRODUCTION = """# Training with antidotes: time and memory

Written by `python benchmarks/training.py`, which says how it is measured and can be run again.
{machine}; {versions}. Processor seconds, one thread.
Costs of fits were measured by a yardstick, a fixed piece of plain training that is timed between the pieces of each
fit, as the machine is faster in one second than in another; *seconds* are these costs, with the yardstick of a quiet
second.

Adult's training rows, 30,162 people; two layers of 64, batches of 256, weight decay 0.001 for all, everything else as
it comes. *Plain* is `NetworkClassifier`, the others are `AntiDROClassifier` with the objective named.
"""

TARGET_WORDS = """The bound was set for whole fits with antidotes of `GibbsGenerator`. The harder case is held against
it, too: five antidotes for every row.

"""

FIT_WORDS = """A whole call of `fit`, 10,000 steps. {n:,} antidotes from `GibbsGenerator`, for {coverage:.0%} of the
people, up to five for each. Making them is timed apart: {learn:.1f} s to fit the generator, {make:.1f} s for five
rounds.

"""

COUNT_WORDS = """Milliseconds a step, and how many plain steps that is. Antidotes from `UniformGenerator`: every row has
as many as a step may look at, which is the most there can be to do. What is done once a fit, such as coding the
antidotes, is not in it.

"""

ROW_WORDS = """Adult's rows drawn again and moved a little; 1.8 antidotes a row from `UniformGenerator`. A whole call of
`fit`, 2,000 steps, whatever the number of rows, so that what grows is the coding of people and antidotes.

"""

RIVAL_WORDS = """inFairness's models in a plain torch loop, on the same inputs, with the same network, batches and
optimizer: a step of theirs against a plain step of the same loop. They attack each batch anew, with so many steps; we
look antidotes up. For SenSR and SenSeI of our own see `baselines.md`.

"""

AUGMENTED_WORDS = """`AugmentedClassifier` around a logistic regression with its one-hot coding, against the same by
hand: making the antidotes (0.3 a row, `UniformGenerator`), putting them below the rows, fitting. {same}

"""


def write_report(results: Record, path: Path) -> None:
    cells = {name: cell for name, cell in results["cells"].items() if "failed" not in cell}
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    parts = [INTRODUCTION.format(machine=results["machine"], versions=versions)]
    parts.append("## Targets\n\n" + TARGET_WORDS + _targets(cells))
    if "fits" in cells:
        parts.append("## A whole fit\n\n" + _fits(cells["fits"]))
    if "counts" in cells:
        parts.append("## More antidotes a row\n\n" + COUNT_WORDS + _counts(cells["counts"]))
    parts.append("## More rows\n\n" + ROW_WORDS + _rows(cells))
    parts.append("## Beside inFairness\n\n" + RIVAL_WORDS + _rivals(cells))
    if "augmented" in cells:
        parts.append("## Any classifier, with antidotes below the rows\n\n" + _augmented(cells["augmented"]))
    path.write_text("\n".join(part.rstrip() + "\n" for part in parts))


def _targets(cells: Record) -> str:
    fits, counts = cells.get("fits", {}).get("fits"), cells.get("counts")
    rows = []
    for objective in OBJECTIVES:
        found = fits[objective]["cost"] / fits["plain"]["cost"] if fits else None
        rows.append([f"a whole fit, {objective}", *judge(found, MOST)])
    for objective in OBJECTIVES:
        found = counts["steps"]["5"][objective] / counts["plain"] if counts else None
        rows.append([f"where all rows have five antidotes, a step, {objective}", *judge(found, MOST)])
    return write_markdown(["AntiDRO, times the plain network", "wanted", "found", "met"], rows)


def _fits(cell: Record) -> str:
    words = FIT_WORDS.format(
        n=cell["n_antidotes"],
        coverage=cell["coverage"],
        learn=cell["generator_fit_s"],
        make=cell["generate_s"],
    )
    base, second = cell["fits"]["plain"]["cost"], cell["yardstick_s"]
    rows = [
        [name, f"{second * one['cost']:.1f}", f"{one['cost'] / base:.2f}x", f"{one['peak_mb']:,.0f}"]
        for name, one in cell["fits"].items()
    ]
    return words + write_markdown(["", "seconds", "times plain", "memory, MB"], rows)


def _counts(cell: Record) -> str:
    base, millisecond = cell["plain"], 1000 * cell["yardstick_s"]
    rows = []
    for count, steps in cell["steps"].items():
        cells = [f"{millisecond * steps[name]:.2f} ({steps[name] / base:.2f}x)" for name in OBJECTIVES]
        rows.append([count, f"{millisecond * base:.2f}", *cells])
    return write_markdown(["antidotes a row", "plain", *OBJECTIVES], rows)


def _rows(cells: Record) -> str:
    rows = []
    for name, cell in cells.items():
        if not name.startswith("rows"):
            continue
        base, other, second = cell["fits"]["plain"], cell["fits"]["worst"], cell["yardstick_s"]
        rows.append(
            [
                f"{cell['n_rows']:,}",
                f"{cell['n_antidotes']:,}",
                f"{cell['generate_s']:.1f}",
                f"{second * base['cost']:.1f}",
                f"{second * other['cost']:.1f}",
                f"{other['cost'] / base['cost']:.2f}x",
                f"{base['peak_mb']:,.0f}",
                f"{other['peak_mb']:,.0f}",
            ]
        )
    heads = ["rows", "antidotes", "making them, s", "plain, s", "worst, s", "ratio", "plain, MB", "worst, MB"]
    return write_markdown(heads, rows)


def _rivals(cells: Record) -> str:
    fits = cells.get("fits", {}).get("fits")
    rows = []
    if fits:
        ratio = fits["worst"]["cost"] / fits["plain"]["cost"]
        rows.append(["AntiDRO, worst (a whole fit)", "", "", f"{ratio:.1f}x"])
    for name, cell in cells.items():
        for n in cell if name.startswith("inFairness") else ():
            if not n.isdigit():
                continue
            plain, step, millisecond = cell[n]["plain"], cell[n]["step"], 1000 * cell[n]["yardstick_s"]
            times = f"{step / plain:.1f}x"
            rows.append([f"{name}, {n} steps", f"{millisecond * plain:.2f}", f"{millisecond * step:.1f}", times])
    return write_markdown(["", "plain step, ms", "step, ms", "times plain"], rows)


def _augmented(cell: Record) -> str:
    same = "Both predict the same." if cell["same"] else "**They do not predict the same.**"
    base = cell["fits"]["by hand"]["cpu_s"]
    titles = {
        "by hand": "by hand",
        "by class": "`AugmentedClassifier`",
        "rows alone": "by hand, antidotes there already",
    }
    rows = [
        [titles[name], f"{one['cpu_s']:.2f}", f"{one['cpu_s'] / base:.2f}x", f"{one['peak_mb']:,.0f}"]
        for name, one in cell["fits"].items()
    ]
    return AUGMENTED_WORDS.format(same=same) + write_markdown(["", "seconds", "times by hand", "memory, MB"], rows)
