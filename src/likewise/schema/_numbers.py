"""Numbers of a column: where their percentiles stand, and how many decimals they have."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from likewise.schema._table import EXACT

Floats = NDArray[np.float64]

MAX_DECIMALS: Final = 12
AT_ONCE: Final = 1 << 16  # numbers that are rounded at a time


def middle_places(n: int) -> list[int]:
    """Return where the 1st and the 99th percentile stand among sorted numbers: the ends, of a hundred or fewer."""
    outside = (n - 1) // 100
    return [outside, n - 1 - outside]


def count_decimals(numbers: Floats, largest: float) -> int | None:
    """Return how many decimals all numbers can be written with, or None; the first rows usually decide."""
    decimals = 0
    for some in (numbers[:1000], *(numbers[start : start + AT_ONCE] for start in range(0, len(numbers), AT_ONCE))):
        while np.any(np.round(some, decimals) != some):
            decimals += 1
            if decimals > MAX_DECIMALS or largest * 10.0**decimals > EXACT:
                return None
    return decimals
