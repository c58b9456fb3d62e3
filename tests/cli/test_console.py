"""Foreign values cannot upset a terminal or a JSON reader."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise._format import one_line
from likewise._json import plain
from likewise.cli._console import share, shown


@given(st.text())
def test_a_message_is_one_printable_line(text: str) -> None:
    assert one_line(text).isprintable()


@given(st.text() | st.floats() | st.integers() | st.none(), st.integers(4, 30))
def test_a_shown_value_fits(value: object, width: int) -> None:
    text = shown(value, max(width, 24))
    assert len(text) <= max(width, 24)
    assert text.isprintable()


def test_names_that_end_differently_stay_different() -> None:
    assert shown("answer_to_question_1", 12) != shown("answer_to_question_2", 12)
    assert shown("answer_to_question_1", 12) == "answer…ion_1"


def test_a_share_is_nothing_or_all_only_when_it_is() -> None:
    assert [share(*parts) for parts in ((0, 9), (1, 999), (998, 999), (9, 9), (1, 2), (0, 0))] == [
        "0%",
        "<1%",
        ">99%",
        "100%",
        "50%",
        "-",
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int64(3), 3),
        (float("nan"), None),
        (float("inf"), "inf"),
        (datetime.date(2020, 1, 2), "2020-01-02"),
        ({1: (True, None)}, {"1": [True, None]}),
    ],
)
def test_plain_values_are_strict_json(value: object, expected: object) -> None:
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == expected
