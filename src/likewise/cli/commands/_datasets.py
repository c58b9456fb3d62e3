"""``likewise datasets``: the data sets that likewise can load."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Final

import typer

from likewise._json import plain
from likewise.cli._console import plain_table, print_json, print_result
from likewise.datasets import list_datasets

HELP: Final = """List the data sets that likewise can load, and whether they are on this machine.

Load one in Python with [bold]likewise.load_dataset("adult")[/bold]; it is downloaded if it is not here.
"""


def datasets(
    as_json: Annotated[
        bool, typer.Option("--json", metavar="", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Print the list."""
    records = list_datasets()
    if as_json:
        print_json({"datasets": [plain(asdict(record)) for record in records]})
        return
    table = plain_table()
    table.add_column("data set", style="bold", no_wrap=True)
    table.add_column("rows", justify="right")
    for title in ("sensitive", "label 1 means", "licence"):
        table.add_column(title)
    table.add_column("here", justify="center")
    for record in records:
        cells = (", ".join(record.sensitive), record.label_meaning, record.licence, "yes" if record.is_local else "no")
        table.add_row(record.name, f"{record.n_rows:,}", *cells)
    print_result(lambda _: table)
    typer.echo("\nOthers are downloaded when they are loaded, or read from the folder that LIKEWISE_DATA names.")
