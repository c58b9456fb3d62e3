"""Sorting on all cores, and what else is shared among them: the same result as on one."""

from __future__ import annotations

import gc
import threading
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest

from likewise import _ranking, _threads
from likewise._ranking import Levels, rank_many, rank_numbers, sort_keys, sort_numbers, sort_rows
from likewise._threads import make_ahead, share_calls, share_rows, share_work


@pytest.mark.parametrize("n_cores", [1, 3, 16])
@pytest.mark.parametrize("n_values", [1, 7, 2_000])
def test_numbers_are_ranked_as_numpy_ranks_them(n_cores: int, n_values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ranking, "FEW", 0)
    monkeypatch.setattr(_threads, "FEWEST_ROWS", 3)
    monkeypatch.setattr(_ranking, "SAMPLED", 100)
    for module in (_threads, _ranking):
        monkeypatch.setattr(module, "n_cores", lambda: n_cores)
    values = np.random.default_rng(n_values).integers(0, n_values, 5_000) / 7 - 3
    values[:2] = 0.0, -0.0  # equal, whatever their sign
    distinct, ranks = np.unique(values, return_inverse=True)
    for rank in (rank_numbers, rank_many):
        found = rank(values)
        assert np.array_equal(found[0], ranks)
        assert np.array_equal(found[1], distinct)
    order, ordered = sort_rows(values)
    assert np.array_equal(order, np.argsort(values, kind="stable"))
    assert np.array_equal(ordered, values[order])
    levels = Levels.of(values)
    assert np.array_equal(levels.of_rows, ranks)
    assert levels.n == len(distinct)
    assert np.array_equal(levels.count(), np.bincount(ranks))
    rows, is_last = levels.descend()
    assert np.array_equal(rows, np.argsort(-ranks, kind="stable"))
    assert np.array_equal(np.flatnonzero(is_last), np.cumsum(np.bincount(ranks)[::-1]) - 1)
    whole = np.random.default_rng(0).integers(0, 2**64, 5_000, np.uint64)
    whole[::2] >>= np.uint64(50)  # many are equal
    order, ordered = sort_rows(whole)
    assert np.array_equal(order, np.argsort(whole, kind="stable"))
    assert np.array_equal(ordered, whole[order])
    signed = np.random.default_rng(0).integers(-(2**40), 2**40, 5_000)
    assert np.array_equal(sort_numbers(signed), np.sort(signed))


@pytest.mark.parametrize("few", [0, 100_000])  # numbers that are sorted as a whole
@pytest.mark.parametrize("width", [1e-12, 1e-300, 1.0, 1e300])
def test_numbers_that_agree_in_their_leading_digits_are_told_apart(
    width: float, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ranking, "FEW", few)
    random = np.random.default_rng(0)
    values = np.concatenate([random.normal(0, width, 3_000), random.normal(1, min(width, 1), 3_000), [np.inf, -np.inf]])
    ranks, distinct = rank_many(values)
    assert np.array_equal(distinct, np.unique(values))
    assert np.array_equal(distinct[ranks], values)


@pytest.mark.parametrize("few", [0, 100_000])
@pytest.mark.parametrize("n_bits", [3, 20, 30])
def test_numbers_stay_as_they_are_where_there_is_room_to_sort_them(
    n_bits: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ranking, "FEW", few)
    numbers = np.random.default_rng(0).integers(0, 2**n_bits, 3_000).astype(np.uint32)
    before = numbers.copy()
    ordered, rows = sort_keys(numbers, np.uint32(0), n_bits, np.empty_like(numbers))
    assert np.array_equal(numbers, before)
    assert np.array_equal(rows, np.argsort(before, kind="stable"))
    assert np.array_equal(ordered, before[rows])


