"""Every measure has a title, and numbers read as people write them."""

from __future__ import annotations

import pytest

from likewise._format import count_of
from likewise.auditing import MEASURES, Measure
from likewise.record._internal import show_limit, show_value, title_of
from likewise.report._text import p_value, signed_gap


def test_every_measure_has_a_title_of_its_own() -> None:
    titles = [title_of(name) for name in MEASURES]
    assert not any("_" in title for title in titles)
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("gap_mean[1]", 0.31596, "31.60%"),
        ("impact_ratio", 1.25, "1.250"),
        ("excess_flips", -0.00001, "0.00%"),
        ("roc_auc", 0.8421, "0.842"),
        ("mean_absolute_error", 12345.6789, "12,345.679"),
        ("log_loss", 0.000123, "0.000123"),
        ("log_loss", 0.0, "0.000"),
        ("brier", None, "not measured"),
        ("log_loss", float("inf"), "inf"),
    ],
)
def test_values_are_shares_in_percent_and_the_rest_plain(name: str, value: float | None, shown: str) -> None:
    assert show_value(name, value) == shown


def test_limits_are_as_somebody_would_set_them() -> None:
    assert show_limit("flip_rate", 0.07) == "7%"
    assert show_limit("flip_rate", 0.00001) == "0.001%"
    assert show_limit("root_mean_squared_error", 12345.5) == "12,345.5"


def test_intervals_counts_and_signs() -> None:
    assert Measure(0.2, 0.1, 0.3).show("gap_mean") == "20.00% (10.00% to 30.00%)"
    assert Measure(0.2, None, None).show("gap_max") == "20.00%"
    assert Measure(0.2, 0.1, None).show("gap_q95") == "20.00% (at least 10.00%)"
    assert Measure(0.2, 0.1, 0.3).show("gap_mean", points=True) == "20.00 pp (10.00 to 30.00)"
    assert Measure(0.2, 0.1, None).show("gap_q95", points=True) == "20.00 pp (at least 10.00 pp)"
    assert Measure(0.2, 0.1, 0.3).show("rank_gap_mean", points=True) == "20.00% (10.00% to 30.00%)"
    assert show_limit("excess", 0.07, points=True) == "7 pp"
    assert Measure(0.8, None, 0.9).show("roc_auc") == "0.800 (at most 0.900)"
    assert (count_of(1, "person", "people"), count_of(1234, "pair")) == ("1 person", "1,234 pairs")
    assert [signed_gap(one, points=False) for one in (0.1, -0.1, 0.0, 1e-9, None)] == [
        "+10.00%",
        "-10.00%",
        "0.00%",
        "0.00%",
        "-",
    ]
    assert [p_value(one) for one in (0.05, 0.00001, None)] == ["0.050", "< 0.001", "-"]
