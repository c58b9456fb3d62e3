"""The pairs that the explorer holds, measured once, so that any rule in reach and any filter is array arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing import Scores
from likewise.auditing._internal import ScoredPeople, place_in_bins, round_edges
from likewise.comparable import Comparability, ComparablePairs
from likewise.explore._distances import Distances, measure_distances

Floats = NDArray[np.float64]
Integers = NDArray[np.int32]

DIGITS: Final = 12  # gaps that differ later than this differ by rounding, as in the audit
EQUAL: Final = 1e-9  # scores nearer than this are the same
N_SIGNS: Final = 9  # lower, equal or higher, times a decision that falls, stays or rises
SORTS: Final = ("gap", "rank_gap", "row")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeldPairs:
    """Pairs with their distances, gaps and transitions, and the orders they can be shown in."""

    pairs: ComparablePairs
    distances: Distances
    scores: Scores
    labels: Integers
    gaps: Floats
    rank_gaps: Floats
    flips: NDArray[np.bool_] | None
    combinations: list[tuple[Any, ...]]  # of sensitive values
    of_people: Integers  # which combination each person has
    names: list[tuple[int, int]]  # of transitions: two combinations, the lower number first
    transitions: Integers  # of each pair; where nothing sensitive differs, one beyond the last
    signed: Floats | None  # the second combination's score minus the first's; None with several scores
    signs: NDArray[np.int8]  # 3 (sign + 1) + (change of decision + 1), in the same direction
    edges: Floats
    bins: NDArray[np.uint8]
    orders: dict[str, Integers | None]  # None: by row, the order of the pairs

    def __len__(self) -> int:
        return len(self.gaps)


def hold_pairs(pairs: ComparablePairs, rule: Comparability, scores: Scores) -> HeldPairs:
    """Compute once what every later question needs."""
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
    """Put the pairs in order once: the worst of any selection are then the first of it."""
    by_gap, by_rank = -np.round(gaps, DIGITS), -np.round(ranks, DIGITS)
    return {  # pairs stand in the order of their rows, and these sorts are stable
        "gap": np.lexsort((by_rank, by_gap)).astype(np.int32),
        "rank_gap": np.lexsort((by_gap, by_rank)).astype(np.int32),
        "row": None,
    }
