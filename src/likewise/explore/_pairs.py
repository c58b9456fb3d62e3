"""The pairs held in memory, measured once; selections of them; and the numbers of those that a rule holds for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_choice, check_count, check_flag, check_number
from likewise._json import plain
from likewise.auditing import Direction, Scores, measure_coverage
from likewise.auditing._internal import (
    QUANTILES,
    ExactFacts,
    Reference,
    ScoredPeople,
    direction_from_sums,
    place_in_bins,
    round_edges,
)
from likewise.comparable import Comparability, ComparablePairs
from likewise.exceptions import ParameterError
from likewise.explore._thresholds import Distances, measure_distances

Floats = NDArray[np.float64]
Integers = NDArray[np.int32]

DIGITS: Final = 12  # later differences are rounding, as in the audit
EQUAL: Final = 1e-9  # scores nearer than this are equal
N_ADDED: Final = 7  # of weighted pairs: signed gaps, their sizes, weights; lower, higher, flips to no, flips to yes
N_SIGNS: Final = 9  # (lower, equal, higher) x (decision falls, stays, rises)
SORTS: Final = ("gap", "rank_gap", "row")
SCANNED_AT_ONCE: Final = 1 << 16  # positions scanned at a time, until a page is full
MAX_PAGE_SIZE: Final = 200
EDGE: Final = 1e-9  # a gap at the limit passes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeldPairs:
    """Pairs with their distances, gaps, group transitions, and the orders they can be shown in."""

    pairs: ComparablePairs
    distances: Distances
    scores: Scores
    labels: Integers
    gaps: Floats
    rank_gaps: Floats
    flips: NDArray[np.bool_] | None
    combinations: list[tuple[Any, ...]]  # of sensitive values
    of_people: Integers  # the combination of each person
    names: list[tuple[int, int]]  # transitions: two combinations, the lower number first
    transitions: Integers  # of each pair; one beyond the last if nothing sensitive differs
    signed: Floats | None  # the second combination's score minus the first's; None with several scores
    signs: NDArray[np.int8]  # 3 (sign + 1) + (change of decision + 1), in the same direction
    edges: Floats
    bins: NDArray[np.uint8]
    orders: dict[str, Integers | None]  # None: the order of the pairs
    weights: Floats | None  # of pairs; None where all count alike
    by_size: Integers  # the pairs by ascending gap, sorted once: to pick from them is quicker than to sort again
    sorted_gaps: Floats
    sorted_labels: Integers
    sorted_weights: Floats | None

    def __len__(self) -> int:
        return len(self.gaps)


def hold_pairs(pairs: ComparablePairs, rule: Comparability, scores: Scores) -> HeldPairs:
    """Measure once what every later request needs."""
    people = ScoredPeople.of(pairs.left_table, scores)
    batch = people.measure(pairs.left, pairs.right)
    of_people = np.asarray(people.combinations)
    names, transitions, is_turned = _number_transitions(pairs, of_people, len(people.groups))
    signed = batch.signed
    if signed is not None:
        signed[np.abs(signed) <= EQUAL] = 0.0
        signed = np.where(is_turned, -signed, signed)
    edges = round_edges(float(batch.gaps.max(initial=0.0)))
    by_size = np.argsort(batch.gaps, kind="stable").astype(np.int32)
    return HeldPairs(
        pairs=pairs,
        distances=measure_distances(pairs, rule),
        scores=scores,
        labels=people.labels[pairs.left],
        gaps=batch.gaps,
        rank_gaps=batch.rank_gaps,
        flips=batch.flips,
        combinations=people.groups,
        of_people=of_people,
        names=names,
        transitions=transitions,
        signed=signed,
        signs=_sign_pairs(pairs, scores, signed, is_turned),
        edges=edges,
        bins=place_in_bins(batch.gaps, edges).astype(np.uint8),
        orders=_order_pairs(batch.gaps, batch.rank_gaps),
        weights=batch.weights,
        by_size=by_size,
        sorted_gaps=batch.gaps[by_size],
        sorted_labels=people.labels[pairs.left[by_size]],
        sorted_weights=None if batch.weights is None else batch.weights[by_size],
    )


def _number_transitions(
    pairs: ComparablePairs, of_people: Integers, n_combinations: int
) -> tuple[list[tuple[int, int]], Integers, NDArray[np.bool_]]:
    first, second = of_people[pairs.left], of_people[pairs.right]
    kinds = np.minimum(first, second).astype(np.int64) * n_combinations + np.maximum(first, second)
    found, numbers = np.unique(kinds, return_inverse=True)
    differs = found // max(n_combinations, 1) != found % max(n_combinations, 1)
    renumbered = np.where(differs, np.cumsum(differs) - 1, np.count_nonzero(differs))
    names = [divmod(kind, n_combinations) for kind in found[differs].tolist()]
    return names, renumbered[numbers].astype(np.int32), first > second


def _sign_pairs(
    pairs: ComparablePairs, scores: Scores, signed: Floats | None, is_turned: NDArray[np.bool_]
) -> NDArray[np.int8]:
    signs = np.zeros(len(pairs), np.int8) if signed is None else np.sign(signed).astype(np.int8)
    change = np.zeros(len(pairs), np.int8)
    if scores.decisions is not None and signed is not None:
        change = (scores.decisions[pairs.right] - scores.decisions[pairs.left]).astype(np.int8)
        change = np.where(is_turned, -change, change)
    codes: NDArray[np.int8] = (3 * (signs + 1) + (change + 1)).astype(np.int8)
    return codes


def _order_pairs(gaps: Floats, ranks: Floats) -> dict[str, Integers | None]:
    """Sort the pairs once, so that the first of any selection are its worst."""
    by_gap, by_rank = -np.round(gaps, DIGITS), -np.round(ranks, DIGITS)
    return {  # pairs are in row order, and these sorts are stable
        "gap": np.lexsort((by_rank, by_gap)).astype(np.int32),
        "rank_gap": np.lexsort((by_gap, by_rank)).astype(np.int32),
        "row": None,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The pairs to look at: thresholds, filters, order and page; checked on construction."""

    changes: int
    shift: float
    limit: float = 0.1
    transition: int | None = None
    label: int | None = None
    least_gap: float = 0.0
    sort: str = "gap"
    is_rising: bool = False
    page: int = 0
    size: int = 25
    tolerances: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_count("changes", self.changes, or_none=False)
        check_number("shift", self.shift, least=0.0)
        check_number("limit", self.limit, least=0.0)
        check_number("least_gap", self.least_gap, least=0.0)
        check_count("transition", self.transition)
        check_count("label", self.label)
        check_count("page", self.page, or_none=False)
        check_count("size", self.size, or_none=False, least=1)
        check_choice("sort", self.sort, SORTS)
        check_flag("is_rising", self.is_rising)
        if not isinstance(self.tolerances, Mapping):
            raise ParameterError(f"is {self.tolerances!r}; map columns to amounts.", "tolerances")
        if self.size > MAX_PAGE_SIZE:
            raise ParameterError(f"is {self.size:,}; a page holds at most {MAX_PAGE_SIZE} pairs.", "size")

    @property
    def is_filtered(self) -> bool:
        """Whether filters leave out pairs that the rule holds for."""
        return self.transition is not None or self.label is not None or self.least_gap > 0

    @classmethod
    def of(cls, data: Selection | Mapping[str, Any]) -> Selection:
        """Read a selection from plain data, or return one as it is."""
        if isinstance(data, Selection):
            return data
        known = [one.name for one in fields(cls)]
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise ValueError(f"{unknown[0]!r} is unknown; known fields are {', '.join(known)}.")
        for name in ("changes", "shift"):
            if name not in data:
                raise ParameterError("is missing; set both thresholds.", name)
        return cls(**data)


