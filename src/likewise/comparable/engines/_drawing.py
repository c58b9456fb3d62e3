"""Drawing pairs uniformly without finding the others.

Every pair stands in the window of one of its rows, in one bucket of the signature that is its own. So a place in all
windows of all signatures is drawn, each as likely as any other, and is kept if it is a pair's own: all pairs are then
equally likely. How often a place was kept, times the number of places, estimates how many pairs there are.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.comparable.engines._asking import BucketSearch, ask_all, name_pairs
from likewise.comparable.engines._buckets import Buckets
from likewise.comparable.engines._columns import Rows
from likewise.comparable.engines._joining import AIMED, WINDOWS, Asked, Joined
from likewise.comparable.engines._plan import Signature
from likewise.comparable.engines._problem import Pairs, join_chunks

PILOT: Final = 4_096  # places tried under each signature before it is known how many will be needed
SETTLED: Final = 40_000  # pairs that make the estimate good to half a percent
MOST_OF_PAIRS: Final = 0.5  # to draw more takes longer than to go through all
MOST_OF_PLACES: Final = 0.1  # the same: to look at a place out of order takes up to twenty times as long
MOST_ROUNDS: Final = 8
AT_ONCE: Final = 1 << 19  # places drawn at a time, of which there may be billions; fixed, as the pairs depend on it


class Drawn(NamedTuple):
    """Different pairs in order, and an estimate of how many there are in all."""

    left: Rows
    right: Rows
    n_total: int
    error: float  # standard error of that


def draw_pairs(search: BucketSearch, n: int, random: np.random.Generator) -> Drawn | None:
    """Draw ``n`` different pairs; None, if there are too few for that to be the quicker way."""
    places = [_Places(search, signature) for signature in search.plan.signatures()]
    totals = np.array([some.n for some in places], np.int64)
    n_places = int(totals.sum())
    if not n_places:
        return None
    pilots = [some.draw(PILOT, random) for some in places]
    share = sum(total * len(left) / PILOT for total, (left, _) in zip(totals, pilots, strict=True)) / n_places
    both, n_drawn, n_kept = np.empty(0, np.int64), 0, 0
    for _ in range(MOST_ROUNDS):
        n_more = max(n - len(both), SETTLED - n_kept, 1)
        n_draws = int(1.1 * n_more / share) + PILOT if share else n_places
        if n_drawn + n_draws > MOST_OF_PLACES * n_places or n > MOST_OF_PAIRS * share * n_places:
            return None
        times = random.multinomial(n_draws, totals / n_places).tolist()
        left, right = join_chunks([some.draw(n_here, random) for some, n_here in zip(places, times, strict=True)])
        n_drawn, n_kept = n_drawn + n_draws, n_kept + len(left)
        share = n_kept / n_drawn
        both = np.concatenate([both, random.permutation((left.astype(np.int64) << 32) | right)])
        both = both[np.sort(np.unique(both, return_index=True)[1])]  # of equal pairs only the first stays
        if len(both) >= n:
            drawn = np.sort(both[:n])
            uncertain = (n_kept + 1) / (n_drawn + 2)  # that all places seen are pairs does not make all of them pairs
            error = n_places * (uncertain * (1 - uncertain) / n_drawn) ** 0.5
            return Drawn((drawn >> 32).astype(np.int32), drawn.astype(np.int32), round(n_places * share), error)
    return None


class _Places:
    """The windows of all nodes under one signature. Their buckets are laid out anew for each draw: few fit."""

    def __init__(self, search: BucketSearch, signature: Signature) -> None:
        self._search, self._signature = search, signature
        self._only_after = search.packed.is_within
        buckets = search.lay(signature, only_after=self._only_after)
        asked = ask_all(buckets, only_after=self._only_after, what=WINDOWS)
        self._asked, counts = asked.places, np.empty(len(asked.places), np.int64)

        def count(_: Buckets, __: Asked, joined: Joined) -> None:
            counts[joined.firsts] = joined.counts

        for _ in search.ask(signature, buckets, asked, count):
            pass
        self._ends = np.cumsum(counts)
        self.n = int(counts.sum())

    def draw(self, n: int, random: np.random.Generator) -> Pairs:
        """Draw so many places, and give the pairs that are there."""
        found: list[Pairs] = []
        if not n or not self.n:
            return join_chunks(found)
        buckets = self._search.lay(self._signature, only_after=self._only_after)
        for start in range(0, n, AT_ONCE):
            found += self._draw_some(buckets, np.sort(random.integers(self.n, size=min(n - start, AT_ONCE))))
        return join_chunks(found)

    def _draw_some(self, buckets: Buckets, drawn: NDArray[np.int64]) -> list[Pairs]:
        at = np.searchsorted(self._ends, drawn, side="right")
        offsets = drawn - np.where(at > 0, self._ends[at - 1], 0)
        asked = Asked(self._asked[at], AIMED, self._only_after, offsets)

        def name(buckets: Buckets, asked: Asked, joined: Joined) -> Pairs:
            return name_pairs(self._search.packed, buckets, asked, joined)

        return [pairs for _, pairs in self._search.ask(self._signature, buckets, asked, name)]
