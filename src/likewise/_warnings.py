"""Warnings that point at the user's own line, however deep inside they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Final

__all__ = ["warn"]

# a user's call may come through scikit-learn's searches and pipelines
INSIDE: Final = tuple(str(Path(__file__).parent) + end for end in ("/", "\\"))


def warn(message: str, category: type[Warning]) -> None:
    """Warn as if the first line outside of likewise had done so."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)
