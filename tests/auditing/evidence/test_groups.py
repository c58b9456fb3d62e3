"""Rates of groups are fairlearn's, and impact is measured against the group that fares best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.auditing import GroupRate, Scores, fairlearn_measures, impact_ratio, rate_groups
from likewise.exceptions import ScoreError
from likewise.schema import CodedTable

metrics = pytest.importorskip("fairlearn.metrics")

codes = st.tuples(st.integers(0, 2), st.integers(0, 1))
people = st.lists(st.tuples(codes, st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=30)


def decided(values: Any, **more: Any) -> Scores:
    values = np.asarray(values, np.float64)
    return Scores(values, "binary", (values >= 0.5).astype(np.int64), 0.5, **more)


def approved_below(quarters: Any) -> Scores:
    """Scores of an outcome that is bad for people, such as a default."""
    return Scores(quarters / 4, "binary", (quarters < 2).astype(np.int64), 0.5, favours_low=True)


@settings(max_examples=sized(15, 60))
@given(people, st.booleans())
def test_rates_are_shares_of_the_people_they_are_about(rows: list[Any], favours_low: bool) -> None:
    sensitive, labels, quarters = map(np.array, zip(*rows, strict=True))
    scores = approved_below(quarters) if favours_low else decided(quarters / 4)
    found = rate_groups(scores, CodedTable(sensitive=sensitive, labels=labels, classes=[0, 1]))
    assert scores.decisions is not None
    for rate in found:
        positions = [int(name[-1]) for name in rate.columns]
        here = (sensitive[:, positions] == rate.values).all(axis=1)
        assert rate.mean_score == pytest.approx(scores.values[here].mean())
        assert rate.n_selected == scores.decisions[here].sum()
        sign = -1 if favours_low else 1
        above = (sign * scores.values > np.median(sign * scores.values))[here].mean()
        assert rate.scoring_rate == (pytest.approx(above) if len(set(quarters)) > 2 else None)
        for is_deserved, share in ((True, rate.true_positive_rate), (False, rate.false_positive_rate)):
            approved = scores.decisions[here & ((labels == (0 if favours_low else 1)) == is_deserved)]
            assert share == (pytest.approx(approved.mean()) if len(approved) else None)
        both = [one for one in (rate.true_positive_rate, rate.false_positive_rate) if one is not None]
        assert min(both) - 1e-9 <= (rate.selection_rate or 0.0) <= max(both) + 1e-9
    assert {len(rate.columns) for rate in found} == {1, 2}
    for columns in {rate.columns for rate in found}:
        family = [rate for rate in found if rate.columns == columns]
        assert sum(rate.n_people for rate in family) == len(rows)
        best = max(rate.selection_rate or 0.0 for rate in family)
        assert all(rate.impact_ratio == (rate.selection_rate / best if best else None) for rate in family)  # type: ignore[operator]


def test_groups_go_by_their_values_single_columns_first() -> None:
    table = CodedTable(
        sensitive=[[1, 0], [0, 0], [1, 2]],
        labels=[1, 1, 1],
        classes=["no", "yes"],
        names={"sensitive": ("sex", "race")},
        categories={"sex": ("Female", "Male"), "race": ("Asian", "Black", None)},
    )
    found = rate_groups(decided([0.2, 0.8, 0.9]), table)
    assert [(rate.columns, rate.values) for rate in found] == [
        (("sex",), ("Female",)),
        (("sex",), ("Male",)),
        (("race",), ("Asian",)),
        (("race",), (None,)),
        (("sex", "race"), ("Female", "Asian")),
        (("sex", "race"), ("Male", "Asian")),
        (("sex", "race"), ("Male", None)),
    ]


@pytest.mark.parametrize(("n_columns", "sizes"), [(1, {1}), (3, {1, 2, 3}), (5, {1, 2, 5}), (6, {1, 6})])
def test_each_two_columns_are_rated_together_unless_there_are_many(n_columns: int, sizes: set[int]) -> None:
    table = CodedTable(sensitive=[[0] * n_columns, [1] * n_columns])
    assert {len(rate.columns) for rate in rate_groups(decided([0.1, 0.9]), table)} == sizes


def test_low_scores_may_be_on_the_favourable_side_of_the_median() -> None:
    table, values = CodedTable(sensitive=[[0], [0], [1]]), np.array([0.1, 0.5, 0.9])
    low, high = (
        [rate.scoring_rate for rate in rate_groups(Scores(values, "binary", favours_low=favours_low), table)]
        for favours_low in (True, False)
    )
    assert (low, high) == ([0.5, 0.0], [0.0, 1.0])


def test_the_positive_label_may_be_the_first() -> None:
    table = CodedTable(sensitive=[[0], [0]], labels=[0, 1])
    (first,) = rate_groups(decided([0.9, 0.1], positive=0), table)
    (second,) = rate_groups(decided([0.9, 0.1], positive=1), table)
    assert (first.true_positive_rate, first.false_positive_rate) == (1.0, 0.0)
    assert (second.true_positive_rate, second.false_positive_rate) == (0.0, 1.0)


def test_predicted_amounts_have_means_and_rates_only_where_something_is_decided() -> None:
    table = CodedTable(sensitive=[[0], [1]])
    amounts = np.array([10.0, 30.0])
    assert rate_groups(Scores(amounts, "regression"), table)[1] == GroupRate(
        ("sensitive_0",), (1,), n_people=1, mean_score=30.0
    )
    selected = rate_groups(Scores(amounts, "regression", np.array([0, 1]), 20.0), table)
    assert [rate.selection_rate for rate in selected] == [0.0, 1.0]
    assert [rate.true_positive_rate for rate in selected] == [None, None]


def test_selection_means_nothing_among_several_labels() -> None:
    scores = Scores(np.full((2, 3), 1 / 3), "multiclass", np.array([0, 0]))
    table = CodedTable(sensitive=[[0], [1]], labels=[0, 2])
    assert rate_groups(scores, table)[0] == GroupRate(("sensitive_0",), (0,), n_people=1)
    assert impact_ratio(rate_groups(scores, table)) is None
    assert fairlearn_measures(scores, table) == {}


def test_the_impact_ratio_is_the_lowest_of_single_columns() -> None:
    table = CodedTable(sensitive=[[0, 0], [0, 1], [1, 0], [1, 1]], labels=[1, 1, 1, 1])
    found = rate_groups(decided([0.9, 0.1, 0.9, 0.9]), table)
    assert impact_ratio(found, min_people=1) == 0.5
    assert min(rate.impact_ratio for rate in found if rate.impact_ratio is not None) == 0.0


def test_a_handful_of_people_decides_no_impact_ratio() -> None:
    rates = [
        GroupRate(("race",), (race,), n, rate) for race, n, rate in [("a", 90, 0.4), ("b", 60, 0.3), ("c", 2, 0.0)]
    ]
    assert impact_ratio(rates) == pytest.approx(0.75)
    assert impact_ratio(rates, min_people=1) == 0
    assert impact_ratio(rates[1:]) is None  # one group alone has nothing to be compared with


def test_there_is_no_impact_where_nobody_is_selected_or_nothing_is_sensitive() -> None:
    nobody = rate_groups(decided([0.1, 0.2]), CodedTable(sensitive=[[0], [1]]))
    assert [(rate.selection_rate, rate.impact_ratio) for rate in nobody] == [(0.0, None), (0.0, None)]
    assert impact_ratio(nobody) is None
    plain = CodedTable(labels=[0, 1])
    assert rate_groups(decided([0.1, 0.9]), plain) == ()
    assert impact_ratio(()) is None
    assert fairlearn_measures(decided([0.1, 0.9]), plain) == {}


@settings(max_examples=sized(5, 50))
@given(people, st.booleans())
@pytest.mark.filterwarnings("ignore")  # of groups that lack a label
def test_measures_are_those_of_fairlearn_on_approvals(rows: list[Any], favours_low: bool) -> None:
    sensitive, labels, quarters = map(np.array, zip(*rows, strict=True))
    scores = approved_below(quarters) if favours_low else decided(quarters / 4)
    deserved, approved = ((labels, quarters >= 2), (1 - labels, quarters < 2))[favours_low]
    found = fairlearn_measures(scores, CodedTable(sensitive=sensitive, labels=labels, classes=[0, 1]))
    for what in ("demographic_parity", "equalized_odds"):
        for how in ("difference", "ratio"):
            of = {"sensitive_features": [str(codes) for codes, _, _ in rows]}
            theirs = getattr(metrics, f"{what}_{how}")(deserved.tolist(), approved, **of)
            assert found.get(f"{what}_{how}", np.nan) == pytest.approx(theirs, rel=1e-15, abs=0, nan_ok=True)


def test_what_fairlearn_cannot_say_is_left_out() -> None:
    found = fairlearn_measures(decided([0.1, 0.2]), CodedTable(sensitive=[[0], [1]], labels=[1, 1]))
    assert found == {"demographic_parity_difference": 0.0, "equalized_odds_difference": 0.0}


def test_one_person_differs_from_nobody() -> None:
    found = fairlearn_measures(decided([0.9]), CodedTable(sensitive=[[0]], labels=[0]))
    assert found["demographic_parity_ratio"] == 1.0


def test_scores_belong_to_the_people_of_the_table() -> None:
    table = CodedTable(sensitive=[[0], [1]])
    for function in (rate_groups, fairlearn_measures):
        with pytest.raises(ScoreError, match="The scores are 1, but the table has 2 rows"):
            function(decided([0.1]), table)
