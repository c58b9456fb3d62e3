"""The memory engine gives the same pairs however it goes about it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any
from weakref import ref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.sizes import sized

from likewise import CodedTable, Comparability, _threads, count_pairs, iter_pairs, mine_pairs, sample_pairs
from likewise.comparable._internal import visit_pairs
from likewise.comparable.engines import _columns
from likewise.comparable.engines.memory import _buckets, _exhaustive, _index, _joining, _parts, _queries


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search by the compiled kernels, however small the table."""
    monkeypatch.setattr(_exhaustive, "MOST_COMPARISONS", -1)


PLANS = list(product(range(4), range(3), (False, True)))


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
    monkeypatch.setattr(_buckets, "SMALL", -1)

    def follow(which: int, has_cells: int, splits: bool) -> None:
        def choose(packed: Any, partitions: Any, max_changes: int, sensitive_differs: str) -> Any:
            may_split = splits and sensitive_differs != "none"
            return partitions[which % len(partitions)], has_cells > 0 and packed.n_near > 1, may_split

        monkeypatch.setattr(_buckets, "_cheapest", choose)

    return follow


def test_no_plan_changes_the_answer(planned: Any, cases: st.SearchStrategy[Any]) -> None:
    @settings(max_examples=sized(24, 400))
    @given(cases, st.sampled_from(PLANS))
    def check(case: Any, plan: tuple[int, int, bool]) -> None:
        planned(*plan)
        assert rows_of(mine_pairs(*case.question)).tolist() == case.expected.tolist()
        streamed = [rows_of(some) for some in iter_pairs(*case.question)]
        assert np.concatenate([np.empty((0, 2), int), *streamed]).tolist() == case.expected.tolist()
        assert rows_visited(case) == case.expected.tolist()
        assert count_pairs(*case.question).counts == case.expected_counts

    check()


@pytest.mark.parametrize(("n_threads", "most"), [(2, 1), (5, 2)])  # many threads build the next one meanwhile
def test_few_indexes_are_in_memory_at_a_time(
    n_threads: int, most: int, planned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(0, 0, True)
    monkeypatch.setattr(_queries, "n_cores", lambda: n_threads)
    random = np.random.default_rng(0)
    columns: dict[str, Any] = {"discrete": random.integers(0, 3, (500, 4)), "continuous": random.random((500, 1))}
    people = CodedTable(sensitive=random.integers(0, 2, (500, 1)), **columns)
    rule = Comparability(max_discrete_changes=1, max_continuous_shift=0.2)
    built, under_way = list[Any](), list[int]()

    def note(*args: Any, **how: Any) -> Any:
        under_way.append(1)
        assert len(under_way) + sum(index() is not None for index in built) <= most
        index = _index.build_index(*args, **how)
        built.append(ref(index.order))
        under_way.pop()
        return index

    monkeypatch.setattr(_queries, "build_index", note)
    visits = visit_pairs(people, rule, lambda rows: lambda bunch: len(bunch.seconds))
    assert sum(n for _, n in visits) == count_pairs(people, rule).total
    assert len(built) > 2


def test_somebody_comparable_to_all_is_found_under_each_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_queries, "CHUNK", 100)
    monkeypatch.setattr(_queries, "FEWEST_PAIRS", 10)
    random = np.random.default_rng(0)
    discrete = random.integers(0, 6, (300, 3))
    discrete[:200] = 0  # more places to look at than people: each is found under every signature
    people = CodedTable(sensitive=np.zeros((300, 1), int), discrete=discrete, continuous=random.random((300, 1)))
    rule = Comparability(max_discrete_changes=1, max_continuous_shift=0.9, sensitive_differs="none")
    streamed = [rows_of(some) for some in iter_pairs(people, rule)]
    assert np.array_equal(np.concatenate(streamed), by_definition(people, rule))


