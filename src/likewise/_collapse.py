"""When scores say nothing any more: one limit for audits and for training."""

from __future__ import annotations

from typing import Final

__all__ = ["COLLAPSED_BELOW", "has_collapsed"]

COLLAPSED_BELOW: Final = 0.02  # of the spread that the labels themselves have


def has_collapsed(spread: float, spread_of_labels: float) -> bool:
    """Tell from two standard deviations whether everybody is scored nearly alike."""
    return spread <= COLLAPSED_BELOW * spread_of_labels
