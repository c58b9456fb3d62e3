"""The readable form of what benchmarks/baselines.py measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from _training_cells import judge, write_markdown

Record = dict[str, Any]

STEPS: Final = (10, 20, 50)
# which of ours stands beside which of theirs
OURS: Final[dict[str, tuple[str, ...]]] = {
    "SenSR": ("SenSR, single stage", "SenSR, two stages"),
    "SenSeI": ("SenSeI",),
    "": ("LCIFR, first phase",),
}
STEPLESS: Final = "LCIFR, second phase"
EPOCH: Final = 30_162 / 256  # steps
MOST: Final = 0.5  # of theirs

INTRODUCTION = """# SenSR, SenSeI and LCIFR: time of an epoch

Written by `python benchmarks/baselines.py`, which says how it is measured and can be run again.
{machine}; {versions}. Processor seconds, one thread.

Adult's training rows, 30,162 people, {epoch:.0f} steps of 256 an epoch; two layers of 64 and one output, SGD.
Costs were measured by a yardstick, a fixed piece of plain training that is timed between the pieces of each fit, as
the machine is faster in one second than in another; *seconds* are these costs, with the yardstick of a quiet second.

inFairness's SenSR moves rows in all directions at once, as `variant="single_stage"` does. Two stages, the original,
take half of the steps inside the subspace and half in all directions.
"""


class Epoch(NamedTuple):
    """An epoch: plain and of a method, in seconds, and how many plain ones it is."""

    plain: float
    seconds: float
    ratio: float


def write_report(results: Record, path: Path) -> None:
    cells = {name: cell for name, cell in results["cells"].items() if "failed" not in cell}
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    parts = [
        INTRODUCTION.format(machine=results["machine"], versions=versions, epoch=EPOCH),
        f"## Targets: at most {MOST:g} of inFairness's\n\n" + _targets(cells),
        "## An epoch\n\n" + _epochs(cells),
        "## LCIFR\n\n" + LCIFR_WORDS + _lcifr(cells),
        "## The sensitive subspace\n\n" + SUBSPACE_WORDS + _subspace(cells),
    ]
    path.write_text("\n".join(part.rstrip() + "\n" for part in parts))


LCIFR_WORDS = """There is none in inFairness. Encoder and latent space are 64 wide. The first phase tries every marital
status and walks within the box, with so many steps; in the second, with two classes, the worst point is known without
any.

"""

SUBSPACE_WORDS = """`SensitiveSubspace` on the frame, by one softmax regression of the marital status, coding and a
five-fold check of how well it can be told included; `LogisticRegSensitiveSubspace` on the matrix, by seven regressions
with an L1 penalty.

"""


def find_epoch(cells: Record, name: str, n_steps: int) -> Epoch | None:
    if str(n_steps) not in cells.get(name, {}):
        return None
    cell = cells[name][str(n_steps)]
    plain, step, second = cell["plain"], cell["step"], find_yardstick(cells)
    return Epoch(EPOCH * second * plain, EPOCH * second * step, step / plain)


def find_yardstick(cells: Record) -> float:
    """Give the seconds of a yardstick on this machine when nothing disturbs it."""
    steps = [step for cell in cells.values() for step in cell.values() if isinstance(step, dict)]
    return min(float(step["yardstick_s"]) for step in steps if "yardstick_s" in step)


def _targets(cells: Record) -> str:
    rows = []
    for theirs, n in [(theirs, n) for theirs in OURS if theirs for n in STEPS]:
        for ours in OURS[theirs]:
            mine, other = find_epoch(cells, ours, n), find_epoch(cells, f"inFairness {theirs}", n)
            found = (mine.seconds / other.seconds, mine.ratio / other.ratio) if mine and other else (None, None)
            (bound, *seconds), (_, *ratio) = (judge(figure, MOST) for figure in found)
            rows.append([f"{ours}, {n} steps", bound, *seconds, *ratio])
    return write_markdown(["ours / theirs", "wanted", "seconds", "met", "times plain", "met"], rows)


def _epochs(cells: Record) -> str:
    rows = []
    for theirs, n in [(theirs, n) for theirs in OURS if theirs for n in STEPS]:
        for name in (f"inFairness {theirs}", *OURS[theirs]):
            rows += _row(cells, name, n)
    return write_markdown(["", "plain epoch, s", "epoch, s", "times plain"], rows)


def _lcifr(cells: Record) -> str:
    rows = [row for n in STEPS for name in OURS[""] for row in _row(cells, name, n)] + _row(cells, STEPLESS, 0)
    return write_markdown(["", "plain epoch, s", "epoch, s", "times plain"], rows)


def _row(cells: Record, name: str, n: int) -> list[list[str]]:
    found, title = find_epoch(cells, name, n), f"{name}, {n} steps" if n else name
    return [[title, f"{found.plain:.3f}", f"{found.seconds:.2f}", f"{found.ratio:.1f}x"]] if found else []


def _subspace(cells: Record) -> str:
    titles = {"subspace": "`SensitiveSubspace`", "inFairness subspace": "inFairness `LogisticRegSensitiveSubspace`"}
    found = {title: cells[name] for name, title in titles.items() if name in cells}
    rows = [[title, f"{cell['fit_s']:.1f}", str(cell["rank"])] for title, cell in found.items()]
    return write_markdown(["", "fit, s", "directions"], rows)
