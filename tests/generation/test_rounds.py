"""Which sensitive values are asked for: those that occurred, and that the rule calls different."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from likewise import CodedTable, Comparability, Roles
from likewise.exceptions import GenerationError, RuleError
from likewise.generation import UniformGenerator
from likewise.generation._rounds import learn_targets

ANY, ALL = Comparability(), Comparability(sensitive_differs="all")


def test_combinations_are_those_that_occurred() -> None:
    targets = learn_targets(CodedTable(sensitive=[[1, 0], [0, 2], [1, 0]]), ANY)
    assert targets.combinations.tolist() == [[0, 2], [1, 0]]
    assert targets.counts.tolist() == [1, 2]


def test_each_row_is_asked_to_become_every_other_combination_in_order() -> None:
    table = CodedTable(sensitive=[[0, 0], [0, 1], [1, 1]])
    rows, wanted = learn_targets(table, ANY).ask(table, ANY)
    assert rows.tolist() == [0, 0, 1, 1, 2, 2]
    assert wanted.tolist() == [[0, 1], [1, 1], [0, 0], [1, 1], [0, 0], [0, 1]]
    rows, wanted = learn_targets(table, ALL).ask(table, ALL)
    assert rows.tolist() == [0, 2]
    assert wanted.tolist() == [[1, 1], [0, 0]]


def test_a_person_of_an_unseen_value_may_become_any() -> None:
    targets = learn_targets(CodedTable(sensitive=[[0], [1]]), ANY)
    rows, wanted = targets.ask(CodedTable(sensitive=[[2]]), ANY)
    assert rows.tolist() == [0, 0]
    assert wanted.tolist() == [[0], [1]]


@pytest.mark.parametrize(
    ("people", "rule", "message"),
    [
        ({"sex": ["f", "f"]}, ANY, "Column 'sex' has one value only, 'f', so antidotes cannot have another"),
        ({"sex": [None, None]}, ANY, "Column 'sex' has one value only, missing"),
        ({"sex": ["f", "f"], "race": ["a", "b"]}, ALL, "Column 'sex' has one value only"),
        ({"sex": ["f", "f"], "race": ["a", "a"]}, ANY, "All rows have the same sensitive values"),
        (
            {"sex": list("ffmm"), "race": list("abab"), "class": list("xyyx")},
            ALL,
            "No two rows differ in all of 'sex', 'race', 'class'",
        ),
        ({"sex": ["f", "m"]}, Comparability(sensitive_differs="none"), "this rule does not allow that"),
    ],
)
def test_nothing_to_ask_for_is_said(people: dict[str, Any], rule: Comparability, message: str) -> None:
    X = pa.table({name: pa.array(values, pa.string()) for name, values in people.items()})
    with pytest.raises(GenerationError, match=message):
        UniformGenerator(Roles(sensitive=list(people)), rule).fit(X, [0, 1] * (len(X) // 2))


def test_one_constant_column_of_several_is_no_hindrance() -> None:
    X = pa.table({"sex": ["f", "f"], "race": ["a", "b"]})
    antidotes = UniformGenerator(Roles(sensitive=["sex", "race"]), random_state=0).fit(X, [0, 1]).generate(X, [0, 1])
    assert antidotes.frame.to_pydict() == {"sex": ["f", "f"], "race": ["b", "a"]}


def test_no_sensitive_column_is_said() -> None:
    with pytest.raises(RuleError, match="Name a sensitive column"):
        UniformGenerator(Roles(discrete="sex")).fit(pa.table({"sex": ["f", "m"]}), [0, 1])
    with pytest.raises(GenerationError, match="There is no sensitive column to change"):
        learn_targets(CodedTable(discrete=np.zeros((2, 1), int)), ANY)
