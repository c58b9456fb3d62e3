"""Progress on stderr, for people: nothing when it is not a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from likewise.comparable import ComparablePairs


@contextmanager
def working(console: Console, what: str) -> Iterator[None]:
    """Show that something is under way whose end is not known."""
    if not console.is_terminal or console.quiet:
        yield
        return
    with console.status(f"{what} ..."):
        yield


def follow(console: Console, chunks: Iterable[ComparablePairs], n_rows: int) -> Iterator[ComparablePairs]:
    """Pass pairs on and show how far the search is: they come ordered by their left row."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    hidden = not console.is_terminal or console.quiet
    n_found = 0
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("Searching", total=n_rows)
        for pairs in chunks:
            n_found += len(pairs)
            if len(pairs):
                progress.update(task, completed=int(pairs.left[-1]) + 1, description=f"{n_found:,} pairs found")
            yield pairs
