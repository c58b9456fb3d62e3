"""How messages name parameters: as in Python or, while the command line runs, by its options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["name_parameters", "parameter"]

Spelling = Callable[[str, Any], str]


def _in_python(name: str, value: Any) -> str:
    return name if value is None else f"{name}={value!r}"


_spelling: ContextVar[Spelling] = ContextVar("spelling", default=_in_python)


def parameter(name: str, value: Any = None) -> str:
    """Name a parameter in a message, with a value where one is advised: ``max_pairs``, ``task='binary'``."""
    return _spelling.get()(name, value)


@contextmanager
def name_parameters(spelling: Spelling) -> Iterator[None]:
    """Name parameters in another way, such as ``--max-pairs``."""
    token = _spelling.set(spelling)
    try:
        yield
    finally:
        _spelling.reset(token)
