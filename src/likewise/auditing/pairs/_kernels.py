"""Compiled loops over pairs, each pair looked at once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise._random import LAST_SHIFT, STIRS
from likewise.auditing.pairs._gaps import GAP_TOLERANCE
from likewise.auditing.pairs._quantiles import DROPPED_BITS, FIRST
from likewise.auditing.pairs._selection import STEPS

BITS: Final = np.int64(DROPPED_BITS)
BEFORE_FIRST: Final = np.int64(FIRST - 1)
TOLERANCE: Final = float(GAP_TOLERANCE)


LEFT_STEP, RIGHT_STEP = (np.uint64(step) for step in STEPS)
(FIRST_SHIFT, FIRST_FACTOR), (SECOND_SHIFT, SECOND_FACTOR) = (tuple(map(np.uint64, one)) for one in STIRS)
THIRD_SHIFT: Final = np.uint64(LAST_SHIFT)
ONE, THREE, FIVE = np.uint64(1), np.uint64(3), np.uint64(5)
LOW: Final = np.int64(0xFFFFFFFF)
UPPER: Final = np.int64(32)
BYTE: Final = np.int64(0xFF)
DECISION: Final = BYTE << np.int64(40)  # above the row in the lower half and a byte for the label
COMBINATION: Final = np.int64(48)
ONE_PAIR: Final = np.int64(1) << UPPER
LOWER_BITS: Final = np.int64(36)  # of a gap in whole parts, which are summed apart from the upper ones
AT_ONCE: Final = 64  # pairs: what is computed of them stays in the nearest cache, and their sums in eight bytes
NEARLY: Final = 1 - 1e-15
CLOSE: Final = 2e-12
LOWER: Final = (np.int64(1) << LOWER_BITS) - np.int64(1)


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
def find_reach(bunch: Any) -> tuple[Any, Any]:
    """Find the first place in a bunch, and the one after its last."""
    firsts, _, seconds, _ = bunch
    first, last = firsts[0], firsts[0]
    for place in firsts:
        first, last = min(first, place), max(last, place)
    for place in seconds:
        first, last = min(first, place), max(last, place)
    return np.int64(first), np.int64(last) + 1


@compiled
def no_pairs(largest: Any, numbers: Any) -> None:
    """Write what is known of people before any pair: the largest gap; as integers, how many pairs and the partner."""
    for one in range(len(largest)):
        largest[one, 0], numbers[one, 1] = -1.0, 0


@compiled
def tally_bunch(bunch: Any, people: Any, how: Any, limits: Any, draw: Any, few: Any, into: Any, chosen: Any) -> Any:
    """Measure pairs and add them to all that is kept of labels, transitions and people.

    Of people, ``facts`` are score, rank, and in one word row, label, decision and combination. Pairs whose keys are no
    higher than the cutoff are written to ``chosen``; returns how many.
    What is added up of people is theirs in this bunch, from the last of ``how`` on: the place that it starts with.
    ``few`` is room for what is computed of a few pairs at a time.

    A few pairs at a time go through one short loop after the other: while a long one waits for a person who is not in
    the processor's cache, the next is not asked for. Indices are unsigned: others are tested for counting from the end.
    """
    firsts, counts, seconds, number_at = bunch
    facts, codes = people[0], people[1]
    (gaps, rank_gaps, apart), (fine, of_other) = few
    no_pairs(people[2], people[3])
    n_kept, end, scale = 0, np.uint64(0), limits[0]
    is_numbered = len(number_at) > 0
    for q in range(len(firsts)):
        place, last = np.uint64(firsts[q]), end + np.uint64(counts[q])
        one = np.uint64(number_at[place]) if is_numbered else place
        score, rank, of_one = facts[one, 0], facts[one, 1], codes[one, 2]
        while end < last:
            start, end = end, min(end + np.uint64(AT_ONCE), last)
            n = end - start
            for k in range(n):
                other = np.uint64(seconds[start + k])
                other = np.uint64(number_at[other]) if is_numbered else other
                apart[k] = facts[other, 0] - score
                rank_gaps[k] = abs(facts[other, 1] - rank)
                of_other[k] = codes[other, 2]
            for k in range(n):
                gaps[k] = np.divide(abs(apart[k]), scale)  # unlike /, never raises
            most = add_to_label(n, of_one, gaps, rank_gaps, of_other, fine, limits, into)
            add_to_transitions(n, of_one, apart, gaps, fine, of_other, how, into[5])
            add_to_people(n, start, place, seconds, of_one & LOW, gaps, most, of_other, limits[3], people, how[2])
            n_kept = draw_kept(np.int64(n), of_one & LOW, of_other, draw, chosen, n_kept)
    return n_kept


@compiled
def add_to_label(
    n: Any, of_one: Any, gaps: Any, rank_gaps: Any, of_other: Any, fine: Any, limits: Any, into: Any
) -> Any:
    """Add pairs of one label to its counts, sums, extremes and histograms; write down gaps in whole parts.

    Returns the largest gap.
    """
    by_label, most, gap_buckets, rank_buckets, bins = into[0], into[1], into[2], into[3], into[4]
    label = np.uint64(of_one >> UPPER & BYTE)
    limit, step, gap_unit, rank_unit = limits[1], limits[2], limits[4], limits[5]
    last_gap, last_rank, last_bin = gap_buckets.shape[1] - 1, rank_buckets.shape[1] - 1, bins.shape[1] - 1
    total = total_rank = n_flips = n_above = np.int64(0)  # of so few pairs, sums do not run over
    most_gap = most_rank = 0.0
    for k in range(n):
        gap, rank_gap = gaps[k], rank_gaps[k]
        fine[k] = np.int64(np.rint(gap * gap_unit))
        total += fine[k]
        total_rank += np.int64(np.rint(rank_gap * rank_unit))
        n_flips += np.int64((of_other[k] ^ of_one) & DECISION != 0)
        n_above += np.int64(gap > limit)
        most_gap, most_rank = max(most_gap, gap), max(most_rank, rank_gap)
    for k in range(n):
        gap_buckets[label, np.uint64(bucket_of(gaps[k], last_gap))] += 1
        rank_buckets[label, np.uint64(bucket_of(rank_gaps[k], last_rank))] += 1
    for k in range(n):
        bins[label, np.uint64(min(np.int64(np.divide(gaps[k], step) + TOLERANCE), last_bin))] += 1
    most[label, 0], most[label, 1] = max(most[label, 0], most_gap), max(most[label, 1], most_rank)
    by_label[label, 0] += np.int64(n)
    by_label[label, 1] += n_flips
    by_label[label, 2] += n_above
    add_parts(by_label, label, np.uint64(3), total)
    add_parts(by_label, label, np.uint64(5), total_rank)
    return most_gap


@compiled
def add_parts(sums: Any, row: Any, column: Any, total: Any) -> None:
    """Add to a sum, whose upper and lower bits are summed apart."""
    sums[row, column] += total >> LOWER_BITS
    sums[row, column + ONE] += total & LOWER


@compiled
def add_to_transitions(
    n: Any, of_one: Any, apart: Any, gaps: Any, fine: Any, of_other: Any, how: Any, transitions: Any
) -> None:
    """Add pairs of one person to the counts and sums of transitions, from the lower-numbered combination.

    Others with the same combination mostly come one after the other, and are added up first.
    """
    low_is_better, n_combinations, _ = how
    combination, end = of_one >> COMBINATION, np.uint64(0)
    while end < n:
        start, other = end, of_other[end] >> COMBINATION
        while end < n and of_other[end] >> COMBINATION == other:
            end += ONE
        if combination == other:
            continue
        # all, and of these pairs in which the other one has less; masks instead of branches
        n_differ = n_less = n_flips = n_flips_less = total = total_less = np.int64(0)
        for k in range(start, end):
            is_less, differs = -np.int64(apart[k] < 0), -np.int64(gaps[k] > TOLERANCE)
            flips = -np.int64(((of_other[k] ^ of_one) & DECISION != 0) & (apart[k] != 0))
            n_differ -= differs
            n_less -= differs & is_less
            n_flips -= flips
            n_flips_less -= flips & is_less
            total += fine[k] & differs
            total_less += fine[k] & differs & is_less
        key = np.uint64(min(combination, other) * n_combinations + max(combination, other))
        side = np.uint64((combination > other) != low_is_better)  # 0 where the upper one has less
        rest = ONE - side
        transitions[key, 0] += np.int64(end - start)
        transitions[key, ONE + side] += n_less
        transitions[key, ONE + rest] += n_differ - n_less
        transitions[key, THREE + side] += n_flips_less
        transitions[key, THREE + rest] += n_flips - n_flips_less
        add_parts(transitions, key, FIVE + side + side, total_less)
        add_parts(transitions, key, FIVE + rest + rest, total - total_less)


@compiled
def add_to_people(
    n: Any,
    start: Any,
    place: Any,
    seconds: Any,
    row: Any,
    gaps: Any,
    most: Any,
    of_other: Any,
    unit: Any,
    people: Any,
    first_place: Any,
) -> None:
    """Add pairs of one person to what is kept of either side: how many pairs, the largest gap, and with whom."""
    largest, numbers, before = people[2], people[3], np.uint64(first_place)
    one = place - before
    numbers[one, 1] += np.int64(n) * ONE_PAIR
    # far below the largest gap of a person, a gap is not even equal to it after rounding
    if most >= largest[one, 0] * NEARLY - CLOSE:
        for k in range(n):
            if gaps[k] >= largest[one, 0] * NEARLY - CLOSE:
                note_worst(largest, numbers, one, gaps[k], of_other[k] & LOW, unit)
    for k in range(n):
        gap, other = gaps[k], np.uint64(seconds[start + k]) - before
        numbers[other, 1] += ONE_PAIR
        if gap >= largest[other, 0] * NEARLY - CLOSE:
            note_worst(largest, numbers, other, gap, row, unit)


@compiled
def draw_kept(n: Any, row: Any, of_other: Any, draw: Any, chosen: Any, n_kept: Any) -> Any:
    """Write down the pairs whose keys are no higher than the cutoff; returns how many there are now."""
    seed, cutoff, keeps = draw
    keys, kept = chosen[0], chosen[1]
    for k in range(n * keeps):
        other = of_other[k] & LOW
        left, right = min(row, other), max(row, other)
        word = stir_one(seed + (np.uint64(left) + ONE) * LEFT_STEP)
        word = stir_one(word + (np.uint64(right) + ONE) * RIGHT_STEP)
        if word <= cutoff:
            keys[n_kept], kept[0, n_kept], kept[1, n_kept] = word, left, right
            n_kept += 1
    return n_kept


@compiled
def note_worst(of_people: Any, n_of_people: Any, one: Any, gap: Any, partner: Any, unit: Any) -> None:
    """Note a person's largest gap; of gaps that differ by rounding only, the partner in the earliest row."""
    rounded, known = np.rint(gap * unit), np.rint(of_people[one, 0] * unit)
    if rounded > known or (rounded == known and partner < n_of_people[one, 1] & LOW):
        n_of_people[one, 1] = (n_of_people[one, 1] & ~LOW) | partner
    of_people[one, 0] = max(of_people[one, 0], gap)


