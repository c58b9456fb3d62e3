"""Scores that differ by rounding become equal, and everybody is ranked."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from likewise._ranking import FEW, Levels, rank_and_count, rank_numbers
from likewise._threads import take_rows

ROUNDING: Final = 1e-12  # of a score: models give the same row two scores this near, if it stands at two places
LEAST_GAP: Final = 1e-9  # of the standard deviation: scores further apart than this differ, however large they are
ALIKE: Final = 16 * float(np.finfo(np.float64).eps)  # of a score: a standard deviation below it is rounding


def join_rounded(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], Levels]:
    """Make scores equal that differ by rounding, which would part equal people at a threshold; also rank them."""
    joined = np.add(values, 0.0, order="C")  # of a column, each thread that takes some would copy all; -0 is 0
    ranks, distinct, below = rank_and_count(joined) if len(joined) > FEW else (*rank_numbers(joined), None)
    n_levels = len(distinct)
    if _join_near(distinct, joined):
        joined = take_rows(distinct, ranks)
        is_new = np.append(True, distinct[1:] != distinct[:-1])
        ranks, n_levels = (
            take_rows(np.cumsum(is_new, dtype=np.int32) - np.int32(1), ranks),
            int(np.count_nonzero(is_new)),
        )
        below = None if below is None else below[np.append(is_new, True)]
    return joined, Levels(ranks.astype(np.int32, copy=False), n_levels, below)


def _join_near(distinct: NDArray[np.float64], values: NDArray[np.float64]) -> bool:
    """Make those of the ascending numbers equal that differ by rounding among these values; say whether there are any.

    Rounding reaches as far as it does among large numbers, but at an offset of 1e13 it is no excuse for a gap of 10.
    """
    reach = ROUNDING * np.abs(distinct)
    near = np.flatnonzero(np.diff(distinct) <= reach[1:])
    if not len(near):
        return False
    spread = float((values - distinct[len(distinct) // 2]).std())
    if spread > ALIKE * float(np.abs(distinct[[0, -1]]).max()):
        reach = np.minimum(reach, LEAST_GAP * spread)
        near = near[distinct[near + 1] - distinct[near] <= reach[near + 1]]
    for run in np.split(near, np.flatnonzero(np.diff(near) > 1) + 1) if len(near) else ():
        some = slice(run[0], run[-1] + 2)
        _join_run(distinct[some], reach[some])
    return bool(len(near))


def _join_run(run: NDArray[np.float64], reach: NDArray[np.float64]) -> None:
    """Make scores of a run equal to the last within reach of its first; what lies further starts anew."""
    while len(run):
        n = int(np.searchsorted(run, run[0] + reach[-1], side="right"))
        run[:n] = run[n - 1]
        run, reach = run[n:], reach[n:]
