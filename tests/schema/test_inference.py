"""Inference gives every column the role a person would, and tells why."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from likewise.exceptions import SchemaError
from likewise.schema import Roles

N = 40
PEOPLE: dict[str, list[Any]] = {
    "sex": ["f", "m"] * 20,
    "job": ["cook", "smith", "judge", None] * 10,
    "veteran": [True, False] * 20,
    "children": [0, 1, 2, 3] * 10,
    "rooms": [1.0, 2.0, 3.0, None] * 10,
    "age": [20 + i % 30 for i in range(N)],
    "pay": [1000.5 + i for i in range(N)],
    "score": [0.5, 0.25] * 20,
    "born": [date(1970, 1, 1) + timedelta(days=i) for i in range(N)],
    "cohort": [date(2020, 1, 1), date(2021, 1, 1)] * 20,
    "name": [f"person {i}" for i in range(N)],
    "number": list(range(100, 100 + N)),
    "country": ["nl"] * N,
    "nothing": [None] * N,
    "big": [2**60 + 7 * i for i in range(N)],
    "y": [0, 1] * 20,
}


def test_every_column_gets_the_role_its_values_suggest(make: Callable[..., Any]) -> None:
    roles = Roles.infer(make(PEOPLE), label="y", sensitive="sex")
    assert roles == Roles(
        sensitive="sex",
        discrete=("job", "veteran", "children", "rooms", "cohort"),
        continuous=("age", "pay", "score", "born"),
        ignored=("name", "number", "country", "nothing", "big"),
        label="y",
    )


def test_the_reasons_can_be_read(make: Callable[..., Any], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "likewise"):
        told = Roles.infer(make(PEOPLE), label="y", sensitive="sex").describe()
    lines = {line.split()[1]: line for line in told.splitlines()}
    assert lines["sex"].split() == ["sensitive", "sex", "given"]
    assert lines["job"].endswith("text with 3 distinct values, 10 missing")
    assert lines["name"].endswith("text nearly unique to each row, with 40 distinct values")
    assert lines["country"].endswith("the same value in every row")
    assert set(lines) == set(PEOPLE)
    assert any(told in message for message in caplog.messages)


def test_what_a_person_says_counts_more(make: Callable[..., Any]) -> None:
    roles = Roles.infer(
        make(PEOPLE),
        label="y",
        sensitive=["sex", "age"],
        discrete="name",
        continuous="children",
        ordinal={"job": ["cook", "smith", "judge"]},
        matched="cohort",
        ignored=["pay", "rooms"],
        row_id="number",
        bins={"age": 3},
        missing={"score": "median", "job": "apart"},
    )
    assert roles.sensitive == ("sex", "age")
    assert {"name", "veteran"} == set(roles.discrete)
    assert roles.continuous == ("children", "score", "born")
    assert dict(roles.ordinal) == {"job": ("cook", "smith", "judge")}
    assert (roles.matched, roles.row_id, roles.missing_in("job")) == (("cohort",), "number", "apart")
    roles.learn(make(PEOPLE))


def test_inferred_roles_cover_the_frame(make: Callable[..., Any]) -> None:
    frame = make({name: values for name, values in PEOPLE.items() if name != "rooms"})
    assert len(Roles.infer(frame, label="y", sensitive="sex").learn(frame).encode(frame)) == N


def test_categorical_columns() -> None:
    frame = pd.DataFrame(
        {
            "plain": pd.Categorical(["a", "b", "a"]),
            "ordered": pd.Categorical(["lo", "hi", "lo"], categories=["lo", "mid", "hi"], ordered=True),
            "numbers": pd.Categorical([1, 2, 3]),
        }
    )
    roles = Roles.infer(frame)
    assert roles.discrete == ("plain", "numbers")
    assert dict(roles.ordinal) == {"ordered": ("lo", "mid", "hi")}


def test_an_enum_has_a_list_of_categories_and_no_order() -> None:
    frame = pl.DataFrame({"size": pl.Series(["S", "L", "S"], dtype=pl.Enum(["S", "M", "L"]))})
    assert Roles.infer(frame).discrete == ("size",)


def test_values_that_cannot_be_compared_are_ignored() -> None:
    roles = Roles.infer(pa.table({"sex": ["f", "m"], "tags": [["a"], ["b", "c"]]}), sensitive="sex")
    assert roles.ignored == ("tags",)
    assert "cannot be compared" in roles.describe()


def test_few_people_still_have_numbers(make: Callable[..., Any]) -> None:
    roles = Roles.infer(make({"age": [31, 45, 28], "children": [0, 2, 0], "name": ["a", "b", "c"]}))
    assert roles.continuous == ("age",)
    assert roles.discrete == ("children", "name")


def test_one_row_is_no_constant(make: Callable[..., Any]) -> None:
    assert Roles.infer(make({"job": ["cook"], "age": [30.5]})) == Roles(discrete="job", continuous="age")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": "incme"}, r"no column 'incme', which is the label\. Did you mean 'income'\?"),
        ({"ignored": "incme"}, r"no column 'incme', which is ignored\. Did you mean 'income'\?"),
        ({"sensitive": "sexe"}, r"no column 'sexe', which is sensitive\. Did you mean 'sex'\?"),
        ({"sensitive": "sex", "discrete": "sex"}, "two roles"),
        ({"missing": {"sex": "median"}}, "neither continuous nor ordinal"),
    ],
)
def test_mistakes_are_refused(make: Callable[..., Any], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Roles.infer(make({"sex": ["f", "m"], "income": [0, 1]}), **arguments)


def test_an_empty_frame_tells_nothing(make: Callable[..., Any]) -> None:
    with pytest.raises(SchemaError, match="no rows"):
        Roles.infer(make({"sex": []}))


def test_ignored_columns_need_not_be_there_later(make: Callable[..., Any]) -> None:
    schema = Roles.infer(make({"x": [1.5, 2.5], "note": ["a", "b"]}), ignored="note").learn(make({"x": [1.5, 2.5]}))
    assert len(schema.encode(make({"x": [1.5]}), [0])) == 1


def test_categories_that_hardly_tell_who_is_alike_are_told_of(make: Callable[..., Any]) -> None:
    n = 600
    days = [date(2024, 1, 1) + timedelta(days=7 * i % 300) for i in range(n)]
    people: dict[str, list[Any]] = {
        "applied": [str(day) for day in days],
        "seen": [f"{day}T08:30:00" for day in days],
        "town": [f"town {i % 60}" for i in range(n)],
        "job": [f"job {i % 30}" for i in range(n)],
        "nearly": ["2024-13-01", *(str(day) for day in days[1:])],
        "born": [str(date(1900, 1, 1) + timedelta(days=i)) for i in range(n)],
        "number": [n - i for i in range(n)],
        "age": [i % 60 for i in range(n)],
    }
    people["applied"][5] = None
    roles = Roles.infer(make(people), continuous=["number", "age"])
    assert roles.discrete == ("applied", "seen", "town", "job", "nearly")
    assert roles.ignored == ("born",)
    dates, few = "; they read as dates: convert them to compare by distance", "; few people share one: ignore it?"
    assert dict(roles.reasons) == {
        "applied": f"text with 300 distinct values, 1 missing{dates}",
        "seen": f"text with 300 distinct values{dates}",
        "town": f"text with 60 distinct values{few}",
        "job": "text with 30 distinct values",
        "nearly": f"text with 301 distinct values{few}",
        "born": f"text nearly unique to each row, with 600 distinct values{dates}",
        "number": "given, though it numbers the rows",
    }


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("code", np.random.default_rng(0).choice(100_000, 7_000, replace=False), "ignored"),  # some would repeat
        ("customer_id", np.random.default_rng(1).choice(10**9, 30, replace=False), "ignored"),
        ("customerId", np.random.default_rng(1).choice(10**9, 30, replace=False), "ignored"),
        ("paid", np.random.default_rng(2).choice(10**9, 30, replace=False), "continuous"),
        ("customer_id", np.repeat(np.arange(15), 2) * 7, "continuous"),  # an id of something else than the row
        ("income", np.random.default_rng(3).integers(0, 10**5, 10_000), "continuous"),
        ("id", np.arange(5) ** 2, "continuous"),  # too few to tell
    ],
)
def test_identifiers_of_rows_are_not_compared(name: str, values: Any, role: str) -> None:
    roles = Roles.infer(pa.table({name: values}))
    assert roles.role_of(name) == role
    if role == "ignored":
        assert roles.reasons[name].startswith("integers that identify the rows, with ")


def test_integers_that_all_differ_are_told_of() -> None:
    roles = Roles.infer(pa.table({"paid": np.random.default_rng(2).choice(10**9, 30, replace=False)}))
    assert roles.reasons["paid"] == (
        "integers with 30 distinct values, one for each row: ignore it, if it is an identifier"
    )


def test_numbered_columns_of_one_name_have_one_role() -> None:
    random = np.random.default_rng(0)
    columns = {
        "PAY_0": random.integers(-2, 9, 500),
        "PAY_2": random.integers(-2, 8, 500),
        "PAY_6": random.integers(-2, 7, 500),
        "X1": random.integers(0, 50, 500),
        "X2": random.integers(0, 2, 500),  # yes or no
        "X3": random.integers(100, 105, 500),  # other numbers altogether
        "Y1": random.integers(0, 5, 500),
        "Y2": random.integers(0, 7, 500),
    }
    roles = Roles.infer(pa.table(columns))
    assert roles.continuous == ("PAY_0", "PAY_2", "PAY_6", "X1")
    assert roles.discrete == ("X2", "X3", "Y1", "Y2")
    assert roles.reasons["PAY_6"] == "integers with 9 distinct values; continuous like 'PAY_0'"


@pytest.mark.parametrize("odd", ["?", "None", "-", "unknown", " ", "$6.0", "1.234,56", "12%", "\u0661\u0662", "inf"])
@pytest.mark.parametrize("n_odd", [1, 10])
def test_numbers_with_some_odd_cells_are_refused_until_their_role_is_said(odd: str, n_odd: int) -> None:
    cells = [*(str(i % 40 / 2) for i in range(100 - n_odd)), *[odd] * n_odd]
    frame = pa.table({"age": [*cells, None], "job": ["a", "b", *["c"] * 99]})
    with pytest.raises(SchemaError, match=r"Column 'age'.*row \d+.*text='age'") as refused:
        Roles.infer(frame)
    assert repr(odd) in str(refused.value)
    assert Roles.infer(frame, text="age").role_of("age") == "discrete"
    assert Roles.infer(frame, discrete="age").role_of("age") == "discrete"
    with pytest.raises(SchemaError, match="Continuous column 'age'"):
        Roles.infer(frame, continuous="age").learn(frame)


def test_text_that_is_no_column_of_numbers_is_not_refused() -> None:
    many_words = [*(str(i % 9) for i in range(89)), *["x"] * 11]
    codes = ["01234", *(str(10_000 + i % 9) for i in range(98)), "K1A"]
    frame = pa.table({"mixed": many_words, "postcode": codes, "digits": [str(i % 9) for i in range(100)]})
    assert Roles.infer(frame).discrete == ("mixed", "postcode", "digits")


def test_people_with_a_missing_number_are_compared_with_each_other_only() -> None:
    frame = pa.table({"sex": ["f", "m"] * 6, "pay": [1.5, 2.5, None] * 4, "rate": [0.5, 1.5, 2.5] * 4})
    roles = Roles.infer(frame, sensitive="sex", continuous=["pay", "rate"])
    assert roles.missing == {"pay": "apart"}
    assert "pay   given; missing is comparable with missing only" in roles.describe()
    with pytest.raises(SchemaError, match="'pay' has 4 missing values"):
        Roles.infer(frame, sensitive="sex", continuous=["pay", "rate"], missing="refuse").learn(frame)
