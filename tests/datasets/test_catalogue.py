"""Each public data set has the rows, columns, splits and comparable pairs it is known to have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from likewise import count_pairs
from likewise.datasets import Dataset, Split
from likewise.datasets._catalogue import RECIPES

Load = Callable[[str], Dataset]


@dataclass
class Known:
    n_train: int
    n_test: int
    width: int
    train_pairs: dict[int, int]
    test_pairs: dict[int, int]


# the width of COMPAS depends on which charges the training rows have; the published 354 is that of another split
KNOWN = {
    "adult": Known(30_162, 15_060, 103, {1: 739, 0: 38_826}, {1: 193, 0: 10_412}),
    "compas": Known(4_626, 1_541, 359, {1: 23_955, 0: 8_315}, {1: 2_698, 0: 953}),
    "law_school": Known(15_598, 5_200, 23, {1: 13_878, 0: 1_034}, {1: 1_455, 0: 153}),
    "oulad": Known(16_177, 5_385, 48, {1: 34_029, 0: 5_803}, {1: 3_639, 0: 599}),
    "dutch": Known(45_315, 6_560, 61, {1: 1_449_042, 0: 1_299_338}, {1: 6_503, 0: 9_663}),
}
each_public = pytest.mark.parametrize("name", list(KNOWN))


def pairs_by_label(dataset: Dataset, split: Split) -> dict[int, int]:
    table = dataset.roles.learn(dataset.train.X).encode(split.X, split.y)
    return count_pairs(table, dataset.rule).by_label


@pytest.mark.long(2)
@each_public
def test_the_comparable_pairs_are_the_known_ones(public: Load, name: str) -> None:
    dataset = public(name)
    assert pairs_by_label(dataset, dataset.train) == KNOWN[name].train_pairs
    assert pairs_by_label(dataset, dataset.test) == KNOWN[name].test_pairs


def test_the_pairs_of_compas_that_differ_in_race_and_sex_are_the_known_ones(public: Load) -> None:
    dataset = public("compas")
    both = replace(dataset, rule=replace(dataset.rule, sensitive_differs="all"))
    assert pairs_by_label(both, both.train) == {1: 7_280, 0: 1_780}
    assert pairs_by_label(both, both.test) == {1: 801, 0: 225}


@each_public
def test_rows_and_width_are_the_known_ones(public: Load, name: str) -> None:
    dataset = public(name)
    assert (len(dataset.train), len(dataset.test)) == (KNOWN[name].n_train, KNOWN[name].n_test)
    categorical = dataset.train.X[[*dataset.roles.sensitive, *dataset.roles.discrete]]
    assert categorical.nunique().sum() + len(dataset.roles.continuous) == KNOWN[name].width


@each_public
def test_every_column_has_one_role_and_nothing_is_missing(public: Load, name: str) -> None:
    dataset = public(name)
    roles = dataset.roles
    for split in (dataset.train, dataset.test):
        assert sorted(split.X.columns) == sorted([*roles.sensitive, *roles.discrete, *roles.continuous])
        assert not split.X.isna().any(axis=None)
        assert split.X.index.equals(split.y.index)
        assert split.y.name == roles.label
        assert set(np.unique(split.y)) == {0, 1}
    assert all(dataset.train.X[column].dtype.kind in "if" for column in roles.continuous)


@each_public
def test_it_says_whom_to_cite_and_on_what_terms(public: Load, name: str) -> None:
    dataset = public(name)
    assert dataset.citation
    assert dataset.licence
    assert dataset.label_meaning
    assert dataset.checksum == RECIPES[name].checksum
    assert dataset.source in ("folder", "cache")


def test_whole_numbers_that_stand_for_categories_stay_numbers(public: Load) -> None:
    assert public("dutch").train.X["age"].dtype.kind == "i"
    assert public("law_school").train.X["tier"].dtype.kind == "i"
    assert "age" in public("dutch").roles.discrete


def test_test_rows_of_dutch_are_distinct(public: Load) -> None:
    assert not public("dutch").test.X.duplicated().any()


def test_names_and_birth_dates_of_compas_are_not_kept(public: Load) -> None:
    personal = {"id", "name", "first", "last", "dob", "c_case_number"}
    recipe = RECIPES["compas"]
    assert personal.isdisjoint({*recipe.columns, *recipe.read_to_keep, recipe.label_column})
    assert personal.isdisjoint(public("compas").train.X.columns)