def filter_pairs(held: HeldPairs, holds: NDArray[np.bool_], selection: Selection) -> NDArray[np.bool_]:
    """Return the pairs that pass the filters."""
    if not selection.is_filtered:
        return holds
    kept = holds.copy()
    if selection.transition is not None:
        kept &= held.transitions == min(selection.transition, len(held.names) + 1)
    if selection.label is not None:
        kept &= held.labels == min(selection.label, np.iinfo(np.int32).max)
    if selection.least_gap > 0:
        kept &= held.gaps >= selection.least_gap - EDGE
    return kept


def take_page(
    held: HeldPairs, kept: NDArray[np.bool_], selection: Selection, *, first: int, n: int
) -> NDArray[np.int64]:
    """Return the positions of a page of pairs, scanning the order until it is full."""
    order, n_pairs = held.orders[selection.sort], len(held)
    is_reversed = selection.is_rising != (selection.sort == "row")
    found: list[NDArray[np.int64]] = []
    n_passed = n_found = 0
    for begin in range(0, n_pairs, SCANNED_AT_ONCE):
        stop = min(begin + SCANNED_AT_ONCE, n_pairs)
        span = slice(n_pairs - stop, n_pairs - begin) if is_reversed else slice(begin, stop)
        places = np.arange(span.start, span.stop) if order is None else order[span].astype(np.int64)
        if is_reversed:
            places = places[::-1]
        places = places[kept[places]]
        wanted = places[max(first - n_passed, 0) : max(first + n - n_passed, 0)]
        n_passed += len(places)
        n_found += len(wanted)
        found.append(wanted)
        if n_found >= n:
            break
    return np.concatenate([*found, np.empty(0, np.int64)])[:n]


