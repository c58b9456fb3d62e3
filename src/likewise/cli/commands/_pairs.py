"""``likewise pairs``: find the comparable pairs of a table, write and show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from likewise._checks import parameter
from likewise._format import one_line
from likewise._memory import bytes_allowed
from likewise.cli import _options as shared
from likewise.cli._columns import ROLES_HEADING, ColumnNames, ColumnOptions, describe_roles
from likewise.cli._console import (
    open_messages,
    print_json,
    print_result,
    progress_bar,
    say,
    say_rule,
    working,
)
from likewise.cli._options import COLUMNS, LARGE, OUTPUT, option, takes
from likewise.cli._outputs import check_table_target, is_folder, open_pairs
from likewise.cli._tables import TableFile
from likewise.cli.commands._findings import (
    Findings,
    FindingsTally,
    findings_of,
    record_findings,
    record_question,
    show_findings,
)
from likewise.comparable import (
    Comparability,
    ComparablePairs,
    count_pairs,
    explain_no_pairs,
    explain_wide_limits,
    iter_pairs,
    read_pairs,
    sample_pairs,
    write_pairs,
)
from likewise.schema import CodedTable

if TYPE_CHECKING:
    from rich.console import Console

# one line a paragraph: the terminal's width decides where they break
HELP: Final = """Find all comparable pairs of people in a table.

Two people are [bold]comparable[/bold] (a matched pair) when they have the same label (where there are labels) and \
nearly the same features, but differ in a sensitive attribute. A model that scores them differently needs a reason.

[bold]Examples[/bold]

  likewise pairs people.csv --label hired --sensitive race,sex

  likewise pairs people.csv --label hired --sensitive age --bins age=4

  likewise pairs people.csv --label hired --sensitive sex --limits "income=5000,age=10 %,applied=30 days"

  likewise pairs people.csv --label hired --sensitive sex --out pairs.parquet

  likewise pairs people.parquet --label hired --sensitive sex --out pairs/ --memory-limit "2 GB"

Options that take COLUMNS accept several, separated by commas or by repeating the option; a name that contains a comma \
is given on its own. In a CSV file an empty cell, NA, N/A, NaN, nan, null and NULL are missing values; any other text, \
such as ?, is a category. Codes are read as text (see --text). Results go to stdout, all other messages to stderr. \
The exit code is 0 on success, also without any pairs, and 2 on invalid arguments or an unreadable file.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsOptions:
    """Which pairs to list, how to search, and where to write them."""

    scores: list[str] | None = option(None, COLUMNS, "COLUMNS", "Scores, as for likewise audit; not matched on.")
    out: Path | None = option(
        *(None, OUTPUT, "FILE|FOLDER"),
        "Write the pairs to a .parquet or .csv file; rows count from 0. A name without an ending is a folder of "
        "Parquet files, for very many pairs: repeat the same command to resume a run that was stopped.",
        names="--out -o",
    )
    count: bool = option(False, OUTPUT, "", "Only count: fast, even with billions of pairs.")
    limit: int | None = option(None, OUTPUT, "N", "Stop after the first N pairs.", min=0)
    sample: int | None = option(None, OUTPUT, "N", "Draw N pairs at random.", min=0)
    seed: int = option(0, OUTPUT, "S", "Random seed of --sample.", min=0)
    memory_limit: str | None = option(
        *(None, LARGE, "SIZE"),
        "Memory for the search, such as '500 MB'; by default 4 GB, or half of the free memory if that is less.",
    )
    as_json: bool = shared.JSON()
    quiet: bool = shared.QUIET()

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        asked = {"--count": self.count, "--limit": self.limit is not None, "--sample": self.sample is not None}
        together = [name for name, is_asked in asked.items() if is_asked]
        if len(together) > 1:
            raise typer.BadParameter("they exclude each other; choose one.", param_hint=" and ".join(together))
        if self.count and self.out is not None:
            raise typer.BadParameter("it lists no pairs to write; leave out --count or --out.", param_hint="--count")
        if together and self.out is not None and is_folder(self.out):
            raise typer.BadParameter(
                "a folder holds all pairs; name a .parquet or .csv file with --out instead.", param_hint=together[0]
            )
        try:
            bytes_allowed(self.memory_limit)
        except ValueError as error:
            raise typer.BadParameter(
                f"'{self.memory_limit}' is not a size; give one such as '2 GB'.", param_hint="--memory-limit"
            ) from error

    def search_settings(self) -> dict[str, Any]:
        """The settings that go into the record."""
        return {"count": self.count, "limit": self.limit, "sample": self.sample, "seed": self.seed}


