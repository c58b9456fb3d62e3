"""Where networks compute: a device that is there, or a line on why not."""

from __future__ import annotations

import pytest

from likewise.nets import choose_device

torch = pytest.importorskip("torch")


def test_auto_takes_the_gpu_if_there_is_one() -> None:
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert choose_device() == choose_device("auto")


def test_a_named_device_is_taken() -> None:
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("odd", ["gpu", "banana", "cpu:x", ""])
def test_what_torch_does_not_know_is_refused(odd: str) -> None:
    with pytest.raises(ValueError, match="Give 'auto', 'cpu' or 'cuda'"):
        choose_device(odd)


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    with pytest.raises(ValueError, match="torch sees no GPU here"):
        choose_device("cuda:0")


def test_a_device_on_which_nothing_can_be_computed_is_refused() -> None:
    with pytest.raises(ValueError, match=r"device is 'meta', but torch cannot compute there: .* Give 'auto', 'cpu' or"):
        choose_device("meta")
