"""What is known of some pairs: computed from every one of them, or read off a tally of more than can be kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._gaps import GAP_TOLERANCE, quantile_of_sorted
from likewise.auditing._sketch import SKETCH_ERROR, quantile_of_counts
from likewise.auditing._tally import PairTally

Floats = NDArray[np.float64]


class Facts(Protocol):
    """Say of gaps ("gap") and rank gaps ("rank_gap") what a measure is made of."""

    @property
    def n(self) -> int:
        """How many pairs there are."""

    def mean(self, column: str) -> float:
        """Their mean."""

    def largest(self, column: str) -> float:
        """The largest."""

    def quantile(self, column: str, share: float) -> float:
        """The value that this share of them is below."""

    def around(self, column: str, low: float, high: float) -> tuple[float, float]:
        """Two quantiles, the first no higher and the second no lower than they are."""

    def share_above(self, limit: float) -> float:
        """The share of gaps above a limit."""

    def flip_rate(self) -> float:
        """The share of pairs with two decisions."""


class KnownPairs:
    """Facts of pairs that are all there."""

    def __init__(
        self, columns: Mapping[str, Floats], ordered: Mapping[str, Floats], flips: NDArray[np.bool_] | None
    ) -> None:
        self._columns, self._ordered, self._flips = columns, ordered, flips

    @property
    def n(self) -> int:
        return len(self._columns["gap"])

    def mean(self, column: str) -> float:
        return float(self._columns[column].mean())

    def largest(self, column: str) -> float:
        return float(self._ordered[column][-1])

    def quantile(self, column: str, share: float) -> float:
        return quantile_of_sorted(self._ordered[column], share)

    def around(self, column: str, low: float, high: float) -> tuple[float, float]:
        return self.quantile(column, low), self.quantile(column, high)

    def share_above(self, limit: float) -> float:
        return float((self._columns["gap"] > limit + GAP_TOLERANCE).mean())

    def flip_rate(self) -> float:
        return 0.0 if self._flips is None else float(self._flips.mean())


class TalliedPairs:
    """Facts of the pairs of one label in a tally, or of all pairs (None)."""

    def __init__(self, tally: PairTally, label: int | None) -> None:
        labels = slice(None) if label is None else slice(label, label + 1)
        self.n = int(tally.n[labels].sum())
        places = {"gap": 0, "rank_gap": 1}
        self._totals = {column: float(tally.totals[place, labels].sum()) for column, place in places.items()}
        self._most = {column: float(tally.most[place, labels].max(initial=0.0)) for column, place in places.items()}
        self._counts = {column: getattr(tally, f"{column}_buckets")[labels].sum(axis=0) for column in places}
        self._n_above, self._n_flips = int(tally.n_above[labels].sum()), int(tally.n_flips[labels].sum())

    def mean(self, column: str) -> float:
        return self._totals[column] / self.n

    def largest(self, column: str) -> float:
        return self._most[column]

    def quantile(self, column: str, share: float) -> float:
        return quantile_of_counts(self._counts[column], share, self._most[column])

    def around(self, column: str, low: float, high: float) -> tuple[float, float]:
        least, most = self.quantile(column, low), self.quantile(column, high)
        return least * (1 - SKETCH_ERROR), min(most * (1 + SKETCH_ERROR), self._most[column])

    def share_above(self, limit: float) -> float:  # the tally's own limit, which is the same
        return self._n_above / self.n

    def flip_rate(self) -> float:
        return self._n_flips / self.n
