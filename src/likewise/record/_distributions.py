"""How gaps, scores and outcomes are distributed, counted in bins: what charts are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


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
