"""Any classifier, fitted to people and their antidotes: what it is given, how it predicts, how it is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier

from likewise import NetworkClassifier, Roles, UniformGenerator, load_dataset
from likewise.exceptions import ParameterError, SchemaError
from likewise.learning import AugmentedClassifier

DATA = load_dataset("planted")
PEOPLE, LABELS = DATA.train.X.head(300), DATA.train.y.head(300)
OTHERS = DATA.test.X.head(100)
KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}
ARRAY = np.column_stack([np.arange(80) % 2, np.arange(80) % 9, np.arange(80) % 7]).astype(float)
ARRAY_LABELS = (ARRAY[:, 1] + ARRAY[:, 2] > 7).astype(int)
ARRAY_GENERATOR = UniformGenerator(Roles(sensitive="x0", continuous=["x1", "x2"]))


class Recording(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Keep what it is given."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.X_, self.y_, self.sample_weight_, self.classes_ = X, y, sample_weight, np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        self.asked_ = X
        return np.full(len(X), self.classes_[0])


class Counted(UniformGenerator):
    """Count how often any of its kind learns."""

    n_fits: ClassVar[int] = 0

    def fit(self, X: Any, y: Any = None) -> Self:
        type(self).n_fits += 1
        return super().fit(X, y)


def generator() -> UniformGenerator:
    return UniformGenerator(DATA.roles, DATA.rule)


def logistic(**params: Any) -> Any:
    numbers = make_column_selector(dtype_include="number")
    coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder(handle_unknown="ignore"))
    return make_pipeline(coding, LogisticRegression(max_iter=500, **params))


NEEDING = make_pipeline(FunctionTransformer(lambda frame: frame[["gender"]] == "female"), LogisticRegression())


def named(discrete: list[str]) -> Any:
    coding = make_column_transformer((StandardScaler(), list(DATA.roles.continuous)), (OneHotEncoder(), discrete))
    return make_pipeline(coding, LogisticRegression(max_iter=500))


def augmented(estimator: Any = None, **params: Any) -> AugmentedClassifier:
    return AugmentedClassifier(estimator or logistic(), generator(), **{"random_state": 0, **params})


def test_the_estimator_is_fitted_to_people_and_antidotes() -> None:
    model = augmented(Recording(), ratio=0.5).fit(PEOPLE, LABELS)
    seen = model.estimator_
    assert len(model.antidotes_) == 150
    assert seen.X_.head(300).equals(PEOPLE)
    assert seen.X_.iloc[300:].reset_index(drop=True).equals(model.antidotes_.frame)
    assert seen.y_.tolist() == [*LABELS, *LABELS.to_numpy()[model.antidotes_.source]]
    assert seen.sample_weight_ is None
    assert not hasattr(model.estimator, "classes_")


def test_an_antidote_counts_as_much_as_its_source() -> None:
    weights = np.arange(300) / 100
    model = augmented(Recording()).fit(PEOPLE, LABELS, weights.tolist())
    assert model.estimator_.sample_weight_.tolist() == [*weights, *weights[model.antidotes_.source]]


@pytest.mark.long(2)
@pytest.mark.parametrize("hide", [False, True])
def test_early_stopping_sees_rows_without_antidotes_through_the_encoder(hide: bool) -> None:
    words = make_column_selector(dtype_exclude="number")
    coding = make_column_transformer((OrdinalEncoder(), words), remainder="passthrough")
    trees = XGBClassifier(n_estimators=200, learning_rate=0.5, max_depth=3, n_jobs=1, early_stopping_rounds=3)
    model = augmented(make_pipeline(coding, trees), discard_sensitive=hide)
    held_out = DATA.test.X.drop(columns=list(DATA.roles.sensitive)) if hide else DATA.test.X
    model.fit(PEOPLE, LABELS, np.ones(300), eval_set=[(held_out, DATA.test.y)], verbose=False)
    last = model.estimator_[-1]
    assert 0 < last.best_iteration < 100
    losses = last.evals_result()["validation_0"]["logloss"]
    shares = model.predict_proba(DATA.test.X)[:, 1]
    assert losses[last.best_iteration] == pytest.approx(log_loss(DATA.test.y, shares), abs=1e-4)
    with pytest.raises(ParameterError, match=r"eval_set is not a list of pairs\. Give rows and labels"):
        model.fit(PEOPLE, LABELS, eval_set=PEOPLE)
    with pytest.raises(ValueError, match="Feature names"):
        model.fit(PEOPLE, LABELS, eval_set=[(held_out.drop(columns="age"), DATA.test.y)])


def test_weights_go_to_the_last_step_of_pipelines() -> None:
    weights = np.ones(300)
    model = augmented(make_pipeline(FunctionTransformer(), make_pipeline(FunctionTransformer(), Recording())))
    seen = model.fit(PEOPLE, LABELS, weights).estimator_[-1][-1]
    assert len(seen.sample_weight_) == len(seen.X_) == 390
    with pytest.raises(ValueError, match="Pipeline does not support it"):
        augmented(make_pipeline(OneHotEncoder(), KNeighborsClassifier())).fit(PEOPLE, LABELS, weights)


@pytest.mark.long(3)
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("discard", [False, True])
def test_pipelines_read_frames_of_every_library(kind: str, discard: bool) -> None:
    discrete = [*DATA.roles.discrete, *([] if discard else DATA.roles.sensitive)]
    model = augmented(named(discrete), discard_sensitive=discard)
    scores = model.fit(KINDS[kind](PEOPLE), LABELS).predict_proba(KINDS[kind](OTHERS))
    assert np.allclose(scores, model.fit(PEOPLE, LABELS).predict_proba(OTHERS), rtol=0, atol=1e-9)


@pytest.mark.long(3)
@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(OrdinalEncoder(), RandomForestClassifier(10)),
        make_pipeline(OrdinalEncoder(), HistGradientBoostingClassifier(max_iter=5)),
        NetworkClassifier((8,), n_iterations=20, weight_decay=0.0, roles=DATA.roles),
        NetworkClassifier((8,), n_iterations=20, weight_decay=0.0),
    ],
    ids=["forest", "boosting", "network", "network without roles"],
)
@pytest.mark.parametrize("discard", [False, True])
def test_the_same_seed_gives_the_same_predictions(estimator: Any, discard: bool) -> None:
    few = ["group", "gender", "region", "housing", "age"]
    roles = Roles(sensitive=few[:2], discrete=few[2:4], continuous="age")
    if getattr(estimator, "roles", None):
        estimator = clone(estimator).set_params(roles=roles)
    X = PEOPLE[few].assign(age=PEOPLE["age"].round(-1))
    scores = [
        AugmentedClassifier(estimator, UniformGenerator(roles), discard_sensitive=discard, random_state=7)
        .fit(X, LABELS)
        .predict_proba(X)
        for _ in range(2)
    ]
    assert np.array_equal(scores[0], scores[1])
    assert scores[0].std() > 0


def test_discarded_columns_are_seen_neither_in_fitting_nor_in_predicting() -> None:
    model = augmented(Recording(), discard_sensitive=True).fit(PEOPLE, LABELS)
    kept = [name for name in PEOPLE.columns if name not in ("group", "gender")]
    assert model.discarded_ == ["group", "gender"]
    assert list(model.estimator_.X_.columns) == kept
    assert list(model.feature_names_in_) == list(PEOPLE.columns)
    model.predict(OTHERS)
    assert list(model.estimator_.asked_.columns) == kept
    model.predict(OTHERS[kept])  # nobody needs to ask people for what is not used
    assert list(model.estimator_.asked_.columns) == kept


def test_discarded_columns_of_arrays() -> None:
    model = AugmentedClassifier(Recording(), ARRAY_GENERATOR, discard_sensitive=True).fit(ARRAY, ARRAY_LABELS)
    assert isinstance(model.estimator_.X_, np.ndarray)
    assert np.array_equal(model.estimator_.X_[:80], ARRAY[:, 1:])
    model.predict(ARRAY)
    assert np.array_equal(model.estimator_.asked_, ARRAY[:, 1:])
    with pytest.raises(ValueError, match="X has 2 features"):
        model.predict(ARRAY[:, 1:])


def test_a_list_of_columns_loses_discarded_ones_and_a_function_that_needs_them_is_told() -> None:
    listing = augmented(named(["gender", "region"]), discard_sensitive=True).fit(PEOPLE, LABELS)
    without = augmented(named(["region"]), discard_sensitive=True).fit(PEOPLE, LABELS)
    assert np.array_equal(listing.predict_proba(OTHERS), without.predict_proba(OTHERS))
    with pytest.raises(KeyError, match="gender") as failure:
        augmented(NEEDING, discard_sensitive=True).fit(PEOPLE, LABELS)
    assert "discard_sensitive=True: the estimator did not see group, gender." in failure.value.__notes__[0]


def test_nothing_left_to_learn_from_is_refused() -> None:
    X = pd.DataFrame({"sex": ["f", "m"] * 20})
    with pytest.raises(SchemaError, match="nothing is left to learn from"):
        AugmentedClassifier(Recording(), UniformGenerator(Roles(sensitive="sex")), discard_sensitive=True).fit(
            X, [0, 1] * 20
        )


def test_labels_of_any_kind_and_number() -> None:
    labels = pd.Series(np.where(PEOPLE["age"] < 30, "young", np.where(PEOPLE["age"] < 50, "middle", "old")))
    model = augmented().fit(PEOPLE, labels)
    assert model.classes_.tolist() == ["middle", "old", "young"]
    assert model.predict_proba(OTHERS).shape == (100, 3)
    assert set(model.predict(OTHERS)) <= {"middle", "old", "young"}
    assert model.score(PEOPLE, labels) > 0.7
    assert set(augmented().fit(PEOPLE, labels.astype("category")).predict(OTHERS)) <= set(model.classes_)


def test_only_what_the_estimator_has_is_offered() -> None:
    model = AugmentedClassifier(LinearSVC(), ARRAY_GENERATOR, random_state=0)
    for one in (model, clone(model).fit(ARRAY, ARRAY_LABELS)):
        assert hasattr(one, "decision_function")
        assert not hasattr(one, "predict_proba")
        assert not hasattr(one, "predict_log_proba")
    fitted = AugmentedClassifier(LogisticRegression(), ARRAY_GENERATOR, random_state=0).fit(ARRAY, ARRAY_LABELS)
    assert np.allclose(np.exp(fitted.predict_log_proba(ARRAY)), fitted.predict_proba(ARRAY))
    assert fitted.decision_function(ARRAY).shape == (80,)
    assert fitted.score(ARRAY, ARRAY_LABELS, np.ones(80)) == (fitted.predict(ARRAY) == ARRAY_LABELS).mean()


def test_grid_search_cross_validation_and_calibration() -> None:
    model = augmented()
    grid = {"ratio": [0.1, 0.5], "estimator__logisticregression__C": [0.1, 1]}
    search = GridSearchCV(model, grid, cv=2).fit(PEOPLE, LABELS)
    assert len(search.best_estimator_.antidotes_) == round(300 * search.best_params_["ratio"])
    assert cross_val_predict(model, PEOPLE, LABELS, cv=2, method="predict_proba").shape == (300, 2)
    assert CalibratedClassifierCV(model, cv=2).fit(PEOPLE, LABELS).predict_proba(OTHERS).shape == (100, 2)


def test_a_frozen_generator_is_not_fitted_again() -> None:
    Counted.n_fits = 0
    frozen = FrozenEstimator(Counted(DATA.roles, DATA.rule).fit(DATA.train.X, DATA.train.y))
    model = AugmentedClassifier(logistic(), frozen, random_state=0)
    search = GridSearchCV(model, {"ratio": [0.1, 0.5]}, cv=2).fit(PEOPLE, LABELS)
    assert Counted.n_fits == 1
    assert search.best_estimator_.generator_.schema_ is frozen.schema_
    bare = AugmentedClassifier(logistic(), frozen.estimator, random_state=0).fit(PEOPLE, LABELS)
    assert Counted.n_fits == 1
    assert len(bare.antidotes_) == 90
    clone(bare).fit(PEOPLE, LABELS)  # a copy has forgotten
    assert Counted.n_fits == 2


def test_the_estimators_own_seed_stays() -> None:
    forest = make_pipeline(OrdinalEncoder(), RandomForestClassifier(3, random_state=5))
    few = PEOPLE[["group", "region"]]
    model = AugmentedClassifier(forest, UniformGenerator(Roles(sensitive="group", discrete="region")), random_state=1)
    assert model.fit(few, LABELS).estimator_[-1].random_state == 5
    assert model.generator_.random_state is not None
    assert model.generator.random_state is None


@pytest.mark.parametrize("estimator", [LogisticRegression, StandardScaler(), "logistic"])
def test_what_is_no_classifier_is_refused(estimator: Any) -> None:
    with pytest.raises(TypeError, match="not a classifier"):
        augmented(estimator).fit(PEOPLE, LABELS)


@pytest.mark.parametrize("estimator", [Ridge(), make_pipeline(StandardScaler(), Ridge())])
def test_a_regressor_is_refused_and_told_what_there_is_for_amounts(estimator: Any) -> None:
    with pytest.raises(TypeError, match=r"predicts amounts: .* AugmentedRegressor"):
        augmented(estimator).fit(PEOPLE, np.arange(len(LABELS)) // 3)


def test_one_class_is_refused() -> None:
    with pytest.raises(SchemaError, match="one class only, 1"):
        augmented().fit(PEOPLE, np.ones(300, int))


def test_columns_to_predict_for_are_those_it_was_fitted_to() -> None:
    model = augmented(make_pipeline(OrdinalEncoder(), RandomForestClassifier(3)), discard_sensitive=True)
    whole = DATA.train.X
    model.fit(whole, DATA.train.y)
    people = whole.head(20)
    scores = model.predict_proba(people)
    assert np.array_equal(model.predict_proba(people.drop(columns="gender")), scores)
    assert np.array_equal(model.predict_proba(people[["gender", *people.columns.drop("gender")]]), scores)
    for other in (people[people.columns[::-1]], people.rename(columns={"region": "area"}), people.assign(pet="cat")):
        with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
            model.predict_proba(other)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        augmented().fit(PEOPLE, LABELS).score(OTHERS[OTHERS.columns[::-1]], DATA.test.y.head(100))


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_columns_of_other_libraries_are_checked_as_well(kind: str) -> None:
    model = augmented(named(["region"])).fit(KINDS[kind](PEOPLE), LABELS)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(KINDS[kind](OTHERS[OTHERS.columns[::-1]]))


def test_a_fit_that_failed_leaves_nothing_behind() -> None:
    model = augmented(named(["region"])).fit(PEOPLE, LABELS)
    with pytest.raises(KeyError, match="gender"):
        model.set_params(estimator=NEEDING, discard_sensitive=True).fit(PEOPLE, LABELS)
    assert [name for name in vars(model) if name.endswith("_")] == []
    with pytest.raises(NotFittedError):
        model.predict(OTHERS)


@pytest.mark.parametrize("discard", ["no", 1, None])
def test_whether_to_discard_is_yes_or_no(discard: Any) -> None:
    with pytest.raises(ValueError, match=r"discard_sensitive is .*; give True or False"):
        augmented(discard_sensitive=discard).fit(PEOPLE, LABELS)


def test_seeds_inside_are_short_and_differ() -> None:
    two = VotingClassifier([("a", RandomForestClassifier(2)), ("b", RandomForestClassifier(2))])
    model = augmented(make_pipeline(OrdinalEncoder(), two)).fit(DATA.train.X, DATA.train.y)
    one, other = (forest.random_state for _, forest in model.estimator_[-1].estimators)
    assert one != other
    assert max(one, other, model.generator_.random_state) < 2**31
