"""The measures of pairs: of all of them and by label, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._settings import AuditSettings
from likewise.auditing.inference._intervals import (
    NOTHING,
    Contributions,
    Interval,
    PairGraph,
    bound_share,
    interval_of_mean,
    subtract,
)
from likewise.auditing.inference._quantile_intervals import quantile_intervals
from likewise.auditing.inference._rank_intervals import allow_for_ranks, contribute_to_ranks
from likewise.auditing.pairs._gaps import (
    GAP_TOLERANCE,
    QUANTILES,
    quantile_of_sorted,
)
from likewise.auditing.pairs._meter import ScoredPairs
from likewise.auditing.pairs._quantiles import SKETCH_ERROR, quantile_of_counts
from likewise.auditing.pairs._summary import PairSummary
from likewise.auditing.question._weights import WeightedOrder, effective_size, mean_of
from likewise.record._internal import EXCESS_MEASURES, PAIR_MEASURES, Measure

Floats = NDArray[np.float64]
LEAST_OF_MEAN: Final = 1 / 3  # of the variance of a mean, where it is divided by what varies with it


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
    """Facts of pairs that are all at hand, in their order; ``ordered`` are the gaps sorted, where that is known.

    Where pairs are weighted, ``n_flips`` is a weight, too, and ``ends`` how much weight there is up to each sorted gap.
    """

    def __init__(
        self,
        gaps: Floats,
        rank_gaps: Floats,
        n_flips: float,
        ordered: Floats | None = None,
        weights: Floats | None = None,
        ends: Floats | None = None,
    ) -> None:
        self._columns, self._n_flips, self._weights = {"gap": gaps, "rank_gap": rank_gaps}, n_flips, weights
        self._ordered: dict[str, Floats] = {} if ordered is None else {"gap": ordered}
        self._weighted: dict[str, WeightedOrder] = {}
        if ordered is not None and ends is not None:
            self._weighted["gap"] = WeightedOrder(ordered, ends)

    @property
    def n(self) -> int:
        return len(self._columns["gap"])

    def ordered(self, column: str) -> Floats:
        """Return the values in ascending order."""
        if column not in self._ordered:
            self._ordered[column] = np.sort(self._columns[column])
        return self._ordered[column]

    def mean(self, column: str) -> float:
        return mean_of(self._columns[column], self._weights)

    def largest(self, column: str) -> float:
        return float(self.ordered(column)[-1])

    def quantile(self, column: str, share: float) -> float:
        if self._weights is None:
            return quantile_of_sorted(self.ordered(column), share)
        return self.weighted(column).quantile(share)

    def weighted(self, column: str) -> WeightedOrder:
        """Return the values in ascending order, with their weights."""
        if column not in self._weighted:
            assert self._weights is not None  # as the caller knows
            self._weighted[column] = WeightedOrder.of(self._columns[column], self._weights)
        return self._weighted[column]

    def around(self, column: str, low: float, high: float) -> tuple[float, float]:
        return self.quantile(column, low), self.quantile(column, high)

    def share_above(self, limit: float) -> float:
        return mean_of(self._columns["gap"] > limit + GAP_TOLERANCE, self._weights)

    def flip_rate(self) -> float:
        return self._n_flips / (self.n if self._weights is None else float(self._weights.sum()))


class SummaryFacts:
    """Facts of the pairs of one label in a summary, or of all pairs (None)."""

    def __init__(self, summary: PairSummary, label: int | None) -> None:
        labels = slice(None) if label is None else slice(label, label + 1)
        self.n, self._weight = int(summary.n[labels].sum()), float(summary.weight[labels].sum())
        places = {"gap": 0, "rank_gap": 1}
        self._totals = {column: float(summary.totals[place, labels].sum()) for column, place in places.items()}
        self._most = {column: float(summary.most[place, labels].max(initial=0.0)) for column, place in places.items()}
        self._counts = {column: getattr(summary, f"{column}_buckets")[labels].sum(axis=0) for column in places}
        self._n_above, self._n_flips = float(summary.n_above[labels].sum()), float(summary.n_flips[labels].sum())

    def mean(self, column: str) -> float:
        return self._totals[column] / self._weight

    def largest(self, column: str) -> float:
        return self._most[column]

    def quantile(self, column: str, share: float) -> float:
        return quantile_of_counts(self._counts[column], share, self._most[column])

    def around(self, column: str, low: float, high: float) -> tuple[float, float]:
        least, most = self.quantile(column, low), self.quantile(column, high)
        return least * (1 - SKETCH_ERROR), min(most * (1 + SKETCH_ERROR), self._most[column])

    def share_above(self, limit: float) -> float:  # the summary's own limit, which is the same
        return self._n_above / self._weight

    def flip_rate(self) -> float:
        return self._n_flips / self._weight


@dataclass(frozen=True, slots=True, eq=False)
class SliceMeasures:
    """The measures of some of the pairs, what people contribute to each mean, and the gaps behind them."""

    measures: dict[str, Measure]
    contributions: dict[str, Contributions]
    graph: PairGraph | None = None
    columns: dict[str, Floats] = field(default_factory=dict)

    def bend(self, name: str, by_person: Floats) -> float:
        """Return what chains through these pairs add to the third moment, with what people contribute in all."""
        values = self.columns[name.removesuffix("_mean")]
        assert self.graph is not None  # as there are contributions
        return self.graph.bend(self.graph.part(values), by_person)


def measure_pairs(
    scored: ScoredPairs,
    summary: PairSummary | None,
    spread: float,
    spread_contributions: Floats,
    settings: AuditSettings,
    baseline: tuple[ScoredPairs, PairSummary | None] | None = None,
) -> dict[int | None, dict[str, Measure]]:
    """Measure all pairs (None) and those of each label (by its code), with the same-group pairs of a baseline.

    With a summary of more pairs, of which ``scored`` are a uniform sample, the values are those of all pairs: exact,
    except quantiles, which are within 0.1 %. The intervals are as wide as the sample's, put around these values: a
    little wider than all pairs would give, because they allow for the sampling of pairs, and never narrower.
    """
    n_labels = len(scored.pairs.left_table.classes)
    is_alike = n_labels == 1 and summary is None  # all pairs have the one label
    sides = [(scored, summary), *([] if baseline is None else [baseline])]
    if not settings.n_resamples:  # all that is asked of pairs is in a summary
        sides = [(one if of_all is None else one.none(), of_all) for one, of_all in sides]
    found: dict[int | None, dict[str, Measure]] = {}
    for label in (None, *range(0 if is_alike else n_labels)):
        slices = [_Slice(*side, label, settings).measure(spread, spread_contributions) for side in sides]
        found[label] = slices[0].measures
        for within in slices[1:]:
            found[label] |= measure_excess(slices[0], within, settings.confidence)
            found[label] |= {f"within_{name}": within.measures[name] for name in PAIR_MEASURES}
    return found | {0: found[None]} if is_alike else found


def measure_excess(between: SliceMeasures, within: SliceMeasures, confidence: float) -> dict[str, Measure]:
    """Return the excess over the same-group baseline of the means and of the flip rate."""
    found = {}
    for name in EXCESS_MEASURES:
        of_mean = name.removeprefix("excess_")
        one, other = between.measures[of_mean], within.measures[of_mean]
        if one.value is None or other.value is None:
            found[name] = Measure(None, n=one.n)
            continue
        interval = None
        if None not in (one.low, other.low) and of_mean in between.contributions and of_mean in within.contributions:
            interval = _bound_excess(of_mean, between, within, confidence)
        found[name] = _measure(one.value - other.value, interval, one.n)
    return found


def _bound_excess(name: str, between: SliceMeasures, within: SliceMeasures, confidence: float) -> Interval | None:
    one, other = between.measures[name], within.measures[name]
    more, less = between.contributions[name], within.contributions[name]
    bounds = [(np.inf if end is None else end) for end in (one.low, one.high, other.low, other.high)]
    if name != "flip_rate" and more.of_one > NOTHING and less.of_one > NOTHING:
        both = more.by_person - less.by_person
        bent = between.bend(name, both) - within.bend(name, -both)
        difference = one.value - other.value  # type: ignore[operator]  # both are known
        part = (float(one.value or 0.0), more)
        return interval_of_mean(difference, more.minus(less, bent), confidence, -np.inf, np.inf, part=part)
    together = more.correlation(less)
    return subtract(one.value, (bounds[0], bounds[1]), other.value, (bounds[2], bounds[3]), together)  # type: ignore[arg-type]  # both are known


def measure_parts(
    parts: Floats, gaps: Floats, graph: PairGraph, confidence: float | None, unseen: float
) -> tuple[Measure, Measure]:
    """Measure the mean of what something adds to each gap, and its share of the mean gap; no intervals without one."""
    n, mean, whole = len(gaps), mean_of(parts, graph.shares), mean_of(gaps, graph.shares)
    if not n or confidence is None:
        return Measure(mean if n else None, n=n), Measure(mean / whole if whole else None, n=n)
    part = _measure(mean, interval_of_mean(mean, graph.contribute(parts), confidence, -np.inf, np.inf, unseen), n)
    if not whole:
        return part, Measure(None, n=n)
    share = mean / whole
    # a ratio of two means varies as the mean of (part - share * gap) / mean gap does
    found = graph.contribute(share + (parts - share * gaps) / whole)
    return part, _measure(share, interval_of_mean(share, found, confidence, -np.inf, np.inf, 1.0), n)


class _Slice:
    """The pairs of a label, or all (None), which may be a sample of those that a summary is about."""

    def __init__(
        self, scored: ScoredPairs, summary: PairSummary | None, label: int | None, settings: AuditSettings
    ) -> None:
        self._scored, self._settings = scored, settings
        self._part = scored.batch if label is None else scored.batch.take(np.flatnonzero(scored.labels == label))
        self._columns = {"gap": self._part.gaps, "rank_gap": self._part.rank_gaps}
        part = self._part
        self._sample = ExactFacts(part.gaps, part.rank_gaps, part.weight_of_flips, weights=part.weights)
        self._facts: PairFacts = self._sample if summary is None else SummaryFacts(summary, label)

    def measure(self, spread: float, spread_contributions: Floats) -> SliceMeasures:
        """Take every measure."""
        n = self._facts.n
        if n == 0:
            return SliceMeasures({name: Measure(None) for name in PAIR_MEASURES}, {})
        graph, known, quantiles = None, dict[str, Contributions](), dict[str, Interval | None]()
        if self._settings.n_resamples and len(self._part):
            graph = PairGraph.of(self._part.left, self._part.right, len(self._scored.ranks), self._part.weights)
            known, quantiles = self._contribute(graph), self._bound_quantiles(graph)
        found = self._measure_columns(known, quantiles)
        limit = self._settings.gap_limit
        found["gap_share_above"] = self._measure_share(self._facts.share_above(limit), known.get("gap_share_above"))
        found["gap_over_spread"] = self._relate(found["gap_mean"], known.get("gap_mean"), spread, spread_contributions)
        found["flip_rate"] = Measure(None, n=n)
        if self._scored.flips is not None:
            found["flip_rate"] = self._measure_share(self._facts.flip_rate(), known.get("flip_rate"))
        return SliceMeasures({name: found[name] for name in PAIR_MEASURES}, known, graph, self._columns)

    def _contribute(self, graph: PairGraph) -> dict[str, Contributions]:
        """Return what people contribute to every mean and share."""
        part, scored = self._part, self._scored
        of_ranks = contribute_to_ranks(
            part.left, part.right, scored.ranks, part.weights, scored.person_weights, scored.ranking
        )
        found = {
            "rank_gap_mean": graph.contribute(part.rank_gaps, others=of_ranks),
            "gap_mean": graph.contribute(part.gaps),
            "gap_share_above": graph.contribute(part.gaps > self._settings.gap_limit + GAP_TOLERANCE),
        }
        return found if part.flips is None else found | {"flip_rate": graph.contribute(part.flips)}

    @property
    def _most_of(self) -> dict[str, float]:
        """How large gaps and rank gaps can be."""
        return {"gap": self._scored.largest, "rank_gap": 1.0}

    def _measure_columns(
        self, known: Mapping[str, Contributions], quantiles: Mapping[str, Interval | None]
    ) -> dict[str, Measure]:
        """Measure means, quantiles and maxima of gaps and rank gaps."""
        confidence, most = self._settings.confidence, self._most_of
        places = {f"{column}_{name}": (column, share) for column in most for name, share in QUANTILES.items()}
        n = self._facts.n
        found = {
            name: _measure(self._facts.quantile(column, share), quantiles.get(name), n)
            for name, (column, share) in places.items()
        }
        for column, largest in most.items():
            mean, of_mean = self._facts.mean(column), known.get(f"{column}_mean")
            unseen = min(self._scored.unseen, 1.0) if column == "rank_gap" else self._scored.unseen
            interval = None if of_mean is None else interval_of_mean(mean, of_mean, confidence, 0.0, largest, unseen)
            found[f"{column}_mean"] = _measure(mean, interval, n)
            found[f"{column}_max"] = Measure(self._facts.largest(column), n=n)  # no resample goes beyond it
        return found

    def _bound_quantiles(self, graph: PairGraph) -> dict[str, Interval | None]:
        """Bound the quantiles of gaps and rank gaps; the latter also by how uncertain everybody's rank is."""
        found: dict[str, Interval | None] = {}
        weights, confidence = self._scored.person_weights, self._settings.confidence
        n_people = len(self._scored.ranks) if weights is None else effective_size(weights)
        for column, most in self._most_of.items():
            quantile_of, around = partial(self._sample.quantile, column), partial(self._facts.around, column)
            how: dict[str, Any] = {"confidence": confidence, "most": most, "around": around}
            ends = quantile_intervals(graph, self._columns[column], quantile_of, [*QUANTILES.values()], **how)
            for (name, share), interval in zip(QUANTILES.items(), ends, strict=True):
                found[f"{column}_{name}"] = interval
                if column == "rank_gap" and interval is not None:
                    quantile, ordered = self._facts.quantile(column, share), self._sample.ordered(column)
                    allowed = allow_for_ranks(interval, quantile, ordered, n_people, confidence)
                    found[f"{column}_{name}"] = allowed
        return found

    def _measure_share(self, share: float, known: Contributions | None) -> Measure:
        """Bound a share by how the pairs it holds for are distributed over people."""
        interval = None if known is None else bound_share(share, known, self._settings.confidence)
        return _measure(share, interval, self._facts.n)

    def _relate(self, mean: Measure, known: Contributions | None, spread: float, of_spread: Floats) -> Measure:
        if spread == 0 or mean.value is None:
            return Measure(None, n=mean.n)
        value, interval = mean.value / spread, None
        if known is not None:
            # scores that are far apart make both larger, so that the ratio varies less; by how much is uncertain, too
            related = known.scaled(1 / spread, -value / spread * of_spread).at_least(
                LEAST_OF_MEAN * known.variance / spread**2
            )
            unseen = self._scored.unseen / spread
            interval = interval_of_mean(value, related, self._settings.confidence, 0.0, np.inf, unseen)
        return _measure(value, interval, mean.n)


def _measure(value: float, interval: Interval | None, n: int) -> Measure:
    low, high = interval or (None, None)
    return Measure(value, low, None if high == np.inf else high, n)
