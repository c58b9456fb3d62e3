"""How many antidotes to generate, for which sensitive values, in how many rounds, and when to give up."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_count, is_number, parameter
from likewise._random import Keys
from likewise.comparable import Comparability
from likewise.exceptions import GenerationError, ParameterError
from likewise.generation._antidotes import Antidotes, changed_columns, row_keys
from likewise.generation._row_keys import RowNumbers, ask_keys, fold_word
from likewise.schema import CodedTable, Schema
from likewise.schema._internal import BinValues, overwrite_columns, stack_tables

log = logging.getLogger(__name__)

ASKED_AT_A_TIME: Final = 200_000
MAX_ROUNDS: Final = 50
# when to give up on a ratio, after three rounds: raw rows without a new antidote, of all sources or of one
MAX_IN_VAIN: Final = 500  # of few sources, a round may well yield none
MAX_IN_VAIN_OF_ROW: Final = 20
N_FIRST_ROUNDS: Final = 3
NO_LIMIT: Final = np.iinfo(np.int64).max

Positions = NDArray[np.int64]
# sources, requested values and keys → the generated rows, and which of them are comparable to their sources
MakeRows = Callable[[CodedTable, NDArray[np.int32], Keys], tuple[CodedTable, NDArray[np.bool_]]]
Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Combinations of sensitive values that occurred in training, in ascending order, and their counts."""

    combinations: Codes  # shape (n_combinations, n_sensitive), in ascending order
    counts: NDArray[np.int64]  # how often each occurred

    def ask(self, sources: CodedTable, rule: Comparability) -> tuple[NDArray[np.int64], Codes]:
        """Pair each row with every combination it may take, both in ascending order."""
        own = sources.sensitive
        differing = (own[:, None, :] != self.combinations[None, :, :]).sum(axis=2)
        wanted = differing >= (own.shape[1] if rule.sensitive_differs == "all" else 1)
        rows, which = np.nonzero(wanted)
        return rows, self.combinations[which]


def learn_targets(table: CodedTable, rule: Comparability) -> Targets:
    """Find the combinations that occur, or raise an error that says why there is none to request."""
    if rule.sensitive_differs == "none":
        raise GenerationError(
            "An antidote differs in a sensitive column, but this rule does not allow that. "
            f"Use {parameter('sensitive_differs', 'any')} or {parameter('sensitive_differs', 'all')}."
        )
    if not table.sensitive.shape[1]:
        raise GenerationError("There is no sensitive column to change. Name one in the roles.")
    combinations, counts = np.unique(table.sensitive, axis=0, return_counts=True)
    for position, name in enumerate(table.names["sensitive"]):
        values = np.unique(combinations[:, position])
        must_differ = rule.sensitive_differs == "all" or len(table.names["sensitive"]) == 1
        if len(values) == 1 and must_differ:
            known = table.categories.get(name)
            value = values[0].item() if known is None else known[values[0]]
            shown = "missing" if value is None else repr(value)
            raise GenerationError(
                f"Column '{name}' has one value only, {shown}, so antidotes cannot have another. "
                "Fit on rows with several values, or name another sensitive column."
            )
    if len(combinations) == 1:
        raise GenerationError(
            "All rows have the same sensitive values, so antidotes cannot have others. Fit on rows with several values."
        )
    if rule.sensitive_differs == "all" and not any((one != combinations).all(axis=1).any() for one in combinations):
        names = ", ".join(f"'{name}'" for name in table.names["sensitive"])
        raise GenerationError(
            f"No two rows differ in all of {names}, so there are no values for an antidote. "
            f"Use {parameter('sensitive_differs', 'any')}, or fewer sensitive columns."
        )
    return Targets(combinations.astype(np.int32), counts)


