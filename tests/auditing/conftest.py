"""Random pairs with scores, and a small audit to look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from likewise import Audit, audit, load_dataset
from likewise.datasets import PlantedDataset


@dataclass(frozen=True)
class SomePairs:
    """Pairs of row positions."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]


@st.composite
def _scored_pairs(draw: st.DrawFn) -> tuple[SomePairs, NDArray[np.float64]]:
    """Some different pairs among a few people, with scores that repeat now and then."""
    n_people = draw(st.integers(2, 12))
    left, right = np.triu_indices(n_people, 1)
    chosen = draw(st.lists(st.integers(0, len(left) - 1), min_size=1, unique=True))
    scores = draw(st.lists(st.integers(0, 20), min_size=n_people, max_size=n_people))
    return SomePairs(left[chosen], right[chosen]), np.array(scores) / 20


@pytest.fixture
def scored_pairs() -> st.SearchStrategy[tuple[SomePairs, NDArray[np.float64]]]:
    return _scored_pairs()


@pytest.fixture(scope="session")
def planted() -> PlantedDataset:
    return load_dataset("planted")


@pytest.fixture(scope="session")
def how(planted: PlantedDataset) -> dict[str, Any]:
    """Whom to audit, and how: ``audit(scores, **how)``."""
    schema = planted.roles.learn(planted.train.X)
    return {"X": planted.test.X, "y": planted.test.y, "roles": schema, "rule": planted.rule, "n_resamples": 200}


@pytest.fixture(scope="session")
def found(planted: PlantedDataset, how: dict[str, Any]) -> Audit:
    return audit(planted.scores, **how)
