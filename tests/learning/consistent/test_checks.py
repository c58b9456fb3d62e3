"""scikit-learn's own checks of models with pairs, of the projection, and of smoothed scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import estimator_checks_generator
from xgboost import XGBClassifier

from likewise import (
    Comparability,
    ConsistentClassifier,
    ConsistentRegressor,
    Roles,
    Schema,
    SmoothedScores,
    SmoothedTargetsClassifier,
    SmoothedTargetsRegressor,
)
from likewise.schema._internal import open_frame

BROAD = Comparability(max_continuous_shift=1.0, sensitive_differs="none")
CHANGING = {"check_dict_unchanged": "changes_ says what the last smoothing changed"}
REPEATED = "roles cut the first column where half of the rows are, and copies of a row are pairs by this rule"


def learn_any(frame: Any) -> Schema:
    """Give roles to whatever columns there are: the checks come with as many as they like."""
    first, *others = open_frame(frame).names
    return Roles(sensitive=first, continuous=others, bins={first: 2}).learn(frame)


@pytest.fixture(autouse=True)
def _any_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("_base", "_smoothed_scores"):
        monkeypatch.setattr(f"likewise.learning.consistent.{module}.learn_schema", lambda _, frame: learn_any(frame))


def named(value: Any) -> str:
    return str(getattr(getattr(value, "func", value), "__name__", type(value).__name__))


def checks_of_models() -> Iterator[Any]:
    excused = {"check_sample_weight_equivalence_on_dense_data": REPEATED}
    seeing: dict[str, Any] = {"rule": BROAD, "discard_sensitive": False, "random_state": 0}
    for model in (
        ConsistentClassifier(LogisticRegression(), rule=BROAD, pair_weight=0.1, random_state=0),
        ConsistentClassifier(XGBClassifier(n_estimators=10, n_jobs=1), rule=BROAD, pair_weight=0.1, random_state=0),
        ConsistentRegressor(Ridge(), rule=BROAD, pair_weight=0.1, random_state=0),
        SmoothedTargetsClassifier(LogisticRegression(), strength=0.1, **seeing),
        SmoothedTargetsRegressor(Ridge(), strength=0.1, **seeing),
    ):
        yield from estimator_checks_generator(model, expected_failed_checks=excused, mark="xfail")


@pytest.mark.long(6)
@pytest.mark.filterwarnings("ignore::likewise.exceptions.PairsSampled")
@pytest.mark.parametrize(("estimator", "check"), list(checks_of_models()), ids=named)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def checks_beside() -> Iterator[Any]:
    """Yield the checks of what wraps a classifier: few of them unless the run is long."""
    estimator = SmoothedScores(LogisticRegression(), rule=BROAD, smoothing=0.001)
    yield from estimator_checks_generator(estimator, expected_failed_checks=CHANGING, mark="xfail")


@pytest.mark.long(8)
@pytest.mark.parametrize(("estimator", "check"), list(checks_beside()), ids=named)
def test_scikit_learn_beside(estimator: Any, check: Any) -> None:
    check(estimator)
