"""Records of several periods or models, in order: their measures, and what changed from the first to the last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from likewise._json import plain
from likewise.record._measures import CONCLUDED, Change, Conclusion, Measure, conclude_change
from likewise.record._notes import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """One audit of a series; ``coverage`` is the share of matched people by group, ``in_points`` the unit of gaps."""

    name: str
    made_at: str | None
    n_people: int
    n_pairs: int
    measures: Mapping[str, Measure]
    coverage: Mapping[str, float | None]
    in_points: bool = True


@dataclass(frozen=True, slots=True)
class SeriesPair:
    """A pair that is among the worst of one audit and not of the other."""

    left_id: Any
    right_id: Any
    gap: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSeries:
    """What changed over several audits, from the first to the last.

    Parameters
    ----------
    points : tuple
        The audits, in the order given; each has a ``name``, ``made_at``, ``measures`` and ``coverage`` by group.
    changes : mapping of str to Change
        From the first audit to the last, by the name of the measure.
    is_comparable : bool
        Whether the two have the same task, labels, favourable outcome, rule and scale.
    new_pairs, resolved_pairs : tuple, or None
        Pairs that are among the worst of the last audit only, and of the first only, by row identifier; None where
        people cannot be told by one.
    notes : tuple of Note

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.auditing import compare_series
    >>> data = load_dataset("planted")
    >>> how = {"roles": data.roles, "rule": data.rule}
    >>> fair, unfair = (
    ...     audit(lambda people, gap=gap: data.scores(people, gap=gap), data.test.X, data.test.y, **how)
    ...     for gap in (0.02, 0.1)
    ... )
    >>> found = compare_series([fair.record, unfair.record])
    >>> found.outcome, found.exit_code
    ('worse', 1)
    """

    points: tuple[SeriesPoint, ...]
    changes: Mapping[str, Change]
    is_comparable: bool
    new_pairs: tuple[SeriesPair, ...] | None
    resolved_pairs: tuple[SeriesPair, ...] | None
    notes: tuple[Note, ...]

    @property
    def main_measures(self) -> tuple[str, ...]:
        """The measures of which something is concluded, as far as some audit has them."""
        return tuple(name for name in CONCLUDED if any(name in one.measures for one in self.points))

    @property
    def conclusions(self) -> tuple[Conclusion, ...]:
        """What the main changes come to; each prints as a sentence."""
        found = (conclude_change(name, self.changes[name]) for name in CONCLUDED if name in self.changes)
        return tuple(one for one in found if one is not None)

    @property
    def outcome(self) -> Literal["worse", "no worse", "inconclusive"]:
        """Whether a main measure is worse beyond its interval; inconclusive where the mean gap cannot be compared."""
        gap = self.changes.get("gap_mean")
        if not self.is_comparable or gap is None or gap.difference.low is None or gap.difference.high is None:
            return "inconclusive"
        return "worse" if any(one.outcome == "worse" for one in self.conclusions) else "no worse"

    @property
    def exit_code(self) -> int:
        """Return 0 for no worse, 1 for worse, 3 for inconclusive."""
        return {"no worse": 0, "worse": 1, "inconclusive": 3}[self.outcome]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        found: dict[str, Any] = plain(self)
        return found | {"outcome": self.outcome, "conclusions": [str(one) for one in self.conclusions]}
