"""Which points are efficient, and which one is chosen."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from likewise.auditing import Measure
from likewise.frontier import FrontierPoint
from likewise.frontier._points import choose_point, find_efficient, mark_efficient

numbers = st.integers(-3, 6).map(lambda number: number / 4)  # few of them, so that they tie


@st.composite
def point_lists(draw: st.DrawFn) -> list[FrontierPoint]:
    def point(**more: Any) -> FrontierPoint:
        loss, unfairness = Measure(draw(numbers)), Measure(draw(numbers))
        return FrontierPoint(loss=loss, unfairness=unfairness, **more)

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
    best = choose_point(points)
    allowed = [one for one in points[1:] if one.is_within_budget and not one.is_collapsed and one.error is None]
    assert best.is_base or any(best is one for one in allowed)
    for one in allowed:
        assert one.unfairness.value >= best.unfairness.value  # type: ignore[operator]  # both are known
        tied = one.unfairness.value == best.unfairness.value
        assert not tied or best.is_base or one.loss.value >= best.loss.value  # type: ignore[operator]  # both are known
