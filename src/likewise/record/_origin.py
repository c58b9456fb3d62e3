"""What an audit was made of: files, command and settings, and the plan sealed before scores were looked at."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

from likewise._checks import MOST_NESTED, nests_too_deeply
from likewise._json import plain
from likewise.record._form import LONGEST, FormError, read_as
from likewise.record._verdict import PolicyData

PLAN_FORMAT: Final = "likewise plan 1"
DECIDED: Final = ("positive", "threshold", "scale")  # settings that the command has, as they were asked for
READ_BY: Final = ("label", "features", "encoding", "delimiter", "decimal", "missing_values", "text")
ABSENT: Final = "(none)"
WEIGHTS: Final = "weights (SHA-256)"
Part = Literal["rule", "columns", "scores", "settings", "policy", "data", "versions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file of people, with its checksum where it can be read from here."""

    file: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOrigin:
    """The model file that scored the people, and the types its owner trusted."""

    file: str
    sha256: str | None = None
    trusted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRecord:
    """How the command line read and scored the table: what it takes, besides the record, to audit it again."""

    encoding: str
    delimiter: str | None
    decimal: str | None
    label: str | None
    scores: tuple[str, ...]
    features: tuple[str, ...]
    positive: Any
    threshold: float | None
    scale: float | None
    memory_limit: str | None = None
    missing_values: tuple[str, ...] = ()  # words of a CSV file, besides the usual ones
    text: Mapping[str, str] | None = None  # columns of a CSV file that were read as text, and why


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOrigin:
    """The audited people and scores: files, checksums, and where the scores come from."""

    file: str | None
    sha256: str | None
    n_rows: int
    table_checksum: str | None
    scores_checksum: str | None
    scores: str
    files: tuple[DataFile, ...] | None = None
    model: ModelOrigin | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; only the command line knows files and models."""
        found: dict[str, Any] = plain(self)
        return {name: found[name] for name in found if self.files is not None or name not in ("files", "model")}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsRecord:
    """The settings of an audit that its numbers depend on."""

    task: str | None = None
    favourable: Any = None
    reference: Mapping[str, tuple[Any, ...]] | None = None  # control values by sensitive column
    sample_weight: str | None = None  # the column of the weights, where they are in one
    cluster: str | None = None  # the column of the clusters, likewise
    gap_limit: float | None
    approval_rate: float | None = None
    baseline: bool = True
    n_resamples: int
    confidence: float
    seed: int
    max_pairs: int | None = None
    when_too_many: str | None = None
    n_worst: int | None = None
    confirmed: tuple[str, ...] = ()  # columns whose notes are no doubt
    intervals: str | None = None  # how they are computed


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsRecord:
    """The weights of an audit: where they come from, whom they leave out, and what the sample is worth by them."""

    origin: str
    checksum: str  # SHA-256 of the weights as given
    n_people: int  # with a weight above 0
    n_zero: int  # left out
    n_effective: float  # people of equal weight who would leave a mean as uncertain (Kish)
    n_effective_pairs: float
    n_effective_within: float | None = None  # same-group pairs


@dataclass(frozen=True, slots=True)
class Departure:
    """One thing that an audit did otherwise than planned; a value of None stands for nothing."""

    part: Part
    name: str
    planned: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.part}, {self.name}: planned {_show(self.planned)}, found {_show(self.found)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedData:
    """The people of a plan: their files, and a checksum of everything that is compared, which no score is part of."""

    files: tuple[DataFile, ...]
    n_rows: int
    table_checksum: str
    has_scores: bool  # whether the files held columns of scores already
    weights_checksum: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedPlan:
    """Rule, columns, settings, policy, data and versions of an audit to come, with a checksum of them all."""

    sealed_at: str
    likewise: str
    versions: Mapping[str, str]
    data: PlannedData
    model: ModelOrigin | None
    roles: Mapping[str, Any]
    rule: Mapping[str, Any]
    rule_in_words: str
    settings: SettingsRecord
    policy: PolicyData | None
    command: CommandRecord
    scores_used: Literal["no"] = "no"  # a plan is made before scores are looked at
    checksum: str = ""

    @classmethod
    def from_dict(cls, plan: Any) -> SealedPlan:
        """Read plain data; a FormError names what has the wrong form, or says that it was changed since."""
        if nests_too_deeply(plan):
            raise FormError(f"it nests more than {MOST_NESTED} levels deep")
        if not isinstance(plan, Mapping) or plan.get("format") != PLAN_FORMAT:
            known_as = str(plan.get("format"))[:40] if isinstance(plan, Mapping) else type(plan).__name__
            raise FormError(f"its format is {known_as!r}, not {PLAN_FORMAT!r}")
        unknown = sorted(set(map(str, plan)) - {"format", *(one.name for one in fields(cls))})
        if unknown:
            raise FormError(f"it has an unknown entry {unknown[0][:LONGEST]!r}")
        found = read_as(cls, plan)
        if not found.is_intact:
            raise FormError("it was changed after it was sealed: its checksum is wrong")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON, with the checksum."""
        found: dict[str, Any] = {"format": PLAN_FORMAT, **plain(self)}
        return found | {"checksum": self.compute_checksum()}

    @property
    def is_intact(self) -> bool:
        """Whether the checksum is that of the plan."""
        return self.checksum == self.compute_checksum()

    def compute_checksum(self) -> str:
        """SHA-256 of everything but itself."""
        known = {name: one for name, one in plain(self).items() if name != "checksum"}
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

    def find_departures(
        self,
        *,
        roles: Mapping[str, Any],
        rule: Mapping[str, Any],
        settings: SettingsRecord,
        policy: Mapping[str, Any] | None,
        command: CommandRecord,
        data: DataOrigin,
        versions: Mapping[str, str],
        weights: WeightsRecord | None = None,
    ) -> tuple[Departure, ...]:
        """List what an audit, of which the record has these parts, did otherwise than planned."""
        scores = {*self.command.scores, *command.scores}
        models = [None if one is None else one.sha256 for one in (self.model, data.model)]
        planned_versions = {"likewise": self.likewise, **self.versions}
        found = [
            *_compare("rule", self.rule, rule),
            *_compare("columns", _columns(self.roles, self.command, scores), _columns(roles, command, scores)),
            *_compare("scores", {"columns": self.command.scores}, {"columns": command.scores}),
            *_compare("scores", {"model (SHA-256)": models[0]}, {"model (SHA-256)": models[1]}),
            *_compare("settings", _settings(self.settings, self.command), _settings(settings, command)),
            *_compare("policy", self.policy or {}, policy or {}),
            *self._compare_data(data),
            *_compare("data", {WEIGHTS: self.data.weights_checksum}, {WEIGHTS: weights and weights.checksum}),
            *_compare("versions", planned_versions, {name: versions.get(name) for name in planned_versions}),
        ]
        return tuple(found)

    def _compare_data(self, data: DataOrigin) -> Iterator[Departure]:
        """Compare the people as coded; and the files where they held scores, which may have been changed since."""
        yield from _compare("data", {"rows": self.data.n_rows}, {"rows": data.n_rows})
        planned, found = ([one.sha256 for one in files] for files in (self.data.files, data.files or ()))
        if planned == found:  # then other columns or, on Spark, another order may give another checksum of the people
            return
        if data.table_checksum != self.data.table_checksum:
            yield Departure("data", "people as compared (SHA-256)", self.data.table_checksum, data.table_checksum)
        elif self.data.has_scores:
            yield Departure("data", "files (SHA-256), of the same people", planned, found)


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """The plan that an audit was made under, and where it departed from it."""

    sealed: SealedPlan
    departures: tuple[Departure, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; the plan is as its file has it."""
        return {"sealed": self.sealed.to_dict(), "departures": plain(self.departures)}


def _columns(roles: Mapping[str, Any], command: CommandRecord, scores: set[str]) -> dict[str, Any]:
    """Return what is asked of columns; those of scores are ignored whether a role says so or not."""
    known = dict(plain(roles))
    known["ignored"] = sorted(name for name in known.get("ignored") or () if name not in scores)
    read_by = {name: getattr(command, name) for name in READ_BY}
    return known | read_by


def _settings(settings: SettingsRecord, command: CommandRecord) -> dict[str, Any]:
    known = {one.name: getattr(settings, one.name) for one in fields(settings) if one.name != "intervals"}
    return known | {name: getattr(command, name) for name in DECIDED}


def _compare(part: Part, planned: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[Departure]:
    before, after = plain(planned), plain(found)
    for name in before | after:
        one, other = before.get(name), after.get(name)
        one, other = (None if value in ("", [], {}) else value for value in (one, other))
        is_text = isinstance(one, str) or isinstance(other, str)  # before it is read, a label is known as text only
        if one != other and not (is_text and str(one) == str(other)):
            yield Departure(part, name, one, other)


def _show(value: Any) -> str:
    if value is None:
        return ABSENT
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST + 20 else f"{text[: LONGEST + 20]}…"
