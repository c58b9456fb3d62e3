"""The terminal: text made safe to print, messages and progress on stderr, results on stdout."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress

    from likewise.comparable import Comparability
    from likewise.schema import Roles


def one_line(text: str) -> str:
    """Put a message on one line, without the control characters that data may contain."""
    return "".join(
        letter if letter.isprintable() else " " if letter.isspace() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


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
    from rich.console import Console

    return Console(stderr=True, quiet=quiet, markup=False, highlight=False)


def print_json(record: dict[str, Any]) -> None:
    """Print a result as one JSON object."""
    typer.echo(json.dumps(record, allow_nan=False))


def print_result(lay_out: Callable[[int], RenderableType]) -> None:
    """Print a result that is laid out for the width of the terminal."""
    from rich.console import Console

    screen = Console(markup=False, highlight=False, emoji=False)
    screen.print(lay_out(screen.width))


def say(console: Console, *lines: str) -> None:
    """Print messages, one line each."""
    for line in lines:
        console.print(one_line(line), soft_wrap=True)


def say_rule(console: Console, rule: Comparability, roles: Roles) -> None:
    """Print the rule as a sentence, wrapped to the terminal."""
    console.print("", one_line(rule.describe(roles)), "", sep="\n")


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
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not is_watched(console))
