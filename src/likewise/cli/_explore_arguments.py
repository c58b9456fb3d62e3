"""What ``likewise explore`` takes besides, and the words that explain it."""

from __future__ import annotations

from typing import Annotated, Final

from likewise.cli._arguments import option

EXPLORE_HELP: Final = """Open a page on this machine to move the rule, look at pairs, and ask the model what if.

Move the two thresholds and see pairs, coverage and gaps change at once; filter and sort the pairs; put two people \
side by side; change a field of one of them and see the score move (with --model); save the selection as CSV and the \
rule as a policy file.

[bold]Examples[/bold]

  likewise explore people.csv --label hired --sensitive race,sex --scores p

  likewise explore people.csv --label hired --sensitive sex --model model.onnx --port 8800 --no-browser

Columns, rule and scores are given as for [bold]likewise audit[/bold], and the numbers are those of an audit with the \
same rule. The page is served to this machine only (127.0.0.1), at an address with a random token that is printed on \
stdout; nobody without it gets an answer. No file is read but the given ones, and none is written. Ctrl-C ends it.
"""

PAGE: Final = "The page"

HeldPairs = Annotated[
    int,
    option(
        "--max-pairs",
        panel=PAGE,
        metavar="N",
        min=1,
        help="How many pairs to hold in memory: the thresholds end where there would be more.",
    ),
]
Port = Annotated[
    int, option("--port", panel=PAGE, metavar="P", min=0, max=65_535, help="Where to serve it; 0 for any free port.")
]
NoBrowser = Annotated[bool, option("--no-browser", panel=PAGE, help="Only print the address.")]
