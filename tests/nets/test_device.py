"""Devices are there or refused in one line; seeds leave the caller's random state alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sizes import sized

from likewise.nets._device import choose_device, fixed_threads, seeded

torch = pytest.importorskip("torch")
DEVICE = choose_device("cpu")


def test_auto_takes_the_gpu_if_there_is_one() -> None:
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert choose_device() == choose_device("auto")


def test_a_named_device_is_taken() -> None:
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("odd", ["gpu", "banana", "cpu:x", ""])
def test_what_torch_does_not_know_is_refused(odd: str) -> None:
    with pytest.raises(ValueError, match="Use 'auto', 'cpu' or 'cuda'"):
        choose_device(odd)


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    with pytest.raises(ValueError, match="torch finds no GPU here"):
        choose_device("cuda:0")


def test_a_device_on_which_nothing_can_be_computed_is_refused() -> None:
    with pytest.raises(ValueError, match=r"device is 'meta', but torch cannot compute there: .* Use 'auto', 'cpu' or"):
        choose_device("meta")


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize(("n_products", "expected"), [(1_000, 1), (10**9, 2)])
def test_the_number_of_threads_is_that_of_the_step_and_the_callers_comes_back(
    n_threads: int, n_products: int, expected: int
) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        with fixed_threads(DEVICE, n_products):
            assert torch.get_num_threads() == expected
        assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)


def drawn(seed: int) -> Any:
    with seeded(seed, DEVICE):
        return torch.rand(4).tolist()


@settings(max_examples=sized(6, 20))
@given(seed=st.integers(0, 2**70))
def test_the_same_seed_draws_the_same(seed: int) -> None:
    assert drawn(seed) == drawn(seed)


def test_other_seeds_draw_other_numbers() -> None:
    assert len({tuple(drawn(seed)) for seed in range(20)}) == 20


def test_the_caller_draws_on_as_if_nothing_had_been() -> None:
    torch.manual_seed(0)
    expected = torch.rand(8).tolist()
    torch.manual_seed(0)
    first = torch.rand(4).tolist()
    drawn(5)
    assert first + torch.rand(4).tolist() == expected


def test_devices_it_does_not_compute_on_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(seed: int) -> None:
        raise AssertionError("seeded every GPU")

    monkeypatch.setattr(torch.cuda, "manual_seed_all", refuse)
    assert drawn(1) == drawn(1)


def test_an_error_gives_the_callers_state_back_as_well() -> None:
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    with pytest.raises(RuntimeError), seeded(3, DEVICE):
        torch.rand(9) @ torch.rand(8)
    assert (torch.random.get_rng_state() == before).all()
