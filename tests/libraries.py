"""Libraries that tests use where they are there, and work."""

from __future__ import annotations

import ctypes
import sys
from importlib.util import find_spec


def has_lightgbm() -> bool:
    """Whether LightGBM is installed and can start: on Linux it takes the machine's own libgomp."""
    if find_spec("lightgbm") is None:
        return False
    try:
        if sys.platform == "linux":
            ctypes.CDLL("libgomp.so.1")
    except OSError:
        return False
    return True
