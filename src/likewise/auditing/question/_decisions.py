"""Decisions given in place of scores: words, or whole numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import parameter
from likewise.auditing.question._scores import LISTED, listed
from likewise.exceptions import ScoreError

WORDS: Final = ("approved", "denied")  # what a decision is called, unless the user has other words


def read_decisions(found: Any, origin: str, favourable: Any) -> tuple[NDArray[np.float64], tuple[str, str]] | None:
    """Return decisions in words as 1 for the favourable one and 0 for the other, and both; None without words."""
    try:
        found = found.to_numpy(zero_copy_only=False) if hasattr(found, "to_pylist") else found
        words = np.asarray(found.to_numpy() if hasattr(found, "to_numpy") else found)
    except (TypeError, ValueError, RuntimeError, AttributeError):
        return None
    if words.ndim != 1 or words.dtype.kind not in "OSUT" or not any(isinstance(one, str) for one in words[:LISTED]):
        return None
    return np.asarray(words == favourable, np.float64), name_decisions(set(words.tolist()), origin, favourable)


def are_whole(found: Any) -> bool:
    """Whether unchecked scores are whole numbers or truth values, as decisions are, and not probabilities."""
    found = np.asarray(found) if isinstance(found, list | tuple) else found
    kind = getattr(getattr(found, "dtype", None), "kind", None)
    return kind is not None and kind in "iub"


def name_decisions(values: Iterable[Any], origin: str, favourable: Any) -> tuple[str, str]:
    """Return what decisions in words are called, the favourable one first; refuse what are not two such words."""
    strange = [one for one in values if not isinstance(one, str)]
    if strange:
        raise ScoreError(
            f"{origin} are words in some rows, and {strange[0]!r} in others. Give a decision for every row."
        )
    known = sorted(set(values))
    if len(known) > 2:
        raise ScoreError(
            f"{origin} are not numbers but words of {len(known):,} kinds ({listed(known)}). Give numbers, or two "
            "decisions."
        )
    if favourable not in known:
        raise ScoreError(
            f"{origin} are not numbers but words ({listed(known)}). Give one probability per person, or the model "
            f"itself; of decisions, name the favourable one: {parameter('favourable', known[0])}."
        )
    return favourable, next((one for one in known if one != favourable), WORDS[1])
