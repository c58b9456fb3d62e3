"""Options of ``likewise antidote`` → a generator: fitted to rows of the table, or loaded from a folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from likewise._checks import suggest
from likewise._extras import pip_command
from likewise._random import draw_seed
from likewise.cli._columns import ROLES_HEADING, ColumnNames, ColumnOptions, describe_roles
from likewise.cli._console import say, say_rule, working
from likewise.cli._options import COLUMNS, option
from likewise.comparable import Comparability
from likewise.exceptions import GenerationError, LikewiseError, MissingExtra
from likewise.schema import Roles

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from likewise.generation._internal import BaseGenerator

GeneratorName = Literal["gibbs", "uniform", "adversarial"]

ANTIDOTES: Final = "Antidotes"
BLOCK: Final = 1_000_000  # row numbers at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorColumns(ColumnOptions):
    """Options about columns and rule; a saved generator has all of it."""

    label: str | None = option(None, COLUMNS, "COLUMN", "Outcome; an antidote has that of its source.")


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorOptions:
    """How many antidotes to generate, and by what."""

    ratio: float | None = option(
        *(None, ANTIDOTES, "R"),
        "Antidotes per row: 0.5 for half as many as there are rows. In a folder the ratio is met within a few "
        "percent: some rows have no antidotes, so 2,000 rows are tried first to find out how many to request.",
    )
    rounds: int | None = option(
        *(None, ANTIDOTES, "N"),
        "Instead of a ratio: attempts for each row and each other combination of sensitive values; 1 if neither "
        "is given.",
        min=1,
    )
    generator: GeneratorName | None = option(
        *(None, ANTIDOTES, "NAME"),
        "gibbs (the default), uniform or adversarial. gibbs learns how columns depend on each other; adversarial "
        "learns from comparable pairs, as in the paper; both need the extra torch. uniform changes columns at random.",
    )
    iterations: int | None = option(
        *(None, ANTIDOTES, "N"),
        "Training steps of the network, instead of the default. adversarial takes half an hour without a GPU.",
        min=1,
    )
    train_rows: int | None = option(
        *(None, ANTIDOTES, "N"),
        "Fit to at most this many rows, drawn at random; by default all, or 200,000 where --out is a folder.",
        min=1,
    )
    load: Path | None = option(
        None, ANTIDOTES, "FOLDER", "Use a saved generator, with its columns and rule; nothing is fitted."
    )
    save: Path | None = option(None, ANTIDOTES, "FOLDER", "Save the fitted generator, for --load.")
    seed: int = option(0, ANTIDOTES, "S", "Random seed.", min=0)
    device: str = option("auto", ANTIDOTES, "NAME", "Device of the network: auto, cpu, cuda, cuda:1, ...")

    def __post_init__(self) -> None:
        """Refuse options that contradict each other, and a ratio that is no number above 0."""
        if self.ratio is not None and self.rounds is not None:
            raise typer.BadParameter("they exclude each other; choose one.", param_hint="--ratio and --rounds")
        if self.ratio is not None and not (math.isfinite(self.ratio) and self.ratio > 0):
            raise typer.BadParameter(f"it is {self.ratio:g}; give a number above 0, such as 0.5.", param_hint="--ratio")
        for_fit = {
            **{"--generator": self.generator, "--iterations": self.iterations},
            **{"--train-rows": self.train_rows, "--save": self.save},
        }
        for name, value in for_fit.items():
            if self.load is not None and value is not None:
                raise typer.BadParameter("with --load nothing is fitted; leave it out.", param_hint=name)
        is_uniform = self.kind == "uniform"
        if is_uniform and self.load is None and self.device != "auto":
            raise typer.BadParameter("it is for networks, and uniform has none.", param_hint="--device")
        if is_uniform and self.iterations is not None:
            raise typer.BadParameter("it is for networks, and uniform has none.", param_hint="--iterations")

    @property
    def kind(self) -> GeneratorName:
        """The generator to fit."""
        return self.generator or "gibbs"

    def loaded_numbers(self) -> set[str]:
        """The columns that are numbers in a saved generator."""
        from likewise.generation import load_generator

        columns = () if self.load is None else load_generator(self.load, device="cpu").schema_.columns
        return {one.name for one in columns if one.dtype.family == "numbers"}

    def n_wanted(self, n_rows: int) -> int:
        """The number of antidotes that is asked for, at least where rounds are counted."""
        return n_rows if self.ratio is None else round(self.ratio * n_rows)

    def describe(self, generator: BaseGenerator) -> dict[str, Any]:
        """Return how antidotes are generated, as plain data; a loaded generator has its own name."""
        return {
            "generator": type(generator).__name__.removesuffix("Generator").lower(),
            **{name: getattr(self, name) for name in ("ratio", "rounds", "seed", "iterations", "train_rows")},
            "loaded": None if self.load is None else str(self.load),
            "device": self.device,
        }


def check_columns(columns: GeneratorColumns, options: GeneratorOptions) -> None:
    """Refuse options about columns where a saved generator has them, and a missing label where none has."""
    if options.load is None:
        if not columns.label:
            raise typer.BadParameter("it is missing. Name the column of outcomes.", param_hint="--label")
        if options.kind != "uniform" and find_spec("torch") is None:
            raise MissingExtra(
                f"--generator {options.kind} needs the package torch, which is not installed. Choose "
                f"--generator uniform, or install it with: {pip_command('torch')}"
            )
    elif columns != GeneratorColumns():
        raise typer.BadParameter(
            "a saved generator has its columns and rule. Leave out the options about them.", param_hint="--load"
        )


def drop_scores(
    columns: GeneratorColumns, asked: list[str] | None, names: Sequence[str], file: str
) -> tuple[tuple[str, ...], GeneratorColumns, list[str]]:
    """Return the columns of scores, the options without them, and notes: they are dropped from the start."""
    known = ColumnNames(tuple(names), file)
    scores = known.find_all("--scores", asked)
    ignored = columns.without(scores, known).ignore or []
    others = replace(columns, ignore=[name for name in ignored if name not in scores] or None)
    return scores, others, [f"Column '{name}' is left out: synthetic people have no score." for name in scores]


def get_generator(
    console: Console, columns: GeneratorColumns, options: GeneratorOptions, frame: pa.Table, file: str
) -> BaseGenerator:
    """Load a generator, or fit one to a table; print roles and rule."""
    from likewise.generation import load_generator

    if options.load is not None:
        _check_device(options.device)
        generator = load_generator(options.load, device=options.device)
        for name in (one.name for one in generator.schema_.columns if one.name not in frame.column_names):
            raise LikewiseError(
                f"'{file}' has no column '{name}', which the generator in '{options.load}' was fitted to."
                f"{suggest(name, frame.column_names)}"
            )
        say(console, *describe_roles(generator.roles))
        say_rule(console, generator.rule or Comparability(), generator.schema_)
        return generator
    roles = columns.roles(frame, file)
    rule = columns.rule(frame, file)
    say(console, ROLES_HEADING, *describe_roles(roles))
    say_rule(console, rule, roles)
    if options.train_rows is not None and options.train_rows < frame.num_rows:
        frame = frame.take(choose_rows(frame.num_rows, options.train_rows, options.seed))
    with working(console, "Fitting") as update:
        progress = None if update is None else lambda one: update(f"Fitting ... iteration {one['iteration']:,}")
        generator = _make_generator(options, roles, rule, progress).fit(frame)
    if options.save is not None:
        generator.save(options.save)
        say(console, f"The generator is in {options.save}.", "")
    return generator


def choose_rows(n_rows: int, most: int, seed: int) -> NDArray[np.int64]:
    """Draw rows by a hash of their position, in ascending order."""
    from likewise.generation._internal import fold  # which imports what fitting needs

    key = np.array([draw_seed(seed, "train rows")], np.uint64)
    chosen: NDArray[np.int64] = np.empty(0, np.int64)
    keys = np.empty(0, np.uint64)
    for start in range(0, n_rows, BLOCK):
        rows = np.arange(start, min(start + BLOCK, n_rows))
        chosen, keys = np.concatenate([chosen, rows]), np.concatenate([keys, fold(key, rows)])
        if len(chosen) > most:  # the lowest so far
            lowest = np.argpartition(keys, most - 1)[:most]
            chosen, keys = chosen[lowest], keys[lowest]
    return np.sort(chosen)


def refuse_none(n_made: int, n_raw: int, n_wanted: int) -> None:
    """Refuse to call it a success when no antidote was generated."""
    if n_made or not n_wanted:
        return
    if not n_raw:
        raise GenerationError(
            "No row can be given other sensitive values that the generator knows and that the rule calls different. "
            "Fit to people with more values, or let any of the sensitive columns differ."
        )
    raise GenerationError(
        f"None of the {n_raw:,} generated rows is comparable to its source. Loosen the rule with "
        "--max-discrete-changes or --max-continuous-shift, try more --rounds, or choose another --generator."
    )


def _make_generator(
    options: GeneratorOptions, roles: Roles, rule: Comparability, progress: Callable[[dict[str, Any]], None] | None
) -> BaseGenerator:
    from likewise import generation

    if options.kind == "uniform":
        return generation.UniformGenerator(roles, rule, random_state=options.seed)
    _check_device(options.device)
    kind: Any = getattr(generation, f"{options.kind.capitalize()}Generator")
    training = {} if options.iterations is None else {"n_iterations": options.iterations}
    how = {"random_state": options.seed, "device": options.device, "progress": progress, **training}
    made: BaseGenerator = kind(roles, rule, **how)
    return made


def _check_device(device: str) -> None:
    from likewise.nets._internal import choose_device

    if device != "auto":
        choose_device(device)
