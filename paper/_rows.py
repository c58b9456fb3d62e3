"""The rows that a cell learns from and is tested on: a split, and of the training rows a fold."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import Dataset
from likewise.datasets import Split
from paper._cells import Spec
from paper._registry import OWN_SPLIT, load


def rows_of(spec: Spec) -> Dataset:
    """Give the training and test rows of a cell; of a fold, parts of the training rows in their place."""
    name, split = spec["data"], spec.get("split", 0)
    if spec["method"]["kind"] != "protocol":
        return load(name, split)
    fold = spec.get("fold")
    return _drawn(name, split) if fold is None else _folded(name, split, *fold)


@cache
def _drawn(name: str, split: int) -> Dataset:
    """Draw a split of a data set, also of one that comes split."""
    data = load(name, split)
    return _resplit(data, split) if name in OWN_SPLIT else data


def _resplit(data: Dataset, split: int) -> Dataset:
    import pandas as pd
    from sklearn.model_selection import train_test_split

    X = pd.concat([data.train.X, data.test.X], ignore_index=True)
    y = pd.concat([data.train.y, data.test.y], ignore_index=True)
    train, test = train_test_split(np.arange(len(y)), test_size=len(data.test), random_state=split)
    return replace(data, train=_part(X, y, train), test=_part(X, y, test))


@cache
def _folded(name: str, split: int, number: int, n_folds: int) -> Dataset:
    """Hold a part of the training rows out, with the same share of each label; the test rows are not there."""
    from sklearn.model_selection import StratifiedKFold

    data = _drawn(name, split)
    X, y = data.train.X, data.train.y
    parts = [*StratifiedKFold(n_folds, shuffle=True, random_state=split).split(X, y)]
    left, held = parts[number]
    return replace(data, train=_part(X, y, left), test=_part(X, y, held))


def _part(X: Any, y: Any, rows: NDArray[np.int64]) -> Split:
    return Split(X.iloc[rows].reset_index(drop=True), y.iloc[rows].reset_index(drop=True))
