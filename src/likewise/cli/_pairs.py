"""``likewise pairs``: read a file, find its comparable pairs, write and show them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import typer

from likewise._memory import bytes_allowed
from likewise.cli import _arguments as given
from likewise.cli._choosing import Wishes, choose_roles, choose_rule, describe_roles, keep_apart
from likewise.cli._naming import ColumnNames
from likewise.cli._reading import Reading
from likewise.cli._record import record_findings, record_question
from likewise.cli._searching import search, search_into, working
from likewise.cli._sharing import taking
from likewise.cli._text import one_line
from likewise.cli._wording import name_options
from likewise.cli._writing import check_target, is_folder, open_target
from likewise.comparable import Comparability, ComparablePairs, explain_no_pairs
from likewise.schema import Roles

if TYPE_CHECKING:
    from rich.console import Console

ROLES_TITLE: Final = "How the columns are taken (to change it: --discrete, --continuous, --must-match, --ignore, ...):"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to do with the pairs of a file."""

    scores: given.Scores = None
    out: given.Out = None
    count: given.Count = False
    limit: given.Limit = None
    sample: given.Sample = None
    seed: given.Seed = 0
    engine: given.Engine = given.EngineChoice.AUTO
    memory_limit: given.MemoryLimit = None
    as_json: given.Json = False
    quiet: given.Quiet = False

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        asked = {"--count": self.count, "--limit": self.limit is not None, "--sample": self.sample is not None}
        together = [name for name, is_asked in asked.items() if is_asked]
        if len(together) > 1:
            raise typer.BadParameter("they do not go together; choose one.", param_hint=" and ".join(together))
        if self.count and self.out is not None:
            raise typer.BadParameter(
                "counting lists no pairs that --out could hold; leave one out.", param_hint="--count"
            )
        if together and self.out is not None and is_folder(self.out):
            raise typer.BadParameter(
                "a folder of pairs holds all of them; name a .parquet or .csv file with --out instead.",
                param_hint=together[0],
            )
        try:
            bytes_allowed(self.memory_limit)
        except ValueError as error:
            raise typer.BadParameter(
                f"'{self.memory_limit}' is not a size; give one such as '2 GB'.", param_hint="--memory-limit"
            ) from error


@taking(wishes=Wishes, reading=Reading, request=Request)
def pairs(wishes: Wishes, reading: Reading, request: Request) -> None:
    """Find every comparable pair of people in a table, and print them."""
    from rich.console import Console

    from likewise.cli._showing import show_findings

    console = Console(stderr=True, quiet=request.quiet, markup=False, highlight=False)
    file = str(reading.data)
    if request.out is not None:
        check_target(request.out, reading.data)
    with working(console, "Reading"):
        frame, notes = reading.read()
    names = ColumnNames(tuple(frame.column_names), file)
    scores = names.find_all("--scores", request.scores)
    roles = choose_roles(keep_apart(wishes, scores, names), frame, file)
    rule = choose_rule(wishes, roles, frame, file)
    say(console, *notes, ROLES_TITLE, *describe_roles(roles, scores))
    say_rule(console, rule, roles)
    with working(console, "Coding"):
        table = roles.learn(frame).encode(frame)
    rule.check(table)
    how: dict[str, Any] = {
        "count": request.count,
        "limit": request.limit,
        "sample": request.sample,
        "seed": request.seed,
        "engine": request.engine.value,
    }
    question = record_question(reading.data, roles, rule, how)
    with ExitStack() as stack:
        write: Callable[[ComparablePairs], None] = _write_nowhere
        if request.out is not None and is_folder(request.out):
            findings = search_into(console, table, rule, request.out, request.engine.value, request.memory_limit)
        else:
            if request.out is not None:
                write = stack.enter_context(open_target(request.out, frame, roles, question))
            findings = search(console, table, rule, write, memory_limit=request.memory_limit, **how)
    if request.as_json:
        out = None if request.out is None else str(request.out)
        typer.echo(json.dumps(record_findings(findings, question, frame, roles, out=out)))
        return
    screen = Console(markup=False, highlight=False, emoji=False)
    screen.print(show_findings(findings, frame, roles, file, screen.width))
    if findings.n_total == 0:
        screen.print(one_line(name_options(explain_no_pairs(rule, table, roles.label))))
    if request.out is not None:
        say(console, f"The pairs are in {request.out}.")


def _write_nowhere(pairs: ComparablePairs) -> None:
    """Be the writer when no file was asked for."""


def say_rule(console: Console, rule: Comparability, roles: Roles) -> None:
    """Put the rule on stderr, a sentence long enough to be broken where the terminal ends."""
    console.print("", one_line(rule.describe(roles)), "", sep="\n")


def say(console: Console, *lines: str) -> None:
    """Put words on stderr, one line each."""
    for line in lines:
        console.print(one_line(line), soft_wrap=True)
