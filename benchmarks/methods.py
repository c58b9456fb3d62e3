"""Measure the methods of the paper on Adult, five seeds each, beside the published numbers.

Run it from the environment that ``make test`` makes, or with src on the path where torch and scikit-learn are there::

    python benchmarks/methods.py --jobs 2                  # everything that is missing; hours on two cores
    python benchmarks/methods.py --only LR+Anti AntiDRO    # some methods
    python benchmarks/methods.py --report                  # only write the table anew

A cell is a method and a seed. Each is stored as soon as it is there (results/methods.json) and not measured again,
unless asked with --again. The readable table is results/methods.md. The seed sets the generator's training, the
antidotes drawn, and the network; the rows are those of Adult as published, test rows never trained on.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import likewise
from _methods_report import write_report
from likewise import (
    AntiDROClassifier,
    AugmentedClassifier,
    Dataset,
    GibbsGenerator,
    NetworkClassifier,
    audit,
    load_dataset,
)
from likewise.baselines import DropSensitive, LCIFRClassifier, ProjectSensitive, SenSeIClassifier, SenSRClassifier

HERE: Final = Path(__file__).parent
NUMBERS: Final = (
    *("roc_auc", "average_precision", "positive_gap_mean", "positive_gap_q3", "negative_gap_mean", "negative_gap_q3"),
    *("log_loss", "brier", "score_spread", "positive_rank_gap_mean", "negative_rank_gap_mean"),
)
ROUNDS: Final = 5  # of antidotes for AntiDRO: about 180 % of the rows
RATIO: Final = 0.3  # antidotes per row for the models that are only given more rows

Results = dict[str, Any]
Fit = Callable[[Dataset, Any, int], Any]


def main() -> None:
    options = read_arguments()
    path = options.results / "methods.json"
    results = json.loads(path.read_text()) if path.exists() else {"machines": {}, "cells": {}}
    if not options.report:
        wanted = [
            (seed, methods)
            for seed in range(options.seeds)
            for methods in split(method for method in METHODS if not options.only or method in options.only)
        ]
        run_missing(wanted, results, path, options)
    write_report(results, path.with_suffix(".md"), {"ratio": RATIO, "rounds": ROUNDS})


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=[*METHODS], help="methods to measure")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="processes at once, one thread each")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--again", action="store_true", help="measure also what is there")
    parser.add_argument("--report", action="store_true", help="only write the table anew")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    return parser.parse_args()


def split(methods: Iterable[str]) -> list[list[str]]:
    """Keep those together that share a seed's generator; each of the others is a job of its own."""
    chosen = [*methods]
    together = [method for method in chosen if "Anti" in method]
    return [[method] for method in chosen if method not in together] + ([together] if together else [])


def run_missing(wanted: list[tuple[int, list[str]]], results: Results, path: Path, options: argparse.Namespace) -> None:
    cells = results["cells"]
    jobs = []
    for seed, methods in wanted:
        missing = [method for method in methods if options.again or f"{method}, seed {seed}" not in cells]
        if missing:
            jobs.append((seed, missing))
    jobs.sort(key=lambda job: -len(job[1]))  # the longest first
    machine = describe_machine(options.device)
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn"), initializer=use_one_thread) as pool:
        running = [pool.submit(measure, seed, methods, options.device) for seed, methods in jobs]
        for done in as_completed(running):
            for name, cell in done.result().items():
                cells[name] = cell | {"machine": machine["name"]}
                print(f"{name}: {cell['numbers']}", flush=True)
            results["machines"][machine["name"]] = machine
            part = path.with_suffix(".part")
            part.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
            part.replace(path)


def use_one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def describe_machine(device: str) -> dict[str, Any]:
    import numpy
    import sklearn
    import torch

    gpu = torch.cuda.get_device_name() if device == "cuda" else None
    versions = {module.__name__: module.__version__ for module in (likewise, numpy, sklearn, torch)}
    name = f"{gpu or platform.machine()}, torch {torch.__version__}"
    return {"name": name, "gpu": gpu, "n_cores": os.cpu_count(), "python": platform.python_version()} | versions


def measure(seed: int, methods: list[str], device: str) -> dict[str, Any]:
    data = load_dataset("adult")
    antidotes = Shared(data, seed, device)
    return {f"{method}, seed {seed}": measure_one(data, method, antidotes, seed) for method in methods}


class Shared:
    """Train the generator of a seed once, when it is first asked for, and give what all methods draw on."""

    def __init__(self, data: Dataset, seed: int, device: str) -> None:
        self.data, self.seed, self.device = data, seed, device
        self._generator: Any = None
        self._antidotes: Any = None

    @property
    def generator(self) -> GibbsGenerator:
        if self._generator is None:
            fresh = GibbsGenerator(self.data.roles, self.data.rule, device=self.device, random_state=self.seed)
            self._generator = fresh.fit(self.data.train.X, self.data.train.y)
        return self._generator

    @property
    def antidotes(self) -> Any:
        if self._antidotes is None:
            people = self.data.train
            self._antidotes = self.generator.generate(people.X, people.y, rounds=ROUNDS, random_state=self.seed)
        return self._antidotes


