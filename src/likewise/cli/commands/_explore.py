"""``likewise explore``: read a table, score it, and serve a page to explore its pairs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from likewise.auditing._internal import PAGE_SETTINGS
from likewise.cli import _options as shared
from likewise.cli._columns import ColumnOptions
from likewise.cli._console import open_messages, say, working
from likewise.cli._explanations import scorer_of
from likewise.cli._models import ModelFile
from likewise.cli._options import option, takes
from likewise.cli._plan import AuditPlan, ScoreOptions, make_plan
from likewise.cli._tables import TableFile

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from likewise.explore import Explorer
    from likewise.explore._internal import PageServer

HELP: Final = """Open a local page to vary the rule, inspect pairs, and ask the model what-if questions.

Move the two limits and see pairs, coverage and gaps change at once; filter and sort the pairs; compare two people \
side by side; with --model, change a field of one of them and see the score move, and split gaps over the columns in \
which the two people differ; save the selection as CSV and the rule as a policy file.

[bold]Examples[/bold]

  likewise explore people.csv --label hired --sensitive race,sex --scores p

  likewise explore people.csv --label hired --sensitive sex --model model.onnx --port 8800 --no-browser

Columns, rule and scores are given as for [bold]likewise audit[/bold], and the numbers are those of an audit with the \
same rule. The page is served to this machine only (127.0.0.1), at an address with a random token that is printed on \
stdout; requests without it are refused. Only the given files are read, and none is written. Press Ctrl-C to stop.
"""
PAGE: Final = "Page"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """How the page is served."""

    port: int = option(0, PAGE, "P", "Port of the page; 0 for any free one.", min=0, max=65_535)
    no_browser: bool = option(False, PAGE, "", "Only print the address.")
    max_pairs: int = option(
        2_000_000, PAGE, "N", "Number of pairs to hold in memory; the limits cannot be moved beyond it.", min=1
    )
    quiet: bool = shared.QUIET()


@takes(columns=ColumnOptions, source=TableFile, asked=ScoreOptions, page=PageOptions)
def explore(columns: ColumnOptions, source: TableFile, asked: ScoreOptions, page: PageOptions) -> None:
    """Find the pairs, and serve the page until Ctrl-C."""
    from likewise.explore._internal import PageServer

    console = open_messages(page.quiet)
    with PageServer(page.port) as server:  # before any work is done
        _serve(server, console, columns, source, asked, page)


def _serve(
    server: PageServer,
    console: Console,
    columns: ColumnOptions,
    source: TableFile,
    asked: ScoreOptions,
    page: PageOptions,
) -> None:
    with working(console, "Reading"):
        frame, notes, text = source.read(columns.named(*asked.numbers()))
        model = asked.load_model()
    plan = make_plan(console, notes, columns, asked, frame, str(source.data), text=text)
    with working(console, "Finding comparable pairs"):
        explorer = _build(plan, frame, model, source, page)
    say(console, explorer.reach.why, "The page is served to this machine only, at this address (Ctrl-C to stop):")
    server.run(explorer, opens_browser=not page.no_browser, announce=typer.echo)
    say(console, "The page is closed.")


def _build(plan: AuditPlan, frame: pa.Table, model: ModelFile | None, source: TableFile, page: PageOptions) -> Explorer:
    from likewise.explore import Explorer

    return Explorer(
        plan.scores_of(frame, model),
        frame,
        plan.labels(frame),
        roles=plan.roles,
        rule=plan.rule,
        model=None if model is None else scorer_of(plan, frame, model),
        title=source.data.name,
        origin=None if model is None else f"the model in {Path(model.file).name}",
        **{name: getattr(plan.settings, name) for name in PAGE_SETTINGS} | {"max_pairs": page.max_pairs},
    )
