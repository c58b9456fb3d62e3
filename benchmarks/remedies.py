"""Compare what can be done against gaps: nothing, antidotes, AntiDRO, pairs in the loss, smoothed scores.

Run it from the environment that ``make test`` makes (XGBoost and torch installed)::

    python benchmarks/remedies.py --jobs 16                   # 600 cells, each up to a minute or two on one core
    python benchmarks/remedies.py --only adult,compas --splits 0,1
    python benchmarks/remedies.py --report                    # only write the table, from stored cells

Five data sets, ten splits into training and test rows. Adult comes with one split: its rows are put together and split
anew, into parts of the same sizes. For each remedy several values are tried: models are fitted to three quarters of the
training rows and audited on the last quarter, and the one with the smallest rank gaps (mean of both labels') whose log
loss is at most 0.02 higher than the plain model's is chosen; the plain model, if there is none. Rank gaps do not shrink
by scores that only move closer together. The chosen model is fitted again to all training rows, and scores the test
rows once. Nothing is chosen by test rows.

A cell is stored in results/remedies.json.xz as soon as it is there; what is stored is not measured
again, unless it was chosen among other weights than are tried now. The readable table is results/remedies.md. Seconds
are the processor's, of fitting the chosen model.
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

from _harness import RESULTS, read_figures, write_figures
from _remedies_methods import REMEDIES, Remedy, make_plain
from _remedies_report import write_page
from likewise import Dataset, FrontierSearch, audit, load_dataset

NAME: Final = "remedies"
DATA: Final = ("adult", "compas", "law_school", "oulad", "dutch")
N_SPLITS: Final = 10
MAX_LOSS: Final = 0.02  # of log loss
BOTH: Final = ("positive", "negative")
KEPT: Final = (
    *("roc_auc", "average_precision", "log_loss", "score_spread", "coverage"),
    *(f"{label}_{name}" for label in BOTH for name in ("gap_mean", "rank_gap_mean", "excess_gap_mean")),
    *(f"{label}_excess_rank_gap_mean" for label in BOTH),
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
    model, params = choose(remedy, data, split)
    before = time.process_time()
    model.fit(data.train.X, data.train.y)
    seconds = time.process_time() - before
    schema = data.roles.learn(data.train.X)
    found = audit(model, data.test.X, data.test.y, roles=schema, rule=data.rule, n_resamples=0)
    kept = {measure: found[measure].value for measure in KEPT}
    n_pairs = {label: found[f"{label}_gap_mean"].n for label in BOTH}
    return {
        "params": params,
        **({} if remedy.tried is None else {"tried": remedy.tried}),
        "measures": kept,
        "n_pairs": n_pairs,
        "seconds": round(seconds, 3),
        "seconds_in_all": round(time.perf_counter() - started, 1),
    }


def choose(remedy: Remedy, data: Dataset, split: int) -> tuple[Any, Cell]:
    """Return an unfitted model with the values that held-out training rows favour, or the plain one."""
    plain = make_plain(remedy.model, data, split)
    if remedy.make is None or remedy.grid is None:
        return plain, {}
    model = remedy.make(data, plain, split)
    search = FrontierSearch(
        model,
        remedy.grid,
        base=plain,
        roles=data.roles,
        rule=data.rule,
        utility="log_loss",
        unfairness=tuple(f"{label}_rank_gap_mean" for label in BOTH),
        max_loss=MAX_LOSS,
        validation_fraction=0.25,
        n_resamples=0,
        refit=False,
        random_state=split,
    )
    search.fit(data.train.X, data.train.y)
    chosen = dict(search.best_params_)
    return (model.set_params(**chosen), chosen) if chosen else (plain, {"chosen": "plain"})


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
