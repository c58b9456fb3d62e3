"""AntiDRO: what a network loses on antidotes counts, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV
from tests.sizes import sized

from likewise import Antidotes, CodedTable, Dataset, GibbsGenerator, UniformGenerator, audit, load_dataset
from likewise.exceptions import FewAntidotes, GenerationError, ParameterError, SchemaError, ScoresCollapsed
from likewise.generation._internal import choose_few
from likewise.learning import AntiDROClassifier, NetworkClassifier
from likewise.learning._antidote_loss import AntidoteLoss

N_ITERATIONS = sized(20, 60)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("planted")


@pytest.fixture(scope="module")
def generator(data: Dataset) -> GibbsGenerator:
    fresh = GibbsGenerator(data.roles, data.rule, n_iterations=sized(40, 100), width=32, random_state=0)
    return fresh.fit(data.train.X, data.train.y)


@pytest.fixture(scope="module")
def antidotes(data: Dataset, generator: GibbsGenerator) -> Antidotes:
    return generator.generate(data.train.X, data.train.y, rounds=3)


def small(generator: Any = None, **settings: Any) -> AntiDROClassifier:
    chosen: dict[str, Any] = {"hidden": (16,), "n_iterations": N_ITERATIONS, "weight_decay": 1e-4, "random_state": 0}
    return AntiDROClassifier(generator, **chosen | settings)


def gap(model: Any, data: Dataset) -> float:
    found = audit(model, data.test.X, data.test.y, roles=data.roles, rule=data.rule, n_resamples=0, baseline=False)
    value = found["gap_mean"].value
    assert value is not None
    return value


@pytest.fixture(scope="module")
def plain_gap(data: Dataset, antidotes: Antidotes) -> float:
    model = small(antidote_weight=0.0, n_iterations=250).fit(data.train.X, data.train.y, antidotes=antidotes)
    return gap(model, data)


@pytest.mark.long(3)
@pytest.mark.parametrize("objective", ["worst", "mean", "consistency"])
def test_it_narrows_the_gaps_between_comparable_people_and_still_tells_people_apart(
    data: Dataset, antidotes: Antidotes, plain_gap: float, objective: str
) -> None:
    model = small(objective=objective, antidote_weight=2.0, n_iterations=250)
    model.fit(data.train.X, data.train.y, antidotes=antidotes)
    assert gap(model, data) < 0.75 * plain_gap
    assert roc_auc_score(data.test.y, model.predict_proba(data.test.X)[:, 1]) > 0.7


@pytest.mark.long(3)
@pytest.mark.parametrize("objective", ["worst", "mean", "consistency"])
def test_what_is_added_is_what_the_words_say(data: Dataset, antidotes: Antidotes, objective: str) -> None:
    """Compute the loss of a batch row by row from predictions alone."""
    model = small(objective=objective, n_antidotes=4, antidote_weight=0.7, n_iterations=10)
    model.fit(data.train.X, data.train.y, antidotes=antidotes)
    own, made = model.predict_proba(data.train.X), model.predict_proba(antidotes.frame)
    people = model._people(data.train.X, data.train.y, np.asarray(data.train.y, np.int64), np.ones(len(data.train.y)))
    loss = AntidoteLoss(
        model.network_,
        people,
        lambda epoch: antidotes,
        kind=objective,  # type: ignore[arg-type]  # one of three words
        weight=0.7,
        most=10**6,
        random=np.random.default_rng(0),
    )
    loss.start_epoch(0)
    bare = np.setdiff1d(np.arange(len(data.train.y)), antidotes.source)[0]
    rows = np.array([3, 700, bare, 3, 1200, 8])
    found = loss.loss(*loss.draw(torch.from_numpy(rows))).item()
    labels = np.asarray(data.train.y)
    expected = []
    for row in rows:
        here = np.flatnonzero(antidotes.source == row)
        losses = -np.log(made[here, labels[row]])
        gaps = np.abs(made[here, 1] - own[row, 1])
        added = {"worst": losses.max, "mean": losses.mean, "consistency": gaps.max}[objective]() if len(here) else 0.0
        expected.append(-np.log(own[row, labels[row]]) + 0.7 * added)
    np.testing.assert_allclose(found, np.mean(expected), rtol=1e-5)
    loss._is_filled = True  # as on a GPU, where every batch has one shape
    np.testing.assert_allclose(loss.loss(*loss.draw(torch.from_numpy(rows))).item(), found, rtol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
@pytest.mark.parametrize("objective", ["worst", "mean", "consistency"])
def test_a_step_that_is_recorded_on_a_gpu_gives_the_same_numbers(
    data: Dataset, antidotes: Antidotes, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small(objective=objective, n_iterations=60).set_params(device="cuda")
    recorded = model.fit(data.train.X, data.train.y, antidotes=antidotes).predict_proba(data.test.X)
    monkeypatch.setattr("likewise.nets._network.is_plain", lambda network: False)
    taken = model.fit(data.train.X, data.train.y, antidotes=antidotes).predict_proba(data.test.X)
    np.testing.assert_allclose(recorded, taken, rtol=1e-6)


def test_without_weight_it_is_the_plain_network(data: Dataset, antidotes: Antidotes, generator: GibbsGenerator) -> None:
    plain = NetworkClassifier((16,), n_iterations=N_ITERATIONS, weight_decay=1e-4, roles=data.roles, random_state=0)
    expected = plain.fit(data.train.X, data.train.y).predict_proba(data.test.X)
    lone = small(generator, antidote_weight=0.0).fit(data.train.X, data.train.y)
    np.testing.assert_array_equal(lone.predict_proba(data.test.X), expected)
    given = small(antidote_weight=0.0).fit(data.train.X, data.train.y, antidotes=antidotes)
    np.testing.assert_array_equal(given.predict_proba(data.test.X), expected)


def test_rows_without_antidotes_count_their_own_loss_only(data: Dataset) -> None:
    with pytest.warns(FewAntidotes, match="No antidote could be generated for any of"):
        model = small(Barren(data.roles, data.rule, random_state=0)).fit(data.train.X, data.train.y)
    plain = NetworkClassifier((16,), n_iterations=N_ITERATIONS, weight_decay=1e-4, roles=data.roles, random_state=0)
    expected = plain.fit(data.train.X, data.train.y).predict_proba(data.test.X)
    np.testing.assert_array_equal(model.predict_proba(data.test.X), expected)
    last = model.history_[-1]
    assert last["coverage"] == last["antidote_loss"] == 0.0
    assert last["own_loss"] == pytest.approx(last["loss"], rel=1e-4)


class Barren(UniformGenerator):
    """Make of each row the row itself, which is no antidote."""

    def _propose(self, sources: CodedTable, wanted: Any, keys: Any) -> CodedTable:
        return sources


def test_a_fitted_generator_is_used_as_it_is_and_any_other_is_cloned(data: Dataset, generator: GibbsGenerator) -> None:
    model = small(generator, n_iterations=5).fit(data.train.X, data.train.y)
    assert model.generator_ is generator
    fresh = UniformGenerator(data.roles, data.rule)
    model = small(fresh, n_iterations=5).fit(data.train.X, data.train.y)
    assert not hasattr(fresh, "schema_")
    assert model.generator_.schema_.roles == data.roles
    search = GridSearchCV(
        small(FrozenEstimator(generator), n_iterations=5, rounds=1), {"antidote_weight": [0.5, 1.0]}, cv=2
    ).fit(data.train.X, data.train.y)
    assert search.best_estimator_.generator_.network_ is generator.network_


def test_no_more_antidotes_are_made_than_are_used(data: Dataset) -> None:
    fresh = UniformGenerator(data.roles, data.rule, random_state=0)
    model = small(fresh, n_iterations=2, n_antidotes=2).fit(data.train.X, data.train.y)
    counts = np.bincount(model.antidotes_.source, minlength=len(data.train.X))
    assert counts.max() == 2
    assert model.antidotes_.round.max() == 0  # one round made enough


@pytest.mark.filterwarnings("ignore::likewise.exceptions.ScoresCollapsed")  # after so few steps
def test_as_printed_uses_every_antidote_and_the_printed_penalty(data: Dataset, antidotes: Antidotes) -> None:
    printed = AntiDROClassifier.as_printed(random_state=0, hidden=(8,))
    assert (printed.n_iterations, printed.weight_decay, printed.patience) == (10_000, 0.01, None)
    X, y = data.train.X, data.train.y
    printed.set_params(n_iterations=4).fit(X, y, antidotes=antidotes)
    few = AntiDROClassifier.as_printed(random_state=0, hidden=(8,), n_iterations=4, n_antidotes=1)
    assert np.bincount(antidotes.source).max() > 1
    few.fit(X, y, antidotes=antidotes)
    own, worst_of_all, worst_of_one = (
        *(printed.history_[0][name] for name in ("own_loss", "antidote_loss")),
        few.history_[0]["antidote_loss"],
    )
    assert worst_of_all > worst_of_one
    assert own > 0
    fresh = UniformGenerator(data.roles, data.rule, random_state=0)
    made = AntiDROClassifier.as_printed(fresh, rounds=3, n_iterations=1, random_state=0).fit(X, y).antidotes_
    assert len(made) == len(fresh.fit(X, y).generate(X, y, rounds=3))


def test_antidotes_are_made_anew_when_asked(data: Dataset) -> None:
    fresh = UniformGenerator(data.roles, data.rule, random_state=0)
    kept = small(fresh, n_iterations=30, rounds=1).fit(data.train.X, data.train.y)
    anew = small(fresh, n_iterations=30, rounds=1, refresh_every=1).fit(data.train.X, data.train.y)
    assert not kept.antidotes_.frame.equals(anew.antidotes_.frame)


@given(st.lists(st.integers(0, 6)), st.integers(1, 4))
def test_at_most_so_many_antidotes_of_a_row_are_used(sources: list[int], most: int) -> None:
    source = np.sort(np.array(sources, np.int64))
    chosen = choose_few(source, most, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == len(chosen)
    assert (np.diff(chosen) > 0).all()
    counts = np.bincount(source[chosen], minlength=7)
    np.testing.assert_array_equal(counts, np.minimum(np.bincount(source, minlength=7), most))


def test_weights_count_for_rows_and_their_antidotes(data: Dataset, antidotes: Antidotes) -> None:
    y = np.asarray(data.train.y)
    model = small(n_iterations=150).fit(data.train.X, y, sample_weight=np.where(y == 1, 5.0, 1.0), antidotes=antidotes)
    even = small(n_iterations=150).fit(data.train.X, y, antidotes=antidotes)
    assert model.predict_proba(data.test.X)[:, 1].mean() > even.predict_proba(data.test.X)[:, 1].mean() + 0.1
    zero = np.where(np.arange(len(y)) < 750, 1.0, 0.0)
    flipped = np.where(zero > 0, y, 1 - y)
    wrong = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, flipped)
    half = small(wrong, n_iterations=250).fit(data.train.X, flipped, sample_weight=zero)
    assert log_loss(y, half.predict_proba(data.train.X)) < 0.6  # knowing nothing is 0.69


def test_a_saved_classifier_predicts_the_same(data: Dataset, generator: GibbsGenerator, tmp_path: Path) -> None:
    model = small(generator, n_iterations=10).fit(data.train.X, data.train.y)
    model.save(tmp_path / "model.skops")
    again = AntiDROClassifier.load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(data.test.X), model.predict_proba(data.test.X))
    assert again.generator_.generate(data.test.X, data.test.y, random_state=1).frame.equals(
        generator.generate(data.test.X, data.test.y, random_state=1).frame
    )


def test_hidden_columns_decide_nothing_and_antidotes_still_differ_in_them(data: Dataset, tmp_path: Path) -> None:
    sensitive = list(data.roles.sensitive)
    maker = UniformGenerator(data.roles, data.rule, random_state=0)
    quick: dict[str, Any] = {"hidden": (8,), "n_iterations": 60, "weight_decay": 0.0, "random_state": 0}
    model = AntiDROClassifier(maker, 2, discard_sensitive=True, **quick).fit(data.train.X, data.train.y)
    assert model.discarded_ == sensitive
    changed = model.antidotes_.changed
    assert np.logical_or.reduce([changed[name] for name in sensitive]).all()
    scores = model.predict_proba(data.test.X)
    swapped = data.test.X.assign(**{name: data.test.X[name].to_numpy()[::-1] for name in sensitive})
    assert (model.predict_proba(swapped) == scores).all()
    model.save(tmp_path / "saved.skops")
    for one in (model, AntiDROClassifier.load(tmp_path / "saved.skops")):
        assert (one.predict_proba(data.test.X.drop(columns=sensitive)) == scores).all()
        with pytest.raises(ValueError, match="now missing:\n- age"):
            one.predict_proba(data.test.X.drop(columns="age"))
    with pytest.raises(ParameterError, match="no roles tell which columns are sensitive"):
        AntiDROClassifier(antidote_weight=0, discard_sensitive=True, **quick).fit(data.train.X, data.train.y)


def test_collapse_is_warned_of(data: Dataset, antidotes: Antidotes) -> None:
    with pytest.warns(ScoresCollapsed, match=r"Lower weight_decay \(1\) or antidote_weight \(1\)"):
        small(weight_decay=1.0, n_iterations=60).fit(data.train.X, data.train.y, antidotes=antidotes)


def test_what_cannot_be_is_told_in_one_line(data: Dataset, generator: GibbsGenerator, antidotes: Antidotes) -> None:
    X, y = data.train.X, data.train.y
    with pytest.raises(GenerationError, match="generator is None"):
        small(None).fit(X, y)
    with pytest.raises(TypeError, match="which has no method generate"):
        small("gibbs").fit(X, y)
    with pytest.raises(SchemaError, match="'gender' is missing here"):
        small(generator).fit(X.drop(columns="gender"), y)
    shuffled = np.random.default_rng(0).permutation(len(X))
    with pytest.raises(GenerationError, match="come from other rows, or from rows in another order"):
        small(generator).fit(X.iloc[shuffled], np.asarray(y)[shuffled], antidotes=antidotes)
    with pytest.raises(GenerationError, match="come from other rows"):
        small(generator).fit(X, 1 - np.asarray(y), antidotes=antidotes)
    with pytest.raises(GenerationError, match="come from 1,500 rows; X has 10"):
        small(generator).fit(X[:10], y[:10], antidotes=antidotes)
    with pytest.raises(SchemaError, match="one class only"):
        small(generator).fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="n_antidotes is 0"):
        small(generator, n_antidotes=0).fit(X, y)
    with pytest.raises(ValueError, match="antidote_weight is -1"):
        small(generator, antidote_weight=-1).fit(X, y)
    with pytest.raises(ValueError, match="objective is 'best'"):
        small(generator, objective="best").fit(X, y)
