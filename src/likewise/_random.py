"""Random numbers: one seed, and one named stream per purpose, so that no part affects another's draws."""

from __future__ import annotations

from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from likewise.exceptions import ParameterError

Keys = NDArray[np.uint64]

STEP: Final = 0x9E3779B97F4A7C15  # increment of SplitMix64
STIRS: Final = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
LAST_SHIFT: Final = 31


def check_seed(random_state: object) -> int:
    """Return a seed from an integer, from a generator to draw one, or a new one for None."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer) or random_state < 0:
        raise ParameterError(f"is {random_state!r}; give a whole number, 0 or more, or None.", "random_state")
    return int(random_state)


def make_generator(random_state: Any) -> np.random.Generator:
    """Return NumPy's generator of whatever NumPy takes as a seed."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ParameterError(f"is {random_state!r}; give a whole number, 0 or more, or None.", "random_state") from None


def saved_seed(random_state: object) -> int | None:
    """Return what a folder can hold of a random state: a seed, and None of a generator."""
    return int(random_state) if isinstance(random_state, int | np.integer) else None


def stream(seed: int, *purpose: str | int) -> np.random.Generator:
    """Return the generator of one purpose, such as ``stream(seed, "generate", round)``."""
    key = tuple(crc32(part.encode()) if isinstance(part, str) else int(part) for part in purpose)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def draw_seed(seed: int, *purpose: str | int) -> int:
    """Return a seed for a library with its own random numbers, such as torch."""
    return int(stream(seed, *purpose).integers(2**63))


def stir(numbers: Keys) -> Keys:
    """Mix bits (SplitMix64): every output bit depends on every input bit; distinct inputs stay distinct."""
    for shift, factor in STIRS:
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(LAST_SHIFT))
