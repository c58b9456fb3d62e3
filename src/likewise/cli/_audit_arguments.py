"""What ``likewise audit`` and ``likewise verify`` take besides, and the words that explain it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from likewise.cli._arguments import COLUMNS, LARGE, RESULT, option

AUDIT_HELP: Final = """Measure how differently a model scores comparable people, and judge it by a policy.

The scores come from a column of the table, or from a model file that scores its rows: ONNX, or scikit-learn in the \
skops format. A pickle is refused: loading one may run code that is in it.

[bold]Examples[/bold]

  likewise audit people.csv --label hired --sensitive race,sex --scores p

  likewise audit people.csv --label hired --sensitive sex --model model.onnx --policy policy.toml --out audit

  likewise audit part-*.parquet --label hired --sensitive sex --scores p --memory-limit "2 GB"

  likewise audit 'people/*.parquet' --label hired --sensitive sex --scores p --engine spark --spark-master spark://host:7077

Several files, or a folder of Parquet files, are one table, in the order given. Where there are more pairs than \
--max-pairs, all of them are still measured, one after the other (means, counts and maxima exactly, quantiles within \
0.1%), and intervals rest on a sample of that many; with --when-too-many sample, the sample is all that is measured.

A policy is a TOML file of limits, such as max_positive_gap_mean = 0.2, max_flip_rate = 0.05 or min_roc_auc = 0.8; a \
limit is met when the whole confidence interval meets it. With --out there will be audit.json, report.html, audit.md, \
junit.xml, worst_pairs.parquet, worst_pairs.csv and review_sheet.csv in that folder; [bold]likewise verify[/bold] \
computes audit.json anew. Columns are named, and missing values written, as for [bold]likewise pairs[/bold].

The exit code is 0 when the policy is met or there is none; 1 when it is not met; 2 when the request or a file is at \
fault; 3 when it cannot be told: too few pairs, or none (then no file is written), or an interval that reaches to both \
sides of a limit; 4 when the machine fails, as without memory; 130 when it was interrupted.
"""

VERIFY_HELP: Final = """Compute an audit anew from its record and the data, and say whether every number agrees.

[bold]Example[/bold]

  likewise verify audit/audit.json people.csv --model model.onnx

