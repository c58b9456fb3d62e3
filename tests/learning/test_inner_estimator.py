"""What reaches the estimator inside: weights, roles, and rows that it must not hold out by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder, StandardScaler

from likewise import NetworkClassifier, Roles, UniformGenerator, load_dataset
from likewise.learning import AugmentedClassifier

DATA = load_dataset("planted")
PEOPLE, LABELS = DATA.train.X.head(300), DATA.train.y.head(300)
ARRAY = np.column_stack([np.arange(80) % 2, np.arange(80) % 9, np.arange(80) % 7]).astype(float)
ARRAY_LABELS = (ARRAY[:, 1] + ARRAY[:, 2] > 7).astype(int)
ARRAY_ROLES = Roles(sensitive="x0", continuous=["x1", "x2"])
WEIGHTS = np.arange(80) % 3 + 0.5
NETWORK = NetworkClassifier((8,), n_iterations=60, weight_decay=0.0, roles=DATA.roles)


def of_arrays(estimator: Any, **params: Any) -> AugmentedClassifier:
    return AugmentedClassifier(estimator, UniformGenerator(ARRAY_ROLES), **{"random_state": 0, **params})


class TestWeights:
    def test_are_handed_on_where_metadata_are_routed(self) -> None:
        pipeline = make_pipeline(FunctionTransformer(), LogisticRegression())
        expected = of_arrays(pipeline).fit(ARRAY, ARRAY_LABELS, WEIGHTS).predict_proba(ARRAY)
        with sklearn.config_context(enable_metadata_routing=True):
            pipeline[-1].set_fit_request(sample_weight=True)
            for estimator in (pipeline, pipeline[-1]):
                model = of_arrays(estimator).fit(ARRAY, ARRAY_LABELS, WEIGHTS)
                assert np.array_equal(model.predict_proba(ARRAY), expected)

    def test_are_handed_on_by_searches_and_votes(self) -> None:
        pipeline = make_pipeline(StandardScaler(), LogisticRegression())
        expected = of_arrays(pipeline).fit(ARRAY, ARRAY_LABELS, WEIGHTS).predict_proba(ARRAY)
        unweighted = of_arrays(pipeline).fit(ARRAY, ARRAY_LABELS).predict_proba(ARRAY)
        assert not np.array_equal(unweighted, expected)
        search = GridSearchCV(pipeline, {"logisticregression__C": [1.0]}, cv=2)
        assert np.array_equal(of_arrays(search).fit(ARRAY, ARRAY_LABELS, WEIGHTS).predict_proba(ARRAY), expected)
        vote = VotingClassifier([("one", LogisticRegression())], voting="soft")
        plain = of_arrays(LogisticRegression()).fit(ARRAY, ARRAY_LABELS, WEIGHTS).predict_proba(ARRAY)
        assert np.array_equal(of_arrays(vote).fit(ARRAY, ARRAY_LABELS, WEIGHTS).predict_proba(ARRAY), plain)
        with pytest.raises(ValueError, match=r"GridSearchCV does not support it\. Omit it"):
            of_arrays(GridSearchCV(KNeighborsClassifier(), {}, cv=2)).fit(ARRAY, ARRAY_LABELS, WEIGHTS)

    @pytest.mark.parametrize("fitted", [False, True])
    def test_of_zero_are_as_if_the_rows_were_not_there(self, fitted: bool) -> None:
        counts = np.flatnonzero(np.arange(300) % 5 == 0)
        weights = np.zeros(300)
        weights[counts] = 1.0
        generator = UniformGenerator(DATA.roles, DATA.rule)
        if fitted:
            generator.fit(DATA.train.X, DATA.train.y)
        model = AugmentedClassifier(make_pipeline(OrdinalEncoder(), Nearest()), generator, ratio=0.5, random_state=0)
        made = model.fit(PEOPLE, LABELS, weights).antidotes_
        assert len(made) == 30
        assert set(made.source) <= set(counts)
        assert made.n_sources == 300
        columns = ["region", "housing"]
        fewer = clone(model) if not fitted else model
        alone = fewer.fit(PEOPLE.iloc[counts], LABELS.iloc[counts]).antidotes_
        assert made.frame[columns].reset_index(drop=True).equals(alone.frame[columns].reset_index(drop=True))
        assert np.array_equal(made.source, counts[alone.source])


class Nearest(KNeighborsClassifier):  # type: ignore[misc]  # scikit-learn ships no types
    """Take weights, and do without them."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(X, y)


@pytest.mark.long(3)
@pytest.mark.parametrize(
    "estimator",
    [NETWORK, make_pipeline(NETWORK), make_pipeline(FunctionTransformer(), make_pipeline(NETWORK))],
    ids=["bare", "pipeline", "pipelines"],
)
def test_roles_inside_know_nothing_of_discarded_columns(estimator: Any) -> None:
    model = AugmentedClassifier(
        estimator, UniformGenerator(DATA.roles, DATA.rule), discard_sensitive=True, random_state=0
    )
    found = [
        one for one in model.fit(PEOPLE, LABELS).estimator_.get_params().values() if isinstance(one, NetworkClassifier)
    ]
    inner: Any = found[0] if found else model.estimator_
    roles: Any = inner.roles
    assert roles.sensitive == ()
    assert roles.discrete == DATA.roles.discrete
    assert NETWORK.roles == DATA.roles


def test_roles_of_copies_inside_know_nothing_of_discarded_columns() -> None:
    estimator = CalibratedClassifierCV(NETWORK, cv=2)
    generator = UniformGenerator(DATA.roles, DATA.rule)
    model = AugmentedClassifier(estimator, generator, discard_sensitive=True, random_state=0)
    assert model.fit(PEOPLE, LABELS).predict_proba(DATA.test.X).shape == (500, 2)


def test_xgboost() -> None:
    xgboost = pytest.importorskip("xgboost")
    generator = UniformGenerator(DATA.roles, DATA.rule)
    estimator = make_pipeline(OrdinalEncoder(), xgboost.XGBClassifier(n_estimators=5, n_jobs=1))
    model = AugmentedClassifier(estimator, generator, random_state=0).fit(DATA.train.X, DATA.train.y, np.ones(1_500))
    assert model.estimator_[-1].random_state is not None
    again = clone(model).fit(DATA.train.X, DATA.train.y, np.ones(1_500))
    people = DATA.train.X.head(50)
    assert np.array_equal(model.predict_proba(people), again.predict_proba(people))
    assert (model.score(DATA.train.X, DATA.train.y)) > 0.7
    assert set(model.predict(people)) <= {0, 1}
    frame = PEOPLE.select_dtypes("number").assign(group=(PEOPLE["group"] == PEOPLE["group"].iloc[0]).astype(int))
    roles = Roles(sensitive="group", continuous=[name for name in frame.columns if name != "group"])
    bare = AugmentedClassifier(xgboost.XGBClassifier(n_estimators=5, n_jobs=1), UniformGenerator(roles), random_state=0)
    assert bare.fit(frame, LABELS).predict_proba(frame).shape == (300, 2)
