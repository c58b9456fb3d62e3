"""scikit-learn's own checks of LCIFR."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from likewise.baselines._lcifr import LCIFRClassifier
from likewise.schema import Roles

DRAWN = "rows are drawn in batches, so weights do not do exactly what repeated rows do"
EXCUSED = {"check_sample_weight_equivalence_on_dense_data": DRAWN}

MODEL = LCIFRClassifier(
    Roles(sensitive="x0", bins={"x0": 2}),
    gamma=0.1,
    n_attack_steps=1,
    n_latent=4,
    hidden=(8,),
    n_iterations=60,
    n_consumer_iterations=30,
    learning_rate=0.03,
    weight_decay=1e-4,
    random_state=0,
)


def excused(estimator: Any) -> dict[str, str]:
    return EXCUSED


@pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")  # most of the data there says nothing
@parametrize_with_checks([MODEL], expected_failed_checks=excused)  # type: ignore[untyped-decorator]
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
