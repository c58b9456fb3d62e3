"""The measures of pairs: of all of them and by label, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._settings import AuditSettings
from likewise.auditing.inference._excess import ComparedPeople, Excess, Partners, equal_in_discrete
from likewise.auditing.inference._intervals import (
    Influence,
    Interval,
    PairGraph,
    bound_share,
    face_groups,
    interval_of_mean,
)
from likewise.auditing.inference._quantile_intervals import quantile_intervals
from likewise.auditing.inference._rank_intervals import contribute_to_ranks
from likewise.auditing.pairs._gaps import (
    GAP_TOLERANCE,
    QUANTILES,
    quantile_of_sorted,
)
from likewise.auditing.pairs._meter import ScoredPairs
from likewise.auditing.pairs._quantiles import SKETCH_ERROR, quantile_of_counts
from likewise.auditing.pairs._summary import PairSummary
from likewise.auditing.question._question import number_combinations
from likewise.auditing.question._scores import Scores
from likewise.auditing.question._weights import WeightedOrder, mean_of
from likewise.record._internal import MEASURES, SAME_GROUP_OF, Measure
from likewise.schema import CodedTable

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
MeasuresByLabel = dict[int | None, dict[str, Measure]]
PairSet = tuple[ScoredPairs, PairSummary | None]  # pairs of one kind; where they are a sample, the summary of all
PairSets = Sequence[PairSet]  # comparable pairs, and same-group ones
OF_PAIRS: Final = [
    name for name, kind in MEASURES.items() if kind.family == "pairs" and name not in SAME_GROUP_OF.values()
]


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


def measure_pairs(
    scored: ScoredPairs,
    summary: PairSummary | None,
    settings: AuditSettings,
    baseline: PairSet | None = None,
) -> MeasuresByLabel:
    """Measure all pairs (None) and those of each label (by its code), with the same-group pairs of a baseline.

    With a summary of more pairs, of which ``scored`` are a uniform sample, the values are those of all pairs: exact,
    except quantiles, which are within 0.1 %. The intervals are as wide as the sample's, put around these values: a
    little wider than all pairs would give, because they allow for the sampling of pairs, and never narrower.
    """
    n_labels = len(scored.pairs.left_table.classes)
    is_alike = n_labels == 1 and summary is None  # all pairs have the one label
    sides = [(scored, summary), *([] if baseline is None else [baseline])]
    excess = {} if baseline is None else measure_excess(sides, settings)
    if not settings.n_resamples:  # all that is asked of pairs is in a summary
        sides = [(one if of_all is None else one.none(), of_all) for one, of_all in sides]
    found: MeasuresByLabel = {}
    for label in (None, *range(0 if is_alike else n_labels)):
        slices = [_Slice(*side, label, settings).measure() for side in sides]
        found[label] = slices[0]
        for within in slices[1:]:
            found[label] |= excess[label]
            found[label] |= {same_group: within[name] for name, same_group in SAME_GROUP_OF.items()}
    return found | {0: found[None]} if is_alike else found


def measure_excess(sides: PairSets, settings: AuditSettings, before: PairSets | None = None) -> MeasuresByLabel:
    """Measure the excess by person, over all labels (None) and for each; or what it changed by since ``before``.

    The sides are comparable and same-group pairs, or samples of those in summaries; those before are the same pairs.
    """
    labels = (None, *range(len(sides[0][0].pairs.left_table.classes)))
    found: MeasuresByLabel = {label: {} for label in labels}
    for name, excess in _find_excess(sides, before).items():
        for label in labels:
            if not excess.n(label):
                found[label][name] = Measure(None)
                continue
            value, interval = excess.mean(label), None
            if settings.n_resamples and (known := excess.influence(label)).error:
                interval = interval_of_mean(value, known, settings.confidence, -np.inf, np.inf)
            if interval is not None and before is None:
                interval = interval[0], interval[1] + max(-value, 0.0)
            found[label][name] = _measure(value, interval, excess.n(label))
    return found


def _find_excess(sides: PairSets, before: PairSets | None) -> dict[str, Excess]:
    """Return what everybody has in excess, by the name of the measure."""
    scores = sides[0][0].scores
    people = ComparedPeople(sides[0][0].pairs.left_table.labels, scores.weighing.values, scores.units)
    partners = [Partners(scored.pairs, people) for scored, _ in sides]
    values = [_values_of(scored) for scored, _ in sides]
    for now, (was, _) in zip(values, before or (), strict=False):
        now.update({name: now[name].astype(np.float64) - one for name, one in _values_of(was).items() if name in now})
    found = {
        name: Excess((partners[0], partners[1]), (one, values[1][name]), people) for name, one in values[0].items()
    }
    equal = [equal_in_discrete(scored.pairs) for scored, _ in sides]
    if not all(one.all() for one in equal):
        few = [Partners(one.pairs, people, counts) for (one, _), counts in zip(sides, equal, strict=True)]
        gaps = values[0]["excess"], values[1]["excess"]
        found["excess_equal"] = Excess((few[0], few[1]), gaps, people)
    return found


def _values_of(scored: ScoredPairs) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {"excess": scored.gaps, "excess_rank_gap": scored.rank_gaps}
    return found if scored.flips is None else found | {"excess_flips": scored.flips}


def measure_parts(
    parts: Floats, gaps: Floats, graph: PairGraph, confidence: float | None, unseen: float
) -> tuple[Measure, Measure]:
    """Measure the mean of what something adds to each gap, and its share of the mean gap; no intervals without one."""
    n, mean, whole = len(gaps), graph.mean(parts), graph.mean(gaps)
    if not n or confidence is None:
        return Measure(mean if n else None, n=n), Measure(mean / whole if whole else None, n=n)
    part = _measure(mean, interval_of_mean(mean, graph.influence(parts), confidence, -np.inf, np.inf, unseen), n)
    if not whole:
        return part, Measure(None, n=n)
    share = mean / whole
    # a ratio of two means varies as the mean of (part - share * gap) / mean gap does
    found = graph.influence(share + (parts - share * gaps) / whole)
    return part, _measure(share, interval_of_mean(share, found, confidence, -np.inf, np.inf, 1.0), n)


def link_people(left: Rows, right: Rows, table: CodedTable, scores: Scores) -> PairGraph:
    """Return who is in which pairs, the people of one group on one side."""
    sides = face_groups(left, right, number_combinations(table)[0])
    return PairGraph.of(*sides, scores.units, scores.weighing.of_pairs(left, right))


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

    def measure(self) -> dict[str, Measure]:
        """Take every measure."""
        n = self._facts.n
        if n == 0:
            return {name: Measure(None) for name in OF_PAIRS}
        known, quantiles = dict[str, Influence](), dict[str, Interval | None]()
        if self._settings.n_resamples and len(self._part):
            part, scored = self._part, self._scored
            graph = link_people(part.left, part.right, scored.pairs.left_table, scored.scores)
            known, quantiles = self._find_influence(graph), self._bound_quantiles(graph)
        found = self._measure_columns(known, quantiles)
        limit = self._settings.gap_limit
        found["gap_share_above"] = self._measure_share(self._facts.share_above(limit), known.get("gap_share_above"))
        found["flip_rate"] = Measure(None, n=n)
        if self._scored.flips is not None:
            found["flip_rate"] = self._measure_share(self._facts.flip_rate(), known.get("flip_rate"))
        return {name: found[name] for name in OF_PAIRS}

    def _find_influence(self, graph: PairGraph) -> dict[str, Influence]:
        """Return the influence on every mean and share."""
        part, scored = self._part, self._scored
        people, of_pairs = scored.scores, (part.left, part.right, scored.ranks, graph.weights)
        of_ranks = contribute_to_ranks(*of_pairs, people.weighing, scored.ranking)
        found = {
            "rank_gap_mean": graph.influence(part.rank_gaps, people.units.add_up(of_ranks)),
            "gap_mean": graph.influence(part.gaps),
            "gap_share_above": graph.influence(part.gaps > self._settings.gap_limit + GAP_TOLERANCE),
        }
        return found if part.flips is None else found | {"flip_rate": graph.influence(part.flips)}

    @property
    def _most_of(self) -> dict[str, float]:
        """How large gaps and rank gaps can be."""
        return {"gap": self._scored.largest, "rank_gap": 1.0}

    def _measure_columns(
        self, known: Mapping[str, Influence], quantiles: Mapping[str, Interval | None]
    ) -> dict[str, Measure]:
        """Measure mean, quantiles and maximum of the gaps, and the mean rank gap."""
        confidence, most = self._settings.confidence, self._most_of
        n = self._facts.n
        found = {
            f"gap_{name}": _measure(self._facts.quantile("gap", share), quantiles.get(f"gap_{name}"), n)
            for name, share in QUANTILES.items()
        }
        for column, largest in most.items():
            mean, of_mean = self._facts.mean(column), known.get(f"{column}_mean")
            unseen = min(self._scored.unseen, 1.0) if column == "rank_gap" else self._scored.unseen
            interval = None if of_mean is None else interval_of_mean(mean, of_mean, confidence, 0.0, largest, unseen)
            found[f"{column}_mean"] = _measure(mean, interval, n)
        return found | {"gap_max": Measure(self._facts.largest("gap"), n=n)}  # no resample goes beyond it

    def _bound_quantiles(self, graph: PairGraph) -> dict[str, Interval | None]:
        """Bound the quantiles of gaps."""
        quantile_of, around = partial(self._sample.quantile, "gap"), partial(self._facts.around, "gap")
        how: dict[str, Any] = {"confidence": self._settings.confidence, "most": self._scored.largest, "around": around}
        ends = quantile_intervals(graph, self._columns["gap"], quantile_of, [*QUANTILES.values()], **how)
        return {f"gap_{name}": interval for name, interval in zip(QUANTILES, ends, strict=True)}

    def _measure_share(self, share: float, known: Influence | None) -> Measure:
        """Bound a share by how the pairs it holds for are distributed over people."""
        interval = None if known is None else bound_share(share, known, self._settings.confidence)
        return _measure(share, interval, self._facts.n)


def _measure(value: float, interval: Interval | None, n: int) -> Measure:
    low, high = interval or (None, None)
    return Measure(value, low, None if high == np.inf else high, n)
