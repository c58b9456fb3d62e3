"""Tables of the terminal; pairs of people side by side, with the differences marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from likewise.cli._console import shown

N_LINES: Final = 24


@dataclass(frozen=True, slots=True)
class Example:
    """Two people: titles, and the values of both by column."""

    titles: tuple[str, str]
    values: dict[str, tuple[Any, Any]]
    differing: frozenset[str] | None = None  # the columns to mark; by default those whose values differ

    def marked(self) -> set[str]:
        """The columns to mark."""
        if self.differing is not None:
            return set(self.differing)
        return {name for name, (one, other) in self.values.items() if one != other}


def plain_table(**settings: Any) -> Table:
    """Return a table with one line under its head and no others."""
    return Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title_justify="left", title_style="bold", **settings
    )


def stack(parts: Iterable[RenderableType]) -> Group:
    """Put parts below each other, with an empty line between."""
    return Group(*[one for part in parts for one in (Text(""), part)][1:])


def show_side_by_side(examples: list[Example], sensitive: Sequence[str], width: int) -> RenderableType:
    """Put as many pairs next to each other as the screen has room for."""
    lines, n_more, n_differing = _choose_lines(examples, sensitive)
    headings = [f"{shown(name, 22)}{' (sensitive)' if name in sensitive else ''}" for name in lines]
    table = plain_table()
    table.add_column("* differs", style="dim")
    cells = [[Text(heading)] for heading in headings]
    room = width - max(map(len, headings))
    for position, example in enumerate(examples):
        texts = [[shown(value, 20) for value in example.values[name]] for name in lines]
        room -= 14 if position else 10  # marks and the space between columns
        room -= sum(max(map(len, side)) for side in zip(example.titles, *texts, strict=True))
        if room < 0 and position:
            break
        if position:
            table.add_column("|", style="dim")
        table.add_column(Text(example.titles[0]), no_wrap=True)
        table.add_column("", width=1)
        table.add_column(Text(example.titles[1]), no_wrap=True)
        marked = example.marked()
        for line, name, (one, other) in zip(cells, lines, texts, strict=True):
            style = "bold yellow" if name in marked else ""
            line += [Text("|")] * bool(position)
            line += [Text(one, style), Text("*" if name in marked else "", style), Text(other, style)]
    for line in cells:
        table.add_row(*line)
    if not n_more:
        return table
    differing = f", {n_differing:,} of which differ in one of the pairs" if n_differing else ""
    return Group(table, Text(f"... and {n_more:,} more column{'' if n_more == 1 else 's'}{differing}", style="dim"))


def _choose_lines(examples: list[Example], sensitive: Sequence[str]) -> tuple[list[str], int, int]:
    """Choose columns of a wide table, those that differ first; count the others, and those of them that differ."""
    names = list(examples[0].values)
    differing = {name for example in examples for name in example.marked()}
    important = [name for name in names if name in sensitive or name in differing]
    others = [name for name in names if name not in important]
    chosen = {*important[:N_LINES], *others[: max(N_LINES - len(important), 0)]}
    return [name for name in names if name in chosen], len(names) - len(chosen), len(differing - chosen)
