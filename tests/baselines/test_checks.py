"""scikit-learn's own checks of all baselines."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from likewise import Roles
from likewise.baselines import (
    DropSensitive,
    LCIFRClassifier,
    ProjectSensitive,
    SenSeIClassifier,
    SensitiveSubspace,
    SenSRClassifier,
)

LEARNING = ("check_classifiers_train", "check_classifiers_classes", "check_classifiers_one_label_sample_weights")
DRAWN = "rows are drawn in batches, so weights do not do exactly what repeated rows do"
CUT = Roles(sensitive="x0", bins={"x0": 2})
TRANSFORMERS = [DropSensitive("x0"), ProjectSensitive(CUT), SensitiveSubspace(CUT, scaling="deviation")]

# some checks ask for accuracy on data whose first column is as good as any: attacks are kept mild
QUICK: dict[str, Any] = {
    **{"hidden": (16,), "n_iterations": 40, "optimizer": "adam", "learning_rate": 0.05, "weight_decay": 1e-4},
    **{"random_state": 0},
}
MODELS = [
    SenSRClassifier(CUT, n_subspace_steps=1, subspace_step=0.01, n_full_steps=1, **QUICK),
    SenSeIClassifier(CUT, rho=1e-3, n_steps=1, **QUICK),
    LCIFRClassifier(
        CUT,
        gamma=0.1,
        n_attack_steps=1,
        n_latent=4,
        hidden=(8,),
        n_iterations=60,
        n_consumer_iterations=30,
        learning_rate=0.03,
        weight_decay=1e-4,
        random_state=0,
    ),
]


def checks_of(estimator: Any) -> list[Any]:
    """Return the checks; most are left out unless the run is long, for on their base all have been run."""
    refused = {} if estimator in TRANSFORMERS else {"check_sample_weight_equivalence_on_dense_data": DRAWN}
    return list(estimator_checks_generator(estimator, expected_failed_checks=refused, mark="xfail"))


def named(value: Any) -> str:
    return str(getattr(getattr(value, "func", value), "__name__", type(value).__name__))


@pytest.mark.long(16)
@pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")  # most of the data there is noise
@pytest.mark.parametrize(
    ("estimator", "check"), [one for model in (*TRANSFORMERS, *MODELS) for one in checks_of(model)], ids=named
)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    if estimator in MODELS and named(check) not in LEARNING:  # whose numbers may be any
        steps = dict.fromkeys({"n_iterations", "n_consumer_iterations"} & estimator.get_params().keys(), 5)
        estimator = clone(estimator).set_params(**steps)
    check(estimator)
