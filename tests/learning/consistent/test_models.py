"""Models with pairs in their loss: the plain model at weight 0, smaller gaps beyond, and every door into it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from tests.libraries import has_lightgbm
from tests.sizes import sized
from xgboost import XGBClassifier, XGBRegressor, XGBRFClassifier
from xgboost.callback import TrainingCallback

from likewise import (
    AntiDROClassifier,
    Comparability,
    ConsistentClassifier,
    ConsistentRegressor,
    NetworkClassifier,
    Roles,
    UniformGenerator,
    load_dataset,
    mine_pairs,
)
from likewise.exceptions import LikewiseError, NoComparablePairs, ParameterError
from likewise.learning.consistent import _pair_graph

DATA = load_dataset("planted")
PEOPLE, LABELS = DATA.train.X, DATA.train.y
OTHERS = DATA.test.X
TABLE = DATA.roles.learn(PEOPLE).encode(OTHERS, DATA.test.y)
PAIRS = mine_pairs(TABLE, DATA.rule)
HAS_LIGHTGBM = has_lightgbm()


def words() -> Any:
    return make_column_selector(dtype_exclude="number")


def trees(**params: Any) -> Any:
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    coding = make_column_transformer((codes, words()), remainder="passthrough")
    return make_pipeline(coding, XGBClassifier(**{"n_estimators": 20, "max_depth": 4, "n_jobs": 1} | params))


def light_trees(**params: Any) -> Any:
    LGBMClassifier = import_module("lightgbm").LGBMClassifier
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    coding = make_column_transformer((codes, words()), remainder="passthrough")
    return make_pipeline(coding, LGBMClassifier(**{"n_estimators": 20, "n_jobs": 1, "verbose": -1} | params))


def linear(**params: Any) -> Any:
    coding = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words()), remainder=StandardScaler())
    return make_pipeline(coding, LogisticRegression(**{"max_iter": 2000, "tol": 1e-8} | params))


def network(**params: Any) -> Any:
    quick: dict[str, Any] = {
        "hidden": (16,),
        "n_iterations": sized(30, 80),
        "weight_decay": 1e-3,
        "random_state": 0,
        "device": "cpu",
    }
    return NetworkClassifier(**quick | {"roles": DATA.roles} | params)


MAKERS: dict[str, Any] = {"trees": trees, "linear": linear, "network": network}
if HAS_LIGHTGBM:
    MAKERS["light trees"] = light_trees


def consistent(estimator: Any, weight: float = 1.0, **params: Any) -> ConsistentClassifier:
    return ConsistentClassifier(estimator, DATA.roles, DATA.rule, weight, **{"random_state": 0} | params)


def gap_of(scores: Any) -> float:
    """Mean gap of the test pairs, the labels counting alike."""
    gaps = np.abs(scores[PAIRS.left] - scores[PAIRS.right]).sum(axis=1) / 2
    return float(np.mean([gaps[PAIRS.label == label].mean() for label in np.unique(PAIRS.label)]))


@pytest.mark.long(2)
@pytest.mark.parametrize("kind", list(MAKERS))
def test_at_weight_zero_it_is_the_plain_model_to_the_last_digit(kind: str) -> None:
    plain = MAKERS[kind]().fit(PEOPLE, LABELS)
    model = consistent(MAKERS[kind](), 0.0).fit(PEOPLE, LABELS)
    assert np.array_equal(model.predict_proba(OTHERS), plain.predict_proba(OTHERS))
    assert model.n_pairs_ == {}


@pytest.mark.long(3)
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind != "network"])
def test_at_hardly_any_weight_it_is_hardly_another_model(kind: str, n_labels: int) -> None:
    labels = LABELS if n_labels == 2 else LABELS + (PEOPLE["income"] > PEOPLE["income"].median())
    plain = MAKERS[kind]().fit(PEOPLE, labels)
    model = consistent(MAKERS[kind](), 1e-9).fit(PEOPLE, labels)
    assert np.allclose(model.predict_proba(OTHERS), plain.predict_proba(OTHERS), rtol=0, atol=1e-6)


@pytest.mark.long(3)
@pytest.mark.parametrize(
    ("kind", "params"),
    [
        (kind, params)
        for kind in MAKERS
        for params in ({}, {"pair_loss": "absolute"}, {"gap": "logit"})
        if sized(False, True) or kind != "network" or params.get("gap")  # which takes the longest
    ],
    ids=str,
)
def test_gaps_fall_as_the_weight_grows(kind: str, params: dict[str, Any]) -> None:
    if kind == "linear" and params.get("pair_loss"):
        with pytest.raises(ParameterError, match="pair_loss is 'absolute', but a linear model's penalty is squared"):
            consistent(linear(), **params).fit(PEOPLE, LABELS)
        return
    weights = (0, 0.1, 1) if params.get("pair_loss") else (0, 1, 20)  # small gaps cost more if not squared
    longer = {"n_iterations": sized(100, 150)} if kind == "network" else {}
    models = [consistent(MAKERS[kind](**longer), weight, **params).fit(PEOPLE, LABELS) for weight in weights]
    scores = [model.predict_proba(OTHERS) for model in models]
    gaps = [gap_of(one) for one in scores]
    assert gaps[0] > 1.2 * gaps[1] > 1.2 * gaps[2]
    assert all(np.std(one) > 0.02 for one in scores)  # and not because everybody gets the same


def test_a_linear_model_minimises_its_loss_with_the_pairs() -> None:
    model = consistent(linear(C=0.5), 2.0, gap="logit", balance_people=False).fit(PEOPLE, LABELS)
    last, X = model.estimator_[-1], model.estimator_[:-1].transform(PEOPLE)
    inputs = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    table = DATA.roles.learn(PEOPLE).encode(PEOPLE, LABELS)
    pairs = mine_pairs(table, DATA.rule)
    slope = inputs.T @ (expit(inputs @ last.coef_[0] + last.intercept_[0]) - LABELS.to_numpy()) / len(LABELS)
    slope += last.coef_[0] / (0.5 * len(LABELS))
    for label in (0, 1):
        here = pairs.label == label
        apart = inputs[pairs.left[here]] - inputs[pairs.right[here]]
        slope += 2.0 / 2 * 2 * apart.T @ (apart @ last.coef_[0]) / here.sum()
    assert np.abs(slope).max() < 1e-5


@pytest.mark.long(3)
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize(
    "params", [{}, {"class_weight": "balanced"}, {"fit_intercept": False}, {"C": 0.01}], ids=["", "class", "no", "C"]
)
def test_a_logistic_regression_is_what_its_other_solvers_find(n_labels: int, params: dict[str, Any]) -> None:
    random = np.random.default_rng(0)
    labels = LABELS if n_labels == 2 else np.where(random.random(len(LABELS)) < 0.3, 2, LABELS)
    weights = random.uniform(0.1, 3.0, len(LABELS))
    ours, theirs = (
        consistent(linear(tol=1e-8, solver=solver, **params), 3.0).fit(PEOPLE, labels, sample_weight=weights)
        for solver in ("lbfgs", "newton-cholesky")  # by sparse inputs and a matrix as penalty; by shrunk inputs
    )
    assert np.allclose(ours.predict_proba(OTHERS), theirs.predict_proba(OTHERS), rtol=0, atol=1e-5)
    assert ours.estimator_[-1].coef_.shape == theirs.estimator_[-1].coef_.shape
    assert ours.estimator_[-1].n_iter_.max() < 40


def test_too_few_steps_of_a_logistic_regression_are_told() -> None:
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 steps"):
        consistent(linear(max_iter=2)).fit(PEOPLE, LABELS)


def test_a_linear_model_tends_to_a_projection() -> None:
    model = consistent(linear(), 1e7, gap="logit").fit(PEOPLE, LABELS)
    margins = model.decision_function(PEOPLE)
    pairs = mine_pairs(DATA.roles.learn(PEOPLE).encode(PEOPLE, LABELS), DATA.rule)
    assert np.abs(margins[pairs.left] - margins[pairs.right]).max() < 0.02
    assert margins.std() > 0.02


@pytest.mark.long(2)
@pytest.mark.parametrize("kind", list(MAKERS))
def test_the_same_seed_gives_the_same_bytes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pair_graph, "PAIRS_A_ROUND", 100)  # each round draws its own
    scores = [consistent(MAKERS[kind]()).fit(PEOPLE, LABELS).predict_proba(OTHERS) for _ in range(2)]
    assert scores[0].tobytes() == scores[1].tobytes()
    assert gap_of(scores[0]) < gap_of(MAKERS[kind]().fit(PEOPLE, LABELS).predict_proba(OTHERS))


def test_boosted_trees_are_as_any_others_afterwards(tmp_path: Any) -> None:
    model = consistent(trees(random_state=0)).fit(PEOPLE, LABELS)
    last = model.estimator_[-1]
    assert last.get_params()["objective"] == "binary:logistic"
    last.save_model(tmp_path / "trees.json")
    again = XGBClassifier()
    again.load_model(tmp_path / "trees.json")
    inputs = model.estimator_[:-1].transform(OTHERS)
    assert np.array_equal(again.predict_proba(inputs), model.predict_proba(OTHERS))


class Watching(TrainingCallback):
    """A user's own callback: counts rounds."""

    def __init__(self) -> None:
        self.n_rounds = 0

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.n_rounds += 1
        return epoch >= 8  # it may stop training, too


