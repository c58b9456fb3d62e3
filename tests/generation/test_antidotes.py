"""What antidotes tell of themselves, and how they join the rows they were made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from likewise.exceptions import GenerationError, SchemaError
from likewise.generation import Antidotes
from likewise.generation._internal import BaseGenerator

if TYPE_CHECKING:
    from tests.generation.conftest import Make


@pytest.fixture(scope="module")
def generator(people: pa.Table, make: Make) -> BaseGenerator:
    return make("UniformGenerator").fit(people)


@pytest.fixture(scope="module")
def antidotes(generator: BaseGenerator, people: pa.Table) -> Antidotes:
    return generator.generate(people, ratio=0.4)


def test_numbers_agree_with_each_other(antidotes: Antidotes) -> None:
    summary = antidotes.summary()
    assert len(antidotes) == summary["n_antidotes"] == 60
    assert antidotes.ratio == summary["ratio"] == 60 / 150
    assert antidotes.coverage == len(set(antidotes.source.tolist())) / 150
    assert antidotes.kept == 60 / 750
    assert repr(antidotes) == f"<Antidotes: 60 for {len(set(antidotes.source.tolist()))} of 150 rows>"


def test_changed_tells_where_the_frames_differ(antidotes: Antidotes, people: pa.Table) -> None:
    own = people.take(antidotes.source)
    for name, differs in antidotes.changed.items():
        before, after = own.column(name).to_pylist(), antidotes.frame.column(name).to_pylist()
        if name != "age":  # of which the groups are compared
            assert differs.tolist() == [one != other for one, other in zip(before, after, strict=True)]
    assert set(antidotes.changed) == set(people.column_names) - {"note", "hired"}
    shares = antidotes.summary()["changed"]
    assert shares["team"] == 0
    assert shares["sex"] == antidotes.changed["sex"].mean()


def test_a_summary_of_nothing(generator: BaseGenerator, people: pa.Table) -> None:
    nothing = generator.generate(people.slice(0, 0))
    assert nothing.summary() == {
        "n_antidotes": 0,
        "n_sources": 0,
        "ratio": 0.0,
        "coverage": 0.0,
        "n_raw": 0,
        "kept": 0.0,
        "changed": {},
    }


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, pa.array, pa.chunked_array])
def test_antidotes_go_below_their_sources(antidotes: Antidotes, people: pa.Table, kind: type) -> None:
    labels = people.column("hired").to_pylist()
    X, y = antidotes.append_to(people, kind([labels]) if kind is pa.chunked_array else kind(labels))
    assert X.slice(0, 150).equals(people)
    assert X.slice(150).equals(antidotes.frame)
    assert y.tolist() == labels + antidotes.y.tolist() == X.column("hired").to_pylist()


def test_labels_keep_their_type(generator: BaseGenerator, people: pa.Table) -> None:
    labels = np.arange(150) % 2
    for y in (labels.astype(np.int8), labels.astype(bool), labels.astype(float)):
        _, joined = generator.generate(people, y).append_to(people, y)
        assert joined.dtype == y.dtype
        assert set(joined.tolist()) == {0, 1}


def test_rows_they_were_not_made_of_are_refused(antidotes: Antidotes, people: pa.Table) -> None:
    with pytest.raises(GenerationError, match=r"come from 150 rows; X has 9, and y 9\. Give the rows"):
        antidotes.append_to(people.slice(0, 9))
    with pytest.raises(GenerationError, match="X has 150, and y 2"):
        antidotes.append_to(people, [0, 1])
    with pytest.raises(GenerationError, match="Give the labels as y"):
        antidotes.append_to(people.drop_columns("hired"))
    with pytest.raises(SchemaError, match="Use two frames of one kind"):
        antidotes.append_to(people.to_pandas())


def test_antidotes_of_one_person_stand_together_in_the_order_they_were_made(
    generator: BaseGenerator, people: pa.Table
) -> None:
    antidotes = generator.generate(people, rounds=3)
    assert (np.diff(antidotes.source) >= 0).all()
    same = np.diff(antidotes.source) == 0
    assert (np.diff(antidotes.round)[same] >= 0).all()
