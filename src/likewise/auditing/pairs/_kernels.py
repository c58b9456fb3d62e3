"""Compiled loops over pairs, each pair looked at once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise.auditing.pairs._gaps import GAP_TOLERANCE
from likewise.auditing.pairs._quantiles import DROPPED_BITS, FIRST
from likewise.auditing.pairs._selection import STEPS
from likewise._random import LAST_SHIFT, STIRS

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


LEFT_STEP, RIGHT_STEP = (np.uint64(step) for step in STEPS)
(FIRST_SHIFT, FIRST_FACTOR), (SECOND_SHIFT, SECOND_FACTOR) = (tuple(map(np.uint64, one)) for one in STIRS)
THIRD_SHIFT: Final = np.uint64(LAST_SHIFT)
ONE: Final = np.uint64(1)
LOW: Final = np.int64(0xFFFFFFFF)
UPPER: Final = np.int64(32)
ONE_PAIR: Final = np.int64(1) << UPPER
HALF: Final = np.int64(28)  # bits of a half
NEARLY: Final = 1 - 1e-15
CLOSE: Final = 2e-12
LOWER_HALF: Final = (np.int64(1) << HALF) - np.int64(1)


@compiled
def stir_one(word: Any) -> Any:
    """Mix the bits of a number, as :func:`likewise._random.stir` does."""
    word = (word ^ (word >> FIRST_SHIFT)) * FIRST_FACTOR
    word = (word ^ (word >> SECOND_SHIFT)) * SECOND_FACTOR
    return word ^ (word >> THIRD_SHIFT)


@compiled
def bucket_of(gap: Any, last: Any) -> Any:
    """Find the bucket of a gap among those of a quantile."""
    return 0 if gap <= TOLERANCE else min((np.float64(gap).view(np.int64) >> BITS) - BEFORE_FIRST, last)


@compiled
def tally_bunch(bunch: Any, people: Any, how: Any, limits: Any, draw: Any, into: Any, chosen: Any) -> tuple[Any, Any]:
    """Measure pairs and add them to all that is kept of labels, transitions and people.

    Of people, ``facts`` are score, rank, row with combination and label with decision. Pairs whose keys are no higher
    than the cutoff, and those with a gap of at least ``least``, are written to ``chosen``; returns how many.
    """
    firsts, counts, seconds = bunch
    facts, codes, of_people, n_of_people = people
    low_is_better, n_combinations = how
    scale, limit, step, unit, gap_unit, rank_unit, least = limits
    seed, cutoff, keeps = draw
    by_label, most, gap_buckets, rank_buckets, bins, transitions = into
    kept_keys, kept, near, near_gaps = chosen
    last_gap, last_rank, last_bin = gap_buckets.shape[1] - 1, rank_buckets.shape[1] - 1, bins.shape[1] - 1
    n_kept, n_near, end = 0, 0, 0
    for q in range(len(firsts)):
        one, start = firsts[q], end
        end += counts[q]
        if end == start:
            continue
        score, rank, of_one, decided = facts[one, 0], facts[one, 1], codes[one, 2], codes[one, 3]
        row, combination, label = of_one & LOW, of_one >> UPPER, decided & LOW
        gap_upper, gap_lower, rank_upper, rank_lower, n_flips, n_above = 0, 0, 0, 0, 0, 0
        for place in range(start, end):
            other = seconds[place]
            apart, of_other = facts[other, 0] - score, codes[other, 2]
            gap = np.divide(abs(apart), scale)  # unlike /, never raises
            rank_gap = abs(facts[other, 1] - rank)
            other_row, other_combination = of_other & LOW, of_other >> UPPER
            flips = np.int64(codes[other, 3] != decided)  # their labels are equal
            fine, fine_rank = np.int64(np.rint(gap * gap_unit)), np.int64(np.rint(rank_gap * rank_unit))
            gap_upper += fine >> HALF
            gap_lower += fine & LOWER_HALF
            rank_upper += fine_rank >> HALF
            rank_lower += fine_rank & LOWER_HALF
            n_flips += flips
            n_above += gap > limit
            most[label, 0], most[label, 1] = max(most[label, 0], gap), max(most[label, 1], rank_gap)
            gap_buckets[label, bucket_of(gap, last_gap)] += 1
            rank_buckets[label, bucket_of(rank_gap, last_rank)] += 1
            bins[label, min(np.int64(np.divide(gap, step) + TOLERANCE), last_bin)] += 1
            if combination != other_combination:
                lower, upper = min(combination, other_combination), max(combination, other_combination)
                key = lower * n_combinations + upper
                is_lower = (apart < 0) != ((combination > other_combination) != low_is_better)
                differs = np.int64(gap > TOLERANCE)
                side = 0 if is_lower else 1
                transitions[key, 0] += 1
                transitions[key, 1 + side] += differs
                transitions[key, 3 + side] += flips * (apart != 0)
                transitions[key, 5 + 2 * side] += differs * (fine >> HALF)
                transitions[key, 6 + 2 * side] += differs * (fine & LOWER_HALF)
            n_of_people[other, 1] += ONE_PAIR
            # far below the worst of one of the two, a gap is not even equal to it after rounding
            if gap >= of_people[other, 0] * NEARLY - CLOSE:
                note_worst(of_people, n_of_people, other, gap, row, unit)
            if gap >= of_people[one, 0] * NEARLY - CLOSE:
                note_worst(of_people, n_of_people, one, gap, other_row, unit)
            if gap >= least:
                near[0, n_near], near[1, n_near] = min(row, other_row), max(row, other_row)
                near_gaps[0, n_near], near_gaps[1, n_near] = gap, rank_gap
                n_near += 1
            if keeps:
                first, second = min(row, other_row), max(row, other_row)
                word = stir_one(seed + (np.uint64(first) + ONE) * LEFT_STEP)
                word = stir_one(word + (np.uint64(second) + ONE) * RIGHT_STEP)
                if word <= cutoff:
                    kept_keys[n_kept], kept[0, n_kept], kept[1, n_kept] = word, first, second
                    n_kept += 1
        n_of_people[one, 1] += (end - start) * ONE_PAIR
        by_label[label, 0] += end - start
        by_label[label, 1] += n_flips
        by_label[label, 2] += n_above
        by_label[label, 3] += gap_upper
        by_label[label, 4] += gap_lower
        by_label[label, 5] += rank_upper
        by_label[label, 6] += rank_lower
    return n_kept, n_near


@compiled
def note_worst(of_people: Any, n_of_people: Any, one: Any, gap: Any, partner: Any, unit: Any) -> None:
    """Note a person's largest gap; of gaps that differ by rounding only, the partner in the earliest row."""
    rounded, known = np.rint(gap * unit), np.rint(of_people[one, 0] * unit)
    if rounded > known or (rounded == known and partner < n_of_people[one, 1] & LOW):
        n_of_people[one, 1] = (n_of_people[one, 1] & ~LOW) | partner
    of_people[one, 0] = max(of_people[one, 0], gap)


@compiled
def _choose(left: Any, right: Any, is_taken: Any, is_chosen: Any) -> None:
    for pair in range(left.shape[0]):
        if not is_taken[left[pair]] and not is_taken[right[pair]]:
            is_taken[left[pair]] = True
            is_taken[right[pair]] = True
            is_chosen[pair] = True


def match_apart(left: NDArray[np.integer], right: NDArray[np.integer], n_people: int) -> NDArray[np.bool_]:
    """Return which pairs to take so that nobody is in two: each as it comes, unless one of the two was taken before."""
    is_chosen = np.zeros(len(left), np.bool_)
    if len(left) <= MOST_INTERPRETED:
        taken: set[int] = set()
        for pair, two in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            if taken.isdisjoint(two):
                taken.update(two)
                is_chosen[pair] = True
        return is_chosen
    _choose(left, right, np.zeros(n_people, np.bool_), is_chosen)
    return is_chosen
