"""Compare what can be done against gaps: nothing, antidotes, AntiDRO, pairs in the loss, smoothed targets and scores.

Run it from the environment that ``make test`` makes (XGBoost and torch installed)::

    python benchmarks/remedies.py --jobs 16                   # 1,300 cells, most of them seconds on one core
    python benchmarks/remedies.py --only adult,compas --splits 0,1
    python benchmarks/remedies.py --report                    # only write the table, from stored cells

Five data sets, up to ten splits into training and test rows. Adult comes with one split: its rows are put together and
split anew, into parts of the same sizes. For each remedy several values are tried: models are fitted to three quarters
of the training rows and audited on the last quarter, and the one with the smallest rank gaps (mean of both labels')
whose average precision is at most one point below the plain model's is chosen; the plain model, if there is none. Rank
gaps do not shrink by scores that only move closer together. The chosen model is fitted again to all training rows, and
scores the test rows once. Nothing is chosen by test rows.

A cell is stored in results/remedies.json.xz as soon as it is there; what is stored is not measured again, unless it was
chosen among other values than are tried now. The readable table is results/remedies.md. Seconds are the processor's, of
fitting the chosen model, with antidotes and teachers.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.base import clone

from _harness import RESULTS, read_figures, write_figures
from _remedies_methods import REMEDIES, Remedy, make_plain
from _remedies_report import write_page
from likewise import Dataset, audit, load_dataset

NAME: Final = "remedies"
DATA: Final = ("adult", "compas", "law_school", "oulad", "dutch")
N_SPLITS: Final = 10
MAX_LOSS: Final = 0.01  # of average precision
LABELS: Final = (1, 0)
KEPT: Final = (
    *("roc_auc", "average_precision", "log_loss", "score_spread", "matched_share", "excess"),
    *(f"{name}[{label}]" for label in LABELS for name in ("gap_mean", "rank_gap_mean")),
)

Cell = dict[str, Any]


def main() -> None:
    options = read_arguments()
    stored = read_figures(NAME)
    if not options.report:
        wanted = [
            (name, split, number)
            for split in options.splits
            for name in options.only
            for number, remedy in enumerate(REMEDIES)
            if not remedy.is_current(stored.get(f"{name}; {split}; {remedy.title}", {"failed": "not measured"}))
        ]
        measure_all(wanted, stored, options.jobs)
    (RESULTS / f"{NAME}.md").write_text(write_page(stored), "utf-8")


def measure_all(wanted: list[tuple[str, int, int]], stored: dict[str, Cell], n_jobs: int) -> None:
    """Measure cells in processes, and store each as soon as it is there."""
    started = time.perf_counter()
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")})
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_jobs, mp_context=context) as pool:
        waiting = {pool.submit(measure, *cell): cell for cell in wanted}
        for done, future in enumerate(as_completed(waiting), start=1):
            name, split, number = waiting[future]
            cell = {"data": name, "split": split, "remedy": REMEDIES[number].title}
            try:
                cell |= future.result()
            except Exception as error:  # the others go on, and it is tried again next time
                cell["failed"] = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
            stored[f"{name}; {split}; {cell['remedy']}"] = cell
            write_figures(NAME, stored)
            shown = cell.get("failed") or f"{cell['params']} in {cell['seconds_in_all']:.0f} s"
            so_far = time.perf_counter() - started
            print(f"{done}/{len(wanted)} {so_far:.0f} s: {name} {split} {cell['remedy']}: {shown}", flush=True)


def measure(name: str, split: int, number: int) -> Cell:
    """Choose a model on training rows, fit it to all of them, and audit it on the test rows."""
    started = time.perf_counter()
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    data, remedy = load_split(name, split), REMEDIES[number]
    plain = make_plain(remedy.model, data, split)
    chosen = choose(remedy, data, plain, split)
    before = time.process_time()
    model = plain if chosen is None else remedy.make(data, plain, split).set_params(**chosen)
    model.fit(data.train.X, data.train.y)
    seconds = time.process_time() - before
    return {
        "params": {"chosen": "plain"} if chosen is None else chosen,
        "tried": [*remedy.settings],
        "measures": check(model, data),
        "seconds": round(seconds, 3),
        "seconds_in_all": round(time.perf_counter() - started, 1),
    }


def choose(remedy: Remedy, data: Dataset, plain: Any, split: int) -> Cell | None:
    """Return the values that held-out training rows favour; None for the plain model."""
    if not remedy.settings:
        return {}
    order = np.random.default_rng([split, 1]).permutation(len(data.train))
    cut = len(order) // 4
    rows = np.sort(order[cut:]), np.sort(order[:cut])
    parts = [replace(data.train, X=data.train.X.iloc[one], y=data.train.y.iloc[one]) for one in rows]
    inner = replace(data, train=parts[0], test=parts[1])
    base = check(clone(plain).fit(inner.train.X, inner.train.y), inner)
    found = [check(model, inner) for model in remedy.fit_all(inner, plain, split)]
    able = [k for k, one in enumerate(found) if one["average_precision"] >= base["average_precision"] - MAX_LOSS]
    best = min(able, key=lambda k: rank_gap(found[k]), default=None)
    return None if best is None or rank_gap(found[best]) >= rank_gap(base) else remedy.settings[best]


def rank_gap(measures: Cell) -> float:
    return float(sum(measures[f"rank_gap_mean[{label}]"] or 0.0 for label in LABELS))


def check(model: Any, data: Dataset) -> Cell:
    """Audit a model on the test rows."""
    schema = data.roles.learn(data.train.X)
    found = audit(model, data.test.X, data.test.y, roles=schema, rule=data.rule, n_resamples=0)
    return {measure: found[measure].value for measure in KEPT}


def load_split(name: str, split: int) -> Dataset:
    """Load a data set by the seed of its split; Adult's rows are split anew, into parts of the same sizes."""
    data = load_dataset(name, split_seed=split)
    if name != "adult":
        return data
    X = pd.concat([data.train.X, data.test.X], ignore_index=True)
    y = pd.concat([data.train.y, data.test.y], ignore_index=True)
    order = np.random.default_rng(split).permutation(len(X))
    parts = order[: len(data.train)], order[len(data.train) :]
    train, test = (
        replace(one, X=X.iloc[rows].reset_index(drop=True), y=y.iloc[rows].reset_index(drop=True))
        for one, rows in zip((data.train, data.test), parts, strict=True)
    )
    return replace(data, train=train, test=test)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--only", default=",".join(DATA), help="data sets, with commas")
    parser.add_argument("--splits", default=",".join(map(str, range(N_SPLITS))), help="seeds of splits, with commas")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the readable table anew")
    options = parser.parse_args()
    options.only = options.only.split(",")
    options.splits = [int(split) for split in options.splits.split(",")]
    return options


if __name__ == "__main__":
    main()
