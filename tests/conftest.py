"""Settings every test shares, and data sets: loaded once, or the test is skipped where they are not to be had."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings
from tests.needs import do_without
from tests.sizes import sized
from tests.spark_session import spark

from likewise.datasets import Dataset, list_datasets, load_dataset

__all__ = ["public", "spark"]

# "ci" finds the same thing on every run and machine; "explore" looks further, for people hunting a bug
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=sized(5, 100),
)
settings.register_profile("explore", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def public() -> Callable[[str], Dataset]:
    """Load a public data set without the network, or skip."""
    loaded: dict[str, Dataset] = {}
    local = {record.name for record in list_datasets() if record.is_local}

    def load(name: str) -> Dataset:
        if name not in local:
            do_without(f"data set {name} is not on this machine")
        if name not in loaded:
            loaded[name] = load_dataset(name, download=False)
        return loaded[name]

    return load
