"""The base network: a scikit-learn classifier on frames and arrays."""

from __future__ import annotations

import json
import logging
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from tests.sizes import sized

from likewise import Dataset, Roles, load_dataset
from likewise.exceptions import SavedModelError, SchemaError, ScoresCollapsed, TrainingError
from likewise.learning import NetworkClassifier

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table.from_pandas}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("planted")


def small(data: Dataset | None = None, **settings: Any) -> NetworkClassifier:
    roles = {} if data is None else {"roles": data.roles}
    chosen = {"n_iterations": 40, "weight_decay": 1e-4, "random_state": 0} | roles | settings
    return NetworkClassifier((16,), **chosen)


def test_it_learns_what_separates_the_classes(data: Dataset) -> None:
    model = small(data, n_iterations=300).fit(data.train.X, data.train.y)
    assert roc_auc_score(data.test.y, model.predict_proba(data.test.X)[:, 1]) > 0.75
    assert (model.predict(data.test.X) == model.classes_[model.predict_proba(data.test.X).argmax(axis=1)]).all()


def test_the_same_seed_gives_the_same_predictions_and_leaves_the_callers_alone(data: Dataset) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, other = (small(data).fit(data.train.X, data.train.y).predict_proba(data.test.X) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(one, other)
    another = small(data, random_state=1).fit(data.train.X, data.train.y).predict_proba(data.test.X)
    assert not np.array_equal(one, another)


@pytest.mark.long(3)
@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_every_library_give_the_same_network(data: Dataset, kind: str) -> None:
    train, test = (KINDS[kind](frame) for frame in (data.train.X, data.test.X))
    model = small(data).fit(train, data.train.y)
    expected = small(data).fit(data.train.X, data.train.y).predict_proba(data.test.X)
    np.testing.assert_array_equal(model.predict_proba(test), expected)
    assert list(model.feature_names_in_) == list(data.train.X.columns)


def test_columns_in_another_order_or_of_another_name_are_refused(data: Dataset) -> None:
    model = small(data).fit(data.train.X, data.train.y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(data.test.X[data.test.X.columns[::-1]])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pa.Table.from_pandas(data.test.X.rename(columns={"gender": "sex"})))


@pytest.mark.parametrize(
    ("weights", "words"),
    [([1.0], "shape"), (["a"] * 4, "not a number"), ([-1.0, 1, 1, 1], "0 or more"), ([0.0] * 4, "zero")],
)
def test_odd_weights_are_refused(weights: list[Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        small().fit(np.eye(4), [0, 1, 0, 1], sample_weight=weights)


def test_one_class_is_refused_in_one_line() -> None:
    with pytest.raises(SchemaError, match=r"one class only, 'no', in all 3 rows"):
        small().fit(np.eye(3), ["no"] * 3)


def test_a_network_that_scores_everybody_alike_is_warned_of() -> None:
    X, y = make_classification(200, random_state=0)
    with pytest.warns(ScoresCollapsed, match=r"nearly constant .* Lower weight_decay \(2\)"):
        small(weight_decay=2.0).fit(X, y)


def test_steps_that_are_too_large_are_told_of() -> None:
    X, y = make_classification(200, random_state=0)
    with pytest.raises(TrainingError, match=r"NaN or infinite after \d+ iterations.* Lower learning_rate"):
        small(learning_rate=1e6, weight_decay=1.0).fit(X, y)


def test_the_history_is_plain_and_told_as_it_comes(data: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    told: list[dict[str, Any]] = []
    with caplog.at_level(logging.INFO, "likewise"):
        model = small(data, n_iterations=100, progress=told.append).fit(data.train.X, data.train.y)
    assert told == model.history_ == json.loads(json.dumps(model.history_))
    assert [record["iteration"] for record in told] == list(range(2, 101, 2))
    assert told[-1]["loss"] < told[0]["loss"]
    assert told[0]["held_out_loss"] is None
    assert "iteration 100" in caplog.text


@pytest.mark.filterwarnings("ignore::likewise.exceptions.ScoresCollapsed")  # there is nothing to learn
def test_small_tables_are_not_learned_by_heart_unless_told() -> None:
    asked = [NetworkClassifier(), NetworkClassifier(n_iterations=300), NetworkClassifier(patience=None)]
    lengths = [[tuple(one._length(n_rows)) for one in asked] for n_rows in (100, 750, 2_000)]
    assert lengths[0] == [(500, 5), (300, None), (500, None)]
    assert lengths[1] == [(600, 5), (300, None), (600, None)]
    assert lengths[2] == [(10_000, None), (300, None), (10_000, None)]
    X = np.random.default_rng(0).normal(size=(300, 20))  # and labels that have nothing to do with it
    y = np.random.default_rng(1).integers(2, size=300)
    held_out = np.random.default_rng(2).normal(size=(300, 20)), np.random.default_rng(3).integers(2, size=300)
    model = NetworkClassifier(weight_decay=0.0, random_state=0, device="cpu").fit(X, y)
    scores = model.predict_proba(held_out[0])[np.arange(300), held_out[1]]
    assert -np.log(scores).mean() < 0.75
    assert model.n_iter_ < 500


def test_patience_ends_fitting_and_keeps_the_best_network(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_classification(200, n_features=40, flip_y=0.3, random_state=0)
    model = small(n_iterations=5_000, weight_decay=0.0, patience=3, validation_fraction=0.3).fit(X, y)
    losses = [record["held_out_loss"] for record in model.history_]
    assert model.n_iter_ < 5_000
    assert np.argmin(losses) == len(losses) - 4
    monkeypatch.setattr("likewise.nets._network.N_RECORDS", 1)  # look at the end only
    best = model.history_[-4]["iteration"]
    kept = small(n_iterations=best, weight_decay=0.0, patience=3, validation_fraction=0.3)
    np.testing.assert_allclose(model.predict_proba(X), kept.fit(X, y).predict_proba(X), atol=1e-6)


@pytest.mark.filterwarnings("ignore::likewise.exceptions.ScoresCollapsed")  # after one step
def test_a_network_of_the_users_own_with_a_frozen_layer(data: Dataset) -> None:
    def make(n_inputs: int, n_outputs: int) -> torch.nn.Module:
        frozen = torch.nn.Linear(n_inputs, 8)
        frozen.requires_grad_(False)
        torch.nn.init.uniform_(frozen.weight, 0.25, 0.5)
        return torch.nn.Sequential(
            frozen, torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, n_outputs)
        )

    model = small(data, network=make).fit(data.train.X, data.train.y)
    assert bool((model.network_[0].weight >= 0.25).all())
    moved = small(data, network=make, n_iterations=1).fit(data.train.X, data.train.y).network_
    assert torch.equal(model.network_[0].weight, moved[0].weight)
    assert not torch.equal(model.network_[3].weight, moved[3].weight)
    np.testing.assert_array_equal(model.predict_proba(data.test.X), model.predict_proba(data.test.X))
    with pytest.raises(SavedModelError, match="functions of yours"):
        model.save("nowhere.skops")


@pytest.mark.long(2)
@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]])
def test_a_saved_network_predicts_the_same(data: Dataset, tmp_path: Path, labels: list[Any]) -> None:
    y = np.array(labels)[np.asarray(data.train.y)]
    model = small(data).fit(data.train.X, y)
    model.save(tmp_path / "model.skops")
    again = NetworkClassifier.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(data.test.X), model.predict_proba(data.test.X))
    np.testing.assert_array_equal(again.predict(data.test.X), model.predict(data.test.X))
    assert again.get_params() == model.get_params()
    assert again.history_ == model.history_
    again.fit(data.train.X, y)


