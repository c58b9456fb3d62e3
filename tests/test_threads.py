"""Calls begun ahead give their results, or their errors, to whoever takes them."""

from __future__ import annotations

import threading

import pytest

from likewise import _threads
from likewise._threads import FEWEST_ROWS, begin


@pytest.fixture
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "n_cores", lambda: 4)


@pytest.mark.usefixtures("many_cores")
def test_what_is_begun_is_made_by_another_thread_before_it_is_asked_for() -> None:
    done = threading.Event()

    def make() -> int:
        done.set()
        return threading.get_ident()

    take = begin(make, FEWEST_ROWS)
    assert done.wait(60)
    assert take() != threading.get_ident()


@pytest.mark.usefixtures("many_cores")
def test_what_is_about_few_rows_is_made_when_it_is_asked_for() -> None:
    made = []
    take = begin(lambda: made.append(threading.get_ident()), FEWEST_ROWS - 1)
    assert not made
    take()
    assert made == [threading.get_ident()]


@pytest.mark.usefixtures("many_cores")
@pytest.mark.parametrize("n_rows", [1, FEWEST_ROWS])
def test_an_error_in_what_was_begun_is_raised_where_it_is_taken(n_rows: int) -> None:
    take = begin(lambda: 1 // 0, n_rows)
    with pytest.raises(ZeroDivisionError):
        take()
