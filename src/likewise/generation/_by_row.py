"""Antidotes row by row: those of a row follow from its id, the seed and the row, whatever rows are beside it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count
from likewise._random import Keys
from likewise.comparable import Comparability
from likewise.generation._keys import row_keys
from likewise.generation._pool import Pool
from likewise.generation._row_numbers import RowNumbers, ask_keys
from likewise.generation._targets import Targets
from likewise.schema import CodedTable

log = logging.getLogger(__name__)

ASKED_AT_A_TIME: Final = 200_000
MAX_ROUNDS: Final = 50
ENOUGH_IN_VAIN: Final = 20  # rows made of one source without a new antidote, after three rounds of them
NO_LIMIT: Final = np.iinfo(np.int64).max

Rows = NDArray[np.int64]
# of sources, wanted values and keys: the rows made, and which of them are comparable to their sources
MakeRows = Callable[[CodedTable, NDArray[np.int32], Keys], tuple[CodedTable, NDArray[np.bool_]]]


@dataclass(frozen=True, slots=True)
class Amount:
    """How many antidotes to make of each row."""

    rounds: int | None = None
    ratio: float | None = None
    per_row: int | None = None

    def __post_init__(self) -> None:
        """Refuse what contradicts itself, and numbers that mean nothing."""
        if self.rounds is not None and self.ratio is not None:
            raise ValueError("rounds and ratio both say how many antidotes to make; give one of them.")
        check_count("rounds", self.rounds, least=1)
        is_number = isinstance(self.ratio, int | float | np.number) and not isinstance(self.ratio, bool)
        if self.ratio is not None and (not is_number or not 0 < self.ratio < np.inf):
            raise ValueError(f"ratio is {self.ratio!r}; give antidotes per row, such as 0.45.")
        check_count("per_row", self.per_row, least=1)

    @property
    def n_rounds(self) -> int:
        """How often to ask, at most."""
        return self.rounds or 1 if self.ratio is None else MAX_ROUNDS

    @property
    def is_limited(self) -> bool:
        """Whether a row has enough at some point."""
        return self.ratio is not None or self.per_row is not None

    def of_rows(self, keys: Keys) -> Rows:
        """Say how many antidotes each row gets, at most: a ratio of 1.3 is 2 for three rows of ten, and 1 for others.

        Which rows these are is drawn from their keys, so that the mean over many rows is the ratio.
        """
        wanted = np.full(len(keys), NO_LIMIT)
        if self.ratio is not None:
            whole = int(self.ratio)
            wanted[:] = whole + (RowNumbers(keys, "ratio").random(len(keys)) < self.ratio - whole)
        return wanted if self.per_row is None else np.minimum(wanted, self.per_row)


def fill_pool(
    pool: Pool, sources: CodedTable, keys: Keys, amount: Amount, targets: Targets, rule: Comparability, make: MakeRows
) -> int:
    """Make as many antidotes of each row as are wanted, some rows at a time; say how many were wanted."""
    limits = amount.of_rows(keys)
    n_rows = max(ASKED_AT_A_TIME // max(len(targets.combinations), 1), 1)
    for start in range(0, len(sources), n_rows):
        some = slice(start, start + n_rows)
        block = _Block(sources[some], keys[some], limits[some].copy(), targets, rule)
        for number in range(amount.n_rounds):
            if not (block.lacks > 0).any():
                break
            for rows, made in block.make_round(number, make, amount):
                pool.add(start + rows, made, number)
        log.info("rows %d to %d: %d antidotes so far", start, start + len(block.lacks), len(pool))
    return 0 if amount.ratio is None else int(limits.sum())


class _Block:
    """Some rows, and how many antidotes each of them lacks."""

    def __init__(self, sources: CodedTable, keys: Keys, lacks: Rows, targets: Targets, rule: Comparability) -> None:
        self.lacks = lacks
        self._sources, self._keys, self._rule, self._targets = sources, keys, rule, targets
        self._known = np.empty(0, np.void)
        self._n_in_vain = np.zeros(len(lacks), np.int64)

    def make_round(self, number: int, make: MakeRows, amount: Amount) -> Iterator[tuple[Rows, tuple[CodedTable, int]]]:
        """Ask once for every row that lacks some and every combination, in an order of its own, until it has enough.

        As the order is random, the first that are comparable are a random choice of all that would be.
        """
        rows, wanted, place = self._ask(number, amount.is_limited)
        begin, n_each = 0, 1 if amount.is_limited else len(place)
        while begin <= place.max(initial=-1):
            due = (place >= begin) & (place < begin + n_each) & (self.lacks[rows] > 0)
            if due.any():
                yield self._make(rows[due], wanted[due], number, make)
            begin, n_each = begin + n_each, 2 * n_each
        if amount.ratio is not None and number >= 2:  # nothing new comes any more
            self.lacks[self._n_in_vain >= ENOUGH_IN_VAIN] = 0

    def _ask(self, number: int, is_limited: bool) -> tuple[Rows, NDArray[np.int32], Rows]:
        """Pair rows with the combinations they may become, and say the how manieth of its row each pair is."""
        open_rows = np.flatnonzero(self.lacks > 0)
        rows, wanted = self._targets.ask(self._sources[open_rows], self._rule)
        rows = open_rows[rows]
        if is_limited:
            chance = RowNumbers(ask_keys(self._keys[rows], number, wanted), "order").random(len(rows))
            order = np.lexsort([chance, rows])
            rows, wanted = rows[order], wanted[order]
        return rows, wanted, np.arange(len(rows)) - np.searchsorted(rows, rows)

    def _make(
        self, rows: Rows, wanted: NDArray[np.int32], number: int, make: MakeRows
    ) -> tuple[Rows, tuple[CodedTable, int]]:
        made, kept = make(self._sources[rows], wanted, ask_keys(self._keys[rows], number, wanted))
        np.add.at(self._n_in_vain, rows, 1)
        made, new = made[kept], rows[kept]
        keys = row_keys(made, new)
        # within a round every row and combination is asked for once: only what came in an earlier one can come again
        is_new = ~np.isin(keys, self._known) if len(self._known) else np.ones(len(keys), np.bool_)
        place = np.cumsum(is_new) - 1
        first = np.searchsorted(new, new)
        is_new &= place - (place[first] - is_new[first]) <= self.lacks[new]
        made, new = made[is_new], new[is_new]
        self._known = np.concatenate([self._known.astype(keys.dtype), keys[is_new]]) if len(keys) else self._known
        self._n_in_vain[new] = 0
        limited = self.lacks[new] < NO_LIMIT
        np.subtract.at(self.lacks, new[limited], 1)
        return new, (made, len(rows))
