"""The rows of an experiment with their cells: means and deviations over seeds, what is missing, what failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Final

from paper._cells import Cell, find_cells
from paper._experiments import Experiment, Row
from paper._verdicts import known

PLAIN: Final = ("log_loss", "brier")  # no shares; everything else a model cell holds is one


@dataclass(frozen=True, slots=True)
class Line:
    """A row and its cells, in the order of its seeds; None for one that is missing."""

    row: Row
    cells: tuple[Cell | None, ...]

    @property
    def measured(self) -> list[Mapping[str, Any]]:
        """The numbers of the cells that are there."""
        return [cell["numbers"] for cell in self.cells if cell is not None and "numbers" in cell]

    @property
    def is_whole(self) -> bool:
        """Whether every seed was measured."""
        return len(self.measured) == len(self.cells)

    @property
    def errors(self) -> list[tuple[int, str]]:
        """Seed and last line of what went wrong."""
        pairs = zip(self.row.seeds, self.cells, strict=False)
        return [(seed, last_line(cell["error"])) for seed, cell in pairs if cell is not None and "error" in cell]

    @property
    def status(self) -> str:
        """How many seeds there are, in words."""
        n_there, n_wanted, n_failed = len(self.measured), len(self.cells), len(self.errors)
        if not n_there:
            return "**failed**" if n_failed else "**missing**"
        if n_there < n_wanted:
            return f"**{n_there} of {n_wanted} seeds**" + (f", {n_failed} **failed**" if n_failed else "")
        return "1 seed" if n_wanted == 1 else f"{n_wanted} seeds"

    def values(self, name: str) -> list[float]:
        """Every measured value of a number; percent, where it is a share."""
        found = (known(numbers.get(name)) for numbers in self.measured)
        return [value * scale(name) for value in found if value is not None]

    def changes(self, base: Line, name: str) -> list[float]:
        """How far a number is from the base's of the same split; a base that no seed changes has one cell for all."""
        mine, theirs = self._by_seed(name), base._by_seed(name)
        if len(theirs) == 1:
            theirs = dict.fromkeys(mine, *theirs.values())
        return [value - theirs[seed] for seed, value in mine.items() if seed in theirs]

    def _by_seed(self, name: str) -> dict[int, float]:
        pairs = zip(self.row.seeds, self.cells, strict=False)
        found = {
            seed: known(cell["numbers"].get(name)) for seed, cell in pairs if cell is not None and "numbers" in cell
        }
        return {seed: value * scale(name) for seed, value in found.items() if value is not None}

    def mean(self, name: str) -> float | None:
        """Average over the seeds, if every one of them gave a number."""
        values = self.values(name)
        return fmean(values) if values and len(values) == len(self.measured) else None

    def deviation(self, name: str) -> float | None:
        """Standard deviation over the seeds; nothing of a single one."""
        values = self.values(name)
        return stdev(values) if len(values) > 1 else None

    def means(self) -> dict[str, float | None]:
        """All numbers by name."""
        names = dict.fromkeys(name for numbers in self.measured for name, value in numbers.items() if is_number(value))
        return {name: self.mean(name) for name in names}


def gather(experiment: Experiment, cells: Mapping[str, Cell], *, fast: bool = False) -> list[Line]:
    """Put the cells to their rows."""
    return [Line(row, tuple(find_cells(row, cells, fast=fast))) for row in experiment.rows]


def scale(name: str) -> float:
    """What a number is shown times."""
    return 1.0 if name in PLAIN or name.startswith("n_") or name.endswith("_pairs") else 100.0


def is_number(value: object) -> bool:
    """A plain number, or one that could not be measured."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def last_line(error: object) -> str:
    """Of a message of several lines, the one that says what it was."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def in_order_of_appearance(names: Iterable[str]) -> list[str]:
    """Each name once."""
    return [*dict.fromkeys(names)]
