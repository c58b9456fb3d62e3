"""Compare every two rows of one label, on one thread: what everything else is measured against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numba
import numpy as np
from numpy.typing import NDArray

from likewise import CodedTable, Comparability

BUFFER: Final = 1_000_000  # pairs gathered before they are put aside

Rows = NDArray[np.int64]
Found = tuple[Rows, Rows]


def prepare_brute_force(table: CodedTable, rule: Comparability) -> Callable[[], Found]:
    """Row by row, column by column, with early exits."""
    order, ends, groups, limits = _sort_by_label(table, rule)
    codes = np.ascontiguousarray(_narrow(table.discrete[order], np.int16))
    values = np.ascontiguousarray(table.continuous[order])
    changes = rule.max_discrete_changes
    return lambda: _gather(
        lambda start, found: _compare_rows(codes, values, groups, limits, changes, ends, start, found), order
    )


def _sort_by_label(table: CodedTable, rule: Comparability) -> tuple[Rows, Rows, NDArray[np.int32], NDArray[np.float64]]:
    """Put rows of one label together, say where each row's label ends, and number the sensitive combinations."""
    order = np.argsort(table.labels, kind="stable")
    labels = table.labels[order]
    ends = np.searchsorted(labels, labels, side="right")
    groups = np.unique(table.sensitive[order], axis=0, return_inverse=True)[1]
    return order, ends, groups.astype(np.int32), rule.continuous_limits(table)


def _narrow(codes: NDArray[np.int32], smallest: type[np.signedinteger[Any]]) -> NDArray[Any]:
    """Store codes in as few bytes as they need."""
    highest = codes.max(initial=0)
    dtypes = [smallest, np.int16, np.int32]
    return codes.astype(next(dtype for dtype in dtypes if highest <= np.iinfo(dtype).max))


def _gather(compare: Callable[[int, NDArray[np.int64]], tuple[int, int]], order: Rows) -> Found:
    """Run a comparison again and again from where its buffer was full."""
    found = np.empty((2, max(BUFFER, len(order))), np.int64)
    lefts: list[Rows] = []
    rights: list[Rows] = []
    start = 0
    while start < len(order):
        start, n = compare(start, found)
        lefts.append(order[found[0, :n]])
        rights.append(order[found[1, :n]])
    return np.concatenate(lefts), np.concatenate(rights)


# no types: numba works them out from what it is called with
@numba.njit
def _compare_rows(codes, values, groups, limits, changes, ends, start, found):  # type: ignore[no-untyped-def]  # numba finds its types
    n = 0
    for i in range(start, len(ends)):
        if n + ends[i] - i > found.shape[1]:  # this row's pairs might not fit
            return i, n
        for j in range(i + 1, ends[i]):
            if groups[i] == groups[j]:
                continue
            differing = 0
            for c in range(codes.shape[1]):
                if codes[i, c] != codes[j, c]:
                    differing += 1
                    if differing > changes:
                        break
            if differing > changes:
                continue
            near = True
            for c in range(values.shape[1]):
                if abs(values[i, c] - values[j, c]) > limits[c]:
                    near = False
                    break
            if near:
                found[0, n] = i
                found[1, n] = j
                n += 1
    return len(ends), n
