"""Plain data → frozen dataclasses, checked by their annotations; what is wrong is named by its place."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

LONGEST: Final = 60  # letters of a wrong value in a message
INFINITE: Final = ("inf", "-inf")  # JSON has no infinity, so records hold it as text
WORDS: Final = {int: "a whole number, 0 or more", float: "a number", bool: "true or false", str: "text"}


class FormError(ValueError):
    """A value of a record has the wrong form."""


def read_as(kind: type[T], value: Any, path: str = "") -> T:
    """Read plain data as a type: a dataclass, or whatever its annotations name."""
    found: T = _read(kind, value, path)
    return found


def _read(kind: Any, value: Any, path: str) -> Any:
    if kind is Any:
        return value
    origin, inner = _parts(kind)
    if origin in (Union, types.UnionType):
        return _read_any_of(inner, value, path)
    if origin is Literal:
        if value in inner and isinstance(value, str):
            return value
        raise _wrong(value, path, " or ".join(map(repr, inner)))
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _wrong(value, path, "a list")
        return tuple(_read(inner[0], one, f"{path}[{place}]") for place, one in enumerate(value))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {name: _read(inner[1], one, _inside(path, name)) for name, one in _names_of(value, path).items()}
    if is_dataclass(kind):
        return _read_fields(kind, value, path)
    return _read_plain(kind, value, path)


def _read_any_of(kinds: tuple[Any, ...], value: Any, path: str) -> Any:
    if value is None and types.NoneType in kinds:
        return None
    kinds = tuple(kind for kind in kinds if kind is not types.NoneType)
    fits = [kind for kind in kinds if (get_origin(kind) is tuple) == isinstance(value, list | tuple)]
    fits = [kind for kind in fits if _is_mapping(kind) == isinstance(value, Mapping)] or fits
    return _read((fits or kinds)[0], value, path)


def _is_mapping(kind: Any) -> bool:
    origin = get_origin(kind) or kind
    return is_dataclass(kind) or (isinstance(origin, type) and issubclass(origin, Mapping))


def _read_fields(kind: Any, value: Any, path: str) -> Any:
    given, hints = _names_of(value, path), _hints(kind)
    if hasattr(kind, "from_flat"):
        given = kind.from_flat(given)
    missing = [
        one.name
        for one in fields(kind)
        if one.name not in given and one.default is MISSING and one.default_factory is MISSING
    ]
    if missing:
        raise FormError(f"{path or 'the record'} lacks {', '.join(missing)}")
    return kind(
        **{
            one.name: _read(hints[one.name], given[one.name], _inside(path, one.name))
            for one in fields(kind)
            if one.name in given
        }
    )


def _read_plain(kind: Any, value: Any, path: str) -> Any:
    if kind is float and isinstance(value, str) and value in INFINITE:
        return float(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float:
        fits = is_number and _is_finite(value)
    elif kind is int:
        fits = is_number and isinstance(value, int) and value >= 0 and _is_finite(value)
    else:
        fits = isinstance(value, kind)
    if not fits:
        raise _wrong(value, path, WORDS[kind])
    return value


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond any float
        return False


def _names_of(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise _wrong(value, path, "values by name")
    return value


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _wrong(value: Any, path: str, expected: str) -> FormError:
    try:
        shown = "null" if value is None else repr(value)
    except ValueError:  # a whole number of thousands of digits
        shown = "a number too large to write"
    shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
    return FormError(f"{path or 'it'} is {shown}; expected {expected}")


@cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(kind), get_args(kind)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
