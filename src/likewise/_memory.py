"""How much memory a caller allows, and how much there is."""

from __future__ import annotations

import os
import re
from typing import Final

DEFAULT_BYTES: Final = 4_000_000_000
UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def bytes_allowed(limit: int | str | None) -> int:
    """Read a limit such as "2 GB"; by default 4 GB, or half of what is free if that is less."""
    if limit is None:
        return min(DEFAULT_BYTES, bytes_free() // 2)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", str(limit).lower())
    if match is None:
        raise ValueError(f"memory_limit is {limit!r}; give a number of bytes, or a text such as '2 GB'.")
    return int(float(match[1]) * UNITS[match[2]])


def bytes_free() -> int:
    """Tell how many bytes of memory can be had now, as far as the system says."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not every system knows
        return 2 * DEFAULT_BYTES
