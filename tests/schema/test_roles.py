"""Roles are checked when they are written, are plain data, and say why they are what they are."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from likewise.exceptions import SchemaError
from likewise.schema import Roles


def test_one_name_is_as_good_as_a_sequence() -> None:
    assert Roles(sensitive="sex", discrete=["job"]) == Roles(sensitive=("sex",), discrete=("job",))
    assert Roles(sensitive="sex").sensitive == ("sex",)
    assert Roles(sensitive=None).sensitive == ()


def test_equal_roles_hash_alike_whatever_the_reasons() -> None:
    first = Roles(sensitive="sex", ordinal={"size": ["S", "M"]}, reasons={"sex": "because"})
    second = Roles(sensitive="sex", ordinal={"size": ("S", "M")})
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"sensitive": "sex", "discrete": ["job", "sex"]},
            r"^Column 'sex' has two roles, 'sensitive' and 'discrete'\. Give each column one role\.$",
        ),
        ({"sensitive": "sex", "label": "sex"}, "two roles, 'sensitive' and 'label'"),
        ({"continuous": "age", "ordinal": {"age": [1, 2]}}, "two roles, 'continuous' and 'ordinal'"),
        ({"discrete": ["job", "job"]}, r"^Column 'job' is listed twice in 'discrete'"),
        ({"discrete": [3]}, "'discrete' holds 3, which is not a column name"),
        ({"discrete": 3}, "'discrete' is 3"),
        ({"label": ""}, "'label' is ''"),
        ({"continuous": "age", "bins": {"age": 4}}, "Column 'age' has bins but is not sensitive"),
        ({"sensitive": "age", "bins": {"age": 1}}, r"The bins of 'age' are 1\. Use a number of intervals, 2 or more"),
        ({"sensitive": "age", "bins": {"age": True}}, "The bins of 'age' are True"),
        ({"sensitive": "age", "bins": {"age": [40, 20]}}, r"The bins of 'age' are \[40, 20\]"),
        ({"sensitive": "age", "bins": {"age": [20, float("nan")]}}, "The bins of 'age'"),
        ({"sensitive": "age", "bins": {"age": []}}, "The bins of 'age'"),
        ({"sensitive": "age", "bins": {"age": "4"}}, "The bins of 'age'"),
        ({"sensitive": "age", "bins": ["age"]}, "'bins' is "),
        ({"missing": "drop"}, "is 'drop'; choose 'refuse', 'median' or 'apart'"),
        ({"continuous": "age", "missing": {"age": "mean"}}, "for 'age' is 'mean'"),
        ({"discrete": "job", "missing": {"job": "apart"}}, "'job' has a policy on missing values but is neither"),
        ({"ordinal": ["size"]}, "'ordinal' is "),
        ({"ordinal": {"size": "SML"}}, "The order of 'size' is 'SML'"),
        ({"ordinal": {"size": ["S", "S"]}}, "each once"),
        ({"ordinal": {"size": ["S", None]}}, "without missing values"),
        ({"ordinal": {"size": []}}, "The order of 'size'"),
    ],
)
def test_nonsense_is_refused_in_a_sentence(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Roles(**arguments)


def test_roles_are_json() -> None:
    roles = Roles(
        sensitive=("sex", "age"),
        continuous="pay",
        ordinal={
            "size": ["S", "M", "L"],
            "hired": [date(2020, 1, 1), date(2021, 1, 1)],
            "grade": list(np.array([1, 2])),
        },
        label="y",
        row_id="id",
        bins={"age": [25, 45.5]},
        missing={"pay": "apart"},
    )
    assert Roles.from_dict(json.loads(json.dumps(roles.to_dict()))) == roles


def test_unknown_keys_of_plain_data_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"Roles have no \['senstive'\]"):
        Roles.from_dict({"senstive": ["sex"]})


def test_each_column_knows_its_role() -> None:
    roles = Roles(sensitive="sex", ordinal={"size": ["S"]}, ignored="note", label="y", row_id="id")
    found = [roles.role_of(name) for name in ("sex", "size", "note", "y", "id", "other")]
    assert found == ["sensitive", "ordinal", "ignored", "label", "row_id", None]


def test_roles_can_be_copied_and_changed() -> None:
    roles = Roles(sensitive="sex", ordinal={"size": ["S", "M"]}, reasons={"size": "ordered"})
    assert copy.deepcopy(roles) == roles
    assert replace(roles, label="y").label == "y"
    assert replace(roles, label="y").reasons == roles.reasons


def test_a_set_of_names_has_one_order() -> None:
    names: Any = {f"column {i}" for i in range(20)}
    assert Roles(discrete=names).discrete == tuple(sorted(names))
