"""Data sets for the tests: loaded once, or the test is skipped where they are not to be had."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from likewise.datasets import Dataset, list_datasets, load_dataset


@pytest.fixture(scope="session")
def public() -> Callable[[str], Dataset]:
    """Load a public data set without the network, or skip."""
    loaded: dict[str, Dataset] = {}
    local = {record.name for record in list_datasets() if record.is_local}

    def load(name: str) -> Dataset:
        if name not in local:
            pytest.skip(f"data set {name} is not on this machine")
        if name not in loaded:
            loaded[name] = load_dataset(name, download=False)
        return loaded[name]

    return load


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Be on a machine that has no data set, in a cache of its own."""
    for name in [name for name in os.environ if name.startswith("LIKEWISE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path_factory.mktemp("cache")))
