"""How large a test is: a small draw in ``make test``, the full size in ``make test-long``; the code is the same."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice
from typing import Final, TypeVar

__all__ = ["IS_LONG", "sized", "some_of"]

IS_LONG: Final = os.environ.get("LIKEWISE_TESTS") == "long"  # as `make test-long` sets it

Size = TypeVar("Size")


def sized(small: Size, full: Size) -> Size:
    """Return the small size, or the full one in a long run."""
    return full if IS_LONG else small


def some_of(things: Iterable[Size], one_in: int, first: int = 0) -> list[Size]:
    """Return every so-many-th thing from the first on, or all of them in a long run."""
    return list(islice(things, sized(first, 0), None, sized(one_in, 1)))
