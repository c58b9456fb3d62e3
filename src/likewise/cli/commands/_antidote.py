"""``likewise antidote``: fit a generator to a table, generate antidotes, write and show them."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import typer
from numpy.typing import NDArray

from likewise._files import KIND_OF_MODELS, check_folder, remove_folder
from likewise._folders import read_about
from likewise._format import count_of
from likewise._json import plain
from likewise._version import __version__
from likewise.cli import _options as shared
from likewise.cli._columns import NamedColumns
from likewise.cli._console import is_watched, open_messages, print_json, print_result, progress_bar, say, working
from likewise.cli._options import COLUMNS, OUTPUT, option, takes
from likewise.cli._outputs import add_provenance, check_table_target, is_folder, write_antidotes
from likewise.cli._tables import PARQUET_ENDINGS, TableFile, is_csv
from likewise.cli.commands._findings import record_antidotes, record_parts, record_question, show_antidotes
from likewise.cli.commands._generators import (
    GeneratorColumns,
    GeneratorOptions,
    check_columns,
    choose_rows,
    drop_scores,
    get_generator,
    refuse_none,
)
from likewise.comparable import Comparability
from likewise.exceptions import FewAntidotes, TableFileError

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from likewise.generation import Antidotes
    from likewise.generation._internal import BaseGenerator, TableStream

HELP: Final = """Generate antidotes: for each person, synthetic comparable records with a different sensitive attribute.

An antidote has the same label and nearly the same features as its source, and differs in a sensitive attribute. A \
model that is trained on people and antidotes learns that such differences should not matter.

[bold]Examples[/bold]

  likewise antidote people.csv --label hired --sensitive race --ratio 0.5 --out augmented.parquet

  likewise antidote people.csv --label hired --sensitive race,sex --rounds 2 --only --out antidotes.csv

  likewise antidote people.parquet --label hired --sensitive race --ratio 0.5 --out antidotes

  likewise antidote people.parquet --load generator --out antidotes

The file has the input rows, then the antidotes, and three more columns: is_antidote, source_row (the row that an \
antidote was generated from, counted from 0) and antidote_round; an underscore is added to a name that the data \
already have. A .csv file gets ignored and identifying columns back as they stand in the input, and cells that begin \
like a formula too, unless --defuse-formulas is given. An --out without an ending is a folder, for tables of any \
length: it gets only the antidotes, in Parquet files, with little memory. A Parquet file, a folder of them, or a \
pattern such as 'people/*.parquet' is read in blocks of rows; the antidotes of a row depend only on its identifier \
(--row-id, or its position), the seed and the row. The folder gets its name when it is complete; repeat the same \
command to resume a run that was stopped.

