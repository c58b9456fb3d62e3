"""Measure the three generators: how fast they learn and make rows, and how good the rows are.

Run it from the environment that ``make test`` makes, and once more on a machine with a GPU::

    python benchmarks/generation.py --device cpu --ctgan /where/ctgan/is/bin/python   # the processor, and the rival
    python benchmarks/generation.py --device cuda                                     # the GPU
    python benchmarks/generation.py --device cuda --parts speed --steps 3000 --again  # its speed alone, a minute
    python benchmarks/generation.py --report                                          # only write the tables anew

A cell is a device, a data set, a generator and what was asked of it. Each is stored as soon as it is there
(results/generation.json) and not measured again, unless asked with --again. The readable tables are
results/generation.md. ctgan is no dependency of ours: without --ctgan its cells stay empty.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import likewise
from _generation_report import write_report
from likewise import AdversarialGenerator, Dataset, GibbsGenerator, UniformGenerator, audit, load_dataset
from likewise.generation import copied_share, detectability, learning_efficacy

HERE: Final = Path(__file__).parent
DATASETS: Final = ("adult", "compas", "law_school", "oulad", "dutch")
GENERATORS: Final[dict[str, Callable[..., Any]]] = {
    "adversarial": AdversarialGenerator,
    "gibbs": GibbsGenerator,
    "uniform": UniformGenerator,
}
# antidotes per training row that the paper appends to each data set
RATIOS: Final = {"adult": 0.4525, "compas": 1.4855, "law_school": 0.5618, "oulad": 5.2323, "dutch": 2.0544}
NUMBERS: Final = (
    *("roc_auc", "average_precision", "positive_gap_mean", "positive_gap_q3", "negative_gap_mean", "negative_gap_q3"),
    *("rank_gap_mean", "score_spread", "brier"),
)
BATCH: Final = 4096
SAME_STEPS: Final = 40  # over which recorded and plain steps are compared

Results = dict[str, Any]


def main() -> None:
    options = read_arguments()
    path = options.results / "generation.json"
    results = json.loads(path.read_text()) if path.exists() else {"machines": {}, "cells": {}}
    if not options.report:
        results["machines"][options.device] = describe_machine(options.device)
        for name, measure in list_cells(options):
            if name in results["cells"] and not options.again:
                continue
            print(name, flush=True)
            started = time.perf_counter()
            try:
                cell = measure()
            except Exception as error:  # a cell that fails is shown, and the others go on
                cell = {"failed": f"{type(error).__name__}: {error}"}
            cell["seconds_in_all"] = time.perf_counter() - started
            results["cells"][name] = cell
            options.results.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            part.write_text(json.dumps(results, indent=1) + "\n")
            os.replace(part, path)
    write_report(results, options.results / "generation.md")


def list_cells(options: argparse.Namespace) -> list[tuple[str, Callable[[], Results]]]:
    device, cells = options.device, []
    if "speed" in options.parts:
        cells.append((f"{device}/speed/adversarial", lambda: measure_training(device, options.steps)))
        if options.ctgan:
            cells.append((f"{device}/speed/ctgan", lambda: measure_ctgan(options.ctgan, options.steps)))
    if "quality" in options.parts:
        for dataset in options.datasets:
            cells.append((f"{device}/quality/{dataset}/none", lambda name=dataset: measure_real(name)))
            cells += [
                (
                    f"{device}/quality/{dataset}/{generator}",
                    lambda name=dataset, kind=generator: measure_quality(name, kind, device, options.iterations),
                )
                for generator in options.generators
            ]
    return cells


def measure_training(device: str, n_steps: int) -> Results:
    """Steps a second, after the first record: what is done once, such as mixtures or a graph, is not in it.

    On a processor by its own time and on one thread, which is the same on a busy machine; on a GPU by the clock.
    """
    import torch

    data = load_dataset("adult")
    clock = time.perf_counter
    if device == "cpu":
        torch.set_num_threads(1)
        clock = time.process_time
    ends: list[float] = []
    generator = _trained(data, device, n_steps, progress=lambda _: ends.append(clock()))
    started = time.perf_counter()
    generator.fit(data.train.X, data.train.y)
    seconds = time.perf_counter() - started
    first, *others = generator.history_
    n_timed = generator.n_iterations_ - first["iteration"]
    taken = sum(record["seconds"] for record in others) if device == "cuda" else ends[-1] - ends[0]
    found: Results = {"n_steps": generator.n_iterations_, "steps_per_s": n_timed / taken, "fit_s": seconds}
    if device == "cuda":
        found["same_bits"] = is_recorded_exactly(data, device)
    return found | measure_sampling(generator, data, clock, n_calls=5)


def is_recorded_exactly(data: Dataset, device: str) -> bool:
    """Whether steps recorded as a CUDA graph give the losses of steps taken one by one, bit by bit, and their rows."""
    found = []
    for compile_step in (True, False):
        generator = _trained(data, device, SAME_STEPS, compile_step=compile_step).fit(data.train.X, data.train.y)
        losses = [{name: value for name, value in one.items() if name != "seconds"} for one in generator.history_]
        made = generator.generate(data.train.X[:2_000], data.train.y[:2_000]).table
        found.append((losses, made.continuous.tobytes(), made.discrete.tobytes()))
    return found[0] == found[1]


def _trained(data: Dataset, device: str, n_steps: int, **more: Any) -> AdversarialGenerator:
    settings: Results = {"n_iterations": n_steps, "evaluate_every": max(n_steps // 2, 1), "batch_size": BATCH}
    return AdversarialGenerator(data.roles, data.rule, **settings, **more, device=device, random_state=0)


def measure_ctgan(python: str, n_steps: int) -> Results:
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "people.parquet"
        load_dataset("adult").train.X.to_parquet(table)
        command = [python, "-W", "ignore", str(HERE / "_ctgan.py"), str(table), str(BATCH), str(n_steps)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: Results = json.loads(done.stdout)
    return found


def measure_sampling(
    generator: Any, data: Dataset, clock: Callable[[], float] = time.perf_counter, n_calls: int = 1
) -> Results:
    """Raw rows a second: the median of some calls; what a GPU sets up for batches of a new size is in the first."""
    generator.generate(data.train.X[:2_000], data.train.y[:2_000])
    rates = []
    for _ in range(n_calls):
        started = clock()
        antidotes = generator.generate(data.train.X, data.train.y)
        rates.append(antidotes.n_raw / (clock() - started))
    found = {"raw_rows_per_s": median(rates), "kept": antidotes.kept, "coverage": antidotes.coverage}
    return found | ({"first_raw_rows_per_s": rates[0]} if n_calls > 1 else {})


def measure_quality(dataset: str, kind: str, device: str, n_iterations: int | None) -> Results:
    data = load_dataset(dataset)
    settings: Results = {} if kind == "uniform" else {"device": device}
    if kind == "adversarial" and n_iterations is not None:
        settings["n_iterations"] = n_iterations
    generator = GENERATORS[kind](data.roles, data.rule, random_state=0, **settings)
    started = time.perf_counter()
    generator.fit(data.train.X, data.train.y)
    fit_s = time.perf_counter() - started
    antidotes = generator.generate(data.train.X, data.train.y, ratio=RATIOS[dataset])
    found: Results = {"fit_s": fit_s, **measure_sampling(generator, data), "ratio": antidotes.ratio}
    if kind == "adversarial":
        found |= measure_learning(generator.history_)
    found["efficacy"] = learning_efficacy(antidotes, data.test.X, data.test.y)
    found["detectability"] = detectability(antidotes, data.train.X)
    found["copied"] = copied_share(antidotes, data.train.X)
    return found | {"audit": audit_model(data, *antidotes.append_to(data.train.X, data.train.y))}


def measure_learning(history: list[Results]) -> Results:
    """What training came to, and how long it took to most of it; each record has the seconds of its own steps."""
    last = history[-1]
    together = [record["ratio"]["together"] for record in history]
    reached = next(number for number, ratio in enumerate(together) if ratio >= 0.8 * together[-1])
    seconds = sum(record["seconds"] for record in history[: reached + 1])
    return {"comparable": last["ratio"], "n_iterations": last["iteration"], "seconds_to_80": seconds}


def measure_real(dataset: str) -> Results:
    """What there is to be had: real people to train on, and the model without antidotes."""
    data = load_dataset(dataset)
    efficacy = learning_efficacy((data.train.X, data.train.y), data.test.X, data.test.y, roles=data.roles)
    return {"efficacy": efficacy, "audit": audit_model(data, data.train.X, data.train.y)}


def audit_model(data: Dataset, X: Any, y: Any) -> Results:
    """Train the paper's logistic regression, and audit it on the test rows."""
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [*data.roles.sensitive, *data.roles.discrete]),
        (MinMaxScaler(), list(data.roles.continuous)),
    )
    model = make_pipeline(columns, LogisticRegression(C=1, max_iter=2048)).fit(X, y)
    schema = data.roles.learn(data.train.X)
    found = audit(model, data.test.X, data.test.y, roles=schema, rule=data.rule, n_resamples=0, baseline=False)
    return {name: found[name].value for name in NUMBERS}


def describe_machine(device: str) -> str:
    import torch

    name = torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine()
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = f"Python {platform.python_version()}, torch {torch.__version__}, likewise {likewise.__version__}"
    return f"{name}, {n_cores} processor cores, {versions}"


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--parts", default="speed,quality", type=lambda text: text.split(","))
    parser.add_argument("--datasets", default=",".join(DATASETS), type=lambda text: text.split(","))
    parser.add_argument("--generators", default=",".join(GENERATORS), type=lambda text: text.split(","))
    parser.add_argument("--steps", default=60, type=int, help="steps to time the adversarial training by")
    parser.add_argument("--iterations", type=int, help="of the adversarial training, other than its default")
    parser.add_argument("--ctgan", help="the Python of an environment that has the ctgan package")
    parser.add_argument("--results", default=HERE / "results", type=Path)
    parser.add_argument("--again", action="store_true", help="measure what is stored already, too")
    parser.add_argument("--report", action="store_true", help="only write the tables, from stored figures")
    return parser.parse_args()


if __name__ == "__main__":
    main()
    sys.exit(0)
