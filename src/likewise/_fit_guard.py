"""A failed fit leaves the estimator unfitted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["fit_guard"]


@contextmanager
def fit_guard(estimator: Any) -> Iterator[None]:
    """Drop fitted attributes before a fit, and again if it fails, so that none are stale."""
    _forget(estimator)
    try:
        yield
    except BaseException:
        _forget(estimator)
        raise


def _forget(estimator: Any) -> None:
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)