def measure_one(data: Dataset, method: str, shared: Shared, seed: int) -> dict[str, Any]:
    started, cpu = time.perf_counter(), time.process_time()
    model = METHODS[method](data, shared, seed)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    schema = data.roles.learn(data.train.X)
    found = audit(model, data.test.X, data.test.y, roles=schema, rule=data.rule, n_resamples=0)
    return {
        "method": method,
        "seed": seed,
        "data": data.checksum,
        "seconds": round(seconds, 2),  # with what all methods of a seed share, for the first of them
        "cpu_s": round(cpu, 2),
        "numbers": {name: found[name].value for name in NUMBERS},
    }


def linear(data: Dataset, *, dropped: bool = False) -> Any:
    roles = data.roles
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [*([] if dropped else roles.sensitive), *roles.discrete]),
        (MinMaxScaler(), [*roles.continuous]),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=2048))


def fit_plain(model: Any, data: Dataset) -> Any:
    return model.fit(data.train.X, data.train.y)


def with_antidotes(model: Any, shared: Shared, seed: int, *, ratio: float = RATIO, dropped: bool = False) -> Any:
    grown = AugmentedClassifier(model, shared.generator, ratio=ratio, discard_sensitive=dropped, random_state=seed)
    return fit_plain(grown, shared.data)


def without_sensitive(model: Any, data: Dataset) -> Any:
    return fit_plain(make_pipeline(DropSensitive(data.roles.sensitive), model), data)


def antidro(shared: Shared, seed: int, **settings: Any) -> Any:
    model = AntiDROClassifier(shared.generator, device="cpu", random_state=seed, **settings)
    return model.fit(shared.data.train.X, shared.data.train.y, antidotes=shared.antidotes)


def sensr(data: Dataset, seed: int, **settings: Any) -> SenSRClassifier:
    return SenSRClassifier(data.roles, epsilon=1e-3, device="cpu", random_state=seed, **settings)


def network(data: Dataset, seed: int, *, dropped: bool = False, **settings: Any) -> NetworkClassifier:
    roles = data.roles
    if dropped:
        roles = likewise.Roles(discrete=roles.discrete, continuous=roles.continuous, label=roles.label)
    return NetworkClassifier(roles=roles, device="cpu", random_state=seed, **settings)


METHODS: Final[dict[str, Fit]] = {
    "LR": lambda data, shared, seed: fit_plain(linear(data), data),
    "LR+Proj": lambda data, shared, seed: fit_plain(
        make_pipeline(ProjectSensitive(data.roles), LogisticRegression(max_iter=2048)), data
    ),
    "LR+Dis": lambda data, shared, seed: without_sensitive(linear(data, dropped=True), data),
    "LR+Anti": lambda data, shared, seed: with_antidotes(linear(data), shared, seed),
    "LR+Anti+Dis": lambda data, shared, seed: with_antidotes(linear(data, dropped=True), shared, seed, dropped=True),
    "NN": lambda data, shared, seed: fit_plain(network(data, seed), data),
    "NN+Proj": lambda data, shared, seed: fit_plain(
        make_pipeline(ProjectSensitive(data.roles), NetworkClassifier(scaling="none", device="cpu", random_state=seed)),
        data,
    ),
    "NN+Dis": lambda data, shared, seed: without_sensitive(network(data, seed, dropped=True), data),
    "SenSR": lambda data, shared, seed: fit_plain(sensr(data, seed, subspace_step=0.1), data),
    "SenSeI": lambda data, shared, seed: fit_plain(SenSeIClassifier(data.roles, device="cpu", random_state=seed), data),
    "LCIFR": lambda data, shared, seed: fit_plain(LCIFRClassifier(data.roles, device="cpu", random_state=seed), data),
    "NN+Anti": lambda data, shared, seed: with_antidotes(network(data, seed), shared, seed),
    "NN+Anti+Dis": lambda data, shared, seed: with_antidotes(
        network(data, seed, dropped=True), shared, seed, dropped=True
    ),
    "AntiDRO": lambda data, shared, seed: antidro(shared, seed, antidote_weight=0.5),
    # the same with other settings
    "SenSR, half the reach": lambda data, shared, seed: fit_plain(sensr(data, seed, subspace_step=0.05), data),
    "SenSeI, rho 1": lambda data, shared, seed: fit_plain(
        SenSeIClassifier(data.roles, rho=1.0, device="cpu", random_state=seed), data
    ),
    "LCIFR, gamma 0": lambda data, shared, seed: fit_plain(
        LCIFRClassifier(data.roles, gamma=0.0, device="cpu", random_state=seed), data
    ),
    # beyond the paper
    "AntiDRO, weight 1": lambda data, shared, seed: antidro(shared, seed),
    "AntiDRO, consistency 0.5": lambda data, shared, seed: antidro(
        shared, seed, antidote_weight=0.5, objective="consistency"
    ),
    "NN, L2 0.001": lambda data, shared, seed: fit_plain(network(data, seed, weight_decay=1e-3), data),
    "NN, L2 0.001+Anti": lambda data, shared, seed: with_antidotes(
        network(data, seed, weight_decay=1e-3), shared, seed
    ),
}


if __name__ == "__main__":
    main()
