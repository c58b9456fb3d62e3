"""One method on one case, in a process of its own, so that its peak of memory is its own.

``python benchmarks/_audit_trial.py METHOD FOLDER STARTED LIMIT_SECONDS LIMIT_BYTES N_CALLS`` prints what it measured
as one line of JSON. ``STARTED`` is the time at which the process was asked for; with 0 calls it chooses their number.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from _audit_cases import read_people
from _audit_input import Arrays, read_arrays
from _audit_naive import prepare_naive
from _clock import Record, measure
from _trial import checksum
from likewise import Audit, audit

N_RESAMPLES: Final = 1000
COMPLETE: Final = "likewise.audit, complete"
SAME_PAIRS: Final = "likewise.audit, no baseline"
BARE: Final = "likewise.audit, no baseline, no intervals"
NAIVE: Final = "pandas + numpy, bootstrap over people"
NAIVE_BARE: Final = "pandas + numpy, no intervals"

OURS: Final[dict[str, dict[str, Any]]] = {
    COMPLETE: {"n_resamples": N_RESAMPLES},
    SAME_PAIRS: {"n_resamples": N_RESAMPLES, "baseline": False},
    "likewise.audit, no intervals": {"n_resamples": 0},
    BARE: {"n_resamples": 0, "baseline": False},
}
BY_HAND: Final = {NAIVE: N_RESAMPLES, NAIVE_BARE: 0}
COMPARED: Final = ("gap_mean", "gap_q3")


def prepare(method: str, folder: Path, arrays: Arrays) -> Callable[[], Any]:
    """Bring the people into the form that a method wants, and give back what is to be measured."""
    if method in BY_HAND:
        return prepare_naive(arrays, n_resamples=BY_HAND[method])
    people, schema, rule = read_people(folder)
    return lambda: audit(arrays.scores, people, arrays.labels, roles=schema, rule=rule, **OURS[method])


def describe(found: Any, n_people: int) -> Record:
    """Say which pairs were found, and give the numbers that all methods have."""
    return _describe_ours(found) if isinstance(found, Audit) else _describe_naive(found, n_people)


def _describe_ours(found: Audit) -> Record:
    names = {1: "positive", 0: "negative"}
    measures = {f"{names[label]}_{name}": found[f"{names[label]}_{name}"] for label in names for name in COMPARED}
    return {
        **checksum([(found.pairs.left, found.pairs.right)], len(found.question.table)),
        "n_within": found.record.pairs.n_within,
        "n_numbers": sum(measure.value is not None for measure in found.measures.values()),
        "n_intervals": sum(measure.low is not None for measure in found.measures.values()),
        "n_directions": len(found.directions),
        "values": {name: measure.value for name, measure in measures.items()},
        "intervals": {name: [one.low, one.high] for name, one in measures.items() if one.low is not None},
    }


def _describe_naive(found: dict[str, Any], n_people: int) -> Record:
    names = {1: "positive", 0: "negative"}
    flat = {
        kind: {f"{names[label]}_{name}": one for label, ones in found[kind].items() for name, one in ones.items()}
        for kind in ("values", "intervals")
    }
    numbers = {"n_numbers": len(flat["values"]), "n_intervals": len(flat["intervals"])}
    return checksum([(found["left"], found["right"])], n_people) | numbers | flat


def main() -> None:
    """Measure what the command line asks for."""
    method, folder = sys.argv[1], Path(sys.argv[2])
    started, limit, most_bytes, n_calls = float(sys.argv[3]), *map(int, sys.argv[4:])
    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))
    arrays = read_arrays(folder / "arrays.npz")
    try:
        found, record = measure(prepare(method, folder, arrays), started=started, limit=limit, n_calls=n_calls)
        result = {"status": "done"} | record | describe(found, len(arrays))
    except MemoryError:
        result = {"status": "over memory"}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
