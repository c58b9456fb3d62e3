"""The record of an audit: typed, plain, all that reports, terminal, verify and model cards read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Literal

from likewise._checks import MOST_NESTED, nests_too_deeply
from likewise._format import describe_direction
from likewise._json import plain
from likewise.exceptions import LikewiseError
from likewise.record._attribution import Attribution, CertificateRecord, NamedRecord
from likewise.record._changes import conclude_excess
from likewise.record._effects import GroupEffect
from likewise.record._evidence import ColumnDirections, Coverage, Direction, GroupRate, PairCase
from likewise.record._form import LONGEST, FormError, read_as
from likewise.record._kinds import MEASURES, name_part, split_key
from likewise.record._measures import (
    CalibrationBin,
    GapDistribution,
    Measure,
    PersonGaps,
    ScoreDistribution,
)
from likewise.record._origin import CommandRecord, DataOrigin, PlanRecord, SealedPlan, SettingsRecord, WeightsRecord
from likewise.record._reviews import Review, ReviewSummary, pair_key, sum_up_reviews
from likewise.record._verdict import Note, PolicyData, Verdict

FORMAT: Final = "likewise audit 2"
LARGEST_GAP: Final = 1e150  # of any audit: larger scores are refused
WITH_ROLES: Final = ("sensitive", "discrete", "ordinal", "must_match", "matched", "continuous", "ignored")


class RecordError(LikewiseError, ValueError):
    """Plain data is not the record of an audit; ``fault`` names the value that has the wrong form."""

    def __init__(self, fault: str) -> None:
        super().__init__(f"This is not the record of an audit: {fault}. Give what Audit.to_dict() returns.")
        self.fault = fault


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTotals:
    """How many pairs there are, were measured, and were kept for intervals; ``within`` for the same-group pairs."""

    measured: Literal["all", "sample"] = "all"
    n_probed: int | None = None
    n: int
    n_total: int
    n_kept: int | None = None
    n_total_error: float | None = None
    n_within: int | None
    n_within_total: int | None
    n_within_kept: int | None = None
    n_within_total_error: float | None = None

    @property
    def is_sample(self) -> bool:
        """Whether only a sample of the pairs was measured."""
        return self.measured == "sample" or self.n < self.n_total


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTerms:
    """The parts of a comparability rule that tables of pairs quote."""

    max_discrete_changes: int = 0
    sensitive_differs: str = "any"
    must_match: tuple[str, ...] | None = ()


@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """Everything an audit found, as an audit.json holds it: plain typed data, without the people.

    The fields have the names of the JSON. :meth:`likewise.Audit.to_record` makes it, :meth:`from_dict` reads it, and
    :mod:`likewise.report` turns it into pages.

    Examples
    --------
    >>> from likewise import audit, load_dataset
    >>> from likewise.record import AuditRecord
    >>> data = load_dataset("planted")
    >>> found = audit(data.scores, data.test.X, data.test.y, roles=data.roles, rule=data.rule)
    >>> record = AuditRecord.from_dict(found.to_dict())
    >>> record.pairs.n, record.worst_pairs[0].gap == found.worst[0].gap
    (134, True)
    """

    likewise: str
    made_at: str | None
    data: DataOrigin
    roles: Mapping[str, Any]
    rule: Mapping[str, Any]
    rule_in_words: str
    task: Literal["binary", "multiclass", "regression"]
    positive: Any
    labels: tuple[Any, ...]
    threshold: float | None
    favours_low: bool = False  # whether low scores are favourable
    scale: float | None = None
    settings: SettingsRecord
    versions: Mapping[str, str]
    pairs: PairTotals
    is_collapsed: bool = False
    measures: Mapping[str, Measure]
    directions: tuple[Direction, ...]
    coverage: tuple[Coverage, ...]
    groups: tuple[GroupRate, ...]
    fairlearn: Mapping[str, float | None]
    distributions: GapDistribution
    person_gaps: PersonGaps
    calibration: tuple[CalibrationBin, ...]
    score_distribution: ScoreDistribution | None
    worst_pairs: tuple[PairCase, ...]
    notes: tuple[Note, ...]
    verdict: Verdict | None
    column_directions: tuple[ColumnDirections, ...] = ()  # where several columns are sensitive
    regression: tuple[GroupEffect, ...] = ()  # beside the pairs
    weights: WeightsRecord | None = None  # where people are weighted
    command: CommandRecord | None = None
    plan: PlanRecord | None = None
    attribution: Attribution | None = None  # ``likewise audit --attribute`` adds it
    named: NamedRecord | None = None  # ``likewise audit --name-people`` adds it
    certificates: CertificateRecord | None = None  # ``likewise audit --certify`` adds it
    reviews: tuple[Review, ...] = ()  # of the worst pairs; ``likewise review merge`` adds them

    @classmethod
    def of(cls, record: AuditRecord | Mapping[str, Any]) -> AuditRecord:
        """Return a record that can be shown: with plain values only, and parts that fit each other."""
        if isinstance(record, AuditRecord):
            return record._shown
        found = cls.from_dict(record)
        try:
            found.check_parts()
        except FormError as error:
            raise RecordError(str(error)) from None
        found.__dict__["_shown"] = found
        return found

    @property
    def direction(self) -> str:
        """Who is approved, or which scores are better; "" where there is a score for each of several labels."""
        return "" if self.task == "multiclass" else describe_direction(self.threshold, self.favours_low)

    @cached_property
    def _shown(self) -> AuditRecord:
        """The record in plain values, read once for all pages that show it."""
        return AuditRecord.of(self.to_dict())

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> AuditRecord:
        """Read plain data; a ValueError names the value that has the wrong form."""
        if nests_too_deeply(record):
            raise RecordError(f"it nests more than {MOST_NESTED} levels deep")
        if not isinstance(record, Mapping) or record.get("format") != FORMAT:
            known_as = str(record.get("format"))[:40] if isinstance(record, Mapping) else type(record).__name__
            raise RecordError(f"its format is {known_as!r}, not {FORMAT!r}")
        try:
            return read_as(cls, {**record, "notes": _read_notes(record)})
        except FormError as error:
            raise RecordError(str(error)) from None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON; what :meth:`from_dict` reads."""
        record: dict[str, Any] = {"format": FORMAT, **{one.name: getattr(self, one.name) for one in fields(self)}}
        record |= {
            "data": self.data.to_dict(),
            "distributions": self.distributions.to_dict(),
            "notes": [note.text for note in self.notes],
            "verdict": None if self.verdict is None else self.verdict.to_dict(),
        }
        apart = (
            "column_directions",
            "regression",
            "weights",
            "command",
            "plan",
            "attribution",
            "named",
            "certificates",
            "reviews",
        )
        last = {name: record.pop(name) for name in apart}
        last["plan"] = None if self.plan is None else self.plan.to_dict()
        record["note_kinds"] = [note.kind for note in self.notes]
        found: dict[str, Any] = plain(record | {name: one for name, one in last.items() if one})
        return found

    def under(self, plan: SealedPlan) -> AuditRecord:
        """Return the record of an audit made under a plan, with the departures from it."""
        if self.command is None:
            raise RecordError("it does not say how its table was read and scored")
        departures = plan.find_departures(
            roles=self.roles,
            rule=self.rule,
            settings=self.settings,
            policy=self.policy,
            command=self.command,
            data=self.data,
            versions={"likewise": self.likewise, **self.versions},
            weights=self.weights,
        )
        return replace(self, plan=PlanRecord(plan, departures))

    @cached_property
    def sensitive(self) -> tuple[str, ...]:
        """The names of the sensitive columns."""
        return read_as(tuple[str, ...], self.roles.get("sensitive", ()), "roles.sensitive")

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns that have a role, and those that the model sees."""
        named: list[str] = []
        for role, names in self.roles.items():
            if role in WITH_ROLES:
                named += [names] if isinstance(names, str) else list(names or ())
        return tuple(dict.fromkeys([*named, *(() if self.attribution is None else self.attribution.seen)]))

    @cached_property
    def terms(self) -> RuleTerms:
        """The rule, as far as tables of pairs quote it."""
        return read_as(RuleTerms, self.rule, "rule")

    @property
    def label_name(self) -> str:
        """The name of the label column."""
        named = None if self.command is None else self.command.label
        return named or str(self.roles.get("label") or "label")

    def measures_of(self, label: Any = None) -> dict[str, Measure]:
        """Return the measures of pairs with a label, by name; without one, those of all pairs and of people."""
        wanted = None if label is None else name_part(label)
        known = [(*split_key(key), measure) for key, measure in self.measures.items()]
        return {name: measure for name, part, measure in known if part == wanted}

    @property
    def has_labels(self) -> bool:
        """Whether the two people of a pair share a label: not in a regression, nor where nobody has one."""
        return bool(self.labels)

    @property
    def in_points(self) -> bool:
        """Whether gaps are between probabilities, in percentage points; between amounts they are shares of a scale."""
        return self.task != "regression"

    @property
    def policy(self) -> PolicyData | None:
        """The policy that the audit was judged by, as ``Policy.to_dict`` has it."""
        return None if self.verdict is None else self.verdict.policy

    @property
    def conclusions(self) -> tuple[str, ...]:
        """What the excess comes to, in sentences; none where same-group pairs were not measured."""
        n_people = self.data.n_rows if self.weights is None else self.weights.n_people
        return conclude_excess(self.measures, n_people, points=self.in_points)

    @property
    def is_weighted(self) -> bool:
        """Whether people count by weights."""
        return self.weights is not None

    @property
    def weights_checksum(self) -> str | None:
        """The checksum of the weights; None without weights."""
        return None if self.weights is None else self.weights.checksum

    @property
    def has_row_ids(self) -> bool:
        """Whether people have identifiers of their own."""
        return self.roles.get("row_id") is not None

    @cached_property
    def pair_keys(self) -> tuple[str, ...]:
        """A key for each of the worst pairs, which changes with anything in it."""
        shown = self._shown  # the same before it is written and after
        audit = shown.data.table_checksum, shown.data.scores_checksum, shown.rule
        return tuple(pair_key(case, *audit) for case in shown.worst_pairs)

    @cached_property
    def review_summary(self) -> ReviewSummary:
        """What the reviews of the worst pairs come to."""
        return sum_up_reviews(self.reviews, len(self.worst_pairs))

    @property
    def collapse(self) -> Note | None:
        """The note that everybody is scored nearly alike, where that is so."""
        return next((note for note in self.notes if note.kind == "collapsed"), None)

    def check_parts(self) -> None:
        """Refuse parts that do not fit each other, such as more bars than bins."""
        _ = self.sensitive, self.terms
        histograms = {"distributions": (self.distributions.edges, self.distributions.counts())}
        histograms["person_gaps"] = self.person_gaps.edges, (self.person_gaps.counts,)
        if self.score_distribution is not None:
            slices = tuple(one.counts for one in self.score_distribution.slices)
            histograms["score_distribution"] = self.score_distribution.edges, slices
        if self.certificates is not None:
            histograms["certificates"] = self.certificates.edges, (self.certificates.counts,)
        for name, (edges, counted) in histograms.items():
            if len(edges) < 2 or any(high <= low or not math.isfinite(high - low) for low, high in pairwise(edges)):
                raise FormError(f"{name}.edges are not ascending numbers")
            if any(len(counts) != len(edges) - 1 for counts in counted):
                raise FormError(f"{name} does not have one count for each of {len(edges) - 1:,} bins")
        for name, groups in (("coverage", self.coverage), ("groups", self.groups)):
            if any(len(one.columns) != len(one.values) for one in groups):
                raise FormError(f"{name} does not have one value for each column")
        if any(not 1 <= one.pair <= len(self.worst_pairs) for one in self.reviews):
            raise FormError(f"reviews has a pair that is none of {len(self.worst_pairs):,}")
        if not all(one.n for one in self.calibration):
            raise FormError("calibration has a bin without people")
        named = [*self.measures, *(() if self.verdict is None else (one.of for one in self.verdict.checks))]
        if unknown := [key for key in named if split_key(key)[0] not in MEASURES]:
            raise FormError(f"measures has {unknown[0][:LONGEST]!r}, which is no measure")
        by_column = {"column_directions": [one for part in self.column_directions for one in part.directions]}
        for name, directions in {"directions": self.directions, **by_column}.items():
            if any(isinstance(value, list | dict) for one in directions for value in (*one.origin, *one.target)):
                raise FormError(f"{name} has a sensitive value that is a list")
            gaps = [
                end
                for one in directions
                for end in (one.mean_gap, one.low, one.high, one.adjusted_gap, one.adjusted_low, one.adjusted_high)
            ]
            if not all(abs(end or 0) < LARGEST_GAP for end in gaps):
                raise FormError(f"{name} has an infinite or absurd gap")


def _read_notes(record: Mapping[str, Any]) -> list[dict[str, str]]:
    """Join the texts of notes with their kinds."""
    texts, kinds = (read_as(tuple[str, ...], record.get(name, ()), name) for name in ("notes", "note_kinds"))
    if len(kinds) != len(texts):
        raise FormError(f"note_kinds has {len(kinds):,} entries for {len(texts):,} notes")
    return [{"kind": kind, "text": text} for kind, text in zip(kinds, texts, strict=True)]
