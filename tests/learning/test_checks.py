"""scikit-learn's own checks of the classifiers."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator
from tests.any_columns import FirstIsSensitive

from likewise.learning import AntiDROClassifier, NetworkClassifier

LEARNING = ("check_classifiers_train", "check_classifiers_classes", "check_classifiers_one_label_sample_weights")
# Rows are drawn in batches: a row of weight 2 is not in the same batches as two rows of weight 1.
DRAWN = "rows are drawn in batches, so weights do not do exactly what repeated rows do"
QUICK: dict[str, Any] = {
    **{"hidden": (16,), "n_iterations": 50, "optimizer": "adam", "learning_rate": 0.05, "weight_decay": 1e-4},
    **{"random_state": 0},
}
EXCUSED = {
    "check_sample_weight_equivalence_on_dense_data": DRAWN,
}
MODELS = {"network": NetworkClassifier(**QUICK), "AntiDRO": AntiDROClassifier(FirstIsSensitive(), 2, 0.1, **QUICK)}


def checks_of(name: str) -> list[Any]:
    return list(estimator_checks_generator(MODELS[name], expected_failed_checks=EXCUSED, mark="xfail"))


def named(value: Any) -> str:
    return str(getattr(getattr(value, "func", value), "__name__", type(value).__name__))


@pytest.mark.long(8)
@pytest.mark.filterwarnings("ignore::likewise.exceptions.ScoresCollapsed", "ignore::likewise.exceptions.FewAntidotes")
@pytest.mark.parametrize(("estimator", "check"), [one for name in MODELS for one in checks_of(name)], ids=named)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    if named(check) not in LEARNING:  # whose numbers may be any
        estimator = clone(estimator).set_params(n_iterations=5)
    check(estimator)
