"""One pass over the pairs that a rule holds for: everything that is counted and added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise.explore._held import N_SIGNS, Held

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Hold some gaps in the order of the pairs, and how many decisions differ."""

    gaps: Floats
    rank_gaps: Floats
    n_flips: int

    def __len__(self) -> int:
        return len(self.gaps)


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Hold what was found of all pairs and of those of each label, and what was counted by transition."""

    whole: Part
    by_label: list[Part]
    has_partner: NDArray[np.bool_]
    bins: NDArray[np.int64]
    signs: NDArray[np.int64]  # by transition and sign
    sums: Floats  # of signed gaps, by transition
    reach: Floats  # of their sizes


def tally_pairs(held: Held, holds: NDArray[np.bool_]) -> Tally:
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
    parts = [Part(parted[0, span], parted[1, span], n) for span, n in zip(spans, n_flips.tolist(), strict=True)]
    everything = Part(whole[0], whole[1], int(n_flips.sum()))
    return Tally(everything, parts, has_partner, bins, signs, sums, reach)


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
