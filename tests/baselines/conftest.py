"""People whom a plain model treats by their sex, and small networks on one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Keep small networks on one thread: on several they wait for each other."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def same_networks() -> None:
    """Start from the same random state: networks that tests make themselves would differ from run to run."""
    import torch

    torch.default_generator.manual_seed(0)


@pytest.fixture(scope="session")
def applicants() -> tuple[pd.DataFrame, Any]:
    """Make up people whose sex shows in their height, and decides about them as much as their skill does."""
    random = np.random.default_rng(0)
    is_man, skill = random.integers(0, 2, 400), random.random(400)
    frame = pd.DataFrame(
        {
            "sex": np.where(is_man, "m", "f"),
            "height": 0.6 * is_man + 0.4 * random.random(400),
            "skill": skill,
            "town": random.choice(["Bonn", "Jena"], 400),
        }
    )
    return frame, np.where(2 * is_man + 4 * skill + random.normal(size=400) / 3 > 3, "hired", "not")


@pytest.fixture(scope="session")
def gap_of() -> Callable[[Any, pd.DataFrame], float]:
    """Give a function that scores everybody as a woman and as a man, height included."""

    def gap(model: Any, frame: pd.DataFrame) -> float:
        as_man = frame.assign(sex="m", height=frame["height"] % 0.4 + 0.6)
        as_woman = frame.assign(sex="f", height=frame["height"] % 0.4)
        return float(np.abs(model.predict_proba(as_man) - model.predict_proba(as_woman))[:, 0].mean())

    return gap


@pytest.fixture(scope="session")
def lambda_path() -> Callable[..., list[float]]:
    """Give a function that works the weights of the distance out from a history with a record of every step."""

    def path(history: list[dict[str, Any]], start: float, epsilon: float, step: float | None) -> list[float]:
        found, value = [], start
        for record in history:
            distance = max(record["mean_distance"], 1e-12)
            haste = min(max(distance / epsilon, epsilon / distance), 10.0) if step is None else step
            value = min(max(value + haste * (record["mean_distance"] - epsilon), 1e-5), 1e3)
            found.append(value)
        return found

    return path
