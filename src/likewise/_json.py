"""Conversion of values of any type to JSON-ready data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Convert NumPy numbers to Python's, dataclasses to dicts, NaN to None, and unknown types to text."""
    if type(value) in (str, int, bool):  # most values; a record has thousands
        return value
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
