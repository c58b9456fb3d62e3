"""What an audit keeps of any number of pairs: counts, sums and extremes that do not grow with the pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._codes import number_codes
from likewise.auditing.pairs._gaps import GAP_TOLERANCE
from likewise.auditing.pairs._quantiles import count_buckets, count_fine, fine_step, place_in_buckets
from likewise.auditing.pairs._selection import DIGITS, KeptPairs
from likewise.exceptions import LikewiseError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.integer[Any]]
ROUNDED: Final = 10.0**DIGITS  # gaps are compared in this unit: what differs less differs by rounding
COUNTED: Final = ("n", "n_lower", "n_higher", "n_flips_down", "n_flips_up")
TURNED: Final = (0, 2, 1, 4, 3)  # what is counted of a transition, from the other side
ADDED: Final = ("signed", "absolute")
WEIGHED: Final = tuple(f"weight_of_{name}" for name in COUNTED)  # added besides, where people are weighted
Columns = dict[str, NDArray[Any]]
BY_LABEL: Final = ("gap", "rank_gap", "flip", "above", "weight", "weight_square")
HISTOGRAMS: Final = ("gap_buckets", "rank_gap_buckets", "gap_bins")
WHAT: Final = (*BY_LABEL, *HISTOGRAMS, *COUNTED, *ADDED, *WEIGHED)  # what a row counts; its number is the place here


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MeasuredPairs:
    """Some pairs, with everything that is measured of a single one."""

    left: Rows  # rows of the whole table, left < right
    right: Rows
    labels: Rows  # the code of the label that both have
    gaps: Floats
    rank_gaps: Floats
    flips: NDArray[np.bool_] | None = None  # whether the two get different decisions
    signed: Floats | None = None  # the right score minus the left one; None where people have several scores
    groups: tuple[Rows, Rows] | None = None  # the combinations of sensitive values of either side
    weights: Floats | None = None  # None where all count alike

    def __len__(self) -> int:
        return len(self.gaps)

    @classmethod
    def join(cls, batches: Sequence[MeasuredPairs]) -> MeasuredPairs:
        """Put pairs together that were measured alike."""
        columns: dict[str, Any] = {}
        for name in (one.name for one in fields(cls) if one.name != "groups"):
            parts = [getattr(batch, name) for batch in batches]
            columns[name] = None if parts[0] is None else np.concatenate(parts)
        return cls(**columns)

    def take(self, places: Rows) -> MeasuredPairs:
        """Return some of the pairs."""
        columns: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "groups"}
        for name, column in columns.items():
            columns[name] = None if column is None else column[places]
        return MeasuredPairs(**columns)

    @property
    def weight_of_flips(self) -> float:
        """How many pairs get different decisions, or what these weigh; 0 without decisions."""
        if self.flips is None:
            return 0.0
        return float(np.count_nonzero(self.flips) if self.weights is None else self.weights[self.flips].sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryShape:
    """What a summary counts; summaries of one shape can be merged."""

    n_people: int  # 0 to keep nothing of single people
    n_labels: int
    n_combinations: int  # of sensitive values
    largest: float  # no gap is larger
    limit: float  # gaps above it are counted
    n_kept: int  # pairs of the uniform sample: those with the lowest keys
    seed: int = 0  # of that sample
    is_weighted: bool = False


class PairSummary:
    """Sum up pairs that come in batches, in memory that grows with the people and not with the pairs.

    Batches in any order, added to any number of summaries merged in any order, give the same counts, maxima,
    quantiles and kept sample, and sums equal but for rounding. Arrays by label have shape (n_labels, ...);
    ``totals`` and ``most`` have one row for gaps and one for rank gaps; of people in no pair ``worst_gap_of`` is -1.
    Where pairs are weighted, all but ``n`` and ``n_pairs_of`` are sums of weights in place of counts.
    """

    def __init__(self, shape: SummaryShape) -> None:
        self.shape = shape
        n_labels = shape.n_labels
        kind: type[Any] = np.float64 if shape.is_weighted else np.int64
        self.n = np.zeros(n_labels, np.int64)
        self.weight, self.n_flips, self.n_above = (np.zeros(n_labels, kind) for _ in range(3))
        self.totals, self.most = np.zeros((2, n_labels)), np.zeros((2, n_labels))
        self.weight_squares = np.zeros(n_labels)
        self.gap_buckets = np.zeros((n_labels, count_buckets(shape.largest)), kind)
        self.rank_gap_buckets = np.zeros((n_labels, count_buckets(1.0)), kind)
        self.gap_bins = np.zeros((n_labels, count_fine(shape.largest)), kind)
        self.n_pairs_of = np.zeros(shape.n_people, np.int64)
        self._weight_of = np.zeros(shape.n_people if shape.is_weighted else 0)
        self.worst_gap_of = np.full(shape.n_people, -1.0)
        self.partner_of = np.full(shape.n_people, -1, np.int32)
        self.transitions = TransitionSums(shape.n_combinations, is_weighted=shape.is_weighted)
        self.kept = KeptPairs(shape.n_kept, shape.seed)

    @property
    def n_total(self) -> int:
        """All pairs."""
        return int(self.n.sum())

    @property
    def weight_of(self) -> NDArray[Any]:
        """The weight of the pairs that each person is in: their number, where all count alike."""
        return self._weight_of if self.shape.is_weighted else self.n_pairs_of

    @property
    def step(self) -> float:
        """How wide a fine bin is."""
        return fine_step(self.shape.largest)

    def person_gaps(self) -> Floats:
        """Return the largest gap of each person; NaN for people in no pair."""
        return np.where(self.n_pairs_of > 0, self.worst_gap_of, np.nan)

    def add(self, batch: MeasuredPairs) -> None:
        """Add pairs that are in no batch added before."""
        labels, n_labels, gaps = batch.labels.astype(np.int64), self.shape.n_labels, batch.gaps
        times: Any = 1 if batch.weights is None else batch.weights
        self.n += np.bincount(labels, minlength=n_labels)
        is_above = gaps > self.shape.limit + GAP_TOLERANCE
        flips = np.zeros(len(gaps), np.bool_) if batch.flips is None else batch.flips
        for counts, holds in ((self.weight, np.ones(len(gaps))), (self.n_flips, flips), (self.n_above, is_above)):
            counts += np.bincount(labels, holds * times, n_labels).astype(counts.dtype)
        self.weight_squares += np.bincount(labels, np.square(times) * np.ones(len(gaps)), n_labels)
        for place, amounts in enumerate((gaps, batch.rank_gaps)):
            self.totals[place] += np.bincount(labels, amounts * times, n_labels)
            np.maximum.at(self.most[place], labels, amounts)
        bins = (gaps / self.step + GAP_TOLERANCE).astype(np.int64)
        for name, places in zip(
            HISTOGRAMS, (place_in_buckets(gaps), place_in_buckets(batch.rank_gaps), bins), strict=True
        ):
            counts = getattr(self, name)
            np.add.at(counts, (labels, np.minimum(places, counts.shape[1] - 1)), times)
        if self.shape.n_people:
            self._add_people(batch)
        if batch.signed is not None:
            self.transitions.add(batch)
        self.kept.add(batch.left, batch.right)

    def add_parts(self, batches: Iterable[MeasuredPairs]) -> None:
        """Add pairs that come a few at a time."""
        for batch in batches:
            self.add(batch)

    def _add_people(self, batch: MeasuredPairs) -> None:
        """Add pairs to what is kept of either person."""
        sides, rounded, known = (batch.left, batch.right), np.rint(batch.gaps * ROUNDED), self.worst_gap_of * ROUNDED
        worst = np.rint(known)
        for side in sides:
            np.add.at(self.n_pairs_of, side, 1)
            np.maximum.at(worst, side, rounded)
            np.maximum.at(self.worst_gap_of, side, batch.gaps)
            if batch.weights is not None:
                np.add.at(self._weight_of, side, batch.weights)
        self.partner_of[worst > np.rint(known)] = np.iinfo(np.int32).max
        for side, other in (sides, sides[::-1]):
            is_worst = rounded == worst[side]
            np.minimum.at(self.partner_of, side[is_worst], other[is_worst].astype(np.int32))

    def merge(self, other: PairSummary) -> None:
        """Add everything that another summary of the same shape has counted."""
        if other.shape != self.shape:
            raise LikewiseError("Two summaries of different shapes cannot be merged. Make both from one SummaryShape.")
        by_label = ("n", "weight", "weight_squares", "n_flips", "n_above", "totals")
        for name in (*by_label, *HISTOGRAMS, "n_pairs_of", "_weight_of"):
            getattr(self, name)[...] += getattr(other, name)
        np.maximum(self.most, other.most, out=self.most)
        self.merge_people(other.worst_gap_of, other.partner_of)
        self.transitions.merge(other.transitions)
        self.kept.merge(other.kept)

    def merge_people(self, worst: Floats, partners: NDArray[np.int32]) -> None:
        """Take over the worst gap and partner of those for whom they are worse than what is known."""
        here, there = np.rint(self.worst_gap_of * ROUNDED), np.rint(worst * ROUNDED)
        is_partner = (there > here) | ((there == here) & (partners < self.partner_of))
        self.partner_of[is_partner] = partners[is_partner]
        np.maximum(self.worst_gap_of, worst, out=self.worst_gap_of)


class TransitionSums:
    """Counts and sums of signed gaps for every two combinations, from the lower-numbered one to the other.

    ``keys``: the lower number times ``n_combinations``, plus the upper one; ascending. ``counts`` and ``sums`` have the
    columns ``COUNTED`` and ``ADDED``, the latter with ``WEIGHED`` where pairs are weighted.
    """

    def __init__(self, n_combinations: int, *, is_weighted: bool = False) -> None:
        self.n_combinations = n_combinations
        self.added = (*ADDED, *WEIGHED) if is_weighted else ADDED
        self.keys = np.empty(0, np.int64)
        self.counts = np.empty((0, len(COUNTED)), np.int64)
        self.sums = np.empty((0, len(self.added)))

    def renumber(self, numbers: Counts, n_numbers: int) -> TransitionSums:
        """Add up combinations that get the same number; pairs between these say nothing any more."""
        first, second = (numbers[one] for one in np.divmod(self.keys, self.n_combinations))
        kept, is_turned = first != second, (first > second)[:, None]
        counts = np.where(is_turned, self.counts[:, TURNED], self.counts)[kept]
        sums = self.sums.copy()
        sums[:, 0] = np.where(is_turned[:, 0], -sums[:, 0], sums[:, 0])
        if len(self.added) > len(ADDED):
            weights = sums[:, len(ADDED) :]
            sums[:, len(ADDED) :] = np.where(is_turned, weights[:, TURNED], weights)
        keys = (np.minimum(first, second) * n_numbers + np.maximum(first, second))[kept]
        merged = TransitionSums(n_numbers, is_weighted=len(self.added) > len(ADDED))
        merged.keys, places = np.unique(keys, return_inverse=True)
        merged.counts = np.zeros((len(merged.keys), len(COUNTED)), np.int64)
        merged.sums = np.zeros((len(merged.keys), len(self.added)))
        np.add.at(merged.counts, places, counts)
        np.add.at(merged.sums, places, sums[kept])
        return merged

    def add(self, batch: MeasuredPairs) -> None:
        """Add pairs, with the right person's score over the left one's; those of one combination say nothing here."""
        signed, flips, weights = batch.signed, batch.flips, batch.weights
        if batch.groups is None or signed is None:
            raise ValueError("Signed gaps were given without the combinations of sensitive values they are between.")
        first, second = (side.astype(np.int64) for side in batch.groups)
        chosen = np.flatnonzero(first != second)
        if not len(chosen):
            return
        if len(chosen) < len(first):
            first, second, signed = first[chosen], second[chosen], signed[chosen]
            flips = None if flips is None else flips[chosen]
            weights = None if weights is None else weights[chosen]
        keys, numbers = number_codes(np.minimum(first, second) * self.n_combinations + np.maximum(first, second))
        turned = np.where(first > second, -signed, signed)
        # a model may give the same row two scores, if it stands at two places
        is_lower, is_higher = turned < -GAP_TOLERANCE, turned > GAP_TOLERANCE
        is_down = is_up = np.zeros(len(turned), np.bool_)
        if flips is not None:  # whoever gets the no has the lower score
            is_down, is_up = flips & (turned < 0), flips & (turned > 0)
        n = np.bincount(numbers, minlength=len(keys))
        kinds = (is_lower, is_higher, is_down, is_up)
        parts = [np.bincount(numbers[one], minlength=len(keys)) for one in kinds]
        turned[~(is_lower | is_higher)] = 0.0
        if weights is None:
            sums = [np.bincount(numbers, one, len(keys)) for one in (turned, np.abs(turned))]
        else:
            amounts = (turned, np.abs(turned), np.ones(len(turned)), *kinds)
            sums = [np.bincount(numbers, one * weights, len(keys)) for one in amounts]
        self.take(keys, np.column_stack([n, *parts]), np.column_stack(sums))

    def merge(self, other: TransitionSums) -> None:
        """Add the sums of another."""
        self.take(other.keys, other.counts, other.sums)

    def take(self, keys: Counts, counts: Counts, sums: Floats) -> None:
        """Add sums of different transitions, by their ascending keys."""
        every = np.union1d(self.keys, keys)
        all_counts = np.zeros((len(every), len(COUNTED)), np.int64)
        all_sums = np.zeros((len(every), len(self.added)))
        for some, n, added in ((self.keys, self.counts, self.sums), (keys, counts, sums)):
            places = np.searchsorted(every, some)
            all_counts[places] += n
            all_sums[places] += added
        self.keys, self.counts, self.sums = every, all_counts, all_sums


def summary_to_columns(summary: PairSummary) -> Columns:
    """Return everything counted by label and by transition as rows that merge by adding.

    Of rows equal in ``what`` and ``key``, ``n`` and ``total`` are added, and the largest ``most`` stays.
    """
    parts = list(_list_parts(summary))
    names = ("what", "key", "n", "total", "most")
    return {name: np.concatenate([part[place] for part in parts]) for place, name in enumerate(names)}


def people_to_columns(batch: MeasuredPairs) -> Columns:
    """Return a row for everybody in some pairs: how many pairs, of what weight, the largest gap, and with whom.

    Of rows of one person, ``n`` and ``total`` are added, the largest ``most`` stays, and of ``rounded`` and
    ``minus_partner`` those of the row where the two, in this order, are largest: of several partners, the earliest row.
    """
    person = np.concatenate([batch.left, batch.right])
    partner = np.concatenate([batch.right, batch.left])
    gaps = np.tile(batch.gaps, 2)
    weights = np.ones(len(gaps)) if batch.weights is None else np.tile(batch.weights, 2)
    rounded = np.rint(gaps * ROUNDED)
    order = np.lexsort([partner, -rounded, person])
    person, gaps = person[order], gaps[order]
    starts = np.flatnonzero(np.diff(person, prepend=-1))
    return {
        "row": person[starts],
        "n": np.diff(starts, append=len(person)),
        "total": np.add.reduceat(weights[order], starts) if len(starts) else weights,
        "most": np.maximum.reduceat(gaps, starts) if len(starts) else gaps,
        "rounded": rounded[order][starts],
        "minus_partner": -partner[order][starts],
    }


def summary_from_columns(
    shape: SummaryShape,
    columns: Mapping[str, NDArray[Any]],
    people: Mapping[str, NDArray[Any]] | None = None,
    kept: Mapping[str, NDArray[Any]] | None = None,
) -> PairSummary:
    """Make a summary of columns, merged or not; ``people`` have at most one row per person."""
    summary = PairSummary(shape)
    what, keys = np.asarray(columns["what"]), np.asarray(columns["key"]).astype(np.int64)
    n, total, most = (np.asarray(columns[name]) for name in ("n", "total", "most"))
    of = {name: np.flatnonzero(what == place) for place, name in enumerate(WHAT)}
    for place, name in enumerate(("gap", "rank_gap")):
        np.add.at(summary.totals[place], keys[of[name]], total[of[name]])
        np.maximum.at(summary.most[place], keys[of[name]], most[of[name]])
    np.add.at(summary.n, keys[of["gap"]], n[of["gap"]])
    np.add.at(summary.weight_squares, keys[of["weight_square"]], total[of["weight_square"]])
    times = total if shape.is_weighted else n  # what is counted is weighed there
    counted = {"weight": summary.weight, "flip": summary.n_flips, "above": summary.n_above}
    counted |= {name: getattr(summary, name).reshape(-1) for name in HISTOGRAMS}
    for name, into in counted.items():
        np.add.at(into, keys[of[name]], times[of[name]])
    kinds = (*COUNTED, *summary.transitions.added)
    _take_transitions(summary, {name: (keys[of[name]], n[of[name]], total[of[name]]) for name in kinds})
    if people is not None:
        rows = np.asarray(people["row"])
        summary.n_pairs_of[rows] = people["n"]
        if shape.is_weighted:
            summary.weight_of[rows] = people["total"]
        summary.worst_gap_of[rows] = people["most"]
        summary.partner_of[rows] = -np.asarray(people["minus_partner"])
    if kept is not None:
        summary.kept.add(np.asarray(kept["left"]), np.asarray(kept["right"]))
    return summary


def _list_parts(summary: PairSummary) -> Iterator[tuple[NDArray[Any], ...]]:
    labels = np.arange(summary.shape.n_labels)
    nothing = np.zeros(len(labels), np.int64)
    yield _part("gap", labels, summary.n, summary.totals[0], summary.most[0])
    yield _part("rank_gap", labels, nothing, summary.totals[1], summary.most[1])
    yield _part("weight_square", labels, nothing, summary.weight_squares)
    counted = {"weight": summary.weight, "flip": summary.n_flips, "above": summary.n_above}
    counted |= {name: getattr(summary, name).reshape(-1) for name in HISTOGRAMS}
    for name, amounts in counted.items():
        keys = np.flatnonzero(amounts)
        n = np.zeros(len(keys), np.int64) if summary.shape.is_weighted else amounts[keys]
        yield _part(name, keys, n, amounts[keys] if summary.shape.is_weighted else None)
    found = summary.transitions
    for place, name in enumerate(COUNTED):
        yield _part(name, found.keys, found.counts[:, place])
    for place, name in enumerate(found.added):
        yield _part(name, found.keys, np.zeros(len(found.keys), np.int64), found.sums[:, place])


def _part(name: str, keys: NDArray[Any], n: Any, total: Any = None, most: Any = None) -> tuple[NDArray[Any], ...]:
    nothing = np.zeros(len(keys))
    what = np.full(len(keys), WHAT.index(name), np.int8)
    return what, keys.astype(np.int64), n, nothing if total is None else total, nothing if most is None else most


def _take_transitions(
    summary: PairSummary, parts: Mapping[str, tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]
) -> None:
    keys = np.unique(np.concatenate([found for found, _, _ in parts.values()]))
    added = summary.transitions.added
    counts, sums = np.zeros((len(keys), len(COUNTED)), np.int64), np.zeros((len(keys), len(added)))
    for names, values, place in ((COUNTED, counts, 1), (added, sums, 2)):
        for column, name in enumerate(names):
            np.add.at(values[:, column], np.searchsorted(keys, parts[name][0]), parts[name][place])
    summary.transitions.take(keys, counts, sums)
