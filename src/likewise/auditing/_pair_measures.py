"""What can be said of the gaps of some pairs: for all of them and by label, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._facts import Facts, KnownPairs, TalliedPairs
from likewise.auditing._gaps import GAP_TOLERANCE, QUANTILES, find_flips, rank_gaps, score_gaps
from likewise.auditing._intervals import (
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
from likewise.auditing._scores import Scores
from likewise.auditing._tally import PairTally
from likewise.comparable import ComparablePairs
from likewise.record._internal import EXCESS_MEASURES, PAIR_MEASURES, Measure

Floats = NDArray[np.float64]
SEEN_OFTEN: Final = 5  # flips, and pairs without one: with fewer, many replicates have none


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPairs:
    """Hold pairs with everything that is measured of a single pair."""

    pairs: ComparablePairs
    labels: NDArray[np.int32]  # the code of each pair's label
    gaps: Floats
    rank_gaps: Floats
    flips: NDArray[np.bool_] | None  # None without decisions
    largest: float  # that a gap can be

    def __len__(self) -> int:
        return len(self.gaps)


@dataclass(frozen=True, slots=True, eq=False)
class SliceMeasures:
    """Hold the measures of some of the pairs, and how the replicates of each mean deviate from it."""

    measures: dict[str, Measure]
    deviations: dict[str, Floats]


@dataclass(frozen=True, slots=True)
class Precision:
    """How intervals are made: from how many replicates, at which confidence, from which seed."""

    n_resamples: int
    confidence: float
    seed: int


def score_pairs(pairs: ComparablePairs, scores: Scores) -> ScoredPairs:
    """Measure each pair."""
    return ScoredPairs(
        pairs=pairs,
        labels=pairs.left_table.labels[pairs.left],
        gaps=score_gaps(pairs, scores.values) / scores.scale,
        rank_gaps=rank_gaps(pairs, scores.values),
        flips=None if scores.decisions is None else find_flips(pairs, scores.decisions),
        largest=np.inf if scores.task == "regression" else 1.0,
    )


def measure_pairs(
    scored: ScoredPairs,
    tally: PairTally | None = None,
    *,
    limit: float,
    spread: float,
    spread_replicates: Floats,
    precision: Precision,
) -> dict[int | None, SliceMeasures]:
    """Measure all pairs (None) and those of each label (by its code).

    With a tally of more pairs, of which ``scored`` are a uniform sample, the values are those of all pairs: exact, but
    for the quantiles, which are within 0.1 %. The intervals are as wide as the sample's, put around these values: a
    little wider than all pairs would give, for they allow for the drawing of pairs too, and never narrower.
    """
    n_labels = len(scored.pairs.left_table.classes)
    totals, sums = _resample(scored, n_labels, precision)
    found: dict[int | None, SliceMeasures] = {}
    for label in (None, *range(n_labels)):
        chosen = slice(None) if label is None else np.flatnonzero(scored.labels == label)
        groups = slice(None) if label is None else slice(label, label + 1)
        with np.errstate(invalid="ignore", divide="ignore"):  # a replicate may have no pair of this label
            means = sums[:, groups].sum(axis=1) / totals[:, groups].sum(axis=1)[:, None]
        part = _Slice(scored, chosen, precision, None if tally is None else TalliedPairs(tally, label))
        found[label] = part.measure(means, limit, spread, spread_replicates)
    return found


def measure_excess(between: SliceMeasures, within: SliceMeasures, precision: Precision) -> dict[str, Measure]:
    """Say by how much pairs that differ in the sensitive columns are further apart than pairs that do not."""
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
            interval = interval_of(excess, deviations, precision.confidence, -np.inf, np.inf)
        elif None not in (one.low, one.high, other.low, other.high):  # a share that was seldom seen
            interval = subtract(one.value, (one.low, one.high), other.value, (other.low, other.high))  # type: ignore[arg-type]  # all are known
        found[name] = _measure(excess, interval, one.n)
    return found


def _resample(scored: ScoredPairs, n_labels: int, precision: Precision) -> tuple[Floats, Floats]:
    from likewise.auditing._resampling import resample_pairs

    flips = np.zeros(len(scored)) if scored.flips is None else scored.flips.astype(np.float64)
    return resample_pairs(
        scored.pairs.left,
        scored.pairs.right,
        scored.labels,
        np.column_stack([scored.gaps, scored.rank_gaps, flips]),
        n_people=len(scored.pairs.left_table),
        n_groups=n_labels,
        n_resamples=precision.n_resamples,
        seed=precision.seed,
    )


class _Slice:
    """Some of the pairs, which may be a sample of those that the facts are about."""

    def __init__(
        self, scored: ScoredPairs, chosen: slice | NDArray[np.intp], precision: Precision, facts: Facts | None
    ) -> None:
        self._precision = precision
        self._columns = {"gap": scored.gaps[chosen], "rank_gap": scored.rank_gaps[chosen]}
        self._flips = None if scored.flips is None else scored.flips[chosen]
        self._left, self._right = scored.pairs.left[chosen], scored.pairs.right[chosen]
        self._n_people = len(scored.pairs.left_table)
        self._most = scored.largest
        self._n_apart = count_apart(self._left, self._right, self._n_people)
        self._ordered = {column: np.sort(values) for column, values in self._columns.items()}
        self._is_sample = facts is not None
        self._facts: Facts = facts or KnownPairs(self._columns, self._ordered, self._flips)

    def measure(self, means: Floats, limit: float, spread: float, spread_replicates: Floats) -> SliceMeasures:
        """Take every measure; ``means`` are the replicates' (gap, rank gap, flips)."""
        n = self._facts.n
        if n == 0:
            return SliceMeasures({name: Measure(None) for name in PAIR_MEASURES}, {})
        found: dict[str, Measure] = {}
        deviations: dict[str, Floats] = {}
        for position, (column, values) in enumerate(self._columns.items()):
            deviations[f"{column}_mean"] = self._deviate(values, means[:, position])
            found |= self._measure_column(column, values, deviations[f"{column}_mean"])
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
        """Say how far the mean is off in each replicate; NaN where the sample has no such pair."""
        if not len(values):
            return np.full(len(means), np.nan)
        mean = float(values.mean())
        if not self._precision.n_resamples:
            return means - mean
        reach = reach_of(self._left, self._right, values - mean, self._n_people, self._precision.confidence)
        return reach * (means - mean)

    def _measure_column(self, column: str, values: Floats, deviations: Floats) -> dict[str, Measure]:
        facts, n, ordered, mean = self._facts, self._facts.n, self._ordered[column], self._facts.mean(column)
        most = 1.0 if column == "rank_gap" else self._most
        interval = interval_of(mean, deviations, self._precision.confidence, 0.0, most)
        found = {f"{column}_mean": _measure(mean, interval, n)}
        for name, share in QUANTILES.items():
            interval = None
            if self._precision.n_resamples and len(values):
                interval = quantile_interval(
                    self._left,
                    self._right,
                    values,
                    ordered,
                    share,
                    n_people=self._n_people,
                    n_apart=self._n_apart,
                    confidence=self._precision.confidence,
                    most=most,
                    around=partial(facts.around, column) if self._is_sample else None,
                )
                if column == "rank_gap":
                    interval = allow_for_ranks(interval, ordered, self._n_people, self._precision.confidence)
            found[f"{column}_{name}"] = _measure(facts.quantile(column, share), interval, n)
        found[f"{column}_max"] = Measure(facts.largest(column), n=n)  # no resample goes beyond it: no interval
        return found

    def _measure_share(self, share: float, holds: NDArray[np.bool_]) -> Measure:
        """Bound a share by how the pairs it holds for are spread over people."""
        n = self._facts.n
        if not self._precision.n_resamples or not len(holds):
            return Measure(share, n=n)
        seen = float(holds.mean())
        if 0 < seen < 1:
            residuals = holds.astype(np.float64) - seen
            variance, _ = shared_variance(self._left, self._right, residuals, self._n_people)
            n_independent = count_independent(residuals, variance)
        else:  # no variance to go by
            n_independent = self._n_apart
        return _measure(share, interval_of_share(share, n_independent, self._precision.confidence, self._n_apart), n)

    def _relate(self, mean: Measure, deviations: Floats, spread: float, spreads: Floats) -> Measure:
        if spread == 0 or mean.value is None:
            return Measure(None, n=mean.n)
        value = mean.value / spread
        if not len(spreads):
            return Measure(value, n=mean.n)
        with np.errstate(invalid="ignore", divide="ignore"):  # a replicate may have one score only
            related = (mean.value + deviations) / spreads - value
        return _measure(value, interval_of(value, related, self._precision.confidence, 0.0, np.inf), mean.n)


def _measure(value: float, interval: Interval | None, n: int) -> Measure:
    low, high = interval or (None, None)
    return Measure(value, low, None if high == np.inf else high, n)
