"""A series of audits is worse where a main measure of the last is worse beyond the interval of the difference."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.records import make_pair, make_record

from likewise.auditing import AuditSeries, compare_series
from likewise.exceptions import ParameterError, ScoreError
from likewise.record import AuditRecord
from likewise.report import series_to_html


def record_with(value: float, half: float | None = 0.01, **others: Any) -> dict[str, Any]:
    """Give a record with a mean gap, and the half width of its interval."""
    ends = (None, None) if half is None else (value - half, value + half)
    found = make_record()
    found["measures"]["gap_mean"] = {"value": value, "low": ends[0], "high": ends[1], "n": 200}
    return found | others


@given(st.floats(0.1, 0.9), st.floats(0.1, 0.9), st.floats(0.001, 0.1), st.floats(0.001, 0.1))
def test_the_interval_of_a_difference_is_that_of_two_independent_means(
    old: float, new: float, wide: float, wider: float
) -> None:
    series = compare_series([record_with(old, wide), record_with(new, wider)])
    difference = series.changes["gap_mean"].difference
    reach = (wide**2 + wider**2) ** 0.5
    assert difference.value == pytest.approx(new - old)
    assert (difference.low, difference.high) == pytest.approx((new - old - reach, new - old + reach))
    assert (series.outcome == "worse") == (difference.low is not None and difference.low > 0)


@pytest.mark.parametrize(
    ("values", "outcome", "code"),
    [
        ((0.1, 0.3), "worse", 1),
        ((0.3, 0.1), "no worse", 0),
        ((0.1, 0.105), "no worse", 0),
        ((0.1, 0.5, 0.1), "no worse", 0),
    ],
)
def test_the_last_is_compared_with_the_first(values: tuple[float, ...], outcome: str, code: int) -> None:
    series = compare_series([record_with(value) for value in values])
    assert (series.outcome, series.exit_code) == (outcome, code)
    assert [one.measures["gap_mean"].value for one in series.points] == list(values)
    assert series.to_dict()["outcome"] == outcome


ROLES = make_record()["roles"]


@pytest.mark.parametrize(
    ("others", "named"),
    [
        ({"rule": {"max_discrete_changes": 7}}, "rule"),
        ({"task": "regression"}, "task"),
        ({"favours_low": True}, "favourable outcome"),
        ({"scale": 3.0}, "scale"),
        ({"roles": ROLES | {"sensitive": ["race"]}}, "sensitive columns"),
        ({"roles": ROLES | {"discrete": [*ROLES["discrete"], "town"]}}, "compared columns"),
        ({"roles": ROLES | {"label": "rehired"}}, "label column"),
        ({"settings": make_record()["settings"] | {"reference": {"sex": ["m"]}}}, "reference"),
    ],
)
def test_audits_that_differ_in_what_they_ask_are_inconclusive(others: dict[str, Any], named: str) -> None:
    for values in ((0.1, 0.5), (0.5, 0.1)):
        first, last = record_with(values[0]), record_with(values[1], **others)
        for records in ([first, last], [first, last, first]):
            series = compare_series(records)
            assert (series.outcome, series.exit_code, series.conclusions) == ("inconclusive", 3, ())
            assert any(f"differ in their {named}:" in note.text for note in series.notes)
            assert "Better" not in series_to_html(series)


def test_the_newest_is_not_taken_for_the_oldest() -> None:
    days = [f"2026-0{month}-01T00:00:00Z" for month in (1, 2, 3)]
    records = [record_with(0.1, made_at=day) for day in days]
    assert compare_series(records).points[0].made_at == days[0]
    with pytest.raises(
        ScoreError, match=r"not oldest first: 3 was made at 2026-03-01T00:00:00Z.* Give them as 1, 2, 3"
    ):
        compare_series(records[::-1], ["3", "2", "1"])
    assert compare_series(records[::-1], as_given=True).points[0].made_at == days[2]


@pytest.mark.parametrize("n", [0, 12, 29])
def test_too_few_pairs_conclude_nothing(n: int) -> None:
    first, last = record_with(0.1), record_with(0.5)
    for one in (first, last):
        one["measures"]["gap_mean"]["n"] = n
    series = compare_series([first, last])
    assert (series.outcome, series.exit_code) == ("inconclusive", 3)
    told = next(str(one) for one in series.conclusions if "the mean gap rose" in str(one))
    assert told.startswith("No clear change: ")
    assert "too few" in told


def test_without_intervals_nothing_is_concluded() -> None:
    assert compare_series([record_with(0.1, None), record_with(0.5)]).exit_code == 3


def test_new_and_resolved_pairs_are_told_by_row_identifier() -> None:
    turned = make_pair(2) | {"left_id": "p-17", "right_id": 2}
    series = compare_series(
        [
            record_with(0.1, worst_pairs=[make_pair(1), make_pair(2)]),
            record_with(0.1, worst_pairs=[turned, make_pair(3), make_pair(4) | {"gap": 0.0}]),
        ]
    )
    assert series.new_pairs is not None
    assert series.resolved_pairs is not None
    assert [one.left_id for one in series.new_pairs] == [3]
    assert [one.left_id for one in series.resolved_pairs] == [1]


def test_people_without_identifiers_in_other_tables_cannot_be_told() -> None:
    first, last = record_with(0.1), record_with(0.1)
    last["data"] = last["data"] | {"table_checksum": "other"}
    for one in (first, last):
        one["roles"] = one["roles"] | {"row_id": None}
    series = compare_series([first, last])
    assert (series.new_pairs, series.resolved_pairs) == (None, None)
    assert "People cannot be told across these audits" in series_to_html(series)


def test_bad_input_is_named() -> None:
    record = AuditRecord.from_dict(record_with(0.1))
    with pytest.raises(ParameterError, match="give two or more"):
        compare_series([record])
    with pytest.raises(ParameterError, match="give one each"):
        compare_series([record, record], names=["one"])
    with pytest.raises(ScoreError, match="The record 2 is not that of an audit"):
        compare_series([record, {}])


def page(series: AuditSeries) -> str:
    found = series_to_html(series)
    assert found == series_to_html(series)
    return found


def test_the_page_has_conclusions_charts_and_escaped_names() -> None:
    series = compare_series([record_with(0.1), record_with(0.3)], names=["<b>January</b>", "February"])
    found = page(series)
    assert "<strong>Worse:</strong>" in found
    assert "Worse: the mean gap rose by 20.00 pp (18.59 to 21.41)." in found
    assert "&lt;b&gt;January" in found
    assert "<b>January" not in found
    assert found.count("<svg") >= 3
    assert "default-src &#39;none&#39;" in found


def test_gaps_between_probabilities_are_in_points_and_between_amounts_in_percent() -> None:
    records = [record_with(0.1), record_with(0.1)]
    assert "10.00 pp" in series_to_html(compare_series(records))
    assert "No clear change: the mean gap is the same (-1.41 to 1.41 pp)." in map(
        str, compare_series(records).conclusions
    )
    amounts = [one | {"task": "regression", "scale": 5.0} for one in records]
    assert "10.00 pp" not in series_to_html(compare_series(amounts))
