"""Random numbers of torch, from our seed, without touching the caller's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, Final

from likewise._extras import require

ONE_AT_A_TIME: Final = RLock()


@contextmanager
def seeded(seed: int, device: Any) -> Iterator[None]:
    """Run torch code from a seed, and give the caller's random state back.

    Parameters
    ----------
    seed : int
    device : torch.device
        On which the code computes.

    Examples
    --------
    >>> import torch
    >>> from likewise.nets import seeded
    >>> with seeded(1, torch.device("cpu")):
    ...     one = torch.rand(3)
    >>> with seeded(1, torch.device("cpu")):
    ...     other = torch.rand(3)
    >>> bool((one == other).all())
    True
    """
    torch = require("torch", "torch", "A network")
    devices = [device] if device.type == "cuda" else []
    # torch's generator is one for all threads: two networks fitted at once would draw from each other's seed
    with ONE_AT_A_TIME, torch.random.fork_rng(devices=devices):
        # not torch.manual_seed: it seeds all GPUs, of which only this one's state comes back
        torch.default_generator.manual_seed(seed % 2**63)
        for one in devices:
            with torch.cuda.device(one):
                torch.cuda.manual_seed(seed % 2**63)
        yield
