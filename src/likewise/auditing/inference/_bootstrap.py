"""Person-level bootstrap: in a replicate each person gets a Poisson weight of mean 1.

Weights are a hash of seed, replicate and person: no thread, chunk or order of the work changes them. Few people are
resampled in NumPy and many by kernels, to the same bytes; areas with sample weights agree up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise._threads import share_work
from likewise.auditing.people._sums import Curve, GroupSums

Floats = NDArray[np.float64]
LANES: Final = 64  # replicates at a time: eight-bit weights of a person fill one cache line
FEWER_LANES: Final = 16  # of many people, who are met in order: so there is work for all threads
TINY: Final = float(np.finfo(np.float64).tiny)
MOST_INTERPRETED: Final = 2_800  # people whom NumPy resamples: of as many, no other kernel is needed either
DRAWN_AT_ONCE: Final = 1 << 18  # people whose weights are kept at a time: 4 MB on each thread, 16 MB where they are all
MOST_CODES: Final = 256  # of a byte
MOST_COUNTED: Final = 1 << 27  # people: of more, counts run over
MOST_WEIGHTED: Final = 23_437  # people with sample weights, whose areas NumPy rounds otherwise: records keep theirs
# Which Poisson number of mean 1 a 16-bit number stands for: k for as many of them as k is likely
_SHARES: Final = np.cumsum(np.exp(-1.0) / np.cumprod([1.0, *range(1, 12)]))
TIMES: Final = np.searchsorted(_SHARES, (np.arange(2**16) + 0.5) / 2**16).astype(np.uint8)


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


def draw_weights(n_people: int, *, first: int, seed: int) -> NDArray[np.uint8]:
    """Return the weight of each person in each of ``LANES`` replicates."""
    if n_people <= MOST_INTERPRETED:
        return _hash_weights(n_people, first, seed)
    return _draw_some(np.arange(n_people, dtype=np.int32), first, seed, LANES)


def _draw_some(people: NDArray[np.int32], first: int, seed: int, n_lanes: int) -> NDArray[np.uint8]:
    weights = np.empty((len(people), n_lanes), np.uint8)
    _weigh(np.uint64(seed), first, TIMES, people, weights)
    return weights


def _hash_weights(n_people: int, first: int, seed: int) -> NDArray[np.uint8]:
    """Return the weights that the kernel gives, in NumPy."""
    people = np.arange(n_people, dtype=np.uint64)[:, None] * np.uint64(0x9E3779B97F4A7C15)
    fours = (np.uint64(first) + np.arange(0, LANES, 4, dtype=np.uint64)) * np.uint64(0xD1B54A32D192ED03)
    words = np.array([seed], np.uint64) + people + fours  # arrays wrap around, as the kernel's words do
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    words = words ^ (words >> np.uint64(31))
    shifts = np.arange(0, 64, 16, dtype=np.uint64)
    weights: NDArray[np.uint8] = TIMES[(words[:, :, None] >> shifts) & np.uint64(0xFFFF)]
    return weights.reshape(n_people, LANES)


def add_by_group(groups: NDArray[np.integer], amounts: Floats, weights: Floats, n_groups: int) -> Floats:
    """Add up an amount times weights by group in NumPy, one row after the other as the kernels do.

    Of shapes (n,), (n,) and (n, LANES) comes (n_groups, LANES).
    """
    places = groups.astype(np.int64)[:, None] * LANES + np.arange(LANES)
    products = (weights * amounts[:, None]).ravel()
    sums: Floats = np.bincount(places.ravel(), products, n_groups * LANES).astype(np.float64, copy=False)
    return sums.reshape(n_groups, LANES)


@compiled
def _add_people(groups: Any, amounts: Any, weights: Any, sums: Any) -> None:
    """Add each person's amount, or the one of all, times weight to the person's group."""
    last = len(amounts) - 1
    for person in range(groups.shape[0]):
        group, amount = groups[person], np.float64(amounts[min(person, last)])
        for lane in range(weights.shape[1]):
            sums[group, lane] += weights[person, lane] * amount


@compiled
def _trace_curve(
    order: Any, is_positive: Any, is_last: Any, times: Any, weights: Any, sums: Any, more: Any, has: Any
) -> None:
    """Walk down the scores; where a run of equal scores ends, all of the run counts at once.

    ``times`` are the weights of people in that order: one for each, or a single one for all. ROC AUC grows with the
    negatives of a run and precision with its positives, so that most runs, of one label, take half of the work.
    ``sums``, ``more`` (of the run so far) and ``has`` (which labels it has) are those of the walk up to here.
    """
    positive, negative, roc, precision = sums
    more_positive, more_negative = more
    has_positive, has_negative, n_lanes = has[0], has[1], weights.shape[1]
    for place in range(order.shape[0]):
        person, time = order[place], times[min(place, len(times) - 1)]
        if is_positive[place]:
            has_positive = True
            for lane in range(n_lanes):
                more_positive[lane] += time * weights[person, lane]
        else:
            has_negative = True
            for lane in range(n_lanes):
                more_negative[lane] += time * weights[person, lane]
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


class _Walk:
    """A walk down the scores in several replicates, in one go or in parts."""

    def __init__(self, n_lanes: int) -> None:
        self._sums = tuple(np.zeros(n_lanes) for _ in range(4))  # positives, negatives, ROC AUC, precision
        self._more, self._has = tuple(np.zeros(n_lanes) for _ in range(2)), np.zeros(2, np.bool_)

    def go_on(self, one: Curve, places: slice, order: Any, weights: Any) -> None:
        """Pass some people, whose weights are in these rows."""
        times = np.ones(1) if one.weights is None else one.weights[places]
        is_positive, is_last = one.is_positive[places], one.is_last[places]
        _trace_curve(order, is_positive, is_last, times, weights, self._sums, self._more, self._has)

    def areas(self) -> Floats:
        """Return ROC AUC and average precision; shape (n_lanes, 2)."""
        positive, negative, roc, precision = self._sums
        is_known = ((positive > 0) & (negative > 0))[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(is_known, np.column_stack([roc / (positive * negative), precision / positive]), np.nan)


def resample_people(
    amounts: Mapping[str, GroupSums], curves: Sequence[Curve], *, n_people: int, n_resamples: int, seed: int
) -> tuple[dict[str, Floats], Floats]:
    """Add everything up in every replicate, each person by the same weights in every call.

    Returns sums of shape (n_resamples, n_groups, n_amounts) by name, and areas of shape
    (n_resamples, n_curves, 2).
    """
    sums = {name: np.empty((n_resamples, one.n_groups, len(one.amounts))) for name, one in amounts.items()}
    areas = np.empty((n_resamples, len(curves), 2))

    def replicate(first: int) -> None:
        weights = draw_weights(n_people, first=first, seed=seed)
        part = slice(first, min(first + LANES, n_resamples))
        for name, one in amounts.items():
            sums[name][part] = add_lanes(one, weights)[: part.stop - first]
        for position, one_curve in enumerate(curves):
            areas[part, position] = trace_lanes(one_curve, weights)[: part.stop - first]

    def replicate_many(place: int) -> None:
        first, position = divmod(place, 1 + len(curves))
        part = slice(first * FEWER_LANES, min((first + 1) * FEWER_LANES, n_resamples))
        n_lanes = part.stop - part.start
        if position < len(curves):
            areas[part, position] = _trace_in_parts(curves[position], part.start, seed)[:n_lanes]
            return
        for name, added in _add_in_parts(amounts, flags, n_people, part.start, seed).items():
            sums[name][part] = added.T[:n_lanes]

    if n_people <= DRAWN_AT_ONCE:
        share_work(replicate, range(0, n_resamples, LANES))
    else:
        flags = _Flags.of(amounts, n_people)
        share_work(replicate_many, range(-(-n_resamples // FEWER_LANES) * (1 + len(curves))))
    return sums, areas


@dataclass(frozen=True, slots=True, eq=False)
class _Flags:
    """The groups of people, and all amounts that are 0 or 1, as one code: how often each occurs tells their sums."""

    codes: NDArray[np.uint8]
    digits: dict[str, NDArray[np.int64]]  # the group of each code, by name
    flags: dict[tuple[str, int], NDArray[np.bool_]]  # the amount of each code, by name and place

    @classmethod
    def of(cls, amounts: Mapping[str, GroupSums], n_people: int) -> _Flags:
        """Find the codes; if there are too many, no amounts are told by them."""
        flags = {
            (name, k): flag for name, one in amounts.items() for k, flag in enumerate(one.amounts) if _is_flag(flag)
        }
        columns: dict[Any, tuple[NDArray[Any], int]] = {
            name: (one.groups, one.n_groups) for name, one in amounts.items() if any(map(_is_flag, one.amounts))
        }
        columns |= {named: (flag, 2) for named, flag in flags.items() if len(flag) > 1}  # others are the same for all
        n_codes = math.prod(n for _, n in columns.values())
        if n_codes > MOST_CODES or n_people > MOST_COUNTED:
            return cls(np.empty(0, np.uint8), {}, {})
        codes, numbers, digits = np.zeros(n_people, np.uint8), np.arange(n_codes), dict[Any, NDArray[np.int64]]()
        for column, n in columns.values():
            codes *= np.uint8(n % MOST_CODES)  # all codes are 0 yet, if n is that
            codes += column.astype(np.uint8)
        for named, (_, n) in reversed(columns.items()):
            numbers, digits[named] = np.divmod(numbers, n)
        held = {of: digits[of] > 0 if len(flag) > 1 else np.full(n_codes, flag[0]) for of, flag in flags.items()}
        return cls(codes, {name: digits[name] for name in amounts if name in digits}, held)

    def add_up(self, counts: NDArray[np.int32], sums: Mapping[str, Floats]) -> None:
        """Add to the sums of those amounts, given how often each code occurs in each replicate."""
        for (name, place), holds in self.flags.items():
            np.add.at(sums[name][place], self.digits[name][holds], counts[: len(holds)][holds])


def _is_flag(amount: NDArray[Any]) -> bool:
    return amount.dtype == np.bool_


@compiled
def _count_people(codes: Any, weights: Any, counts: Any) -> None:
    for person in range(len(codes)):
        code = codes[person]
        for lane in range(weights.shape[1]):
            counts[code, lane] += weights[person, lane]


def _add_in_parts(
    amounts: Mapping[str, GroupSums], flags: _Flags, n_people: int, first: int, seed: int
) -> dict[str, Floats]:
    """Add up amounts in ``FEWER_LANES`` replicates, the weights of some people at a time; in the order of all."""
    sums = {name: np.zeros((len(one.amounts), one.n_groups, FEWER_LANES)) for name, one in amounts.items()}
    counts = np.zeros((MOST_CODES, FEWER_LANES), np.int32)
    for start in range(0, n_people, DRAWN_AT_ONCE):
        some = slice(start, min(start + DRAWN_AT_ONCE, n_people))
        weights = _draw_some(np.arange(some.start, some.stop, dtype=np.int32), first, seed, FEWER_LANES)
        _count_people(flags.codes[some], weights, counts)
        for name, one in amounts.items():
            for place, (amount, added) in enumerate(zip(one.amounts, sums[name], strict=True)):
                if (name, place) not in flags.flags:
                    _add_people(one.groups[some], amount[some] if len(amount) > 1 else amount, weights, added)
    flags.add_up(counts, sums)
    return sums


def _trace_in_parts(one: Curve, first: int, seed: int) -> Floats:
    """Return the areas under a curve in ``FEWER_LANES`` replicates, with the weights of some people at a time."""
    walk, places = _Walk(FEWER_LANES), np.arange(DRAWN_AT_ONCE, dtype=np.int32)
    for start in range(0, len(one.order), DRAWN_AT_ONCE):
        some = slice(start, min(start + DRAWN_AT_ONCE, len(one.order)))
        weights = _draw_some(one.order[some], first, seed, FEWER_LANES)
        walk.go_on(one, some, places[: len(weights)], weights)
    return walk.areas()


def add_lanes(one: GroupSums, weights: Any) -> Floats:
    """Add up amounts in ``LANES`` replicates; shape (LANES, n_groups, n_amounts)."""
    if len(one.groups) <= MOST_INTERPRETED:
        times = weights.astype(np.float64)
        return np.array([add_by_group(one.groups, amount, times, one.n_groups) for amount in one.amounts]).T
    added = np.zeros((len(one.amounts), one.n_groups, LANES))
    for amount, sums in zip(one.amounts, added, strict=True):
        _add_people(one.groups, amount, weights, sums)
    return added.T


def trace_lanes(one: Curve, weights: Any) -> Floats:
    """Return the areas under a curve in ``LANES`` replicates; shape (LANES, 2)."""
    if len(one.order) <= (MOST_INTERPRETED if one.weights is None else MOST_WEIGHTED):
        return _trace_all(one, weights)
    walk = _Walk(LANES)
    walk.go_on(one, slice(None), one.order, weights)
    return walk.areas()


def _trace_all(one: Curve, weights: Any) -> Floats:
    """Return the areas that the kernel finds, in NumPy: counts are exact in any order, precisions are added in its."""
    ends = np.flatnonzero(one.is_last)
    if not len(ends):
        return np.full((LANES, 2), np.nan)
    starts = np.append(0, ends[:-1] + 1)
    times = weights[one.order].astype(np.float64)
    times = times if one.weights is None else times * one.weights[:, None]
    more_positive = np.add.reduceat(times * one.is_positive[:, None], starts)
    more_negative = np.add.reduceat(times * ~one.is_positive[:, None], starts)
    positive, negative = np.cumsum(more_positive, axis=0), np.cumsum(more_negative, axis=0)
    roc = (more_negative * (positive - more_positive / 2)).sum(axis=0)
    precision = np.cumsum(more_positive * positive / np.maximum(positive + negative, TINY), axis=0)[-1]
    n_positive, n_negative = positive[-1], negative[-1]
    is_known = (n_positive > 0) & (n_negative > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        areas = np.column_stack([roc / (n_positive * n_negative), precision / n_positive])
    return np.where(is_known[:, None], areas, np.nan)