Columns are named, and missing values written, as for [bold]likewise pairs[/bold]. The exit code is 0 on success and 2 \
on invalid arguments or an unreadable file.
"""
KIND: Final = "antidotes"
TRAIN_ROWS: Final = 200_000  # for tables of any length
ROWS_SHOWN: Final = 500  # from which examples are taken
ROWS_TRIED: Final = 2_000  # from which the yield of rows is estimated
CLEARLY: Final = 0.95  # of a ratio: so few rows estimate it within a few percent
WITHOUT_EFFECT: Final = ("load", "save", "device")  # options that the antidotes do not depend on


@dataclass(frozen=True, slots=True, kw_only=True)
class AntidoteOptions(GeneratorOptions):
    """How to generate antidotes, and what to do with them."""

    scores: list[str] | None = option(
        *(None, COLUMNS, "COLUMNS"),
        "Scores, as for likewise audit. They are left out, also of the output: synthetic people have no score.",
    )
    out: Path | None = option(
        *(None, OUTPUT, "FILE|FOLDER"),
        "Write the rows and their antidotes to a .parquet or .csv file, or only the antidotes to a folder.",
        names="--out -o",
    )
    only: bool = option(False, OUTPUT, "", "Write only the antidotes.")
    defuse_formulas: bool = option(
        *(False, OUTPUT, ""),
        "Write an apostrophe before cells of a .csv file that spreadsheets would run as formulas.",
    )
    as_json: bool = shared.JSON()
    quiet: bool = shared.QUIET()


@takes(columns=GeneratorColumns, source=TableFile, options=AntidoteOptions)
def antidote(columns: GeneratorColumns, source: TableFile, options: AntidoteOptions) -> None:
    """Fit, generate, write and print."""
    check_columns(columns, options)
    if options.out is None and (options.only or options.defuse_formulas):
        name = "--only" if options.only else "--defuse-formulas"
        raise typer.BadParameter("it is about a file; name one with --out.", param_hint=name)
    if options.defuse_formulas and str(options.out).lower()[-4:] != ".csv":
        raise typer.BadParameter("it is for .csv files; other files keep text as text.", param_hint="--defuse-formulas")
    if options.out is not None:
        check_table_target(options.out, source.data)
    if options.save is not None:
        check_folder(options.save, KIND_OF_MODELS, [source.data])
    generate = _into_table if options.out is None or not is_folder(options.out) else _into_folder
    generate(open_messages(options.quiet), columns, source, options)


def _into_table(console: Console, columns: GeneratorColumns, source: TableFile, options: AntidoteOptions) -> None:
    """Generate antidotes of a table that fits in memory."""
    with working(console, "Reading"):
        frame, notes, _ = source.read(columns.named(*options.scores or [], *options.loaded_numbers()))
    scores, columns, dropped = drop_scores(columns, options.scores, frame.column_names, str(source.data))
    frame = frame.drop_columns(list(scores))
    say(console, *notes, *dropped)
    generator = get_generator(console, columns, options, frame, str(source.data))
    with working(console, "Generating antidotes"):
        antidotes = generator.generate(frame, rounds=options.rounds, ratio=options.ratio, random_state=options.seed)
    refuse_none(len(antidotes), antidotes.n_raw, options.n_wanted(frame.num_rows))
    rule = generator.rule or Comparability()
    question = record_question(source.data, generator.roles, rule, options.describe(generator))
    together, _ = antidotes.append_to(frame)
    if options.out is not None:
        table = add_provenance(_with_raw_texts(together, antidotes, source, options.out), antidotes)
        table = table.slice(frame.num_rows) if options.only else table
        n_formulas = write_antidotes(options.out, table, question, defuse=options.defuse_formulas)
        if n_formulas and not options.defuse_formulas:
            say(console, _warn_of_formulas(n_formulas))
    out = None if options.out is None else str(options.out)
    record = record_antidotes(antidotes, together, question, out=out, only=options.only)
    written = None if out is None else f"{'antidotes' if options.only else 'rows and their antidotes'} are in {out}"
    _print(console, record, antidotes, together, written, options)


def _with_raw_texts(together: pa.Table, antidotes: Antidotes, source: TableFile, out: Path) -> pa.Table:
    """Return ignored and identifying columns of a CSV file as they stand there: 1.50, 007, NA."""
    import pyarrow as pa

    roles = antidotes.schema.roles
    names = [name for name in (*roles.ignored, *roles.names("row_id")) if name in together.column_names]
    if not is_csv(source.data) or out.suffix.lower() != ".csv" or not names:
        return together
    rows = np.concatenate([np.arange(antidotes.n_sources), antidotes.source])
    raw = source.open(source.data)[0].table
    for name in names:
        texts = raw.column(name).combine_chunks().take(pa.array(rows))
        together = together.set_column(together.column_names.index(name), name, texts)
    return together


def _into_folder(console: Console, columns: GeneratorColumns, source: TableFile, options: AntidoteOptions) -> None:
    """Generate antidotes of a table of any length, in blocks of rows, into a folder of Parquet files."""
    assert options.out is not None
    out, file = options.out, str(source.data)
    if options.load is None and options.train_rows is None:
        options = replace(options, train_rows=TRAIN_ROWS)
    with working(console, "Reading"):
        rows, notes = _open_rows(source, columns.named(*options.scores or [], *options.loaded_numbers()))
        if options.scores:
            names: list[str] = next((table.column_names for table in rows.tables(1)), [])
            scores, columns, dropped = drop_scores(columns, options.scores, names, file)
            rows, notes = replace(rows, left_out=scores), [*notes, *dropped]
        question = _question(rows, columns, options)
    say(console, *notes)
    if out.exists() and read_about(out, KIND).get("question") != question:
        raise TableFileError(f"'{out}' exists and was made from another request. Remove it, or choose another name.")
    generator = _fit_once(
        *(console, out, question, options),
        lambda: get_generator(console, columns, options, _training_rows(console, rows, options), file),
    )
    amount: dict[str, Any] = {"rounds": options.rounds, "ratio": None, "random_state": options.seed}
    if options.ratio is not None:
        amount["ratio"] = _scaled_ratio(console, generator, rows, options)
    found = _write_parts(console, generator, rows, out, {**amount, "about": {"question": question}})
    remove_folder(_fitted_folder(out, question), KIND_OF_MODELS)
    _check_number(found, options)
    few, together = _first_antidotes(generator, rows, amount)
    rule = generator.rule or Comparability()
    about = {"likewise": __version__, "file": file, "source": question["source"]}
    about |= {"roles": generator.roles.to_dict(), "rule": rule.to_dict(), **options.describe(generator)}
    record = record_parts(found, few, together, about, str(out))
    _print(console, record, few, together, f"antidotes are in the folder {out}", options)


def _warn_of_formulas(n: int) -> str:
    cells = f"{count_of(n, 'cell')} of the file begin{'s' if n == 1 else ''} like a formula"
    return f"{cells}: add --defuse-formulas if a spreadsheet is to open it. The data are written as they are."


def _print(
    console: Console,
    record: dict[str, Any],
    few: Antidotes,
    together: pa.Table,
    written: str | None,
    options: AntidoteOptions,
) -> None:
    if options.as_json:
        print_json(record)
        return
    print_result(lambda width: show_antidotes(record, few, together, width))
    if written is not None:
        say(console, f"The {written}.")


def _open_rows(source: TableFile, named: NamedColumns) -> tuple[TableStream, list[str]]:
    """Open Parquet files to be read in blocks; any other file is read whole."""
    from likewise.generation._internal import TableStream, open_tables

    name, exists = str(source.data).lower(), source.data.exists()
    if source.data.is_dir() or (name.endswith(PARQUET_ENDINGS) and (exists or "*" in name)):
        source.refuse_text(source.data)
        return open_tables(source.data), []
    frame, notes, text = source.read(named)
    read = [source.encoding, source.delimiter, source.decimal, *([sorted(text)] if text else [])]
    about = {**open_tables(source.data).describe()[0], "read": read}
    return TableStream(given=[frame], name=about), notes


def _question(rows: TableStream, columns: GeneratorColumns, options: GeneratorOptions) -> dict[str, Any]:
    """Return what the antidotes depend on, as plain data; a folder with another question is not continued."""
    from likewise.generation import load_generator
    from likewise.generation._internal import fingerprint

    effects = [one.name for one in fields(GeneratorOptions) if one.name not in WITHOUT_EFFECT]
    question: dict[str, Any] = plain(
        {
            "likewise": __version__,
            "source": rows.describe(),
            "wishes": {one.name: getattr(columns, one.name) for one in fields(columns)},
            "making": {name: getattr(options, name) for name in effects} | {"generator": options.kind},
            "loaded": None if options.load is None else fingerprint(load_generator(options.load, device="cpu")),
            **({"scores": rows.left_out} if rows.left_out else {}),
        }
    )
    return question


def _fit_once(
    console: Console,
    out: Path,
    question: dict[str, Any],
    options: GeneratorOptions,
    fit: Callable[[], BaseGenerator],
) -> BaseGenerator:
    """Keep a network beside the unfinished folder, so that a resumed run need not fit it again."""
    from likewise.generation import load_generator

    kept = _fitted_folder(out, question)
    if kept.is_dir():
        say(console, "The generator of the earlier run is used.")
        generator = load_generator(kept, device=options.device)
        if options.save is not None:
            generator.save(options.save)
        return generator
    generator = fit()
    if options.load is None and options.kind != "uniform":
        for other in kept.parent.iterdir():
            if other.name.startswith(f".{out.name}.") and other.suffix == kept.suffix:
                remove_folder(other, KIND_OF_MODELS)
        generator.save(kept)
    return generator


def _fitted_folder(out: Path, question: dict[str, Any]) -> Path:
    digest = hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
    return out.with_name(f".{out.name}.{digest[:16]}.learned")


def _training_rows(console: Console, rows: TableStream, options: GeneratorOptions) -> pa.Table:
    """Read the rows to fit to, or the first ones where nothing is fitted."""
    n_rows = rows.n_rows
    if not n_rows:
        raise TableFileError("There are no rows in the table. Give one with people in it.")
    if options.train_rows is None:
        return next(rows.tables(ROWS_SHOWN))
    with working(console, "Reading the training rows"):
        return _take(rows, choose_rows(n_rows, options.train_rows, options.seed))


def _take(rows: TableStream, chosen: NDArray[np.int64]) -> pa.Table:
    """Read some rows, by ascending positions."""
    import pyarrow as pa

    taken, start = [], 0
    for table in rows.tables(65_536):
        first, last = np.searchsorted(chosen, [start, start + len(table)])
        taken.append(table.take(chosen[first:last] - start))
        start += len(table)
    return pa.concat_tables(taken)


def _scaled_ratio(console: Console, generator: BaseGenerator, rows: TableStream, options: GeneratorOptions) -> float:
    """Return the ratio to request so that the given one is met although some rows have no antidotes."""
    from likewise.generation import scale_ratio

    assert options.ratio is not None
    chosen = choose_rows(rows.n_rows or 0, ROWS_TRIED, options.seed)
    row_id = generator.roles.row_id
    row_ids = chosen if row_id is None else row_id
    with working(console, "Trying some rows"):
        some = _take(rows, chosen)
        return scale_ratio(generator, some, ratio=options.ratio, random_state=options.seed, row_ids=row_ids)


def _write_parts(
    console: Console, generator: BaseGenerator, rows: TableStream, out: Path, amount: dict[str, Any]
) -> dict[str, Any]:
    """Write the folder, or return what is in it if it exists: it was made from the same question."""
    from likewise.generation import generate_parts

    if out.exists():
        return dict(read_about(out, KIND)["found"])
    with progress_bar(console) as progress, warnings.catch_warnings():
        task = progress.add_task("Generating antidotes", total=rows.n_rows)

        def show(done: dict[str, Any]) -> None:
            progress.update(task, completed=done["n_rows"], description=f"{done['n_antidotes']:,} antidotes")

        warnings.simplefilter("ignore", FewAntidotes)  # of rows that have none; more were requested of the others
        return generate_parts(generator, rows, out, **amount, progress=show if is_watched(console) else None)


def _check_number(found: dict[str, Any], options: GeneratorOptions) -> None:
    """Refuse a folder without antidotes, and warn where there are clearly fewer than requested."""
    from likewise.generation._internal import warn_of_few

    n_made, n_rows = found["n_antidotes"], found["n_sources"]
    n_wanted = options.n_wanted(n_rows)
    refuse_none(n_made, found["n_raw"], n_wanted)
    if options.ratio is not None:
        warn_of_few(n_made, n_rows, n_wanted if n_made < CLEARLY * n_wanted else 0)


def _first_antidotes(generator: BaseGenerator, rows: TableStream, amount: dict[str, Any]) -> tuple[Antidotes, pa.Table]:
    """Generate the antidotes of the first rows again, which are the same, to show some."""
    head = next(rows.tables(ROWS_SHOWN))
    row_id = generator.roles.row_id
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewAntidotes)
        few = generator.generate(head, **amount, row_ids=np.arange(len(head)) if row_id is None else row_id)
    return few, few.append_to(head)[0]
