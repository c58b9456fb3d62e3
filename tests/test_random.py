"""One seed at the door: equal seeds draw equal numbers, and purposes do not disturb each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise._random import check_seed, draw_seed, stream

purposes = st.lists(st.integers(0, 2**40) | st.text(max_size=5), max_size=3).map(tuple)


@given(seed=st.integers(0, 2**80), purpose=purposes)
def test_a_seed_and_a_purpose_always_draw_the_same(seed: int, purpose: tuple[Any, ...]) -> None:
    assert stream(seed, *purpose).bytes(16) == stream(seed, *purpose).bytes(16)
    assert draw_seed(seed, *purpose) == draw_seed(seed, *purpose)
    assert 0 <= draw_seed(seed, *purpose) < 2**63


@given(seed=st.integers(0, 2**63), one=purposes, other=purposes)
def test_every_purpose_has_numbers_of_its_own(seed: int, one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    assert (stream(seed, *one).bytes(16) == stream(seed, *other).bytes(16)) == (one == other)


def test_every_seed_has_numbers_of_its_own() -> None:
    assert len({stream(seed, "a").bytes(16) for seed in range(200)}) == 200


def test_streams_do_not_depend_on_the_machine() -> None:
    assert draw_seed(0, "generate", 1) == 5624025454045843476


def test_numbers_of_numpy_are_numbers() -> None:
    assert check_seed(np.int32(7)) == 7


def test_none_is_another_seed_each_time() -> None:
    assert check_seed(None) != check_seed(None)


def test_generators_of_numpy_give_a_seed_each_time() -> None:
    modern, legacy = np.random.default_rng(0), np.random.RandomState(0)
    assert check_seed(modern) != check_seed(modern)
    assert check_seed(legacy) != check_seed(legacy)
    assert check_seed(np.random.default_rng(0)) == check_seed(np.random.default_rng(0))


@pytest.mark.parametrize("odd", [-1, 1.5, True, "seven", [1]])
def test_what_is_no_seed_is_refused(odd: Any) -> None:
    with pytest.raises(ValueError, match="give a whole number, 0 or more, or None"):
        check_seed(odd)
