"""Antidotes of the same rows are made once: candidates often differ in other things."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from likewise.generation import Antidotes


class RememberingGenerator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Stand for a generator that has learned, and give again what it made for the same question before."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def __getattr__(self, name: str) -> Any:
        if name == "generator" or name.startswith("_"):  # not there yet, as while it is being copied
            raise AttributeError(name)
        return getattr(self.generator, name)

    def generate(
        self,
        X: Any,
        y: Any = None,
        *,
        rounds: int | None = None,
        ratio: float | None = None,
        random_state: int | None = None,
    ) -> Antidotes:
        """Make antidotes, as the generator does; without a seed, others each time."""
        asked = (rounds, ratio, random_state)
        made_before: list[tuple[Any, Any, Antidotes]] = self.__dict__.setdefault("_made", [])
        for rows, question, made in made_before:
            if rows is X and question == asked and random_state is not None:
                return made
        new: Antidotes = self.generator.generate(X, y, rounds=rounds, ratio=ratio, random_state=random_state)
        made_before.append((X, asked, new))
        return new

    def forget(self) -> None:
        """Let go of what was made."""
        self.__dict__.pop("_made", None)

    def __getstate__(self) -> dict[str, Any]:
        return {"generator": self.generator}  # another process makes its own
