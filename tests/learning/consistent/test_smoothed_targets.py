"""Smoothed targets: what the estimator learns, from whom, what it sees, and what follows for gaps."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from tests.sizes import sized
from xgboost import XGBClassifier

from likewise import (
    Comparability,
    ConsistentClassifier,
    NetworkClassifier,
    Roles,
    SmoothedTargetsClassifier,
    SmoothedTargetsRegressor,
    audit,
    load_dataset,
    mine_pairs,
)
from likewise.exceptions import NoComparablePairs, ParameterError

DATA = load_dataset("planted")
PEOPLE, LABELS, OTHERS = DATA.train.X, DATA.train.y, DATA.test.X
SENSITIVE, WORDS, NUMBERS = [*DATA.roles.sensitive], [*DATA.roles.discrete], [*DATA.roles.continuous]
ROLES, RULE = Roles(sensitive="x0", discrete="x1", continuous="x2"), Comparability(1, 0.3)


def encoder(*, dense: bool = False) -> Any:
    words = [*SENSITIVE, *WORDS]
    codes: Any = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_column_transformer(
        (codes if dense else OneHotEncoder(handle_unknown="ignore"), words), (StandardScaler(), NUMBERS)
    )


def logistic(**params: Any) -> Any:
    return make_pipeline(encoder(), LogisticRegression(max_iter=500, **params))


def trees(**params: Any) -> Any:
    return make_pipeline(encoder(dense=True), XGBClassifier(n_estimators=40, max_depth=3, n_jobs=1, **params))


MODELS: dict[str, Callable[[], Any]] = {
    "logistic": logistic,
    "XGBoost": trees,
    "HistGradientBoosting": lambda: make_pipeline(encoder(dense=True), HistGradientBoostingClassifier(max_iter=40)),
    "forest": lambda: make_pipeline(encoder(dense=True), RandomForestClassifier(30, min_samples_leaf=5)),
    "network": lambda: NetworkClassifier((16,), roles=DATA.roles, n_iterations=120, weight_decay=1e-3, random_state=0),
}


class Told(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Predict what it was told to, by the last column, in which rows are numbered."""

    def __init__(self, scores: Any = None) -> None:
        self.scores = scores

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Told:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        return self.scores[np.asarray(X)[:, -1].astype(int)]


def draw(seed: int, n_labels: int, n_rows: int = 40) -> tuple[Any, Any, Any]:
    """Return rows with many equal ones, labels, and scores of a teacher."""
    random = np.random.default_rng(seed)
    X = np.column_stack([random.integers(3, size=n_rows), random.integers(2, size=n_rows), np.arange(n_rows) % 4 / 3])
    return X, np.arange(n_rows) % n_labels, random.dirichlet(np.ones(n_labels), n_rows)


def told(X: Any, scores: Any, **params: Any) -> tuple[SmoothedTargetsClassifier, Any]:
    """Return a model whose teacher says these scores of rows, which are numbered in a further column."""
    numbered = np.column_stack([X, np.arange(len(X))])
    roles = Roles(sensitive="x0", discrete="x1", continuous="x2", ignored="x3")
    return SmoothedTargetsClassifier(LogisticRegression(), roles, RULE, teacher=Told(scores), **params), numbered


@given(
    seed=st.integers(0, 10_000),
    strength=st.sampled_from([0.3, 10.0, 300.0]),
    n_labels=st.integers(2, 3),
    is_weighted=st.booleans(),
)
@settings(max_examples=sized(12, 200), deadline=None)
def test_targets_solve_the_system_in_which_a_pair_weighs_one_over_the_larger_number_of_partners(
    seed: int, strength: float, n_labels: int, is_weighted: bool
) -> None:
    X, y, scores = draw(seed, n_labels)
    n = len(X)
    weights = np.random.default_rng(seed).integers(1, 4, n).astype(float) if is_weighted else np.ones(n)
    model, numbered = told(X, scores, strength=strength, random_state=0)
    model.fit(numbered, y, weights if is_weighted else None)
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    table = ROLES.learn(frame).encode(frame, np.zeros(n, np.int64))
    pairs = mine_pairs(table, RULE)
    assert len(pairs.left)
    links = np.zeros((n, n))
    links[pairs.left, pairs.right] = links[pairs.right, pairs.left] = 1.0
    partners = np.maximum(links @ weights, 1e-9)
    links *= np.outer(weights, weights) / np.maximum(partners[:, None], partners)
    system = np.diag(weights) + strength * (np.diag(links.sum(axis=1)) - links)
    logs = np.log(np.clip(scores, 1e-6, 1))
    margins = (
        logit(np.clip(scores[:, 1:], 1e-6, 1 - 1e-6)) if n_labels == 2 else logs - logs.mean(axis=1, keepdims=True)
    )
    wanted = np.linalg.solve(system, weights[:, None] * margins)
    shares = np.exp(wanted) / np.exp(wanted).sum(axis=1, keepdims=True)
    assert np.allclose(model.targets_, np.column_stack([expit(-wanted), expit(wanted)]) if n_labels == 2 else shares)
    changes = model.changes_
    assert (changes.n_people, changes.n_matched) == (n, int((links.sum(axis=1) > 0).sum()))


