"""Readers of files and requests, each given sound content with faults drawn by number, for as long as asked.

Run it with ``make fuzz MINUTES=10``, or some readers only::

    python -m tests.hostile.fuzzing --minutes 10 --readers tables,records

Minutes are of processor time, those of earlier runs included: a run goes on at the next number. What was found is kept
in ``fuzzed.json``, the numbers that once failed among it, which ``make test`` tries again; the table is
``benchmarks/results/fuzzing.md``. Numbers mean the same cases only as long as this module, ``mutations.py`` and what
the sound content is made of stay as they are.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import logging
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from tests.hostile import fuzzed_files as files
from tests.hostile import fuzzed_folders as folders

from likewise.exceptions import LikewiseError

__all__ = ["KEPT", "READERS", "Reader", "read_case"]

Random = np.random.Generator
Reader = Callable[[Random], object]  # draws a case and reads it
KEPT: Final = Path(__file__).with_name("fuzzed.json")
TABLE: Final = Path(__file__).parents[2] / "benchmarks" / "results" / "fuzzing.md"
SLOWEST: Final = 10  # seconds of processor time a case may take
MOST_BYTES: Final = 12 << 30  # of address space: a number in a file must not become memory
SAVED_EVERY: Final = 20  # seconds


class TooSlow(BaseException):
    """A case takes longer than any reader should."""


def read_case(reader: Reader, name: str, number: int) -> str | None:
    """Read one case; return what is wrong with the answer, or ``None``: a result, or a refusal in one line of ours."""
    random = np.random.default_rng([number, *name.encode()])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader(random)
    except LikewiseError as error:
        return None if str(error) and "\n" not in str(error) else f"not one line: {_name_fault(error)}"
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
}


def main() -> None:
    """Fuzz each reader until it has had its time."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="processor time of each reader, earlier runs included"
    )
    parser.add_argument("--readers", type=lambda text: text.split(","), default=list(READERS))
    parser.add_argument("--number", type=int, help="only try this case of each reader again, with its traceback")
    options = parser.parse_args()
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    logging.disable(logging.CRITICAL)
    for name in options.readers:
        with tempfile.TemporaryDirectory() as folder:
            reader = READERS[name](Path(folder))
            if options.number is not None:
                reader(np.random.default_rng([options.number, *name.encode()]))
            else:
                fuzz(name, reader, 60 * options.minutes)


def fuzz(name: str, reader: Reader, seconds: float) -> None:
    """Read cases until a reader has had its time, and keep what is found."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    mine = kept.setdefault(name, {"n_cases": 0, "seconds": 0.0, "failed": {}})
    signal.signal(signal.SIGVTALRM, _stop)
    began = saved = time.process_time()
    while mine["seconds"] < seconds:
        with _no_longer_than(SLOWEST):
            fault = read_case(reader, name, mine["n_cases"])
        if fault is not None and fault not in mine["failed"].values():
            mine["failed"][str(mine["n_cases"])] = fault
            print(f"{name} {mine['n_cases']}: {fault}", flush=True)
        mine["n_cases"] += 1
        if time.process_time() - saved > SAVED_EVERY or mine["seconds"] + time.process_time() - began > seconds:
            saved = time.process_time()
            mine["seconds"], began = mine["seconds"] + saved - began, saved
            _save(kept)
    print(f"{name}: {mine['n_cases']:,} cases, {mine['seconds']:.0f} s, {len(mine['failed'])} faults", flush=True)


@contextmanager
def _no_longer_than(seconds: float) -> Iterator[None]:
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _stop(*_: object) -> None:
    raise TooSlow(f"more than {SLOWEST} s")


def _save(kept: dict[str, Any]) -> None:
    unfinished = KEPT.with_suffix(".part")
    unfinished.write_text(json.dumps(kept, indent=1, ensure_ascii=True) + "\n")
    unfinished.replace(KEPT)
    lines = [
        "# Fuzzing of readers",
        "",
        "Sound files and requests with faults that keep most of their form (`tests/hostile/mutations.py`), drawn by",
        "number and read in one process. Anything but a result or a refusal in one line is a fault. All that were",
        "found are mended, and `make test` tries their numbers again. `make fuzz` goes on where this table ends.",
        "",
        "| reader | what is read | cases | processor time | faults found and mended |",
        "|---|---|---|---|---|",
    ]
    for name, reader in READERS.items():
        if name in kept:
            about = (reader.__doc__ or "").splitlines()[0].rstrip(".")
            one = kept[name]
            lines.append(f"| {name} | {about} | {one['n_cases']:,} | {one['seconds']:,.0f} s | {len(one['failed'])} |")
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
