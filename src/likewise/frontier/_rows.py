"""The rows of a search, and the part of them that no model learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.schema._internal import array_of_table, is_frame, take_rows


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Hold rows as the models get them (an array, if the user gave one) and as a frame, which audits need."""

    X: Any
    frame: Any
    y: NDArray[Any]
    weights: NDArray[np.float64] | None

    @classmethod
    def gather(cls, X: Any, frame: Any, y: NDArray[Any], weights: NDArray[np.float64] | None) -> Rows:
        """Put together what belongs to the rows."""
        return cls(frame if is_frame(X) else array_of_table(frame), frame, y, weights)

    def __len__(self) -> int:
        return len(self.y)

    def split(self, held_out: NDArray[np.int64]) -> tuple[Rows, Rows]:
        """Part the rows to learn from and those to judge by."""
        return self.take(np.setdiff1d(np.arange(len(self)), held_out)), self.take(held_out)

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """Give some of the rows."""
        frame = take_rows(self.frame, rows)
        X = frame if self.X is self.frame else self.X[rows]
        return Rows(X, frame, self.y[rows], None if self.weights is None else self.weights[rows])
