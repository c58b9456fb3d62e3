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

from likewise._checks import check_count
from likewise._forgetting import forgetting
from likewise._random import check_seed, draw_seed, stream
from likewise._warning import warn
from likewise.comparable import Comparability
from likewise.exceptions import FewAntidotes, GenerationError
from likewise.generation._antidotes import Antidotes
from likewise.generation._pool import Pool
from likewise.generation._post import keep_comparable
from likewise.generation._targets import Targets, learn_targets
from likewise.schema import KINDS, BinValues, CodedTable, Roles, Schema

log = logging.getLogger(__name__)

ROWS_AT_A_TIME: Final = 200_000
MAX_ROUNDS: Final = 50
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

        Returns
        -------
        Antidotes
        """
        self._refuse_unfitted()
        _check_amount(rounds, ratio)
        check_count("per_row", per_row, least=1)
        seed = check_seed(self.random_state if random_state is None else random_state)
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
            if len(pool) < n_wanted:
                warn(
                    f"Only {len(pool):,} different antidotes could be made for {len(sources):,} rows, not "
                    f"{n_wanted:,}. Loosen the rule, or ask for less.",
                    FewAntidotes,
                )
            pool.draw(n_wanted, stream(seed, "draw"))
        return pool.close(X, self.schema_, self.bin_values_, stream(seed, "bins"))

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
        self._save(path)

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
            snapped = self.schema_.snap(raw).continuous
            # a value that did not move stays as it is, also where training had fewer decimals
            made = replace(raw, continuous=np.where(raw.continuous == originals.continuous, raw.continuous, snapped))
            kept = keep_comparable(originals, made, self._rule)
            yield start + rows[kept], (made[kept], len(rows))

    @abstractmethod
    def _save(self, path: str | Path) -> None:
        """Write what was learned into a folder."""

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


def _names(roles: Roles) -> Iterator[str]:
    for kind in KINDS:
        yield from roles.names(kind)


def _check_amount(rounds: int | None, ratio: float | None) -> None:
    if rounds is not None and ratio is not None:
        raise ValueError("rounds and ratio both say how many antidotes to make; give one of them.")
    check_count("rounds", rounds, least=1)
    is_number = isinstance(ratio, int | float | np.number) and not isinstance(ratio, bool)
    if ratio is not None and (not is_number or not 0 < ratio < np.inf):
        raise ValueError(f"ratio is {ratio!r}; give antidotes per row, such as 0.45.")
