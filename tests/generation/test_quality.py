"""How many made rows are comparable, by kind of column and in all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from likewise import CodedTable, Comparability, Roles
from likewise.exceptions import GenerationError
from likewise.generation import (
    Antidotes,
    UniformGenerator,
    comparability_ratio,
)

ROLES = Roles(sensitive="sex", discrete=["job", "town"], continuous=["age", "pay"])


@pytest.fixture(scope="module")
def X() -> pd.DataFrame:  # noqa: N802 - what scikit-learn calls a table
    random = np.random.default_rng(0)
    n = 400
    age = random.integers(20, 60, n)
    return pd.DataFrame(
        {
            "sex": random.choice(["f", "m"], n),
            "job": random.choice(["cook", "smith"], n),
            "town": random.choice(["Bonn", "Jena"], n),
            "age": age,
            "pay": 100 * age,  # so that changing one of the two shows
        }
    )


@pytest.fixture(scope="module")
def y(X: pd.DataFrame) -> np.ndarray[Any, Any]:
    return np.where(X["age"] + 10 * (X["job"] == "cook") > 45, "yes", "no")


def made(X: pd.DataFrame, y: Any, rule: Comparability, **amount: Any) -> Antidotes:
    return UniformGenerator(ROLES, rule, random_state=0).fit(X, y).generate(X, y, **amount)


@pytest.fixture(scope="module")
def wild(X: pd.DataFrame, y: Any) -> Antidotes:
    return made(X, y, Comparability(max_discrete_changes=2, max_continuous_shift=1))


def test_ratios_are_by_kind_and_together() -> None:
    sources = CodedTable(sensitive=[[0]] * 4, discrete=[[0, 0]] * 4, ordinal=[[1]] * 4, continuous=[[0.5]] * 4)
    raw = CodedTable(
        sensitive=[[1], [1], [0], [1]],
        discrete=[[0, 1], [1, 1], [0, 0], [0, 0]],
        ordinal=[[2], [1], [1], [3]],
        continuous=[[0.5], [0.52], [0.9], [0.9]],
    )
    assert comparability_ratio(sources, raw, Comparability()) == {
        "discrete": 0.75,
        "ordinal": 0.75,
        "continuous": 0.5,
        "sensitive": 0.75,
        "together": 0.25,
    }


def test_ratios_go_by_the_whole_rule() -> None:
    sources = CodedTable(sensitive=[[0, 0]] * 2, discrete=[[0], [0]])
    raw = CodedTable(sensitive=[[1, 0], [1, 1]], discrete=[[1], [0]])
    rule = Comparability(sensitive_differs="all", must_match=("discrete_0",))
    ratios = comparability_ratio(sources, raw, rule)
    assert (ratios["discrete"], ratios["sensitive"], ratios["together"]) == (0.5, 0.5, 0.5)
    assert ratios["continuous"] == 1


def test_kept_antidotes_are_comparable_in_every_kind(wild: Antidotes) -> None:
    rule = Comparability(max_discrete_changes=2, max_continuous_shift=1)
    assert set(comparability_ratio(wild.sources, wild.table, rule).values()) == {1.0}


def test_no_rows_have_no_ratio() -> None:
    nothing = CodedTable(sensitive=np.empty((0, 1), int))
    assert all(np.isnan(one) for one in comparability_ratio(nothing, nothing, Comparability()).values())
    with pytest.raises(GenerationError, match="1 raw rows and 0 sources"):
        comparability_ratio(nothing, CodedTable(sensitive=[[0]]), Comparability())
