"""scikit-learn's own checks of the classifiers."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.any_columns import FirstIsSensitive

from likewise.learning import AntiDROClassifier, NetworkClassifier

# Rows are drawn in batches: a row of weight 2 is not in the same batches as two rows of weight 1.
DRAWN = "rows are drawn in batches, so weights do not do exactly what repeated rows do"
QUICK: dict[str, Any] = {
    **{"hidden": (16,), "n_iterations": 50, "optimizer": "adam", "learning_rate": 0.05, "weight_decay": 1e-4},
    **{"random_state": 0},
}
EXCUSED = {
    "check_sample_weight_equivalence_on_dense_data": DRAWN,
}


def excused(estimator: Any) -> dict[str, str]:
    return EXCUSED


@pytest.mark.filterwarnings("ignore::likewise.exceptions.ScoresCollapsed", "ignore::likewise.exceptions.FewAntidotes")
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    [
        NetworkClassifier(**QUICK),
        AntiDROClassifier(FirstIsSensitive(), 2, 0.1, **QUICK),
    ],
    expected_failed_checks=excused,
)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
