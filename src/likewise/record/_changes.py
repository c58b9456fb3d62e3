"""What changed between two audits, and over several: measures by name, what the changes come to, notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from likewise._format import PLAIN, count_of, line_up, list_lines, show_found
from likewise._json import plain
from likewise.record._measures import CONCLUDED, FEW_PAIRS, Change, Conclusion, Measure, advise_measure, conclude_change
from likewise.record._verdict import Note

HEADLINES: Final = (  # shown first, and of the rest there is to_dict
    *("gap_mean", "excess_gap_mean", "positive_gap_mean", "positive_excess_gap_mean"),
    *("negative_gap_mean", "negative_excess_gap_mean", "rank_gap_mean", "excess_rank_gap_mean", "flip_rate"),
    *("roc_auc", "average_precision", "log_loss", "score_spread"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """What changed between two audits.

    Parameters
    ----------
    changes : mapping of str to Change
        By the name of the measure.
    notes : tuple of Note
        What the numbers alone do not say: whether gaps fell because scores were squeezed together, and whether there
        are too few pairs to conclude anything.

    Examples
    --------
    >>> from likewise import audit, compare_audits, load_dataset
    >>> data = load_dataset("planted")
    >>> before = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> after = audit(
    ...     lambda people: 0.45 + 0.1 * data.scores(people), data.test.X, data.test.y, roles=data.roles, rule=data.rule
    ... )
    >>> comparison = compare_audits(before, after)
    >>> print(comparison.conclusions[0])  # doctest: +ELLIPSIS
    Better: the excess fell by 5.29 pp (... to ...).
    >>> print(comparison.notes[0])  # doctest: +ELLIPSIS
    The mean gap fell by 90% (...), but the scores were squeezed together: their spread fell by 90% (...). ...
    """

    changes: Mapping[str, Change]
    notes: tuple[Note, ...]

    def __getitem__(self, name: str) -> Change:
        """Look up one change."""
        try:
            return self.changes[name]
        except KeyError:
            raise KeyError(f"No measure is called {name!r}.{advise_measure(name, self.changes)}") from None

    def __str__(self) -> str:
        found = [(name, one) for name in HEADLINES if (one := self.changes.get(name)) and one.is_known]
        points = "mean_absolute_error" not in self.changes  # gaps between amounts are shares of a scale
        rows = [
            (
                "  excess" if "excess_" in name else name,  # of the measure above it
                *(_show(name, one, points) for one in (one.before, one.after)),
                _show(name, one.difference, points, 3),
            )
            for name, one in found
        ]
        table = line_up([("", "before", "after", "difference"), *rows])
        return "\n".join([*self._size(), *map(str, self.conclusions), table, *list_lines(self.notes)])

    @property
    def conclusions(self) -> tuple[Conclusion, ...]:
        """What the main changes come to: worse, better, or not to be told from chance; each prints as a sentence."""
        return conclude_changes(self.changes)

    def _size(self) -> list[str]:
        """Return how many pairs and people there are; before and after are of the same people."""
        pairs, people = self.changes.get("gap_mean"), self.changes.get("score_spread")
        if pairs is None or people is None:
            return []
        return [f"{count_of(pairs.n_least, 'pair')} of {count_of(people.after.n, 'person', 'people')}"]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON and for a report.

        Returns
        -------
        dict
            ``changes``, by the name of the measure ``before``, ``after`` and the ``difference``; and ``notes``.

        Examples
        --------
        >>> from likewise.auditing import Change, Comparison, Measure
        >>> change = Change(Measure(0.5), Measure(0.25), Measure(-0.25))
        >>> Comparison({"gap_mean": change}, ()).to_dict()["changes"]["gap_mean"]["difference"]
        {'value': -0.25, 'low': None, 'high': None, 'n': 0}
        """
        changes = {name: asdict(change) for name, change in self.changes.items()}
        record: dict[str, Any] = plain({"changes": changes, "notes": [str(note) for note in self.notes]})
        return record


def _show(name: str, found: Measure, points: bool, decimals: int | None = None) -> str:
    """Format a measure; the decimals of those that are not in percent."""
    return show_found(name, found.value, found.low, found.high, decimals if name in PLAIN else None, points=points)


def conclude_changes(changes: Mapping[str, Change]) -> tuple[Conclusion, ...]:
    """Return what the main changes come to."""
    found = (conclude_change(name, changes[name]) for name in CONCLUDED if name in changes)
    return tuple(one for one in found if one is not None)


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
        Whether all have the same task, labels, favourable outcome, sensitive and other columns, rule and scale.
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
        """What the main changes come to; each prints as a sentence. Nothing where the audits cannot be compared."""
        return conclude_changes(self.changes) if self.is_comparable else ()

    @property
    def outcome(self) -> Literal["worse", "no worse", "inconclusive"]:
        """Whether a main measure is worse beyond its interval; inconclusive where the mean gap cannot be compared."""
        gap = self.changes.get("gap_mean")
        ends = None if gap is None else (gap.difference.low, gap.difference.high)
        if not self.is_comparable or gap is None or gap.n_least < FEW_PAIRS or ends is None or None in ends:
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