def test_scikit_learns_tools_take_it(data: Dataset) -> None:
    X, y = data.train.X, data.train.y
    model = small(data, n_iterations=10, optimizer="adam", learning_rate=0.05)
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(model, {"weight_decay": [1e-4, 1e-3], "hidden": [(8,), (16,)]}, cv=2).fit(X, y)
    assert search.best_estimator_.predict(X).shape == (len(X),)
    assert cross_val_predict(model, X, y, cv=2, method="predict_proba").shape == (len(X), 2)
    calibrated = CalibratedClassifierCV(model, cv=2).fit(X, y)
    assert calibrated.predict_proba(X).shape == (len(X), 2)


def test_a_fit_that_fails_leaves_nothing_behind(data: Dataset) -> None:
    model = small(data).fit(data.train.X, data.train.y)
    with pytest.raises(TrainingError):
        model.set_params(learning_rate=1e20).fit(data.train.X, np.where(np.asarray(data.train.y) == 1, "b", "a"))
    with pytest.raises(NotFittedError):
        model.predict(data.test.X)


def test_threads_do_not_draw_from_each_others_seed(data: Dataset) -> None:
    def fit(_: int) -> Any:
        return small(data, n_iterations=20).fit(data.train.X, data.train.y).predict_proba(data.test.X)

    alone = fit(0)
    with ThreadPoolExecutor(4) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore", ScoresCollapsed)
        for together in pool.map(fit, range(8)):
            np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a", None, "b", "a"], "y is missing in 1 row, such as row 1"),
        ([pd.NA, "a", "b", "a"], "y is missing in 1 row, such as row 0"),
        (["a", 1, "b", "a"], "y mixes text and numbers"),
        ([1, "a", 0, "b"], "y mixes text and numbers"),
    ],
)
def test_odd_labels_are_told_in_one_line(labels: list[Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        small().fit(np.eye(4), np.array(labels, dtype=object))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda n, k: 3, "network returned a int"),
        (lambda n, k: torch.nn.Linear(n, 3), r"network returns \(2, 3\) for 2 rows; 1 outputs per row"),
        (lambda n, k: torch.nn.Linear(n + 1, k), "network does not accept rows of 4 inputs"),
        (lambda n, k: torch.nn.Linear(n, k).requires_grad_(False), "no trainable weights"),
    ],
)
def test_odd_networks_are_refused(make: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        small(network=make).fit(np.eye(4), [0, 1, 0, 1])


def test_rows_held_out_have_every_class() -> None:
    X, y = np.arange(40.0)[:, None], np.r_[np.zeros(38), np.ones(2)]
    for seed in range(40):
        model = small(patience=2, n_iterations=2, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoresCollapsed)
            model.fit(X, y)
        codes = y.astype(np.int64)
        people = model._people(pa.table({"x0": X[:, 0]}), y, codes, np.ones(40))
        assert set(codes[people.train]) == set(codes[people.held_out]) == {0, 1}


def test_a_column_that_counts_the_rows_is_learned_from() -> None:
    frame = pd.DataFrame({"number": np.arange(200)})
    model = small(n_iterations=sized(300, 600)).fit(frame, frame["number"] >= 100)
    assert model.score(frame, frame["number"] >= 100) > 0.9


def test_a_frame_without_anything_to_learn_from_is_refused() -> None:
    with pytest.raises(SchemaError, match="No column is left to learn from"):
        small(roles=Roles(ignored="name")).fit(pd.DataFrame({"name": list("abcd")}), [0, 1, 0, 1])


def test_no_rows_have_as_many_columns_as_there_are_classes() -> None:
    X, y = load_iris(return_X_y=True)
    model = small(n_iterations=sized(40, 200)).fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert model.predict_proba(pd.DataFrame(X[:0], columns=list("abcd"))).shape == (0, 3)


def test_warnings_point_at_the_users_line() -> None:
    X, y = make_classification(200, random_state=0)
    with pytest.warns(ScoresCollapsed) as caught:
        small(weight_decay=2.0).fit(X, y)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_iterations": 0}, "n_iterations is 0"),
        ({"batch_size": 2.5}, "batch_size is 2.5"),
        ({"optimizer": "newton"}, "choose one of 'sgd', 'adam'"),
        ({"scaling": "log"}, "scaling is 'log'"),
        ({"learning_rate": -1.0}, "learning_rate is -1.0; give a number, more than 0"),
        ({"weight_decay": float("nan")}, "weight_decay is nan"),
        ({"patience": 3, "validation_fraction": 1.0}, "less than 1"),
        ({"hidden": (8, -1)}, "hidden is -1"),
        ({"hidden": 8}, "hidden is 8"),
        ({"device": "abacus"}, "device is 'abacus'"),
        ({"random_state": -1}, "random_state is -1"),
    ],
)
def test_odd_parameters_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        NetworkClassifier().set_params(**settings).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_step_that_is_recorded_on_a_gpu_gives_the_same_numbers(
    optimizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = make_classification(300, 6, random_state=0)
    model = NetworkClassifier(n_iterations=60, halve_every=25, optimizer=optimizer, device="cuda", random_state=0)
    recorded = model.fit(X, y).predict_proba(X)
    monkeypatch.setattr("likewise.nets._network.Objective.is_steady", False)
    assert np.array_equal(model.fit(X, y).predict_proba(X), recorded)
