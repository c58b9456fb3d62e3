"""Choosing pairs in which nobody occurs twice: what one of them shows says nothing about the others."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled

MOST_INTERPRETED: Final = 100_000  # pairs: choosing among fewer takes less than compiling the kernel


@compiled
def _choose(left: Any, right: Any, is_taken: Any, is_chosen: Any) -> None:
    for pair in range(left.shape[0]):
        if not is_taken[left[pair]] and not is_taken[right[pair]]:
            is_taken[left[pair]] = True
            is_taken[right[pair]] = True
            is_chosen[pair] = True


def match_apart(left: NDArray[np.integer], right: NDArray[np.integer], n_people: int) -> NDArray[np.bool_]:
    """Take pairs as they come, but none with a person who was in one before."""
    is_chosen = np.zeros(len(left), np.bool_)
    if len(left) <= MOST_INTERPRETED:
        taken: set[int] = set()
        for pair, two in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            if taken.isdisjoint(two):
                taken.update(two)
                is_chosen[pair] = True
        return is_chosen
    _choose(left, right, np.zeros(n_people, np.bool_), is_chosen)
    return is_chosen
