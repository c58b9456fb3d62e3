"""Codes: which of some whole numbers occur, and each row's place among these; several columns of them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]
Places = NDArray[np.int32]

MOST_APART: Final = 4  # times as many numbers as rows may lie between the least and the greatest: others are sorted
MOST: Final = 1 << 31  # numbers that there is room for
NOWHERE: Final = np.empty(0, np.int32)


def number_codes(codes: Integers) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct codes in ascending order, and each row's place among them."""
    found = number_close(codes)
    values, places = np.unique(codes, return_inverse=True) if found is None else found
    return values.astype(np.int64), places.astype(np.int64)


def number_close(codes: Integers) -> tuple[Integers, Places] | None:
    """Return the distinct codes in ascending order, and each row's place among them; None if they lie far apart."""
    least, span = _span_of(codes)
    if span > min(MOST_APART * len(codes), MOST):
        return None
    found, places = _number(codes, least, span)
    return found.astype(codes.dtype) + least, places


def number_together(columns: Sequence[Integers], n_rows: int) -> tuple[NDArray[np.int64], Places]:
    """Return the combinations of codes that occur, in the order of the columns, and each row's place among them."""
    combinations, places = np.zeros((min(n_rows, 1), 0), np.int64), np.zeros(n_rows, np.int32)
    for column in columns:
        least, span = _span_of(column)
        if len(combinations) * span <= min(MOST_APART * n_rows, MOST):
            joint, places = _number(column, least, span, places, len(combinations))
            before, codes = np.divmod(joint, max(span, 1))
            codes = codes + int(least)
        else:  # dense before and after, so that the product of two never overflows
            values, numbers = number_codes(column)
            joint, numbers = number_codes(places.astype(np.int64) * len(values) + numbers)
            places = numbers.astype(np.int32)
            before, codes = joint // len(values), values[joint % len(values)]
        combinations = np.column_stack([combinations[before], codes])
    return combinations, places


def _span_of(codes: Integers) -> tuple[Any, int]:
    """Return the least code, of the type of the codes, and how many there may be from it on."""
    if not len(codes):
        return codes.dtype.type(0), 0
    least = codes.min()
    return least, int(codes.max()) - int(least) + 1


def _number(
    codes: Integers, least: Any, span: int, before: Places = NOWHERE, n_before: int = 1
) -> tuple[NDArray[np.int64], Places]:
    """Return which numbers occur, and each row's place among them.

    Numbers are how far a code is above the least; ``before`` are numbers of each row that come first.
    """
    occurs, places = np.zeros(n_before * span, np.bool_), np.empty(len(codes), np.int32)
    np.subtract(codes, least, out=places, dtype=np.int64, casting="unsafe")
    places += span * before if len(before) else 0
    occurs[places] = True
    if not occurs.all():
        places = (np.cumsum(occurs, dtype=np.int32) - np.int32(1))[places]
    return np.flatnonzero(occurs), places
