"""People to explore: a few hundred, with every kind of column, scored by a function of their fields."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from likewise.comparable import Comparability
from likewise.explore import Explorer
from likewise.schema import Roles

ROLES = Roles(
    sensitive=("race", "sex"),
    discrete=("job", "town", "car"),
    continuous=("age", "pay"),
    ordinal={"size": ("S", "M", "L")},
    label="hired",
)
CONTROLLED = "the control is no better"
RULE = Comparability(max_discrete_changes=1, max_continuous_shift=0.1)
RULES = {
    "one limit": RULE,
    "limits by name": Comparability(max_continuous_shift={"age": 0.1, "pay": 0.2}),
    "limits in order": Comparability(max_continuous_shift=(0.15, 0.05)),
    "a limit of nothing": Comparability(max_continuous_shift={"age": 0.3, "pay": 0.0}, max_discrete_changes=3),
    "columns that must match": Comparability(max_continuous_shift=0.2, must_match=("town", "age")),
    "all sensitive columns differ": Comparability(max_continuous_shift=0.1, sensitive_differs="all"),
    "one limit in units": Comparability(max_continuous_shift={"pay": 0.2}, limits={"age": "3"}),
    "one relative to the value": Comparability(max_continuous_shift=0.1, limits={"pay": "20 %"}),
    CONTROLLED: Comparability(max_continuous_shift=0.2, no_better=("pay:higher",)),
    "scores near the threshold": Comparability(max_continuous_shift={"age": 0.2, "pay": 0.3}, score_band=0.2),
    "none differs": Comparability(max_continuous_shift=0.1, sensitive_differs="none", max_ordinal_shift=0),
}


def controls(name: str) -> dict[str, Any]:
    """The control, for a rule that asks for one."""
    return {"reference": "blue"} if name == CONTROLLED else {}


def make_people(n: int = 250, seed: int = 0) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "race": random.choice(["blue", "green", "red"], n),
            "sex": random.choice(["f", "m"], n),
            "job": random.choice(["baker", "cook"], n),
            "town": random.choice(["east", "west"], n),
            "car": random.choice(["no", "yes"], n),
            "age": random.integers(20, 40, n),
            "pay": np.round(random.uniform(1, 3, n), 2),
            "size": random.choice(["S", "M", "L"], n),
            "hired": random.choice(["no", "yes"], n),
        }
    )


def score_people(frame: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Score by age and pay, the blue ones higher by 0.2; of two columns the second is the positive label's."""
    is_blue = np.array(frame.column("race").to_pylist()) == "blue"
    ages, pays = (frame.column(name).to_numpy().astype(float) for name in ("age", "pay"))
    positive = 0.1 + (ages - 20) / 60 + pays / 15 + 0.2 * is_blue
    return np.column_stack([1 - positive, positive])


@pytest.fixture(scope="session")
def people() -> pa.Table:
    return make_people()


@pytest.fixture(scope="session")
def explorer(people: pa.Table) -> Explorer:
    return Explorer(score_people, people, roles=ROLES, rule=RULE, title="people.csv")
