"""scikit-learn's own checks of models with pairs."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks
from xgboost import XGBClassifier

from likewise import Comparability, ConsistentClassifier, ConsistentRegressor, Roles, Schema
from likewise.schema._internal import open_frame

BROAD = Comparability(max_continuous_shift=1.0, sensitive_differs="none")
REPEATED = "roles cut the first column where half of the rows are, and copies of a row are pairs by this rule"


def learn_any(frame: Any) -> Schema:
    """Give roles to whatever columns there are: the checks come with as many as they like."""
    first, *others = open_frame(frame).names
    return Roles(sensitive=first, continuous=others, bins={first: 2}).learn(frame)


class AnyClassifier(ConsistentClassifier):
    def _learn_schema(self, frame: Any) -> Schema:
        return learn_any(frame)


class AnyRegressor(ConsistentRegressor):
    def _learn_schema(self, frame: Any) -> Schema:
        return learn_any(frame)


def excused(estimator: Any) -> dict[str, str]:
    return {"check_sample_weight_equivalence_on_dense_data": REPEATED}


@pytest.mark.filterwarnings("ignore::likewise.exceptions.PairsSampled")
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    [
        AnyClassifier(LogisticRegression(), rule=BROAD, pair_weight=0.1, random_state=0),
        AnyClassifier(XGBClassifier(n_estimators=10, n_jobs=1), rule=BROAD, pair_weight=0.1, random_state=0),
        AnyRegressor(Ridge(), rule=BROAD, pair_weight=0.1, random_state=0),
    ],
    expected_failed_checks=excused,
)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