def choose_few(source: NDArray[np.int64], per_row: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Choose at most ``per_row`` antidotes of each source at random; return their positions in order."""
    order = np.lexsort([random.random(len(source)), source])
    ordered = source[order]
    chosen = order[np.arange(len(order)) - np.searchsorted(ordered, ordered) < per_row]
    return np.sort(chosen)


class Made(NamedTuple):
    """New antidotes, the positions of their sources, and how many raw rows it took."""

    rows: Positions
    table: CodedTable
    n_raw: int


class Pool:
    """The antidotes so far, distinct for each source."""

    def __init__(self, sources: CodedTable) -> None:
        self._sources = sources
        self._source: list[NDArray[np.int64]] = []
        self._round: list[NDArray[np.int64]] = []
        self._parts: list[CodedTable] = []
        self.n_raw = 0

    def __len__(self) -> int:
        return sum(map(len, self._source))

    @property
    def n_sources(self) -> int:
        """Number of source rows."""
        return len(self._sources)

    def add(self, made: Made, number: int) -> None:
        """Add the antidotes of some rows, generated in a round."""
        self.n_raw += made.n_raw
        self._source.append(made.rows)
        self._round.append(np.full(len(made.rows), number, np.int64))
        self._parts.append(made.table)

    def draw(self, n: int, keys: Keys) -> None:
        """Keep ``n`` of them, chosen at random by the keys of their sources, or all if there are fewer."""
        if len(self) <= n:
            return
        source, rounds, table = self._whole()
        chance = RowNumbers(ask_keys(keys[source], rounds, table.sensitive), "draw").random(len(source))
        self._keep(np.sort(np.argsort(chance, kind="stable")[:n]))

    def close(self, X: Any, schema: Schema, bins: BinValues, keys: Keys) -> Antidotes:
        """Order by source, and put the rows into the columns of the source frame."""
        source = self._whole()[0]
        if (source[1:] < source[:-1]).any():  # after one round they are in order
            self._keep(np.argsort(source, kind="stable"))
        source, rounds, table = self._whole()
        sources = self._sources[source]
        table = replace(table, labels=sources.labels, classes=sources.classes, row_ids=sources.row_ids)
        changed = changed_columns(sources, table)
        made = schema.decode(table, kind="pyarrow", rounded=True)
        asked = ask_keys(keys[source], rounds, table.sensitive)
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


@dataclass(frozen=True, slots=True)
class Amount:
    """How many antidotes to generate: rounds, a ratio, or a maximum per row."""

    rounds: int | None = None
    ratio: float | None = None
    per_row: int | None = None

    def __post_init__(self) -> None:
        """Refuse contradictions and invalid numbers."""
        if self.rounds is not None and self.ratio is not None:
            raise ParameterError("and ratio both set the number of antidotes; give one of them.", "rounds")
        check_count("rounds", self.rounds, least=1)
        if self.ratio is not None and (not is_number(self.ratio) or not 0 < self.ratio < np.inf):
            raise ParameterError(f"is {self.ratio!r}; give a number of antidotes per row, such as 0.45.", "ratio")
        check_count("per_row", self.per_row, least=1)

    @property
    def n_rounds(self) -> int:
        """Maximum number of rounds."""
        return self.rounds or 1 if self.ratio is None else MAX_ROUNDS

    def of_rows(self, keys: Keys, *, each_alone: bool) -> Positions:
        """Return the maximum per row: of a ratio of 1.3, 2 for three rows in ten drawn by key, and 1 for the others.

        Without ``each_alone`` a ratio limits no row.
        """
        wanted = np.full(len(keys), NO_LIMIT)
        if self.ratio is not None and each_alone:
            whole = int(self.ratio)
            wanted[:] = whole + (RowNumbers(keys, "ratio").random(len(keys)) < self.ratio - whole)
        return wanted if self.per_row is None else np.minimum(wanted, self.per_row)


def fill(
    pool: Pool,
    sources: CodedTable,
    keys: Keys,
    amount: Amount,
    targets: Targets,
    rule: Comparability,
    make: MakeRows,
    *,
    each_alone: bool,
    keeps_repeated: bool = False,
) -> int:
    """Run rounds until there are enough antidotes, or no new ones come; return how many a ratio requested.

    A ratio holds for all rows together, of which the pool gets more to draw from; or, with ``each_alone``, for each
    row: then no row compensates for another.
    """
    limits = amount.of_rows(keys, each_alone=each_alone)
    n_wanted = 0 if amount.ratio is None else int(limits.sum()) if each_alone else round(amount.ratio * len(sources))
    n_rows = max(ASKED_AT_A_TIME // max(len(targets.combinations), 1), 1)
    starts = range(0, len(sources), n_rows)
    batches = [
        _RowBatch(sources[some], keys[some], limits[some], keeps_repeated=keeps_repeated)
        for some in (slice(start, start + n_rows) for start in starts)
    ]
    n_in_vain = 0
    for number in range(amount.n_rounds):
        n_before, n_raw = len(pool), pool.n_raw
        for start, batch in zip(starts, batches, strict=True):
            for made in batch.make_round(number, targets, rule, make):
                pool.add(made._replace(rows=start + made.rows), number)
        log.info("round %d: %d antidotes", number, len(pool) - n_before)
        if pool.n_raw == n_raw:  # every row has enough
            break
        if amount.ratio is None:
            continue
        may_give_up = number + 1 >= N_FIRST_ROUNDS
        n_in_vain = n_in_vain + pool.n_raw - n_raw if len(pool) == n_before else 0
        if not each_alone and (len(pool) >= n_wanted or (may_give_up and n_in_vain >= MAX_IN_VAIN)):
            break
        if each_alone and may_give_up:
            for batch in batches:
                batch.lacks[batch.n_in_vain >= MAX_IN_VAIN_OF_ROW] = 0
    return n_wanted


class _RowBatch:
    """Some rows, and how many antidotes each of them still lacks."""

    def __init__(self, sources: CodedTable, keys: Keys, lacks: Positions, *, keeps_repeated: bool) -> None:
        self.lacks, self.n_in_vain = lacks, np.zeros(len(lacks), np.int64)
        self._sources, self._keys, self._keeps_repeated = sources, keys, keeps_repeated
        self._known = np.empty(0, np.void)

    def make_round(self, number: int, targets: Targets, rule: Comparability, make: MakeRows) -> Iterator[Made]:
        """Try once every row that lacks antidotes with every combination, in random order, until it has enough.

        As the order is random, the first comparable ones are a random choice of all.
        """
        open_rows = np.flatnonzero(self.lacks > 0)
        rows, wanted = targets.ask(self._sources[open_rows], rule)
        rows = open_rows[rows]
        is_limited = bool((self.lacks < NO_LIMIT).any())
        if is_limited:
            chance = RowNumbers(ask_keys(self._keys[rows], number, wanted), "order").random(len(rows))
            order = np.lexsort([chance, rows])
            rows, wanted = rows[order], wanted[order]
        place = np.arange(len(rows)) - np.searchsorted(rows, rows)  # of each pair within its row
        begin, n_each = 0, 1 if is_limited else len(place)
        while begin <= place.max(initial=-1):
            due = (place >= begin) & (place < begin + n_each) & (self.lacks[rows] > 0)
            if due.any():
                yield self._make(rows[due], wanted[due], number, make)
            begin, n_each = begin + n_each, 2 * n_each

    def _make(self, rows: Positions, wanted: Codes, number: int, make: MakeRows) -> Made:
        made, kept = make(self._sources[rows], wanted, ask_keys(self._keys[rows], number, wanted))
        np.add.at(self.n_in_vain, rows, 1)
        made, new = made[kept], rows[kept]
        keys = row_keys(made, new)
        # within a round, every row and combination is tried once: only antidotes of earlier rounds can come again
        is_new = ~np.isin(keys, self._known) if len(self._known) else np.ones(len(keys), np.bool_)
        place = np.cumsum(is_new) - 1
        first = np.searchsorted(new, new)
        is_new &= place - (place[first] - is_new[first]) <= self.lacks[new]
        made, new = made[is_new], new[is_new]
        if len(keys) and not self._keeps_repeated:
            self._known = np.concatenate([self._known.astype(keys.dtype), keys[is_new]])
        self.n_in_vain[new] = 0
        limited = self.lacks[new] < NO_LIMIT
        np.subtract.at(self.lacks, new[limited], 1)
        return Made(new, made, len(rows))
