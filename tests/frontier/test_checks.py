"""scikit-learn's own checks of a search."""

from __future__ import annotations

from typing import Any, Self

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from likewise import Comparability, Roles, UniformGenerator
from likewise.frontier import FrontierSearch
from likewise.learning import AugmentedClassifier
from likewise.schema import open_frame


class FirstIsSensitive(UniformGenerator):
    """Take any columns: checks come with as many as they like."""

    def __init__(self, comparability: Comparability | None = None, *, random_state: int | None = None) -> None:
        self.comparability = comparability
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        first, *others = open_frame(X).names
        self.roles = Roles(sensitive=first, continuous=others, bins={first: 2})
        return super().fit(X, y)


EXCUSED = {
    "check_sample_weight_equivalence_on_dense_data": "a row that stands there twice may be held out once and learned "
    "from once, a row of weight 2 may not"
}


def excused(estimator: Any) -> dict[str, str]:
    return EXCUSED


# Tables of twenty rows, whose labels may go with the first column: pairs are found by a rule that compares everybody
# with everybody of the same label and of the same half of the first column.
RULE = Comparability(max_continuous_shift=10.0, sensitive_differs="none")
MODEL = AugmentedClassifier(LogisticRegression(), FirstIsSensitive())


@pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    [
        FrontierSearch(
            MODEL, {"ratio": [0.3]}, rule=RULE, validation_fraction=0.6, n_resamples=0, max_loss=0.5, random_state=0
        )
    ],
    expected_failed_checks=excused,
)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