@given(seed=st.integers(0, 10_000), n_labels=st.integers(2, 3))
@settings(max_examples=sized(5, 100), deadline=None)
def test_a_weight_counts_as_that_many_rows_and_none_as_no_row(seed: int, n_labels: int) -> None:
    X, y, scores = draw(seed, n_labels)
    times = np.random.default_rng(seed).integers(0, 4, len(X))
    times[: 2 * n_labels] += 1
    whole, numbered = told(X, scores, random_state=0)
    weighted = whole.fit(numbered, y, times.astype(float)).predict_proba(numbered)
    again = np.repeat(np.arange(len(X)), times)
    repeated = told(X, scores, random_state=0)[0].fit(numbered[again], y[again]).predict_proba(numbered)
    assert np.allclose(weighted, repeated, atol=1e-3)


def test_strength_0_is_the_estimator_fitted_to_the_scores_themselves() -> None:
    X, y, scores = draw(0, 2)
    model, numbered = told(X, scores, strength=0.0, discard_sensitive=False)
    model.fit(numbered, y)
    assert np.array_equal(model.targets_, scores)
    twice, labels = np.concatenate([numbered, numbered]), np.repeat([0, 1], len(X))
    plain = LogisticRegression().fit(twice, labels, sample_weight=scores.ravel("F"))
    assert np.allclose(model.predict_proba(numbered), plain.predict_proba(numbered))


def test_nobody_is_scored_by_a_teacher_that_has_seen_them() -> None:
    noise = np.random.default_rng(0).integers(2, size=len(PEOPLE))
    memory = make_pipeline(encoder(), KNeighborsClassifier(1))  # knows every label that it has seen
    model = SmoothedTargetsClassifier(logistic(), DATA.roles, DATA.rule, 0.0, teacher=memory, random_state=0)
    right = model.fit(PEOPLE, noise).targets_[np.arange(len(noise)), noise].mean()
    assert abs(right - 0.5) < 0.1


@pytest.mark.parametrize("name", MODELS)
def test_gaps_fall_with_the_strength_and_further_with_pairs(name: str) -> None:
    path: list[dict[str, Any]] = [{"strength": 0.0}, {"strength": 10.0}]
    if name in ("logistic", "XGBoost"):
        path.append({"strength": 10.0, "pair_weight": 10.0})
    if name == "network":  # whose fits take long
        path = [{"strength": 10.0, "pair_weight": weight} for weight in (0.0, 10.0)]
    model = SmoothedTargetsClassifier(MODELS[name](), DATA.roles, DATA.rule, discard_sensitive=False, random_state=0)
    fitted = [*model.fit_path(PEOPLE, LABELS, path)]
    people: dict[str, Any] = {"roles": DATA.roles, "rule": DATA.rule, "n_resamples": 0}
    found = [audit(one, pd.concat([PEOPLE, OTHERS]), [*LABELS, *DATA.test.y], **people) for one in fitted]
    gaps, areas = ([one[measure].value or 0.0 for one in found] for measure in ("gap_mean", "roc_auc"))
    assert all(before > after > 0 for before, after in pairwise(gaps))
    assert name == "network" or areas[1] > areas[0] - 0.02
    assert type(fitted[0].estimator_) is type(MODELS[name]())
    assert all(set(one.n_pairs_) == ({0, 1} if one.pair_weight else set()) for one in fitted)


