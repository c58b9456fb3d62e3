"""Two records of an audit, number by number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

FEW: Final = " Most are lost to "  # which column costs the most pairs is counted where all people are at hand only


# of what takes the compared columns, which stay on Spark
ADJUSTED = (
    "adjusted_gap",
    "adjusted_low",
    "adjusted_high",
    "p_value",
    "p_adjusted",
    "balance",
    "excess_equal",
)


def differences(one: Any, other: Any, where: str = "") -> Iterator[str]:
    """Say where two records differ by more than rounding."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other} - {*ADJUSTED}, key=str):
            if key not in one or key not in other:
                yield f"{where}.{key} is in one only"
            else:
                yield from differences(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{where}[{place}]")
    elif isinstance(one, float) and isinstance(other, float):
        if abs(one - other) > 1e-12 * max(1.0, abs(one)):
            yield f"{where}: {one!r} and {other!r}"
    elif isinstance(one, str) and isinstance(other, str) and where.startswith(".notes"):
        if one.partition(FEW)[0] != other.partition(FEW)[0]:
            yield f"{where}: {one!r} and {other!r}"
    elif one != other:
        yield f"{where}: {one!r} and {other!r}"
