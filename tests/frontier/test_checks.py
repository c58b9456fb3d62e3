"""scikit-learn's own checks of a search."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import estimator_checks_generator
from tests.any_columns import FirstIsSensitive

from likewise import Comparability
from likewise.frontier import FrontierSearch
from likewise.learning import AugmentedClassifier

# Tables of twenty rows, whose labels may go with the first column: pairs are found by a rule that compares everybody
# with everybody of the same label and of the same half of the first column.
RULE = Comparability(max_continuous_shift=1.0, sensitive_differs="none")
MODEL = AugmentedClassifier(LogisticRegression(), FirstIsSensitive())
SEARCH = FrontierSearch(
    MODEL,
    {"ratio": [0.3]},
    rule=RULE,
    folds=2,
    n_resamples=0,
    max_loss=0.5,
    random_state=3,
)


def named(value: Any) -> str:
    return str(getattr(getattr(value, "func", value), "__name__", type(value).__name__))


@pytest.mark.long(6)
@pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")
@pytest.mark.parametrize(("estimator", "check"), list(estimator_checks_generator(SEARCH, mark="xfail")), ids=named)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
