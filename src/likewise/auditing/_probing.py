"""An audit of pairs too many to look at: some pairs drawn at random, and some people asked for a partner."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._gathering import Gathered, find_in
from likewise.comparable import Comparability, ComparablePairs, iter_pairs, sample_pairs
from likewise.schema import CodedTable

MOST_PROBED: Final = 20_000
FEWEST_PROBED: Final = 1_000
MOST_LOOKED_AT: Final = 200_000_000  # pairs of the people who are asked: where everybody has many, fewer are asked


def draw_pairs(table: CodedTable, rule: Comparability, *, most: int, seed: int, how: dict[str, Any]) -> Gathered:
    """Draw pairs without listing or counting all; no more than ``most``."""
    pairs = sample_pairs(table, rule, n=most, random_state=seed, total="estimate", **how)
    if pairs.is_complete:
        return Gathered(pairs, find_in(pairs.left, pairs.right, len(table)))
    probed = _choose_people(pairs, seed)
    return Gathered(pairs, _probe(table, rule, probed, how), probed=None if len(probed) == len(table) else probed)


def _choose_people(pairs: ComparablePairs, seed: int) -> NDArray[np.int64]:
    n_people = len(pairs.left_table)
    n_partners = 2 * int(pairs.n_total or 0) / max(n_people, 1)
    n_probed = min(n_people, MOST_PROBED, max(FEWEST_PROBED, int(MOST_LOOKED_AT / max(n_partners, 1.0))))
    return np.sort(np.random.default_rng([seed, 1]).choice(n_people, n_probed, replace=False))


def _probe(table: CodedTable, rule: Comparability, probed: NDArray[np.int64], how: dict[str, Any]) -> NDArray[np.bool_]:
    """Say who of some people is comparable to anybody; oneself does not count."""
    has_partner = np.zeros(len(probed), np.bool_)
    for chunk in iter_pairs(table[probed], table, rule, **how):
        is_other = probed[chunk.left] != chunk.right
        has_partner[chunk.left[is_other]] = True
    return has_partner