@compiled
def merge_people(
    first_place: Any, number_at: Any, largest: Any, numbers: Any, known_largest: Any, known: Any, unit: Any
) -> None:
    """Add what is kept of the people from a place on to what is known of them from other pairs."""
    for k in range(len(largest)):
        if numbers[k, 1]:
            one = np.int64(number_at[first_place + k]) if len(number_at) else first_place + k
            note_worst(known_largest, known, one, largest[k, 0], numbers[k, 1] & LOW, unit)
            known[one, 1] += numbers[k, 1] & ~LOW


def match_apart(
    left: NDArray[np.integer], right: NDArray[np.integer], order: NDArray[np.int64], n_people: int
) -> NDArray[np.int64]:
    """Return which pairs to take so that nobody is in two: in order, each unless one of the two was taken before.

    Pairs that come first for both of their people are taken at once; in random order a few rounds are enough.
    """
    is_chosen, is_taken = np.zeros(len(order), np.bool_), np.zeros(n_people, np.bool_)
    first = np.empty(n_people, np.int64)
    places, people = np.arange(len(order)), np.column_stack([left[order], right[order]])
    while len(places):
        first[people[::-1].ravel()] = places[::-1].repeat(2)  # the last that is written stays: a person's first pair
        leads = (first[people] == places[:, None]).all(axis=1)
        is_chosen[places[leads]] = True
        is_taken[people[leads]] = True
        is_free = ~is_taken[people].any(axis=1)
        places, people = places[is_free], people[is_free]
    return order[is_chosen]
