"""How many antidotes to ask of each row, where some rows give fewer than they are asked for."""

from __future__ import annotations

from math import ceil
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._random import check_seed
from likewise.generation._by_row import Amount
from likewise.generation._generator import BaseGenerator

MOST_TIMES: Final = 8  # a ratio, asked of a row: beyond, there is hardly more to get


def scale_ratio(
    generator: BaseGenerator,
    X: Any,
    y: Any = None,
    *,
    ratio: float,
    random_state: int | None = None,
    row_ids: Any = None,
) -> float:
    """Find the ratio to ask of each row, by ``row_ids``, so that there are so many antidotes per row in the mean.

    By row ids no row makes up for another, and some give fewer antidotes than they are asked for, or none. How many
    they give is tried on some rows; the others are then asked for more in the same proportion, wherever they are.

    Parameters
    ----------
    generator : generator
        Fitted.
    X : pandas, polars or pyarrow table
        Some rows, drawn by chance from those to make antidotes of: with 2,000 the ratio is met within a few percent.
    y : array, optional
        Their labels; the label column of ``X``, if not given.
    ratio : float
        How many antidotes there are to be, per row.
    random_state : int, optional
        Another seed than the generator's own.
    row_ids : str or array, optional
        What the rows are called; their position, if not given.

    Returns
    -------
    float
        To be given as ``ratio`` to ``generate`` with ``row_ids``, ``generate_parts`` or ``likewise.spark.generate``.
        At most eight for each whole antidote that a row is to have: where that does not suffice, there is no more.

    Examples
    --------
    >>> from likewise import UniformGenerator, load_dataset
    >>> from likewise.generation import scale_ratio
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> scale_ratio(generator, data.train.X.head(200), data.train.y[:200], ratio=0.5)
    0.5
    """
    Amount(ratio=ratio)  # refuses what is no ratio
    generator._refuse_unfitted()
    seed = check_seed(generator.random_state if random_state is None else random_state)
    ids = np.arange(len(X)) if row_ids is None else row_ids
    most = ceil(ratio)
    while len(X):
        made, _ = generator._make_by_row(X, y, Amount(ratio=most), seed, ids)
        counts = np.bincount(made.source, minlength=made.n_sources)
        if counts.mean() >= ratio or most >= MOST_TIMES * ceil(ratio):
            return _invert(counts, ratio, most)
        most *= 2
    return float(ratio)


def _invert(counts: NDArray[np.int64], ratio: float, most: int) -> float:
    """Find what to ask so that rows that give so many each give the ratio in the mean: it grows in straight pieces."""
    before = 0.0
    for whole in range(most):
        after = float(np.minimum(counts, whole + 1).mean())
        if after >= ratio:
            return whole + (ratio - before) / (after - before)
        before = after
    return float(most)
