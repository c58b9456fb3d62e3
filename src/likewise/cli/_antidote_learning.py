"""Options → a generator: learned from rows of the table, or loaded from a folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import typer
from numpy.typing import NDArray

from likewise._random import draw_seed
from likewise.cli import _antidote_arguments as given
from likewise.cli import _arguments as shared
from likewise.cli._choosing import Wishes, choose_roles, choose_rule, keep_apart
from likewise.cli._naming import ColumnNames
from likewise.cli._pairs import ROLES_TITLE, say, say_rule
from likewise.comparable import Comparability
from likewise.exceptions import GenerationError
from likewise.schema import Roles

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from likewise.generation._internal import BaseGenerator

TRAIN_ROWS: Final = 200_000  # of a table of any length


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking(Wishes):
    """What was asked about columns and rule; a generator that is loaded knows all of it."""

    label: shared.Label = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """How many antidotes to make, and by what."""

    ratio: given.Ratio = None
    rounds: given.Rounds = None
    generator: given.Generator = given.GeneratorChoice.GIBBS
    iterations: given.Iterations = None
    train_rows: given.TrainRows = None
    load: given.Load = None
    save: given.Save = None
    seed: given.MakingSeed = 0
    device: given.Device = "auto"

    def __post_init__(self) -> None:
        """Refuse options that contradict each other, and numbers that mean nothing."""
        if self.ratio is not None and self.rounds is not None:
            raise typer.BadParameter("they do not go together; choose one.", param_hint="--ratio and --rounds")
        if self.ratio is not None and not (math.isfinite(self.ratio) and self.ratio > 0):
            raise typer.BadParameter(f"it is {self.ratio:g}; give a number above 0, such as 0.5.", param_hint="--ratio")
        learning = {"--iterations": self.iterations, "--train-rows": self.train_rows, "--save": self.save}
        for option, value in learning.items():
            if self.load is not None and value is not None:
                raise typer.BadParameter("with --load nothing is learned; leave it out.", param_hint=option)
        if self.load is None and self.generator == given.GeneratorChoice.UNIFORM and self.device != "auto":
            raise typer.BadParameter("it is about a network, and uniform has none.", param_hint="--device")
        if self.generator == given.GeneratorChoice.UNIFORM and self.iterations is not None:
            raise typer.BadParameter("it is about a network, and uniform has none.", param_hint="--iterations")


def describe_making(making: Making, generator: BaseGenerator) -> dict[str, Any]:
    """Say in plain data how antidotes are made; a generator that was loaded says itself what it is."""
    return {
        "generator": type(generator).__name__.removesuffix("Generator").lower(),
        "ratio": making.ratio,
        "rounds": making.rounds,
        "seed": making.seed,
        "iterations": making.iterations,
        "train_rows": making.train_rows,
        "loaded": None if making.load is None else str(making.load),
        "device": making.device,
    }


def check_wishes(wishes: Asking, making: Making) -> None:
    """Refuse columns that are not needed, and miss those that are."""
    if making.load is None:
        if not wishes.label:
            raise typer.BadParameter("it is missing. Name the column of outcomes.", param_hint="--label")
    elif wishes != Asking():
        raise typer.BadParameter(
            "a saved generator knows its columns and its rule. Leave out the options about them.", param_hint="--load"
        )


def find_scores(
    wishes: Asking, asked: list[str] | None, columns: Sequence[str], file: str
) -> tuple[tuple[str, ...], Asking, list[str]]:
    """Name the columns that are left out from the start, as if the table had none of them, and say so."""
    names = ColumnNames(tuple(columns), file)
    scores = names.find_all("--scores", asked)
    ignored = keep_apart(wishes, scores, names).ignore or []
    others = replace(wishes, ignore=[name for name in ignored if name not in scores] or None)
    return scores, others, [f"Column '{name}' is left out: people who are made up have no score." for name in scores]


def get_generator(console: Console, wishes: Asking, making: Making, frame: pa.Table, file: str) -> BaseGenerator:
    """Load a generator, or learn one from a table; say how columns are taken and what is comparable."""
    if making.load is not None:
        generator = _load(making)
        rule = generator.comparability or Comparability()
        say(console, *generator.roles.describe().splitlines())
        say_rule(console, rule, generator.roles)
        return generator
    roles = choose_roles(wishes, frame, file)
    rule = choose_rule(wishes, roles, frame, file)
    say(console, ROLES_TITLE, *roles.describe().splitlines())
    say_rule(console, rule, roles)
    if making.train_rows is not None and making.train_rows < frame.num_rows:
        frame = frame.take(choose_rows(frame.num_rows, making.train_rows, making.seed))
    with following(console) as progress:
        generator = make_generator(making, roles, rule, progress).fit(frame)
    if making.save is not None:
        generator.save(making.save)
        say(console, f"The generator is in {making.save}.", "")
    return generator


def choose_rows(n_rows: int, most: int, seed: int) -> NDArray[np.int64]:
    """Draw rows to learn from, by a hash of their position; they stay in order."""
    from likewise.generation._internal import fold  # which loads what learning needs

    key = np.array([draw_seed(seed, "train rows")], np.uint64)
    chosen: NDArray[np.int64] = np.empty(0, np.int64)
    keys = np.empty(0, np.uint64)
    for start in range(0, n_rows, 1_000_000):
        rows = np.arange(start, min(start + 1_000_000, n_rows))
        chosen, keys = np.concatenate([chosen, rows]), np.concatenate([keys, fold(key, rows)])
        if len(chosen) > most:  # the lowest so far
            lowest = np.argpartition(keys, most - 1)[:most]
            chosen, keys = chosen[lowest], keys[lowest]
    return np.sort(chosen)


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


@contextmanager
def following(console: Console) -> Iterator[Callable[[dict[str, Any]], None] | None]:
    """Show how far a network has learned, if a person is there to see it."""
    if not console.is_terminal or console.quiet:
        yield None
        return
    with console.status("Learning ...") as status:
        yield lambda record: status.update(f"Learning ... iteration {record['iteration']:,}")


def refuse_nothing(n_made: int, n_raw: int, n_wanted: int) -> None:
    """Do not call it a success if no antidote came of all that was made."""
    if n_made or not n_wanted:
        return
    if not n_raw:
        raise GenerationError(
            "No row can become one with other sensitive values that were learned and that the rule calls different. "
            "Learn from people of more values, or use --sensitive-differs any."
        )
    raise GenerationError(
        f"None of the {n_raw:,} rows that were made is comparable to its source. Loosen the rule by "
        "max_discrete_changes or max_continuous_shift, make more rows by --rounds, or choose another --generator."
    )


def _load(making: Making) -> BaseGenerator:
    from likewise.generation import load_generator

    _check_device(making.device)
    assert making.load is not None
    return load_generator(making.load, device=making.device)


def _check_device(device: str) -> None:
    from likewise.nets._internal import choose_device

    if device == "auto":
        return
    try:
        choose_device(device)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--device") from None
