"""What every method is given: people, their scores and the rule, as plain arrays that need no library but numpy.

Rivals read it from an environment of their own, in which likewise is not installed.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Arrays:
    """The people as numbers: codes, columns scaled to [0, 1], a logistic regression and its scores."""

    labels: Codes
    sensitive: Codes
    discrete: Codes
    continuous: Floats
    n_categories: Rows  # of the sensitive columns, then of the discrete ones
    max_changes: NDArray[np.int64]  # one number: how many discrete columns may differ
    limits: Floats  # of the continuous shifts, the rule's tolerance added
    scores: Floats
    coefficients: Floats
    intercept: Floats
    few: Rows  # rows for methods that can only do some, with the pairs among them
    few_left: Rows
    few_right: Rows

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """Give some people only."""
        return {name: getattr(self, name)[rows] for name in ("labels", "sensitive", "discrete", "continuous")}


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Store everything in one file."""
    np.savez(path, **{field.name: getattr(arrays, field.name) for field in fields(Arrays)})


def read_arrays(path: Path) -> Arrays:
    """Read what :func:`write_arrays` stored."""
    with np.load(path, allow_pickle=False) as stored:
        return Arrays(**{name: stored[name] for name in stored.files})


def make_features(codes: Codes, n_categories: Rows, continuous: Floats) -> Floats:
    """Spread codes over one column a category, unknown ones over none, and put the continuous columns after them."""
    spread = [codes[:, [column]] == np.arange(n) for column, n in enumerate(n_categories)]
    return np.column_stack([*spread, continuous]).astype(np.float64)
