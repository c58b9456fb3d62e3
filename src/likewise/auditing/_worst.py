"""Which pairs are the worst: an order that no machine and no engine changes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
Positions = NDArray[np.int64]

DIGITS: Final = 12  # gaps that differ later than this differ by rounding
MORE: Final = 4  # times as many pairs to look at, while too few of them have nobody in common


def choose_worst(
    left: Rows, right: Rows, gaps: Floats, rank_gaps: Floats, n: int, *, each_person_once: bool = False
) -> Positions:
    """Find the pairs with the largest gaps.

    Parameters
    ----------
    left, right : array of int, shape (n_pairs,)
        Row positions.
    gaps, rank_gaps : array of float, shape (n_pairs,)
        Of equal gaps the one with the larger rank gap is worse; of those that are equal too, the earlier rows come
        first.
    n : int
        How many to find, if there are as many.
    each_person_once : bool
        Leave out pairs with a person who is in a worse one: one person scored oddly may be in all of the worst pairs.

    Returns
    -------
    array of int
        Positions of pairs, the worst first.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.auditing._internal import choose_worst
    >>> left, right, gaps = np.array([0, 0, 2]), np.array([1, 3, 4]), np.array([0.5, 0.4, 0.3])
    >>> choose_worst(left, right, gaps, gaps, 2)
    array([0, 1])
    >>> choose_worst(left, right, gaps, gaps, 2, each_person_once=True)
    array([0, 2])
    """
    check_count("n", n, or_none=False)
    rows = left.astype(np.int64) << 32 | right.astype(np.int64)
    keys = (-np.round(gaps, DIGITS), -np.round(rank_gaps, DIGITS), rows)
    if not each_person_once:
        return _take_lowest(keys, n)
    from likewise.auditing._matching import match_apart

    n_people = 1 + max(int(left.max(initial=-1)), int(right.max(initial=-1)))
    n_seen = MORE * n
    while True:  # whom the worst pairs leave out, further pairs do not bring back
        seen = _take_lowest(keys, n_seen)
        apart = seen[match_apart(left[seen], right[seen], n_people)]
        if len(apart) >= n or n_seen >= len(gaps):
            return apart[:n]
        n_seen *= MORE


def _take_lowest(keys: tuple[NDArray[Any], ...], n: int) -> Positions:
    """Find the ``n`` lowest in order, where a later key tells apart what is equal in those before."""
    undecided = np.arange(len(keys[0]))
    chosen = [undecided[:0]]
    n_wanted = min(n, len(undecided))
    for key in keys:  # most pairs are far from the worst: no need to sort them
        if not n_wanted or len(undecided) == n_wanted:
            break
        values = key[undecided]
        last = np.partition(values, n_wanted - 1)[n_wanted - 1]
        chosen.append(undecided[values < last])
        n_wanted -= len(chosen[-1])
        undecided = undecided[values == last]
    found = np.concatenate([*chosen, undecided[:n_wanted]])
    return found[np.lexsort([key[found] for key in reversed(keys)])]
