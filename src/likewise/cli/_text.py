"""Values from files, made safe to show on a terminal."""

from __future__ import annotations

import math


def one_line(text: str) -> str:
    """Keep a message on one line, and control characters of foreign data off the terminal."""
    return "".join(
        letter if letter.isprintable() else " " if letter.isspace() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def shown(value: object, width: int = 24) -> str:
    """Write a value as a person would, cut in the middle to a width: long names often differ at their ends."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "(missing)"
    if isinstance(value, float):
        text = f"{value:g}" if float(f"{value:g}") == value else repr(value)
    else:
        text = one_line(str(value))
    if len(text) <= width:
        return text
    n_last = (width - 1) // 2
    return f"{text[: width - 1 - n_last]}…{text[len(text) - n_last :]}"


def share(part: int, whole: int) -> str:
    """Give a percentage that says 0% and 100% only when it is."""
    if whole == 0:
        return "-"
    percent = 100 * part / whole
    if 0 < percent < 1:
        return "<1%"
    if 99 < percent < 100:
        return ">99%"
    return f"{percent:.0f}%"
