"""Search a coded table as asked, tell how far it is, and hand the pairs on as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.cli._findings import Findings, Tally, findings_of
from likewise.comparable import (
    Comparability,
    ComparablePairs,
    count_pairs,
    iter_pairs,
    read_pairs,
    sample_pairs,
    write_pairs,
)
from likewise.schema import CodedTable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


def search(
    console: Console,
    table: CodedTable,
    rule: Comparability,
    write: Callable[[ComparablePairs], None],
    *,
    count: bool,
    limit: int | None,
    sample: int | None,
    seed: int,
    engine: str,
    memory_limit: str | None,
) -> Findings:
    """Count, sample or list the pairs of a table; what is not just counted is written, too."""
    how: dict[str, Any] = {"engine": engine, "memory_limit": memory_limit}
    if count:
        with working(console, "Counting"):
            return findings_of(count_pairs(table, rule, **how), table)
    tally = Tally(table, rule)
    if sample is not None:
        with working(console, "Sampling"):
            sampled = sample_pairs(table, rule, n=sample, random_state=seed, **how)
        tally.add(sampled)
        write(sampled)
        return tally.findings(sampled.n_total)
    n_found = 0
    for found in _follow(console, iter_pairs(table, rule, **how), len(table)):
        room = len(found) if limit is None else limit - n_found
        pairs = replace(found, left=found.left[:room], right=found.right[:room])
        tally.add(pairs)
        write(pairs)
        if len(found) > room:
            return tally.findings(None)
        n_found += len(found)
    return tally.findings(n_found)


def search_into(
    console: Console, table: CodedTable, rule: Comparability, folder: Path, engine: str, memory_limit: str | None
) -> Findings:
    """Write all pairs of a table to a folder, as far as they are not there yet, and look at what is in it."""
    how: dict[str, Any] = {"engine": engine, "memory_limit": memory_limit}
    with _bar(console) as progress:
        task = progress.add_task("Searching", total=len(table))

        def show(so_far: dict[str, int]) -> None:
            said = f"{so_far['n_pairs']:,} pairs written"
            progress.update(task, completed=so_far["n_rows_done"], description=said)

        n_pairs = write_pairs(table, rule, folder, progress=show, **how)
    tally = Tally(table, rule)
    for pairs in _follow(console, read_pairs(folder, table, rule), len(table)):
        tally.add(pairs)
    return tally.findings(n_pairs)


@contextmanager
def working(console: Console, what: str) -> Iterator[None]:
    """Show that something is under way whose end is not known, if a person is there to see it."""
    if not console.is_terminal or console.quiet:
        yield
        return
    with console.status(f"{what} ..."):
        yield


def _follow(console: Console, chunks: Iterable[ComparablePairs], n_rows: int) -> Iterator[ComparablePairs]:
    """Pass pairs on and show how far the search is: they come ordered by their left row."""
    n_found = 0
    with _bar(console) as progress:
        task = progress.add_task("Searching", total=n_rows)
        for pairs in chunks:
            n_found += len(pairs)
            if len(pairs):
                progress.update(task, completed=int(pairs.left[-1]) + 1, description=f"{n_found:,} pairs found")
            yield pairs


def _bar(console: Console) -> Progress:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    hidden = not console.is_terminal or console.quiet
    return Progress(*columns, console=console, transient=True, disable=hidden)
