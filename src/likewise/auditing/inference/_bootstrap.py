"""Person-level bootstrap: in a replicate each person gets a Poisson weight of mean 1.

Weights are a hash of seed, replicate and person, and people are added up in their order: no thread, chunk or order of
the work changes anything. The weights of some people are drawn at a time, wherever these are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise._threads import share_work
from likewise.auditing.people._sums import Curve, GroupSums, ratio

Floats = NDArray[np.float64]
LANES: Final = 64  # replicates at a time: eight-bit weights of a person fill one cache line
AT_ONCE: Final = 1 << 13  # people whose weights are drawn at a time: they stay in the cache of a core
FEW: Final = 2_800  # people whom NumPy resamples: a first audit of so many then compiles nothing, a fifth of the time
TINY: Final = float(np.finfo(np.float64).tiny)
# Which Poisson number of mean 1 a 16-bit number stands for: k for as many of them as k is likely
_SHARES: Final = np.cumsum(np.exp(-1.0) / np.cumprod([1.0, *range(1, 12)]))
TIMES: Final = np.searchsorted(_SHARES, (np.arange(2**16) + 0.5) / 2**16).astype(np.uint8)


def draw_weights(people: NDArray[np.integer[Any]], *, first: int, seed: int) -> NDArray[np.uint8]:
    """Return the weight of some people in each of ``LANES`` replicates, from the first on."""
    weights = np.empty((len(people), LANES), np.uint8)
    _weigh(np.uint64(seed), first, TIMES, people, weights)
    return weights


def draw_few(people: NDArray[np.integer[Any]], *, first: int, seed: int) -> Floats:
    """Return the same weights, as floats, by NumPy."""
    fours = (np.uint64(first) + np.arange(0, LANES, 4, dtype=np.uint64)) * np.uint64(0xD1B54A32D192ED03)
    words = people.astype(np.uint64)[:, None] * np.uint64(0x9E3779B97F4A7C15) + (fours + np.array([seed], np.uint64))
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    words = words ^ (words >> np.uint64(31))
    weights: Floats = TIMES[words.astype("<u8", copy=False).view("<u2")].astype(np.float64)
    return weights


@compiled
def _weigh(seed: Any, first: Any, table: Any, people: Any, weights: Any) -> None:
    """Fill in the weights of some people in the replicates from ``first`` on, four of them from each hash."""
    for place in range(len(people)):
        for four in range(weights.shape[1] // 4):
            word = seed + np.uint64(people[place]) * np.uint64(0x9E3779B97F4A7C15)
            word += (np.uint64(first) + np.uint64(4 * four)) * np.uint64(0xD1B54A32D192ED03)
            word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            word = word ^ (word >> np.uint64(31))
            for lane in range(4):
                weights[place, 4 * four + lane] = table[word & np.uint64(0xFFFF)]
                word = word >> np.uint64(16)


@compiled
def _add_people(groups: Any, amounts: Any, weights: Any, sums: Any) -> None:
    """Add each person's amount, or the one of all, times weight to the person's group."""
    last = len(amounts) - 1
    for person in range(groups.shape[0]):
        group, amount = groups[person], np.float64(amounts[min(person, last)])
        for lane in range(weights.shape[1]):
            sums[group, lane] += weights[person, lane] * amount


@compiled
def _trace_curve(is_positive: Any, is_last: Any, times: Any, weights: Any, sums: Any, more: Any, has: Any) -> None:
    """Walk down the scores; where a run of equal scores ends, all of the run counts at once.

    ``times`` are the weights of people in that order: one for each, or a single one for all. ROC AUC grows with the
    negatives of a run and precision with its positives, so that most runs, of one label, take half of the work.
    ``sums``, ``more`` (of the run so far) and ``has`` (which labels it has) are those of the walk up to here.
    """
    positive, negative, roc, precision = sums
    more_positive, more_negative = more
    has_positive, has_negative, n_lanes = has[0], has[1], weights.shape[1]
    for place in range(len(is_positive)):
        time = times[min(place, len(times) - 1)]
        if is_positive[place]:
            has_positive = True
            for lane in range(n_lanes):
                more_positive[lane] += time * weights[place, lane]
        else:
            has_negative = True
            for lane in range(n_lanes):
                more_negative[lane] += time * weights[place, lane]
        if is_last[place] and has_negative:
            for lane in range(n_lanes):
                roc[lane] += more_negative[lane] * (positive[lane] + more_positive[lane] / 2)
                negative[lane] += more_negative[lane]
                more_negative[lane] = 0.0
            has_negative = False
        if is_last[place] and has_positive:
            for lane in range(n_lanes):
                positive[lane] += more_positive[lane]
                people = max(positive[lane] + negative[lane], TINY)  # which stands in for nobody
                precision[lane] += np.divide(more_positive[lane] * positive[lane], people)  # unlike /, never raises
                more_positive[lane] = 0.0
            has_positive = False
    has[0], has[1] = has_positive, has_negative


def resample_people(
    amounts: Mapping[str, GroupSums], curves: Sequence[Curve], *, n_people: int, n_resamples: int, seed: int
) -> tuple[dict[str, Floats], Floats]:
    """Add everything up in every replicate, each person by the same weights in every call.

    Returns sums of shape (n_resamples, n_groups, n_amounts) by name, and areas of shape
    (n_resamples, n_curves, 2).
    """
    sums = {name: np.empty((n_resamples, one.n_groups, len(one.amounts))) for name, one in amounts.items()}
    areas = np.empty((n_resamples, len(curves), 2))

    trace, add_up = (_trace_few, _add_few) if n_people <= FEW else (_trace, _add_up)

    def replicate(place: int) -> None:
        batch, position = divmod(place, 1 + len(curves))
        part = slice(batch * LANES, min((batch + 1) * LANES, n_resamples))
        n_lanes = part.stop - part.start
        if position < len(curves):
            areas[part, position] = trace(curves[position], part.start, seed)[:n_lanes]
            return
        for name, added in add_up(amounts, n_people, part.start, seed).items():
            sums[name][part] = added.T[:n_lanes]

    share_work(replicate, range(-(-n_resamples // LANES) * (1 + len(curves))))
    return sums, areas


def _add_up(amounts: Mapping[str, GroupSums], n_people: int, first: int, seed: int) -> dict[str, Floats]:
    """Add up amounts in ``LANES`` replicates; each of shape (n_amounts, n_groups, LANES)."""
    sums = {name: np.zeros((len(one.amounts), one.n_groups, LANES)) for name, one in amounts.items()}
    for start in range(0, n_people, AT_ONCE):
        some = slice(start, min(start + AT_ONCE, n_people))
        weights = draw_weights(np.arange(some.start, some.stop), first=first, seed=seed)
        for name, one in amounts.items():
            for amount, added in zip(one.amounts, sums[name], strict=True):
                _add_people(one.groups[some], amount[some] if len(amount) > 1 else amount, weights, added)
    return sums


def _trace(one: Curve, first: int, seed: int) -> Floats:
    """Return ROC AUC and average precision in ``LANES`` replicates; shape (LANES, 2), NaN where a label is missing."""
    sums, more, has = np.zeros((4, LANES)), np.zeros((2, LANES)), np.zeros(2, np.bool_)
    for start in range(0, len(one.order), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        times = np.ones(1) if one.weights is None else one.weights[some]
        weights = draw_weights(one.order[some], first=first, seed=seed)
        _trace_curve(one.is_positive[some], one.is_last[some], times, weights, tuple(sums), tuple(more), has)
    return _areas(*sums)


def _areas(positive: Floats, negative: Floats, roc: Floats, precision: Floats) -> Floats:
    return np.column_stack([ratio(roc, positive * negative), ratio(precision, np.where(negative > 0, positive, 0.0))])


def _add_few(amounts: Mapping[str, GroupSums], n_people: int, first: int, seed: int) -> dict[str, Floats]:
    """Add up the amounts of few people."""
    weights, sums = draw_few(np.arange(n_people), first=first, seed=seed), dict[str, Floats]()
    for name, one in amounts.items():
        places = (one.groups.astype(np.intp)[:, None] * LANES + np.arange(LANES)).ravel()
        shape = (one.n_groups, LANES)
        products = [(weights * amount[:, None]).ravel() for amount in one.amounts]
        added = [np.bincount(places, product, one.n_groups * LANES).reshape(shape) for product in products]
        sums[name] = np.array(added, np.float64).reshape(-1, *shape)
    return sums


def _trace_few(one: Curve, first: int, seed: int) -> Floats:
    """Return the areas of few people."""
    times = draw_few(one.order, first=first, seed=seed)
    times = times if one.weights is None else times * one.weights[:, None]
    starts = np.append(0, np.flatnonzero(one.is_last[:-1]) + 1)
    by_label = (one.is_positive[:, None], ~one.is_positive[:, None])
    more_positive, more_negative = (np.add.reduceat(times * flags, starts) for flags in by_label)
    positive, negative = np.cumsum(more_positive, axis=0), np.cumsum(more_negative, axis=0)
    roc = (more_negative * (positive - more_positive / 2)).sum(axis=0)
    precision = (more_positive * positive / np.maximum(positive + negative, TINY)).sum(axis=0)
    return _areas(positive[-1], negative[-1], roc, precision)
