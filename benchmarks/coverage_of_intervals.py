"""Simulate how often confidence intervals cover the truth, and how often a policy passes or fails wrongly.

Run it from the environment that ``make test`` makes, or wherever the package and what it needs can be imported::

    python benchmarks/coverage_of_intervals.py --jobs 16  # 2,000 tables of each population
    python benchmarks/coverage_of_intervals.py --populations few_5,hubs --draws 400
    python benchmarks/coverage_of_intervals.py --parts people  # only model performance, which takes no pairs
    python benchmarks/coverage_of_intervals.py --report  # only write the tables anew, from stored figures

From each population (``_coverage_populations.py``), whose truth is known, tables are drawn, audited with two models and
the two audits compared. An interval covers if the truth is in it. With the limit of a policy at the truth, a measure
passes wrongly if its whole interval is better than the truth, and fails wrongly if the whole interval is worse. Where
there is no interval, the verdict is inconclusive: that is counted beside. Figures are stored as they come
(results/coverage.json.xz), and what is stored is not drawn again, unless asked with --again, which draws populations
and parts that are named from their first table on. The table is
results/coverage.md.

Measures of people (model performance) do not depend on the pairs. They are simulated by themselves, with hardly any
pairs: the same intervals in a fraction of the time.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from _coverage_populations import GAP_LIMIT, POPULATIONS, People, find_truth
from _coverage_report import part_of, write_page
from _harness import RESULTS, read_figures, write_figures
from likewise import Audit, Comparability, Roles, audit, compare_audits
from likewise.auditing import Measure
from likewise.exceptions import LikewiseError, LikewiseWarning

NAME: Final = "coverage"
AT_ONCE: Final = 50  # tables: what is lost when the program is stopped
HIGHER_IS_BETTER: Final = ("roc_auc", "average_precision", "accuracy", "balanced_accuracy", "f1", "r2", "score_spread")
COUNTS: Final = ("n", "n_intervals", "n_covered", "n_false_pass", "n_false_fail")
PARTS: Final = ("pairs", "people")
FEWEST_RESAMPLES: Final = 40  # where none is counted: of the second model, and of measures of pairs, which take none
Tally = dict[str, dict[str, float]]


def main() -> None:
    """Simulate what the command line asks for and is not stored yet."""
    options = read_arguments()
    stored = read_figures(NAME)
    if options.again:
        forget(stored, options.populations, options.parts)
    with ProcessPoolExecutor(options.jobs) as pool:
        for name in [] if options.report else options.populations:
            one = stored.setdefault(name, {"draws": {}, "resamples": options.resamples, "measures": {}})
            if "truth" not in one:
                one["truth"] = find_truth(POPULATIONS[name])
            for part in options.parts:
                truth = {measured: true for measured, true in one["truth"].items() if part_of(measured) == part}
                number = one.setdefault("first", {}).setdefault(part, options.first)  # the seed of the first table
                starts = range(number + one["draws"].get(part, 0), number + options.draws, AT_ONCE)
                began = time.perf_counter()
                n_resamples = options.resamples if part == "people" else FEWEST_RESAMPLES
                for tally in pool.map(partial(simulate, name, part, truth, n_resamples), starts):
                    one["draws"][part] = one["draws"].get(part, 0) + AT_ONCE
                    merge(one["measures"], tally)
                    write_figures(NAME, stored)
                print(
                    f"{name}, {part}: {one['draws'].get(part, 0):,} tables, {time.perf_counter() - began:.0f} s",
                    flush=True,
                )
    (RESULTS / f"{NAME}.md").write_text(write_page(stored), "utf-8")


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--draws", type=int, default=2_000, help="tables of each population")
    parser.add_argument("--first", type=int, default=0, help="number of the first table, which seeds it")
    parser.add_argument("--resamples", type=int, default=200, help="bootstrap resamples for measures of people")
    parser.add_argument("--populations", type=lambda text: text.split(","), default=list(POPULATIONS))
    parser.add_argument("--parts", type=lambda text: text.split(","), default=list(PARTS))
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--again", action="store_true")
    return parser.parse_args()


def forget(stored: dict[str, Any], populations: list[str], parts: list[str]) -> None:
    """Drop the counts of some populations, all measures of a part together."""
    for name in set(populations) & set(stored):
        one = stored[name]
        for what in ("draws", "first"):
            one[what] = {part: n for part, n in one.get(what, {}).items() if part not in parts}
        one["measures"] = {name: counts for name, counts in one["measures"].items() if part_of(name) not in parts}


def simulate(name: str, part: str, truth: dict[str, float], n_resamples: int, first: int) -> Tally:
    """Draw and audit some tables of a population, and count what the intervals are worth."""
    tally: Tally = {}
    for number in range(first, first + AT_ONCE):
        random = np.random.default_rng([number, *name.encode()])
        people = POPULATIONS[name].draw(random, 1)
        if part == "people":
            people = leave_few_pairs(people)
        try:
            found = measure(name, people, n_resamples, number, baseline=part == "pairs")
        except LikewiseError:  # a draw without pairs
            found = {}
        for measured, true in truth.items():
            count(tally.setdefault(measured, dict.fromkeys((*COUNTS, "width"), 0.0)), measured, true, found)
    return tally


def leave_few_pairs(people: People) -> People:
    """Return the same people and scores, of whom only the first of each label is of another group."""
    group = np.zeros(len(people), np.int64)
    group[np.unique(people.label, return_index=True)[1]] = 1
    return replace(people, group=group, case=np.zeros(len(people), np.int64))


def measure(name: str, people: People, n_resamples: int, seed: int, *, baseline: bool) -> dict[str, Measure]:
    """Audit both models, and compare the two audits."""
    population = POPULATIONS[name]
    frame = pa.table({"group": people.group.astype(str), "case": people.case.astype(str)})
    how: dict[str, Any] = {
        "roles": Roles(sensitive=["group"], discrete=["case"]),
        "rule": Comparability(max_discrete_changes=0),
        "gap_limit": GAP_LIMIT,
        "n_resamples": n_resamples,
        "random_state": seed,
        "n_worst": 0,
        "max_pairs": population.max_pairs,
        "when_too_many": population.when_too_many,
        "sample_weight": people.weight,
    }
    y: Any = people.label
    if population.task == "regression":
        how |= {"task": "regression", "scale": 1.0}
        y = people.outcome
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LikewiseWarning)
        one = audit(people.scores, frame, y, **how, baseline=baseline)
        other = audit(people.others, frame, y, **how | {"baseline": False, "n_resamples": FEWEST_RESAMPLES})
    changes = compare_audits(one, other).changes
    return {**one.measures, **_direction(one), **{f"change_{name}": one.difference for name, one in changes.items()}}


def _direction(found: Audit) -> dict[str, Measure]:
    """Return the signed mean gap of group 1 over group 0, whichever way it is told."""
    for direction in found.directions:
        told = direction if direction.target == ("1",) else direction.reversed()
        return {"direction": Measure(told.mean_gap, told.low, told.high, told.n_pairs)}
    return {}


def count(tally: dict[str, float], name: str, true: float, found: dict[str, Measure]) -> None:
    """Count one interval."""
    one = found.get(name, Measure(None))
    tally["n"] += 1
    if one.value is None or (one.low is None and one.high is None):
        return
    low, high = -np.inf if one.low is None else one.low, np.inf if one.high is None else one.high
    below, above = bool(high < true - 1e-9), bool(low > true + 1e-9)
    tally["n_intervals"] += 1
    tally["n_covered"] += not (below or above)
    is_better_higher = name.removeprefix("change_") in HIGHER_IS_BETTER
    tally["n_false_pass"] += above if is_better_higher else below
    tally["n_false_fail"] += below if is_better_higher else above
    tally["width"] += min(float(high - low), 1e6)


def merge(into: Tally, other: Tally) -> None:
    """Add counts."""
    for name, counts in other.items():
        mine = into.setdefault(name, dict.fromkeys(counts, 0.0))
        for what, number in counts.items():
            mine[what] += number


if __name__ == "__main__":
    main()
