"""``likewise pairs``: read a file, find its comparable pairs, write and show them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from likewise.cli import _arguments as given
from likewise.cli._choosing import Wishes, choose_roles, choose_rule
from likewise.cli._reading import read_table
from likewise.cli._record import record_findings, record_question
from likewise.cli._searching import search, working
from likewise.cli._text import one_line
from likewise.cli._wording import explain_none
from likewise.cli._writing import check_target, open_target
from likewise.comparable import ComparablePairs

if TYPE_CHECKING:
    from rich.console import Console

ROLES_TITLE: Final = "How the columns are taken (to change it: --discrete, --continuous, --must-match, --ignore, ...):"


def pairs(
    data: given.Data,
    label: given.Label,
    sensitive: given.Sensitive = None,
    discrete: given.Discrete = None,
    continuous: given.Continuous = None,
    ordinal: given.Ordinal = None,
    must_match: given.MustMatch = None,
    ignore: given.Ignore = None,
    row_id: given.RowId = None,
    bins: given.Bins = None,
    missing: given.Missing = given.REFUSE,
    encoding: given.Encoding = "utf-8",
    delimiter: given.Delimiter = None,
    decimal: given.Decimal = None,
    max_discrete_changes: given.MaxDiscreteChanges = 1,
    max_continuous_shift: given.MaxContinuousShift = given.USUAL_CONTINUOUS_SHIFT,
    max_ordinal_shift: given.MaxOrdinalShift = given.USUAL_ORDINAL_SHIFT,
    sensitive_differs: given.SensitiveDiffers = given.Differs.ANY,
    out: given.Out = None,
    count: given.Count = False,
    limit: given.Limit = None,
    sample: given.Sample = None,
    seed: given.Seed = 0,
    engine: given.Engine = given.EngineChoice.AUTO,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> None:
    """Find every comparable pair of people in a table."""
    wishes = Wishes(
        label=label,
        sensitive=sensitive,
        discrete=discrete,
        continuous=continuous,
        ordinal=ordinal,
        must_match=must_match,
        ignore=ignore,
        row_id=row_id,
        bins=bins,
        missing=missing,
        max_discrete_changes=max_discrete_changes,
        max_continuous_shift=max_continuous_shift,
        max_ordinal_shift=max_ordinal_shift,
        sensitive_differs=sensitive_differs.value,
    )
    request = Request(
        data=data,
        encoding=encoding,
        delimiter=delimiter,
        decimal=decimal,
        out=out,
        count=count,
        limit=limit,
        sample=sample,
        seed=seed,
        engine=engine.value,
        as_json=as_json,
        quiet=quiet,
    )
    _fulfil(request, wishes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Which file to read, and what to do with its pairs."""

    data: Path
    encoding: str
    delimiter: str | None
    decimal: str | None
    out: Path | None
    count: bool
    limit: int | None
    sample: int | None
    seed: int
    engine: str
    as_json: bool
    quiet: bool

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


def _fulfil(request: Request, wishes: Wishes) -> None:
    """Do what was asked, and print it."""
    from rich.console import Console

    from likewise.cli._showing import show_findings

    console = Console(stderr=True, quiet=request.quiet, markup=False, highlight=False)
    file = str(request.data)
    if request.out is not None:
        check_target(request.out, request.data)
    with working(console, "Reading"):
        frame, notes = read_table(
            request.data, encoding=request.encoding, delimiter=request.delimiter, decimal=request.decimal
        )
    roles = choose_roles(wishes, frame, file)
    rule = choose_rule(wishes, roles, frame, file)
    _say(console, *notes, ROLES_TITLE, *roles.describe().splitlines(), "", rule.describe(roles), "")
    with working(console, "Coding"):
        table = roles.learn(frame).encode(frame)
    rule.check(table)
    how: dict[str, Any] = {
        "count": request.count,
        "limit": request.limit,
        "sample": request.sample,
        "seed": request.seed,
        "engine": request.engine,
    }
    question = record_question(request.data, roles, rule, how)
    with ExitStack() as stack:
        write: Callable[[ComparablePairs], None] = _write_nowhere
        if request.out is not None:
            write = stack.enter_context(open_target(request.out, frame, roles, question))
        findings = search(console, table, rule, write, **how)
    if request.as_json:
        out = None if request.out is None else str(request.out)
        typer.echo(json.dumps(record_findings(findings, question, frame, roles, out=out)))
        return
    screen = Console(markup=False, highlight=False, emoji=False)
    screen.print(show_findings(findings, frame, roles, file, screen.width))
    if findings.n_total == 0:
        screen.print(one_line(explain_none(rule, table, roles)))
    if request.out is not None:
        _say(console, f"The pairs are in {request.out}.")


def _write_nowhere(pairs: ComparablePairs) -> None:
    """Be the writer when no file was asked for."""


def _say(console: Console, *lines: str) -> None:
    for line in lines:
        console.print(one_line(line), soft_wrap=True)
