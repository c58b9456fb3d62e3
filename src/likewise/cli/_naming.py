"""Option values that name columns: ``race,sex`` and ``age=0.05,hours=0.1``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from likewise._checks import suggest
from likewise.exceptions import SchemaError


@dataclass(frozen=True, slots=True)
class Settings:
    """What an option says of all columns, and of single ones; the last word counts."""

    for_all: str | None
    by_column: dict[str, str]


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The columns of a file, to understand options by."""

    known: tuple[str, ...]
    file: str

    def find(self, option: str, name: str) -> str:
        """Refuse a name the file does not have, with the nearest it has."""
        if name in self.known:
            return name
        same_letters = [one for one in self.known if one.strip().casefold() == name.strip().casefold()]
        either = " or ".join(f"'{one}'" for one in same_letters)
        hint = f" Did you mean {either}?" if either else suggest(name, self.known)
        raise SchemaError(
            f"{option} names column '{name}', which '{self.file}' does not have.{hint or self._list_columns()}"
        )

    def find_all(self, option: str, given: Iterable[str] | None) -> tuple[str, ...]:
        """Read names that were repeated, or joined by commas; a name with a comma in it stands alone."""
        names: list[str] = []
        for text in given or ():
            pieces = [text] if text in self.known else [piece.strip() for piece in text.split(",")]
            names += [self.find(option, piece) for piece in pieces if piece]
        return tuple(dict.fromkeys(names))

    def settings(self, option: str, given: Iterable[str] | None, *, commas: bool = False) -> Settings:
        """Read ``value`` and ``column=value``, repeated or joined by commas; the values may have ``commas`` too."""
        for_all: str | None = None
        by_column: dict[str, str] = {}
        for text in given or ():
            for name, value in self._split(text, commas):
                if name is None:
                    for_all = value
                else:
                    by_column[self.find(option, name)] = value
        return Settings(for_all, by_column)

    def _split(self, text: str, commas: bool) -> list[tuple[str | None, str]]:
        entries: list[tuple[str | None, str]] = []
        rest = text
        while rest:
            name = self._name_before_equals(rest)
            value = rest if name is None else rest[len(name) + 1 :]
            # a value with commas runs to the one before the next 'name='
            ends = [
                i
                for i, letter in enumerate(value)
                if letter == "," and (not commas or self._name_before_equals(value[i + 1 :].lstrip()))
            ]
            end = ends[0] if ends else len(value)
            entries.append((None if name is None else name.strip(), value[:end].strip()))
            rest = value[end + 1 :].lstrip()
        return entries

    def _name_before_equals(self, text: str) -> str | None:
        """Take a known column followed by '='; failing that, what stands before the first '=' of the first piece."""
        for name in sorted(self.known, key=len, reverse=True):
            if text.startswith(f"{name}="):
                return name
        piece = text.split(",", 1)[0]
        return piece.split("=", 1)[0] if "=" in piece else None

    def _list_columns(self, most: int = 12) -> str:
        shown = ", ".join(f"'{name}'" for name in self.known[:most])
        return f" Its columns are {shown}{', …' if len(self.known) > most else ''}."


def read_number(option: str, text: str) -> float:
    """Read a number, or say which option it was for."""
    try:
        return float(text)
    except ValueError:
        raise SchemaError(
            f"{option} is '{text}', which is not a number. Give one such as 0.05, or one by column: age=0.05."
        ) from None


def read_bins(option: str, column: str, text: str) -> int | tuple[float, ...]:
    """Read ``4`` as a number of groups, and ``25,45,65`` or ``40,`` as the places to cut."""
    pieces = [piece.strip() for piece in text.split(",")]
    try:
        if len(pieces) == 1:
            return int(pieces[0])
        return tuple(float(piece) for piece in pieces if piece)
    except ValueError:
        raise SchemaError(
            f"{option} {column}={text} is neither a whole number of groups, as in {column}=4, nor places to cut, "
            f"as in {column}=25,45,65."
        ) from None


def read_order(option: str, column: str, text: str) -> Sequence[str]:
    """Read ``S<M<L``, lowest first."""
    order = tuple(piece.strip() for piece in text.split("<"))
    if len(order) < 2 or not all(order) or len(set(order)) < len(order):
        raise SchemaError(
            f"{option} {column}={text} gives no order. List each category once, lowest first: {column}=low<middle<high."
        )
    return order