@pytest.mark.parametrize("pair_weight", [0.0, 1.0])
def test_a_path_is_as_if_each_model_was_fitted_by_itself_and_seeds_decide(pair_weight: float) -> None:
    weights = np.arange(len(PEOPLE)) % 3.0
    model = SmoothedTargetsClassifier(trees(subsample=0.5), DATA.roles, DATA.rule, random_state=3)
    setting = {"strength": 2.0, "pair_weight": pair_weight}
    *_, last = model.fit_path(PEOPLE, LABELS, [{"strength": 7.0}, setting], weights)
    alone = model.set_params(**setting).fit(PEOPLE, LABELS, weights)
    assert last.targets_.tobytes() == alone.targets_.tobytes()
    assert last.predict_proba(OTHERS).tobytes() == alone.predict_proba(OTHERS).tobytes()
    assert last.changes_ == alone.changes_
    with pytest.raises(ParameterError, match="settings has 'folds', on which teachers or pairs depend"):
        next(model.fit_path(PEOPLE, LABELS, [{"folds": 2}]))
    other = clone(model).set_params(random_state=4).fit(PEOPLE, LABELS, weights)
    assert other.targets_.tobytes() != alone.targets_.tobytes()


@pytest.mark.parametrize("by", ["names", "positions", "mask", "slice", "types"])
def test_the_estimator_does_not_see_sensitive_columns_unless_asked_to(by: str) -> None:
    names = [*PEOPLE.columns]
    places = [names.index(name) for name in [*SENSITIVE, *WORDS]]
    numbers = slice(names.index(NUMBERS[0]), names.index(NUMBERS[0]) + 1)
    columns: dict[str, Any] = {
        "names": [*SENSITIVE, *WORDS],
        "positions": places,
        "mask": [k in places for k in range(len(names))],
        "slice": places,
        "types": make_column_selector(dtype_exclude="number"),
    }
    some: Any = numbers if by == "slice" else NUMBERS[:1]
    coding = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), columns[by]), (StandardScaler(), some))
    estimator = make_pipeline(coding, LogisticRegression())
    model = SmoothedTargetsClassifier(estimator, DATA.roles, DATA.rule, random_state=0).fit(PEOPLE, LABELS)
    assert model.discarded_ == SENSITIVE
    seen = [one.split("__", 1)[1] for one in model.estimator_[0].get_feature_names_out()]
    assert not [name for name in seen if name.startswith(tuple(SENSITIVE))]
    assert [name for name in seen if name.startswith(tuple(WORDS))]
    assert NUMBERS[0] in seen
    without = OTHERS.drop(columns=SENSITIVE)
    assert np.array_equal(model.predict_proba(without), model.predict_proba(OTHERS))
    assert np.array_equal(model.estimator_.predict_proba(without), model.predict_proba(OTHERS))
    beside = SmoothedTargetsClassifier(estimator, DATA.roles, DATA.rule, random_state=0)
    if by in ("names", "types"):  # positions are those of the table that is given
        beside.fit(PEOPLE.drop(columns=SENSITIVE), LABELS, sensitive_features=PEOPLE[SENSITIVE])
        assert np.array_equal(beside.predict_proba(without), model.predict_proba(OTHERS))
    seeing = model.set_params(discard_sensitive=False).fit(PEOPLE, LABELS)
    assert [one for one in seeing.estimator_[0].get_feature_names_out() if one.split("__")[1].startswith(SENSITIVE[0])]


def test_weights_of_labels_are_not_applied_twice() -> None:
    rare = (DATA.train.y == 1) & (np.arange(len(PEOPLE)) % 4 == 0)
    kept = np.flatnonzero((DATA.train.y == 0) | rare)
    X, y = PEOPLE.iloc[kept], LABELS.iloc[kept]
    for weighted in (logistic(class_weight="balanced"), trees(scale_pos_weight=8.0)):
        plain = weighted.fit(X, y).predict_proba(X)[:, 1].mean()
        model = SmoothedTargetsClassifier(weighted, DATA.roles, DATA.rule, 1.0, random_state=0).fit(X, y)
        assert abs(model.predict_proba(X)[:, 1].mean() - plain) < 0.05
        assert plain > y.mean() + 0.1


def test_several_labels_of_any_kind_also_for_trees_that_take_codes() -> None:
    labels = np.where(PEOPLE[NUMBERS[0]] < PEOPLE[NUMBERS[0]].median(), "low", np.where(LABELS == 1, "yes", "no"))
    for model in (logistic(), trees()):
        fitted = SmoothedTargetsClassifier(model, DATA.roles, DATA.rule, teacher=[model, logistic()], random_state=0)
        path = [{"strength": 3.0}, {"strength": 3.0, "pair_weight": 1.0}]
        for one in fitted.fit_path(PEOPLE, labels, path):
            assert one.classes_.tolist() == ["low", "no", "yes"]
            assert np.allclose(one.predict_proba(OTHERS).sum(axis=1), 1)
            assert (one.predict(PEOPLE) == labels).mean() > 0.7
            assert one.targets_.shape == (len(PEOPLE), 3)


