"""What is found is what the definition says, in the same order, however it is asked and searched for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise import CodedTable, Comparability, count_pairs, group_pairs, iter_pairs, mine_pairs, sample_pairs
from likewise.comparable._internal import Bunch, visit_pairs
from likewise.comparable.engines import _exhaustive

N_TABLES = sized(50, 1_000)
N_TABLES_BY_OTHER_WAYS = sized(12, 100)


@pytest.fixture(params=["small tables", "compiled"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search small tables as they are searched, and as large ones are."""
    if request.param == "compiled":
        monkeypatch.setattr(_exhaustive, "MOST_COMPARISONS", -1)


def for_all(strategy: st.SearchStrategy[Any], n_examples: int, check: Callable[[Any], None]) -> None:
    settings(max_examples=n_examples)(given(strategy)(check))()


def as_rows(pairs: Any) -> list[list[int]]:
    rows: list[list[int]] = np.column_stack([pairs.left, pairs.right]).tolist()
    return rows


def test_pairs_are_those_of_the_definition_in_order(cases: st.SearchStrategy[Any]) -> None:
    def check(case: Any) -> None:
        pairs = mine_pairs(*case.question)
        assert as_rows(pairs) == case.expected.tolist()
        assert pairs.is_complete
        assert pairs.left.dtype == pairs.right.dtype == np.int32

    for_all(cases, N_TABLES, check)


def test_counts_are_a_tally_of_the_pairs(cases: st.SearchStrategy[Any]) -> None:
    def check(case: Any) -> None:
        counts = count_pairs(*case.question)
        assert counts.counts == case.expected_counts
        assert counts.total == len(case.expected)

    for_all(cases, N_TABLES_BY_OTHER_WAYS, check)


def test_a_stream_is_the_list_in_pieces(cases: st.SearchStrategy[Any]) -> None:
    def check(case: Any) -> None:
        pieces = iter_pairs(*case.question)
        assert list(chain.from_iterable(map(as_rows, pieces))) == case.expected.tolist()

    for_all(cases, N_TABLES_BY_OTHER_WAYS, check)


def test_a_visit_sees_each_pair_once(cases: st.SearchStrategy[Any]) -> None:
    def check(case: Any) -> None:
        rows = np.arange(len(case.left))

        def start(rows_of: Any) -> Callable[[Bunch], list[list[int]]]:
            return lambda bunch: [
                sorted([int(row_at[first]), int(row_at[second])])
                for numbers in (bunch.people if len(bunch.people) else rows,)
                for row_at in (numbers if rows_of is None else rows_of[numbers],)
                for first, second in zip(np.repeat(bunch.firsts, bunch.counts), bunch.seconds, strict=True)
            ]

        seen = [pairs for _, pairs in visit_pairs(case.left, case.rule, start)]
        assert sorted(chain.from_iterable(seen)) == case.expected.tolist()

    for_all(cases.filter(lambda case: case.right is None), N_TABLES_BY_OTHER_WAYS, check)


def test_a_limit_gives_the_first_pairs(cases: st.SearchStrategy[Any]) -> None:
    def check(case_and_limit: tuple[Any, int]) -> None:
        case, limit = case_and_limit
        pairs = mine_pairs(*case.question, limit=limit)
        assert as_rows(pairs) == case.expected[:limit].tolist()

    for_all(st.tuples(cases, st.integers(0, 12)), N_TABLES_BY_OTHER_WAYS, check)


def test_a_sample_is_of_true_pairs(cases: st.SearchStrategy[Any]) -> None:
    def check(case: Any) -> None:
        sample = sample_pairs(*case.question, n=5)
        expected = case.expected.tolist()
        sampled = as_rows(sample)
        assert sample.n_total == len(expected)
        assert len(sampled) == min(5, len(expected))
        assert sampled == [pair for pair in expected if pair in sampled]  # in order, none twice
        drawn = as_rows(sample_pairs(*case.question, n=2, total="estimate"))
        assert drawn == [pair for pair in expected if pair in drawn]

    for_all(cases, N_TABLES_BY_OTHER_WAYS, check)


def test_small_tables_are_grouped_as_large_ones(monkeypatch: pytest.MonkeyPatch, cases: st.SearchStrategy[Any]) -> None:
    def ask(case: Any) -> list[Any]:
        grouped = group_pairs(case.left, case.rule)
        return [grouped.left.tolist(), grouped.right.tolist(), grouped.group_of.tolist(), grouped.n_total]

    def check(case: Any) -> None:
        small = ask(case)
        with monkeypatch.context() as patched:
            patched.setattr(_exhaustive, "MOST_COMPARISONS", -1)
            assert ask(case) == small

    for_all(cases, N_TABLES_BY_OTHER_WAYS, check)


def test_a_shift_of_exactly_the_limit_is_near() -> None:
    values = np.arange(41)[:, None] / 40
    table = CodedTable(sensitive=np.arange(41)[:, None], continuous=values)
    pairs = mine_pairs(table, Comparability(max_continuous_shift=1 / 40))
    assert as_rows(pairs) == [[i, i + 1] for i in range(40)]


def test_rows_that_are_all_equal_pair_up_only_if_nothing_has_to_differ() -> None:
    n_rows = 30
    same = CodedTable(
        sensitive=np.ones((n_rows, 1), int), discrete=np.ones((n_rows, 3), int), continuous=np.full((n_rows, 2), 0.5)
    )
    alike = Comparability(sensitive_differs="none")
    assert len(mine_pairs(same, alike)) == n_rows * (n_rows - 1) // 2
    assert count_pairs(same, alike).counts == {(0, (1,), (1,)): n_rows * (n_rows - 1) // 2}
    assert count_pairs(same, same, alike).total == n_rows**2
    assert len(mine_pairs(same, Comparability())) == 0


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e300])
def test_values_of_any_size_are_compared_exactly(scale: float) -> None:
    random = np.random.default_rng(3)
    steps = random.integers(-9, 10, 60) / 8  # so that some are equal: no limit is as large as the largest
    table = CodedTable(
        sensitive=random.integers(0, 2, (60, 1)),
        continuous=np.column_stack([steps * scale, random.normal(size=60)]),
        labels=[0] * 60,
    )
    rule = Comparability(max_continuous_shift=[min(scale / 8, 1.0), 0.5])
    left, right = np.triu_indices(60, 1)
    near = rule.holds(table[left], table[right])
    assert near.any()
    assert as_rows(mine_pairs(table, rule)) == np.column_stack([left[near], right[near]]).tolist()


@pytest.mark.long(4)
@pytest.mark.parametrize(("n_columns", "max_changes"), [(30, 3), (12, 1), (12, 3), (40, 36)])
def test_many_discrete_columns_are_no_obstacle(n_columns: int, max_changes: int) -> None:
    random = np.random.default_rng(n_columns)
    centres = random.integers(0, 5, (6, n_columns))[random.integers(0, 6, 120)]
    noise = random.random(centres.shape) < 1.2 * max_changes / n_columns / 2
    discrete = np.where(noise, random.integers(0, 1_000, centres.shape), centres)
    table = CodedTable(sensitive=random.integers(0, 3, (120, 1)), discrete=discrete, labels=random.integers(0, 2, 120))
    rule = Comparability(max_discrete_changes=max_changes)
    left, right = np.triu_indices(120, 1)
    near = rule.holds(table[left], table[right])
    assert near.any()
    assert not near.all()
    pairs = mine_pairs(table, rule)
    assert as_rows(pairs) == np.column_stack([left[near], right[near]]).tolist()
    assert count_pairs(table, rule).total == len(pairs)
