"""Estimators whose fit fails are as if it had never been called."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["forgetting"]


@contextmanager
def forgetting(estimator: Any) -> Iterator[None]:
    """Drop what was learned before, and, if learning fails, what was learned so far: halves of two do not fit."""
    _forget(estimator)
    try:
        yield
    except BaseException:
        _forget(estimator)
        raise


def _forget(estimator: Any) -> None:
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)
