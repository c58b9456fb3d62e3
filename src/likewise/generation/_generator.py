"""What all generators have in common: learn from people, then make antidotes of people."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from likewise._fit_guard import forgetting
from likewise._random import Keys, check_seed, draw_seed, stream
from likewise._warnings import warn
from likewise.comparable import Comparability
from likewise.exceptions import FewAntidotes, GenerationError
from likewise.generation._antidotes import Antidotes
from likewise.generation._by_row import MAX_ROUNDS, Amount, fill_pool
from likewise.generation._folders import Contents
from likewise.generation._pool import Pool
from likewise.generation._post import keep_comparable
from likewise.generation._row_ids import seed_rows
from likewise.generation._targets import Targets, learn_targets
from likewise.nets._internal import save_folder
from likewise.schema import CodedTable, Roles, Schema
from likewise.schema._internal import KINDS, BinValues

log = logging.getLogger(__name__)

Kept = NDArray[np.bool_]

ROWS_AT_A_TIME: Final = 200_000
BY_ROW_ADVICE: Final = (
    "By row ids no row makes up for another: loosen the rule, or ask for the ratio that scale_ratio finds."
)
ENOUGH_IN_VAIN: Final = 500  # raw rows without a new antidote: of a handful of people a round may well give none


class BaseGenerator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Learn from a table of people to make, of each of them, comparable ones with other sensitive values.

    A kind of generator says how it learns (``_learn``) and how it makes raw rows (``_propose``). Everything else is
    here: which sensitive values are asked for, valid values, the comparison with the source, and provenance.
    """

    roles: Roles
    comparability: Comparability | None
    random_state: int | None
    schema_: Schema
    targets_: Targets
    bin_values_: BinValues

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from people.

        Parameters
        ----------
        X : pandas, polars or pyarrow table
        y : array, optional
            Labels; the label column of ``X``, if not given.

        Returns
        -------
        self
        """
        self._refuse_odd_parameters()
        schema = self.roles.learn(X, y)
        table = schema.encode(X, y)
        rule = self._rule
        rule.check(table)
        targets = learn_targets(table, rule)
        with forgetting(self):
            self.schema_, self.targets_, self.bin_values_ = schema, targets, BinValues.learn(X, schema)
            self.feature_names_in_ = np.array([*_names(schema.roles)], dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)
            self._learn(table)
        return self

    def generate(
        self,
        X: Any,
        y: Any = None,
        *,
        rounds: int | None = None,
        ratio: float | None = None,
        per_row: int | None = None,
        random_state: int | None = None,
        row_ids: Any = None,
    ) -> Antidotes:
        """Make antidotes of people: for each, comparable rows with every other combination of sensitive values.

        Parameters
        ----------
        X : pandas, polars or pyarrow table
            The people, with the columns of the training frame.
        y : array, optional
            Their labels, which antidotes copy; the label column of ``X``, if not given.
        rounds : int, optional
            How often to ask for every row and combination; 1 by default. No antidote of a row comes twice.
        ratio : float, optional
            Instead of rounds: how many antidotes to make, per row of ``X``. They are drawn at random from as many
            rounds as it takes.
        per_row : int, optional
            How many antidotes of a row to keep, at most, drawn at random; rounds end when every row has so many.
        random_state : int, optional
            Another seed than the generator's own.
        row_ids : str or array, optional
            What the rows are called, by whole numbers or text, or the name of a column of ``X`` that says it. The
            antidotes of a row then depend on its id, the seed and the row alone: they are the same in any order and
            in any part of the table, on the same machine. Without ids, rows draw from one stream after the other.
            A ratio is then one for each row, in the mean: of 0.3, three rows of ten get an antidote, drawn by their
            ids; rows of which none can be made are not made up for by others, unless
            :func:`~likewise.generation.scale_ratio` says what to ask for.

        Returns
        -------
        Antidotes
        """
        self._refuse_unfitted()
        amount = Amount(rounds, ratio, per_row)
        seed = check_seed(self.random_state if random_state is None else random_state)
        if row_ids is not None:
            antidotes, n_least = self._make_by_row(X, y, amount, seed, row_ids)
            warn_of_few(len(antidotes), antidotes.n_sources, n_least, BY_ROW_ADVICE)
            return antidotes
        sources = self.schema_.encode(X, y)
        pool = Pool(sources)
        n_wanted = None if ratio is None else round(ratio * len(sources))
        n_in_vain = 0
        for number in range(rounds or 1 if n_wanted is None else MAX_ROUNDS):
            n_before, n_raw = len(pool), pool.n_raw
            for rows, made in self._make_round(sources, number, seed):
                pool.add(rows, made, number)
            pool.leave_out_repeated()
            if per_row is not None:
                pool.keep_few(per_row, stream(seed, "few", number))
            log.info("round %d: %d antidotes", number, len(pool) - n_before)
            if (n_wanted is not None and len(pool) >= n_wanted) or pool.is_full(per_row):
                break
            n_in_vain = n_in_vain + pool.n_raw - n_raw if len(pool) == n_before else 0
            if n_wanted is not None and number >= 2 and n_in_vain >= ENOUGH_IN_VAIN:
                break  # nothing new comes any more
        if n_wanted is not None:
            warn_of_few(len(pool), len(sources), n_wanted)
            pool.draw(n_wanted, stream(seed, "draw"))
        return pool.close(X, self.schema_, self.bin_values_, stream(seed, "bins"))

    def _make_by_row(self, X: Any, y: Any, amount: Amount, seed: int, row_ids: Any) -> tuple[Antidotes, int]:
        """Make antidotes of each row by itself, and say how many a ratio asked for."""
        sources, keys = self.schema_.encode(X, y), seed_rows(row_ids, X, seed)
        pool = Pool(sources)

        def make(originals: CodedTable, wanted: NDArray[np.int32], asked: Keys) -> tuple[CodedTable, Kept]:
            return self._finish(originals, self._propose_by_row(originals, wanted, asked))

        n_wanted = fill_pool(pool, sources, keys, amount, self.targets_, self._rule, make)
        return pool.close(X, self.schema_, self.bin_values_, keys), n_wanted

    def _refuse_odd_parameters(self) -> None:
        for name, wanted in {"roles": Roles, "comparability": Comparability | None}.items():
            given = getattr(self, name)
            if not isinstance(given, wanted):
                kind = "Roles" if name == "roles" else "Comparability"
                raise TypeError(f"{name} is a {type(given).__name__}; give a likewise.{kind}.")

    def save(self, path: str | Path) -> None:
        """Write a folder that :meth:`load` reads, on this machine or another.

        Parameters
        ----------
        path : str or Path
        """
        self._refuse_unfitted()
        save_folder(path, *self._describe())

    @classmethod
    def load(cls, path: str | Path, *, device: str = "auto") -> Self:
        """Read a folder that :meth:`save` wrote; nothing in it is run.

        Parameters
        ----------
        path : str or Path
        device : str
            Where networks compute from now on.

        Returns
        -------
        generator
        """
        return cls._load(path, device)

    def _refuse_unfitted(self) -> None:
        if not hasattr(self, "schema_"):
            raise GenerationError(f"This {type(self).__name__} has learned nothing yet. Call fit first.")

    @property
    def _rule(self) -> Comparability:
        return Comparability() if self.comparability is None else self.comparability

    def _make_round(
        self, sources: CodedTable, number: int, seed: int
    ) -> Iterator[tuple[NDArray[np.int64], tuple[CodedTable, int]]]:
        """Ask for every row and combination once, some rows at a time."""
        n_rows = max(ROWS_AT_A_TIME // max(len(self.targets_.combinations), 1), 1)
        for start in range(0, len(sources), n_rows):
            some = sources[start : start + n_rows]
            rows, wanted = self.targets_.ask(some, self._rule)
            originals = some[rows]
            raw = self._propose(originals, wanted, draw_seed(seed, "generate", number, start))
            made, kept = self._finish(originals, raw)
            yield start + rows[kept], (made[kept], len(rows))

    def _finish(self, originals: CodedTable, raw: CodedTable) -> tuple[CodedTable, Kept]:
        """Give raw rows values that people can have, and say which of them are comparable to their sources."""
        snapped = self.schema_.snap(raw).continuous
        # a value that did not move stays as it is, also where training had fewer decimals
        made = replace(raw, continuous=np.where(raw.continuous == originals.continuous, raw.continuous, snapped))
        return made, keep_comparable(originals, made, self._rule)

    @abstractmethod
    def _describe(self) -> Contents:
        """Say what was learned, as it is saved."""

    @classmethod
    @abstractmethod
    def _load(cls, path: str | Path, device: str) -> Self:
        """Make a generator of such a folder."""

    @abstractmethod
    def _learn(self, table: CodedTable) -> None:
        """Learn from a coded table; fitted things end in ``_``."""

    @abstractmethod
    def _propose(self, sources: CodedTable, wanted: NDArray[np.int32], seed: int) -> CodedTable:
        """Make a row of each source, with the wanted sensitive values; it need not be comparable."""

    def _propose_by_row(self, sources: CodedTable, wanted: NDArray[np.int32], keys: Keys) -> CodedTable:
        """Do the same, and draw for each row from its key alone; a row's result knows of no other row."""
        raise GenerationError(f"{type(self).__name__} cannot draw for each row by itself. Leave row_ids out.")


def _names(roles: Roles) -> Iterator[str]:
    for kind in KINDS:
        yield from roles.names(kind)


def warn_of_few(n_made: int, n_rows: int, n_wanted: int, advice: str = "Loosen the rule, or ask for less.") -> None:
    """Say that fewer antidotes could be made than were asked for."""
    if n_made < n_wanted:
        warn(
            f"Only {n_made:,} different antidotes could be made for {n_rows:,} rows, not {n_wanted:,}. {advice}",
            FewAntidotes,
        )
