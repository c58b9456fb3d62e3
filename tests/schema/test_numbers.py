"""Decimals of a column: as many as the number that needs most."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.schema._numbers import count_decimals


@pytest.mark.parametrize("place", [0, 1_500, 70_000])
def test_the_number_with_most_decimals_counts_wherever_it_stands(place: int) -> None:
    numbers = np.full(100_000, 2.5)
    assert count_decimals(numbers, 2.5) == 1
    numbers[place] = 2.125
    assert count_decimals(numbers, 2.5) == 3
    numbers[place] = 1 / 3
    assert count_decimals(numbers, 2.5) is None
