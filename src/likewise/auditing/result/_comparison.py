"""Two audits, or their records, compared: what changed, and what the change is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing._settings import AuditSettings
from likewise.auditing.inference._intervals import (
    Interval,
    bound_change,
    interval_of_mean,
    subtract,
)
from likewise.auditing.inference._pair_measures import PairSet, link_people, measure_excess
from likewise.auditing.inference._rank_intervals import contribute_to_ranks
from likewise.auditing.pairs._meter import ScoredPairs
from likewise.auditing.pairs._summary import PairSummary
from likewise.auditing.people._bounds import bound_people, influence_by_label
from likewise.auditing.people._performance import (
    MEANS,
    LabelLedger,
    influence_on_mean,
    list_measures,
    open_ledger,
)
from likewise.auditing.question._question import Question
from likewise.auditing.result._notes import note_squeeze
from likewise.exceptions import ScoreError
from likewise.record import AuditRecord
from likewise.record._internal import Change, Comparison, Measure, Note, RecordError, key_of

UNSEEN: Final = 2.0  # people for whom two models may differ, and do not for those seen
FEW_CHANGED: Final = 10  # decisions: fewer say little about a difference of F1
BIASED: Final = ("calibration_error",)  # chance adds to it, and not as much for one model as for the other
Record = AuditRecord | Mapping[str, Any]
SQUEEZE_NEEDS: Final = frozenset(("gap_mean", "score_spread", "rank_gap_mean"))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AuditParts:
    """What an audit is made of; :class:`Audit` documents it."""

    record: AuditRecord
    question: Question
    settings: AuditSettings
    scored: ScoredPairs
    summary: PairSummary | None = None
    baseline: PairSet | None = None  # same-group pairs


def compare_audits(before: AuditParts, after: AuditParts) -> Comparison:
    """Compare two audits of the same people, scored by two models.

    Differences of ``gap_mean``, ``rank_gap_mean``, ``flip_rate`` and their excess, in all and by label, have an
    interval where both audits measured the same pairs, and those of ROC AUC, log loss, standard deviation and other
    measures of people always; an interval follows from what each person contributes to the difference. There is none
    for the calibration error, to which chance adds unlike amounts, nor for the share matched, impact ratio, quantiles,
    maxima and the baseline, nor where the second audit was made with ``n_resamples=0``.

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
    (-0.0472, True)
    """
    for name, one in (("before", before), ("after", after)):
        if not hasattr(one, "record"):
            raise ScoreError(f"{name} is a {type(one).__name__}. Give two audits: what audit() returns.")
    old, new = before.record, after.record
    if (old.data.table_checksum, old.data.n_rows) != (new.data.table_checksum, new.data.n_rows):
        raise ScoreError("The two audits are of different people or labels. Audit both models on the same table.")
    for name in list_differences(old, new):
        if name != "threshold":
            raise ScoreError(f"The two audits differ in their {name}. Give both the same.")
    shared = [name for name in new.measures if name in old.measures]
    changes = {name: change_between(old.measures[name], new.measures[name]) for name in shared}
    for name, difference in (_paired_differences(before, after) | people_differences(before, after)).items():
        if name in changes:
            changes[name] = Change(old.measures[name], new.measures[name], difference)
    squeezed = note_squeeze(old.measures, new.measures)
    unlike = [
        note for note in note_unlike(old, new) if not _is_by_rate(old, new)
    ]  # all but thresholds are refused above
    few = [note for note in (*new.notes, *old.notes) if note.kind == "few_pairs"]
    return Comparison(changes, tuple(dict.fromkeys([*unlike, *([squeezed] if squeezed else []), *few])))


def _is_by_rate(old: AuditRecord, new: AuditRecord) -> bool:
    """Return whether both approve the same share, by thresholds that follow from it."""
    rate = old.settings.approval_rate
    return rate is not None and rate == new.settings.approval_rate


def change_between(before: Measure, after: Measure) -> Change:
    """Return a change whose difference has no interval."""
    known = before.value is not None and after.value is not None
    return Change(before, after, Measure(after.value - before.value if known else None, n=after.n))  # type: ignore[operator]  # both are known


def _paired_differences(before: AuditParts, after: AuditParts) -> dict[str, Measure]:
    """Bound the differences of the single pairs: most of what is uncertain about the two means is the same."""
    one, other, settings = before.scored, after.scored, after.settings
    if not _are_same(one, other) or not settings.n_resamples:
        return {}
    slices: list[tuple[Any, int | None]] = [(None, None)]
    if after.question.scores.has_labels:
        slices += [(label, code) for code, label in enumerate(after.question.table.classes.tolist())]
    found = _excess_differences(before, after, slices)
    for label, code in slices:
        chosen = slice(None) if code is None else np.flatnonzero(other.labels == code)
        for name, measure in _slice_differences(one, other, chosen, settings.confidence).items():
            key = key_of(name, label)
            found[key] = measure if after.summary is None else _moved(measure, before, after, key)
    return found


def _excess_differences(
    before: AuditParts, after: AuditParts, slices: Sequence[tuple[Any, int | None]]
) -> dict[str, Measure]:
    """Bound the differences of the excess, where both audits measured the same same-group pairs."""
    old, new = before.baseline, after.baseline
    if old is None or new is None or not _are_same(old[0], new[0]):
        return {}
    sides = [((one.scored, one.summary), beside) for one, beside in ((after, new), (before, old))]
    found = measure_excess(sides[0], after.settings, sides[1])
    return {key_of(name, label): one for label, code in slices for name, one in found.get(code, {}).items()}


def _are_same(one: ScoredPairs, other: ScoredPairs) -> bool:
    return np.array_equal(one.pairs.left, other.pairs.left) and np.array_equal(one.pairs.right, other.pairs.right)


def _slice_differences(
    one: ScoredPairs, other: ScoredPairs, chosen: slice | NDArray[np.intp], confidence: float
) -> dict[str, Measure]:
    """Bound the differences between two models over some of the pairs."""
    rows = one.pairs.left[chosen], one.pairs.right[chosen]
    if not len(rows[0]):
        return {}
    people = other.scores
    graph = link_people(*rows, one.pairs.left_table, people)
    gaps, rank_gaps = other.gaps[chosen] - one.gaps[chosen], other.rank_gaps[chosen] - one.rank_gaps[chosen]
    after, before = (
        contribute_to_ranks(*rows, of.ranks, graph.weights, people.weighing, of.ranking) for of in (other, one)
    )
    of_ranks = people.units.add_up(after - before)
    unseen = max(one.unseen, other.unseen)
    found = {}
    for name, values, others, away in (
        ("gap_mean", gaps, None, unseen),
        ("rank_gap_mean", rank_gaps, of_ranks, min(unseen, 1.0)),
    ):
        mean, known = graph.mean(values), graph.influence(values, others)
        found[name] = _measure(mean, interval_of_mean(mean, known, confidence, -np.inf, np.inf, away), len(values))
    if one.flips is not None and other.flips is not None:
        old, new = one.flips[chosen], other.flips[chosen]
        interval = bound_change(new & ~old, old & ~new, graph, confidence)
        found["flip_rate"] = _measure(graph.mean(new) - graph.mean(old), interval, len(new))
    return found


def _measure(value: float, interval: Interval | None, n: int) -> Measure:
    low, high = interval or (None, None)
    return Measure(value, low, high, n)


def _moved(sampled: Measure, before: AuditParts, after: AuditParts, name: str) -> Measure:
    """Return the difference over all pairs with the interval of the sample."""
    exact = change_between(before.record.measures[name], after.record.measures[name]).difference
    if exact.value is None or sampled.value is None or sampled.low is None or sampled.high is None:
        return exact
    moved = exact.value - sampled.value
    return Measure(exact.value, sampled.low + moved, sampled.high + moved, exact.n)


def people_differences(before: AuditParts, after: AuditParts) -> dict[str, Measure]:
    """Compare measures of people, by what each contributes to the difference between the two models."""
    settings, asked, n_people = after.settings, after.question, after.question.scores.n_people
    if not settings.n_resamples or n_people < 2:
        return {}
    models = _Models(before, after)
    found = {}
    for name in list_measures(asked.scores, asked.outcomes):
        old, new = before.record.measures.get(name), after.record.measures.get(name)
        if name in BIASED or old is None or new is None or old.value is None or new.value is None:
            continue
        found[name] = _measure(new.value - old.value, models.bound(name, old, new, settings.confidence), new.n)
    return found


class _Models:
    """Two models of the same people, and what each person adds to their measures."""

    def __init__(self, before: AuditParts, after: AuditParts) -> None:
        self._asked = before.question, after.question
        self._ledgers = [open_ledger(one.scores, one.table, one.outcomes) for one in self._asked]

    def bound(self, name: str, old: Measure, new: Measure, confidence: float) -> Interval | None:
        """Bound the change of a measure; None where too little is known of it."""
        value = new.value - old.value  # type: ignore[operator]  # both are known
        scores, (was, now) = self._asked[1].scores, self._ledgers
        if name in MEANS:
            before, after = (
                influence_on_mean(name, one.scores, ledger)
                for one, ledger in zip(self._asked, self._ledgers, strict=True)
            )
            return interval_of_mean(value, after.minus(before), confidence, -np.inf, np.inf)
        if name in ("accuracy", "balanced_accuracy"):
            return self._bound_decided(name, confidence)
        labels = now.labels if isinstance(now, LabelLedger) else np.zeros(len(scores), np.int64)
        before, after = (
            influence_by_label(one.moves(name), labels, scores.weighing, scores.units)
            for one in (was, now)
            if one is not None
        )
        known = after.minus(before)
        if old.low is None or new.low is None:
            return None
        if known.error and (name != "f1" or self._n_changed >= FEW_CHANGED):
            return interval_of_mean(value, known, confidence, -np.inf, np.inf)
        # models that hardly differ show nothing of how they could
        together = before.correlation(after) * known.n / (known.n + UNSEEN)
        return subtract(new.value, (new.low, new.high), old.value, (old.low, old.high), together)  # type: ignore[arg-type]  # known

    @property
    def _n_changed(self) -> float:
        """For how many people one model is correct and the other is not; effectively, where they are weighted."""
        old, new = (one.is_right for one in self._ledgers if isinstance(one, LabelLedger))
        return self._asked[1].scores.weighing.take(old != new).effective

    def _bound_decided(self, name: str, confidence: float) -> Interval:
        """Bound the change of a share of correct decisions, or of its mean over labels, by what rose and what fell."""
        was, now = self._ledgers
        assert isinstance(was, LabelLedger)
        assert isinstance(now, LabelLedger)  # as shares of correct decisions have
        weights, units = now.weights, self._asked[1].scores.units
        parts = [np.arange(len(now.labels))]
        if name == "balanced_accuracy":
            parts = [np.flatnonzero(now.labels == label) for label in np.flatnonzero(weights.counts(now.labels))]
        values, reaches = [], []
        for part in parts:
            old, new, who = was.is_right[part], now.is_right[part], (weights.take(part), units.of_some(part))
            rises, falls = new & ~old, old & ~new
            up, down = (who[0].mean(one) for one in (rises, falls))
            bounds = [bound_people(one, confidence, *who) for one in (rises, falls)]
            together = -math.sqrt(up * down / max((1 - up) * (1 - down), 1e-12))
            low, high = subtract(up, bounds[0], down, bounds[1], max(together, -1.0))
            values.append(up - down)
            reaches.append((up - down - low, high - (up - down)))
        value = float(np.mean(values))
        below, above = (math.hypot(*ends) / len(parts) for ends in zip(*reaches, strict=True))
        return value - below, value + above


def read_record(record: Record, which: str) -> AuditRecord:
    """Return a typed record; the error says which one is none."""
    if isinstance(record, AuditRecord):
        return record
    try:
        return AuditRecord.from_dict(record)
    except RecordError as error:
        raise ScoreError(
            f"The record {which} is not that of an audit: {error.fault}. Give what Audit.to_dict() returns."
        ) from error


def note_unlike(old: AuditRecord, new: AuditRecord) -> Iterator[Note]:
    """Note what keeps the two from being compared number by number."""
    if (old.data.table_checksum, old.data.n_rows) != (new.data.table_checksum, new.data.n_rows):
        yield Note(
            "unlike",
            "The two audits are of different people or labels: what changed may be the people, and not how they are "
            "scored.",
        )
    for name, meaning in list_differences(old, new).items():
        yield Note("unlike", f"The two audits differ in their {name}: {meaning}.")


def list_differences(old: AuditRecord, new: AuditRecord) -> dict[str, str]:
    """List what two audits should have in common and do not, and what that means; the people may be others."""
    are_same_people = old.data.table_checksum == new.data.table_checksum
    are_alike = old.is_weighted == new.is_weighted and (
        not are_same_people or old.weights_checksum == new.weights_checksum  # of other people, weights are others
    )
    shared = {
        "task": (old.task == new.task, "their numbers are about different things"),
        "sensitive columns": (sorted(old.sensitive) == sorted(new.sensitive), "they compare different groups"),
        "compared columns": (_compared(old) == _compared(new), "they are about different pairs"),
        "label column": (old.roles.get("label") == new.roles.get("label"), "they are about different outcomes"),
        "reference": (
            old.settings.reference == new.settings.reference,
            "signed gaps and impact ratios are measured from other groups",
        ),
        "positive label": (old.positive == new.positive, "positive and negative mean different people"),
        "favourable outcome": (old.favours_low == new.favours_low, "signed gaps and approvals have opposite meanings"),
        "labels": (old.has_labels == new.has_labels, "the pairs of one share an outcome, those of the other need not"),
        "rule": (old.rule == new.rule, "they are about different pairs"),
        "scale": (old.scale == new.scale, "their gaps are in different units"),
        "gap limit": (
            old.settings.gap_limit == new.settings.gap_limit,
            "the shares of pairs above it cannot be compared",
        ),
        "clusters": (
            old.settings.cluster == new.settings.cluster,
            "their intervals take different people as independent",
        ),
        "sample weights": (are_alike, "people count differently"),
        "threshold": (old.threshold == new.threshold, "decisions may differ although scores do not"),
    }
    return {name: meaning for name, (is_shared, meaning) in shared.items() if not is_shared}


def _compared(record: AuditRecord) -> dict[str, list[str]]:
    kinds = ("discrete", "ordinal", "matched", "continuous")
    return {kind: sorted(map(str, record.roles.get(kind) or ())) for kind in kinds}
