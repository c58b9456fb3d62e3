"""How torch computes: on which device, from which seed, on how many threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, Final

from likewise._extras import require
from likewise.exceptions import ParameterError

ONE_AT_A_TIME: Final = RLock()
N_THREADS: Final = 2  # more gain little with networks of this size
SMALL: Final = 2**25  # multiplications per step: below this, threads cost more than they save


def choose_device(wanted: str = "auto") -> Any:
    """Return the torch device of a name; "auto" is the GPU if there is one."""
    torch = require("torch", "torch", "A network")
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except (RuntimeError, TypeError):
        raise ParameterError(
            f"is {wanted!r}, which torch does not know. Use 'auto', 'cpu' or 'cuda'.", "device"
        ) from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ParameterError(f"is {wanted!r}, but torch finds no GPU here. Use 'auto' or 'cpu'.", "device")
    try:
        torch.zeros(1, dtype=torch.float64, device=device).item()
    except (RuntimeError, TypeError, AssertionError) as error:  # a GPU index too high, a name without a device
        reason = str(error).split("\n")[0].split(". ")[0].rstrip(".")
        raise ParameterError(
            f"is {wanted!r}, but torch cannot compute there: {reason}. Use 'auto', 'cpu' or 'cuda'.", "device"
        ) from None
    return device


def device_here(wanted: str) -> str:
    """Return the name of a device if this machine has it, else "auto"."""
    try:
        choose_device(wanted)
    except ParameterError:
        return "auto"
    return wanted


@contextmanager
def seeded(seed: int, device: Any) -> Iterator[None]:
    """Run torch code from a seed, and restore the caller's random state afterwards."""
    torch = require("torch", "torch", "A network")
    devices = [device] if device.type == "cuda" else []
    # torch's generator is shared by all threads: two networks fitted at once would draw from each other's seed
    with ONE_AT_A_TIME, torch.random.fork_rng(devices=devices):
        # not torch.manual_seed: it seeds every GPU, and only this one's state is restored
        torch.default_generator.manual_seed(seed % 2**63)
        for one in devices:
            with torch.cuda.device(one):
                torch.cuda.manual_seed(seed % 2**63)
        yield


@contextmanager
def fixed_threads(device: Any, n_products: int) -> Iterator[None]:
    """Compute on a CPU with a fixed number of threads, on which sums of floats depend, and restore the caller's number.

    One thread where a step has few multiplications: threads that share little work mostly wait for each other.
    """
    torch = require("torch", "torch", "A network")
    if device.type != "cpu":
        yield
        return
    with ONE_AT_A_TIME:  # the number is that of the whole process
        before = torch.get_num_threads()
        torch.set_num_threads(1 if n_products <= SMALL else N_THREADS)
        try:
            yield
        finally:
            torch.set_num_threads(before)
