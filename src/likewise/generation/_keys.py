"""Rows as single values, so that equal ones can be found."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.schema import CodedTable
from likewise.schema._internal import KINDS

DECIMALS: Final = 10  # of a continuous code: finer than any rule, coarser than the errors of scaling


def row_keys(table: CodedTable, *beside: NDArray[Any]) -> NDArray[np.void]:
    """Give a key for each row, equal where all compared columns, and those beside, are."""
    codes = [getattr(table, kind).astype(np.float64) for kind in KINDS if kind != "continuous"]
    rows = np.column_stack([np.zeros(len(table)), *beside, *codes, np.round(table.continuous, DECIMALS)])
    rows = np.ascontiguousarray(rows + 0.0)  # 0 and -0 are equal
    keys: NDArray[np.void] = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    return keys
