"""The rule by which a row is as published, better or worse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper._published import Numbers
from paper._verdicts import GAPS, RANK_GAPS, UTILITIES, departures, judge, shortfalls

FOUR = (*UTILITIES, *GAPS)
PUBLISHED = {"roc_auc": 88.0, "average_precision": 70.0, "gap_mean[1]": 20.0, "gap_mean[0]": 4.0}
# two digits, as printed
percents = st.integers(0, 10_000).map(lambda number: number / 100)
rows = st.fixed_dictionaries(dict.fromkeys(FOUR, percents))


def changed(**by: float) -> dict[str, float | None]:
    return {name: number + by.get(name, 0.0) for name, number in PUBLISHED.items()}


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ({}, "as published"),
        ({"roc_auc": -1.0, "average_precision": -1.0}, "as published"),
        ({"roc_auc": -1.01}, "worse: ROC -1.01"),
        ({"roc_auc": -1.004}, "worse: ROC -1.004"),  # more than one, and seen to be
        ({"average_precision": -2.5, "roc_auc": 5.0}, "worse: AP -2.50"),
        ({"gap_mean[1]": 3.0}, "as published"),  # 15 % of 20
        ({"gap_mean[1]": 3.01}, "worse: positive gap +3.01"),
        ({"gap_mean[0]": 1.0}, "as published"),  # 15 % of 4 is less than a point
        ({"gap_mean[0]": 1.01, "roc_auc": -1.5}, "worse: ROC -1.50, negative gap +1.01"),
        ({"gap_mean[1]": -3.01}, "better"),
        ({"gap_mean[1]": -3.0}, "as published"),
        ({"gap_mean[1]": -9.0, "roc_auc": -0.01}, "as published"),  # a little was paid for it
        ({"average_precision": 1.01}, "better"),
    ],
)
def test_judgements_in_words(by: dict[str, float], words: str) -> None:
    assert str(judge(changed(**by), PUBLISHED)) == words


@given(rows, rows, st.floats(0.0, 3.0))
def test_a_row_departs_where_it_is_beyond_two_deviations_on_either_side(
    ours: Numbers, published: Numbers, spread: float
) -> None:
    splits = {name: [number - spread, number, number + spread] for name, number in ours.items()}
    allowed = max(2 * spread * (4 / 3) ** 0.5, 0.5)
    found = departures(splits, published)
    assert len(found) == sum(abs(ours[name] - published[name]) > allowed + 1e-6 for name in FOUR)
    mirrored = {name: [2 * published[name] - value for value in values] for name, values in splits.items()}
    assert len(departures(mirrored, published)) == len(found)


@pytest.mark.parametrize("absent", [None, float("nan")])
def test_a_number_that_was_not_measured_is_no_success(absent: float | None) -> None:
    assert str(judge({**PUBLISHED, "roc_auc": absent}, PUBLISHED)) == "worse: no ROC"
    assert not judge({}, PUBLISHED).holds
    assert not judge(PUBLISHED, {}).holds
    assert departures({name: [number] for name, number in PUBLISHED.items() if name != "roc_auc"}, PUBLISHED) == (
        "no ROC",
    )


def test_shortfalls_say_what_and_by_how_much() -> None:
    ours = changed(**{"roc_auc": -0.5, "gap_mean[1]": -9.0, "gap_mean[0]": -2.0}) | dict.fromkeys(RANK_GAPS, 6.0)
    found = shortfalls(ours, PUBLISHED, dict.fromkeys(RANK_GAPS, 10.0))
    assert found == {"ROC": 0.5, "positive gap": 1.0, "positive rank gap": 1.0, "negative rank gap": 1.0}
