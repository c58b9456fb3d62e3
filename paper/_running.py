"""Run what is missing: plan, hand out, store; whenever it is killed, the next run goes on from there."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from paper._cells import Cell, Spec, Store, key_of, list_specs
from paper._experiments import Experiment, ExperimentError, Row
from paper._generators import is_trained
from paper._methods import generator_spec
from paper._registry import MODELS
from paper._workers import Outcome, Task, Workers, work_on

TUNING: Final = 600  # processor seconds on Adult, roughly


class Console(Protocol):
    """Where to tell what is done: rich's, or a plain one where rich is not installed."""

    @property
    def is_terminal(self) -> bool:
        """Whether a bar can be drawn."""

    def print(self, *texts: Any, markup: bool, highlight: bool, soft_wrap: bool) -> None:
        """Show a line."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user asks for."""

    only: tuple[str, ...] = ()
    block: str | None = None
    n_seeds: int | None = None
    fast: bool = False
    again: bool = False
    again_failed: bool = False
    only_generators: bool = False
    jobs: int = 1
    device: str = "auto"
    minutes: float | None = None


@dataclass(slots=True)
class Tally:
    """What became of a run."""

    n_asked: int = 0
    n_done: int = 0
    n_failed: int = 0
    lacking: dict[str, int] = field(default_factory=dict)
    is_over: bool = False  # the time is

    @property
    def n_left(self) -> int:
        """How many cells are still missing."""
        return self.n_asked - self.n_done - self.n_failed


def run(experiments: Iterable[Experiment], store: Store, work: Path, wish: Wish, console: Console) -> Tally:
    """Measure the cells that are missing, and store each as soon as it is there."""
    with store.locked():
        named = name_cells(experiments, wish)
        known = store.read()
        missing = [spec for key, (spec, _) in named.items() if _is_missing(spec, known.get(key), wish)]
        names = {key: name for key, (_, name) in named.items()}
        told = _Telling(console, names, len(missing))
        tally = Tally(n_asked=len(missing))
        deadline = None if wish.minutes is None else time.monotonic() + 60 * wish.minutes
        plan = Plan(missing, work, wish.only_generators, is_stacked=_has_gpu(wish.device))
        with told, closing(_results(plan, work, wish, deadline)) as results:
            for outcome in results:
                _take_in(outcome, store, tally, told)
        tally.is_over = deadline is not None and time.monotonic() >= deadline and tally.n_left > 0
    return tally


def _has_gpu(device: str) -> bool:
    try:
        import torch
    except ImportError:
        return False
    return device != "cpu" and bool(torch.cuda.is_available())


def name_cells(experiments: Iterable[Experiment], wish: Wish) -> dict[str, tuple[Spec, str]]:
    """Find the cells that are asked for, each under its key with a name to show; none comes twice."""
    named: dict[str, tuple[Spec, str]] = {}
    listed = [*experiments]
    rows = {row.name for experiment in listed for row in experiment.rows}
    for name in wish.only:
        if name not in rows:
            raise ExperimentError(f"No row is called {name!r}. There are {', '.join(sorted(rows))}.")
    for experiment in listed:
        for row in experiment.rows:
            if (wish.only and row.name not in wish.only) or wish.block not in (None, row.block):
                continue
            for spec in list_specs(row, fast=wish.fast, n_seeds=wish.n_seeds):
                words = f"{row.data}: {row.name}{_which(row)}, seed {spec['seed']}"
                named.setdefault(key_of(spec), (spec, words))
    return named


def _which(row: Row) -> str:
    if row.method["kind"] == "protocol":
        return f", setting {int(row.value or 0) + 1}"
    return " (ours)" if row.block == "ours" else ""


def _is_missing(spec: Spec, cell: Cell | None, wish: Wish) -> bool:
    if wish.only_generators and generator_spec(spec) is None:
        return False
    return cell is None or wish.again or (wish.again_failed and "error" in cell)


class Plan:
    """Tasks in order: generators that cells wait for, then the longest cells, so that none is left to one process.

    On a GPU (``is_stacked``), settings that can be fitted together are one task.
    """

    def __init__(self, specs: Iterable[Spec], work: Path, only_generators: bool, is_stacked: bool = False) -> None:
        self._ready: list[tuple[float, int, Task]] = []
        self._waiting: dict[str, list[Spec]] = {}
        first: dict[str, Spec] = {}
        for number, (spec, *beside) in enumerate(_stacked(specs) if is_stacked else ([spec] for spec in specs)):
            wanted = generator_spec(spec)
            if wanted is None or is_trained(work, wanted):
                if not only_generators:
                    self._ready.append((-_cost(spec), number, Task(spec, beside=tuple(beside))))
                continue
            key = key_of(wanted)
            first.setdefault(key, spec)
            self._waiting.setdefault(key, []).append(spec)
        # those that models wait for, and the same seed for all data sets before the next: the time may end before all
        weights = {key: sum(map(_cost, specs)) for key, specs in self._waiting.items()}
        urgent = sorted(first, key=lambda key: (weights[key] <= 1, first[key]["seed"], -weights[key]))
        self._ready += [(-1e9, number, Task(first[key], only_generator=True)) for number, key in enumerate(urgent)]
        self._ready.sort(key=lambda entry: entry[:2])
        if only_generators:
            self._waiting = {}

    def __bool__(self) -> bool:
        return bool(self._ready)

    def next(self) -> Task:
        """Take the next task."""
        return self._ready.pop(0)[2]

    def wake(self, task: Task) -> list[Spec]:
        """Make the cells ready that waited for a generator, and list them."""
        wanted = generator_spec(task.spec)
        woken = self._waiting.pop(key_of(wanted), []) if wanted else []
        self._ready += [(-_cost(spec), number, Task(spec)) for number, spec in enumerate(woken, start=len(self._ready))]
        self._ready.sort(key=lambda entry: entry[:2])
        return woken

    def give_up(self, task: Task) -> list[Spec]:
        """List the cells that will never have their generator."""
        wanted = generator_spec(task.spec)
        return self._waiting.pop(key_of(wanted), []) if wanted else []