@dataclass(frozen=True, slots=True, eq=False)
class ChosenPairs:
    """What is known of the pairs that a rule holds for: all of them, by label, and by transition."""

    whole: ExactFacts
    by_label: list[ExactFacts]
    has_partner: NDArray[np.bool_]
    bins: NDArray[Any]  # counts, or weights that add up to the number of pairs
    signs: NDArray[np.int64]  # by transition and sign
    sums: Floats  # by transition: signed gaps, their sizes, and where pairs are weighted, what ``ADDED`` has besides
    mean_weight: float = 1.0


def choose_pairs(held: HeldPairs, holds: NDArray[np.bool_]) -> ChosenPairs:
    """Count and add up in the order of the pairs, as an audit of these alone would."""
    table, chosen, in_order = held.pairs.left_table, np.flatnonzero(holds), holds[held.by_size]
    labels, gaps, ranks = (one[chosen] for one in (held.labels, held.gaps, held.rank_gaps))
    weights = None if held.weights is None else held.weights[chosen]
    n_classes, n_bins, n_kinds = len(table.classes), len(held.edges) - 1, len(held.names) + 1
    flips = np.zeros(len(chosen), np.bool_) if held.flips is None else held.flips[chosen]
    n_flips: NDArray[Any] = np.bincount(labels, flips if weights is None else flips * weights, n_classes)
    ordered, of_ordered = held.sorted_gaps[in_order], held.sorted_labels[in_order]
    times = None if held.sorted_weights is None else held.sorted_weights[in_order]

    def sum_up(places: Any, those: Any, n: float) -> ExactFacts:
        if weights is None or times is None:
            return ExactFacts(gaps[places], ranks[places], int(n), ordered[those])
        return ExactFacts(gaps[places], ranks[places], n, ordered[those], weights[places], np.cumsum(times[those]))

    bins: NDArray[Any] = np.bincount(held.bins[chosen], weights, n_bins)
    mean = 1.0 if weights is None or not len(chosen) else float(bins.sum()) / len(chosen)
    has_partner = np.zeros(len(table), np.bool_)
    has_partner[held.pairs.left[chosen]] = has_partner[held.pairs.right[chosen]] = True
    kinds, signs = held.transitions[chosen], held.signs[chosen]
    return ChosenPairs(
        sum_up(slice(None), slice(None), float(n_flips.sum())),
        [sum_up(labels == code, of_ordered == code, n) for code, n in enumerate(n_flips.tolist())],
        has_partner,
        bins if weights is None else bins / mean,
        np.bincount(kinds * N_SIGNS + signs, minlength=n_kinds * N_SIGNS).reshape(n_kinds, N_SIGNS),
        _add_up(kinds, signs, None if held.signed is None else held.signed[chosen], weights, n_kinds),
        mean,
    )


