"""Checks of the plain arguments of an audit: numbers that say how to measure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from likewise._checks import check_count
from likewise.auditing._scores import Task

SEEDS: Final = 2**64  # replicates are made of a seed of so many bits


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse what no audit could be made with."""
    counts = {"n_worst": "n_worst", "n_resamples": "n_resamples", "max_pairs": "max_pairs", "random_state": "seed"}
    for name, setting in counts.items():
        check_count(name, settings[setting], or_none=False)
    if settings["seed"] >= SEEDS:
        raise ValueError(f"random_state is {settings['seed']}; give a whole number below 2**64.")
    if settings["max_pairs"] == 0:
        raise ValueError("max_pairs is 0; give the number of pairs to measure at most.")
    confidence, limit, n = settings["confidence"], settings["gap_limit"], settings["n_resamples"]
    if not _is_number(confidence) or not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence!r}; give a share between 0 and 1, such as 0.95.")
    if not _is_number(limit) or not 0 <= limit < math.inf:
        raise ValueError(f"gap_limit is {limit!r}; give a number, 0 or more.")
    n_fewest = math.ceil(round(2 / (1 - confidence), 6))  # one replicate beyond each end of the interval
    if 0 < n < n_fewest:
        raise ValueError(
            f"n_resamples is {n:,}, too few to see both ends of an interval at confidence {confidence:g}. Give "
            f"{n_fewest:,} or more, or 0 for no intervals."
        )


def check_limit(limit: float, task: Task) -> None:
    """Refuse a limit that no gap can be above; 10 was meant in percent."""
    if limit > 1 and task != "regression":
        raise ValueError(f"gap_limit is {limit:g}, but gaps between probabilities are at most 1. For 10% give 0.1.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