def _stacked(specs: Iterable[Spec]) -> list[list[Spec]]:
    """Put those together that differ in nothing but the parameters of a network that can be fitted with others."""
    groups: dict[str, list[Spec]] = {}
    for spec in specs:
        method = spec["method"]
        is_one_of_many = method["kind"] == "protocol" and MODELS[method["model"]].is_stacked
        alike = spec | {"method": method | {"params": None}} if is_one_of_many else spec
        groups.setdefault(key_of(alike), []).append(spec)
    return [*groups.values()]


def _cost(spec: Spec) -> float:
    method = spec["method"]
    if method.get("tune"):
        return TUNING
    name = method.get("model") or method.get("made")
    return MODELS[name].cost if name in MODELS else 1.0


def _results(plan: Plan, work: Path, wish: Wish, deadline: float | None) -> Generator[Outcome, None, None]:
    """Work on the plan, in this process or in several, until it is done or the time is over."""
    if wish.jobs == 1:
        while plan and (deadline is None or time.monotonic() < deadline):
            yield from _settled(work_on(plan.next(), work, wish.device), plan)
        return
    workers = Workers(wish.jobs, work, wish.device)
    try:
        while plan or workers.n_busy:
            while plan and workers.n_free:
                workers.start(plan.next())
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return
            for outcome in workers.wait(left):
                yield from _settled(outcome, plan)
    finally:
        workers.kill()


def _settled(outcome: Outcome, plan: Plan) -> Iterator[Outcome]:
    """Pass on what came of a task; with a generator that could not be trained, its cells fail."""
    task = outcome.task
    if task.beside:
        cells = [outcome.cell, *outcome.beside] if outcome.cell else [None] * (1 + len(task.beside))
        for spec, cell in zip((task.spec, *task.beside), cells, strict=True):
            yield Outcome(Task(spec), cell=cell, lacking=outcome.lacking, died=outcome.died)
        return
    failed = outcome.died or (outcome.cell or {}).get("error")
    if task.only_generator and (failed or outcome.lacking):
        for spec in plan.give_up(task):
            if outcome.lacking:
                yield Outcome(Task(spec), lacking=outcome.lacking)
            else:
                yield Outcome(Task(spec), died=f"Its generator could not be trained. {failed}")
        return
    if task.only_generator:
        plan.wake(task)
    yield outcome


def _take_in(outcome: Outcome, store: Store, tally: Tally, told: _Telling) -> None:
    spec = outcome.task.spec
    if outcome.lacking is not None:
        tally.lacking[outcome.lacking] = tally.lacking.get(outcome.lacking, 0) + 1
        return
    if outcome.task.only_generator and outcome.cell is not None:
        told.generator(spec, outcome.cell)
        return
    cell: Cell = outcome.cell or {"key": key_of(spec), "spec": spec, "error": outcome.died}
    store.append(cell)
    if "error" in cell:
        tally.n_failed += 1
    else:
        tally.n_done += 1
    told.cell(cell)


class _Telling:
    """One line for each cell that is done, above a bar where there is a terminal."""

    def __init__(self, console: Console, names: Mapping[str, str], n: int) -> None:
        self._console, self._names, self._n_done, self._n = console, names, 0, n
        self._progress: Any = None
        if console.is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._progress = Progress(*columns, console=console, transient=True)  # type: ignore[arg-type]  # it is rich's
            self._bar = self._progress.add_task("cells", total=n)

    def __enter__(self) -> None:
        if self._progress:
            self._progress.start()

    def __exit__(self, *error: object) -> None:
        if self._progress:
            self._progress.stop()

    def cell(self, cell: Cell) -> None:
        """Tell of a cell."""
        self._n_done += 1
        if self._progress:
            self._progress.advance(self._bar)
        failed = cell.get("error")
        text = f"failed: {failed}" if failed else _briefly(cell)
        self._say(f"{self._n_done}/{self._n} {self._names[cell['key']]}: {text}")

    def generator(self, spec: Spec, record: Mapping[str, Any]) -> None:
        """Tell of a generator."""
        kind = spec["method"]["antidotes"]["generator"]
        self._say(f"{spec['data']}: {kind} generator, seed {spec['seed']}: {record['seconds']:.1f} s")

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def _briefly(cell: Cell) -> str:
    numbers = cell["numbers"]
    shown = [
        f"{words} {100 * numbers[name]:.2f}"
        for name, words in (("roc_auc", "ROC"), ("positive_gap_mean", "gaps"), ("negative_gap_mean", "and"))
        if isinstance(numbers.get(name), float)
    ]
    return ", ".join([*shown, f"{cell['seconds']:.1f} s"])
