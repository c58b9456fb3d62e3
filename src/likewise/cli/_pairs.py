"""``likewise pairs``: every comparable pair of a table in a file."""

from __future__ import annotations

from typing import Final

from likewise.cli import _arguments as given
from likewise.cli._choosing import Wishes
from likewise.cli._searching import Request, fulfil

# one line a paragraph: the terminal's width decides where they break
PAIRS_HELP: Final = """Find every comparable pair of people in a table.

Two people are [bold]comparable[/bold] when they have the same label and nearly the same features, but differ in a \
sensitive column. A model that scores the two of them differently has some explaining to do.

[bold]Examples[/bold]

  likewise pairs people.csv --label hired --sensitive race,sex

  likewise pairs people.csv --label hired --sensitive age --bins age=4 --out pairs.parquet

Options that name columns take several, joined by commas or by repeating the option; a column with a comma in its name \
is given on its own. In a CSV file an empty cell, NA, N/A, NaN, nan, null and NULL mean that a value is missing; any \
other text, such as ?, is a category. What is found goes to stdout, all other words to stderr.
"""


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
        out=out,
        count=count,
        limit=limit,
        sample=sample,
        seed=seed,
        engine=engine.value,
    )
    fulfil(request, wishes, as_json=as_json, quiet=quiet)
