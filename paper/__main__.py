"""``python -m paper``: run what is missing, say what is there, write the report, take in cells from elsewhere."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says, and give the exit code."""
    options = read_arguments(arguments)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # before anything reads them
    from concurrent.futures.process import BrokenProcessPool

    from paper._cells import StoreBusy
    from paper._experiments import ExperimentError

    console = open_console()
    try:
        return int(options.command(options, console))
    except (ExperimentError, StoreBusy) as error:
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        return 2
    except BrokenProcessPool:
        console.print("A process was ended, as for want of memory. The same command goes on; give it fewer --jobs.")
        return 2
    except KeyboardInterrupt:
        console.print("Stopped. What was finished is stored; the same command goes on from there.")
        return 130


def open_console() -> Any:
    """Give rich's console, or a plain one: a machine that only measures may not have rich."""
    try:
        from rich.console import Console
    except ImportError:
        return PlainConsole()
    return Console()


class PlainConsole:
    """Print lines."""

    is_terminal = False

    def print(self, *texts: Any, **style: Any) -> None:
        """Print one, and leave its style aside."""
        print(*texts, flush=True)


def read_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m paper", description=str(__doc__))
    parser.add_argument("--folder", type=Path, default=HERE, help="where experiments, results and the report are")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    running = commands.add_parser("run", help="measure the cells that are missing")
    running.set_defaults(command=run_cells)
    running.add_argument(
        "experiments",
        nargs="*",
        metavar="EXPERIMENT",
        help="all of the paper by default; protocol: the benchmark",
    )
    running.add_argument("--method", type=Path, metavar="FILE.py", help="a method of yours, in the benchmark")
    running.add_argument("--dataset", type=Path, metavar="FILE.toml", help="a data set of yours, in the benchmark")
    running.add_argument("--data", nargs="+", default=[], metavar="NAME", help="these data sets of the benchmark only")
    running.add_argument("--only", nargs="+", default=[], metavar="ROW", help="rows, by name")
    running.add_argument("--block", choices=["paper", "ours"], help="rows of one block only")
    running.add_argument("--seeds", type=at_least_one, metavar="N", help="the first N seeds only")
    running.add_argument("--jobs", type=at_least_one, default=1, metavar="N", help="processes, of one thread each")
    running.add_argument("--device", default="auto", help="where networks and generators are trained")
    running.add_argument("--fast", action="store_true", help="one seed and few iterations, to see directions only")
    running.add_argument("--generators", action="store_true", help="only train the generators that are missing")
    running.add_argument("--again", action="store_true", help="measure also what is there, as after a change of code")
    running.add_argument("--again-failed", action="store_true", help="try cells again that failed")
    running.add_argument("--minutes", type=float, metavar="M", help="stop after so long; run it again to go on")
    showing = commands.add_parser("status", help="say what is measured, failed and missing")
    showing.set_defaults(command=show_status)
    showing.add_argument("--fast", action="store_true")
    commands.add_parser("report", help="write RESULTS.md and the figures").set_defaults(command=write_report)
    taking = commands.add_parser("take", help="take in cells that were measured elsewhere")
    taking.set_defaults(command=take_cells)
    taking.add_argument("results", type=Path, metavar="FOLDER", help="a results folder")
    return parser.parse_args(arguments)


