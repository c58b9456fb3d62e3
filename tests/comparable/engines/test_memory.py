"""The memory engine gives the same pairs however it goes about it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.sizes import sized

from likewise import CodedTable, Comparability, count_pairs, group_pairs, iter_pairs, mine_pairs, sample_pairs
from likewise.comparable._internal import visit_pairs
from likewise.comparable.engines import _asking, _columns, _exhaustive, _plan, _problem, _repeated, _search


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search by the compiled kernels, however small the table."""
    monkeypatch.setattr(_exhaustive, "MOST_COMPARISONS", -1)


PLANS = list(product(range(4), (False, True), (False, True)))


def rows_of(pairs: Any) -> NDArray[np.int64]:
    return np.column_stack([pairs.left, pairs.right]).astype(np.int64)


def by_definition(table: CodedTable, rule: Comparability, block: int = 500) -> NDArray[np.int64]:
    """Compare every two rows, some at a time."""
    found = []
    for start in range(0, len(table), block):
        left, right = (i.ravel() for i in np.mgrid[start : min(start + block, len(table)), 0 : len(table)])
        left, right = left[left < right], right[left < right]
        near = rule.holds(table[left], table[right])
        found.append(np.column_stack([left[near], right[near]]))
    return np.concatenate(found)


def rows_visited(case: Any) -> list[list[int]]:
    """Visit all pairs within one table; between two, list them."""
    if case.right is not None:
        listed: list[list[int]] = rows_of(mine_pairs(*case.question)).tolist()
        return listed

    def start(rows: Any) -> Any:
        def visit(bunch: Any) -> NDArray[np.int64]:
            places = np.column_stack([np.repeat(bunch.firsts, bunch.counts), bunch.seconds])
            numbers = bunch.people[places] if len(bunch.people) else places
            return np.sort(numbers if rows is None else rows[numbers], axis=1)

        return visit

    seen = [pairs for _, pairs in visit_pairs(case.left, case.rule, start)]
    return sorted(np.concatenate([np.empty((0, 2), int), *seen]).tolist())


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Follow a plan of the test's choice, on tables of any size."""
    monkeypatch.setattr(_plan, "SMALL", -1)

    def follow(which: int, has_cells: bool, splits: bool) -> None:
        def choose(packed: Any, partitions: Any, max_changes: int, may_split: bool) -> Any:
            return partitions[which % len(partitions)], has_cells and packed.cell is not None

        monkeypatch.setattr(_plan, "choose_cheapest", choose)
        monkeypatch.setattr(_plan, "MOST_COMBINATIONS", 256 * splits)

    return follow


def ask_everything(case: Any) -> None:
    """List, stream, visit, count and sample the pairs of a case, and compare them with the definition's."""
    expected = case.expected.tolist()
    assert rows_of(mine_pairs(*case.question)).tolist() == expected
    streamed = [rows_of(some) for some in iter_pairs(*case.question)]
    assert np.concatenate([np.empty((0, 2), int), *streamed]).tolist() == expected
    assert rows_visited(case) == expected
    assert count_pairs(*case.question).counts == case.expected_counts
    sample = sample_pairs(*case.question, n=3)
    assert sample.n_total == len(expected)
    sampled = rows_of(sample).tolist()
    assert sampled == [pair for pair in expected if pair in sampled]


def test_no_plan_changes_the_answer(planned: Any, cases: st.SearchStrategy[Any]) -> None:
    @settings(max_examples=sized(24, 400))
    @given(cases, st.sampled_from(PLANS))
    def check(case: Any, plan: tuple[int, bool, bool]) -> None:
        planned(*plan)
        ask_everything(case)

    check()


@pytest.mark.parametrize("n_cores", [1, 5])
def test_short_of_room_it_goes_on_where_it_got_to(
    n_cores: int, planned: Any, monkeypatch: pytest.MonkeyPatch, cases: st.SearchStrategy[Any]
) -> None:
    monkeypatch.setattr(_asking, "n_cores", lambda: n_cores)
    monkeypatch.setattr(_asking, "PART", 4)
    monkeypatch.setattr(_asking, "ROOM", 3)
    for module in (_search, _repeated):
        monkeypatch.setattr(module, "CHUNK", 3)

    @settings(max_examples=sized(24, 400))
    @given(cases, st.sampled_from(PLANS))
    def check(case: Any, plan: tuple[int, bool, bool]) -> None:
        planned(*plan)
        ask_everything(case)

    check()


