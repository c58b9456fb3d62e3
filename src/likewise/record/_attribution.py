"""Why and for whom: gaps split over columns, people who are worse off by more than chance, and certificates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from likewise._format import count_of
from likewise.record._measures import Measure


@dataclass(frozen=True, slots=True)
class ColumnPart:
    """What a column adds to the gaps between comparable people."""

    column: str
    role: str  # in the rule; "not compared" where only the model looks at it
    n_pairs: int  # pairs in which the two people differ in it
    mean_part: float  # of the mean gap, negative where it narrows gaps; the parts of all columns add up to the mean gap
    mean_size: float  # the mean of its parts without their sign
    part: Measure | None = None  # the same part with its confidence interval, and its share; policies limit these
    part_share: Measure | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """What one column adds to a gap, or to a signed mean gap."""

    column: str
    value: float


@dataclass(frozen=True, slots=True)
class TransitionParts:
    """The parts of a signed mean gap between two combinations of sensitive values; they add up to it."""

    origin: tuple[Any, ...]
    target: tuple[Any, ...]
    n_pairs: int
    mean_gap: float
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Attribution:
    """How the model's arithmetic splits the gaps over the columns in which two people differ (Shapley values)."""

    n_pairs: int  # the pairs that were split
    n_sampled: int  # those that differ in more columns than are enumerated, so that their parts are estimates
    max_columns: int  # up to this many columns, all mixtures of the two people were scored
    n_orders: int  # beyond it, orders of the columns that were drawn
    n_scored: int  # rows that the model scored for it
    mean_gap: float  # of these pairs
    columns: tuple[ColumnPart, ...]  # largest part first
    transitions: tuple[TransitionParts, ...] = ()
    worst: tuple[tuple[Part, ...], ...] = ()  # the parts of the worst pairs, in their order
    seen: tuple[str, ...] = ()  # the columns that the model sees; the parts of all others are 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPerson:
    """A person who is scored lower than comparable people by more than equal people differ.

    Parameters
    ----------
    row : int
        Counted from 0.
    id : object
        The row identifier; the row without an identifier column.
    label : object
        None in regression and without labels.
    score : float
    n_partners : int
        Comparable people with other sensitive values.
    mean_difference : float
        The person's score minus that of the partners, on average; where low scores are favourable, the other way
        round, so that it is negative where the person is worse off. In units of the gaps.
    p_value : float
        How often equal people differ as much, by chance.
    p_adjusted : float
        The smallest false discovery rate at which the person is named.
    """

    row: int
    id: Any
    label: Any
    score: float
    n_partners: int
    mean_difference: float
    p_value: float
    p_adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRecord:
    """People who are scored lower than comparable people by more than equal people differ."""

    people: tuple[NamedPerson, ...]  # smallest p-value first
    false_discovery_rate: float  # the expected share of them who are not worse off is at most this
    dependence: Literal["positive", "any"]
    n_tested: int  # people with a comparable partner and four same-group pairs
    n_reference: int  # same-group pairs that share no person, from which it is known how much equal people differ
    least: float  # the smallest p-value that so many same-group pairs allow
    seed: int

    @property
    def headline(self) -> str:
        """How many are named, of how many, at what rate."""
        tested = count_of(self.n_tested, "person", "people")
        return f"{len(self.people):,} of {tested} named at a false discovery rate of {self.false_discovery_rate:g}"

    @property
    def reference(self) -> str:
        """What is known of how much equal people differ."""
        pairs = count_of(self.n_reference, "same-group pair")
        known = f"How much equal people differ is known from {pairs}; who is in fewer than four is not tested."
        if self.people or self.least * self.n_tested <= self.false_discovery_rate:
            return known
        return (
            f"{known} So few allow no p-value below {self.least:.2g}, which names nobody unless many are worse off. "
            "More people, or a wider rule, give more same-group pairs."
        )


@dataclass(frozen=True, slots=True)
class CertifiedLimit:
    """How many people are certified within a limit, and of how many a comparable row beyond it was found."""

    limit: float  # a gap, in units of the audit's gaps
    n_within: int
    n_beyond: int  # the others are undecided
    low: float  # interval for the share in the population; its low end counts undecided people as beyond the limit
    high: float


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """A column in which the worst comparable row differs from the person."""

    column: str
    person: Any
    comparable: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedPerson:
    """A person, and the worst comparable row that was found, whether somebody has it or not."""

    row: int  # counted from 0
    id: Any  # the row identifier; the row without an identifier column
    score: float
    comparable_score: float  # of the worst row
    gap: float  # the certificate: no comparable row is further away; in units of the audit's gaps, as the next
    reached: float  # the gap between the two scores
    is_exact: bool  # whether the two are equal, up to rounding
    plausibility: float | None  # the share of people whose values fit each other no better than the row's; if asked for
    changes: tuple[ChangedValue, ...]  # all in which the row differs from the person


@dataclass(frozen=True, slots=True, kw_only=True)
class PlausibilityRecord:
    """How plausible worst rows are, by the conditionals of a Gibbs generator."""

    generator: str  # its checksum
    least: float  # rows less plausible than this were not chosen as worst rows; 0 where all were
    n_without: int  # people of whom no row so plausible was found
    n_implausible: int  # people whose worst row fits no better than the values of the 5 % of people that fit least


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateRecord:
    """How far anybody comparable can be from each person, in the table or not."""

    method: Literal["linear", "trees"]  # what was looked into
    n_people: int
    n_exact: int  # people of whom the bound is reached
    n_alone: int  # people with whom nobody comparable is possible
    within_range: bool  # whether numbers stay within the range of training rows and table
    max_splits: int  # how often the neighbourhood of a person was split at most
    confidence: float  # of the intervals for shares in the population
    limits: tuple[CertifiedLimit, ...]
    edges: tuple[float, ...]  # people by the bound of their gap, in bins
    counts: tuple[int, ...]
    median: float  # of the bounds, as the next
    q95: float
    people: tuple[CertifiedPerson, ...]  # those of whom the largest gaps were reached, largest first
    fixed_columns: tuple[str, ...] = ()  # columns that the model sees and the rule does not compare: they stay
    refused_categories: Mapping[str, int]  # by column: categories that the model cannot score, which no row has
    plausibility: PlausibilityRecord | None = None
