"""Plain category values: their order, their JSON form, and how messages list them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import numpy as np

from likewise.exceptions import SchemaError

SHOWN_VALUES: Final = 5  # how many values of a long list a message shows


def plain_value(value: Any) -> Any:
    """Normalise a value: no NumPy scalars, one missing value (None), times in UTC."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return value


def sort_values(values: Iterable[Any]) -> tuple[Any, ...]:
    """Sort distinct values, the missing one last."""
    values = set(values)
    present = values - {None}
    try:
        ordered = sorted(present)
    except TypeError:  # date and datetime, say, do not compare
        ordered = sorted(present, key=lambda value: (type(value).__name__, repr(value)))
    return (*ordered, None) if None in values else tuple(ordered)


def show_values(values: Sequence[Any]) -> str:
    """List the first few values in a message, and how many more there are."""
    shown = ", ".join("missing" if value is None else repr(value) for value in values[:SHOWN_VALUES])
    more = len(values) - SHOWN_VALUES
    return f"{shown} and {more:,} more" if more > 0 else shown


def to_json_value(value: Any) -> Any:
    """Return the JSON form of a value; types that JSON lacks are tagged."""
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise SchemaError(
        f"{value!r} is a {type(value).__name__}; a category must be text, number, boolean, date, or missing (None)."
    )


def from_json_value(data: Any) -> Any:
    """Undo :func:`to_json_value`."""
    if not isinstance(data, dict):
        return data
    ((tag, text),) = data.items()
    read: dict[str, Callable[[str], Any]] = {
        "datetime": datetime.fromisoformat,
        "date": date.fromisoformat,
        "decimal": Decimal,
    }
    return read[tag](text)
