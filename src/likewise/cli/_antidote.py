"""``likewise antidote``: read a table, learn from it, make antidotes, write and show them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from likewise._extras import pip_command
from likewise.cli import _antidote_arguments as given
from likewise.cli import _arguments as shared
from likewise.cli._antidote_learning import (
    Asking,
    Making,
    check_wishes,
    describe_making,
    find_scores,
    get_generator,
    refuse_nothing,
)
from likewise.cli._pairs import say
from likewise.cli._reading import Reading
from likewise.cli._record import record_question
from likewise.cli._searching import working
from likewise.cli._sharing import taking
from likewise.cli._writing import check_target
from likewise.comparable import Comparability
from likewise.exceptions import MissingExtra, TableFileError

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True, kw_only=True)
class Handling:
    """What to do with the antidotes."""

    scores: given.Scores = None
    out: given.OutTable = None
    only: given.Only = False
    as_json: shared.Json = False
    quiet: shared.Quiet = False


@taking(wishes=Asking, reading=Reading, making=Making, handling=Handling)
def antidote(wishes: Asking, reading: Reading, making: Making, handling: Handling) -> None:
    """Learn, generate, write and print."""
    from rich.console import Console

    console = Console(stderr=True, quiet=handling.quiet, markup=False, highlight=False)
    check_wishes(wishes, making)
    if making.load is None:
        refuse_missing_torch(making.generator)
    if handling.out is not None and not handling.out.suffix:
        from likewise.cli._antidote_streaming import stream

        stream(console, wishes, reading, making, handling.out, scores=handling.scores, as_json=handling.as_json)
    else:
        _make_one_table(console, wishes, reading, making, handling)


def _make_one_table(console: Console, wishes: Asking, reading: Reading, making: Making, handling: Handling) -> None:
    """Hold everything at once: rows, antidotes, and the file."""
    from rich.console import Console as Screen

    from likewise.cli._antidote_showing import record_antidotes, show_antidotes
    from likewise.cli._antidote_writing import add_provenance, write_table

    if handling.out is not None:
        _check_target(handling.out, reading.data)
    with working(console, "Reading"):
        frame, notes = reading.read()
    scores, wishes, told = find_scores(wishes, handling.scores, frame.column_names, str(reading.data))
    frame = frame.drop_columns(list(scores))
    say(console, *notes, *told)
    generator = get_generator(console, wishes, making, frame, str(reading.data))
    roles, rule = generator.roles, generator.comparability or Comparability()
    with working(console, "Making antidotes"):
        antidotes = generator.generate(frame, rounds=making.rounds, ratio=making.ratio, random_state=making.seed)
    n_wanted = frame.num_rows if making.ratio is None else round(making.ratio * frame.num_rows)
    refuse_nothing(len(antidotes), antidotes.n_raw, n_wanted)
    question = record_question(reading.data, roles, rule, describe_making(making, generator))
    together, _ = antidotes.append_to(frame)
    if handling.out is not None:
        table = add_provenance(together, antidotes)
        write_table(handling.out, table.slice(frame.num_rows) if handling.only else table, question)
    out = None if handling.out is None else str(handling.out)
    record = record_antidotes(antidotes, together, roles, question, out=out, only=handling.only)
    if handling.as_json:
        typer.echo(json.dumps(record, allow_nan=False))
        return
    screen = Screen(markup=False, highlight=False, emoji=False)
    screen.print(show_antidotes(record, antidotes, together, roles, screen.width))
    if out is not None:
        say(console, f"The {'antidotes' if handling.only else 'rows and their antidotes'} are in {out}.")


def refuse_missing_torch(generator: given.GeneratorChoice) -> None:
    """Say before any work is done that a network needs torch."""
    if generator != given.GeneratorChoice.UNIFORM and find_spec("torch") is None:
        raise MissingExtra(
            f"--generator {generator.value} needs the package torch, which is not installed. Choose --generator "
            f"uniform, or install it with: {pip_command('torch')}"
        )


def _check_target(out: Path, data: Path) -> None:
    if out.is_file() and data.exists() and out.samefile(data):
        raise TableFileError(f"--out is '{out}', the very file that is read. Give the antidotes another name.")
    check_target(out, data)
