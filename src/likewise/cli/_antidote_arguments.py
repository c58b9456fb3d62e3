"""What ``likewise antidote`` takes besides, and the words that explain it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from likewise.cli._arguments import COLUMNS, RESULT, option

ANTIDOTE_HELP: Final = """Make antidotes of people: comparable ones with other sensitive values, to train a model on.

An antidote of a person has the same label and nearly the same features, and differs in a sensitive column. A model \
that is trained on people and antidotes learns that such differences should not matter.

[bold]Examples[/bold]

  likewise antidote people.csv --label hired --sensitive race --ratio 0.5 --out augmented.parquet

  likewise antidote people.csv --label hired --sensitive race,sex --rounds 2 --only --out antidotes.csv

  likewise antidote people.parquet --label hired --sensitive race --ratio 0.5 --out antidotes

  likewise antidote people.parquet --load generator --out antidotes

The file has the rows that were read, then the antidotes, and three more columns: is_antidote, source_row (the row \
that an antidote was made of, counted from 0) and antidote_round; where the data have such a name, the new column gets \
an underscore. An --out without an ending is a folder, for tables of any length: it gets the antidotes alone, in \
Parquet parts, with little memory. A Parquet file, a folder of them, or a pattern such as 'people/*.parquet' is read \
some rows at a time, and the antidotes of a row depend on its id (--row-id, or its position), the seed and the row \
alone. The folder has its name when it is whole; a run that was stopped continues where it was when the same command \
is given again.

Columns are named, and missing values written, as for [bold]likewise pairs[/bold]. The exit code is 0 \
when done and 2 when the request or a file is at fault.
"""

MAKING: Final = "How antidotes are made"


class GeneratorChoice(StrEnum):
    """What makes the antidotes."""

    GIBBS = "gibbs"
    UNIFORM = "uniform"
    ADVERSARIAL = "adversarial"


Generator = Annotated[
    GeneratorChoice,
    option(
        "--generator",
        panel=MAKING,
        metavar="NAME",
        help="gibbs, uniform or adversarial. gibbs learns how columns depend on each other; adversarial learns from "
        "comparable pairs, as in the paper; both need the extra torch. uniform changes columns at random.",
    ),
]
Ratio = Annotated[
    float | None,
    option(
        "--ratio",
        panel=MAKING,
        metavar="R",
        help="How many antidotes to make per row: 0.5 for half as many as there are rows. Into a folder, the number is "
        "met within a few percent: some rows give none, so 2,000 are tried first, to learn how many to ask of each.",
        show_default=False,
    ),
]
Rounds = Annotated[
    int | None,
    option(
        "--rounds",
        panel=MAKING,
        metavar="N",
        min=1,
        help="Instead of a ratio: how often to ask for each row and each other combination of sensitive values; once, "
        "if neither is given.",
        show_default=False,
    ),
]
Iterations = Annotated[
    int | None,
    option(
        "--iterations",
        panel=MAKING,
        metavar="N",
        min=1,
        help="How many steps a network is trained for, if not its usual number. The adversarial one takes half an hour "
        "without a GPU.",
        show_default=False,
    ),
]
TrainRows = Annotated[
    int | None,
    option(
        "--train-rows",
        panel=MAKING,
        metavar="N",
        min=1,
        help="Learn from at most this many rows, drawn at random; by default from all, or from 200,000 where --out is "
        "a folder.",
        show_default=False,
    ),
]
Load = Annotated[
    Path | None,
    option(
        "--load",
        panel=MAKING,
        metavar="FOLDER",
        help="Learn nothing, and use a generator that was saved; it knows columns and rule.",
        show_default=False,
    ),
]
Save = Annotated[
    Path | None,
    option("--save", panel=MAKING, metavar="FOLDER", help="Keep what was learned, for --load.", show_default=False),
]
MakingSeed = Annotated[
    int, option("--seed", panel=MAKING, metavar="S", min=0, help="The same seed makes the same antidotes.")
]
Device = Annotated[
    str,
    option("--device", panel=MAKING, metavar="NAME", help="Where a network computes: auto, cpu, cuda, cuda:1, ..."),
]
Scores = Annotated[
    list[str] | None,
    option(
        "--scores",
        panel=COLUMNS,
        metavar="COLUMNS",
        help="Columns of scores, as for likewise audit. They are left out, also of the result: a person who is made "
        "up has no score.",
        show_default=False,
    ),
]
OutTable = Annotated[
    Path | None,
    option(
        "--out",
        "-o",
        panel=RESULT,
        metavar="FILE|FOLDER",
        help="Write the rows and their antidotes to a .parquet or .csv file, or the antidotes to a folder.",
        show_default=False,
    ),
]
Only = Annotated[bool, option("--only", panel=RESULT, help="Write the antidotes alone.")]
