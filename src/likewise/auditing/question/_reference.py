"""Who is the control: the sensitive values that others are compared with."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from likewise._checks import suggest
from likewise.exceptions import ParameterError
from likewise.record._internal import Direction
from likewise.schema import CodedTable

LISTED: Final = 8
Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """The control values of sensitive columns; of two people, the one with more of them is the control."""

    columns: tuple[str, ...]  # all sensitive columns, in the order of the combinations
    values: Mapping[str, tuple[Any, ...]]

    @classmethod
    def of(cls, given: Any, table: CodedTable) -> Reference:
        """Find the column of every value that was given: alone, in a list, or by column; None for no control."""
        given = {} if given is None else given
        names = table.names["sensitive"]
        known = {name: table.categories.get(name, ()) for name in names}
        by_column = given if isinstance(given, Mapping) else {None: given}
        found: dict[str, list[Any]] = {}
        for column, values in by_column.items():
            if column is not None and column not in known:
                raise ParameterError(f"names {column!r}; the sensitive columns are {list(names)}.", "reference")
            for value in values if isinstance(values, list | tuple | set | frozenset) else [values]:
                where, match = _find_value(value, known if column is None else {column: known[column]})
                found.setdefault(where, []).append(match)
        for column, values in found.items():
            if len(set(values)) == len(known[column]):
                raise ParameterError(f"holds all values of '{column}': nobody is left to compare.", "reference")
        return cls(names, {name: tuple(dict.fromkeys(found[name])) for name in names if name in found})

    def __bool__(self) -> bool:
        return bool(self.values)

    def within(self, columns: Sequence[str] | None) -> Reference:
        """Return the control values of some columns, for combinations of these alone; None for all columns."""
        if columns is None:
            return self
        return Reference(tuple(columns), {name: self.values[name] for name in columns if name in self.values})

    def count(self, values: Values, columns: Sequence[str] | None = None) -> int:
        """Count the control values of a combination of sensitive values."""
        names = self.columns if columns is None else columns
        return sum(value in self.values.get(name, ()) for name, value in zip(names, values, strict=True))

    def mark(self, values: Values) -> int:
        """Return which columns of a combination have the control value, one bit for each."""
        return sum(
            (value in self.values.get(name, ())) << at
            for at, (name, value) in enumerate(zip(self.columns, values, strict=True))
        )

    def orient(self, direction: Direction) -> Direction:
        """Return a direction from the target's side; between equals, from the side that is worse off."""
        ahead = self.count(direction.origin) - self.count(direction.target)
        is_turned = ahead < 0 or (ahead == 0 and direction.lean > 0)
        return direction.reversed() if is_turned else direction


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
