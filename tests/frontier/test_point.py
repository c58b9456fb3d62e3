"""Which points are efficient, and which one is chosen."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.auditing import Measure
from likewise.frontier import FrontierPoint, FrontierSearch
from likewise.frontier._criteria import Criteria
from likewise.frontier._points import choose_point, find_efficient, mark_efficient

CRITERIA = Criteria.check(FrontierSearch(None), "average_precision")
numbers = st.integers(-3, 6).map(lambda number: number / 4)  # few of them, so that they tie


@st.composite
def point_lists(draw: st.DrawFn) -> list[FrontierPoint]:
    def point(**more: Any) -> FrontierPoint:
        measures = {name: Measure(draw(numbers)) for name in CRITERIA.unfairness}
        return FrontierPoint(loss=Measure(draw(numbers)), measures=measures, gains=measures, **more)

    base = point(is_base=True, is_within_budget=True, is_collapsed=draw(st.booleans()))
    flags = st.tuples(st.booleans(), st.booleans(), st.sampled_from([None, None, "ValueError"]))
    others = [
        point(is_within_budget=within, is_collapsed=collapsed, error=error)
        for within, collapsed, error in draw(st.lists(flags, max_size=6))
    ]
    return [base, *others]


@given(st.lists(st.tuples(numbers, numbers), max_size=8))
def test_efficient_points_are_exactly_those_that_nothing_dominates(pairs: list[tuple[float, float]]) -> None:
    found = find_efficient([loss for loss, _ in pairs], [unfairness for _, unfairness in pairs])
    for place, (loss, unfairness) in enumerate(pairs):
        dominated = any(
            other <= loss and less <= unfairness and (other < loss or less < unfairness) for other, less in pairs
        )
        assert found[place] == (not dominated)


@given(point_lists())
def test_points_without_meaning_are_neither_efficient_nor_in_the_way(points: list[FrontierPoint]) -> None:
    marked = mark_efficient(points)
    meaning = [one for one in marked if one.error is None and not one.is_collapsed]
    assert not any(one.is_efficient for one in marked if one.error is not None or one.is_collapsed)
    assert [one.is_efficient for one in meaning] == [one.is_efficient for one in mark_efficient(meaning)]
    assert not meaning or any(one.is_efficient for one in meaning)


@given(point_lists())
def test_the_chosen_is_within_the_budget_and_none_within_it_is_less_unfair(points: list[FrontierPoint]) -> None:
    def rank(point: FrontierPoint) -> list[float]:
        levels = [max(point.measures[name].value or 0.0, 0.0) for name in CRITERIA.unfairness]  # none is less than none
        return [*levels, point.loss.value or 0.0]

    best = choose_point(points, CRITERIA)
    allowed = [one for one in points[1:] if one.is_within_budget and not one.is_collapsed and one.error is None]
    assert best.is_base or any(best is one for one in allowed)
    assert rank(best) == min(map(rank, [points[0], *allowed]))


@pytest.mark.parametrize(
    ("loss", "low", "high", "is_lenient", "is_cautious"),
    [
        (0.009, 0.0085, 0.0095, True, True),  # less than the budget of 0.01
        (0.009, 0.0, 0.018, True, False),
        (0.011, 0.010, 0.012, False, False),  # more, and known to be so
        (0.02, -0.04, 0.08, True, False),  # no more than its own standard error of 0.03: it is not told from none
        (0.04, -0.02, 0.10, False, False),
        (-0.1, -0.2, 0.0, True, True),
        (None, None, None, False, False),
    ],
)
def test_a_loss_counts_as_far_as_it_can_be_told(
    loss: float | None, low: float | None, high: float | None, *, is_lenient: bool, is_cautious: bool
) -> None:
    found = Measure(loss, low, high)
    for cautious, is_within in ((False, is_lenient), (True, is_cautious)):
        assert Criteria.check(FrontierSearch(None, cautious=cautious), "average_precision").allows(found) == is_within