@pytest.mark.parametrize("params", [{}, {"booster": "dart", "rate_drop": 0.5}, {"early_stopping_rounds": 2}])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_callbacks_and_held_out_rows_are_as_usual(params: dict[str, Any], n_labels: int) -> None:
    y = LABELS.to_numpy() + (n_labels == 3) * (PEOPLE["age"].to_numpy() > 50)
    kept = XGBClassifier(n_estimators=12, n_jobs=1, random_state=0, callbacks=[Watching()], **params)
    model = consistent(make_pipeline(trees()[0].set_output(transform="pandas"), kept))
    model.fit(PEOPLE, y, np.linspace(0.5, 1.5, 1500), eval_set=[(OTHERS, DATA.test.y.to_numpy())], verbose=False)
    last = model.estimator_[-1]
    (watching,) = last.get_params()["callbacks"]
    ((losses,),) = (list(one.values()) for one in last.evals_result().values())
    assert 0 < watching.n_rounds == len(losses) <= 9  # where it stops


@pytest.mark.long(3)
@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind != "network"])
def test_labels_of_any_kind_and_several_of_them(kind: str) -> None:
    three = np.array(["low", "middle", "high"])[LABELS.to_numpy() + (PEOPLE["age"].to_numpy() > 50)]
    scores = [consistent(MAKERS[kind](), w).fit(PEOPLE, three) for w in (0.0, 5.0)]
    assert scores[0].classes_.tolist() == ["high", "low", "middle"]
    assert set(scores[1].predict(OTHERS)) <= {"low", "middle", "high"}
    assert set(scores[1].n_pairs_) <= {"low", "middle", "high"}
    gaps = [gap_of(one.predict_proba(OTHERS)) for one in scores]
    assert gaps[1] < 0.8 * gaps[0]
    assert np.allclose(scores[1].predict_proba(OTHERS).sum(axis=1), 1)


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if "trees" in kind])
def test_early_stopping_sees_rows_through_the_encoder(kind: str) -> None:
    y = np.where(LABELS == 1, "yes", "no")
    names = {"trees": {"early_stopping_rounds": 3}, "light trees": {"early_stopping_round": 3}}
    model = consistent(MAKERS[kind](n_estimators=400, learning_rate=0.5, **names[kind]))
    model.fit(PEOPLE.head(1000), y[:1000], eval_set=[(PEOPLE.tail(500), y[-500:])])
    last = model.estimator_[-1]
    n_rounds = last.best_iteration if kind == "trees" else last.best_iteration_
    assert 0 < n_rounds < 100
    with pytest.raises(ParameterError, match="eval_set has the label 'maybe', which is not in y"):
        model.fit(PEOPLE, y, eval_set=[(PEOPLE, np.full(1500, "maybe"))])


