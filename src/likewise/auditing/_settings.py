"""Checks of the plain arguments of an audit: numbers that say how to measure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Literal

from likewise._checks import check_choice, check_count
from likewise._memory import bytes_allowed
from likewise.auditing._scores import Task

TooMany = Literal["stream", "sample"]

SEEDS: Final = 2**64  # replicates are made of a seed of so many bits
BYTES_KEPT: Final = 200  # a kept pair takes so much with all that is computed of it and of one of the baseline
BYTES_HELD: Final = 32  # and while pairs are still sought: twice as many as wanted, with their keys
FEWEST_KEPT: Final = 1_000  # intervals of fewer say little
OF_PERSON: Final = 300  # bytes, of columns as codes, scores, ranks and what is computed of them
OF_PERSON_HELD: Final = 110  # and while pairs are still sought


def share_memory(limit: int | str | None, max_pairs: int, n_people: int) -> tuple[int, int | None]:
    """Say how many pairs may be kept under a limit, and how many bytes that leaves to the search for them."""
    if limit is None:
        return max_pairs, None
    allowed = bytes_allowed(limit)
    n_kept = min(max_pairs, max((allowed - n_people * OF_PERSON) // 2 // BYTES_KEPT, FEWEST_KEPT))
    return n_kept, max(allowed - n_people * OF_PERSON_HELD - n_kept * BYTES_HELD, 0)


def check_settings(settings: Mapping[str, Any], folder: object = None) -> None:
    """Refuse what no audit could be made with."""
    check_choice("when_too_many", settings["when_too_many"], ("stream", "sample"))
    if folder is not None and settings["when_too_many"] == "sample":
        raise ValueError("pairs are listed in the folder given, so when_too_many='sample' does not go with them.")
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
