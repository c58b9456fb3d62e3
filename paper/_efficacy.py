"""Learning efficacy: train on made rows alone, test on real ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import Dataset
from likewise.baselines import SenSeIClassifier
from likewise.generation import learning_efficacy
from paper._cells import Spec
from paper._methods import Generators, make_antidotes, shorten

Numbers = dict[str, Any]


def measure_efficacy(spec: Spec, data: Dataset, generators: Generators, device: str) -> Numbers:
    """Make as many rows as there are real ones, in the way the cell says, and see what is learned from them."""
    method, test = spec["method"], data.test
    if spec["fast"]:
        method = shorten(method)
    if method["made"] == "sensei":
        return _learn_from_perturbed(data, spec["seed"], method["params"])
    if method["made"] == "antidotes":
        antidotes = make_antidotes(spec, method, data, generators)
        return {**learning_efficacy(antidotes, test.X, test.y), "antidote_ratio": antidotes.ratio}
    made = (data.train.X, data.train.y)
    if method["made"] == "random":
        made = draw_rows(data, np.random.default_rng(spec["seed"]))
    return {**learning_efficacy(made, test.X, test.y, roles=data.roles)}


def draw_rows(data: Dataset, random: np.random.Generator) -> tuple[Any, NDArray[Any]]:
    """Draw every value by itself: of those that the column has, or between its ends; the label by a coin."""
    frame, n_rows = data.train.X.copy(), len(data.train)
    for name in frame.columns:
        column = frame[name]
        if name in data.roles.continuous:
            drawn = random.uniform(column.min(), column.max(), n_rows)
            frame[name] = drawn.round().astype(column.dtype) if column.dtype.kind in "iu" else drawn
        else:
            frame[name] = random.choice(np.sort(column.unique()), n_rows)
    return frame, random.integers(0, 2, n_rows)


def _learn_from_perturbed(data: Dataset, seed: int, params: dict[str, Any]) -> Numbers:
    """Train on the rows that SenSeI moved while it was fitted, some of every step; they are inputs, not people."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

    from paper._recording import Recorder

    model = SenSeIClassifier(data.roles, device="cpu", random_state=seed, **params)
    n_steps = model.get_params()["n_iterations"]
    recorder = Recorder(-(-len(data.train) // n_steps))
    model.set_params(network=recorder.build).fit(data.train.X, data.train.y)
    real = model.coding_.encode(data.train.X).dense()
    moved, labels = recorder.label(real, np.asarray(data.train.y))
    chosen = np.random.default_rng(seed).permutation(len(moved))[: len(real)]
    learner = LogisticRegression(max_iter=2_000).fit(moved[chosen], labels[chosen])
    predicted = learner.predict(model.coding_.encode(data.test.X).dense())
    wanted = np.asarray(data.test.y)
    return {
        "accuracy": float(accuracy_score(wanted, predicted)),
        "balanced_accuracy": float(balanced_accuracy_score(wanted, predicted)),
        "f1": float(f1_score(wanted, predicted)),
    }
