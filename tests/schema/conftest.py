"""Frames of each library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

MAKERS: dict[str, Callable[[Any], Any]] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture(params=MAKERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make(kind: str) -> Callable[[Mapping[str, Any]], Any]:
    return MAKERS[kind]
