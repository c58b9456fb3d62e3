"""Learning efficacy: train on made rows alone, test on real ones."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise import CodedTable, Dataset
from likewise.baselines import SenSeIClassifier
from paper._cells import Spec
from paper._methods import Generators, make_antidotes, shorten

Numbers = dict[str, Any]

MISSING: Final = -1e9  # how a coded table writes a missing number that is kept apart


def measure_efficacy(spec: Spec, data: Dataset, generators: Generators, device: str) -> Numbers:
    """Make as many rows as there are real ones, in the way the cell says, and see what is learned from them."""
    method, test = spec["method"], data.test
    if spec["fast"]:
        method = shorten(method)
    if method["made"] == "sensei":
        return _learn_from_perturbed(data, spec["seed"], method["params"])
    if method["made"] == "antidotes":
        antidotes = make_antidotes(spec, method, data, generators)
        train = antidotes.schema.encode(antidotes.frame, antidotes.y)
        return {**learning_efficacy(train, antidotes.schema.encode(test.X, test.y)), "antidote_ratio": antidotes.ratio}
    made = (data.train.X, data.train.y)
    if method["made"] == "random":
        made = draw_rows(data, np.random.default_rng(spec["seed"]))
    schema = data.roles.learn(*made)
    return learning_efficacy(schema.encode(*made), schema.encode(test.X, test.y))


def learning_efficacy(train: CodedTable, test: CodedTable) -> Numbers:
    """Fit a logistic regression to made rows, by one-hot codes and scaled numbers, and test it on real ones."""
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    features, others = _columns(train), _columns(test.aligned_to(train))
    is_amount = np.arange(features.shape[1]) >= features.shape[1] - 2 * train.continuous.shape[1]
    encode = ColumnTransformer(
        [("codes", OneHotEncoder(handle_unknown="ignore"), ~is_amount), ("amounts", MinMaxScaler(), is_amount)]
    )
    model = make_pipeline(encode, LogisticRegression(max_iter=2_000)).fit(features, train.classes[train.labels])
    return _score(test.classes[test.labels], model.predict(others))


def _columns(table: CodedTable) -> NDArray[np.float64]:
    """Return codes, then numbers, then whether numbers are missing, as one array."""
    gone = table.continuous == MISSING
    codes = (table.sensitive, table.discrete, table.ordinal, table.matched)
    return np.column_stack([*codes, np.where(gone, 0.0, table.continuous), gone]).astype(np.float64)


def _score(wanted: NDArray[Any], predicted: NDArray[Any]) -> Numbers:
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

    return {
        "accuracy": float(accuracy_score(wanted, predicted)),
        "balanced_accuracy": float(balanced_accuracy_score(wanted, predicted)),
        "f1": float(f1_score(wanted, predicted, pos_label=max(wanted), zero_division=0.0)),
    }


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

    from paper._recording import Recorder

    model = SenSeIClassifier(data.roles, device="cpu", random_state=seed, **params)
    n_steps = model.get_params()["n_iterations"]
    recorder = Recorder(-(-len(data.train) // n_steps))
    model.set_params(network=recorder.build).fit(data.train.X, data.train.y)
    real = model.coding_.encode(data.train.X).dense()
    moved, labels = recorder.label(real, np.asarray(data.train.y))
    chosen = np.random.default_rng(seed).permutation(len(moved))[: len(real)]
    learner = LogisticRegression(max_iter=2_000).fit(moved[chosen], labels[chosen])
    return _score(np.asarray(data.test.y), learner.predict(model.coding_.encode(data.test.X).dense()))
