"""Search a coded table as asked, tell how far it is, and hand the pairs on as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from likewise.cli._findings import Findings, Tally, findings_of
from likewise.comparable import Comparability, ComparablePairs, count_pairs, iter_pairs, sample_pairs
from likewise.schema import CodedTable

if TYPE_CHECKING:
    from rich.console import Console


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
) -> Findings:
    """Count, sample or list the pairs of a table; what is not just counted is written, too."""
    how: dict[str, Any] = {"engine": engine}
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
