"""One cell, from its spec to its numbers."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import numpy as np

import likewise
from likewise import Dataset, audit, count_pairs, mine_pairs
from likewise.exceptions import MissingExtra
from paper._added import know_added
from paper._cells import Cell, Spec, key_of
from paper._efficacy import measure_efficacy
from paper._generators import SharedGenerators
from paper._methods import Generators, fit_method
from paper._protocol import measure_setting
from paper._registry import Lacking
from paper._rows import rows_of

MEASURES: Final = (
    *("roc_auc", "average_precision", "gap_mean[1]", "gap_q3[1]", "gap_mean[0]", "gap_q3[0]"),
    *("log_loss", "brier", "score_spread", "rank_gap_mean[1]", "rank_gap_mean[0]"),
)
LEVELS: Final = (0.05, 0.25, 0.5, 0.75, 0.95)  # of a box plot: whiskers, box, median
PACKAGES: Final = ("numpy", "scikit-learn", "torch", "xgboost")

Numbers = dict[str, Any]


def measure(spec: Spec, work: Path, device: str) -> Cell:
    """Measure a cell. What goes wrong is its error; a package that is not here is raised as Lacking."""
    shared = SharedGenerators(work, device)
    started, cpu = time.perf_counter(), time.process_time()
    cell: Cell = {"key": key_of(spec), "spec": spec}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            know_added(spec, work)
            data = rows_of(spec)
            cell["data_checksum"] = data.checksum
            cell["numbers"] = KINDS[spec["method"]["kind"]](spec, data, shared.get, device)
        except Lacking:
            raise
        except MissingExtra as error:
            raise Lacking(str(error)) from None
        except Exception as error:  # it is shown, and the others go on
            cell["error"] = _shown(error)
    cell["warnings"] = _told_of(caught)
    cell["seconds"] = round(time.perf_counter() - started - shared.seconds, 2)
    cell["cpu_s"] = round(time.process_time() - cpu - shared.cpu_s, 2)
    return cell | {"generator": shared.record, "versions": find_versions(), "machine": describe_machine(device)}


def train_generator(spec: Spec, work: Path, device: str) -> dict[str, Any]:
    """Train the generator of a cell, if it is not there already, and say how long that took or what went wrong."""
    shared = SharedGenerators(work, device)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            know_added(spec, work)
            shared.get(spec)
    except MissingExtra as error:
        raise Lacking(str(error)) from None
    except Exception as error:  # it is shown, and the others go on
        return {"error": _shown(error), "seconds": shared.seconds}
    return {"seconds": shared.seconds}


def _measure_model(spec: Spec, data: Dataset, generators: Generators, device: str) -> Numbers:
    fitted = fit_method(spec, data, generators, device)
    schema = data.roles.learn(data.train.X)
    scores = fitted.model.predict_proba(data.test.X)[:, 1]
    found = audit(
        *(scores, data.test.X, data.test.y), roles=schema, rule=data.rule, positive=1, n_resamples=0, baseline=False
    )
    numbers: Numbers = {name: _plain(found[name].value) for name in MEASURES}
    table = schema.encode(data.test.X, data.test.y)
    numbers["rules"] = {}
    for which in spec["method"]["rules"]:
        pairs = mine_pairs(table, replace(data.rule, sensitive_differs=which))
        gaps = np.abs(scores[pairs.left] - scores[pairs.right])
        is_positive = table.labels[pairs.left] == 1
        numbers["rules"][which] = {"positive": _boxed(gaps[is_positive]), "negative": _boxed(gaps[~is_positive])}
    return numbers | fitted.told


def _boxed(gaps: Any) -> Numbers:
    if not len(gaps):
        return {"n": 0, "mean": None, "quantiles": None}
    return {"n": len(gaps), "mean": float(gaps.mean()), "quantiles": np.quantile(gaps, LEVELS).tolist()}


def _measure_statistics(spec: Spec, data: Dataset, generators: Generators, device: str) -> Numbers:
    """Count what the paper's table of data sets counts."""
    schema = data.roles.learn(data.train.X)
    widths = [len(schema.categories[name]) for name in (*data.roles.sensitive, *data.roles.discrete)]
    numbers: Numbers = {"n_columns": sum(widths) + len(data.roles.continuous)}
    for part, people in (("train", data.train), ("test", data.test)):
        table = schema.encode(people.X, people.y)
        numbers[f"n_{part}"] = len(table)
        for which in spec["method"]["rules"]:
            counts = count_pairs(table, replace(data.rule, sensitive_differs=which)).by_label
            end = "" if which == "any" else f"_{which}"
            numbers[f"{part}_positive_pairs{end}"] = int(counts.get(1, 0))
            numbers[f"{part}_negative_pairs{end}"] = int(counts.get(0, 0))
    return numbers


def _measure_convergence(spec: Spec, data: Dataset, generators: Generators, device: str) -> Numbers:
    """Give the curves that the generator left: which share of the rows made is comparable, by kind of column."""
    history = generators(spec).history_
    kinds = [*history[0]["ratio"]]
    return {
        "iteration": [record["iteration"] for record in history],
        "ratio": {kind: [record["ratio"][kind] for record in history] for kind in kinds},
    }


KINDS: Final[dict[str, Callable[[Spec, Dataset, Generators, str], Numbers]]] = {
    "models": _measure_model,
    "statistics": _measure_statistics,
    "efficacy": measure_efficacy,
    "convergence": _measure_convergence,
    "protocol": measure_setting,
}


def _plain(value: float | None) -> float | None:
    return None if value is None else float(value)


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _told_of(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    told = [one for one in caught if not issubclass(one.category, DeprecationWarning)]
    return sorted({f"{one.category.__name__}: {' '.join(str(one.message).split())}" for one in told})


@cache
def find_versions() -> dict[str, str]:
    """Say which versions of what decides the numbers are here."""
    found = {"likewise": likewise.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def describe_machine(device: str) -> dict[str, Any]:
    """Say in a few words where a cell was measured; the GPU, if there was one for networks and generators."""
    gpu = None
    if device != "cpu":
        import torch

        gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {"processor": platform.machine(), "n_cores": os.cpu_count(), "gpu": gpu, "system": platform.system()}
