"""``likewise antidote``: read a table, learn from it, make antidotes, write and show them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from likewise.cli import _antidote_arguments as given
from likewise.cli import _arguments as shared
from likewise.cli._choosing import Wishes, choose_roles, choose_rule
from likewise.cli._pairs import ROLES_TITLE, say
from likewise.cli._reading import Reading
from likewise.cli._record import record_question
from likewise.cli._searching import working
from likewise.cli._sharing import taking
from likewise.cli._writing import check_target
from likewise.comparable import Comparability
from likewise.exceptions import GenerationError, MissingExtra, TableFileError
from likewise.schema import Roles

if TYPE_CHECKING:
    from rich.console import Console

    from likewise.generation import BaseGenerator


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """How many antidotes to make, and by what."""

    ratio: given.Ratio = None
    rounds: given.Rounds = None
    generator: given.Generator = given.GeneratorChoice.GIBBS
    iterations: given.Iterations = None
    seed: given.MakingSeed = 0
    device: given.Device = "auto"

    def __post_init__(self) -> None:
        """Refuse options that contradict each other, and numbers that mean nothing."""
        if self.ratio is not None and self.rounds is not None:
            raise typer.BadParameter("they do not go together; choose one.", param_hint="--ratio and --rounds")
        if self.ratio is not None and not (math.isfinite(self.ratio) and self.ratio > 0):
            raise typer.BadParameter(f"it is {self.ratio:g}; give a number above 0, such as 0.5.", param_hint="--ratio")
        if self.generator == given.GeneratorChoice.UNIFORM and self.device != "auto":
            raise typer.BadParameter("it is about a network, and uniform has none.", param_hint="--device")
        if self.generator == given.GeneratorChoice.UNIFORM and self.iterations is not None:
            raise typer.BadParameter("it is about a network, and uniform has none.", param_hint="--iterations")


@dataclass(frozen=True, slots=True, kw_only=True)
class Handling:
    """What to do with the antidotes."""

    out: given.OutTable = None
    only: given.Only = False
    as_json: shared.Json = False
    quiet: shared.Quiet = False


@taking(wishes=Wishes, reading=Reading, making=Making, handling=Handling)
def antidote(wishes: Wishes, reading: Reading, making: Making, handling: Handling) -> None:
    """Learn, generate, write and print."""
    from rich.console import Console

    from likewise.cli._antidote_showing import record_antidotes, show_antidotes
    from likewise.cli._antidote_writing import add_provenance, write_table

    console = Console(stderr=True, quiet=handling.quiet, markup=False, highlight=False)
    if handling.out is not None:
        _check_target(handling.out, reading.data)
    refuse_missing_torch(making.generator)
    with working(console, "Reading"):
        frame, notes = reading.read()
    roles = choose_roles(wishes, frame, str(reading.data))
    rule = choose_rule(wishes, roles, frame, str(reading.data))
    say(console, *notes, ROLES_TITLE, *roles.describe().splitlines(), "", rule.describe(roles), "")
    with following(console) as progress:
        generator = make_generator(making, roles, rule, progress).fit(frame)
    with working(console, "Making antidotes"):
        antidotes = generator.generate(frame, rounds=making.rounds, ratio=making.ratio)
    if not len(antidotes) and (making.ratio is None or round(making.ratio * frame.num_rows)):
        raise GenerationError(
            f"None of the {antidotes.n_raw:,} rows that were made is comparable to its source. Loosen the rule by "
            "max_discrete_changes or max_continuous_shift, make more rows by --rounds, or choose another --generator."
        )
    how = {"generator": making.generator.value, "ratio": making.ratio, "rounds": making.rounds, "seed": making.seed}
    how |= {"iterations": making.iterations, "device": making.device}
    question = record_question(reading.data, roles, rule, how)
    together, _ = antidotes.append_to(frame)
    if handling.out is not None:
        table = add_provenance(together, antidotes)
        write_table(handling.out, table.slice(frame.num_rows) if handling.only else table, question)
    out = None if handling.out is None else str(handling.out)
    record = record_antidotes(antidotes, together, roles, question, out=out, only=handling.only)
    if handling.as_json:
        typer.echo(json.dumps(record, allow_nan=False))
        return
    screen = Console(markup=False, highlight=False, emoji=False)
    screen.print(show_antidotes(record, antidotes, together, roles, screen.width))
    if out is not None:
        say(console, f"The {'antidotes' if handling.only else 'rows and their antidotes'} are in {out}.")


@contextmanager
def following(console: Console) -> Iterator[Callable[[dict[str, Any]], None] | None]:
    """Show how far a network has learned, if a person is there to see it."""
    if not console.is_terminal or console.quiet:
        yield None
        return
    with console.status("Learning ...") as status:
        yield lambda record: status.update(f"Learning ... iteration {record['iteration']:,}")


def make_generator(
    making: Making, roles: Roles, rule: Comparability, progress: Callable[[dict[str, Any]], None] | None = None
) -> BaseGenerator:
    """Make the generator that was asked for."""
    from likewise import generation

    if making.generator == given.GeneratorChoice.UNIFORM:
        return generation.UniformGenerator(roles, rule, random_state=making.seed)
    _check_device(making.device)
    names = {"gibbs": "GibbsGenerator", "adversarial": "AdversarialGenerator"}
    kind: Any = getattr(generation, names[making.generator.value])
    training = {} if making.iterations is None else {"n_iterations": making.iterations}
    made: BaseGenerator = kind(
        roles, rule, random_state=making.seed, device=making.device, progress=progress, **training
    )
    return made


def refuse_missing_torch(generator: given.GeneratorChoice) -> None:
    """Say before any work is done that a network needs torch."""
    if generator != given.GeneratorChoice.UNIFORM and find_spec("torch") is None:
        raise MissingExtra(
            f"--generator {generator.value} needs the package torch, which is not installed. Install it with: "
            "pip install 'likewise[torch]', or add --generator uniform."
        )


def _check_device(device: str) -> None:
    from likewise.nets import choose_device

    try:
        choose_device(device)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--device") from None


def _check_target(out: Path, data: Path) -> None:
    if out.is_file() and data.exists() and out.samefile(data):
        raise TableFileError(f"--out is '{out}', the very file that is read. Give the antidotes another name.")
    check_target(out, data)
