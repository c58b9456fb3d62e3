"""Sensitive columns outside the model's input: rule and antidotes see them, the estimator does not, by any route."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

from likewise import (
    AntidoteSampler,
    AugmentedClassifier,
    ConsistentClassifier,
    ConsistentRegressor,
    LeastGap,
    Roles,
    SmoothedTargetsClassifier,
    UniformGenerator,
    gap_scorer,
    load_dataset,
)
from likewise.baselines import DropSensitive, ProjectSensitive
from likewise.exceptions import ParameterError, SchemaError

DATA = load_dataset("planted")
PEOPLE, LABELS = DATA.train.X.head(400), DATA.train.y.head(400)
SENSITIVE = list(DATA.roles.sensitive)
SEEN, BESIDE = PEOPLE.drop(columns=SENSITIVE), PEOPLE[SENSITIVE]
OTHERS = DATA.test.X.head(100).drop(columns=SENSITIVE)
GENERATOR = UniformGenerator(DATA.roles, DATA.rule, random_state=0)
LIBRARIES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def logistic() -> Any:
    numbers = make_column_selector(dtype_include="number")
    coding = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder(handle_unknown="ignore"))
    return make_pipeline(coding, LogisticRegression(max_iter=500))


MODELS: dict[str, Callable[[], Any]] = {
    "antidotes": lambda: AugmentedClassifier(logistic(), GENERATOR, random_state=0),
    "targets": lambda: SmoothedTargetsClassifier(logistic(), DATA.roles, DATA.rule, random_state=0),
    "pairs": lambda: ConsistentClassifier(logistic(), DATA.roles, DATA.rule, 2.0, generator=GENERATOR, random_state=0),
}


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def hidden(name: str) -> Any:
    """Return the same model, fitted to rows with the sensitive columns, which its own pipeline drops."""
    model = MODELS[name]()
    if name != "pairs":
        return model.set_params(discard_sensitive=True).fit(PEOPLE, LABELS)
    drop = FunctionTransformer(lambda frame: frame.drop(columns=SENSITIVE))
    return model.set_params(estimator=make_pipeline(drop, *(step for _, step in logistic().steps))).fit(PEOPLE, LABELS)


@pytest.mark.long(2)
@pytest.mark.parametrize(
    ("name", "library"),
    [("pairs", "pandas"), ("targets", "polars"), *(("antidotes", library) for library in LIBRARIES)],
)
def test_the_model_is_that_of_rows_with_the_columns_hidden(name: str, library: str) -> None:
    convert = LIBRARIES[library]
    model = MODELS[name]().fit(SEEN, LABELS, sensitive_features=convert(BESIDE))
    assert list(model.feature_names_in_) == list(SEEN.columns)
    assert list(model.estimator_.feature_names_in_) == list(SEEN.columns)
    full = hidden(name)
    asked = OTHERS if name == "antidotes" else DATA.test.X.head(100)
    np.testing.assert_allclose(model.predict_proba(OTHERS), full.predict_proba(asked), atol=1e-9)
    if name == "pairs":
        assert model.n_pairs_ == full.n_pairs_


def test_frames_of_one_library_stay_in_it() -> None:
    convert = LIBRARIES["polars"]
    X, y = AntidoteSampler(GENERATOR).fit_resample(convert(SEEN), LABELS, sensitive_features=BESIDE)
    assert isinstance(X, pl.DataFrame)
    assert X.columns == list(SEEN.columns)
    whole, same = AntidoteSampler(GENERATOR).fit_resample(PEOPLE, LABELS)
    assert len(X) == len(y) == len(whole) > len(PEOPLE)
    assert X.to_dicts() == whole[SEEN.columns].to_dict("records")
    assert list(y) == list(same)


def test_an_array_may_have_a_sensitive_column_beside_it() -> None:
    array = np.column_stack([np.arange(80) // 2 % 9, np.arange(80) // 2 % 7]).astype(float)
    labels = (array.sum(axis=1) > 7).astype(int)
    sex = pd.Series(np.where(np.arange(80) % 2, "f", "m"), name="sex")
    roles = Roles(sensitive="sex", continuous=["x0", "x1"])
    generator = UniformGenerator(roles, random_state=0)
    for model in (
        AugmentedClassifier(LogisticRegression(), generator),
        ConsistentClassifier(LogisticRegression(), roles),
    ):
        assert model.fit(array, labels, sensitive_features=sex).predict_proba(array).shape == (80, 2)
    outcomes = ConsistentRegressor(Ridge(), roles).fit(array, array[:, 0] / 2, sensitive_features=sex)
    assert outcomes.predict(array).shape == (80,)
    X, _ = AntidoteSampler(generator).fit_resample(array, labels, sensitive_features=sex)
    assert isinstance(X, np.ndarray)
    assert X.shape[1] == 2


@pytest.mark.long(2)
@pytest.mark.parametrize("name", MODELS)
def test_a_pipeline_routes_them_with_sample_weights(name: str, routing: None) -> None:
    inner = MODELS[name]()
    inner.estimator[-1].set_fit_request(sample_weight=True)
    inner.estimator[0].transformers[0][1].set_fit_request(sample_weight=False)
    model = inner.set_fit_request(sample_weight=True)
    weights = np.linspace(1, 2, len(LABELS))
    inside = Pipeline([("as_is", "passthrough"), ("model", model)])
    inside.fit(SEEN, LABELS, sample_weight=weights, sensitive_features=BESIDE)
    alone = sklearn.base.clone(model).fit(SEEN, LABELS, sample_weight=weights, sensitive_features=BESIDE)
    plain = sklearn.base.clone(model).fit(SEEN, LABELS, sensitive_features=BESIDE)
    np.testing.assert_array_equal(inside.predict_proba(OTHERS), alone.predict_proba(OTHERS))
    assert (plain.predict_proba(OTHERS) != alone.predict_proba(OTHERS)).any()


def test_a_search_routes_them_to_model_and_scorer_fold_by_fold(routing: None) -> None:
    fitted = FrozenEstimator(UniformGenerator(DATA.roles, DATA.rule, random_state=0).fit(PEOPLE, LABELS))
    scoring = {"roc_auc": "roc_auc", "gap": gap_scorer(DATA.roles.learn(PEOPLE), DATA.rule)}
    model = AugmentedClassifier(logistic(), fitted, random_state=0)
    search = GridSearchCV(
        model, {"ratio": [0.1, 1.0]}, scoring=scoring, refit=LeastGap(0.05), cv=2, error_score="raise"
    )
    search.fit(SEEN, LABELS, sensitive_features=BESIDE)
    alone = cross_validate(
        model.set_params(ratio=1.0),
        *(SEEN, LABELS),
        scoring=scoring["gap"],
        params={"sensitive_features": BESIDE},
        cv=2,
        error_score="raise",
    )
    assert search.cv_results_["mean_test_gap"][1] == pytest.approx(alone["test_score"].mean())
    assert search.predict(OTHERS).shape == (100,)


def test_the_pipeline_of_imbalanced_learn_routes_them_to_the_sampler(routing: None) -> None:
    steps = [("antidotes", AntidoteSampler(GENERATOR, random_state=0)), *logistic().steps]
    pipeline = pytest.importorskip("imblearn.pipeline")
    model = pipeline.Pipeline(steps).fit(SEEN, LABELS, sensitive_features=BESIDE)
    alone = AugmentedClassifier(logistic(), GENERATOR, random_state=0).fit(SEEN, LABELS, sensitive_features=BESIDE)
    np.testing.assert_allclose(model.predict_proba(OTHERS), alone.predict_proba(OTHERS), atol=1e-6)


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        (BESIDE.head(10), "has 10 rows, and X has 400 rows"),
        (PEOPLE[[*SENSITIVE, "income"]], "has the column 'income', which X has as well"),
        (BESIDE.sample(frac=1, random_state=0), "has the index of X in another order"),
        (BESIDE["group"].rename(None), "is a series without a name"),
        (BESIDE.to_numpy(), "is a ndarray, whose columns have no names"),
    ],
)
def test_columns_that_do_not_fit_are_refused(beside: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=f"sensitive_features {message}"):
        MODELS["pairs"]().fit(SEEN, LABELS, sensitive_features=beside)


def test_rows_are_matched_by_position_whatever_their_index() -> None:
    shifted = BESIDE.set_axis(range(1000, 1400))
    models = [MODELS["antidotes"]().fit(SEEN, LABELS, sensitive_features=one) for one in (BESIDE, shifted)]
    np.testing.assert_array_equal(*(one.predict_proba(OTHERS) for one in models))


@pytest.mark.parametrize("as_frame", [True, False])
@pytest.mark.parametrize("name", [*MODELS, "sampler"])
def test_after_an_encoder_the_message_says_to_put_the_pipeline_inside(name: str, as_frame: bool) -> None:
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), SENSITIVE), remainder=OrdinalEncoder())
    encoder.set_output(transform="pandas" if as_frame else "default")
    encoded = encoder.fit_transform(PEOPLE)
    model = AntidoteSampler(GENERATOR) if name == "sampler" else MODELS[name]()
    with pytest.raises(SchemaError, match=r"no column 'group'.*make_pipeline\(encoder, \.\.\.\).*sensitive_features"):
        model.fit(encoded, LABELS)


@pytest.mark.parametrize("name", MODELS)
def test_fitted_models_show_themselves_in_a_notebook(name: str) -> None:
    model = MODELS[name]().fit(PEOPLE, LABELS)
    page = sklearn.utils.estimator_html_repr(model)
    assert type(model).__name__ in page
    assert "LogisticRegression" in page
    assert 'class="sk-estimator-doc-link fitted"' in page


@pytest.mark.long(2)
@pytest.mark.filterwarnings("ignore::likewise.exceptions.NoisyDirections")
@pytest.mark.parametrize(
    "transformer",
    [
        DropSensitive(DATA.roles),
        ProjectSensitive(DATA.roles),
    ],
    ids=["drop", "project"],
)
def test_transformers_return_frames_where_that_is_asked_for(transformer: Any) -> None:
    plain = sklearn.base.clone(transformer).fit(PEOPLE, LABELS).transform(PEOPLE)
    frame = sklearn.base.clone(transformer).set_output(transform="pandas").fit(PEOPLE, LABELS).transform(PEOPLE)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == [str(name) for name in frame.columns]
    assert len(set(frame.columns)) == frame.shape[1]
    assert np.asarray(frame).tolist() == np.asarray(plain).tolist()
