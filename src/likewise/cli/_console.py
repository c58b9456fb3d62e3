"""The terminal: safe text, messages and progress on stderr, results on stdout, and the tables they come in."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import typer
from rich import box
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from likewise._format import one_line
from likewise._progress import rich_bar

if TYPE_CHECKING:
    from rich.progress import Progress

    from likewise.comparable import Comparability
    from likewise.schema import Roles, Schema

N_LINES: Final = 24


def shown(value: object, width: int = 24) -> str:
    """Format a value, cut in the middle to a width: long names often differ at their ends."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "(missing)"
    if isinstance(value, float):
        text = f"{value:g}" if float(f"{value:g}") == value else repr(value)
    else:
        text = one_line(str(value))
    if len(text) <= width:
        return text
    n_last = (width - 1) // 2
    return f"{text[: width - 1 - n_last]}…{text[len(text) - n_last :]}"


def share(part: int, whole: int) -> str:
    """Format a percentage; 0% and 100% are exact."""
    if whole == 0:
        return "-"
    percent = 100 * part / whole
    if 0 < percent < 1:
        return "<1%"
    if 99 < percent < 100:
        return ">99%"
    return f"{percent:.0f}%"


def open_messages(quiet: bool) -> Console:
    """Return the console of roles, notes and progress: stderr."""
    return Console(stderr=True, quiet=quiet, markup=False, highlight=False)


def print_json(record: dict[str, Any]) -> None:
    """Print a result as one JSON object."""
    typer.echo(json.dumps(record, allow_nan=False).replace("##", "#\\u0023"))  # which a log takes for a command


def print_result(lay_out: Callable[[int], RenderableType]) -> None:
    """Print a result that is laid out for the width of the terminal."""
    screen = Console(markup=False, highlight=False, emoji=False)
    screen.print(lay_out(screen.width))


def tell(*lines: object, err: bool = False) -> None:
    """Print results, one line each."""
    for line in lines:
        typer.echo(one_line(str(line)), err=err)


def say(console: Console, *lines: str) -> None:
    """Print messages, one line each."""
    for line in lines:
        console.print(one_line(line), soft_wrap=True)


def say_rule(console: Console, rule: Comparability, roles: Roles | Schema) -> None:
    """Print the rule as a sentence, wrapped to the terminal."""
    known: Any = roles
    has_label = getattr(known, "roles", known).label is not None  # a schema has roles
    console.print("", one_line(rule.describe(roles, same_label=has_label)), "", sep="\n")


def is_watched(console: Console) -> bool:
    """Whether a person sees progress."""
    return console.is_terminal and not console.quiet


@contextmanager
def working(console: Console, what: str) -> Iterator[Callable[[str], None] | None]:
    """Show a step without a known end, if a person is watching; yield a function that changes its text."""
    if not is_watched(console):
        yield None
        return
    with console.status(f"{what} ...") as status:
        yield status.update


def progress_bar(console: Console) -> Progress:
    """Return a bar for steps with a known end, hidden if nobody is watching."""
    return rich_bar(console, disable=not is_watched(console))


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


def plain_table(*titles: str | Text, n_text: int = 1, n_folded: int = 0) -> Table:
    """Return a table with one line under its head; its first columns are text, some of which may be folded."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title_justify="left", title_style="bold")
    for place, title in enumerate(titles):
        justify: JustifyMethod = "left" if place < n_text else "right"
        table.add_column(title, justify=justify, overflow="fold" if place < n_folded else "ellipsis")
    return table


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
