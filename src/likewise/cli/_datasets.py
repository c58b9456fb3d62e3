"""``likewise datasets``: the data sets that likewise knows."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from likewise._json import plain
from likewise.datasets import list_datasets


def datasets(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """List the data sets that likewise knows, and whether they are on this machine.

    Load one in Python with [bold]likewise.load_dataset("adult")[/bold]; it is fetched when it is not here.
    """
    records = list_datasets()
    if as_json:
        typer.echo(json.dumps({"datasets": [plain(asdict(record)) for record in records]}))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("data set", style="bold", no_wrap=True)
    table.add_column("rows", justify="right")
    for title in ("sensitive", "label 1 means", "licence"):
        table.add_column(title)
    table.add_column("here", justify="center")
    for record in records:
        here = "yes" if record.is_local else "no"
        table.add_row(
            record.name, f"{record.n_rows:,}", ", ".join(record.sensitive), record.label_meaning, record.licence, here
        )
    screen = Console(markup=False, highlight=False)
    screen.print(table)
    screen.print("\nWhat is not here is fetched when it is loaded, or read from the folder that LIKEWISE_DATA names.")
