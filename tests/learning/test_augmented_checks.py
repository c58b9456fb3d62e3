"""The checks that scikit-learn and imbalanced-learn make of estimators like these."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator
from tests.any_columns import FirstIsSensitive

from likewise.learning import AntidoteSampler, AugmentedClassifier, AugmentedRegressor

REPEATED = "antidotes of a row that stands there twice are two draws, those of a row of weight 2 one draw"
LEFT_OUT = "without the column that is left out, the classes of this check cannot be told apart well enough"
SPARSE = "frames with sparse columns are refused, in one line: columns of people are dense"


def excused(estimator: Any) -> dict[str, str]:
    reasons = {"check_sample_weight_equivalence_on_dense_data": REPEATED}
    if estimator.discard_sensitive:
        reasons["check_classifiers_train"] = LEFT_OUT
    return reasons


def named(value: Any) -> str:
    return str(getattr(getattr(value, "func", value), "__name__", type(value).__name__))


MODELS = [
    AugmentedClassifier(LogisticRegression(), FirstIsSensitive(), random_state=0),
    AugmentedClassifier(DecisionTreeClassifier(), FirstIsSensitive(), ratio=None, random_state=0),
    AugmentedClassifier(LogisticRegression(), FirstIsSensitive(), discard_sensitive=True, random_state=0),
    AugmentedRegressor(Ridge(), FirstIsSensitive(), random_state=0),
]


def checks_of(estimator: Any) -> list[Any]:
    return list(estimator_checks_generator(estimator, expected_failed_checks=excused(estimator), mark="xfail"))


@pytest.mark.long(6)
@pytest.mark.parametrize(("estimator", "check"), [one for model in MODELS for one in checks_of(model)], ids=named)
def test_scikit_learn_of_the_models(estimator: Any, check: Any) -> None:
    check(estimator)


SAMPLER = AntidoteSampler(FirstIsSensitive(), random_state=0)


@pytest.mark.long(2)
@pytest.mark.parametrize(("estimator", "check"), list(estimator_checks_generator(SAMPLER, mark="xfail")), ids=named)
def test_scikit_learn_of_the_sampler(estimator: Any, check: Any) -> None:
    check(estimator)


def imbalanced_learn_checks() -> list[Any]:
    if find_spec("imblearn") is None:
        return []
    checks = import_module("imblearn.utils.estimator_checks")
    sampler, refused = AntidoteSampler(FirstIsSensitive(), random_state=0), {"check_samplers_pandas_sparse": SPARSE}
    return list(checks.estimator_checks_generator(sampler, expected_failed_checks=refused, mark="xfail"))


@pytest.mark.long(2)
@pytest.mark.parametrize(("estimator", "check"), imbalanced_learn_checks(), ids=named)
def test_imbalanced_learn(estimator: Any, check: Any) -> None:
    check(estimator)
