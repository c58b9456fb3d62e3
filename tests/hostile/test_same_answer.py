"""The same people asked the same question in another form: the same numbers, whatever the form and the door."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.cli.conftest import Run, run

from likewise import Roles, audit, load_dataset
from likewise.auditing import Audit
from likewise.comparable import write_pairs
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
    kept = ("measures", "by_label", "directions", "coverage", "groups", "pairs", "calibration", "distributions")
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


def test_written_pairs_give_the_numbers_of_those_that_are_searched_for(
    planted: PlantedDataset, people: pd.DataFrame, expected: dict[str, Any], tmp_path: Path
) -> None:
    table = roles_of(planted).learn(people).encode(people)
    write_pairs(table, planted.rule, tmp_path / "pairs")
    found = numbers(ask(planted, people, pairs=tmp_path / "pairs"))
    del found["pairs"], found["coverage"]  # they say where the pairs are from
    assert found == {name: expected[name] for name in found}


def test_the_order_of_the_people_changes_no_measure(
    planted: PlantedDataset, people: pd.DataFrame, expected: dict[str, Any]
) -> None:
    mixed = numbers(ask(planted, people.sample(frac=1.0, random_state=1)))
    for name, measure in expected["measures"].items():
        value = mixed["measures"][name]["value"]
        assert value == measure["value"] or value == pytest.approx(measure["value"], rel=1e-9, abs=1e-12), name
    assert mixed["pairs"] == expected["pairs"]
    assert mixed["worst"] == pytest.approx(expected["worst"])


def test_a_stream_of_pairs_has_the_sums_of_the_list(
    planted: PlantedDataset, people: pd.DataFrame, expected: dict[str, Any]
) -> None:
    found = numbers(ask(planted, people, max_pairs=expected["pairs"]["n"] // 2))
    assert found["pairs"]["n_total"] == expected["pairs"]["n_total"]
    for name in ("gap_mean", "rank_gap_mean", "flip_rate", "gap_max"):
        assert found["measures"][name]["value"] == pytest.approx(expected["measures"][name]["value"], rel=1e-9), name


FILES: dict[str, Callable[[pd.DataFrame, Path], list[Path]]] = {
    "CSV": lambda people, folder: [write(people, folder / "a.csv")],
    "gzip": lambda people, folder: [write(people, folder / "a.csv.gz")],
    "Parquet": lambda people, folder: [write(people, folder / "a.parquet")],
    "two files": lambda people, folder: [
        write(people[:100], folder / "a.parquet"),
        write(people[100:], folder / "b.parquet"),
    ],
}


def write(people: pd.DataFrame, path: Path) -> Path:
    people.to_parquet(path, index=False) if path.suffix == ".parquet" else people.to_csv(path, index=False)
    return path


@pytest.mark.long(2)
@pytest.mark.parametrize("kind", FILES)
def test_the_command_line_has_the_numbers_of_python(
    run: Run, planted: PlantedDataset, people: pd.DataFrame, expected: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    columns = ("--label", "y", "--sensitive", ",".join(planted.roles.sensitive), "--scores", "p")
    rule = planted.rule
    limits = ("--max-discrete-changes", rule.max_discrete_changes, "--max-continuous-shift", rule.max_continuous_shift)
    asked = (*columns, *limits, "--resamples", HOW["n_resamples"], "--json", "--quiet")
    outcome = run("audit", *FILES[kind](people, tmp_path), *asked)
    assert outcome.code == 0, outcome.stderr
    record = json.loads(outcome.stdout)
    for name in ("measures", "by_label", "coverage", "pairs"):
        assert record[name] == expected[name], name