def test_held_out_rows_stop_the_teacher_and_the_estimator() -> None:
    valid = (PEOPLE.tail(300), LABELS.tail(300))
    model = SmoothedTargetsClassifier(trees(), DATA.roles, DATA.rule, random_state=0)
    model.estimator.set_params(xgbclassifier__n_estimators=400, xgbclassifier__early_stopping_rounds=5)
    for one in model.fit_path(PEOPLE.head(1200), LABELS.head(1200), [{}, {"pair_weight": 1.0}], eval_set=[valid]):
        assert one.estimator_[-1].best_iteration < 390


def test_teachers_are_averaged_and_a_frozen_one_is_used_as_it_is() -> None:
    one, other = logistic().fit(OTHERS, DATA.test.y), trees().fit(OTHERS, DATA.test.y)
    teachers = [FrozenEstimator(one), FrozenEstimator(other)]
    model = SmoothedTargetsClassifier(logistic(), DATA.roles, DATA.rule, 0.0, teacher=teachers, discard_sensitive=False)
    wanted = (one.predict_proba(PEOPLE) + other.predict_proba(PEOPLE)) / 2
    assert np.allclose(model.fit(PEOPLE, LABELS).targets_, wanted)


def test_it_says_for_whom_scores_changed_and_by_how_much() -> None:
    model = SmoothedTargetsClassifier(logistic(), DATA.roles, DATA.rule, random_state=0)
    before, after = [*model.fit_path(PEOPLE, LABELS, [{"strength": 0.0}, {"strength": 10.0}])]
    pairs = mine_pairs(DATA.roles.learn(PEOPLE).encode(PEOPLE, np.zeros(len(PEOPLE), np.int64)), DATA.rule)
    is_matched = np.isin(np.arange(len(PEOPLE)), np.concatenate([pairs.left, pairs.right]))
    moved = after.predict_proba(PEOPLE)[:, 1] - before.targets_[:, 1]
    changes = after.changes_
    assert changes.n_matched == is_matched.sum()
    assert changes.mean_change == pytest.approx(np.abs(moved[is_matched]).mean())
    assert changes.largest_change_of_others == pytest.approx(np.abs(moved[~is_matched]).max())
    for name in SENSITIVE:
        for value in PEOPLE[name].unique():
            assert changes.by_group[f"{name}={value}"] == pytest.approx(moved[PEOPLE[name] == value].mean())
    assert f"The other {(~is_matched).sum():,}: by" in str(changes)


@pytest.mark.filterwarnings("ignore::likewise.exceptions.PairsSampled")
def test_where_pairs_do_not_fit_into_memory_those_within_parts_of_the_people_are_used() -> None:
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(2, size=2000), random.random(2000), random.random(2000)])
    y = (random.random(2000) < expit(2 * X[:, 0] + X[:, 1] - 1)).astype(int)
    roles = Roles(sensitive="x0", continuous=["x1", "x2"])
    rule = Comparability(0, 0.5)
    groups = X[:, 0] == 1
    spreads = []
    for limit in (None, "2 MB"):
        model = SmoothedTargetsClassifier(
            LogisticRegression(), roles, rule, discard_sensitive=False, memory_limit=limit, random_state=0
        ).fit(X, y)
        spreads.append(model.targets_[groups, 1].mean() - model.targets_[~groups, 1].mean())
        assert model.changes_.n_matched == 2000
    assert 0 < spreads[0] < 0.1
    assert spreads[1] == pytest.approx(spreads[0], abs=0.01)
    plain = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    assert plain[groups].mean() - plain[~groups].mean() > 3 * spreads[1]


def test_regressors_learn_smoothed_predictions() -> None:
    random = np.random.default_rng(0)
    people = pd.DataFrame({"woman": random.integers(2, size=600), "age": random.integers(20, 60, size=600)})
    people["height"] = 180 - 13 * people["woman"] + random.integers(3, size=600)
    pay = people["age"] + 10.0 * (1 - people["woman"])
    roles = Roles(sensitive="woman", continuous="age", ignored="height")
    for inside in (RandomForestRegressor(20), Ridge()):
        model = SmoothedTargetsRegressor(inside, roles, Comparability(0, 0.1), random_state=0)
        path = [{"strength": 0.0}, {"strength": 10.0}] + [{"pair_weight": 3.0}] * isinstance(inside, Ridge)
        men = people["woman"] == 0
        fitted = [*model.fit_path(people, pay, path)]
        gaps = [one.predict(people)[men].mean() - one.predict(people)[~men].mean() for one in fitted]
        assert gaps[0] > 5 > 2 * gaps[1] > 0
        assert np.corrcoef(fitted[1].predict(people), people["age"])[0, 1] > 0.9
        if len(gaps) == 3:
            assert gaps[2] < gaps[1]


