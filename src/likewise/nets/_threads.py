"""How many threads small networks are worth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from likewise._extras import require

SMALL: Final = 2**25  # multiplications a step: below this, threads cost more than they save


@contextmanager
def few_threads(device: Any, n_products: int) -> Iterator[None]:
    """Compute on one thread of the processor where a step is small, and give the caller's setting back.

    Threads that share little work mostly wait for each other. On a machine that is busy with other things, that makes
    a small network many times slower.

    Parameters
    ----------
    device : torch.device
    n_products : int
        Roughly how many multiplications a step takes: weights times rows.

    Examples
    --------
    >>> import torch
    >>> from likewise.nets import few_threads
    >>> with few_threads(torch.device("cpu"), 1_000):
    ...     torch.get_num_threads()
    1
    """
    torch = require("torch", "torch", "A network")
    before = torch.get_num_threads()
    if device.type != "cpu" or n_products > SMALL or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
