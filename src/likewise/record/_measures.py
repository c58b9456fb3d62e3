"""One number of an audit, and the distributions behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from likewise.record._kinds import show_interval, show_value


@dataclass(frozen=True, slots=True)
class Measure:
    """A number with its confidence interval and the number of pairs or people behind it.

    Parameters
    ----------
    value : float or None
        None where it cannot be measured, for example without pairs of that label.
    low, high : float or None
        The ends of the confidence interval; both None where there is none, as for a maximum or a count, and one of
        them None where the interval is open on that side.
    n : int
        The number of pairs or people.

    Examples
    --------
    >>> from likewise.auditing import Measure
    >>> Measure(0.316, low=0.28, high=0.35, n=193)
    Measure(value=0.316, low=0.28, high=0.35, n=193)
    >>> print(Measure(0.316, low=0.28, high=0.35, n=193))
    0.316 (0.28 to 0.35)
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0

    def __str__(self) -> str:
        shown, low, high = ("?" if one is None else f"{one:.3g}" for one in (self.value, self.low, self.high))
        if self.value is None:
            return "not measured"
        return shown if self.low is None and self.high is None else f"{shown} ({low} to {high})"

    def show(self, key: str, decimals: int | None = None, *, points: bool = False) -> str:
        """Format it as what the measure of that name is: 31.60% (28.00% to 35.00%)."""
        ends = "" if self.value is None else show_interval(key, self.low, self.high, decimals, points=points)
        return f"{show_value(key, self.value, decimals, points=points)}{f' ({ends})' if ends else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSlice:
    """Gaps of some pairs, counted in bins: of all pairs, or of the pairs with one label."""

    of: Literal["all", "label"]
    label: Any = None
    is_positive: bool | None = None
    n: int
    counts: tuple[float, ...]  # by weight, where people are weighted: they still add up to n
    n_within: int | None
    within_counts: tuple[float, ...] | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; all pairs have no label."""
        named = {} if self.of == "all" else {"label": self.label, "is_positive": self.is_positive}
        counted = {name: getattr(self, name) for name in ("n", "counts", "n_within", "within_counts")}
        return {"of": self.of, **named, **counted}


@dataclass(frozen=True, slots=True)
class GapDistribution:
    """Gaps of comparable and of same-group pairs in the same bins; all pairs come first."""

    edges: tuple[float, ...]
    slices: tuple[GapSlice, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"edges": self.edges, "slices": [one.to_dict() for one in self.slices]}

    def counts(self) -> tuple[tuple[float, ...], ...]:
        """Return the counts of all slices, baselines included."""
        return tuple(counts for one in self.slices for counts in (one.counts, one.within_counts) if counts is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonGap:
    """A person with the largest gap to anybody comparable."""

    row: int
    id: Any
    label: Any
    score: float | tuple[float, ...]
    worst_gap: float
    n_partners: int
    comparator_row: int
    comparator_id: Any
    comparator_score: float | tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonGaps:
    """The largest gap of every matched person: in bins, summed up, and the people with the largest."""

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    n_people: int
    mean: float | None
    median: float | None
    q95: float | None
    worst: tuple[PersonGap, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationBin:
    """People with scores from ``low`` to ``high``: their mean score, and the share with the positive label."""

    n: int
    low: float
    high: float
    mean_score: float
    observed: float


@dataclass(frozen=True, slots=True)
class ScoreSlice:
    """Scores of the people with one label, counted in bins."""

    label: Any
    counts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ScoreDistribution:
    """Scores by label, in the same bins."""

    edges: tuple[float, ...]
    slices: tuple[ScoreSlice, ...]
