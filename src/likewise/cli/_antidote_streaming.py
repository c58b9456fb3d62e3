"""``likewise antidote --out FOLDER``: tables of any length, some rows at a time."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import typer
from numpy.typing import NDArray

from likewise import __version__
from likewise._json import plain
from likewise._parts import read_about
from likewise.cli._antidote_learning import (
    TRAIN_ROWS,
    Asking,
    Making,
    choose_rows,
    describe_making,
    find_scores,
    get_generator,
    refuse_nothing,
)
from likewise.cli._antidote_showing import record_stream, show_antidotes
from likewise.cli._pairs import say
from likewise.cli._reading import PARQUET_ENDINGS, Reading
from likewise.cli._searching import working
from likewise.comparable import Comparability
from likewise.exceptions import FewAntidotes, TableFileError
from likewise.generation import generate_parts, load_generator, scale_ratio
from likewise.generation._internal import TableStream, fingerprint, open_tables, warn_of_few

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from likewise.generation import Antidotes
    from likewise.generation._internal import BaseGenerator

KIND: Final = "antidotes"
ROWS_TO_SHOW: Final = 500  # of which examples are taken
ROWS_TO_TRY: Final = 2_000  # how many antidotes rows give is told from these
CLEARLY: Final = 0.95  # of a ratio: so few rows tell it within a few percent
NAMELESS: Final = ("file", "out", "load", "save", "device")  # what the antidotes do not depend on


def stream(
    console: Console,
    wishes: Asking,
    reading: Reading,
    making: Making,
    out: Path,
    *,
    scores: list[str] | None,
    as_json: bool,
) -> None:
    """Learn from some rows, make antidotes of all of them part by part, and print what came of it."""
    from rich.console import Console as Screen

    _check_folder(out)
    if making.load is None and making.train_rows is None:
        making = replace(making, train_rows=TRAIN_ROWS)
    with working(console, "Reading"):
        source, notes = _open(reading)
        if scores:
            columns: list[str] = next((table.column_names for table in source.tables(1)), [])
            left_out, wishes, told = find_scores(wishes, scores, columns, str(reading.data))
            source, notes = replace(source, left_out=left_out), [*notes, *told]
        question = _ask(source, wishes, making)
    say(console, *notes)
    _refuse_another(out, question)
    generator = _learn_once(
        console,
        out,
        question,
        lambda: get_generator(console, wishes, making, _sample(console, source, making), str(reading.data)),
        making,
    )
    amount: dict[str, Any] = {"rounds": making.rounds, "ratio": None, "random_state": making.seed}
    if making.ratio is not None:
        amount["ratio"] = _ask_more(console, generator, source, making)
    found = _make_parts(console, generator, source, out, {**amount, "about": {"question": question}})
    shutil.rmtree(_kept(out), ignore_errors=True)
    _check_made(found, making.ratio)
    few, together = _make_examples(generator, source, amount)
    rule = generator.comparability or Comparability()
    about = {"likewise": __version__, "file": str(reading.data), "source": question["source"]}
    about |= {"roles": generator.roles.to_dict(), "rule": rule.to_dict(), **describe_making(making, generator)}
    record = record_stream(found, few, together, about, str(out))
    if as_json:
        typer.echo(json.dumps(record, allow_nan=False))
        return
    screen = Screen(markup=False, highlight=False, emoji=False)
    screen.print(show_antidotes(record, few, together, generator.roles, screen.width))
    say(console, f"The antidotes are in the folder {out}.")


def _ask_more(console: Console, generator: BaseGenerator, source: TableStream, making: Making) -> float:
    """Find what to ask of each row, so that the ratio is met although some rows give none."""
    assert making.ratio is not None
    chosen = choose_rows(source.n_rows or 0, ROWS_TO_TRY, making.seed)
    row_id = generator.roles.row_id
    with working(console, "Trying some rows"):
        return scale_ratio(
            generator,
            _take(source, chosen),
            ratio=making.ratio,
            random_state=making.seed,
            row_ids=chosen if row_id is None else row_id,
        )


def _make_parts(
    console: Console, generator: BaseGenerator, source: TableStream, out: Path, asked: dict[str, Any]
) -> dict[str, Any]:
    """Write the folder, or say what is in it if it is there: it was made of the same question."""
    if out.exists():
        return dict(read_about(out, KIND)["found"])
    with _following(console, source.n_rows) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", FewAntidotes)  # of rows that give none; others were asked for more
        return generate_parts(generator, source, out, **asked, progress=progress)


def _check_made(found: dict[str, Any], ratio: float | None) -> None:
    """Refuse to call nothing a success, and say when there are clearly fewer than asked for."""
    n_made, n_rows = found["n_antidotes"], found["n_sources"]
    n_wanted = n_rows if ratio is None else round(ratio * n_rows)
    refuse_nothing(n_made, found["n_raw"], n_wanted)
    if ratio is not None:
        warn_of_few(n_made, n_rows, n_wanted if n_made < CLEARLY * n_wanted else 0)


def _make_examples(generator: BaseGenerator, source: TableStream, amount: dict[str, Any]) -> tuple[Antidotes, pa.Table]:
    """Make antidotes of the first rows once more: they are the same again."""
    head = next(source.tables(ROWS_TO_SHOW))
    row_id = generator.roles.row_id
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewAntidotes)
        few = generator.generate(head, **amount, row_ids=np.arange(len(head)) if row_id is None else row_id)
    return few, few.append_to(head)[0]


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise TableFileError(f"--out is '{out}', which is a file. Name a folder, or a .parquet or .csv file.")
    if not out.parent.is_dir():
        raise TableFileError(f"--out is '{out}', but there is no folder '{out.parent}'. Make it first.")
    if not os.access(out.parent, os.W_OK):
        raise TableFileError(f"--out is '{out}', but '{out.parent}' may not be written to. Choose another.")


def _open(reading: Reading) -> tuple[TableStream, list[str]]:
    """Take Parquet as it comes, of one file or of several; any other file is read as a whole."""
    name, is_there = str(reading.data).lower(), reading.data.exists()
    if reading.data.is_dir() or (name.endswith(PARQUET_ENDINGS) and (is_there or "*" in name)):
        return open_tables(reading.data), []
    frame, notes = reading.read()
    about = {**open_tables(reading.data).describe()[0], "read": [reading.encoding, reading.delimiter, reading.decimal]}
    return TableStream(given=[frame], name=about), notes


def _ask(source: TableStream, wishes: Asking, making: Making) -> dict[str, Any]:
    """Say in plain data what the folder is made of, before anything is learned."""
    asked = {name: getattr(making, name) for name in making.__dataclass_fields__ if name not in NAMELESS}
    question: dict[str, Any] = plain(
        {
            "likewise": __version__,
            "source": source.describe(),
            "wishes": {name: getattr(wishes, name) for name in wishes.__dataclass_fields__},
            "making": asked,
            "loaded": None if making.load is None else fingerprint(load_generator(making.load, device="cpu")),
            **({"scores": source.left_out} if source.left_out else {}),
        }
    )
    return question


def _refuse_another(out: Path, question: dict[str, Any]) -> None:
    """Say before anything is learned that the folder is there, and holds something else."""
    if out.exists() and read_about(out, KIND).get("question") != question:
        raise TableFileError(f"'{out}' is there already, made of something else. Remove it, or give another name.")


def _sample(console: Console, source: TableStream, making: Making) -> pa.Table:
    """Read the rows to learn from, or the first ones where nothing is learned."""
    n_rows = source.n_rows
    if not n_rows:
        raise TableFileError("There are no rows in the table. Give one with people in it.")
    if making.train_rows is None:
        return next(source.tables(ROWS_TO_SHOW))
    chosen = choose_rows(n_rows, making.train_rows, making.seed)
    with working(console, "Reading the rows to learn from"):
        return _take(source, chosen)


def _take(source: TableStream, chosen: NDArray[np.int64]) -> pa.Table:
    """Read some rows, by ascending positions."""
    import pyarrow as pa

    taken, start = [], 0
    for table in source.tables(65_536):
        first, last = np.searchsorted(chosen, [start, start + len(table)])
        taken.append(table.take(chosen[first:last] - start))
        start += len(table)
    return pa.concat_tables(taken)


def _learn_once(
    console: Console, out: Path, question: dict[str, Any], learn: Callable[[], BaseGenerator], making: Making
) -> BaseGenerator:
    """Keep a network beside the unfinished folder, so that a run that goes on need not learn it again."""
    kept, asked = _kept(out), _kept(out) / "question.json"
    if asked.is_file() and json.loads(asked.read_text("utf-8")) == question:
        say(console, "What was learned before is used again.")
        generator = load_generator(kept / "generator", device=making.device)
        if making.save is not None:
            generator.save(making.save)
        return generator
    generator = learn()
    if making.load is None and making.generator != "uniform":
        shutil.rmtree(kept, ignore_errors=True)
        generator.save(kept / "generator")
        unfinished = asked.with_name(".question.json")
        unfinished.write_text(json.dumps(question), "utf-8")
        os.replace(unfinished, asked)
    return generator


def _kept(out: Path) -> Path:
    return out.with_name(f".{out.name}.learned")


@contextmanager
def _following(console: Console, n_rows: int | None) -> Iterator[Callable[[dict[str, Any]], None] | None]:
    """Show how many rows are done, if a person is there to see it."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    if not console.is_terminal or console.quiet:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("Making antidotes", total=n_rows)

        def show(done: dict[str, Any]) -> None:
            progress.update(task, completed=done["n_rows"], description=f"{done['n_antidotes']:,} antidotes")

        yield show
