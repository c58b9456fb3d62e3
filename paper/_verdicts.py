"""Whether a measured row is as published, changes its base so, or is no worse; and whether ours is twice as good.

All numbers are percent. Areas and precisions are better when they are high, gaps when they are low.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Final, Literal

from paper._published import Numbers

UTILITIES: Final = {"roc_auc": "ROC", "average_precision": "AP"}
GAPS: Final = {"gap_mean[1]": "positive gap", "gap_mean[0]": "negative gap"}
RANK_GAPS: Final = {"rank_gap_mean[1]": "positive rank gap", "rank_gap_mean[0]": "negative rank gap"}

UTILITY_TOLERANCE: Final = 1.0  # points below the published area or precision
GAP_SHARE: Final = 0.15  # of the published gap, above it
GAP_POINTS: Final = 1.0  # above the published gap, where that is more than the share
LEAST_ALLOWED: Final = 0.5  # points, where splits and seeds hardly change a number: solvers and versions do
HALF: Final = 0.5
ROUNDING: Final = 1e-9  # the published numbers have two digits; a difference of exactly the tolerance is within it

Measured = Mapping[str, float | None]
Word = Literal["better", "as published", "worse"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A word, and what speaks against the row where it is worse."""

    word: Word
    faults: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """As published or better."""
        return self.word != "worse"

    def __str__(self) -> str:
        return f"{self.word}: {', '.join(self.faults)}" if self.faults else self.word


def tolerance(name: str, published: float) -> float:
    """How far a number may be on the wrong side of the published one."""
    return UTILITY_TOLERANCE if name in UTILITIES else max(GAP_SHARE * published, GAP_POINTS)


def gain(name: str, ours: float, published: float) -> float:
    """By how much ours is better; negative where it is worse."""
    return ours - published if name in UTILITIES else published - ours


def judge(ours: Measured, published: Numbers) -> Judgement:
    """Judge by area, precision and the mean gaps, as far as they are published.

    Worse: one of them is on the wrong side of the published number by more than its tolerance. Better: none is on the
    wrong side at all, and one is on the right side by more than that tolerance.
    """
    names = [name for name in (*UTILITIES, *GAPS) if name in published]
    faults, gains = [], []
    for name in names:
        mine = known(ours.get(name))
        if mine is None:
            faults.append(f"no {_title(name)}")
            continue
        allowed = tolerance(name, published[name]) + ROUNDING
        gained = gain(name, mine, published[name])
        gains.append((gained, allowed))
        if gained < -allowed:
            faults.append(f"{_title(name)} {_written(mine - published[name], allowed)}")
    if faults or not names:
        return Judgement("worse", tuple(faults or ["nothing to compare"]))
    is_better = all(gained >= 0 for gained, _ in gains) and any(gained > allowed for gained, allowed in gains)
    return Judgement("better" if is_better else "as published")


def _written(by: float, allowed: float) -> str:
    """Write a difference that is too large with digits enough to see that it is."""
    return next(
        (text for text in (f"{by:+.{digits}f}" for digits in (2, 3)) if abs(float(text)) > allowed), f"{by:+.4f}"
    )


def departures(ours: Mapping[str, Sequence[float]], published: Numbers) -> tuple[str, ...]:
    """List where our mean over splits is not the published number, better or worse; nothing left means it is."""
    found = []
    for name in (name for name in (*UTILITIES, *GAPS) if name in published):
        values = ours.get(name, ())
        if not values:
            found.append(f"no {_title(name)}")
            continue
        by, allowed = fmean(values) - published[name], allowance(values) + ROUNDING
        if abs(by) > allowed:
            found.append(f"{_title(name)} {_written(by, allowed)}")
    return tuple(found)


def allowance(values: Sequence[float]) -> float:
    """How far a number of an unknown split may be from our mean: two standard deviations of the difference."""
    spread = stdev(values) if len(values) > 1 else 0.0
    return max(2 * spread * math.sqrt(1 + 1 / len(values)), LEAST_ALLOWED)


def shortfalls(ours: Measured, rival: Measured, network: Measured) -> dict[str, float | None]:
    """Where ours is not twice as good, and by how much: nothing left means it is.

    Gap means at most half of the rival's at no less area and precision, and rank gaps at most half of the plain
    network's. ``None``: one of the two was not measured.
    """
    wanted = [(title, ours.get(name), rival.get(name), 1.0) for name, title in UTILITIES.items()]
    wanted += [(title, ours.get(name), rival.get(name), -HALF) for name, title in GAPS.items()]
    wanted += [(title, ours.get(name), network.get(name), -HALF) for name, title in RANK_GAPS.items()]
    found: dict[str, float | None] = {}
    for title, mine, theirs, share in wanted:
        mine, theirs = known(mine), known(theirs)
        if mine is None or theirs is None:
            found[title] = None
            continue
        short = theirs - mine if share > 0 else mine + share * theirs
        if short > ROUNDING:
            found[title] = short
    return found


def known(number: float | None) -> float | None:
    """Give a number, and nothing for what is none."""
    return None if number is None or math.isnan(number) else number


def _title(name: str) -> str:
    return (UTILITIES | GAPS)[name]
