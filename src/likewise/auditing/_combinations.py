"""Numbering people by their sensitive values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.schema import CodedTable

Integers = NDArray[np.int64]
Values = tuple[Any, ...]


def number_combinations(table: CodedTable, columns: Sequence[str] | None = None) -> tuple[Integers, list[Values]]:
    """Number the combinations of sensitive values that occur, in the order of their codes, and say what each is.

    Without ``columns`` all sensitive columns count.
    """
    names = table.names["sensitive"]
    chosen = [names.index(name) for name in (names if columns is None else columns)]
    numbers, combinations = np.zeros(len(table), np.int64), np.zeros((min(len(table), 1), 0), np.int64)
    for column in chosen:
        codes, of_rows = number_values(table.sensitive[:, column])
        found, numbers = number_values(numbers * len(codes) + of_rows)
        combinations = np.column_stack([combinations[found // len(codes)], codes[found % len(codes)]])
    known = [table.categories.get(names[column]) for column in chosen]
    values = [
        tuple(code if values is None else values[code] for values, code in zip(known, codes, strict=True))
        for codes in combinations.tolist()
    ]
    return numbers, values


def number_values(values: NDArray[np.integer]) -> tuple[Integers, Integers]:
    """Give the distinct values in order, and which of them each place has; quickly, where they lie close together."""
    if not len(values):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    least = int(values.min())
    if int(values.max()) - least > 4 * len(values):
        found, places = np.unique(values, return_inverse=True)
        return found.astype(np.int64), places
    above = values.astype(np.int64) - least
    occurs = np.bincount(above) > 0
    return np.flatnonzero(occurs) + least, (np.cumsum(occurs) - 1)[above]