def at_least_one(text: str) -> int:
    """Read a count."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is too few; give 1 or more")
    return number


def open_store(options: argparse.Namespace) -> Any:
    """Find the store; fast cells are not kept with the others."""
    from paper._cells import Store

    fast = getattr(options, "fast", False)
    return Store(options.folder / ".work" / "fast" if fast else options.folder / "results")


def run_cells(options: argparse.Namespace, console: Any) -> int:
    """Measure what is missing."""
    from paper._running import Wish, run

    wish = Wish(
        only=tuple(options.only),
        block=options.block,
        n_seeds=options.seeds,
        fast=options.fast,
        again=options.again,
        again_failed=options.again_failed,
        only_generators=options.generators,
        jobs=options.jobs,
        device=options.device,
        minutes=options.minutes,
    )
    experiments = find_experiments(options)
    tally = run(experiments, open_store(options), options.folder / ".work", wish, console)
    for package, n_cells in sorted(tally.lacking.items()):
        console.print(f"{n_cells} cells are left for a machine that has more: {package}", markup=False)
    if tally.is_over:
        console.print(f"The time is over, {tally.n_left} cells to go; the same command goes on from there.")
    console.print(f"{tally.n_done} cells measured, {tally.n_failed} failed.")
    return 1 if tally.n_failed else 0


def find_experiments(options: argparse.Namespace) -> list[Any]:
    """Find what to run: experiments of the paper, the benchmark, or a method or data set of somebody in it."""
    from paper._added import add_dataset, add_method
    from paper._experiments import ExperimentError, load_experiments
    from paper._protocol import NAME, read_protocol

    named = [name for name in options.experiments if name != NAME]
    is_added = options.method is not None or options.dataset is not None
    if is_added and named:
        raise ExperimentError(f"--method and --dataset are for the benchmark; leave out {', '.join(named)}.")
    if not is_added and NAME not in options.experiments:
        if options.data:
            raise ExperimentError("--data is for the benchmark; name protocol.")
        return load_experiments(options.folder / "experiments", named)
    protocol, work = read_protocol(options.folder), options.folder / ".work"
    if options.method is not None:
        added = add_method(options.method, work)
        protocol = protocol.with_contender(added.name, added.model, added.settings)
    if options.dataset is not None:
        protocol = replace(protocol, data=(add_dataset(options.dataset, work),))
    unknown = [name for name in options.data if name not in protocol.data]
    if unknown:
        raise ExperimentError(f"The benchmark has no data set {unknown[0]!r}. It has {', '.join(protocol.data)}.")
    if options.data:
        protocol = replace(protocol, data=tuple(options.data))
    found = load_experiments(options.folder / "experiments", named) if named else []
    return [*found, protocol.experiment()]


def show_status(options: argparse.Namespace, console: Any) -> int:
    """Count cells by experiment, and show why some failed."""
    from rich.table import Table

    from paper._cells import key_of, unique_specs
    from paper._experiments import load_experiments
    from paper._protocol import FILE as PROTOCOL
    from paper._protocol import read_protocol

    cells = open_store(options).read()
    table = Table("experiment", "cells", "measured", "failed", "missing", box=None)
    failed: dict[str, Any] = {}
    experiments = load_experiments(options.folder / "experiments")
    if (options.folder / PROTOCOL).exists():
        experiments.append(read_protocol(options.folder).experiment())
    for experiment in experiments:
        keys = [key_of(spec) for spec in unique_specs([experiment], fast=options.fast)]
        there = [cells[key] for key in keys if key in cells]
        errors = {cell["error"]: cell for cell in there if "error" in cell}
        n_failed = sum("error" in cell for cell in there)
        counts = (len(keys), len(there) - n_failed, n_failed, len(keys) - len(there))
        table.add_row(experiment.name, *map(str, counts))
        failed |= errors
    console.print(table)
    for error, cell in failed.items():
        console.print(f"{cell['spec']['data']}, {cell['key'][:12]}: {error}", markup=False, soft_wrap=True)
    return 0


def write_report(options: argparse.Namespace, console: Any) -> int:
    """Write what the cells say."""
    from paper._board import find_frontiers, write_board
    from paper._experiments import load_experiments
    from paper._figures import draw
    from paper._protocol import FILE as PROTOCOL
    from paper._protocol import read_protocol
    from paper._published import read_published
    from paper._report import FIGURES, write_results

    cells = open_store(options).read()
    write_results(load_experiments(options.folder / "experiments"), cells, options.folder)
    if (options.folder / PROTOCOL).exists():
        protocol = read_protocol(options.folder)
        console.print(
            f"{write_board(protocol, cells, read_published(), options.folder)}", markup=False, highlight=False
        )
        draw(find_frontiers(protocol, cells), options.folder / FIGURES)
    return 0


def take_cells(options: argparse.Namespace, console: Any) -> int:
    """Take in the cells of another results folder."""
    from paper._cells import Store

    store = open_store(options)
    with store.locked():
        n_taken = store.merge(Store(options.results).read().values())
        store.pack()
    console.print(f"{n_taken} cells taken in.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
