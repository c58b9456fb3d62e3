"""Options name columns in a list or by repetition, whatever the columns are called."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.cli._columns import ColumnNames, ColumnValues, read_bins, read_order
from likewise.exceptions import SchemaError

NAMES = ColumnNames(("race", "sex", "age", "last, first", "a=b"), "people.csv")


@pytest.mark.parametrize("given_texts", [["race,sex"], ["race", "sex"], ["race, sex"], ["race,sex,", "race"]])
def test_commas_and_repetition_mean_the_same(given_texts: list[str]) -> None:
    assert NAMES.find_all("--sensitive", given_texts) == ("race", "sex")


def test_a_name_with_a_comma_stands_alone() -> None:
    assert NAMES.find_all("--sensitive", ["last, first", "race,sex"]) == ("last, first", "race", "sex")


@example(known=[","])
@given(st.lists(st.text(min_size=1).filter(lambda name: name == name.strip()), min_size=1, unique=True))
@settings(max_examples=sized(12, 50), deadline=None)
def test_repeating_the_option_reaches_every_column(known: list[str]) -> None:
    names = ColumnNames(tuple(known), "people.csv")
    assert names.find_all("--sensitive", known) == tuple(known)
    assert names.values("--bins", [f"{name}=7" for name in known]).by_column == dict.fromkeys(known, "7")


@pytest.mark.parametrize(("wrong", "right"), [("rcae", "race"), ("SEX", "sex"), (" Age", "age")])
def test_an_unknown_column_brings_the_nearest_name(wrong: str, right: str) -> None:
    with pytest.raises(SchemaError, match=rf"--label .*'people.csv' does not have. Did you mean '{right}'\?"):
        NAMES.find("--label", wrong)


def test_columns_that_differ_in_case_only_are_both_named() -> None:
    with pytest.raises(SchemaError, match=r"Did you mean 'Sex' or 'sex'\?"):
        ColumnNames(("Sex", "sex"), "people.csv").find("--label", "SEX")


def test_without_a_near_name_the_columns_are_listed() -> None:
    with pytest.raises(SchemaError, match="Its columns are 'race', 'sex'"):
        NAMES.find("--label", "outcome")


def test_settings_are_for_all_or_by_column_and_may_hold_commas() -> None:
    assert NAMES.values("--x", ["age=25,45,65,race=3", "a=b=4"], commas=True) == ColumnValues(
        None, {"age": "25,45,65", "race": "3", "a=b": "4"}
    )
    assert NAMES.values("--x", ["age=40,"], commas=True) == ColumnValues(None, {"age": "40,"})
    assert NAMES.values("--x", ["0.1,age=0.2", "race=0.3,0.5"]) == ColumnValues("0.5", {"age": "0.2", "race": "0.3"})
    assert NAMES.values("--x", None) == ColumnValues(None, {})
    with pytest.raises(SchemaError, match="Did you mean 'race'"):
        NAMES.values("--x", ["age=4,rcae=3"])


def test_bins_are_a_number_of_groups_or_places_to_cut() -> None:
    assert read_bins("--bins", "age", "4") == 4
    assert read_bins("--bins", "age", "25,45.5") == (25.0, 45.5)
    assert read_bins("--bins", "age", "40,") == (40.0,)
    with pytest.raises(SchemaError, match="--bins age=old"):
        read_bins("--bins", "age", "old")


def test_an_order_lists_each_category_once() -> None:
    assert read_order("--ordinal", "size", "S < M<L") == ("S", "M", "L")
    for text in ("S", "S<S", "S<<L", ""):
        with pytest.raises(SchemaError, match="gives no order"):
            read_order("--ordinal", "size", text)
