"""What changed between two audits, and over several: measures by name, what the changes come to, notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeVar

from likewise._format import POINTS, count_of, line_up, list_lines, show_points
from likewise._json import plain
from likewise.record._kinds import (
    advise_measure,
    key_of,
    kind_of,
    phrase_of,
    show_interval,
    show_value,
    split_key,
)
from likewise.record._measures import Measure
from likewise.record._verdict import Note

Found = TypeVar("Found")

FEW_PAIRS: Final = 30  # fewer say nothing
CONCLUDED: Final = ("excess", "gap_mean", "rank_gap_mean", "flip_rate", "roc_auc", "r2")  # of two audits, in sentences
HEADLINES: Final = (  # shown first, and of the rest there is to_dict
    *("excess", "gap_mean", "excess_rank_gap", "rank_gap_mean", "flip_rate"),
    *("roc_auc", "average_precision", "log_loss", "score_spread"),
)


@dataclass(frozen=True, slots=True)
class Change:
    """One number before and after.

    Parameters
    ----------
    before, after : Measure
    difference : Measure
        After minus before; for some measures with the interval of the paired difference, which is much narrower than
        the two intervals: see :func:`likewise.compare_audits`.

    Examples
    --------
    >>> from likewise.auditing import Change, Measure
    >>> Change(Measure(0.3), Measure(0.2), Measure(-0.1)).difference.value
    -0.1
    """

    before: Measure
    after: Measure
    difference: Measure

    @property
    def is_known(self) -> bool:
        """Whether there is a number before or after."""
        return self.before.value is not None or self.after.value is not None

    @property
    def n_least(self) -> int:
        """The number of pairs or people behind the smaller of the two."""
        return min(self.before.n, self.after.n)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a change comes to; ``str`` of it is a sentence.

    Parameters
    ----------
    outcome : {"worse", "better", "unclear"}
        ``unclear`` where the interval of the difference reaches zero, or there is none.
    text : str
        By how much the measure rose or fell, with the interval.

    Examples
    --------
    >>> from likewise.auditing import Conclusion
    >>> print(Conclusion("worse", "the mean gap rose by 6.20 pp (2.90 to 9.30)."))
    Worse: the mean gap rose by 6.20 pp (2.90 to 9.30).
    """

    outcome: Literal["worse", "better", "unclear"]
    text: str

    def __str__(self) -> str:
        heads = {"worse": "Worse", "better": "Better", "unclear": "No clear change"}
        return f"{heads[self.outcome]}: {self.text}"


def conclude_excess(measures: Mapping[str, Measure], n_people: int, *, points: bool) -> tuple[str, ...]:
    """Whether people are further from comparable people of other groups than of their own, and by how much.

    Where groups differ in a discrete column that may differ between two people, people of two groups are further apart
    for it alone. So more is said only if it is also more where all discrete columns are equal. Nothing where same-group
    pairs were not measured.
    """
    name = "excess" if "excess" in measures else "excess_flips"  # of decisions alone
    found, equal = measures.get(name), measures.get("excess_equal")
    if found is None:
        return ()
    what = "scores differ" if name == "excess" else "decisions differ"
    if found.value is None:
        return ("No excess can be told: nobody is comparable both to people of other groups and to people of the own.",)
    excess = found.show(name, points=points)
    told = f"Excess: {excess}, over {found.n:,} of {n_people:,} people"
    if equal is not None and equal.n:
        excess = equal.show("excess", points=points)
        told += f"; {excess}, over {count_of(equal.n, 'person', 'people')}, where all discrete columns are equal"
    elif equal is not None:
        told += "; none of them has both kinds of partners where all discrete columns are equal"
    if found.low is None or found.high is None:
        return (f"{told}.",)
    if found.low <= 0 <= found.high:
        sentence = "No excess beyond chance is shown: its interval contains zero."
    elif found.low > 0 and equal is not None and not (equal.low or 0.0) > 0:
        sentence = (
            "No excess beyond chance is shown where all discrete columns are equal: it may come from those that may "
            "differ, in which groups differ."
        )
    else:
        more = "more" if found.low > 0 else "less"
        sentence = f"{what.capitalize()} {more} between comparable people of two groups than between those of one."
    return sentence, f"{told}."


def conclude_change(name: str, change: Change, n_pairs: int) -> Conclusion | None:
    """Whether a measure rose or fell, by how much, and whether that can be told from chance; None where unknown.

    Of fewer than 30 pairs nothing is concluded, be it of the pairs or of the excess of their people.
    """
    found, phrase, kind = change.difference, phrase_of(name), kind_of(name)
    if found.value is None:
        return None
    value = round(found.value, 12)  # 0.3 - 0.1 - 0.2 is no change
    moved = f"{phrase} {'rose' if value > 0 else 'fell'} by {_show_change(name, abs(value))}"
    if value == 0 and not (found.low or found.high):
        return Conclusion("unclear", f"{phrase} is the same.")
    if found.low is None or found.high is None:
        return Conclusion("unclear", f"{moved}, without an interval to tell it from chance.")
    if found.low <= 0 <= found.high:
        sign = -1 if value < 0 else 1  # of a fall, by how much it may have fallen
        interval = _show_ends(name, *sorted((sign * found.low, sign * found.high)))
        unit = "" if kind.unit == "number" or value else POINTS
        return Conclusion("unclear", f"{moved if value else f'{phrase} is the same'} ({interval}{unit}).")
    interval = _show_ends(name, *sorted((abs(found.low), abs(found.high))))
    if kind.is_by_label and n_pairs < FEW_PAIRS:
        few = f"only {count_of(n_pairs, 'pair')}, too few to conclude anything"
        return Conclusion("unclear", f"{moved} ({interval}), of {few}.")
    is_better = (value > 0) == (kind.better == "high")
    return Conclusion("better" if is_better else "worse", f"{moved} ({interval}).")


