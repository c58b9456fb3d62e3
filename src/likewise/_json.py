"""Conversion of values of any type to JSON-ready data."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any


def plain(value: Any) -> Any:
    """Convert NumPy numbers to Python's, dataclasses to dicts, NaN to None, and unknown types to text."""
    kind: Any = type(value)
    if kind in (str, int, bool) or (kind is float and math.isfinite(value)):  # most values; a record has thousands
        return value
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    names = _field_names(kind)
    if names is not None:
        return {name: plain(getattr(value, name)) for name in names}
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


@cache
def _field_names(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass; None of any other type, and of estimators, which are told by their text."""
    is_told = is_dataclass(kind) and not hasattr(kind, "get_params")
    return tuple(field.name for field in fields(kind)) if is_told else None


def hash_json(data: Any) -> str:
    """SHA-256 of plain data, in whatever order its names are."""
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def refuse_constant(name: str) -> None:
    """Refuse NaN and infinities, which are no JSON."""
    raise ValueError(f"{name} is not valid JSON")
