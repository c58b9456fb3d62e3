"""The pairs held in memory with all that was measured of them, and selections of them: filter, order, page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_choice, check_count, check_flag, check_number
from likewise.auditing import Scores
from likewise.auditing._internal import ScoredPeople, place_in_bins, round_edges
from likewise.comparable import Comparability, ComparablePairs
from likewise.exceptions import ParameterError
from likewise.explore._thresholds import Distances, measure_distances

Floats = NDArray[np.float64]
Integers = NDArray[np.int32]

DIGITS: Final = 12  # later differences are rounding, as in the audit
EQUAL: Final = 1e-9  # scores nearer than this are equal
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

    def __len__(self) -> int:
        return len(self.gaps)


def hold_pairs(pairs: ComparablePairs, rule: Comparability, scores: Scores) -> HeldPairs:
    """Measure once what every later request needs."""
    people = ScoredPeople.of(pairs.left_table, scores)
    batch = people.measure(pairs.left, pairs.right)
    of_people = np.asarray(people.values.combinations)
    names, transitions, is_turned = _number_transitions(pairs, of_people, len(people.combinations))
    signed = batch.signed
    if signed is not None:
        signed[np.abs(signed) <= EQUAL] = 0.0
        signed = np.where(is_turned, -signed, signed)
    edges = round_edges(float(batch.gaps.max(initial=0.0)))
    return HeldPairs(
        pairs=pairs,
        distances=measure_distances(pairs, rule),
        scores=scores,
        labels=people.labels[pairs.left],
        gaps=batch.gaps,
        rank_gaps=batch.rank_gaps,
        flips=batch.flips,
        combinations=people.combinations,
        of_people=of_people,
        names=names,
        transitions=transitions,
        signed=signed,
        signs=_sign_pairs(pairs, scores, signed, is_turned),
        edges=edges,
        bins=place_in_bins(batch.gaps, edges).astype(np.uint8),
        orders=_order_pairs(batch.gaps, batch.rank_gaps),
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
        if self.size > MAX_PAGE_SIZE:
            raise ParameterError(f"is {self.size:,}; a page holds at most {MAX_PAGE_SIZE} pairs.", "size")

    @property
    def is_filtered(self) -> bool:
        """Whether filters leave out pairs that the rule holds for."""
        return self.transition is not None or self.label is not None or self.least_gap > 0

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Selection:
        """Read a selection from plain data."""
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
        span = (
            slice(n_pairs - stop, n_pairs - begin)
            if selection.is_rising != (selection.sort == "row")
            else slice(begin, stop)
        )
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
