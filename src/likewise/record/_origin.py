"""What an audit was made from: files, model, settings, and how the command line read and scored the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from likewise._json import plain


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
    engine: str
    memory_limit: str | None = None
    schema: Mapping[str, Any] | None
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
    """The settings of an audit that its numbers depend on; records of older versions lack some."""

    task: str | None = None
    favourable: Any = None
    reference: Mapping[str, tuple[Any, ...]] | None = None  # control values by sensitive column
    sample_weight: str | None = None  # the column of the weights, where they are in one
    gap_limit: float | None
    approval_rate: float | None = None
    baseline: bool = True
    n_resamples: int
    confidence: float
    seed: int
    max_pairs: int | None = None
    when_too_many: str | None = None
    n_worst: int | None = None
    intervals: str | None = None  # how they are computed; None for the bootstrap over pairs of older versions


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
