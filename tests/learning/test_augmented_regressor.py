"""Any regressor, fitted to people and their antidotes: outcomes are copied, and need not be equal in a pair."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from likewise import AugmentedRegressor, UniformGenerator, audit, load_dataset
from likewise.exceptions import SchemaError

DATA = load_dataset("planted")
PEOPLE, OTHERS = DATA.train.X.head(400), DATA.test.X
SENSITIVE = list(DATA.roles.sensitive)
FAVOURED = DATA.roles.sensitive[0]


def amounts(people: pd.DataFrame) -> Any:
    """Outcomes that depend on a sensitive column."""
    first = people[FAVOURED] == people[FAVOURED].iloc[0]
    return people["income"].to_numpy() / 1000 + 20.0 * first.to_numpy()


class Recording(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Keep what it is given."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.X_, self.y_, self.sample_weight_ = X, y, sample_weight
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


def ridge() -> Any:
    words = make_column_selector(dtype_exclude="number")
    return make_pipeline(make_column_transformer((OneHotEncoder(), words), remainder="passthrough"), Ridge())


def augmented(estimator: Any = None, **params: Any) -> AugmentedRegressor:
    return AugmentedRegressor(
        estimator or ridge(), UniformGenerator(DATA.roles, DATA.rule), **{"random_state": 0, **params}
    )


def test_antidotes_have_the_outcome_and_the_weight_of_their_source() -> None:
    weights, pay = np.arange(400) / 100, amounts(PEOPLE)
    model = augmented(Recording(), ratio=0.5).fit(PEOPLE, pay, weights)
    source = model.antidotes_.source
    assert len(source) == 200
    assert source.min() > 0  # the person of weight 0 has none
    assert model.estimator_.y_.tolist() == [*pay, *pay[source]]
    assert model.estimator_.sample_weight_.tolist() == [*weights, *weights[source]]
    table = DATA.roles.learn(PEOPLE).encode(PEOPLE, np.zeros(400, int))
    made = model.generator_.schema_.encode(model.antidotes_.frame, np.zeros(200, int))
    assert DATA.rule.holds(table[source], made).all()


def test_gaps_between_comparable_people_fall_as_the_ratio_grows() -> None:
    how: dict[str, Any] = {"roles": DATA.roles.learn(PEOPLE), "rule": DATA.rule, "n_resamples": 0, "baseline": False}
    gaps = [
        audit(model.fit(PEOPLE, amounts(PEOPLE)), OTHERS, amounts(OTHERS), task="regression", **how)["gap_mean"].value
        for model in (ridge(), augmented(ratio=0.5), augmented(ratio=2.0))
    ]
    plain, some, many = (gap or 0.0 for gap in gaps)
    assert plain > 1.2 * some > 1.2 * many > 0


def test_sensitive_columns_may_be_hidden_or_given_beside() -> None:
    pay, seen = amounts(PEOPLE), PEOPLE.drop(columns=SENSITIVE)
    hidden = augmented(discard_sensitive=True).fit(PEOPLE, pay)
    beside = augmented().fit(seen, pay, sensitive_features=PEOPLE[SENSITIVE])
    without = OTHERS.drop(columns=SENSITIVE)
    np.testing.assert_allclose(hidden.predict(without), beside.predict(without))
    with sklearn.config_context(enable_metadata_routing=True):
        inner = augmented().set_fit_request(sample_weight=True)
        inner.estimator[-1].set_fit_request(sample_weight=True)
        routed = Pipeline([("as_is", "passthrough"), ("model", inner)])
        routed.fit(seen, pay, sensitive_features=PEOPLE[SENSITIVE], sample_weight=np.ones(400))
    np.testing.assert_allclose(routed.predict(without), beside.predict(without))


def test_a_search_shares_a_frozen_generator_whatever_labels_it_was_fitted_with() -> None:
    fitted = UniformGenerator(DATA.roles, DATA.rule, random_state=0).fit(PEOPLE, DATA.train.y.head(400))
    model = AugmentedRegressor(ridge(), FrozenEstimator(fitted), random_state=0)
    search = GridSearchCV(model, {"ratio": [0.1, 1.0]}, cv=2, error_score="raise").fit(PEOPLE, amounts(PEOPLE))
    assert search.best_estimator_.generator_.estimator is fitted
    assert 0.5 < search.best_score_ <= 1


def test_it_predicts_as_before_when_it_is_loaded(tmp_path: Path) -> None:
    model = augmented(discard_sensitive=True).fit(PEOPLE, amounts(PEOPLE))
    model.save(tmp_path / "saved.skops")
    again = AugmentedRegressor.load(tmp_path / "saved.skops")
    assert again.predict(OTHERS).tobytes() == model.predict(OTHERS).tobytes()
    assert not hasattr(again, "classes_")
    fitted = again.fit(PEOPLE, amounts(PEOPLE))
    assert fitted.predict(OTHERS).tobytes() == model.predict(OTHERS).tobytes()


def test_what_it_does_not_take_gets_one_line() -> None:
    pay = amounts(PEOPLE)
    with pytest.raises(TypeError, match=r"predicts classes\. Give a regressor; for classes there is AugmentedClass"):
        augmented(LogisticRegression()).fit(PEOPLE, pay)
    with pytest.raises(TypeError, match=r"not a regressor\. Give one, such as Ridge\(\)"):
        augmented(Ridge).fit(PEOPLE, pay)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        augmented().fit(PEOPLE, np.full(400, np.nan))
    with pytest.raises(SchemaError, match=r"put the Pipeline inside instead: AugmentedRegressor\(make_pipeline\("):
        make_pipeline(OneHotEncoder(sparse_output=False), augmented(Ridge())).fit(PEOPLE, pay)