def test_weights_of_rows_and_labels_count() -> None:
    plain = consistent(trees()).fit(PEOPLE, LABELS)
    doubled = consistent(trees()).fit(PEOPLE, LABELS, np.full(1500, 2.0))
    some = consistent(trees()).fit(PEOPLE, LABELS, (np.arange(1500) % 2).astype(float))
    scaled = consistent(trees(scale_pos_weight=5)).fit(PEOPLE, LABELS)
    assert doubled.n_pairs_ == plain.n_pairs_
    assert sum(some.n_pairs_.values()) < sum(plain.n_pairs_.values())
    assert scaled.predict_proba(OTHERS)[:, 1].mean() > plain.predict_proba(OTHERS)[:, 1].mean() + 0.05
    balanced = consistent(linear(class_weight="balanced")).fit(PEOPLE, LABELS)
    assert gap_of(balanced.predict_proba(OTHERS)) < gap_of(linear().fit(PEOPLE, LABELS).predict_proba(OTHERS))


def test_frames_arrays_categories_and_pipelines_inside_pipelines() -> None:
    frames = [PEOPLE, pl.from_pandas(PEOPLE)]
    coded = [*DATA.roles.sensitive, *DATA.roles.discrete]
    named = make_pipeline(make_column_transformer((OrdinalEncoder(), coded), remainder="passthrough"), trees()[1])
    scores = [consistent(named).fit(frame, LABELS).predict_proba(frame)[:, 1] for frame in frames]
    assert np.allclose(scores[0], scores[1], atol=1e-6)
    nested = make_pipeline(named[0], make_pipeline("passthrough", named[1]))
    assert np.array_equal(consistent(nested).fit(PEOPLE, LABELS).predict_proba(PEOPLE)[:, 1], scores[0])
    kinds = dict.fromkeys((*DATA.roles.sensitive, *DATA.roles.discrete), "category")
    own = XGBClassifier(n_estimators=5, n_jobs=1, enable_categorical=True, tree_method="hist")
    assert consistent(own).fit(PEOPLE.astype(kinds), LABELS).predict(OTHERS.astype(kinds)).shape == (500,)
    array = np.column_stack([np.arange(80) % 2, np.arange(80) % 9, np.arange(80) % 7]).astype(float)
    labels = (array[:, 1] + array[:, 2] > 7).astype(int)
    roles = Roles(sensitive="x0", continuous=["x1", "x2"])
    model = ConsistentClassifier(XGBClassifier(n_estimators=5), roles, Comparability(max_continuous_shift=0.2))
    assert model.fit(array, labels).predict_proba(array).shape == (80, 2)


