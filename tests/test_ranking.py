"""Ranks and levels of numbers; and work that is shared among cores: the same result as on one."""

from __future__ import annotations

import gc
import threading
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest

from likewise import _threads
from likewise._ranking import Levels, order_rows, rank_numbers
from likewise._threads import answer_in_parts, share_calls, share_rows, share_work


@pytest.mark.parametrize("n_values", [1, 7, 2_000])
def test_numbers_are_ranked_and_ordered(n_values: int) -> None:
    values = np.random.default_rng(n_values).integers(0, n_values, 5_000) / 7 - 3
    values[:2] = 0.0, -0.0  # equal, whatever their sign
    ranks, distinct, below = rank_numbers(values)
    assert np.array_equal(distinct, sorted({*values.tolist()}))
    assert np.array_equal(distinct[ranks], values)
    assert below.tolist() == [*((values < one).sum() for one in distinct), len(values)]
    assert np.array_equal(order_rows(ranks), np.argsort(values, kind="stable"))
    assert order_rows(np.array([2**32 - 1, 0, 2**32 - 1])).tolist() == [1, 0, 2]
    levels = Levels.of(values)
    assert np.array_equal(levels.of_rows, ranks)
    assert levels.n == len(distinct)
    assert np.array_equal(levels.count(), np.bincount(ranks))


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
    assert [*answer_in_parts(lambda start, stop: (start, stop), 5, 1, 2)] == [(k + 1, k) for k in range(5)]


@pytest.mark.parametrize("n_threads", [1, 4])
def test_answers_go_on_where_they_got_to_and_do_not_pile_up(n_threads: int) -> None:
    n_answered = 0

    def answer(start: int, stop: int) -> tuple[range, int]:
        nonlocal n_answered
        n_answered += 1
        reached = min(stop, start + 7)
        return range(start, reached), reached

    seen: list[int] = []
    for n_done, some in answer_in_parts(answer, 1_000, 16, n_threads):
        seen.extend(some)
        assert n_done == len(seen)
        assert n_answered <= len(seen) / 2 + 2 * n_threads
    assert sorted(seen) == [*range(1_000)]


@pytest.mark.parametrize("n_threads", [1, 4])
def test_after_an_error_nothing_more_is_asked(n_threads: int) -> None:
    asked: list[int] = []

    def answer(start: int, stop: int) -> tuple[int, int]:
        asked.append(start)
        if start == 20:
            raise ValueError("the third")
        return start, stop

    with pytest.raises(ValueError, match="the third"):
        for _ in answer_in_parts(answer, 1_000, 10, n_threads):
            pass
    assert len(asked) <= 3 + 2 * n_threads


def test_whoever_stops_asking_waits_for_nobody() -> None:
    is_over, has_begun, answered = threading.Event(), threading.Event(), [0]

    def answer(start: int, stop: int) -> tuple[int, int]:
        if start:
            has_begun.set()
            is_over.wait(30)
            answered.append(start)
        return start, stop

    answers = answer_in_parts(answer, 40, 10, 2)
    assert next(answers) == (10, 0)
    assert has_begun.wait(30)
    answers.close()  # type: ignore[attr-defined]  # it is a generator
    assert answered == [0]
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