def test_work_is_shared_in_order_and_its_first_error_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "n_cores", lambda: 4)
    monkeypatch.setattr(_threads, "FEWEST_ROWS", 10)
    found = share_calls({name: partial(str.upper, name) for name in "cab"})
    assert list(found.items()) == [("c", "C"), ("a", "A"), ("b", "B")]
    rows = np.zeros(101)
    share_rows(lambda part: rows.__setitem__(part, rows[part] + 1), len(rows))
    assert (rows == 1).all()

    def fail(part: int) -> None:
        if part:
            raise ValueError(f"part {part}")

    with pytest.raises(ValueError, match="part 1"):
        share_work(fail, range(4))


def test_shared_work_may_share_work_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "n_cores", lambda: 4)
    done = np.zeros((8, 8, 8), np.int64)

    def add(*place: int) -> None:
        if len(place) == 3:
            done[place] += 1
        else:
            share_work(partial(add, *place), range(8))

    add()
    assert (done == 1).all()


def test_nothing_that_work_holds_is_kept_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "n_cores", lambda: 16)

    class Table:
        """Something large."""

    table = Table()
    is_there = weakref.ref(table)
    share_work(partial(lambda table, part: None, table), range(16))
    del table
    assert is_there() is None


def test_an_error_keeps_nothing_of_the_part_that_raised_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "n_cores", lambda: 4)
    kept: list[weakref.ref[Any]] = []

    def fail(part: int) -> None:
        large = np.empty(10)
        kept.append(weakref.ref(large))
        raise MemoryError

    gc.disable()
    try:
        with pytest.raises(MemoryError):
            share_work(fail, range(8))
        assert all(large() is None for large in kept)
    finally:
        gc.enable()


def test_work_is_done_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_threads, "n_cores", lambda: 23)  # for which there are none yet
    monkeypatch.setattr(threading.Thread, "start", fail)
    done = np.zeros(50)
    share_work(lambda part: done.__setitem__(part, 1), range(50))
    assert done.all()
    assert [*make_ahead(lambda part: part, range(5), 1)] == [*range(5)]


@pytest.mark.parametrize("n_ahead", [0, 1, 2])
def test_what_is_made_ahead_comes_in_order_and_is_bounded(n_ahead: int) -> None:
    made: list[int] = []

    def make(part: int) -> int:
        made.append(part)
        return part

    for n_used, part in enumerate(make_ahead(make, range(6), n_ahead)):
        assert part == n_used
        assert len(made) <= n_used + 1 + n_ahead
    assert sorted(made) == [*range(6)]


@pytest.mark.parametrize("n_ahead", [0, 1])
def test_after_an_error_nothing_more_is_made_ahead(n_ahead: int) -> None:
    made: list[int] = []

    def make(part: int) -> int:
        made.append(part)
        if part == 2:
            raise ValueError("the third")
        return part

    used: list[int] = []
    with pytest.raises(ValueError, match="the third"):
        used.extend(make_ahead(make, range(9), n_ahead))
    assert used == [0, 1]
    assert len(made) <= 3 + n_ahead


def test_what_is_made_ahead_is_kept_once() -> None:
    class Large:
        pass

    parts = make_ahead(lambda part: Large(), range(4), 1)
    for part in parts:
        kept = weakref.ref(part)
        del part
        assert kept() is None


def test_nothing_is_waited_for_that_is_made_ahead_for_nobody() -> None:
    is_over, has_begun, made = threading.Event(), threading.Event(), [0]

    def make(part: int) -> int:
        if part:
            has_begun.set()
            is_over.wait(30)
            made.append(part)
        return part

    parts = make_ahead(make, range(4), 1)
    assert next(parts) == 0
    assert has_begun.wait(30)
    parts.close()  # type: ignore[attr-defined]  # it is a generator
    assert made == [0]
    is_over.set()


def test_an_interrupt_is_raised_whatever_helpers_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "n_cores", lambda: 2)
    has_begun, has_failed = threading.Event(), threading.Event()

    def fail(part: int) -> None:
        if threading.current_thread() is threading.main_thread():
            has_begun.set()
            assert has_failed.wait(30)
            raise KeyboardInterrupt
        assert has_begun.wait(30)  # or nothing would be left for the thread that is interrupted
        has_failed.set()
        raise ValueError

    with pytest.raises(KeyboardInterrupt):
        share_work(fail, range(2))
