"""What every form of a report is made of, before any markup: values of the data, numbers, tables of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from likewise.report._escaping import shorten, tidy
from likewise.report._words import say

MOST_ROWS: Final = 50
LONGEST_JOINED: Final = 200
LONGEST_WHOLE: Final = 300  # a value that was cut can be read whole up to here


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the data, short enough for a table; ``whole`` where it was cut."""

    shown: str
    whole: str | None = None

    def __str__(self) -> str:
        return self.shown


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is read, and as it is sorted by."""

    shown: str
    sort: float | None = None
    is_bold: bool = False

    def __str__(self) -> str:
        return self.shown


Cell = str | Value | Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells; columns after the first ``n_text`` are numbers."""

    caption: str
    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    n_text: int = 1
    more: str = ""
    is_sortable: bool = False


def show(value: Any) -> Value:
    """Write any value of the data so that nothing of it is hidden, and no more of it than fits."""
    whole = tidy(say(value), LONGEST_WHOLE)
    shown = shorten(whole)
    return Value(shown, None if shown == whole else whole)


def join(values: Iterable[Value], between: str = ", ") -> Value:
    """Put several values into one."""
    parts = tuple(values)
    shown = shorten(between.join(part.shown for part in parts), LONGEST_JOINED)
    whole = between.join(part.whole or part.shown for part in parts)
    return Value(shown, None if whole == shown else shorten(whole, LONGEST_WHOLE))


def say_more(n: int, n_shown: int, what: str) -> str:
    """Say how many are left out; nothing if none is."""
    return f"{n - n_shown:,} more {what} are in the record." if n > n_shown else ""