def _show_change(name: str, value: float) -> str:
    return show_value(name, value, 3) if kind_of(name).unit == "number" else show_points(value)


def _show_ends(name: str, low: float, high: float) -> str:
    return (
        show_interval(name, low, high, 3)
        if kind_of(name).unit == "number"
        else f"{100 * low:z.2f} to {100 * high:z.2f}"
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

    def __getitem__(self, name: str | tuple[str, Any]) -> Change:
        """Look up one change: of ``"gap_mean"``, or of the pairs with one label, ``"gap_mean", 1``."""
        return look_up(self.changes, name)

    def __str__(self) -> str:
        found = [(name, one) for name in of_every_part(HEADLINES, self.changes) if (one := self.changes[name]).is_known]
        points = "mean_absolute_error" not in self.changes  # gaps between amounts are shares of a scale
        rows = [
            (
                name,
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
        pairs, people = self.changes.get("flip_rate"), self.changes.get("matched_share")
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
    return found.show(name, decimals if kind_of(name).unit == "number" else None, points=points)


def look_up(found: Mapping[str, Found], name: str | tuple[str, Any]) -> Found:
    """Return what there is of a measure, named alone or with its label."""
    key = name if isinstance(name, str) else key_of(*name)
    try:
        return found[key]
    except KeyError:
        raise KeyError(f"No measure is called {key!r}.{advise_measure(key, found)}") from None


def of_every_part(names: Iterable[str], keys: Iterable[str]) -> list[str]:
    """List those of the keys that have one of the names: ``gap_mean``, then ``gap_mean[0]``, ``gap_mean[1]``."""
    wanted = {name: place for place, name in enumerate(names)}
    chosen = [(key, split_key(key)) for key in keys]
    known = [(wanted[name], part is not None, key) for key, (name, part) in chosen if name in wanted]
    return [key for _, _, key in sorted(known, key=lambda one: one[:2])]


def conclude_changes(changes: Mapping[str, Change]) -> tuple[Conclusion, ...]:
    """Return what the main changes come to."""
    n_pairs = {split_key(key)[1]: changes[key].n_least for key in of_every_part(("gap_mean", "flip_rate"), changes)}
    found = (
        conclude_change(name, changes[name], n_pairs.get(split_key(name)[1], changes[name].n_least))
        for name in of_every_part(CONCLUDED if "excess" in changes else ("excess_flips", *CONCLUDED), changes)
    )
    return tuple(one for one in found if one is not None)


def is_told(change: Change) -> bool:
    """Whether a difference has an interval, and enough pairs or people behind it."""
    return change.difference.low is not None and change.difference.high is not None and change.n_least >= FEW_PAIRS


def conclude_treatment(key: str, change: Change, *, points: bool) -> Conclusion:
    """Whether an excess rose, or a signed gap grew away from zero, beyond the interval of its difference."""
    before, after, difference = change.before, change.after, change.difference
    if before.value is None or after.value is None or difference.value is None:
        return Conclusion("unclear", f"{phrase_of(key)} cannot be compared.")
    sides = [show_value(key, one.value, points=points) for one in (before, after)]
    moved = f"{phrase_of(key)} went from {sides[0]} to {sides[1]}"
    if not is_told(change):
        of = count_of(change.n_least, *(("pair",) if kind_of(key).counted_in == "pairs" else ("person", "people")))
        few = change.n_least < FEW_PAIRS
        return Conclusion("unclear", f"{moved}; {f'only {of}, too few to conclude' if few else 'without an interval'}.")
    text = f"{moved} (difference {difference.show(key, points=points)})."
    low, high = difference.low or 0.0, difference.high or 0.0
    if low <= 0 <= high:
        return Conclusion("unclear", text)
    is_excess = kind_of(key).family == "excess"
    grew = difference.value > 0 if is_excess else abs(after.value) >= abs(before.value)
    return Conclusion("worse" if grew else "better", text)


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
        From the first audit to the last, by the name of the measure. The intervals of those that are ``concluded``
        hold for all of them together (Bonferroni).
    concluded : tuple of str
        The measures of treatment: the excess and, for each transition between sensitive values, the adjusted gap and
        the approval gap. By the others, which also move where nobody is treated differently, nothing is concluded.
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
    concluded: tuple[str, ...]
    new_pairs: tuple[SeriesPair, ...] | None
    resolved_pairs: tuple[SeriesPair, ...] | None
    notes: tuple[Note, ...]

    @property
    def conclusions(self) -> tuple[Conclusion, ...]:
        """What became of the treatment; each prints as a sentence."""
        points = self.points[-1].in_points
        return tuple(conclude_treatment(key, self.changes[key], points=points) for key in self.concluded)

    @property
    def outcome(self) -> Literal["worse", "no worse", "inconclusive"]:
        """Whether treatment grew beyond the interval; inconclusive where nothing of it can be compared."""
        if any(one.outcome == "worse" for one in self.conclusions):
            return "worse"
        return "no worse" if any(is_told(self.changes[key]) for key in self.concluded) else "inconclusive"

    @property
    def exit_code(self) -> int:
        """Return 0 for no worse, 1 for worse, 3 for inconclusive."""
        return {"no worse": 0, "worse": 1, "inconclusive": 3}[self.outcome]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        found: dict[str, Any] = plain(self)
        return found | {"outcome": self.outcome, "conclusions": [str(one) for one in self.conclusions]}
