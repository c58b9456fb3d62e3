"""Readers of files and requests, each given sound content with faults drawn by number, for as long as asked.

Run it with ``make fuzz MINUTES=10``, or some readers only::

    python -m tests.hostile.fuzzing --minutes 10 --readers tables,records

Minutes are of processor time, those of earlier runs included: a run reads the cases that ever failed again, then goes
on at the next number; with 0 minutes it stops before that. Every fault of a run is printed, once for each type of error
and function, and makes the exit code 1. What failed is kept in ``fuzzed.json`` with its bytes, open or mended as last
read, and ``make test`` reads it again; the table is ``benchmarks/results/fuzzing.md``. A number means the same case as
long as this module, ``mutations.py`` and what the sound content is made of stay as they are; kept bytes do not change.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from tests.hostile import fuzzed_files as files
from tests.hostile import fuzzed_folders as folders
from tests.hostile import fuzzed_models as models
from tests.hostile.cases import Case, Progress, Reader, State, load_progress, save_progress

from likewise.exceptions import LikewiseError

__all__ = ["KEPT", "READERS", "TABLE", "draw_case", "find_fault", "fuzz_readers", "main", "write_table"]

KEPT: Final = Path(__file__).with_name("fuzzed.json")
TABLE: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "fuzzing.md"
SLOWEST: Final = 30  # seconds of processor time a case may take, the kernels that it is the first to compile included
MOST_BYTES: Final = 12 << 30  # of address space: a number in a file must not become memory
SAVED_EVERY: Final = 20  # seconds


class TooSlow(BaseException):
    """A case takes longer than any reader should."""


def draw_case(reader: Reader, name: str, number: int) -> Case:
    """Draw the case of a number."""
    return reader.draw(np.random.default_rng([number, *name.encode()]))


def find_fault(reader: Reader, case: Case) -> str | None:
    """Read a case; return what is wrong with the answer, or ``None``: a result, or a refusal in one line of ours."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(case)
    except LikewiseError as error:
        return None if str(error) else f"without a word: {_name_fault(error)}"
    except (Exception, TooSlow) as error:
        return _name_fault(error)
    return None


def _name_fault(error: BaseException) -> str:
    """Name an error by its type and the last function of ours that it came through."""
    inner = [frame for frame in traceback.extract_tb(error.__traceback__) if "/src/likewise/" in frame.filename]
    where = f"{inner[-1].filename.rpartition('/likewise/')[2]}, {inner[-1].name}" if inner else "outside"
    return f"{type(error).__name__} in {where}"


READERS: Final[dict[str, Callable[[Path], Reader]]] = {
    "tables": files.fuzz_tables,
    "records": files.fuzz_records,
    "requests": folders.fuzz_requests,
    "policies": files.fuzz_policies,
    "generators": folders.fuzz_generators,
    "parts": folders.fuzz_parts,
    "plans": files.fuzz_plans,
    "schemas": files.fuzz_schemas,
    "sheets": files.fuzz_sheets,
    "classifiers": models.fuzz_classifiers,
    "adversarial": models.fuzz_adversarial,
    "models": models.fuzz_models,
    "logs": models.fuzz_logs,
}


def main() -> int:
    """Fuzz each reader until it has had its time; return 1 if any fault was seen."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="processor time of each reader, earlier runs included"
    )
    parser.add_argument("--readers", type=lambda text: text.split(","), default=list(READERS))
    parser.add_argument(
        "--number", type=int, help="only read this case of each reader, kept or drawn, with its traceback"
    )
    options = parser.parse_args()
    _prepare_process()
    makers = {name: READERS[name] for name in options.readers}
    if options.number is None:
        return int(fuzz_readers(makers, 60 * options.minutes) > 0)
    for name, make in makers.items():
        with tempfile.TemporaryDirectory() as folder:
            reader = make(Path(folder))
            kept = {fault.number: fault.case for fault in load_progress(KEPT).get(name, Progress()).faults}
            reader.read(kept.get(options.number) or draw_case(reader, name, options.number))
    return 0


def _prepare_process() -> None:
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    logging.disable(logging.CRITICAL)


def fuzz_readers(
    makers: Mapping[str, Callable[[Path], Reader]], seconds: float, kept_in: Path = KEPT, table_in: Path = TABLE
) -> int:
    """Fuzz each reader until it has had its time, keep what is found, and return the number of faults seen."""
    n_faults = 0
    for name, make in makers.items():
        kept = load_progress(kept_in)
        mine = kept.setdefault(name, Progress())

        def save(kept: dict[str, Progress] = kept) -> None:
            save_progress(kept, kept_in)
            table_in.write_text(write_table(kept))

        with tempfile.TemporaryDirectory() as folder:
            seen = _fuzz(name, make(Path(folder)), mine, seconds, save)
        for fault, n_cases in seen.items():
            print(f"{name}: {fault}: {n_cases:,} cases in this run", flush=True)
        print(f"{name}: {mine.n_cases:,} cases, {mine.seconds:.0f} s, {len(seen)} faults in this run", flush=True)
        n_faults += len(seen)
    return n_faults


def _fuzz(name: str, reader: Reader, mine: Progress, seconds: float, save: Callable[[], None]) -> Counter[str]:
    """Read what is kept and then further cases; count the cases of each fault."""
    signal.signal(signal.SIGVTALRM, _stop)
    seen: Counter[str] = Counter()

    def find(case: Case, number: int) -> str | None:
        with _no_longer_than(SLOWEST):
            fault = find_fault(reader, case)
        if fault is not None:
            if fault not in seen:
                print(f"{name} {number}: {fault}", flush=True)
            seen[fault] += 1
        return fault

    for kept in list(mine.faults):
        fault = find(kept.case, kept.number)
        kept.state = State.MENDED
        if fault is not None:
            mine.add(fault, kept.number, kept.case)
    save()
    earlier, began = mine.seconds, time.process_time()
    saved = began
    while mine.seconds < seconds:
        case = draw_case(reader, name, mine.n_cases)
        fault = find(case, mine.n_cases)
        is_new = fault is not None and seen[fault] == 1
        if fault is not None and is_new:
            mine.add(fault, mine.n_cases, case)
        mine.n_cases += 1
        mine.seconds = earlier + time.process_time() - began
        if is_new or time.process_time() - saved > SAVED_EVERY:
            saved = time.process_time()
            save()
    save()
    return seen


@contextmanager
def _no_longer_than(seconds: float) -> Iterator[None]:
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _stop(*_: object) -> None:
    raise TooSlow(f"more than {SLOWEST} s")


def write_table(kept: Mapping[str, Progress]) -> str:
    """Return the table of all readers."""
    lines = [
        "# Fuzzing of readers",
        "",
        "Sound files and requests with faults that keep most of their form (`tests/hostile/mutations.py`), drawn by",
        "number and read in one process. Anything but a result or a refusal in one line is a fault, counted once for",
        "each type of error and function. It is still open if a case of it failed when last read: every run of",
        "`make fuzz` reads the kept cases of its readers again, then goes on where this table ends. `make test` reads",
        "all kept cases.",
        "",
        "| reader | what is read | cases | processor time | faults found | still open |",
        "|---|---|---|---|---|---|",
    ]
    for name, reader in READERS.items():
        if name in kept:
            about = (reader.__doc__ or "").splitlines()[0].rstrip(".")
            one = kept[name]
            faults = f"{one.count_faults()} | {one.count_faults([State.OPEN])}"
            lines.append(f"| {name} | {about} | {one.n_cases:,} | {one.seconds:,.0f} s | {faults} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
