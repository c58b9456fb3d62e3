"""Numbers of a column: what stands at places of their order is what sorting finds, without sorting them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from likewise._ranking import FEW
from likewise.schema._internal import middle_places
from likewise.schema._numbers import count_decimals, numbers_at

Draw = Callable[[np.random.Generator, int], NDArray[np.floating]]
DRAWS: dict[str, Draw] = {
    "even": lambda random, n: random.random(n),
    "skewed": lambda random, n: random.pareto(0.3, n),
    "offset": lambda random, n: 1e13 + random.integers(0, 5, n),
    "mostly lowest": lambda random, n: np.maximum(random.normal(-3, 1, n), 0.0),
    "mostly highest": lambda random, n: np.minimum(random.normal(5, 1, n), 1.0),
    "two": lambda random, n: random.integers(0, 2, n).astype(np.float64),
    "one": lambda random, n: np.full(n, 3.5),
    "subnormal": lambda random, n: random.integers(0, 9, n) * 5e-324,
    "far": lambda random, n: np.where(random.random(n) < 1e-4, 1e300, random.normal(size=n)),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("n", [1, 150, FEW + 1])
def test_numbers_at_places_are_those_of_the_order(name: str, n: int) -> None:
    numbers = DRAWS[name](np.random.default_rng(0), n).astype(np.float64)
    places = [*middle_places(n), (n - 1) // 2, n // 2, 0, n - 1]
    found = numbers_at(numbers, places, float(numbers.min()), float(numbers.max()))
    assert found == np.sort(numbers)[places].tolist()


@pytest.mark.parametrize("place", [0, 1_500, 70_000])
def test_the_number_with_most_decimals_counts_wherever_it_stands(place: int) -> None:
    numbers = np.full(100_000, 2.5)
    assert count_decimals(numbers, 2.5) == 1
    numbers[place] = 2.125
    assert count_decimals(numbers, 2.5) == 3
    numbers[place] = 1 / 3
    assert count_decimals(numbers, 2.5) is None
