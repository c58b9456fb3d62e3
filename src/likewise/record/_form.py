"""Plain data → frozen dataclasses, checked by their annotations; what is wrong is named by its place."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
Reader = Callable[[Any], Any]

LONGEST: Final = 60  # letters of a wrong value in a message
MOST_WORDS: Final = 12  # of a choice in a message
INFINITE: Final = ("inf", "-inf")  # JSON has no infinity, so records hold it as text
WORDS: Final = {int: "a whole number, 0 or more", float: "a number", bool: "true or false", str: "text"}


class FormError(ValueError):
    """A value of a record has the wrong form."""


class _Misfit(Exception):
    """What is wrong with a value, and the places that lead to it, the innermost first."""

    def __init__(self, words: str, nameless: str = "it") -> None:
        super().__init__(words)
        self.words, self.nameless, self.places = words, nameless, list[str]()

    def at(self, path: str) -> FormError:
        """Return the error that names the whole way to the value."""
        for name in reversed(self.places):
            place = name if name.isprintable() else repr(name)
            path = f"{path}{place}" if place.startswith("[") or not path else f"{path}.{place}"
        return FormError(f"{path or self.nameless} {self.words}")


def read_as(kind: type[T], value: Any, path: str = "") -> T:
    """Read plain data as a type: a dataclass, or whatever its annotations name."""
    try:
        found: T = _reader(cast(Any, kind))(value)
    except _Misfit as misfit:
        raise misfit.at(path) from None
    return found


@cache
def _reader(kind: Any) -> Reader:
    """Return the function that reads values of a kind; a record has thousands, and few kinds."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value: value
    if origin in (Union, types.UnionType):
        return _reader_of_any(inner)
    if origin is Literal:
        return _reader_of_words(inner)
    if origin is tuple:
        return _reader_of_list(_reader(inner[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _reader_of_names(_reader(inner[1]))
    return _reader_of_fields(kind) if is_dataclass(kind) else partial(_read_plain, kind)


def _reader_of_any(kinds: tuple[Any, ...]) -> Reader:
    has_none = types.NoneType in kinds
    kinds = tuple(kind for kind in kinds if kind is not types.NoneType)
    readers: dict[tuple[bool, bool], Reader] = {}
    for is_list, is_named in ((True, False), (False, True), (False, False)):
        fits = [kind for kind in kinds if (get_origin(kind) is tuple) == is_list]
        fits = [kind for kind in fits if _is_mapping(kind) == is_named] or fits
        readers[is_list, is_named] = _reader((fits or kinds)[0])

    def read(value: Any) -> Any:
        if value is None and has_none:
            return None
        return readers[isinstance(value, list | tuple), isinstance(value, Mapping)](value)

    return read


def _is_mapping(kind: Any) -> bool:
    origin = get_origin(kind) or kind
    return is_dataclass(kind) or (isinstance(origin, type) and issubclass(origin, Mapping))


def _reader_of_words(words: tuple[Any, ...]) -> Reader:
    def read(value: Any) -> Any:
        if isinstance(value, str) and value in words:
            return value
        more = f" or another of {len(words)} words" if len(words) > MOST_WORDS else ""
        raise _wrong(value, " or ".join(map(repr, words[:MOST_WORDS])) + more)

    return read


def _reader_of_list(read_one: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise _wrong(value, "a list")
        found: list[Any] = []
        try:
            for one in value:
                found.append(read_one(one))  # noqa: PERF401  # its length is the place of what is wrong
        except _Misfit as misfit:
            misfit.places.append(f"[{len(found)}]")
            raise
        return tuple(found)

    return read


def _reader_of_names(read_one: Reader) -> Reader:
    return lambda value: _read_each(_names_of(value), dict.fromkeys(value, read_one))


def _reader_of_fields(kind: Any) -> Reader:
    hints, known = get_type_hints(kind), fields(kind)
    needed = [one.name for one in known if one.default is MISSING and one.default_factory is MISSING]
    readers = {one.name: _reader(hints[one.name]) for one in known}
    from_flat = getattr(kind, "from_flat", None)

    def read(value: Any) -> Any:
        given = _names_of(value)
        if from_flat is not None:
            given = from_flat(given)
        if missing := [name for name in needed if name not in given]:
            raise _Misfit(f"lacks {', '.join(missing)}", "the record")
        return kind(**_read_each(given, readers))

    return read


def _read_each(given: Mapping[str, Any], readers: Mapping[str, Reader]) -> dict[str, Any]:
    """Read the values that are given, each by the reader of its name."""
    found, name = {}, ""
    try:
        for name, read_one in readers.items():
            if name in given:
                found[name] = read_one(given[name])
    except _Misfit as misfit:
        misfit.places.append(name)
        raise
    return found


def _read_plain(kind: Any, value: Any) -> Any:
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
        raise _wrong(value, WORDS[kind])
    return value


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond any float
        return False


def _names_of(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise _wrong(value, "values by name")
    return value


def _wrong(value: Any, expected: str) -> _Misfit:
    try:
        shown = "null" if value is None else repr(value)
    except ValueError:  # a whole number of thousands of digits
        shown = "a number too large to write"
    shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
    return _Misfit(f"is {shown}; expected {expected}")
