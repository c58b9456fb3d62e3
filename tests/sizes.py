"""How large a test is: a small draw in ``make test``, the full size in ``make test-long``; the code is the same.

Amounts are ``sized(small, full)``. The mark ``long`` leaves a test to the long run, ``long(n)`` all but one in n of its
variants.
"""

from __future__ import annotations

import os
from typing import Final, TypeVar

__all__ = ["IS_LONG", "sized"]

IS_LONG: Final = os.environ.get("LIKEWISE_TESTS") == "long"  # as `make test-long` sets it

Size = TypeVar("Size")


def sized(small: Size, full: Size) -> Size:
    """Return the small size, or the full one in a long run."""
    return full if IS_LONG else small
