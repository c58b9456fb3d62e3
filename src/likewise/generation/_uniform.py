"""Random comparable rows: the paper's control, which knows the rule and nothing of the data."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from likewise._random import Keys
from likewise.comparable._internal import SHIFT_TOLERANCE
from likewise.generation._generator import BaseGenerator
from likewise.generation._row_keys import RowNumbers
from likewise.generation._storage import Description
from likewise.schema import CodedTable
from likewise.schema._internal import MISSING_RANK, MISSING_VALUE

N_DRAWS: Final = 10


class UniformGenerator(BaseGenerator):
    """Generate random comparable rows: any change that the rule allows is equally likely.

    The control for other generators: its rows are comparable, but need not be realistic. Up to as many discrete columns
    as the rule allows take a random value; continuous ones move within the rule's shift, and not beyond the training
    range unless their source is, then no farther out; ordinal ones move within the rule's ranks.

    Parameters
    ----------
    roles : Roles
        Column roles.
    rule : Comparability, optional
        The rule; ``Comparability()`` by default.
    random_state : int, optional
        Seed; the same seed gives the same antidotes.

    Examples
    --------
    >>> from likewise import UniformGenerator, load_dataset
    >>> data = load_dataset("planted")
    >>> generator = UniformGenerator(data.roles, data.rule, random_state=0).fit(data.train.X, data.train.y)
    >>> generator.generate(data.train.X, data.train.y).kept
    1.0
    """

    _saved_as: ClassVar[str] = "UniformGenerator 1"
    _has_device: ClassVar[bool] = False

    def _restore_learned(self, description: Description, device: str) -> None:
        self._count_categories()

    def _learn(self, table: CodedTable) -> None:
        self._count_categories()

    def _count_categories(self) -> None:
        self.n_categories_ = {name: len(values) for name, values in self.schema_.categories.items()}

    def _propose(self, sources: CodedTable, wanted: NDArray[np.int32], keys: Keys) -> CodedTable:
        random = RowNumbers(keys, "uniform")
        return replace(
            sources,
            sensitive=wanted,
            discrete=self._change_discrete(sources, random),
            ordinal=self._shift_ordinal(sources, random),
            continuous=self._shift_continuous(sources, random),
        )

    def _change_discrete(self, sources: CodedTable, random: RowNumbers) -> NDArray[np.int32]:
        """Return discrete columns in which 0 to as many as the rule allows are redrawn."""
        may_change = np.flatnonzero(self._rule.may_change(sources))
        shape = len(sources), len(may_change)
        most = min(self._rule.max_discrete_changes, len(may_change))
        n_chosen = random.integers(0, most + 1, len(sources))
        place = random.random(shape).argsort(axis=1).argsort(axis=1)
        values = random.integers(0, self._n_values(sources, "discrete")[may_change], shape, dtype=np.int32)
        discrete = sources.discrete.copy(order="F")
        discrete[:, may_change] = np.where(place < n_chosen[:, None], values, sources.discrete[:, may_change])
        return discrete

    def _shift_ordinal(self, sources: CodedTable, random: RowNumbers) -> NDArray[np.int32]:
        """Return ranks within the rule's limits."""
        own = sources.ordinal.astype(np.int64)
        last = self._n_values(sources, "ordinal") - 1
        reach = np.minimum(np.floor(self._rule.ordinal_limits(sources)), last).astype(np.int64)
        drawn = random.integers(np.clip(own - reach, 0, last), np.clip(own + reach, 0, last), endpoint=True)
        return np.where(own == MISSING_RANK, own, drawn).astype(np.int32)

    def _shift_continuous(self, sources: CodedTable, random: RowNumbers) -> NDArray[np.float64]:
        """Return values within the rule's limits and the training range, or no farther out."""
        own = sources.continuous
        limits = self._rule.continuous_limits(sources)
        reach = np.where(own == MISSING_VALUE, 0.0, limits - SHIFT_TOLERANCE)
        moved = own.copy(order="F")
        to_draw = reach > 0
        for _ in range(N_DRAWS):  # a shift may be rounded beyond the reach: of 1.8 years, to 2
            drawn = np.clip(own + reach * random.uniform(-1, 1, own.shape), np.minimum(own, 0), np.maximum(own, 1))
            snapped = self.schema_.snap(replace(sources, continuous=drawn)).continuous
            fits = to_draw & (np.abs(snapped - own) <= limits)
            moved[fits] = snapped[fits]
            to_draw &= ~fits
            if not to_draw.any():
                break
        return moved

    def _n_values(self, sources: CodedTable, kind: str) -> NDArray[np.int64]:
        return np.array([self.n_categories_[name] for name in sources.names[kind]], np.int64)