def _add_up(
    kinds: Integers, signs: NDArray[np.int8], signed: Floats | None, weights: Floats | None, n_kinds: int
) -> Floats:
    """Add up the signed gaps of each transition, their sizes, and where pairs are weighted, the weights by sign."""
    if signed is None:
        return np.zeros((n_kinds, 2 if weights is None else N_ADDED))
    added = [signed, np.abs(signed)]
    if weights is not None:
        by_gap, by_decision = np.divmod(signs, 3)
        ways = (by_gap == 0, by_gap == 2, by_decision == 0, by_decision == 2)
        added = [one * weights for one in (*added, np.ones(len(kinds)), *ways)]
    return np.column_stack([np.bincount(kinds, one, n_kinds) for one in added])


def measure_slices(
    held: HeldPairs, chosen: ChosenPairs, limit: float, baseline: list[tuple[int, float | None, float | None]] | None
) -> list[dict[str, Any]]:
    """Measure the gaps of all pairs, then of those of each label; beside them same-group pairs and the excess."""
    has_flips = held.flips is not None
    slices = [{"label": None, "is_positive": None, **_measure_slice(chosen.whole, limit, has_flips=has_flips)}]
    for code, label in enumerate(held.pairs.left_table.classes.tolist() if held.scores.has_labels else ()):
        is_positive = None if held.scores.positive is None else code == held.scores.positive
        measured = _measure_slice(chosen.by_label[code], limit, has_flips=has_flips)
        slices.append({"label": plain(label), "is_positive": is_positive, **measured})
    for one, (n, mean, excess) in zip(slices, baseline or (), strict=False):
        if one["n"] and mean is not None:
            one |= {"n_within": n, "same_group_gap_mean": mean} | ({} if excess is None else {"excess": excess})
    return slices


def measure_transitions(
    held: HeldPairs, chosen: ChosenPairs, most: int, reference: Reference
) -> tuple[list[tuple[int, Direction]], int]:
    """Return the directions (to the target) with the most pairs, by number, and how many there are."""
    if held.signed is None:
        return [], 0
    found, counts = [], _count_by_transition(chosen.signs[: len(held.names)])
    n_found = int(np.count_nonzero(counts[:, 0]))
    for number in np.argsort(-counts[:, 0], kind="stable")[: min(n_found, most)].tolist():
        origin, target = (held.combinations[place] for place in held.names[number])
        direction = direction_from_sums(origin, target, counts[number], chosen.sums[number], held.scores)
        found.append((number, reference.orient(direction)))
    return found, n_found


def measure_partners(held: HeldPairs, chosen: ChosenPairs) -> list[dict[str, Any]]:
    """Return who is matched: all people, by label, by sensitive value."""
    weights = held.scores.weights
    return [plain(asdict(one)) for one in measure_coverage(chosen.has_partner, held.pairs.left_table, weights=weights)]


def share_of(partners: Mapping[str, Any]) -> float:
    """Return the share of some people who are matched, by their weights where they have any."""
    if partners["weighted_share"] is not None:
        return float(partners["weighted_share"])
    return float(partners["n_with_partner"] / max(partners["n_people"], 1))


def _count_by_transition(signs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs, lower, higher, flips to no and flips to yes of each transition."""
    by_sign = signs.reshape(-1, 3, 3)
    by_gap, by_decision = by_sign.sum(axis=2), by_sign.sum(axis=1)
    return np.column_stack([by_gap.sum(axis=1), by_gap[:, 0], by_gap[:, 2], by_decision[:, 0], by_decision[:, 2]])


def _measure_slice(facts: ExactFacts, limit: float, *, has_flips: bool) -> dict[str, Any]:
    if not facts.n:
        return {"n": 0}
    return {
        "n": facts.n,
        "gap_mean": facts.mean("gap"),
        **{f"gap_{name}": facts.quantile("gap", share) for name, share in QUANTILES.items()},
        "gap_max": facts.largest("gap"),
        "gap_share_above": facts.share_above(limit),
        "rank_gap_mean": facts.mean("rank_gap"),
        "flip_rate": facts.flip_rate() if has_flips else None,
    }
