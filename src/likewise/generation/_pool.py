"""The antidotes that were made so far."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise._random import Keys
from likewise.generation._antidotes import Antidotes, tell_changes
from likewise.generation._keys import row_keys
from likewise.generation._row_numbers import RowNumbers, ask_keys, fold_word
from likewise.schema import CodedTable, Schema
from likewise.schema._internal import BinValues, overwrite_columns, stack_tables


def choose_few(source: NDArray[np.int64], per_row: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Choose at most so many antidotes of each row, at random; they stay in order.

    Parameters
    ----------
    source : array of int
        The row each antidote was made of.
    per_row : int
    random : numpy Generator

    Returns
    -------
    array of int
        Positions.

    Examples
    --------
    >>> import numpy as np
    >>> from likewise.generation import choose_few
    >>> len(choose_few(np.array([0, 0, 0, 4]), 2, np.random.default_rng(0)))
    3
    """
    order = np.lexsort([random.random(len(source)), source])
    ordered = source[order]
    chosen = order[np.arange(len(order)) - np.searchsorted(ordered, ordered) < per_row]
    return np.sort(chosen)


class Pool:
    """The antidotes so far, none of a source twice."""

    def __init__(self, sources: CodedTable) -> None:
        self._sources = sources
        self._source: list[NDArray[np.int64]] = []
        self._round: list[NDArray[np.int64]] = []
        self._parts: list[CodedTable] = []
        self.n_raw = 0

    def __len__(self) -> int:
        return sum(map(len, self._source))

    def add(self, rows: NDArray[np.int64], made: tuple[CodedTable, int], number: int) -> None:
        """Take in the antidotes of some rows."""
        table, n_raw = made
        self.n_raw += n_raw
        self._source.append(rows)
        self._round.append(np.full(len(rows), number, np.int64))
        self._parts.append(table)

    def leave_out_repeated(self) -> None:
        """Leave the first of equal antidotes of a row; to be called after each round."""
        source, rounds, table = self._whole()
        if len(source) == 0 or rounds[-1] == 0:  # within a round every row and combination is asked for once
            return
        _, first = np.unique(row_keys(table, source), return_index=True)
        self._keep(np.sort(first))

    def draw(self, n: int, random: np.random.Generator) -> None:
        """Leave ``n`` of them, or all if there are fewer."""
        if len(self) > n:
            self._keep(np.sort(random.choice(len(self), n, replace=False)))

    def keep_few(self, per_row: int, random: np.random.Generator) -> None:
        """Leave so many of each source, at most."""
        self._keep(choose_few(self._whole()[0], per_row, random))

    def is_full(self, per_row: int | None) -> bool:
        """Tell whether every source has as many as are wanted."""
        if per_row is None:
            return False
        counts = np.bincount(self._whole()[0], minlength=len(self._sources))
        return bool((counts >= per_row).all())

    def close(self, X: Any, schema: Schema, bins: BinValues, random: np.random.Generator | Keys) -> Antidotes:
        """Order by source, and put the rows into the user's own columns; sources may have keys to draw from."""
        self._keep(np.argsort(self._whole()[0], kind="stable"))
        source, rounds, table = self._whole()
        sources = self._sources[source]
        table = replace(table, labels=sources.labels, classes=sources.classes, row_ids=sources.row_ids)
        changed = tell_changes(sources, table)
        made = schema.decode(table, kind="pyarrow", rounded=True)
        chance: Any = random
        if isinstance(random, np.ndarray):
            asked = ask_keys(random[source], rounds, table.sensitive)
            chance = {name: RowNumbers(fold_word(asked, name), "bins").random(len(asked)) for name in bins.by_column}
        return Antidotes(
            frame=overwrite_columns(X, source, bins.put_into(made, table, chance), changed),
            y=sources.classes[sources.labels],
            source=source,
            round=rounds,
            table=table,
            sources=sources,
            schema=schema,
            n_sources=len(self._sources),
            n_raw=self.n_raw,
        )

    def _whole(self) -> tuple[NDArray[np.int64], NDArray[np.int64], CodedTable]:
        if len(self._parts) == 1:
            return self._source[0], self._round[0], self._parts[0]
        nothing = np.empty(0, np.int64)
        source, rounds = (np.concatenate([*parts, nothing]) for parts in (self._source, self._round))
        table = stack_tables([*self._parts, self._sources[:0]])
        self._source, self._round, self._parts = [source], [rounds], [table]
        return source, rounds, table

    def _keep(self, positions: NDArray[np.intp]) -> None:
        source, rounds, table = self._whole()
        self._source, self._round, self._parts = [source[positions]], [rounds[positions]], [table[positions]]
