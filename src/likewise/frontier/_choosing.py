"""Which models are worth a look, and which one is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.frontier._point import FrontierPoint


def find_efficient(loss: ArrayLike, unfairness: ArrayLike) -> NDArray[np.bool_]:
    """Say of each model whether no other is at least as good in both, and better in one; small numbers are good."""
    both = np.column_stack([np.asarray(loss, np.float64), np.asarray(unfairness, np.float64)])
    as_good = (both[:, None] <= both[None, :]).all(axis=-1)
    better = (both[:, None] < both[None, :]).any(axis=-1)
    return np.logical_not((as_good & better).any(axis=0))


def mark_efficient(points: Sequence[FrontierPoint]) -> list[FrontierPoint]:
    """Tell the efficient ones; models that say nothing take no part."""
    places = [place for place, one in enumerate(points) if one.is_measured and not one.is_collapsed]
    marked = list(points)
    found = find_efficient([_loss(points[at]) for at in places], [_unfairness(points[at]) for at in places])
    for place, is_efficient in zip(places, found.tolist(), strict=True):
        marked[place] = replace(points[place], is_efficient=is_efficient)
    return marked


def choose_point(points: Sequence[FrontierPoint]) -> FrontierPoint:
    """Take the least unfair within the budget, of equal ones that of the lowest loss; the base, if none is better."""
    base = next(one for one in points if one.is_base)
    fairer = [one for one in points if _may_be_chosen(one) and _unfairness(one) < _unfairness(base)]
    return min(fairer, key=lambda one: (_unfairness(one), _loss(one)), default=base)


def _may_be_chosen(point: FrontierPoint) -> bool:
    return point.is_measured and point.is_within_budget and not point.is_collapsed


def _loss(point: FrontierPoint) -> float:
    return np.nan if point.loss.value is None else point.loss.value


def _unfairness(point: FrontierPoint) -> float:
    return np.nan if point.unfairness.value is None else point.unfairness.value