@pytest.mark.parametrize("few_slots", [2, 4096])  # columns of several values are sorted, or looked up
def test_work_on_many_threads_changes_no_answer(
    few_slots: int, planned: Any, monkeypatch: pytest.MonkeyPatch, cases: st.SearchStrategy[Any]
) -> None:
    for module in (_threads, _queries):
        monkeypatch.setattr(module, "n_cores", lambda: 5)
    monkeypatch.setattr(_threads, "FEWEST_ROWS", 3)
    monkeypatch.setattr(_columns, "FEW_SLOTS", few_slots)
    monkeypatch.setattr(_parts, "MOST", 4)

    @settings(max_examples=sized(24, 400))
    @given(cases, st.sampled_from(PLANS))
    def check(case: Any, plan: tuple[int, int, bool]) -> None:
        planned(*plan)
        assert rows_of(mine_pairs(*case.question)).tolist() == case.expected.tolist()
        assert sum(map(len, iter_pairs(*case.question))) == len(case.expected)
        assert rows_visited(case) == case.expected.tolist()
        assert count_pairs(*case.question).counts == case.expected_counts

    check()


@pytest.mark.parametrize("fewest_weighed", [0, 1 << 18])  # parts of equal work, or of as many rows
def test_short_of_room_it_asks_again_in_halves(
    fewest_weighed: int, monkeypatch: pytest.MonkeyPatch, cases: st.SearchStrategy[Any]
) -> None:
    monkeypatch.setattr(_queries, "CHUNK", 3)
    monkeypatch.setattr(_queries, "MOST_GROUP_PAIRS", 5)  # groups are given up early, too
    monkeypatch.setattr(_joining, "FEWEST_WEIGHED", fewest_weighed)
    monkeypatch.setattr(_joining, "LONG", 0)

    @settings(max_examples=sized(20, 200))
    @given(cases)
    def check(case: Any) -> None:
        assert rows_of(mine_pairs(*case.question)).tolist() == case.expected.tolist()
        assert sum(map(len, iter_pairs(*case.question))) == len(case.expected)
        assert rows_visited(case) == case.expected.tolist()
        assert count_pairs(*case.question).total == len(case.expected)
        assert sample_pairs(*case.question, n=3).n_total == len(case.expected)

    check()


def test_short_of_memory_it_looks_up_less_at_a_time(
    monkeypatch: pytest.MonkeyPatch, cases: st.SearchStrategy[Any]
) -> None:
    monkeypatch.setattr(_queries, "MOST_PLACES", 1)  # one signature after the other; one alone, where order counts
    monkeypatch.setattr(_queries, "MOST_LOOKED_UP", 20)
    share = _queries.share_memory  # no room for the words of the nodes in their buckets
    monkeypatch.setattr(_queries, "share_memory", lambda *given: replace(share(*given), most_placed=0))

    @settings(max_examples=sized(20, 200))
    @given(cases)
    def check(case: Any) -> None:
        assert rows_of(mine_pairs(*case.question)).tolist() == case.expected.tolist()
        assert sum(map(len, iter_pairs(*case.question))) == len(case.expected)
        assert count_pairs(*case.question).counts == case.expected_counts

    check()


def test_a_few_queries_among_very_many_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    table = CodedTable(
        sensitive=random.integers(0, 3, (2_500, 1)),
        discrete=random.integers(0, 4, (2_500, 6)),
        continuous=random.random((2_500, 1)),
    )
    rule = Comparability(max_discrete_changes=2, max_continuous_shift=0.2)
    pairs = rows_of(mine_pairs(table, rule))
    monkeypatch.setattr(_queries, "MOST_LOOKED_UP", 1)  # each query is a part of its own
    assert np.array_equal(rows_of(mine_pairs(table, rule)), pairs)
    assert np.array_equal(np.concatenate([rows_of(some) for some in iter_pairs(table, rule)]), pairs)
    assert np.array_equal(pairs, by_definition(table, rule))


def test_counts_of_too_many_kinds_for_a_table_are_the_same(
    monkeypatch: pytest.MonkeyPatch, cases: st.SearchStrategy[Any]
) -> None:
    monkeypatch.setattr(_queries, "MOST_TALLIED", 0)

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
