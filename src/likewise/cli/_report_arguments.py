"""What ``likewise report`` takes, and the words that explain it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from likewise.cli._arguments import RESULT, option

REPORT_HELP: Final = """Write the record of an audit as a page that a person can read.

One HTML file with everything in it: it opens from disk, fetches nothing, and prints. Numbers come from the record; \
nothing is computed anew, which [bold]likewise verify[/bold] does.

[bold]Examples[/bold]

  likewise report audit/audit.json

  likewise report antidotes/audit.json --before base/audit.json --out report.html

The exit code is 0 when the page is written, and 2 when a record or the request is at fault.
"""

RecordPath = Annotated[Path, typer.Argument(metavar="RECORD", help="The audit.json to show.", show_default=False)]
BeforePath = Annotated[
    Path | None,
    option(
        "--before",
        panel=RESULT,
        metavar="FILE",
        help="The audit.json of an earlier audit of the same people, to show what changed.",
        show_default=False,
    ),
]
OutFile = Annotated[
    Path | None,
    option(
        "--out",
        "-o",
        panel=RESULT,
        metavar="FILE",
        help="Where to write the page; by default report.html beside the record.",
        show_default=False,
    ),
]
