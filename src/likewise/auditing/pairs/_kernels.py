"""Compiled loops over pairs, each pair looked at once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise.auditing.pairs._gaps import GAP_TOLERANCE
from likewise.auditing.pairs._quantiles import DROPPED_BITS, FIRST

BITS: Final = np.int64(DROPPED_BITS)
BEFORE_FIRST: Final = np.int64(FIRST - 1)
TOLERANCE: Final = float(GAP_TOLERANCE)
MOST_INTERPRETED: Final = 100_000  # pairs: choosing among fewer takes less than compiling the kernel


@compiled
def add_pairs(pairs: Any, limits: Any, sums: Any, counts: Any) -> None:
    """Add pairs to what is kept of each label."""
    labels, gaps, gap_bits, rank_gaps, rank_bits, flips, weights = pairs
    limit, step = limits
    n, weight, n_flips, n_above, totals, most = sums
    gap_buckets, rank_buckets, bins = counts
    last_gap, last_rank, last_bin = gap_buckets.shape[1] - 1, rank_buckets.shape[1] - 1, bins.shape[1] - 1
    for pair in range(len(gaps)):
        label, gap, rank_gap = labels[pair], gaps[pair], rank_gaps[pair]
        times = weights[pair]
        n[label] += 1
        weight[label] += times
        totals[0, label] += times * gap
        totals[1, label] += times * rank_gap
        most[0, label] = max(most[0, label], gap)
        most[1, label] = max(most[1, label], rank_gap)
        n_flips[label] += times * flips[pair]
        n_above[label] += times * (gap > limit)
        gap_bucket = 0 if gap <= TOLERANCE else min((gap_bits[pair] >> BITS) - BEFORE_FIRST, last_gap)
        gap_buckets[label, gap_bucket] += times
        rank_bucket = 0 if rank_gap <= TOLERANCE else min((rank_bits[pair] >> BITS) - BEFORE_FIRST, last_rank)
        rank_buckets[label, rank_bucket] += times
        bins[label, min(np.int64(np.divide(gap, step) + TOLERANCE), last_bin)] += times  # unlike /, never raises


@compiled
def add_people(pairs: Any, unit: Any, n_pairs_of: Any, weight_of: Any, worst: Any, partners: Any) -> None:
    """Add pairs to what is kept of each of the two people."""
    left, right, gaps, weights = pairs
    for pair in range(len(gaps)):
        gap = gaps[pair]
        rounded = np.rint(gap * unit)
        for side in range(2):
            one, other = (left[pair], right[pair]) if side == 0 else (right[pair], left[pair])
            n_pairs_of[one] += 1
            if len(weight_of):  # where people are weighted
                weight_of[one] += weights[pair]
            known = np.rint(worst[one] * unit)
            if rounded > known or (rounded == known and other < partners[one]):
                partners[one] = other
            worst[one] = max(worst[one], gap)


@compiled
def _choose(left: Any, right: Any, is_taken: Any, is_chosen: Any) -> None:
    for pair in range(left.shape[0]):
        if not is_taken[left[pair]] and not is_taken[right[pair]]:
            is_taken[left[pair]] = True
            is_taken[right[pair]] = True
            is_chosen[pair] = True


def match_apart(left: NDArray[np.integer], right: NDArray[np.integer], n_people: int) -> NDArray[np.bool_]:
    """Return which pairs to take so that nobody is in two: each as it comes, unless one of the two was taken before."""
    is_chosen, is_taken = np.zeros(len(left), np.bool_), np.zeros(n_people, np.bool_)
    if len(left) > MOST_INTERPRETED:
        _choose(left, right, is_taken, is_chosen)
        return is_chosen
    # pairs that come first for both of their people are taken at once; in random order a few rounds are enough
    places, people, first = np.arange(len(left)), np.column_stack([left, right]), np.empty(n_people, np.int64)
    while len(places):
        first[people[::-1].ravel()] = places[::-1].repeat(2)  # the last that is written stays: a person's first pair
        leads = (first[people] == places[:, None]).all(axis=1)
        is_chosen[places[leads]] = True
        is_taken[people[leads]] = True
        is_free = ~is_taken[people].any(axis=1)
        places, people = places[is_free], people[is_free]
    return is_chosen