def test_other_estimators_may_be_around_it() -> None:
    scores = cross_val_predict(consistent(trees(n_estimators=5)), PEOPLE, LABELS, cv=2, method="predict_proba")
    assert scores.shape == (1500, 2)


def test_antidotes_are_partners_of_people_who_have_none() -> None:
    rule = Comparability(max_discrete_changes=0, max_continuous_shift=0.02)
    few = ConsistentClassifier(trees(), DATA.roles, rule, 20.0, random_state=0)
    more = clone(few).set_params(generator=UniformGenerator(DATA.roles, rule))
    few.fit(PEOPLE, LABELS)
    more.fit(PEOPLE, LABELS)
    assert sum(more.n_pairs_.values()) > sum(few.n_pairs_.values())
    made = more.generator_.generate(OTHERS, DATA.test.y, random_state=5)
    for_model = {name: one.predict_proba for name, one in {"few": few, "more": more}.items()}
    gaps = {n: np.abs(ask(OTHERS)[made.source] - ask(made.frame))[:, 1].mean() for n, ask in for_model.items()}
    assert gaps["more"] < 0.7 * gaps["few"]
    with pytest.raises(ParameterError, match="generator is given, but a network takes antidotes by itself"):
        ConsistentClassifier(network(), DATA.roles, rule, generator=more.generator).fit(PEOPLE, LABELS)


