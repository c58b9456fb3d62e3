"""A machine without data sets."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Be on a machine that has no data set, in a cache of its own."""
    for name in [name for name in os.environ if name.startswith("LIKEWISE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path_factory.mktemp("cache")))
