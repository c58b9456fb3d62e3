"""Checks of plain arguments, with messages that name the argument."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import numpy as np

__all__ = ["check_choice", "check_count", "check_flag", "check_number", "suggest"]


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; choose one of {', '.join(map(repr, choices))}.")


def check_count(name: str, value: int | None, *, or_none: bool = True, least: int = 0) -> None:
    """Refuse anything but a whole number from ``least`` on, or None where that is all right."""
    if value is None and or_none:
        return
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} is {value!r}; give a whole number, {least} or more.")


def check_flag(name: str, value: object) -> None:
    """Refuse anything but yes and no: a text such as "no" counts as yes elsewhere."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {value!r}; give True or False.")


def suggest(name: str, known: Iterable[str]) -> str:
    """Name what the caller may have meant, as the end of a sentence: " Did you mean 'race'?", or nothing."""
    nearest = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean '{nearest[0]}'?" if nearest else ""


def check_number(
    name: str, value: object, *, least: float | None = None, above: float | None = None, below: float | None = None
) -> None:
    """Refuse anything but a finite number within limits."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool | np.complexfloating)
    limits = [
        *([] if least is None else [(f"{least:g} or more", is_number and value >= least)]),  # type: ignore[operator]
        *([] if above is None else [(f"more than {above:g}", is_number and value > above)]),  # type: ignore[operator]
        *([] if below is None else [(f"less than {below:g}", is_number and value < below)]),  # type: ignore[operator]
    ]
    if not is_number or not np.isfinite(value) or not all(holds for _, holds in limits):  # type: ignore[call-overload]
        wanted = " and ".join(words for words, _ in limits)
        raise ValueError(f"{name} is {value!r}; give a number{f', {wanted}' if wanted else ''}.")
