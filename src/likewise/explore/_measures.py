"""The numbers of the pairs that a rule holds for: those of ``likewise.audit`` with the same rule, bit for bit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise._json import plain
from likewise.auditing import Direction, measure_coverage
from likewise.auditing._internal import QUANTILES, ExactFacts, direction_from_sums
from likewise.explore._pairs import N_SIGNS, HeldPairs

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ChosenPairs:
    """What is known of the pairs that a rule holds for: all of them, by label, and by transition."""

    whole: ExactFacts
    by_label: list[ExactFacts]
    has_partner: NDArray[np.bool_]
    bins: NDArray[np.int64]
    signs: NDArray[np.int64]  # by transition and sign
    sums: Floats  # by transition: signed gaps, and their sizes


def choose_pairs(held: HeldPairs, holds: NDArray[np.bool_]) -> ChosenPairs:
    """Count and add up in the order of the pairs, as an audit of these alone would."""
    table, n_kinds = held.pairs.left_table, len(held.names) + 1
    n_classes, chosen = len(table.classes), np.flatnonzero(holds)
    sizes = np.zeros(n_classes, np.int64)
    _count_labels(chosen, held.labels, sizes)
    whole, parted = np.empty((2, len(chosen))), np.empty((2, len(chosen)))
    n_flips, bins = np.zeros(n_classes, np.int64), np.zeros(len(held.edges) - 1, np.int64)
    has_partner, signs = np.zeros(len(table), np.bool_), np.zeros((n_kinds, N_SIGNS), np.int64)
    sums, reach = np.zeros(n_kinds), np.zeros(n_kinds)
    _count(
        *(chosen, held.pairs.left, held.pairs.right, held.gaps, held.rank_gaps, held.labels, held.bins),
        *(held.transitions, held.signs, np.zeros(0) if held.signed is None else held.signed),
        np.zeros(0, np.bool_) if held.flips is None else held.flips,
        *(whole, parted, np.cumsum(sizes) - sizes, n_flips, has_partner, bins, signs, sums, reach),
    )
    spans = [slice(end - size, end) for size, end in zip(sizes.tolist(), np.cumsum(sizes).tolist(), strict=True)]
    parts = [ExactFacts(parted[0, span], parted[1, span], n) for span, n in zip(spans, n_flips.tolist(), strict=True)]
    everything = ExactFacts(whole[0], whole[1], int(n_flips.sum()))
    return ChosenPairs(everything, parts, has_partner, bins, signs, np.column_stack([sums, reach]))


def measure_slices(held: HeldPairs, chosen: ChosenPairs, limit: float) -> list[dict[str, Any]]:
    """Measure the gaps of all pairs, then of those of each label."""
    has_flips = held.flips is not None
    slices = [{"label": None, "is_positive": None, **_measure_slice(chosen.whole, limit, has_flips=has_flips)}]
    if held.scores.task == "regression":
        return slices
    for code, label in enumerate(held.pairs.left_table.classes.tolist()):
        is_positive = None if held.scores.positive is None else code == held.scores.positive
        measured = _measure_slice(chosen.by_label[code], limit, has_flips=has_flips)
        slices.append({"label": plain(label), "is_positive": is_positive, **measured})
    return slices


def measure_transitions(held: HeldPairs, chosen: ChosenPairs, most: int) -> tuple[list[tuple[int, Direction]], int]:
    """Return the directions of the transitions with the most pairs, by number, and how many transitions there are.

    As in an audit, the target is the side that is lower on average.
    """
    if held.signed is None:
        return [], 0
    found, counts = [], _count_by_transition(chosen.signs[: len(held.names)])
    n_found = int(np.count_nonzero(counts[:, 0]))
    for number in np.argsort(-counts[:, 0], kind="stable")[: min(n_found, most)].tolist():
        origin, target = (held.combinations[place] for place in held.names[number])
        has_decisions = held.scores.decisions is not None
        direction = direction_from_sums(
            origin, target, counts[number], chosen.sums[number], has_decisions=has_decisions
        )
        found.append((number, direction.reversed() if direction.mean_gap > 0 else direction))
    return found, n_found


def measure_partners(held: HeldPairs, chosen: ChosenPairs) -> list[dict[str, Any]]:
    """Return who is matched: all people, by label, by sensitive value."""
    return [plain(asdict(one)) for one in measure_coverage(chosen.has_partner, held.pairs.left_table)]


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


@compiled
def _count_labels(chosen: Any, labels: Any, sizes: Any) -> None:
    for pair in chosen:
        sizes[labels[pair]] += 1


@compiled
def _count(
    chosen: Any,
    left: Any,
    right: Any,
    gaps: Any,
    ranks: Any,
    labels: Any,
    bins: Any,
    transitions: Any,
    signs: Any,
    signed: Any,
    flips: Any,
    whole: Any,
    parted: Any,
    starts: Any,
    n_flips: Any,
    has_partner: Any,
    n_in_bin: Any,
    n_of_sign: Any,
    sums: Any,
    reach: Any,
) -> None:
    places = starts.copy()  # where the next gap of each label goes
    for place in range(chosen.shape[0]):
        pair = chosen[place]
        label, kind = labels[pair], transitions[pair]
        whole[0, place] = parted[0, places[label]] = gaps[pair]
        whole[1, place] = parted[1, places[label]] = ranks[pair]
        places[label] += 1
        has_partner[left[pair]] = True
        has_partner[right[pair]] = True
        n_in_bin[bins[pair]] += 1
        n_of_sign[kind, signs[pair]] += 1
        if flips.shape[0]:
            n_flips[label] += flips[pair]
        if signed.shape[0]:
            sums[kind] += signed[pair]
            reach[kind] += abs(signed[pair])
