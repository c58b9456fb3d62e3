"""The same people asked the same question in another form: the same numbers, whatever the form and the door."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.cli.conftest import run

from likewise import Roles, audit, load_dataset
from likewise.auditing import Audit
from likewise.datasets import PlantedDataset

__all__ = ["run"]

HOW: dict[str, Any] = {"n_resamples": 60, "n_worst": 20}


@pytest.fixture(scope="module")
def planted() -> PlantedDataset:
    return load_dataset("planted", n_rows=900)


@pytest.fixture(scope="module")
def people(planted: PlantedDataset) -> pd.DataFrame:
    frame: pd.DataFrame = planted.test.X.assign(y=planted.test.y, p=planted.scores(planted.test.X))
    return frame


@pytest.fixture(scope="module")
def expected(planted: PlantedDataset, people: pd.DataFrame) -> dict[str, Any]:
    return numbers(ask(planted, people))


def ask(planted: PlantedDataset, people: Any, **how: Any) -> Audit:
    """Audit a frame of any kind, with labels and scores in columns of it."""
    return audit("p", people, roles=roles_of(planted), rule=planted.rule, **HOW | how)


def roles_of(planted: PlantedDataset) -> Roles:
    roles = planted.roles
    return Roles(
        sensitive=roles.sensitive, discrete=roles.discrete, continuous=roles.continuous, label="y", ignored="p"
    )


def numbers(found: Audit) -> dict[str, Any]:
    """Return everything that does not depend on the order of the rows."""
    record = found.to_dict()
    kept = ("measures", "directions", "coverage", "groups", "pairs", "calibration", "distributions")
    worst = [case["gap"] for case in record["worst_pairs"]]
    found_in_json: dict[str, Any] = json.loads(json.dumps({name: record[name] for name in kept} | {"worst": worst}))
    return found_in_json


def as_categories(people: pd.DataFrame) -> pd.DataFrame:
    texts = people.select_dtypes(exclude="number").columns
    return people.astype(dict.fromkeys(texts, "category"))


def as_floats(people: pd.DataFrame) -> pd.DataFrame:
    whole = [name for name in people.select_dtypes("integer").columns if name != "y"]
    return people.astype(dict.fromkeys(whole, np.float64))


FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "another order of columns": lambda people: people[people.columns[::-1]],
    "another index": lambda people: people.set_index(np.arange(len(people))[::-1]),
    "polars": pl.from_pandas,
    "Arrow": lambda people: pa.Table.from_pandas(people, preserve_index=False),
    "Arrow in pieces": lambda people: pa.concat_tables(
        pa.Table.from_pandas(people[start : start + 37], preserve_index=False) for start in range(0, len(people), 37)
    ),
    "categories": as_categories,
    "floats": as_floats,
}


@pytest.mark.long(2)
@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_a_frame_changes_nothing(
    planted: PlantedDataset, people: pd.DataFrame, expected: dict[str, Any], form: str
) -> None:
    assert numbers(ask(planted, FORMS[form](people))) == expected


@pytest.mark.long(2)
def test_little_memory_changes_nothing(planted: PlantedDataset, people: pd.DataFrame, expected: dict[str, Any]) -> None:
    assert numbers(ask(planted, people, memory_limit="1 MB")) == expected