def test_a_network_takes_pairs_and_antidotes() -> None:
    generator = UniformGenerator(DATA.roles, DATA.rule, random_state=0)
    quick: dict[str, Any] = {
        "hidden": (16,),
        "n_iterations": sized(60, 120),
        "random_state": 0,
        "device": "cpu",
        "objective": "consistency",
    }
    robust = AntiDROClassifier(generator, **quick)
    both = consistent(clone(robust), 5.0).fit(PEOPLE, LABELS)
    alone = robust.fit(PEOPLE, LABELS)
    assert gap_of(both.predict_proba(OTHERS)) < gap_of(alone.predict_proba(OTHERS))
    assert {"antidote_loss", "pair_loss"} <= set(both.estimator_.history_[-1])


def test_held_out_rows_of_a_network_are_in_no_pair() -> None:
    model = consistent(network(patience=3, validation_fraction=0.4))
    whole, part = consistent(network()).fit(PEOPLE, LABELS), model.fit(PEOPLE, LABELS)
    assert part.n_pairs_ == whole.n_pairs_  # of all rows; those that are used are fewer
    assert part.estimator_.history_[-1]["held_out_loss"] is not None


@pytest.mark.parametrize(
    ("make", "params", "error", "message"),
    [
        (RandomForestClassifier, {}, ParameterError, "is a RandomForestClassifier. Pairs can be put into the loss of"),
        (HistGradientBoostingClassifier, {}, ParameterError, "AugmentedClassifier takes any classifier"),
        (XGBRFClassifier, {}, ParameterError, "is a XGBRFClassifier"),
        (lambda: XGBClassifier, {}, ParameterError, "is the class XGBClassifier"),
        (lambda: FrozenEstimator(linear()), {}, ParameterError, "is a FrozenEstimator"),
        (lambda: trees(objective="binary:hinge"), {}, ParameterError, "has the objective 'binary:hinge', but pairs"),
        (lambda: trees(objective=lambda y, z: (y, z)), {}, ParameterError, "Leave its objective unset"),
        (lambda: LogisticRegression(C=np.inf), {}, ParameterError, "give a finite C"),
        (lambda: LogisticRegression(), {}, ParameterError, "was given text. Put an encoder before it"),
        (linear, {"pair_weight": -1}, ParameterError, "pair_weight is -1; give a number, 0 or more"),
        (linear, {"pair_weight": np.nan}, ParameterError, "pair_weight is nan"),
        (linear, {"pair_weight": "much"}, ParameterError, "pair_weight is 'much'"),
        (linear, {"pair_loss": "cubic"}, ParameterError, "choose one of 'squared', 'absolute'"),
        (linear, {"gap": "rank"}, ParameterError, "choose one of 'probability', 'logit'"),
        (linear, {"balance_people": "no"}, ParameterError, "give True or False"),
        (linear, {"roles": None}, ParameterError, "roles is None; pass Roles"),
        (linear, {"rule": 3}, ParameterError, "rule is 3; give a Comparability"),
        (linear, {"generator": UniformGenerator}, TypeError, "give an instance"),
    ],
)
def test_what_makes_no_sense_gets_one_line(make: Any, params: dict[str, Any], error: Any, message: str) -> None:
    model = ConsistentClassifier(make(), DATA.roles, DATA.rule).set_params(**params)
    with pytest.raises(error, match=message) as raised:
        model.fit(PEOPLE, LABELS)
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, LikewiseError | TypeError)
    assert not hasattr(model, "estimator_")