def test_what_does_not_fit_is_searched_row_after_row(
    monkeypatch: pytest.MonkeyPatch, cases: st.SearchStrategy[Any]
) -> None:
    monkeypatch.setattr(_search, "IN_LIST", 1 << 24)  # four pairs or so
    monkeypatch.setattr(_repeated, "OF_ENTRY", 1 << 60)  # nothing of the lists of groups

    @settings(max_examples=sized(20, 200))
    @given(cases)
    def check(case: Any) -> None:
        streamed = [rows_of(some) for some in iter_pairs(*case.question, memory_limit="64 MB")]
        assert np.concatenate([np.empty((0, 2), int), *streamed]).tolist() == case.expected.tolist()
        sample = sample_pairs(*case.question, n=3, memory_limit="64 MB")
        assert sample.n_total == len(case.expected)
        sampled = rows_of(sample).tolist()
        assert sampled == [pair for pair in case.expected.tolist() if pair in sampled]

    check()


@pytest.mark.parametrize("multiplier", [0, 1])  # all rows have one hash; or all the upper half of it
def test_rows_that_share_a_hash_are_told_apart(
    multiplier: int, planned: Any, monkeypatch: pytest.MonkeyPatch, cases: st.SearchStrategy[Any]
) -> None:
    def groups_of(case: Any) -> list[list[int]]:
        grouped = group_pairs(case.left, case.rule)
        return [grouped.left.tolist(), grouped.right.tolist(), grouped.group_of.tolist()]

    @settings(max_examples=sized(20, 200))
    @given(cases, st.sampled_from(PLANS))
    def check(case: Any, plan: tuple[int, bool, bool]) -> None:
        planned(*plan)
        expected = groups_of(case)
        with monkeypatch.context() as patched:
            patched.setattr(_columns, "MULTIPLIER", np.uint64(multiplier))
            ask_everything(case)
            assert groups_of(case) == expected

    check()


def test_counts_of_too_many_kinds_for_a_table_are_the_same(
    monkeypatch: pytest.MonkeyPatch, cases: st.SearchStrategy[Any]
) -> None:
    monkeypatch.setattr(_problem, "MOST_TALLIED", 0)

    @settings(max_examples=sized(20, 200))
    @given(cases)
    def check(case: Any) -> None:
        assert count_pairs(*case.question).counts == case.expected_counts

    check()


PLANNED = [
    (0, 1, 3, 1, 0.05),  # nothing but windows
    (2, 2, 2, 1, 0.02),
    (3, 2, 2, 3, 0.02),  # everything discrete may change
    (6, 4, 1, 2, 0.05),
    (12, 3, 0, 3, 0.0),
    (4, 5, 0, 1, 0.0),  # most rows repeat
    (70, 2, 0, 66, 0.0),  # more changes than a set of blocks can hold
]


@pytest.mark.long(9)
@pytest.mark.parametrize(
    ("n_discrete", "n_codes", "n_continuous", "max_changes", "shift", "differs"),
    [(*plan, differs) for differs, plan in product(["any", "all", "none"], PLANNED)],
)
def test_tables_large_enough_to_be_planned_for(
    n_discrete: int, n_codes: int, n_continuous: int, max_changes: int, shift: float, differs: Any
) -> None:
    random = np.random.default_rng(n_discrete)
    n_rows = 700 if n_discrete == 70 else sized(2_100, 2_500)
    codes = random.integers(0, n_codes, (n_rows, n_discrete))
    if n_discrete == 70:
        codes = (codes + random.integers(0, 2, (n_rows, 1))) % 2  # nearly opposite rows occur
    table = CodedTable(
        sensitive=random.choice(4, (n_rows, 2), p=[0.7, 0.1, 0.1, 0.1]),
        discrete=codes,
        continuous=random.random((n_rows, n_continuous)),
        labels=random.integers(0, 2, n_rows),
    )
    rule = Comparability(max_discrete_changes=max_changes, max_continuous_shift=shift, sensitive_differs=differs)
    expected = by_definition(table, rule)
    assert len(expected)
    assert np.array_equal(rows_of(mine_pairs(table, rule)), expected)
    assert np.array_equal(np.concatenate([rows_of(some) for some in iter_pairs(table, rule)]), expected)
    assert count_pairs(table, rule).total == len(expected)
    sample = sample_pairs(table, rule, n=50)
    assert sample.n_total == len(expected)
    assert {tuple(row) for row in rows_of(sample)} <= {tuple(row) for row in expected}
