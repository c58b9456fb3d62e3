"""A number for each pair that decides which pairs a sample keeps: no engine, order or part of the work changes it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count
from likewise._random import STEP, Keys, stir

SEEDS: Final = 2**64
STEPS: Final = (STEP, 0xD1B54A32D192ED03)  # odd, so that no two rows are moved to one number


def pair_keys(left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]], seed: int) -> Keys:
    """Hash pairs of rows to numbers below 2**64, as if drawn at random.

    The pairs with the lowest keys are a uniform sample of all, and the same one whoever draws it.

    Parameters
    ----------
    left, right : array of int, shape (n_pairs,)
        Row positions in the whole table.
    seed : int
        Another seed, another sample.

    Returns
    -------
    array of uint64, shape (n_pairs,)

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.auditing._internal import pair_keys
    >>> pair_keys(np.array([0, 0]), np.array([1, 2]), seed=0)
    array([8887671361884324935, 6307134789755304453], dtype=uint64)
    """
    check_count("seed", seed, or_none=False)
    words = np.full(len(left), seed % SEEDS, np.uint64)
    for rows, step in zip((left, right), STEPS, strict=True):
        words += (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(step)  # wraps around, as it should
        words = stir(words)
    return words
