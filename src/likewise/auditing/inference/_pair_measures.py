"""The measures of pairs: of all of them and by label, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._settings import AuditSettings
from likewise.auditing.inference._intervals import (
    Interval,
    allow_for_ranks,
    count_apart,
    count_independent,
    interval_of,
    interval_of_share,
    quantile_interval,
    reach_of,
    shared_variance,
    subtract,
)
from likewise.auditing.pairs._gaps import (
    GAP_TOLERANCE,
    QUANTILES,
    quantile_of_sorted,
)
from likewise.auditing.pairs._meter import ScoredPairs
from likewise.auditing.pairs._quantiles import SKETCH_ERROR, quantile_of_counts
from likewise.auditing.pairs._summary import PairSummary
from likewise.record._internal import EXCESS_MEASURES, PAIR_MEASURES, Measure

Floats = NDArray[np.float64]
SEEN_OFTEN: Final = 5  # flips, and pairs without one: with fewer, many replicates have none


class PairFacts(Protocol):
    """What a measure needs to know of gaps ("gap") and rank gaps ("rank_gap")."""

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
        """The share of pairs with different decisions."""


class ExactFacts:
    """Facts of pairs that are all at hand, in the order of the pairs."""

    def __init__(self, gaps: Floats, rank_gaps: Floats, n_flips: int) -> None:
        self._columns, self._n_flips = {"gap": gaps, "rank_gap": rank_gaps}, n_flips
        self._ordered: dict[str, Floats] = {}

    @property
    def n(self) -> int:
        return len(self._columns["gap"])

    def ordered(self, column: str) -> Floats:
        """Return the values in ascending order."""
        if column not in self._ordered:
            self._ordered[column] = np.sort(self._columns[column])
        return self._ordered[column]

    def mean(self, column: str) -> float:
        return float(self._columns[column].mean())

    def largest(self, column: str) -> float:
        return float(self.ordered(column)[-1])

    def quantile(self, column: str, share: float) -> float:
        return quantile_of_sorted(self.ordered(column), share)

    def around(self, column: str, low: float, high: float) -> tuple[float, float]:
        return self.quantile(column, low), self.quantile(column, high)

    def share_above(self, limit: float) -> float:
        return float((self._columns["gap"] > limit + GAP_TOLERANCE).mean())

    def flip_rate(self) -> float:
        return self._n_flips / self.n


class SummaryFacts:
    """Facts of the pairs of one label in a summary, or of all pairs (None)."""

    def __init__(self, summary: PairSummary, label: int | None) -> None:
        labels = slice(None) if label is None else slice(label, label + 1)
        self.n = int(summary.n[labels].sum())
        places = {"gap": 0, "rank_gap": 1}
        self._totals = {column: float(summary.totals[place, labels].sum()) for column, place in places.items()}
        self._most = {column: float(summary.most[place, labels].max(initial=0.0)) for column, place in places.items()}
        self._counts = {column: getattr(summary, f"{column}_buckets")[labels].sum(axis=0) for column in places}
        self._n_above, self._n_flips = int(summary.n_above[labels].sum()), int(summary.n_flips[labels].sum())

    def mean(self, column: str) -> float:
        return self._totals[column] / self.n

    def largest(self, column: str) -> float:
        return self._most[column]

    def quantile(self, column: str, share: float) -> float:
        return quantile_of_counts(self._counts[column], share, self._most[column])

    def around(self, column: str, low: float, high: float) -> tuple[float, float]:
        least, most = self.quantile(column, low), self.quantile(column, high)
        return least * (1 - SKETCH_ERROR), min(most * (1 + SKETCH_ERROR), self._most[column])

    def share_above(self, limit: float) -> float:  # the summary's own limit, which is the same
        return self._n_above / self.n

    def flip_rate(self) -> float:
        return self._n_flips / self.n


@dataclass(frozen=True, slots=True, eq=False)
class SliceMeasures:
    """The measures of some of the pairs, and how far the replicates of each mean deviate from it."""

    measures: dict[str, Measure]
    deviations: dict[str, Floats]


def measure_pairs(
    scored: ScoredPairs,
    summary: PairSummary | None,
    spread: float,
    spread_replicates: Floats,
    settings: AuditSettings,
) -> dict[int | None, SliceMeasures]:
    """Measure all pairs (None) and those of each label (by its code).

    With a summary of more pairs, of which ``scored`` are a uniform sample, the values are those of all pairs: exact,
    except quantiles, which are within 0.1 %. The intervals are as wide as the sample's, put around these values: a
    little wider than all pairs would give, because they allow for the sampling of pairs, and never narrower.
    """
    n_labels = len(scored.pairs.left_table.classes)
    totals, sums = _resample(scored, n_labels, settings)
    found: dict[int | None, SliceMeasures] = {}
    for label in (None, *range(n_labels)):
        chosen = slice(None) if label is None else np.flatnonzero(scored.labels == label)
        groups = slice(None) if label is None else slice(label, label + 1)
        with np.errstate(invalid="ignore", divide="ignore"):  # a replicate may have no pair of this label
            means = sums[:, groups].sum(axis=1) / totals[:, groups].sum(axis=1)[:, None]
        part = _Slice(scored, chosen, settings, None if summary is None else SummaryFacts(summary, label))
        found[label] = part.measure(means, spread, spread_replicates)
    return found


def measure_excess(between: SliceMeasures, within: SliceMeasures, confidence: float) -> dict[str, Measure]:
    """Return the excess over the same-group baseline of the means and of the flip rate."""
    found = {}
    for name in EXCESS_MEASURES:
        of_mean = name.removeprefix("excess_")
        one, other = between.measures[of_mean], within.measures[of_mean]
        if one.value is None or other.value is None:
            found[name] = Measure(None, n=one.n)
            continue
        excess = one.value - other.value
        interval = None
        if of_mean in between.deviations and of_mean in within.deviations:
            deviations = between.deviations[of_mean] - within.deviations[of_mean]
            interval = interval_of(excess, deviations, confidence, -np.inf, np.inf)
        elif None not in (one.low, one.high, other.low, other.high):  # a share that was seldom seen
            interval = subtract(one.value, (one.low, one.high), other.value, (other.low, other.high))  # type: ignore[arg-type]  # all are known
        found[name] = _measure(excess, interval, one.n)
    return found


def _resample(scored: ScoredPairs, n_labels: int, settings: AuditSettings) -> tuple[Floats, Floats]:
    from likewise.auditing.inference._bootstrap import resample_pairs

    flips = np.zeros(len(scored)) if scored.flips is None else scored.flips.astype(np.float64)
    return resample_pairs(
        scored.pairs.left,
        scored.pairs.right,
        scored.labels,
        np.column_stack([scored.gaps, scored.rank_gaps, flips]),
        n_people=len(scored.pairs.left_table),
        n_groups=n_labels,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )


class _Slice:
    """Some of the pairs, which may be a sample of those that the facts are about."""

    def __init__(
        self, scored: ScoredPairs, chosen: slice | NDArray[np.intp], settings: AuditSettings, facts: PairFacts | None
    ) -> None:
        self._settings = settings
        self._columns = {"gap": scored.gaps[chosen], "rank_gap": scored.rank_gaps[chosen]}
        self._flips = None if scored.flips is None else scored.flips[chosen]
        self._left, self._right = scored.pairs.left[chosen], scored.pairs.right[chosen]
        self._n_people = len(scored.pairs.left_table)
        self._most = scored.largest
        self._n_apart = count_apart(self._left, self._right, self._n_people)
        self._is_sample = facts is not None
        n_flips = 0 if self._flips is None else int(np.count_nonzero(self._flips))
        self._sample = ExactFacts(self._columns["gap"], self._columns["rank_gap"], n_flips)
        self._facts: PairFacts = facts or self._sample

    def measure(self, means: Floats, spread: float, spread_replicates: Floats) -> SliceMeasures:
        """Take every measure; ``means`` are the replicates' (gap, rank gap, flips)."""
        n = self._facts.n
        if n == 0:
            return SliceMeasures({name: Measure(None) for name in PAIR_MEASURES}, {})
        found: dict[str, Measure] = {}
        deviations: dict[str, Floats] = {}
        for position, (column, values) in enumerate(self._columns.items()):
            deviations[f"{column}_mean"] = self._deviate(values, means[:, position])
            found |= self._measure_column(column, values, deviations[f"{column}_mean"])
        limit = self._settings.gap_limit
        is_above = self._columns["gap"] > limit + GAP_TOLERANCE
        found["gap_share_above"] = self._measure_share(self._facts.share_above(limit), is_above)
        found["gap_over_spread"] = self._relate(found["gap_mean"], deviations["gap_mean"], spread, spread_replicates)
        found["flip_rate"] = Measure(None, n=n)
        if self._flips is not None:
            found["flip_rate"] = self._measure_share(self._facts.flip_rate(), self._flips)
            rate = float(self._flips.mean()) if len(self._flips) else 0.0
            if self._n_apart * min(rate, 1 - rate) >= SEEN_OFTEN:
                deviations["flip_rate"] = self._deviate(self._flips.astype(np.float64), means[:, 2])
        return SliceMeasures({name: found[name] for name in PAIR_MEASURES}, deviations)

    def _deviate(self, values: Floats, means: Floats) -> Floats:
        """Return how far the mean is off in each replicate; NaN where the sample has no such pair."""
        if not len(values):
            return np.full(len(means), np.nan)
        mean = float(values.mean())
        if not self._settings.n_resamples:
            return means - mean
        reach = reach_of(self._left, self._right, values - mean, self._n_people, self._settings.confidence)
        return reach * (means - mean)

    def _measure_column(self, column: str, values: Floats, deviations: Floats) -> dict[str, Measure]:
        facts, n, ordered, mean = self._facts, self._facts.n, self._sample.ordered(column), self._facts.mean(column)
        most = 1.0 if column == "rank_gap" else self._most
        interval = interval_of(mean, deviations, self._settings.confidence, 0.0, most)
        found = {f"{column}_mean": _measure(mean, interval, n)}
        for name, share in QUANTILES.items():
            interval = None
            if self._settings.n_resamples and len(values):
                interval = quantile_interval(
                    self._left,
                    self._right,
                    values,
                    ordered,
                    share,
                    n_people=self._n_people,
                    n_apart=self._n_apart,
                    confidence=self._settings.confidence,
                    most=most,
                    around=partial(facts.around, column) if self._is_sample else None,
                )
                if column == "rank_gap":
                    interval = allow_for_ranks(interval, ordered, self._n_people, self._settings.confidence)
            found[f"{column}_{name}"] = _measure(facts.quantile(column, share), interval, n)
        found[f"{column}_max"] = Measure(facts.largest(column), n=n)  # no resample goes beyond it: no interval
        return found

    def _measure_share(self, share: float, holds: NDArray[np.bool_]) -> Measure:
        """Bound a share by how the pairs it holds for are distributed over people."""
        n = self._facts.n
        if not self._settings.n_resamples or not len(holds):
            return Measure(share, n=n)
        seen = float(holds.mean())
        if 0 < seen < 1:
            residuals = holds.astype(np.float64) - seen
            variance, _ = shared_variance(self._left, self._right, residuals, self._n_people)
            n_independent = count_independent(residuals, variance)
        else:  # no variance to go by
            n_independent = self._n_apart
        return _measure(share, interval_of_share(share, n_independent, self._settings.confidence, self._n_apart), n)

    def _relate(self, mean: Measure, deviations: Floats, spread: float, spreads: Floats) -> Measure:
        if spread == 0 or mean.value is None:
            return Measure(None, n=mean.n)
        value = mean.value / spread
        if not len(spreads):
            return Measure(value, n=mean.n)
        with np.errstate(invalid="ignore", divide="ignore"):  # a replicate may have one score only
            related = (mean.value + deviations) / spreads - value
        return _measure(value, interval_of(value, related, self._settings.confidence, 0.0, np.inf), mean.n)


def _measure(value: float, interval: Interval | None, n: int) -> Measure:
    low, high = interval or (None, None)
    return Measure(value, low, None if high == np.inf else high, n)