Numbers agree when they are equal within one part in a billion. The exit code is 0 when all agree, 1 when \
something does not, also when the data or the model is a different file; 2 when it cannot be checked; 4 when the \
machine fails; 130 when it was interrupted.
"""

SCORES: Final = "The scores"
DECISION: Final = "What is measured"


class TooManyChoice(StrEnum):
    """What to do with more pairs than can be kept."""

    STREAM = "stream"
    SAMPLE = "sample"


class TaskChoice(StrEnum):
    """What the scores are."""

    AUTO = "auto"
    BINARY = "binary"
    MULTICLASS = "multiclass"
    REGRESSION = "regression"


DataFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="A .csv, .tsv, .csv.gz or .parquet file, one person per row; several files with the same columns; or a "
        "folder of Parquet files.",
        show_default=False,
    ),
]
ScoreColumns = Annotated[
    list[str] | None,
    option(
        "--scores",
        panel=SCORES,
        metavar="COLUMNS",
        help="The column with the probability of the positive label; with more than two labels, one column per "
        "label, in their order. It is never compared.",
        show_default=False,
    ),
]
ModelPath = Annotated[
    Path | None,
    option(
        "--model",
        panel=SCORES,
        metavar="FILE",
        help="A model that scores the rows: .onnx or .skops. Each needs the extra of its name.",
        show_default=False,
    ),
]
Features = Annotated[
    list[str] | None,
    option(
        "--features",
        panel=SCORES,
        metavar="COLUMNS",
        help="For a model that names no columns: those it takes, in its order. By default all but the label and the "
        "row id.",
        show_default=False,
    ),
]
Trust = Annotated[
    list[str] | None,
    option(
        "--trust",
        panel=SCORES,
        metavar="TYPE",
        help="A type in a .skops file that you have looked at and trust, such as package.Class. May be repeated.",
        show_default=False,
    ),
]
SchemaPath = Annotated[
    Path | None,
    option(
        "--schema",
        panel=COLUMNS,
        metavar="FILE",
        help="What was learned from the training rows (Schema.save in Python): roles, and the ranges that shifts are "
        "shares of.",
        show_default=False,
    ),
]
Task = Annotated[
    TaskChoice,
    option(
        "--task",
        panel=DECISION,
        metavar="TASK",
        help="What the scores are: binary, multiclass or regression; auto goes by the label.",
    ),
]
Positive = Annotated[
    str | None,
    option(
        "--positive",
        panel=DECISION,
        metavar="VALUE",
        help="The label that the scores are the probability of; by default the last in order.",
        show_default=False,
    ),
]
Threshold = Annotated[
    float | None,
    option(
        "--threshold",
        panel=DECISION,
        metavar="T",
        help="The decision is yes from this score on; 0.5 by default.",
        show_default=False,
    ),
]
ApprovalRate = Annotated[
    float | None,
    option(
        "--approval-rate",
        panel=DECISION,
        metavar="SHARE",
        help="Instead of a threshold: the share of people to say yes to.",
        show_default=False,
    ),
]
Scale = Annotated[
    float | None,
    option(
        "--scale",
        panel=DECISION,
        metavar="AMOUNT",
        help="The unit of the gaps between predicted amounts; by default the standard deviation of the outcomes.",
        show_default=False,
    ),
]
GapLimit = Annotated[
    float, option("--gap-limit", panel=DECISION, metavar="G", help="Also give the share of pairs with a gap above it.")
]
NoBaseline = Annotated[
    bool, option("--no-baseline", panel=DECISION, help="Leave out pairs that are equal in the sensitive columns.")
]
Resamples = Annotated[
    int,
    option("--resamples", panel=DECISION, metavar="N", min=0, help="Draws of the bootstrap; 0 for no intervals."),
]
Confidence = Annotated[
    float, option("--confidence", panel=DECISION, metavar="C", help="The confidence of the intervals, two-sided.")
]
MaxPairs = Annotated[
    int,
    option("--max-pairs", panel=LARGE, metavar="N", min=1, help="How many pairs to keep; see --when-too-many."),
]
TooMany = Annotated[
    TooManyChoice,
    option(
        "--when-too-many",
        panel=LARGE,
        metavar="HOW",
        help="With more pairs than that: stream measures all of them and keeps a sample for the intervals; sample "
        "measures the sample alone, and does not even count the others.",
    ),
]
PairsFolder = Annotated[
    Path | None,
    option(
        "--pairs",
        panel=LARGE,
        metavar="DIR",
        help="A folder that likewise pairs --out wrote of these people by this rule (with the same --scores), so that "
        "pairs need not be searched for again.",
        show_default=False,
    ),
]
MemoryLimit = Annotated[
    str | None,
    option(
        "--memory-limit",
        panel=LARGE,
        metavar="SIZE",
        help="What to work with beside the table, such as '2 GB'.",
        show_default=False,
    ),
]
AuditSeed = Annotated[
    int, option("--seed", panel=DECISION, metavar="S", min=0, help="The same seed gives the same numbers.")
]
PolicyPath = Annotated[
    Path | None,
    option("--policy", panel=RESULT, metavar="FILE", help="Limits to judge by, in TOML.", show_default=False),
]
OutFolder = Annotated[
    Path | None,
    option("--out", "-o", panel=RESULT, metavar="DIR", help="Write record and evidence there.", show_default=False),
]
Worst = Annotated[int, option("--worst", panel=RESULT, metavar="N", min=0, help="How many of the worst pairs to keep.")]
RecordPath = Annotated[Path, typer.Argument(metavar="RECORD", help="The audit.json to check.", show_default=False)]
