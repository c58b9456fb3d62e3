"""From a file to findings: read, code, search, write, show."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from likewise.cli._choosing import Wishes, choose_roles, choose_rule
from likewise.cli._progress import follow, working
from likewise.cli._text import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from likewise.cli._findings import Findings
    from likewise.comparable import Comparability, ComparablePairs
    from likewise.schema import CodedTable

ROLES_TITLE: Final = "How the columns are taken (to change it: --discrete, --continuous, --must-match, --ignore, ...):"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Which file to read, and what to do with its pairs."""

    data: Path
    encoding: str
    delimiter: str | None
    out: Path | None
    count: bool
    limit: int | None
    sample: int | None
    seed: int
    engine: str

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        asked = {"--count": self.count, "--limit": self.limit is not None, "--sample": self.sample is not None}
        together = [name for name, is_asked in asked.items() if is_asked]
        if len(together) > 1:
            raise typer.BadParameter("they do not go together; choose one.", param_hint=" and ".join(together))
        if self.count and self.out is not None:
            raise typer.BadParameter(
                "counting lists no pairs that --out could hold; leave one away.", param_hint="--count"
            )


def fulfil(request: Request, wishes: Wishes, *, as_json: bool, quiet: bool) -> None:
    """Do what was asked, and print it."""
    from rich.console import Console

    from likewise.cli._reading import read_table
    from likewise.cli._record import record_findings
    from likewise.cli._showing import show_findings
    from likewise.cli._writing import check_target, open_target

    console = Console(stderr=True, quiet=quiet, markup=False, highlight=False)
    file = str(request.data)
    if request.out is not None:
        check_target(request.out, request.data)
    with working(console, "Reading"):
        frame, notes = read_table(request.data, encoding=request.encoding, delimiter=request.delimiter)
    roles = choose_roles(wishes, frame, file)
    rule = choose_rule(wishes, roles, frame, file)
    for text in (*notes, ROLES_TITLE, roles.describe(), ""):
        _say(console, text)
    with working(console, "Coding"):
        table = roles.learn(frame).encode(frame)
    rule.check(table)
    with ExitStack() as stack:
        write: Callable[[ComparablePairs], None] = _write_nowhere
        if request.out is not None:
            about = {"roles": roles.to_dict(), "rule": rule.to_dict()}
            write = stack.enter_context(open_target(request.out, frame, roles, about))
        findings = _search(console, request, table, rule, write)
    if as_json:
        out = None if request.out is None else str(request.out)
        typer.echo(json.dumps(record_findings(findings, frame, roles, rule, file=file, out=out)))
        return
    screen = Console(markup=False, highlight=False, emoji=False)
    screen.print(show_findings(findings, frame, roles, file, screen.width))
    if request.out is not None:
        _say(console, f"The pairs are in {request.out}.")


def _search(
    console: Console,
    request: Request,
    table: CodedTable,
    rule: Comparability,
    write: Callable[[ComparablePairs], None],
) -> Findings:
    from likewise.cli._findings import Tally, findings_of
    from likewise.comparable import count_pairs, iter_pairs, sample_pairs

    how: dict[str, Any] = {"engine": request.engine}
    if request.count:
        with working(console, "Counting"):
            return findings_of(count_pairs(table, rule, **how), table)
    tally = Tally(table, rule)
    if request.sample is not None:
        with working(console, "Sampling"):
            sampled = sample_pairs(table, rule, n=request.sample, random_state=request.seed, **how)
        tally.add(sampled)
        write(sampled)
        return tally.findings(sampled.n_total)
    first = First(iter_pairs(table, rule, **how), request.limit)
    for pairs in follow(console, first, len(table)):
        tally.add(pairs)
        write(pairs)
    return tally.findings(None if first.stopped_early else first.n_passed)


class First:
    """Pass on pairs up to a limit, and know whether there were more."""

    def __init__(self, chunks: Iterable[ComparablePairs], limit: int | None) -> None:
        self._chunks = chunks
        self._limit = limit
        self.n_passed = 0
        self.stopped_early = False

    def __iter__(self) -> Iterator[ComparablePairs]:
        for pairs in self._chunks:
            room = len(pairs) if self._limit is None else self._limit - self.n_passed
            self.n_passed += min(len(pairs), room)
            if len(pairs) > room:
                self.stopped_early = True
                yield replace(pairs, left=pairs.left[:room], right=pairs.right[:room], n_total=None)
                return
            yield pairs


def _write_nowhere(pairs: ComparablePairs) -> None:
    """Be the writer when no file was asked for."""


def _say(console: Console, text: str) -> None:
    for line in text.splitlines() or [""]:
        console.print(one_line(line), soft_wrap=True)
