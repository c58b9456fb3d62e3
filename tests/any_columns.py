"""A generator for tables of any columns: the checks of scikit-learn come with as many as they like."""

from __future__ import annotations

from typing import Any, Self

from likewise import Comparability, Roles, UniformGenerator
from likewise.schema._internal import open_frame

__all__ = ["FirstIsSensitive"]


class FirstIsSensitive(UniformGenerator):
    """Find out when it learns which columns there are."""

    def __init__(self, max_continuous_shift: float = 0.1, *, random_state: int | None = None) -> None:
        self.max_continuous_shift = max_continuous_shift
        self.random_state = random_state

    @property
    def rule(self) -> Comparability:  # type: ignore[override]  # a parameter of the others
        return Comparability(max_continuous_shift=self.max_continuous_shift)

    def fit(self, X: Any, y: Any = None) -> Self:
        first, *others = open_frame(X).names
        self.roles = Roles(sensitive=first, continuous=others, bins={first: 2})
        return super().fit(X, y)
