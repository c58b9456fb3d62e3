"""Run what is missing: plan, hand out, store; whenever it is killed, the next run goes on from there."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from joblib.externals.loky import ProcessPoolExecutor

from paper._cells import Cell, Spec, Store, key_of, list_specs
from paper._experiments import Experiment, ExperimentError, Row
from paper._generators import is_trained
from paper._methods import generator_spec
from paper._registry import MODELS

TUNING: Final = 600  # processor seconds on Adult, roughly
THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Job = Literal["measure", "train"]


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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a cell, or of training its generator: numbers or an error, or the package that is lacking."""

    spec: Spec
    found: dict[str, Any] = field(default_factory=dict)
    lacking: str | None = None


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
        missing.sort(key=_cost, reverse=True)  # the longest first, so that none is left to one process
        names = {key: name for key, (_, name) in named.items()}
        told = _Telling(console, names, len(missing))
        tally = Tally(n_asked=len(missing))
        deadline = None if wish.minutes is None else time.monotonic() + 60 * wish.minutes
        try:
            with told:
                for outcome in _work_through(missing, work, wish, deadline, told):
                    _take_in(outcome, store, tally, told)
        finally:
            store.pack()
        tally.is_over = deadline is not None and time.monotonic() >= deadline and tally.n_left > 0
    return tally


def _work_through(
    missing: Sequence[Spec], work: Path, wish: Wish, deadline: float | None, told: _Telling
) -> Iterator[Outcome]:
    """Train the generators that cells share, then measure the cells; without its generator, a cell fails."""
    lost: dict[str, Outcome] = {}
    with closing(_work_on_all(generators_first(missing, work), "train", work, wish, deadline)) as trained:
        for outcome in trained:
            if outcome.lacking is not None or "error" in outcome.found:
                lost[_key_of_generator(outcome.spec)] = outcome
            else:
                told.generator(outcome.spec, outcome.found)
    if wish.only_generators:
        return
    for spec in missing:
        if (found := lost.get(_key_of_generator(spec))) is not None:
            yield _without_generator(spec, found)
    rest = [spec for spec in missing if _key_of_generator(spec) not in lost]
    with closing(_work_on_all(rest, "measure", work, wish, deadline)) as results:
        yield from results


def _key_of_generator(spec: Spec) -> str:
    """Hash what a cell asks of its generator; nothing where it has none to share."""
    wanted = generator_spec(spec)
    return "" if wanted is None else key_of(wanted)


def _without_generator(spec: Spec, trained: Outcome) -> Outcome:
    """Say that a cell cannot be measured for want of its generator."""
    error = f"Its generator could not be trained. {trained.found.get('error')}"
    return Outcome(spec, {"key": key_of(spec), "spec": spec, "error": error}, trained.lacking)


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


def generators_first(missing: Sequence[Spec], work: Path) -> list[Spec]:
    """List a cell for each generator that has to be trained: what models wait for, and low seeds, first."""
    first: dict[str, Spec] = {}
    weights: dict[str, float] = {}
    for spec in missing:
        wanted = generator_spec(spec)
        if wanted is not None and not is_trained(work, wanted):
            key = key_of(wanted)
            first.setdefault(key, spec)
            weights[key] = weights.get(key, 0.0) + _cost(spec)
    return [first[key] for key in sorted(first, key=lambda key: (weights[key] <= 1, first[key]["seed"], -weights[key]))]


def _cost(spec: Spec) -> float:
    method = spec["method"]
    if method.get("tune"):
        return TUNING
    name = method.get("model") or method.get("made")
    return MODELS[name].cost if name in MODELS else 1.0


def work_on(spec: Spec, job: Job, work: Path, device: str) -> Outcome:
    """Measure a cell, or train its generator, in this process."""
    from paper._measuring import measure, train_generator
    from paper._registry import Lacking

    try:
        return Outcome(spec, {"measure": measure, "train": train_generator}[job](spec, work, device))
    except Lacking as error:
        return Outcome(spec, lacking=str(error))


def _work_on_all(
    specs: Sequence[Spec], job: Job, work: Path, wish: Wish, deadline: float | None
) -> Generator[Outcome, None, None]:
    """Work in this process or in several, until it is done or the time is over."""
    if wish.jobs == 1:
        for spec in specs:
            if deadline is not None and time.monotonic() >= deadline:
                return
            yield work_on(spec, job, work, wish.device)
        return
    settings = {"env": dict.fromkeys(THREADS, "1"), "initializer": _end_with_parent, "initargs": (os.getpid(),)}
    processes = ProcessPoolExecutor(wish.jobs, **settings)
    try:
        waiting = {processes.submit(work_on, spec, job, work, wish.device) for spec in specs}
        while waiting:
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            done, waiting = wait(waiting, left, FIRST_COMPLETED)
            if not done:
                return
            yield from (one.result() for one in done)
    finally:
        processes.shutdown(kill_workers=True)


def _end_with_parent(parent: int) -> None:
    """End at once when the parent is killed: nobody waits for the result, and the next run wants the processor."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent sees to it
    threading.Thread(target=watch, daemon=True).start()


def _take_in(outcome: Outcome, store: Store, tally: Tally, told: _Telling) -> None:
    if outcome.lacking is not None:
        tally.lacking[outcome.lacking] = tally.lacking.get(outcome.lacking, 0) + 1
        return
    cell = outcome.found
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
        for name, words in (("roc_auc", "ROC"), ("gap_mean[1]", "gaps"), ("gap_mean[0]", "and"))
        if isinstance(numbers.get(name), float)
    ]
    return ", ".join([*shown, f"{cell['seconds']:.1f} s"])
