"""Checks of plain arguments, with messages that name the argument."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import numpy as np

__all__ = ["check_choice", "check_count", "suggest"]


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; choose one of {', '.join(map(repr, choices))}.")


def check_count(name: str, value: int | None, *, or_none: bool = True) -> None:
    """Refuse anything but a whole number from 0 on, or None where that is all right."""
    if value is None and or_none:
        return
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"{name} is {value!r}; give a whole number, 0 or more.")


def suggest(name: str, known: Iterable[str]) -> str:
    """Name what the caller may have meant, as the end of a sentence: " Did you mean 'race'?", or nothing."""
    nearest = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean '{nearest[0]}'?" if nearest else ""
