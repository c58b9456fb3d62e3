"""Networks fitted together are those fitted one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from likewise import load_dataset
from likewise.baselines import LCIFRClassifier, SenSeIClassifier, SenSRClassifier, fit_together
from likewise.exceptions import ParameterError

DATA = load_dataset("planted")
FEW: dict[str, Any] = {"n_iterations": 10, "batch_size": 32, "random_state": 0, "weight_decay": 0.001, "device": "cpu"}
GRIDS: dict[type, dict[str, tuple[float, ...]]] = {
    SenSRClassifier: {"subspace_step": (0.05, 0.3, 1.0)},
    SenSeIClassifier: {"rho": (0.01, 1.0, 10.0)},
    LCIFRClassifier: {"gamma": (0.1, 1.0, 10.0)},
}


def models_of(kind: type, **more: Any) -> list[Any]:
    ((name, values),) = GRIDS[kind].items()
    return [kind(DATA.roles, **FEW, **more, **{name: value}) for value in values]


@pytest.mark.filterwarnings("ignore::likewise.exceptions.LikewiseWarning")  # few steps, and noise to learn from
@pytest.mark.parametrize("kind", GRIDS)
def test_networks_fitted_together_are_those_fitted_one_by_one(kind: type) -> None:
    together = models_of(kind)
    fit_together(together, DATA.train.X, DATA.train.y)
    scores = [model.predict_proba(DATA.test.X) for model in together]
    for model, its in zip(together, scores, strict=True):
        alone = clone(model).fit(DATA.train.X, DATA.train.y)
        np.testing.assert_allclose(its, alone.predict_proba(DATA.test.X), atol=1e-6)
        for seen, wanted in zip(model.history_, alone.history_, strict=True):
            assert seen.keys() == wanted.keys()
            for name in wanted.keys() - {"seconds", "phase"}:
                if wanted[name] is not None:
                    assert seen[name] == pytest.approx(wanted[name], rel=1e-3, abs=1e-6), name
    assert np.abs(scores[0] - scores[-1]).max() > 1e-3  # they do differ among each other
    for one in together:
        for weights in one.network_.parameters():
            assert weights.untyped_storage().nbytes() == weights.nbytes  # of its own, not a slice of all


@pytest.mark.parametrize(
    "models",
    [
        [SenSRClassifier(DATA.roles, **FEW), SenSRClassifier(DATA.roles, **FEW | {"batch_size": 16})],
        [SenSRClassifier(DATA.roles, **FEW | {"random_state": None})],
        [SenSRClassifier(DATA.roles, **FEW, variant="single_stage")],
        [SenSeIClassifier(DATA.roles, **FEW, rho=0.0)],
        [SenSeIClassifier(DATA.roles, **FEW, patience=3)],
        [LCIFRClassifier(DATA.roles, **FEW, attack="dl2")],
    ],
)
def test_what_cannot_be_fitted_together_is_refused(models: list[Any]) -> None:
    with pytest.raises(ParameterError):
        fit_together(models, DATA.train.X, DATA.train.y)


@pytest.mark.parametrize("models", [[], None, [SenSRClassifier(DATA.roles), SenSeIClassifier(DATA.roles)], ["a"]])
def test_only_models_of_one_kind_are_fitted_together(models: list[Any]) -> None:
    with pytest.raises(TypeError, match="of one kind"):
        fit_together(models, DATA.train.X, DATA.train.y)