def test_a_saved_model_predicts_the_same(tmp_path: Path) -> None:
    for pair_weight in (0.0, 1.0):
        model = SmoothedTargetsClassifier(trees(), DATA.roles, DATA.rule, pair_weight=pair_weight, random_state=0)
        model.fit(PEOPLE, LABELS).save(tmp_path / f"{pair_weight}.skops")
        again = SmoothedTargetsClassifier.load(tmp_path / f"{pair_weight}.skops")
        assert again.predict_proba(OTHERS).tobytes() == model.predict_proba(OTHERS).tobytes()
        assert again.discarded_ == SENSITIVE


OTHER_LABELS = FrozenEstimator(LogisticRegression().fit([[0.0], [1.0]], ["a", "b"]))


@pytest.mark.parametrize(
    ("params", "error", "says"),
    [
        ({"strength": -1.0}, ParameterError, "strength is -1.0; give a number, 0 or more"),
        ({"strength": "many"}, ParameterError, "strength is 'many'; give a number"),
        ({"strength": float("nan")}, ParameterError, "strength is nan; give a number"),
        ({"folds": 1}, ParameterError, "folds is 1"),
        (
            {"estimator": KNeighborsClassifier()},
            ParameterError,
            "KNeighborsClassifier, whose fit takes no sample_weight",
        ),
        ({"estimator": RidgeClassifier()}, ParameterError, "RidgeClassifier without predict_proba"),
        ({"estimator": Ridge()}, TypeError, "there is SmoothedTargetsRegressor"),
        ({"estimator": LogisticRegression}, TypeError, "not a classifier"),
        ({"teacher": OTHER_LABELS}, ParameterError, r"predicts the labels \['a', 'b'\], but the training rows have"),
        ({"teacher": RidgeClassifier()}, ParameterError, "teacher is a RidgeClassifier without predict_proba"),
        ({"teacher": "best"}, ParameterError, "teacher is 'best'; give an estimator"),
        ({"pair_weight": 1.0, "estimator": MODELS["forest"]()}, ParameterError, "Pairs can be put into the loss of"),
    ],
)
def test_odd_input_gets_one_clear_line(params: dict[str, Any], error: type[Exception], says: str) -> None:
    model = SmoothedTargetsClassifier(logistic(), DATA.roles, DATA.rule).set_params(**params)
    with pytest.raises(error, match=says) as failure:
        model.fit(PEOPLE, LABELS)
    assert "\n" not in str(failure.value)
    assert not hasattr(model, "classes_")


def test_people_without_any_pair_are_refused() -> None:
    rows = np.r_[:8] * 150
    with pytest.raises(NoComparablePairs, match=r"^No comparable pairs among 8 training rows\. "):
        SmoothedTargetsClassifier(logistic(), DATA.roles, DATA.rule).fit(PEOPLE.iloc[rows], LABELS.iloc[rows])


def test_a_label_with_few_rows_lowers_the_folds_and_one_row_is_refused() -> None:
    for n_rows in (2, 1):
        labels = LABELS.to_numpy() * 0
        labels[:n_rows] = 1
        model = SmoothedTargetsClassifier(logistic(), DATA.roles, DATA.rule)
        if n_rows == 2:
            assert np.isfinite(model.fit(PEOPLE, labels).predict_proba(OTHERS)).all()
        else:
            with pytest.raises(ParameterError, match="fewer than two rows with the label 1"):
                model.fit(PEOPLE, labels)


def test_categories_by_position_behind_an_encoder_are_refused() -> None:
    inner = HistGradientBoostingClassifier(categorical_features=[0, 1])
    estimator = make_pipeline(encoder(dense=True), inner)
    with pytest.raises(ParameterError, match="lists columns by position behind an encoder"):
        SmoothedTargetsClassifier(estimator, DATA.roles, DATA.rule).fit(PEOPLE, LABELS)


def test_it_is_a_model_with_pairs_whose_targets_are_soft() -> None:
    """Both at once need less strength of each: pairs alone are the other model."""
    alone = ConsistentClassifier(logistic(), DATA.roles, DATA.rule, 1.0, random_state=0).fit(PEOPLE, LABELS)
    both = SmoothedTargetsClassifier(logistic(), DATA.roles, DATA.rule, pair_weight=1.0, random_state=0)
    assert both.fit(PEOPLE, LABELS).n_pairs_ == alone.n_pairs_