@takes(columns=ColumnOptions, source=TableFile, options=PairsOptions)
def pairs(columns: ColumnOptions, source: TableFile, options: PairsOptions) -> None:
    """Read, search, write and print."""
    console = open_messages(options.quiet)
    file = str(source.data)
    if options.out is not None:
        check_table_target(options.out, source.data)
    with working(console, "Reading"):
        frame, notes, _ = source.read(columns.named(*options.scores or []))
    names = ColumnNames(tuple(frame.column_names), file)
    scores = names.find_all("--scores", options.scores)
    roles = columns.without(scores, names).roles(frame, file)
    rule = columns.rule(frame, file)
    say(console, *notes, ROLES_HEADING, *describe_roles(roles, scores))
    with working(console, "Encoding"):
        schema = roles.learn(frame)
        table = schema.encode(frame, [0] * len(frame) if roles.label is None else None)
    rule.check(table)
    say_rule(console, rule, schema)
    say(console, *explain_wide_limits(rule, table))
    if rule.asks_more:
        asked = " and ".join(map(parameter, rule.asks_more))
        say(console, f"These pairs are found without {asked}, by which an audit leaves out some.")
    question = record_question(source.data, roles, rule, options.search_settings())
    if options.out is not None and is_folder(options.out):
        findings = search_into_folder(console, table, rule, options.out, options)
    else:
        target = nullcontext(_discard) if options.out is None else open_pairs(options.out, frame, roles, question)
        with target as write:
            findings = search(console, table, rule, write, options)
    if options.as_json:
        out = None if options.out is None else str(options.out)
        print_json(record_findings(findings, question, frame, roles, out=out))
        return
    print_result(lambda width: show_findings(findings, frame, roles, file, width))
    if findings.n_total == 0:
        print_result(lambda _: one_line(explain_no_pairs(rule, table, roles.label)))
    if options.out is not None:
        say(console, f"The pairs are in {options.out}.")


def _discard(pairs: ComparablePairs) -> None:
    """Write no file."""


def search(
    console: Console,
    table: CodedTable,
    rule: Comparability,
    write: Callable[[ComparablePairs], None],
    options: PairsOptions,
) -> Findings:
    """Count, sample or list the pairs of a table; listed and sampled ones are written."""
    if options.count:
        with working(console, "Counting"):
            return findings_of(count_pairs(table, rule, memory_limit=options.memory_limit), table)
    tally = FindingsTally(table, rule)
    if options.sample is not None:
        with working(console, "Sampling"):
            sampled = sample_pairs(
                table, rule, n=options.sample, random_state=options.seed, memory_limit=options.memory_limit
            )
        tally.add(sampled)
        write(sampled)
        return tally.findings(sampled.n_total)
    n_found = 0
    for found in _follow(console, iter_pairs(table, rule, memory_limit=options.memory_limit), len(table)):
        room = len(found) if options.limit is None else options.limit - n_found
        pairs = replace(found, left=found.left[:room], right=found.right[:room])
        tally.add(pairs)
        write(pairs)
        if len(found) > room:
            return tally.findings(None)
        n_found += len(found)
    return tally.findings(n_found)


def search_into_folder(
    console: Console, table: CodedTable, rule: Comparability, folder: Path, options: PairsOptions
) -> Findings:
    """Write all pairs that a folder does not have yet, and sum up what is in it."""
    with progress_bar(console) as progress:
        task = progress.add_task("Searching", total=len(table))

        def show(so_far: dict[str, int]) -> None:
            written = f"{so_far['n_pairs']:,} pairs written"
            progress.update(task, completed=so_far["n_rows_done"], description=written)

        n_pairs = write_pairs(table, rule, folder, progress=show, memory_limit=options.memory_limit)
    tally = FindingsTally(table, rule)
    for pairs in _follow(console, read_pairs(folder, table, rule), len(table)):
        tally.add(pairs)
    return tally.findings(n_pairs)


def _follow(console: Console, chunks: Iterable[ComparablePairs], n_rows: int) -> Iterator[ComparablePairs]:
    """Pass pairs on and show the progress of the search: they come ordered by their left row."""
    n_found = 0
    with progress_bar(console) as progress:
        task = progress.add_task("Searching", total=n_rows)
        for pairs in chunks:
            n_found += len(pairs)
            if len(pairs):
                progress.update(task, completed=int(pairs.left[-1]) + 1, description=f"{n_found:,} pairs found")
            yield pairs
