"""Two audits, or their records, compared: what changed, and what the change is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from likewise._format import count_of, line_up, show_found
from likewise._json import plain
from likewise.auditing._settings import AuditSettings
from likewise.auditing.inference._intervals import Interval, interval_of, reach_of, subtract, widen
from likewise.auditing.pairs._meter import ScoredPairs
from likewise.auditing.pairs._summary import PairSummary
from likewise.auditing.people._performance import ALL_OR_NOTHING, replicate_people
from likewise.auditing.people._sums import Floats
from likewise.auditing.question._question import Question
from likewise.auditing.result._notes import list_notes, note_squeeze
from likewise.exceptions import ScoreError
from likewise.record import AuditRecord
from likewise.record._internal import Change, Measure, Note, RecordError, advise_measure

PAIRED: Final = ("gap_mean", "rank_gap_mean", "flip_rate")
HEADLINES: Final = (  # shown first, and of the rest there is to_dict
    *("gap_mean", "positive_gap_mean", "negative_gap_mean", "rank_gap_mean", "flip_rate"),
    *("roc_auc", "average_precision", "log_loss", "score_spread"),
)
MOST_PEOPLE: Final = 100_000  # of more, replicates for two models take longer than a comparison should
BIASED: Final = ("calibration_error",)  # chance adds to it, and not as much for one model as for the other
Record = AuditRecord | Mapping[str, Any]
SQUEEZE_NEEDS: Final = frozenset(("gap_mean", "score_spread", "rank_gap_mean"))


class Compared(Protocol):
    """What a comparison needs of an audit."""

    @property
    def record(self) -> AuditRecord:
        """Everything that was found, as plain data."""

    @property
    def measures(self) -> Mapping[str, Measure]:
        """Every number, by name."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader has to know before trusting a number."""

    @property
    def question(self) -> Question:
        """People, rule and scores."""

    @property
    def settings(self) -> AuditSettings:
        """The parameters of the audit."""

    @property
    def scored(self) -> ScoredPairs:
        """The pairs, measured."""

    @property
    def summary(self) -> PairSummary | None:
        """The summary of all pairs, where ``scored`` are a sample."""


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
    >>> for line in str(compare_audits(before, after)).splitlines()[:3]:  # doctest: +ELLIPSIS
    ...     print(line)
    151 pairs of 500 people
                       before ...
    gap_mean           6.16% (...)     0.62% (...)  -5.54% (...)
    >>> print(compare_audits(before, after).notes[0])  # doctest: +ELLIPSIS
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
        found = [(name, self.changes[name]) for name in HEADLINES if name in self.changes]
        rows = [
            (
                name,
                *(
                    show_found(name, side.value, side.low, side.high)
                    for side in (one.before, one.after, one.difference)
                ),
            )
            for name, one in found
        ]
        table = line_up([("", "before", "after", "difference"), *rows])
        return "\n".join([*self._size(), table, *list_notes(self.notes)])

    def _size(self) -> list[str]:
        """Return how many pairs and people there are; before and after are of the same people."""
        pairs, people = self.changes.get("gap_mean"), self.changes.get("score_spread")
        if pairs is None or people is None:
            return []
        fewest = min(pairs.before.n, pairs.after.n)  # two samples of the pairs may differ in size
        return [f"{count_of(fewest, 'pair')} of {count_of(people.after.n, 'person', 'people')}"]

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


