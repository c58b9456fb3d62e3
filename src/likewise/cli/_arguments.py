"""What the commands take, and the words that explain it; what only an audit takes is in a file of its own."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

# one line a paragraph: the terminal's width decides where they break
PAIRS_HELP: Final = """Find every comparable pair of people in a table.

Two people are [bold]comparable[/bold] when they have the same label and nearly the same features, but differ in a \
sensitive column. A model that scores the two of them differently has some explaining to do.

[bold]Examples[/bold]

  likewise pairs people.csv --label hired --sensitive race,sex

  likewise pairs people.csv --label hired --sensitive age --bins age=4

  likewise pairs people.csv --label hired --sensitive sex --out pairs.parquet

  likewise pairs people.parquet --label hired --sensitive sex --out pairs/ --memory-limit "2 GB"

Options that name columns take several, joined by commas or by repeating the option; a column with a comma in its name \
is given on its own. In a CSV file an empty cell, NA, N/A, NaN, nan, null and NULL mean that a value is missing; any \
other text, such as ?, is a category. What is found goes to stdout, all other words to stderr. The exit code is 0 when \
done, also when there are no pairs, and 2 when the request or a file is at fault.
"""

TABLE: Final = "The table"
COLUMNS: Final = "What the columns are (inferred unless given)"
RULE: Final = "When two people are comparable"
RESULT: Final = "The result"
LARGE: Final = "Large tables"


class Differs(StrEnum):
    """How the sensitive columns of a pair differ."""

    ANY = "any"
    ALL = "all"
    NONE = "none"


class EngineChoice(StrEnum):
    """How to search."""

    AUTO = "auto"
    MEMORY = "memory"
    DUCKDB = "duckdb"
    SPARK = "spark"


def option(*names: str, panel: str, metavar: str | None = None, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, metavar=metavar, **settings)


def _columns(name: str, help_text: str) -> Any:
    return option(name, panel=COLUMNS, metavar="COLUMNS", help=help_text, show_default=False)


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="A .csv, .tsv, .csv.gz or .parquet file, one person per row.", show_default=False
    ),
]
Encoding = Annotated[
    str,
    option("--encoding", panel=TABLE, metavar="NAME", help="Text encoding of a CSV file, such as cp1252 or latin-1."),
]
Delimiter = Annotated[
    str | None,
    option(
        "--delimiter",
        panel=TABLE,
        metavar="CHAR",
        help="What separates values in a CSV file, if not a comma (or a tab, in .tsv).",
        show_default=False,
    ),
]
Decimal = Annotated[
    str | None,
    option(
        "--decimal",
        panel=TABLE,
        metavar="CHAR",
        help="What marks the decimals of a number in a CSV file, if not a point.",
        show_default=False,
    ),
]

Label = Annotated[
    str, option("--label", panel=COLUMNS, metavar="COLUMN", help="The outcome, equal in a pair.", show_default=False)
]
Sensitive = Annotated[
    list[str] | None, _columns("--sensitive", "Columns that should not matter, such as race,sex. A pair differs here.")
]
Discrete = Annotated[list[str] | None, _columns("--discrete", "Columns of categories.")]
Continuous = Annotated[list[str] | None, _columns("--continuous", "Columns of amounts.")]
Ordinal = Annotated[
    list[str] | None,
    option(
        "--ordinal",
        panel=COLUMNS,
        metavar="COLUMN=A<B<C",
        help="Categories with an order, lowest first: 'size=S<M<L'. Mind the quotes.",
        show_default=False,
    ),
]
MustMatch = Annotated[list[str] | None, _columns("--must-match", "Columns that have to be equal in a pair.")]
Scores = Annotated[
    list[str] | None, _columns("--scores", "Columns of scores, as for likewise audit. They are never compared.")
]
Ignore = Annotated[list[str] | None, _columns("--ignore", "Columns to leave out.")]
RowId = Annotated[
    str | None,
    option(
        "--row-id", panel=COLUMNS, metavar="COLUMN", help="What each row is called; never compared.", show_default=False
    ),
]
Bins = Annotated[
    list[str] | None,
    option(
        "--bins",
        panel=COLUMNS,
        metavar="COLUMN=N|EDGES",
        help="Make groups of a sensitive number: age=4 for four groups of equal size, age=25,45,65 to cut there "
        "(age=40, with its comma cuts once).",
        show_default=False,
    ),
]
Missing = Annotated[
    list[str],
    option(
        "--missing",
        panel=COLUMNS,
        metavar="POLICY",
        help="Missing amounts: refuse the file, fill in the median, or keep apart (comparable with missing only). "
        "One word, or by column: age=median.",
    ),
]

MaxDiscreteChanges = Annotated[
    int, option("--max-discrete-changes", panel=RULE, metavar="N", min=0, help="How many discrete columns may differ.")
]
MaxContinuousShift = Annotated[
    list[str],
    option(
        "--max-continuous-shift",
        panel=RULE,
        metavar="SHARE",
        help="How far apart a continuous column may be, as a share of its range. One number, or by column: age=0.05.",
    ),
]
MaxOrdinalShift = Annotated[
    list[str],
    option(
        "--max-ordinal-shift",
        panel=RULE,
        metavar="RANKS",
        help="How many ranks apart an ordinal column may be. One number, or by column.",
    ),
]
SensitiveDiffers = Annotated[
    Differs,
    option("--sensitive-differs", panel=RULE, help="Whether any, all or none of the sensitive columns differ."),
]

Out = Annotated[
    Path | None,
    option(
        "--out",
        "-o",
        panel=RESULT,
        metavar="FILE|FOLDER",
        help="Write the pairs to a .parquet or .csv file; rows count from 0. A name without an ending is a folder of "
        "Parquet parts, for very many pairs: a run that was killed continues when the same command is given again.",
        show_default=False,
    ),
]
Count = Annotated[
    bool, option("--count", panel=RESULT, help="Only count: quick, even when there are billions of pairs.")
]
Limit = Annotated[
    int | None,
    option("--limit", panel=RESULT, metavar="N", min=0, help="Stop after the first N pairs.", show_default=False),
]
Sample = Annotated[
    int | None,
    option("--sample", panel=RESULT, metavar="N", min=0, help="Draw N pairs at random.", show_default=False),
]
Seed = Annotated[int, option("--seed", panel=RESULT, metavar="S", min=0, help="The same seed draws the same sample.")]
Engine = Annotated[
    EngineChoice,
    option(
        "--engine",
        panel=LARGE,
        metavar="ENGINE",
        help="How to search: auto, memory, duckdb or spark. The pairs are the same. duckdb and spark need the extras "
        "of these names.",
    ),
]
MemoryLimit = Annotated[
    str | None,
    option(
        "--memory-limit",
        panel=LARGE,
        metavar="SIZE",
        help="How much memory the search may take, such as '500 MB'; by default 4 GB, or half of what is free.",
        show_default=False,
    ),
]
Json = Annotated[bool, option("--json", panel=RESULT, help="Print one JSON object instead of tables.")]
Quiet = Annotated[bool, option("--quiet", "-q", panel=RESULT, help="No roles, notes or progress on stderr.")]
