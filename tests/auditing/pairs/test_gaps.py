"""The metrics of single pairs, by their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import CodedTable, Comparability, mine_pairs
from likewise.auditing import describe_gaps, find_flips, rank_gaps, rank_scores, score_gaps, signed_gaps
from likewise.exceptions import ScoreError

INCREASING = (lambda s: s / 2 + 0.1, np.square, lambda s: np.exp(3 * s), lambda s: -1 / (s + 1))


def test_promises_of_gaps(scored_pairs: st.SearchStrategy[Any]) -> None:
    @settings(max_examples=sized(37, 150))
    @given(scored_pairs, st.randoms(use_true_random=False))
    def check(case: Any, random: Any) -> None:
        pairs, scores = case
        gaps = score_gaps(pairs, scores)
        # the definition
        assert gaps.tolist() == [abs(scores[a] - scores[b]) for a, b in zip(pairs.left, pairs.right, strict=True)]
        # swapping the two of a pair changes signed gaps only
        swapped = type(pairs)(pairs.right, pairs.left)
        assert (signed_gaps(swapped, scores) == -signed_gaps(pairs, scores)).all()
        assert (score_gaps(swapped, scores) == gaps).all()
        assert (rank_gaps(swapped, scores) == rank_gaps(pairs, scores)).all()
        assert (np.abs(signed_gaps(pairs, scores)) == gaps).all()
        # the order of the rows does not matter
        order = list(range(len(scores)))
        random.shuffle(order)
        place = np.argsort(order)
        moved = type(pairs)(place[pairs.left], place[pairs.right])
        assert (score_gaps(moved, scores[order]) == gaps).all()
        assert (rank_gaps(moved, scores[order]) == rank_gaps(pairs, scores)).all()
        # two columns of probabilities say what one does
        both = np.column_stack([1 - scores, scores])
        assert score_gaps(pairs, both) == pytest.approx(gaps)
        assert rank_gaps(pairs, both) == pytest.approx(rank_gaps(pairs, scores))

    check()


def test_rank_gaps_are_the_same_under_any_strictly_increasing_change(scored_pairs: st.SearchStrategy[Any]) -> None:
    @settings(max_examples=sized(37, 150))
    @given(scored_pairs, st.sampled_from(INCREASING))
    def check(case: Any, change: Any) -> None:
        pairs, scores = case
        assert (rank_gaps(pairs, change(scores)) == rank_gaps(pairs, scores)).all()

    check()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_a_rank_is_the_share_of_people_scored_below_and_half_of_those_scored_alike(scores: list[int]) -> None:
    expected = [(sum(o < s for o in scores) + sum(o == s for o in scores) / 2) / len(scores) for s in scores]
    assert rank_scores(scores) == pytest.approx(expected)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=50), st.sampled_from([0.0, 0.1, 0.5]))
def test_gaps_are_summed_up_as_numpy_does(thousandths: list[int], limit: float) -> None:
    gaps = [gap / 1000 for gap in thousandths]
    summary = describe_gaps(gaps, limit=limit)
    assert summary["mean"] == pytest.approx(np.mean(gaps))
    for name, share in (("median", 0.5), ("q3", 0.75), ("q95", 0.95)):
        assert summary[name] == pytest.approx(np.quantile(gaps, share))
    assert summary["max"] == max(gaps)
    assert summary["share_above"] == sum(gap > limit for gap in gaps) / len(gaps)


def test_a_gap_at_the_limit_is_not_above_it() -> None:
    assert describe_gaps([0.9 - 0.8], limit=0.1)["share_above"] == 0


def test_a_constant_model_has_no_gaps(scored_pairs: st.SearchStrategy[Any]) -> None:
    @given(scored_pairs)
    def check(case: Any) -> None:
        pairs, scores = case
        assert not score_gaps(pairs, np.full_like(scores, 0.3)).any()
        assert not rank_gaps(pairs, np.full_like(scores, 0.3)).any()
        assert not find_flips(pairs, np.ones(len(scores))).any()

    check()


def test_the_gap_between_probabilities_of_several_labels_is_what_has_to_move() -> None:
    pairs = mine_pairs(CodedTable(sensitive=[[0], [1]]), Comparability())
    assert score_gaps(pairs, [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]).tolist() == [1.0]
    assert score_gaps(pairs, [[0.2, 0.3, 0.5], [0.3, 0.3, 0.4]]) == pytest.approx([0.1])


def test_no_gaps_no_summary() -> None:
    assert describe_gaps([]) == {}


def test_bad_scores_are_refused() -> None:
    table = CodedTable(sensitive=[[0], [1]])
    pairs = mine_pairs(table, Comparability())
    with pytest.raises(ScoreError, match="1 scores, but the pairs point at 2 rows"):
        score_gaps(pairs, [0.5])
    with pytest.raises(ScoreError, match="NaN"):
        rank_gaps(pairs, [0.5, np.nan])
    with pytest.raises(ScoreError, match="one score per person"):
        signed_gaps(pairs, [[0.5, 0.5], [0.1, 0.9]])
    with pytest.raises(ScoreError, match="between two tables"):
        score_gaps(mine_pairs(table, CodedTable(sensitive=[[1], [0]]), Comparability()), [0.5, 0.5])