def compare_audits(before: Compared, after: Compared) -> Comparison:
    """Compare two audits of the same people, scored by two models.

    Differences of ``gap_mean``, ``rank_gap_mean`` and ``flip_rate``, of all pairs and by label, have an interval where
    both audits measured the same pairs; those of ROC AUC, log loss, standard deviation and other measures of people,
    where there are no more than 100,000 people. Each bootstrap resample weights everybody alike for both models.
    There is no interval for the calibration error, to which chance adds unlike amounts, nor for coverage, impact ratio,
    quantiles, maxima and the baseline, nor where the second audit was made with ``n_resamples=0``.

    Parameters
    ----------
    before, after : Audit
        Of the same people, by the same rule.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from likewise import audit, compare_audits, load_dataset
    >>> data = load_dataset("planted")
    >>> how = {"roles": data.roles, "rule": data.rule}
    >>> before = audit(data.scores, data.test.X, data.test.y, **how)
    >>> after = audit(lambda people: data.scores(people, gap=0.02), data.test.X, data.test.y, **how)
    >>> change = compare_audits(before, after)["gap_mean"]
    >>> round(change.difference.value, 4), change.difference.high < 0
    (-0.0493, True)
    """
    old, new = before.record, after.record
    if (old.data.table_checksum, old.data.n_rows) != (new.data.table_checksum, new.data.n_rows):
        raise ScoreError("The two audits are of different people or labels. Audit both models on the same table.")
    for name in ("rule", "task", "positive", "scale"):
        if getattr(old, name) != getattr(new, name):
            raise ScoreError(f"The two audits differ in their {name}. Give both the same.")
    if old.settings.gap_limit != new.settings.gap_limit:
        raise ScoreError("The two audits differ in their gap_limit. Give both the same.")
    shared = [name for name in after.measures if name in before.measures]
    changes = {name: _change(before.measures[name], after.measures[name]) for name in shared}
    for name, difference in (_paired_differences(before, after) | people_differences(before, after)).items():
        if name in changes:
            changes[name] = Change(before.measures[name], after.measures[name], difference)
    squeezed = note_squeeze(before.measures, after.measures)
    few = [note for note in (*after.notes, *before.notes) if note.kind == "few_pairs"]
    return Comparison(changes, tuple(dict.fromkeys([*([squeezed] if squeezed else []), *few])))


def _change(before: Measure, after: Measure) -> Change:
    known = before.value is not None and after.value is not None
    return Change(before, after, Measure(after.value - before.value if known else None, n=after.n))  # type: ignore[operator]  # both are known


def _paired_differences(before: Compared, after: Compared) -> dict[str, Measure]:
    """Bootstrap the differences of the single pairs: most of what is uncertain about the two means is the same."""
    from likewise.auditing.inference._bootstrap import resample_pairs

    one, other, settings = before.scored, after.scored, after.settings
    same = np.array_equal(one.pairs.left, other.pairs.left) and np.array_equal(one.pairs.right, other.pairs.right)
    if not same or not settings.n_resamples:
        return {}
    n_columns = len(PAIRED) if one.flips is not None and other.flips is not None else len(PAIRED) - 1
    values = _columns(other)[:, :n_columns] - _columns(one)[:, :n_columns]
    table = other.pairs.left_table
    totals, sums = resample_pairs(
        other.pairs.left,
        other.pairs.right,
        other.labels,
        values,
        n_people=len(table),
        n_groups=len(table.classes),
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )
    slices: dict[str, int | None] = {"": None}
    if after.question.scores.task == "binary":
        positive = int(after.question.scores.positive or 0)
        slices |= {"positive_": positive, "negative_": 1 - positive}
    found = {}
    for prefix, code in slices.items():
        chosen = np.arange(len(values)) if code is None else np.flatnonzero(other.labels == code)
        groups = slice(None) if code is None else slice(code, code + 1)
        if not len(chosen):
            continue
        with np.errstate(invalid="ignore", divide="ignore"):  # a replicate may have no such pair
            means = sums[:, groups].sum(axis=1) / totals[:, groups].sum(axis=1)[:, None]
        for position, name in enumerate(PAIRED[: values.shape[1]]):
            measure = _difference(other, chosen, values[chosen, position], means[:, position], settings)
            found[prefix + name] = measure if after.summary is None else _moved(measure, before, after, prefix + name)
    return found


def _moved(sampled: Measure, before: Compared, after: Compared, name: str) -> Measure:
    """Return the difference over all pairs with the interval of the sample."""
    exact = _change(before.measures[name], after.measures[name]).difference
    if exact.value is None or sampled.value is None or sampled.low is None or sampled.high is None:
        return exact
    moved = exact.value - sampled.value
    return Measure(exact.value, sampled.low + moved, sampled.high + moved, exact.n)


def _columns(scored: ScoredPairs) -> NDArray[np.float64]:
    flips = [] if scored.flips is None else [scored.flips]
    return np.column_stack([scored.gaps, scored.rank_gaps, *flips]).astype(np.float64)


def _difference(
    scored: ScoredPairs,
    chosen: NDArray[np.intp],
    values: NDArray[np.float64],
    means: NDArray[np.float64],
    settings: AuditSettings,
) -> Measure:
    mean = float(values.mean())
    rows = scored.pairs.left[chosen], scored.pairs.right[chosen]
    reach = reach_of(*rows, values - mean, len(scored.pairs.left_table), settings.confidence)
    interval = interval_of(mean, reach * (means - mean), settings.confidence, -np.inf, np.inf)
    low, high = interval or (None, None)
    return Measure(mean, low, high, len(values))


