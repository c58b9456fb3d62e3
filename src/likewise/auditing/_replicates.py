"""Add up over people in many replicates at once: the sums and areas of every tally and curve, sixteen at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from likewise._compiling import compiled
from likewise.auditing._resampling import LANES, add_by_group, draw_weights, is_small, share_work
from likewise.auditing._tallies import Curve, Floats, Tally


@compiled
def _add_people(groups: Any, amounts: Any, weights: Any, sums: Any) -> None:
    """Add each person's amounts times weight to the person's group."""
    times = np.empty(LANES)
    for person in range(groups.shape[0]):
        group = groups[person]
        for lane in range(LANES):
            times[lane] = weights[person, lane]
        for one in range(amounts.shape[1]):
            amount = amounts[person, one]
            for lane in range(LANES):
                sums[group, one, lane] += times[lane] * amount


@compiled
def _trace_curve(order: Any, is_positive: Any, is_last: Any, weights: Any, areas: Any) -> None:
    """Walk down the scores; where a run of equal scores ends, all of the run counts at once."""
    positive, negative = np.zeros(LANES), np.zeros(LANES)
    more_positive, more_negative = np.zeros(LANES), np.zeros(LANES)
    roc, precision = np.zeros(LANES), np.zeros(LANES)
    for place in range(order.shape[0]):
        person = order[place]
        if is_positive[place]:
            for lane in range(LANES):
                more_positive[lane] += weights[person, lane]
        else:
            for lane in range(LANES):
                more_negative[lane] += weights[person, lane]
        if is_last[place]:
            for lane in range(LANES):
                roc[lane] += more_negative[lane] * (positive[lane] + more_positive[lane] / 2)
                positive[lane] += more_positive[lane]
                negative[lane] += more_negative[lane]
                people = max(positive[lane] + negative[lane], 1.0)  # whole numbers: 1 stands in for nobody
                precision[lane] += np.divide(more_positive[lane] * positive[lane], people)  # unlike /, never raises
                more_positive[lane] = 0.0
                more_negative[lane] = 0.0
    for lane in range(LANES):
        is_known = positive[lane] > 0 and negative[lane] > 0
        areas[0, lane] = np.divide(roc[lane], positive[lane] * negative[lane]) if is_known else np.nan
        areas[1, lane] = np.divide(precision[lane], positive[lane]) if is_known else np.nan


def resample_people(
    tallies: Mapping[str, Tally], curves: Sequence[Curve], *, n_people: int, n_resamples: int, seed: int
) -> tuple[dict[str, Floats], Floats]:
    """Add everything up in every replicate, with the weights that the pairs of these people get.

    Returns sums of shape (n_resamples, n_groups, n_amounts) for each tally, and areas of shape
    (n_resamples, n_curves, 2).
    """
    sums = {name: np.empty((n_resamples, one.n_groups, one.amounts.shape[1])) for name, one in tallies.items()}
    areas = np.empty((n_resamples, len(curves), 2))

    def replicate(first: int) -> None:
        weights = draw_weights(n_people, first=first, seed=seed)
        part = slice(first, min(first + LANES, n_resamples))
        for name, one in tallies.items():
            sums[name][part] = add_lanes(one, weights)[: part.stop - first]
        for position, one_curve in enumerate(curves):
            areas[part, position] = trace_lanes(one_curve, weights)[: part.stop - first]

    share_work(replicate, range(0, n_resamples, LANES))
    return sums, areas


def add_lanes(one: Tally, weights: Any) -> Floats:
    """Add up a tally in ``LANES`` replicates; shape (LANES, n_groups, n_amounts)."""
    if is_small(one.amounts.size * LANES):
        return np.moveaxis(add_by_group(one.groups, one.amounts, weights.astype(np.float64), one.n_groups), -1, 0)
    added = np.zeros((one.n_groups, one.amounts.shape[1], LANES))
    _add_people(one.groups, one.amounts, weights, added)
    return np.moveaxis(added, -1, 0)


def trace_lanes(one: Curve, weights: Any) -> Floats:
    """Find the areas under a curve in ``LANES`` replicates; shape (LANES, 2)."""
    if is_small(len(one.order) * LANES):
        return _trace_all(one, weights)
    found = np.empty((2, LANES))
    _trace_curve(one.order, one.is_positive, one.is_last, weights, found)
    return found.T


def _trace_all(one: Curve, weights: Any) -> Floats:
    """Return the areas that the kernel finds, in NumPy: counts are exact in any order, precisions are added in its."""
    ends = np.flatnonzero(one.is_last)
    if not len(ends):
        return np.full((LANES, 2), np.nan)
    starts = np.append(0, ends[:-1] + 1)
    times = weights[one.order].astype(np.float64)
    more_positive = np.add.reduceat(times * one.is_positive[:, None], starts)
    more_negative = np.add.reduceat(times * ~one.is_positive[:, None], starts)
    positive, negative = np.cumsum(more_positive, axis=0), np.cumsum(more_negative, axis=0)
    roc = (more_negative * (positive - more_positive / 2)).sum(axis=0)
    precision = np.cumsum(more_positive * positive / np.maximum(positive + negative, 1.0), axis=0)[-1]
    n_positive, n_negative = positive[-1], negative[-1]
    is_known = (n_positive > 0) & (n_negative > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        areas = np.column_stack([roc / (n_positive * n_negative), precision / n_positive])
    return np.where(is_known[:, None], areas, np.nan)
