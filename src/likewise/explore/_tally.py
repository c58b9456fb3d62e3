"""One pass over the pairs that a rule holds for: everything that is counted and added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._compiling import compiled
from likewise.explore._held import N_SIGNS, Held


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Hold the gaps of some pairs, in the order of the pairs, and what was counted of them."""

    gaps: NDArray[np.float64]
    rank_gaps: NDArray[np.float64]
    labels: NDArray[np.int32]
    n_flips: NDArray[np.int64]  # by label
    has_partner: NDArray[np.bool_]
    bins: NDArray[np.int64]
    signs: NDArray[np.int64]  # by transition and sign
    sums: NDArray[np.float64]  # of signed gaps, by transition
    reach: NDArray[np.float64]  # of their sizes

    def __len__(self) -> int:
        return len(self.gaps)


def tally_pairs(held: Held, holds: NDArray[np.bool_]) -> Tally:
    """Count and add up in the order of the pairs, as an audit of these alone would."""
    n, n_kinds = int(np.count_nonzero(holds)), len(held.names) + 1
    table = held.pairs.left_table
    gaps, ranks, labels = np.empty(n), np.empty(n), np.empty(n, np.int32)
    n_flips, bins = np.zeros(len(table.classes), np.int64), np.zeros(len(held.edges) - 1, np.int64)
    has_partner, signs = np.zeros(len(table), np.bool_), np.zeros((n_kinds, N_SIGNS), np.int64)
    sums, reach = np.zeros(n_kinds), np.zeros(n_kinds)
    nothing = np.zeros(0)
    _count(
        *(holds, held.pairs.left, held.pairs.right, held.gaps, held.rank_gaps, held.labels, held.bins),
        *(held.transitions, held.signs, nothing if held.signed is None else held.signed),
        np.zeros(0, np.bool_) if held.flips is None else held.flips,
        *(gaps, ranks, labels, n_flips, has_partner, bins, signs, sums, reach),
    )
    return Tally(gaps, ranks, labels, n_flips, has_partner, bins, signs, sums, reach)


@compiled
def _count(
    holds: Any,
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
    gaps_of: Any,
    ranks_of: Any,
    labels_of: Any,
    n_flips: Any,
    has_partner: Any,
    n_in_bin: Any,
    n_of_sign: Any,
    sums: Any,
    reach: Any,
) -> None:
    place = 0
    for pair in range(holds.shape[0]):
        if not holds[pair]:
            continue
        label, kind = labels[pair], transitions[pair]
        gaps_of[place] = gaps[pair]
        ranks_of[place] = ranks[pair]
        labels_of[place] = label
        place += 1
        has_partner[left[pair]] = True
        has_partner[right[pair]] = True
        n_in_bin[bins[pair]] += 1
        n_of_sign[kind, signs[pair]] += 1
        if flips.shape[0]:
            n_flips[label] += flips[pair]
        if signed.shape[0]:
            sums[kind] += signed[pair]
            reach[kind] += abs(signed[pair])