def people_differences(before: Compared, after: Compared) -> dict[str, Measure]:
    """Compare measures of people: each resample gives everybody the same weight for both models."""
    settings, n_people = after.settings, len(after.question.table)
    if not settings.n_resamples or not 1 < n_people <= MOST_PEOPLE:
        return {}
    olds, news = (
        replicate_people(one.question.scores, one.question.table, one.question.outcomes, settings)
        for one in (before, after)
    )
    found = {}
    for name in (name for name in news if name in olds and name not in BIASED):
        old, new = before.measures.get(name), after.measures.get(name)
        if old is None or new is None or old.value is None or new.value is None:
            continue
        interval = _bound(name, old, new, news[name] - olds[name], settings.confidence)
        low, high = interval or (None, None)
        found[name] = Measure(new.value - old.value, low, high, new.n)
    return found


def _bound(name: str, old: Measure, new: Measure, differences: Floats, confidence: float) -> Interval | None:
    assert old.value is not None
    assert new.value is not None
    if name in ALL_OR_NOTHING and not {old.value, new.value}.isdisjoint((0.0, 1.0)):
        # replicates of people who are all alike say nothing
        if old.low is None or old.high is None or new.low is None or new.high is None:
            return None
        return subtract(new.value, (new.low, new.high), old.value, (old.low, old.high))
    value = new.value - old.value
    deviations = (differences - value) * widen(new.n, confidence)
    return interval_of(value, deviations, confidence, -np.inf, np.inf)


def compare_records(before: Record, after: Record) -> dict[str, Any]:
    """Compare two audits by their records; the result has the form of :meth:`Comparison.to_dict`.

    Records hold no pairs, so the differences have no intervals: with both audits at hand, :func:`compare_audits` says
    more. And it refuses audits that cannot be compared, where this notes what they do not have in common.

    Parameters
    ----------
    before, after : AuditRecord or mapping
        ``Audit.record``, or what :meth:`Audit.to_dict` returns and an audit.json holds.

    Returns
    -------
    dict
        ``changes``, by the name of the measure ``before``, ``after`` and the ``difference``; and ``notes``.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.auditing import compare_records
    >>> data = load_dataset("planted")
    >>> how = {"roles": data.roles, "rule": data.rule}
    >>> before = audit(data.scores, data.test.X, data.test.y, **how)
    >>> after = audit(lambda people: data.scores(people, gap=0.02), data.test.X, data.test.y, **how)
    >>> found = compare_records(before.to_dict(), after.to_dict())
    >>> round(found["changes"]["gap_mean"]["difference"]["value"], 4), found["notes"]
    (-0.0493, [])
    """
    old, new = _read_record(before, "before"), _read_record(after, "after")
    changes = {name: _change(old.measures[name], new.measures[name]) for name in new.measures if name in old.measures}
    squeezed = note_squeeze(old.measures, new.measures) if set(changes) >= SQUEEZE_NEEDS else None
    notes = (note for note in (*_note_unlike(old, new), squeezed) if note is not None)
    return Comparison(changes, tuple(notes)).to_dict()


def _read_record(record: Record, which: str) -> AuditRecord:
    if isinstance(record, AuditRecord):
        return record
    try:
        return AuditRecord.from_dict(record)
    except RecordError as error:
        raise ScoreError(
            f"The record {which} is not that of an audit: {error.fault}. Give what Audit.to_dict() returns."
        ) from error


def _note_unlike(old: AuditRecord, new: AuditRecord) -> Iterator[Note]:
    """Note what keeps the two from being compared number by number."""
    if (old.data.table_checksum, old.data.n_rows) != (new.data.table_checksum, new.data.n_rows):
        yield Note(
            "unlike",
            "The two audits are of different people or labels: what changed may be the people, and not how they are "
            "scored.",
        )
    shared = {  # what both should have in common, and what it means if they do not
        "task": (old.task == new.task, "their numbers are about different things"),
        "positive label": (old.positive == new.positive, "positive and negative mean different people"),
        "rule": (old.rule == new.rule, "they are about different pairs"),
        "scale": (old.scale == new.scale, "their gaps are in different units"),
        "gap limit": (
            old.settings.gap_limit == new.settings.gap_limit,
            "the shares of pairs above it cannot be compared",
        ),
        "threshold": (old.threshold == new.threshold, "decisions may differ although scores do not"),
    }
    for name, (is_shared, meaning) in shared.items():
        if not is_shared:
            yield Note("unlike", f"The two audits differ in their {name}: {meaning}.")