def test_no_pairs_get_one_line() -> None:
    people, roles = (
        PEOPLE.head(200)[["group", "age"]].assign(number=range(200)),
        Roles(sensitive="group", matched="number", continuous="age"),
    )
    with pytest.raises(NoComparablePairs, match="No comparable pairs among 200 training rows"):
        ConsistentClassifier(linear(), roles).fit(people, LABELS.head(200))


def test_pairs_of_one_label_only_and_fitted_estimators_work() -> None:
    apart = PEOPLE.assign(job=np.where(LABELS == 1, PEOPLE.iloc[:, 3].astype(str), np.arange(1500).astype(str)))
    roles = Roles.infer(apart, sensitive=DATA.roles.sensitive, discrete="job")
    model = ConsistentClassifier(linear(), roles, DATA.rule).fit(apart, LABELS)
    assert sum(model.n_pairs_.values()) > 0
    fitted = trees(random_state=0).fit(PEOPLE.head(300), LABELS.head(300))
    before = fitted.predict_proba(OTHERS)
    again = consistent(fitted).fit(PEOPLE, LABELS).predict_proba(OTHERS)
    assert np.array_equal(fitted.predict_proba(OTHERS), before)
    assert np.array_equal(again, consistent(trees(random_state=0)).fit(PEOPLE, LABELS).predict_proba(OTHERS))


@pytest.mark.filterwarnings("ignore:.*Device is changed from GPU to CPU")
def test_parameters_for_gpus_do_no_harm() -> None:
    model = consistent(trees(device="cuda", n_estimators=5)).fit(PEOPLE, LABELS)
    assert model.predict_proba(OTHERS).shape == (500, 2)


@pytest.mark.long(2)
@pytest.mark.parametrize("make", [lambda: Ridge(), lambda: XGBRegressor(n_estimators=30, max_depth=3, n_jobs=1)])
def test_regressors_have_gaps_in_units_of_the_outcome(make: Any) -> None:
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words()), remainder=StandardScaler())
    pay = 1000 * (PEOPLE["income"].rank(pct=True) + (PEOPLE["group"] == PEOPLE["group"].iloc[0])).to_numpy()
    table = DATA.roles.learn(PEOPLE).encode(OTHERS, np.zeros(500, np.int64))
    pairs = mine_pairs(table, DATA.rule)
    gaps = {}
    for scale in (1.0, 1000.0):
        for weight in (0.0, 1.0, 20.0):
            model = ConsistentRegressor(make_pipeline(encoder, make()), DATA.roles, DATA.rule, weight)
            said = model.fit(PEOPLE, pay * scale).predict(OTHERS) / scale
            gaps[scale, weight] = np.abs(said[pairs.left] - said[pairs.right]).mean()
    assert gaps[1.0, 0.0] > 1.2 * gaps[1.0, 1.0] > 1.2 * gaps[1.0, 20.0]
    assert all(gaps[1.0, weight] == pytest.approx(gaps[1000.0, weight], rel=0.02) for weight in (0.0, 1.0, 20.0))


def test_a_regressor_refuses_what_a_classifier_refuses() -> None:
    with pytest.raises(ParameterError, match="loss of XGBRegressor, LGBMRegressor and Ridge"):
        ConsistentRegressor(RandomForestClassifier(), DATA.roles).fit(PEOPLE, LABELS)
    with pytest.raises(ParameterError, match=r"alpha=0\.0; pairs need one number above 0"):
        ConsistentRegressor(Ridge(alpha=0.0), DATA.roles).fit(PEOPLE, LABELS)
    with pytest.raises(ValueError, match="y contains NaN"):
        ConsistentRegressor(Ridge(), DATA.roles).fit(PEOPLE, np.full(1500, np.nan))


def test_people_in_text_labels_and_frames_keep_their_names() -> None:
    model = consistent(linear()).fit(PEOPLE, LABELS)
    assert model.feature_names_in_.tolist() == list(PEOPLE.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(OTHERS.rename(columns={"age": "years"}))
    assert isinstance(PEOPLE, pd.DataFrame)
