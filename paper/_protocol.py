"""The benchmark: every method with the same budget, chosen on folds of training rows, tested once on fresh splits."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from likewise import Dataset, audit, mine_pairs
from paper._cells import Spec
from paper._experiments import Experiment, ExperimentError, Method, Place, Row, read_model, read_toml
from paper._methods import Generators, fit_method
from paper._registry import dataset_names
from paper._rows import rows_of

FILE: Final = "protocol.toml"
NAME: Final = "protocol"
KEYS: Final = ("splits", "data", "folds", "budget", "reference", "max_ap_loss", "max_log_loss_rise", "method")
METHOD_KEYS: Final = ("name", "family", "model", "columns", "params", "antidotes", "settings")
AMOUNTS: Final = ("ratio", "rounds")  # settings of the antidotes; all others are the model's

MEASURES: Final = (
    *("roc_auc", "average_precision", "log_loss", "brier", "calibration_error", "score_spread"),
    *("gap_mean[1]", "gap_mean[0]", "rank_gap_mean[1]", "rank_gap_mean[0]", "flip_rate"),
)
TEST_MEASURES: Final = (*MEASURES, "excess[1]", "excess[0]", "matched_share")

Numbers = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Contender:
    """A method of the benchmark: its settings, each as the method of a cell."""

    name: str
    family: str
    settings: tuple[Method, ...]


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is measured, and by which rule a setting is chosen; see the head of protocol.toml."""

    splits: tuple[int, ...]
    data: tuple[str, ...]
    folds: int
    budget: int
    reference: str
    max_ap_loss: float
    max_log_loss_rise: float
    contenders: tuple[Contender, ...]

    def rows(self) -> tuple[Row, ...]:
        """List a row for each data set, method and setting; its value is the number of the setting."""
        return tuple(
            Row(one.name, "ours", data, method, self.splits, series=one.family, value=float(number))
            for data in self.data
            for one in self.contenders
            for number, method in enumerate(one.settings)
        )

    def experiment(self) -> Experiment:
        """Give the rows as an experiment, to be run like any other."""
        return Experiment(NAME, "Benchmark", "protocol", 0, self.rows())

    def with_contender(self, name: str, model: str, settings: Sequence[Mapping[str, Any]]) -> Protocol:
        """Have one method only, that of a file, with no more settings than the others."""
        if len(settings) > self.budget:
            raise ExperimentError(
                f"{name} has {len(settings)} settings; the budget of every method is {self.budget}. Leave some out."
            )
        plain = {"kind": "protocol", "folds": self.folds, "model": model, "columns": "all", "rules": ["any"]}
        methods = tuple(plain | {"params": dict(one), "antidotes": None, "tune": None} for one in settings)
        return replace(self, contenders=(Contender(name, "added", methods),))


def read_protocol(folder: Path) -> Protocol:
    """Read and check protocol.toml."""
    path = folder / FILE
    if not path.exists():
        raise ExperimentError(f"There is no {FILE} in {folder}.")
    given, there = read_toml(path), Place(path.name)
    there.know(given, KEYS)
    splits, data = there.take(given, "splits", list), there.take(given, "data", list)
    for name in data:
        if name not in dataset_names():
            raise there.wrong("data", name, f"choose among {', '.join(dataset_names())}")
    folds, budget = there.take(given, "folds", int), there.take(given, "budget", int)
    contenders = tuple(
        _read_contender(there.row(one, number), one, folds, budget)
        for number, one in enumerate(there.take(given, "method", list), start=1)
    )
    reference = there.choose(given, "reference", [one.name for one in contenders])
    limits = {name: float(there.take(given, name, (int, float))) for name in ("max_ap_loss", "max_log_loss_rise")}
    return Protocol(tuple(splits), tuple(data), folds, budget, reference, contenders=contenders, **limits)


def _read_contender(there: Place, given: Mapping[str, Any], folds: int, budget: int) -> Contender:
    there.know(given, METHOD_KEYS)
    settings = there.take(given, "settings", list)
    if len(settings) != budget:
        raise there.wrong("settings", len(settings), f"give {budget}, the budget of every method")
    base = {key: value for key, value in given.items() if key not in ("settings", "family")}
    methods = []
    for setting in settings:
        amount = {name: value for name, value in setting.items() if name in AMOUNTS}
        row = base | {"params": {**given.get("params", {}), **{k: v for k, v in setting.items() if k not in amount}}}
        if "antidotes" in given:
            row["antidotes"] = {**given["antidotes"], **amount}
        methods.append(read_model(there, row) | {"kind": "protocol", "folds": folds})
    return Contender(there.take(given, "name", str), there.take(given, "family", str), tuple(methods))


def measure_setting(spec: Spec, data: Dataset, generators: Generators, device: str) -> Numbers:
    """Measure a setting: on the folds of the training rows ("inner"), and once on the test rows."""
    n_folds = spec["method"]["folds"]
    inner = []
    for number in range(n_folds):
        part = spec | {"fold": [number, n_folds]}
        rows = rows_of(part)
        inner.append(_evaluate(fit_method(part, rows, generators, device).model, rows, MEASURES))
    began = time.process_time()
    fitted = fit_method(spec, data, generators, device)
    seconds = time.process_time() - began
    sizes = {"n_train": len(data.train), "n_test": len(data.test), "base_rate": float(np.mean(data.test.y))}
    means = {name: _mean([fold[name] for fold in inner]) for name in inner[0]}
    numbers = _evaluate(fitted.model, data, TEST_MEASURES)
    return {**numbers, **sizes, "fit_s": seconds, "inner": means, **fitted.told}


def _evaluate(model: Any, data: Dataset, names: Sequence[str]) -> Numbers:
    schema = data.roles.learn(data.train.X)
    scores = model.predict_proba(data.test.X)[:, 1]
    has_baseline = names is TEST_MEASURES
    people = (scores, data.test.X, data.test.y)
    found = audit(*people, roles=schema, rule=data.rule, positive=1, n_resamples=0, baseline=has_baseline)
    values = {name: found[name].value for name in names}
    numbers = {name: None if value is None else float(value) for name, value in values.items()}
    pairs = mine_pairs(schema.encode(data.test.X, data.test.y), data.rule)
    gaps = np.sort(np.abs(scores[pairs.left] - scores[pairs.right]))
    worst = gaps[len(gaps) - -(-len(gaps) // 10) :]
    return numbers | {"worst_decile_gap_mean": float(worst.mean()) if len(worst) else None, "n_pairs": len(gaps)}


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if len(there) == len(values) else None
