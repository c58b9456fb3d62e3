"""A data set is asked for by name and comes as the frame, and with the split, that was asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import narwhals as nw
import pytest
from tests.sizes import sized

from likewise.datasets import Dataset, PlantedDataset, list_datasets, load_dataset
from likewise.exceptions import MissingExtra

KINDS = ("pandas", "polars", "pyarrow")


@pytest.mark.long(2)
@pytest.mark.parametrize(
    ("name", "frame"),
    [*product(["planted"], KINDS), *product(["law_school"], sized(KINDS[1:2], KINDS))],
)
def test_every_kind_of_frame_holds_the_same_people(public: Callable[[str], Dataset], name: str, frame: Any) -> None:
    expected = load_dataset("planted") if name == "planted" else public(name)
    dataset = load_dataset(name, frame=frame)
    for split, other in [(dataset.train, expected.train), (dataset.test, expected.test)]:
        people = nw.from_native(split.X, eager_only=True)
        assert people.implementation.name.lower() == frame
        assert people.to_dict(as_series=False) == other.X.to_dict(orient="list")
        assert nw.from_native(split.y, series_only=True).to_list() == other.y.to_list()
        assert getattr(split.y, "name", None) in (None, dataset.roles.label)


def test_the_seed_draws_another_split_of_the_same_people(public: Callable[[str], Dataset]) -> None:
    first = public("compas")
    again, other = load_dataset("compas"), load_dataset("compas", split_seed=7)
    assert again.test.X.equals(first.test.X)
    assert not other.test.X.equals(first.test.X)
    assert (len(other.train), len(other.test)) == (len(first.train), len(first.test))
    assert other.checksum == first.checksum


def test_adult_keeps_its_own_split_and_its_order(public: Callable[[str], Dataset]) -> None:
    assert load_dataset("adult", split_seed=3).train.X.equals(public("adult").train.X)
    assert public("adult").train.X["age"].head(3).tolist() == [39, 50, 38]
    assert public("adult").test.X["age"].head(3).tolist() == [25, 38, 28]


def test_a_name_misspelt_is_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"name is 'adlut'; choose one of adult, .*planted\. Did you mean 'adult'\?"):
        load_dataset("adlut")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"frame": "spark"}, "frame is 'spark'; choose one of 'pandas', 'polars', 'pyarrow'"),
        ({"split_seed": -1}, "split_seed is -1; give a whole number"),
        ({"split_seed": None}, "split_seed is None; use an integer"),
        ({"split_seed": 2**32}, "split_seed is 4294967296; use an integer from 0 to 4,294,967,295"),
        ({"n_rows": 2.5}, "n_rows is 2.5; give a whole number"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        load_dataset("planted", **arguments)


def test_only_the_planted_data_set_has_as_many_rows_as_wanted() -> None:
    with pytest.raises(ValueError, match="n_rows is 100, but 'adult' has a fixed size"):
        load_dataset("adult", n_rows=100)


def test_a_dataframe_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtra, match="A polars frame needs the package polars"):
        load_dataset("planted", frame="polars")


@pytest.mark.usefixtures("bare")
def test_the_planted_data_set_needs_neither_network_nor_files() -> None:
    dataset = load_dataset("planted", download=False)
    assert isinstance(dataset, PlantedDataset)
    assert dataset.source == "made"
    assert [record.is_local for record in list_datasets()] == [False] * 5 + [True]


def test_what_a_data_set_shows_of_itself_is_short_and_names_no_path() -> None:
    dataset = load_dataset("planted")
    assert repr(dataset) == "PlantedDataset('planted', 1,500 training rows, 500 test rows, source='made')"
    assert repr(dataset.train) == "PlantedSplit(1,500 rows, 11 columns)"
    assert repr(dataset.train.pairs) == f"PlantedPairs({len(dataset.train.pairs):,} pairs)"


def test_the_list_agrees_with_what_is_loaded(public: Callable[[str], Dataset]) -> None:
    for record in list_datasets():
        if not record.is_local:
            continue
        dataset = load_dataset("planted") if record.name == "planted" else public(record.name)
        assert record.sensitive == dataset.roles.sensitive
        assert record.label == dataset.roles.label
        assert (record.label_meaning, record.licence, record.citation) == (
            dataset.label_meaning,
            dataset.licence,
            dataset.citation,
        )
        if record.name != "dutch":  # its repeated test rows are dropped
            assert record.n_rows == len(dataset.train) + len(dataset.test)
