"""Random numbers of torch: ours from our seed, the caller's untouched."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.nets import choose_device, seeded

torch = pytest.importorskip("torch")
DEVICE = choose_device("cpu")


def drawn(seed: int) -> Any:
    with seeded(seed, DEVICE):
        return torch.rand(4).tolist()


@settings(max_examples=20)
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
