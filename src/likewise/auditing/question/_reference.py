"""Who is the control: the sensitive values that others are compared with."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._checks import suggest
from likewise.exceptions import ParameterError
from likewise.record._internal import Direction
from likewise.schema import CodedTable

LISTED: Final = 8
JOINT: Final = ","  # between columns, and values, of a combination that is named as text
Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """The control values of each sensitive column, and of several columns where a combination of them is named.

    Every column has its own result: of two people, the one with a control value of the column is the control in it.
    """

    columns: tuple[str, ...]  # all sensitive columns, in the order of the combinations
    controls: Mapping[tuple[str, ...], tuple[Values, ...]]  # combinations of the values of one column, or of several

    @classmethod
    def of(cls, given: Any, table: CodedTable) -> Reference:
        """Find the column of every value that was given: alone, in a list, or by column; None for no control."""
        given = {} if given is None else given
        names = table.names["sensitive"]
        known = {name: table.categories.get(name, ()) for name in names}
        by_column = given if isinstance(given, Mapping) else {None: given}
        found: dict[tuple[str, ...], list[Values]] = {}
        for key, values in by_column.items():
            columns = None if key is None else _find_columns(key, names)
            for value in values if isinstance(values, list | set | frozenset) else _as_list(values, columns):
                match = sorted(_find_values(value, columns, known), key=lambda one: names.index(one[0]))
                found.setdefault(tuple(name for name, _ in match), []).append(tuple(one for _, one in match))
        for columns, matches in found.items():
            if len(columns) == 1 and len(set(matches)) == len(known[columns[0]]):
                raise ParameterError(f"holds all values of '{columns[0]}': nobody is left to compare.", "reference")
        ordered = sorted(found, key=lambda columns: (len(columns), [names.index(name) for name in columns]))
        return cls(names, {columns: tuple(dict.fromkeys(found[columns])) for columns in ordered})

    def __bool__(self) -> bool:
        return bool(self.controls)

    @property
    def values(self) -> dict[str, tuple[Any, ...]]:
        """The control values by column, as a record has them; by ``race, sex`` where a combination is named."""
        return {
            ", ".join(columns): tuple(one[0] if len(columns) == 1 else one for one in combinations)
            for columns, combinations in self.controls.items()
        }

    def within(self, columns: Iterable[str] | None) -> Reference:
        """Return the controls among some columns, for combinations of these alone; None for all columns."""
        if columns is None:
            return self
        chosen = tuple(columns)
        return Reference(chosen, {key: one for key, one in self.controls.items() if set(key) <= set(chosen)})

    def has_control(self, columns: tuple[str, ...]) -> bool:
        """Return whether a control is named of exactly these columns."""
        return columns in self.controls

    def is_control(self, columns: tuple[str, ...], values: Values) -> bool:
        """Return whether a combination of the values of exactly these columns is a control."""
        return values in self.controls.get(columns, ())

    def mark(self, values: Values) -> int:
        """Return in which of the named columns, or sets of these, a combination has a control value: a bit for each."""
        of = dict(zip(self.columns, values, strict=True))
        return sum(
            (tuple(of[name] for name in columns) in combinations) << at
            for at, (columns, combinations) in enumerate(self.controls.items())
        )

    def mark_all(self, combinations: list[Values]) -> NDArray[np.int64]:
        """Return the marks of several combinations."""
        return np.array([self.mark(values) for values in combinations], np.int64)

    def orient(self, direction: Direction) -> Direction:
        """Return a direction from the target's side; where neither is the control, from the side that is worse off."""
        origin, target = self.mark(direction.origin), self.mark(direction.target)
        leads, follows = bool(origin & ~target), bool(target & ~origin)
        is_turned = direction.lean > 0 if leads == follows else follows
        return direction.reversed() if is_turned else direction


def _find_columns(key: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sensitive columns that a key names: one, or several that are compared together."""
    if key in names:
        return (key,)
    parts = key if isinstance(key, tuple) else map(str.strip, key.split(JOINT)) if isinstance(key, str) else (key,)
    columns = tuple(parts)
    unknown = [name for name in columns if name not in names]
    if unknown or len(set(columns)) < len(columns):
        raise ParameterError(f"names {key!r}; the sensitive columns are {list(names)}.", "reference")
    return columns


def _as_list(values: Any, columns: tuple[str, ...] | None) -> list[Any]:
    """Return several values as a list; a tuple of values of as many columns is one combination."""
    is_several = isinstance(values, tuple) and (columns is None or len(columns) == 1 or _are_combinations(values))
    return list(values) if is_several else [values]


def _are_combinations(values: tuple[Any, ...]) -> bool:
    return bool(values) and all(isinstance(one, tuple | list) for one in values)


def _find_values(
    given: Any, columns: tuple[str, ...] | None, known: Mapping[str, tuple[Any, ...]]
) -> list[tuple[str, Any]]:
    """Return column and category of a value, or of each value of a combination."""
    if columns is None or len(columns) == 1:
        return [_find_value(given, known if columns is None else {columns[0]: known[columns[0]]})]
    parts = given.split(JOINT) if isinstance(given, str) else given
    if not isinstance(parts, list | tuple) or len(parts) != len(columns):
        raise ParameterError(f"is {given!r}; give a value of each of {list(columns)}.", "reference")
    values = [part.strip() if isinstance(part, str) else part for part in parts]
    return [_find_value(value, {name: known[name]}) for name, value in zip(columns, values, strict=True)]


def _find_value(value: Any, known: Mapping[str, tuple[Any, ...]]) -> tuple[str, Any]:
    """Return column and category of a value, which a command line gives as text."""
    found = [
        (name, category)
        for name, categories in known.items()
        for category in categories
        if (isinstance(value, Hashable) and category == value) or (isinstance(value, str) and str(category) == value)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        both = " and ".join(f"'{name}'" for name, _ in found)
        raise ParameterError(f"is {value!r}, a value of {both}. Name the column: {{column: value}}.", "reference")
    listed = [str(category) for categories in known.values() for category in categories]
    shown = ", ".join(listed[:LISTED]) + (", ..." if len(listed) > LISTED else "")
    raise ParameterError(
        f"is {value!r}, which no sensitive column has; they have {shown}.{suggest(str(value), listed)}", "reference"
    )
