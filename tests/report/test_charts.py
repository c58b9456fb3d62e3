"""Charts say what the record says: shares of its counts, its means and intervals, round ticks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.records import measures_of
from tests.sizes import sized

from likewise.auditing import Change, Comparison, Measure
from likewise.record import AuditRecord
from likewise.report._charts import (
    LEFT,
    LETTER,
    MAX_TICKS,
    NARROWEST,
    RIGHT,
    Marker,
    as_number,
    as_percent,
    calibration_chart,
    change_chart,
    direction_chart,
    gap_charts,
    make_axis,
    person_chart,
    place_markers,
    score_chart,
)

ends = st.floats(-3.0, 3.0, allow_subnormal=False)


def make_changes() -> dict[str, Change]:
    change = Change(Measure(0.3), Measure(0.2), Measure(-0.1))
    return {"gap_mean": change, "flip_rate": Change(Measure(0.3), Measure(None), Measure(None)), "roc_auc": change}


@given(ends, ends, st.booleans())
@settings(max_examples=sized(37, 150), deadline=None)
def test_ticks_are_few_round_and_on_the_axis(one: float, other: float, is_grown: bool) -> None:
    low, high = sorted((one, other))
    axis = make_axis("x", low, high, as_percent, is_grown=is_grown)
    places = [tick.at for tick in axis.ticks]
    assert 1 <= len(places) <= MAX_TICKS
    assert len({tick.text for tick in axis.ticks}) == len(places)  # each is written so that it differs from the next
    assert len({round(b - a, 12) for a, b in pairwise(places)}) <= 1
    slack = 1e-6 * (axis.high - axis.low)
    assert all(axis.low - slack <= at <= axis.high + slack for at in places)
    assert axis.low <= low + slack
    assert axis.high >= high - slack


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.0, 1.0, ["0%", "20%", "40%", "60%", "80%", "100%"]),
        (0.0, 0.1, ["0%", "2%", "4%", "6%", "8%", "10%"]),
        (-0.1, 0.025, ["-10.0%", "-7.5%", "-5.0%", "-2.5%", "0.0%", "2.5%"]),
    ],
)
def test_ticks_are_written_in_percent(low: float, high: float, texts: list[str]) -> None:
    assert [tick.text for tick in make_axis("x", low, high, as_percent).ticks] == texts


def test_plain_ticks_have_as_many_decimals_as_they_need() -> None:
    assert [tick.text for tick in make_axis("x", 0, 1, as_number).ticks] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]


def test_there_is_one_chart_a_slice_and_its_bars_are_shares_of_the_counts(record: dict[str, Any]) -> None:
    charts = gap_charts(AuditRecord.of(record))
    slices = record["distributions"]["slices"]
    assert [chart.title for chart in charts] == ["Gaps. All pairs", "Gaps. Label no", "Gaps. Label yes (positive)"]
    for chart, found in zip(charts, slices, strict=True):
        pairs, baseline = chart.series
        assert [share * found["n"] for share in pairs.shares] == pytest.approx(found["counts"])
        assert [share * found["n_within"] for share in baseline.shares] == pytest.approx(found["within_counts"])
        assert len(chart.tips) == len(found["counts"]) == len(chart.edges) - 1
        assert chart.edges == tuple(record["distributions"]["edges"])
    told = "Comparable pairs: 17.17% (40 of 233); Same-group pairs (baseline): 0.00% (0 of 466)"
    assert charts[0].tips[4] == f"Gap 40 pp to 50 pp. {told}"


def test_the_marks_are_the_measures_of_the_slice(record: dict[str, Any]) -> None:
    for chart, measures in zip(
        gap_charts(AuditRecord.of(record)),
        (measures_of(record, label) for label in (None, "no", "yes")),
        strict=True,
    ):
        named = {"Mean": "gap_mean", "Q3": "gap_q3", "Baseline": "same_group_gap_mean"}
        assert [mark.name for mark in chart.markers] == [*named]
        for mark, name in zip(chart.markers, named.values(), strict=True):
            assert (mark.value, mark.low, mark.high) == tuple(measures[name][end] for end in ("value", "low", "high"))
        assert f"Excess by person: {100 * measures['excess']['value']:.2f} pp" in chart.description


def test_a_slice_without_pairs_has_no_chart_and_one_without_a_baseline_one_series(record: dict[str, Any]) -> None:
    everybody, no, _ = record["distributions"]["slices"]
    no |= {"n": 0, "counts": [0, 0, 0, 0, 0]}
    everybody |= {"n_within": None, "within_counts": None}
    assert [len(chart.series) for chart in gap_charts(AuditRecord.of(record))] == [1, 2]


def test_people_scores_and_calibration_are_those_of_the_record(record: dict[str, Any]) -> None:
    people, scores, reliability = (
        person_chart(AuditRecord.of(record)),
        score_chart(AuditRecord.of(record)),
        calibration_chart(AuditRecord.of(record)),
    )
    assert people is not None
    assert [share * 193 for share in people.series[0].shares] == pytest.approx(record["person_gaps"]["counts"])
    assert [mark.value for mark in people.markers] == [0.09, 0.42]
    assert scores is not None
    assert [one.name for one in scores.series] == ["Label yes", "Label no"]  # the positive one first
    assert scores.series[0].shares == pytest.approx((150 / 400, 250 / 400))
    assert scores.markers[0].value == record["threshold"]
    assert reliability is not None
    assert [(point.x, point.y) for point in reliability.points] == [(0.25, 0.23), (0.72, 0.71)]
    assert "650 people" in reliability.points[0].tip


def test_directions_that_stand_out_are_chosen_first_and_in_order(record: dict[str, Any]) -> None:
    one = record["directions"][0]
    others = [{**one, "target": [f"t{i}"], "adjusted_gap": -0.001 * i, "p_adjusted": 0.9} for i in range(20)]
    last = {**one, "target": ["far"], "adjusted_gap": 0.05, "adjusted_low": None, "adjusted_high": None}
    record["directions"] = [*others, last]
    chart = direction_chart(AuditRecord.of(record))
    assert chart is not None
    assert len(chart.dots) == 12
    assert [dot.value for dot in chart.dots] == sorted(dot.value for dot in chart.dots)
    assert [dot.lines for dot in chart.dots if dot.is_filled] == [("m → far",)]
    assert chart.x.low < 0 < chart.x.high
    assert "12 of 21" in chart.description
    assert "lower in 60, higher in 25, equal in 5" in chart.dots[0].tip


def test_long_names_and_those_read_from_right_to_left_have_a_line_each(record: dict[str, Any]) -> None:
    record["directions"][0] |= {"origin": ["x" * 500, "y"], "target": ["אב"]}
    chart = direction_chart(AuditRecord.of(record))
    assert chart is not None
    first, second = chart.dots[0].lines
    assert len(first) <= 32
    assert second == "→ אב"


def test_changes_show_what_is_known_before_and_after() -> None:
    chart = change_chart(Comparison(make_changes(), ()), points=True)
    assert chart is not None
    assert [(dot.lines, dot.start, dot.value) for dot in chart.dots] == [(("Mean gap",), 0.3, 0.2)]
    assert chart.dots[0].text == "30.0 pp → 20.0 pp"
    assert "difference -10.00 pp" in chart.dots[0].tip


def test_an_excess_below_nothing_is_on_the_axis() -> None:
    changes = make_changes()
    excess = Change(Measure(0.3), Measure(-0.05, -0.08, -0.02), Measure(-0.1))
    chart = change_chart(Comparison(changes | {"excess": excess}, ()), points=True)
    assert chart is not None
    assert [dot.text for dot in chart.dots] == ["30.0 pp → -5.0 pp", "30.0 pp → 20.0 pp"]
    assert chart.x.low <= -0.08


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 0.2), st.floats(0.0, 0.2))
@settings(max_examples=sized(50, 200), deadline=None)
def test_words_of_marks_stay_on_the_chart_and_no_line_runs_through_them(
    mean: float, q3: float, below: float, above: float
) -> None:
    axis = make_axis("x", 0.0, 1.0, as_percent)
    marks = (
        Marker("Mean", "Mean 31.4%", "", mean, max(mean - below, 0), min(mean + above, 1)),
        Marker("Q3", "Q3 43.8%", "", q3),
    )
    lines: list[float] = []
    for mark, is_left in place_markers(marks, axis):
        x, end = (NARROWEST * axis.place(at) for at in (mark.value, (mark.low if is_left else mark.high) or mark.value))
        width = 10 + LETTER * len(mark.text)
        low, high = (end - width, x) if is_left else (x, end + width)
        assert low >= LEFT
        assert high <= RIGHT
        assert not any(low + 4 < line < high - 4 for line in lines)
        lines.append(x)
