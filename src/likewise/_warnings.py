"""Warnings that point at the user's own line, and the limit below which scores have collapsed."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Final

from likewise._format import one_line

# the user's call may pass through scikit-learn's searches and pipelines
INSIDE: Final = tuple(str(Path(__file__).parent) + end for end in ("/", "\\"))

COLLAPSED_BELOW: Final = 0.02  # of the standard deviation of the labels


def has_collapsed(spread: float, spread_of_labels: float) -> bool:
    """Whether all scores are nearly equal, by their standard deviation and that of the labels."""
    return spread <= COLLAPSED_BELOW * spread_of_labels


def warn(message: str, category: type[Warning]) -> None:
    """Warn as if from the first line outside of likewise."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(one_line(message), category, stacklevel=level + 1)
