"""A summary of pairs: in any order and any parts the same counts; quantiles within the promised error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.sizes import sized

from likewise.auditing import describe_gaps
from likewise.auditing._internal import (
    MeasuredPairs,
    PairSummary,
    SummaryShape,
    place_in_bins,
    rows_to_show,
)
from likewise.auditing.inference._pair_measures import SummaryFacts
from likewise.auditing.pairs._quantiles import SKETCH_ERROR, coarsest_edges, merge_fine
from likewise.auditing.pairs._selection import KeptPairs, pair_keys
from likewise.exceptions import LikewiseError

EXACT = (
    *("n", "weight", "weight_squares", "n_flips", "n_above", "most"),
    *("gap_buckets", "rank_gap_buckets", "gap_bins", "n_pairs_of", "weight_of", "partner_of"),
)


def make_pairs(
    seed: int, n_people: int = 25, largest: float = 1.0, *, n_labels: int = 3
) -> tuple[MeasuredPairs, SummaryShape]:
    """Draw all pairs of some people, with scores that repeat now and then; every other seed weights them."""
    random = np.random.default_rng(seed)
    left, right = np.triu_indices(n_people, 1)
    scores = np.round(random.random(n_people), 1 + seed % 3) * largest
    ranks = np.argsort(np.argsort(scores)) / n_people
    groups = random.integers(4, size=n_people)
    signed = scores[right] - scores[left]
    weights = random.integers(1, 9, n_people) / 8  # sums of their products are exact
    batch = MeasuredPairs(
        left=left,
        right=right,
        labels=random.integers(n_labels, size=len(left)),
        gaps=np.abs(signed),
        rank_gaps=np.abs(ranks[left] - ranks[right]),
        flips=(scores[left] >= largest / 2) != (scores[right] >= largest / 2),
        signed=signed,
        groups=(groups[left], groups[right]),
        weights=weights[left] * weights[right] if seed % 2 else None,
    )
    shape = SummaryShape(
        n_people=n_people,
        n_labels=n_labels,
        n_combinations=4,
        largest=largest,
        limit=0.3,
        n_kept=40,
        seed=seed,
        is_weighted=bool(seed % 2),
    )
    return batch, shape


def take(batch: MeasuredPairs, chosen: Any) -> MeasuredPairs:
    assert batch.groups is not None
    return replace(batch.take(chosen), groups=(batch.groups[0][chosen], batch.groups[1][chosen]))


def summary_of(shape: SummaryShape, *batches: MeasuredPairs) -> PairSummary:
    summary = PairSummary(shape)
    for batch in batches:
        summary.add(batch)
    return summary


def assert_same(one: PairSummary, other: PairSummary) -> None:
    for name in EXACT:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one.worst_gap_of, other.worst_gap_of)
    assert one.totals == pytest.approx(other.totals, rel=1e-12)
    assert np.array_equal(one.transitions.keys, other.transitions.keys)
    assert np.array_equal(one.transitions.counts, other.transitions.counts)
    assert one.transitions.sums == pytest.approx(other.transitions.sums, rel=1e-12, abs=1e-12)
    here, there = one.kept.to_columns(), other.kept.to_columns()
    assert all(np.array_equal(here[name], there[name]) for name in here)
    for share in (0.0, 0.3, 0.5, 0.95, 1.0):
        assert SummaryFacts(one, None).quantile("gap", share) == SummaryFacts(other, None).quantile("gap", share)


@settings(max_examples=sized(10, 40), deadline=None)
@given(st.integers(0, 1000), st.integers(1, 6), st.randoms(use_true_random=False))
def test_any_order_and_any_partition_give_the_same(seed: int, n_parts: int, shuffler: Any) -> None:
    batch, shape = make_pairs(seed)
    order = list(range(len(batch)))
    shuffler.shuffle(order)
    parts = [summary_of(shape, take(batch, np.array(order[start::n_parts], np.int64))) for start in range(n_parts)]
    shuffler.shuffle(parts)
    merged = parts[0]
    for part in parts[1:]:
        merged.merge(part)
    assert_same(merged, summary_of(shape, batch))


@settings(max_examples=sized(25, 100), deadline=None)
@given(
    hnp.arrays(
        np.float64,
        st.integers(1, 60),
        elements=st.one_of(st.floats(0, 1), st.floats(1e-9, 1e-3), st.floats(1, 1e7), st.just(0.0)),
    )
)
def test_quantiles_are_within_the_error_that_is_promised(gaps: np.ndarray[Any, Any]) -> None:
    n = len(gaps)
    shape = SummaryShape(n_people=0, n_labels=1, n_combinations=1, largest=float(gaps.max()), limit=0.5, n_kept=0)
    rows = np.arange(n)
    nobody = np.zeros(n, np.int64)
    facts = SummaryFacts(
        summary_of(shape, MeasuredPairs(left=rows, right=rows + 1, labels=nobody, gaps=gaps, rank_gaps=np.zeros(n))),
        None,
    )
    ordered = np.sort(gaps)
    for share in (0.0, 0.01, 0.25, 0.5, 0.75, 0.95, 1.0):
        exact = float(np.quantile(ordered, share))
        assert facts.quantile("gap", share) == pytest.approx(exact, rel=SKETCH_ERROR, abs=2e-9)
        low, high = facts.around("gap", share, share)
        assert low - 2e-9 <= exact <= high + 2e-9
    assert facts.mean("gap") == pytest.approx(gaps.mean(), rel=1e-12)
    assert facts.largest("gap") == gaps.max()
    assert facts.share_above(0.5) == describe_gaps(gaps, limit=0.5)["share_above"]


@settings(max_examples=sized(10, 40), deadline=None)
@given(st.integers(0, 1000), st.sampled_from([1.0, 0.037, 250.0]))
def test_fine_bins_add_up_to_the_bins_of_the_gaps_themselves(seed: int, largest: float) -> None:
    batch, shape = make_pairs(seed, largest=largest, n_labels=1)
    summary = summary_of(shape, batch)
    edges = coarsest_edges(float(batch.gaps.max()), summary.step)
    expected = np.bincount(place_in_bins(batch.gaps, edges), batch.weights, len(edges) - 1)
    assert merge_fine(summary.gap_bins, summary.step, edges)[0].tolist() == expected.tolist()


def test_gaps_far_below_the_largest_possible_are_still_all_counted() -> None:
    gaps = np.full(50, 3e-5)
    rows, zero = np.arange(50), np.zeros(50, np.int64)
    shape = SummaryShape(n_people=0, n_labels=1, n_combinations=1, largest=1.0, limit=0.1, n_kept=0)
    summary = summary_of(shape, MeasuredPairs(left=rows, right=rows + 1, labels=zero, gaps=gaps, rank_gaps=gaps))
    edges = coarsest_edges(3e-5, summary.step)
    assert edges.tolist() == [0.0, 1e-5, 2e-5, 3e-5]
    assert merge_fine(summary.gap_bins, summary.step, edges).sum() == 50


@settings(max_examples=sized(10, 40), deadline=None)
@given(st.integers(0, 1000), st.integers(1, 9))
def test_everybodys_worst_gap_and_partner_are_those_of_all_pairs(seed: int, n_parts: int) -> None:
    batch, shape = make_pairs(seed)
    summary = summary_of(shape, *(take(batch, slice(start, None, n_parts)) for start in range(n_parts)))
    for person in range(shape.n_people):
        theirs = (batch.left == person) | (batch.right == person)
        rounded = np.round(batch.gaps[theirs], 12)
        partners = (batch.left + batch.right - person)[theirs]
        assert summary.partner_of[person] == partners[rounded == rounded.max()].min()
        assert summary.worst_gap_of[person] == batch.gaps[theirs].max()
    assert set(summary.partner_of[summary.worst_gap_of == summary.worst_gap_of.max()]) <= set(rows_to_show(summary))


@pytest.mark.parametrize("most", [0, 1, 1_000, 150_000, 2_000_000])
def test_pairs_kept_of_many_parts_are_those_with_the_lowest_keys(most: int) -> None:
    random = np.random.default_rng(most)
    left, right = random.integers(2**31, size=(2, 1_000_000)).astype(np.int32)
    keys, kept, most_held = pair_keys(left, right, 5), KeptPairs(most, 5), []
    for some in np.split(random.permutation(1_000_000), 100):
        kept.take(keys[some], left[some], right[some])
        most_held.append(sum(len(part[0]) for part in kept._parts))
    lowest = np.argsort(keys)[:most]
    order = lowest[np.lexsort([right[lowest], left[lowest]])]
    np.testing.assert_array_equal(kept.to_rows(), [left[order], right[order]])
    for name, expected in {"key": keys, "left": left, "right": right}.items():
        np.testing.assert_array_equal(kept.to_columns()[name], expected[order])
    assert max(most_held) <= 1.25 * most + 100_000


def test_of_pairs_with_one_key_the_earlier_rows_are_kept() -> None:
    kept = KeptPairs(3, 0)
    kept.take(np.full(7, 2**63, np.uint64), np.arange(7, dtype=np.int32)[::-1], np.full(7, 9, np.int32))
    assert kept.to_rows()[0].tolist() == [0, 1, 2]


def test_summaries_of_different_shapes_are_not_merged() -> None:
    batch, shape = make_pairs(0)
    other = PairSummary(SummaryShape(n_people=1, n_labels=1, n_combinations=1, largest=1.0, limit=0.1, n_kept=0))
    with pytest.raises(LikewiseError, match="different shapes"):
        summary_of(shape, batch).merge(other)
