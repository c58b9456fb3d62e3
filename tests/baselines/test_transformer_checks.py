"""scikit-learn's own checks of the transformers, and of the subspace."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from likewise import Roles
from likewise.baselines import DropSensitive, ProjectSensitive, SensitiveSubspace

CUT = Roles(sensitive="x0", bins={"x0": 2})


@pytest.mark.filterwarnings("ignore::likewise.exceptions.NoisyDirections")
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn ships no types
    [DropSensitive("x0"), ProjectSensitive(CUT), SensitiveSubspace(CUT, method="one_vs_rest")]
)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
