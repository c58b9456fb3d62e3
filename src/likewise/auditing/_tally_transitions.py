"""Sums by transition: from one combination of sensitive values to another, only those that occur."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._combinations import number_values
from likewise.auditing._gaps import GAP_TOLERANCE

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Codes = NDArray[np.integer[Any]]

COUNTED: Final = ("n", "n_lower", "n_higher", "n_flips_down", "n_flips_up")
ADDED: Final = ("signed", "absolute")


class TransitionSums:
    """Count and add up signed gaps for every two combinations, told from the lower-numbered one to the other.

    Parameters
    ----------
    n_combinations : int

    Attributes
    ----------
    keys : array of int, shape (n_transitions,)
        The lower combination's number times ``n_combinations``, plus the upper one's; ascending.
    counts : array of int, shape (n_transitions, 5)
        Pairs; those in which the upper one is scored lower, and higher; flips from yes to no, and from no to yes.
    sums : array of float, shape (n_transitions, 2)
        Of the signed gaps, and of what they are without their sign.
    """

    def __init__(self, n_combinations: int) -> None:
        self.n_combinations = n_combinations
        self.keys = np.empty(0, np.int64)
        self.counts = np.empty((0, len(COUNTED)), np.int64)
        self.sums = np.empty((0, len(ADDED)))

    def add(self, left: Codes | None, right: Codes | None, signed: Floats, flips: NDArray[np.bool_] | None) -> None:
        """Add pairs, with the right person's score over the left one's; those of one combination say nothing here."""
        if left is None or right is None:
            raise ValueError("Signed gaps were given without the combinations of sensitive values they are between.")
        first, second = left.astype(np.int64), right.astype(np.int64)
        chosen = np.flatnonzero(first != second)
        if not len(chosen):
            return
        if len(chosen) < len(first):
            first, second, signed = first[chosen], second[chosen], signed[chosen]
            flips = None if flips is None else flips[chosen]
        keys, numbers = number_values(np.minimum(first, second) * self.n_combinations + np.maximum(first, second))
        turned = np.where(first > second, -signed, signed)
        # a model may give the same row two scores, if it stands at two places
        is_lower, is_higher = turned < -GAP_TOLERANCE, turned > GAP_TOLERANCE
        is_down = is_up = np.zeros(len(turned), np.bool_)
        if flips is not None:  # whoever gets the no has the lower score
            is_down, is_up = flips & (turned < 0), flips & (turned > 0)
        n = np.bincount(numbers, minlength=len(keys))
        parts = [np.bincount(numbers[one], minlength=len(keys)) for one in (is_lower, is_higher, is_down, is_up)]
        turned[~(is_lower | is_higher)] = 0.0
        sums = [np.bincount(numbers, one, len(keys)) for one in (turned, np.abs(turned))]
        self.take(keys, np.column_stack([n, *parts]), np.column_stack(sums))

    def merge(self, other: TransitionSums) -> None:
        """Add the sums of another."""
        self.take(other.keys, other.counts, other.sums)

    def take(self, keys: Counts, counts: Counts, sums: Floats) -> None:
        """Add sums of different transitions, by their ascending keys."""
        every = np.union1d(self.keys, keys)
        all_counts = np.zeros((len(every), len(COUNTED)), np.int64)
        all_sums = np.zeros((len(every), len(ADDED)))
        for some, n, added in ((self.keys, self.counts, self.sums), (keys, counts, sums)):
            places = np.searchsorted(every, some)
            all_counts[places] += n
            all_sums[places] += added
        self.keys, self.counts, self.sums = every, all_counts, all_sums
