"""What the front door promises: bounds, samples, groups, and words for what cannot be done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.sizes import sized

from likewise import (
    CodedTable,
    Comparability,
    count_pairs,
    group_pairs,
    iter_pairs,
    mine_pairs,
    sample_pairs,
)
from likewise.exceptions import PairsSampled, RuleError, TooManyPairs


def crowd(n_rows: int) -> CodedTable:
    """People who are all comparable to each other."""
    return CodedTable(sensitive=np.arange(n_rows)[:, None], labels=np.ones(n_rows, int))


def test_groups_are_the_pairs_compressed(cases: st.SearchStrategy[Any]) -> None:
    @settings(max_examples=sized(20, 200))
    @given(cases)
    def check(case: Any) -> None:
        groups = group_pairs(case.left, case.rule)
        pairs = mine_pairs(case.left, case.rule)
        of_pairs = np.sort(np.column_stack([groups.group_of[pairs.left], groups.group_of[pairs.right]]), axis=1)
        found, n = np.unique(of_pairs, axis=0, return_counts=True)
        assert found.tolist() == np.column_stack([groups.left, groups.right]).tolist()
        assert n.tolist() == groups.n_pairs.tolist()
        assert groups.n_total == len(pairs)

    check()


@pytest.mark.parametrize("rule", [Comparability(), Comparability(3, 1.0, 9)])  # the second lets everything differ
def test_rows_of_a_group_are_equal_in_everything_that_is_compared(rule: Comparability) -> None:
    random = np.random.default_rng(0)
    kinds = ("sensitive", "discrete", "ordinal", "matched", "continuous")
    columns: dict[str, Any] = {kind: random.integers(0, 2, (200, 2)) for kind in kinds}
    table = CodedTable(**columns, labels=random.integers(0, 2, 200))
    groups = group_pairs(table, rule)
    rows = np.column_stack([table.labels, *(getattr(table, kind) for kind in kinds)])
    assert len(groups.sizes) == len(np.unique(rows, axis=0)) < 200
    for group in range(len(groups.sizes)):
        assert len(np.unique(rows[groups.group_of == group], axis=0)) == 1


@pytest.mark.parametrize("unknown", [-1, 3])
def test_numbers_of_no_group_are_refused(unknown: int) -> None:
    groups = replace(group_pairs(crowd(3), Comparability()), right=np.array([1, unknown, 2], np.int32))
    with pytest.raises(IndexError, match="from 0 to 2; others occur"):
        _ = groups.n_total


@pytest.mark.parametrize("right", [np.array([1], np.int32), np.array([1.0, 2.0, 2.0]), np.arange(4)])
def test_sides_of_pairs_of_groups_that_do_not_go_together_are_refused(right: Any) -> None:
    groups = replace(group_pairs(crowd(3), Comparability()), right=right)
    with pytest.raises(ValueError, match=f"there are 3 of int32 and {len(right)} of {right.dtype}"):
        _ = groups.n_pairs


def test_pairs_of_groups_that_do_not_fit_are_refused() -> None:
    assert len(group_pairs(crowd(10), Comparability(), memory_limit=45 * 8)) == 45
    with pytest.raises(TooManyPairs, match="pairs of groups of equal rows take more than"):
        group_pairs(crowd(10), Comparability(), memory_limit=44 * 8)


@pytest.mark.parametrize("sensitive", [np.zeros(40, int), np.arange(40)])
def test_a_stream_of_no_pairs_is_empty(sensitive: Any) -> None:
    nobody_alike = CodedTable(sensitive=sensitive[:, None], labels=sensitive)
    assert list(iter_pairs(nobody_alike, Comparability())) == []


def test_pairs_that_do_not_fit_are_counted_and_sampled_and_it_says_so() -> None:
    table = crowd(500)
    with pytest.warns(PairsSampled, match=r"The 124,750 comparable pairs of 500 rows .* sample of 1,000 is returned"):
        pairs = mine_pairs(table, Comparability(), memory_limit=8_000)
    assert (len(pairs), pairs.n_total, pairs.is_complete) == (1_000, 124_750, False)
    with pytest.raises(TooManyPairs, match="124,750 comparable pairs"):
        mine_pairs(table, Comparability(), memory_limit="8 kB", when_too_many="error")


def test_exactly_what_is_allowed_fits() -> None:
    assert mine_pairs(crowd(10), Comparability(), memory_limit=45 * 8).is_complete


def test_a_limit_beyond_the_memory_does_not_pass_it() -> None:
    with pytest.warns(PairsSampled):
        assert len(mine_pairs(crowd(500), Comparability(), limit=100_000, memory_limit=8_000)) == 1_000


def test_a_limit_is_not_a_total() -> None:
    some = mine_pairs(crowd(10), Comparability(), limit=3)
    assert (len(some), some.n_total, some.is_complete) == (3, None, False)
    every = mine_pairs(crowd(3), Comparability(), limit=3)
    assert (len(every), every.n_total, every.is_complete) == (3, 3, True)


@pytest.mark.long(2)
@pytest.mark.parametrize("repeats", [1, 5])
def test_every_pair_is_drawn_as_often_as_any_other(repeats: int) -> None:
    table = CodedTable(sensitive=np.repeat(np.arange(8), repeats)[:, None])
    total = count_pairs(table, Comparability()).total
    n_rows, drawn = len(table), np.zeros(len(table) ** 2, int)
    n_draws = sized(300, 1_500)
    for seed in range(n_draws):
        sample = sample_pairs(table, Comparability(), n=7, random_state=seed)
        assert len(sample) == 7
        np.add.at(drawn, sample.left * n_rows + sample.right, 1)
    pairs = mine_pairs(table, Comparability())
    counts = drawn[pairs.left * n_rows + pairs.right]
    assert counts.sum() == 7 * n_draws  # no other pair was drawn
    assert len(counts) == total
    assert stats.chisquare(counts).pvalue > 1e-3


def test_billions_of_pairs_are_counted_and_sampled_without_being_listed() -> None:
    n_rows = 200_000
    table = CodedTable(sensitive=(np.arange(n_rows) % 2)[:, None], continuous=np.full((n_rows, 1), 0.5))
    assert count_pairs(table, Comparability()).total == 10_000_000_000
    sample = sample_pairs(table, Comparability(), n=1_000)
    assert sample.n_total == 10_000_000_000
    assert (sample.left < sample.right).all()
    assert (sample.left % 2 != sample.right % 2).all()


def test_counts_of_very_many_kinds_of_people_are_exact() -> None:
    n_rows = 2_200  # as many combinations, so that a table of every two of them is out of the question
    table = CodedTable(sensitive=np.arange(n_rows)[:, None], labels=np.arange(n_rows) // 2)
    counts = count_pairs(table, Comparability())
    assert counts.counts == {(i // 2, (i,), (i + 1,)): 1 for i in range(0, n_rows, 2)}


def test_what_pairs_tell_of_their_rows_holds_between_tables_of_other_codes() -> None:
    left = CodedTable(
        sensitive=[[0, 0]], labels=[0], classes=["yes"], categories={"sensitive_0": ("f",), "sensitive_1": ("old",)}
    )
    right = CodedTable(
        sensitive=[[0, 1]],
        labels=[1],
        classes=["no", "yes"],
        categories={"sensitive_0": ("m", "f"), "sensitive_1": ("young", "old")},
    )
    pairs = mine_pairs(left, right, Comparability())
    assert pairs.label.tolist() == ["yes"]
    assert count_pairs(left, right, Comparability()).counts == {("yes", ("f", "old"), ("m", "old")): 1}


def test_the_label_is_the_users_own_value() -> None:
    table = replace(crowd(3), labels=np.array([0, 1, 1], np.int32), classes=np.array(["bad", "good"]))
    assert mine_pairs(table, Comparability()).label.tolist() == ["good"]


def test_streams_stay_small() -> None:
    n_rows = 5_000
    sizes = [len(some) for some in iter_pairs(crowd(n_rows), Comparability())]
    assert sum(sizes) == n_rows * (n_rows - 1) // 2
    assert max(sizes) <= 1 << 21


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t, r: mine_pairs(t), RuleError, "The rule is None; give a Comparability"),
        (lambda t, r: mine_pairs(t, r, r), RuleError, "Two rules were given"),
        (lambda t, r: mine_pairs(t.labels, r), RuleError, "not in a ndarray"),
        (lambda t, r: mine_pairs(cast(Any, None), r), RuleError, "not in a NoneType"),
        (lambda t, r: mine_pairs(t, r, limit=-1), ValueError, "limit is -1"),
        (lambda t, r: mine_pairs(t, r, memory_limit="much"), ValueError, "memory_limit is 'much'"),
        (lambda t, r: sample_pairs(t, r, n=cast(Any, 2.5)), ValueError, "n is 2.5"),
        (lambda t, r: sample_pairs(t, r, n=cast(Any, None)), ValueError, "n is None; give a whole number"),
        (lambda t, r: mine_pairs(t[[]], CodedTable(discrete=[[1]]), r), ValueError, "different sensitive columns"),
        (lambda t, r: mine_pairs(CodedTable(discrete=[[1]]), r), RuleError, "the table has none"),
        (lambda t, r: mine_pairs(t, replace(r, must_match=("age",))), RuleError, r"must_match names \['age'\]"),
    ],
)
def test_bad_questions_are_refused_in_words(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(crowd(3), Comparability())
