"""One Spark session for all tests of a process, and a word where there can be none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from tests.needs import do_without

__all__ = ["spark", "why_no_spark"]


def why_no_spark() -> str | None:
    """Say why tests with Spark cannot run here; None if they can."""
    if find_spec("pyspark") is None:
        return "pyspark is not on this machine"
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return "Java is not on this machine"
    return None


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Start a real Spark with two threads. How small and quiet it is says the conftest.py of the whole project."""
    reason = why_no_spark()
    if reason is not None:
        do_without(reason)
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").appName("likewise tests").getOrCreate()
    yield session
    session.stop()
