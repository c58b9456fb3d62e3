"""All comparable pairs of a table, or a uniform sample of them where there are too many to keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likewise.comparable import Comparability, ComparablePairs, EngineName, iter_pairs
from likewise.schema import CodedTable

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """Hold the pairs that were kept, how many there are in all, and who is in any of all."""

    pairs: ComparablePairs
    has_partner: NDArray[np.bool_]

    @property
    def n_total(self) -> int:
        """All comparable pairs, kept or not."""
        return int(self.pairs.n_total or 0)


def gather_pairs(
    table: CodedTable,
    rule: Comparability,
    *,
    most: int,
    seed: int,
    engine: EngineName,
    progress: Callable[[float], None],
) -> Gathered:
    """Stream over the pairs once: each gets a random key, and the ``most`` lowest keys stay.

    Pairs come in the same order from every engine, and so do the keys: the sample depends on the seed alone.
    """
    random = np.random.default_rng(seed)
    has_partner = np.zeros(len(table), np.bool_)
    kept: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    keys: list[NDArray[np.float64]] = []
    n_total = n_kept = 0
    cutoff = 1.0
    for chunk in iter_pairs(table, rule, engine=engine):
        has_partner[chunk.left] = True
        has_partner[chunk.right] = True
        n_total += len(chunk)
        drawn = random.random(len(chunk))
        low = np.flatnonzero(drawn < cutoff) if cutoff < 1.0 else slice(None)
        kept.append((chunk.left[low], chunk.right[low]))
        keys.append(drawn[low])
        n_kept += len(keys[-1])
        if n_kept > 2 * most:
            kept, keys, cutoff = _keep_lowest(kept, keys, most)
            n_kept = len(keys[0])
        if len(chunk):
            progress((int(chunk.left[-1]) + 1) / len(table))
    if n_kept > most:
        kept, keys, _ = _keep_lowest(kept, keys, most)
    left, right = (np.concatenate([part[side] for part in kept] or [np.empty(0, np.int32)]) for side in (0, 1))
    return Gathered(ComparablePairs(left, right, table, table, n_total), has_partner)


def _keep_lowest(
    kept: list[tuple[NDArray[np.int32], NDArray[np.int32]]], keys: list[NDArray[np.float64]], most: int
) -> tuple[list[tuple[NDArray[np.int32], NDArray[np.int32]]], list[NDArray[np.float64]], float]:
    """Throw out all but the ``most`` lowest keys; the order of the pairs stays."""
    drawn = np.concatenate(keys)
    lowest = np.sort(np.argpartition(drawn, most - 1)[:most])
    left, right = (np.concatenate([part[side] for part in kept])[lowest] for side in (0, 1))
    return [(left, right)], [drawn[lowest]], float(drawn[lowest].max())
