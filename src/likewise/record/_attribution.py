"""Why and for whom: gaps split over columns, people who are worse off by more than chance, and certificates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from likewise._format import count_of
from likewise.record._measures import Measure


@dataclass(frozen=True, slots=True)
class ColumnPart:
    """What a column adds to the gaps between comparable people.

    Parameters
    ----------
    column : str
    role : {"sensitive", "discrete", "ordinal", "matched", "continuous", "not compared"}
        What the rule makes of it; "not compared" where only the model looks at it.
    n_pairs : int
        Pairs in which the two people differ in it.
    mean_part : float
        What it adds to the mean gap; negative where it narrows gaps. The parts of all columns add up to the mean gap.
    mean_size : float
        The mean of its parts without their sign.
    part, part_share : Measure
        The same part of the mean gap, and its share of it, with confidence intervals; without them where the audit has
        none. Policies limit these.
    """

    column: str
    role: str
    n_pairs: int
    mean_part: float
    mean_size: float
    part: Measure | None = None
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
class Region:
    """People with certain values: the mean gap of pairs of them.

    Parameters
    ----------
    columns : tuple of str
        One or two of the compared columns.
    values : tuple of str
        A value, or a range of values, in each of them.
    n_pairs : int
        Pairs of which both people have these values.
    mean_gap : float
    n_apart : int
        Pairs in the test, drawn so that nobody is in two of them.
    p_adjusted : float
        Of a permutation test: how probable so large a mean gap is in any of the regions that were scanned, if gaps had
        nothing to do with them.
    """

    columns: tuple[str, ...]
    values: tuple[str, ...]
    n_pairs: int
    mean_gap: float
    n_apart: int
    p_adjusted: float

    def __str__(self) -> str:
        return ", ".join(f"{column} {value}" for column, value in zip(self.columns, self.values, strict=True))


@dataclass(frozen=True, slots=True)
class Attribution:
    """How the model's arithmetic splits the gaps over the columns in which two people differ (Shapley values).

    Parameters
    ----------
    n_pairs : int
        The pairs that were split.
    n_sampled : int
        Those of them that differ in more columns than are enumerated, so that their parts are estimates.
    max_columns : int
        Up to this many columns, all mixtures of the two people were scored.
    n_orders : int
        Beyond it, orders of the columns that were drawn.
    n_scored : int
        Rows that the model scored for it.
    mean_gap : float
        Of these pairs.
    columns : tuple of ColumnPart
        Largest part first.
    transitions : tuple of TransitionParts
    regions : tuple of Region
        Where the gap is largest; smallest p-value first.
    n_regions : int
        How many were scanned.
    worst : tuple of tuple of Part
        The parts of the worst pairs, in their order.
    seen : tuple of str
        The columns that the model sees; the parts of all others are 0.
    """

    n_pairs: int
    n_sampled: int
    max_columns: int
    n_orders: int
    n_scored: int
    mean_gap: float
    columns: tuple[ColumnPart, ...]
    transitions: tuple[TransitionParts, ...] = ()
    regions: tuple[Region, ...] = ()
    n_regions: int = 0
    worst: tuple[tuple[Part, ...], ...] = ()
    seen: tuple[str, ...] = ()


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
    """People who are scored lower than comparable people by more than equal people differ.

    Parameters
    ----------
    people : tuple of NamedPerson
        Smallest p-value first.
    false_discovery_rate : float
        The expected share of them who are not worse off is at most this.
    dependence : {"positive", "any"}
    n_tested : int
        How many matched people were tested.
    n_reference : int
        Same-group pairs that share no person: how much equal people differ is known from these.
    least : float
        The smallest p-value that so many same-group pairs allow.
    seed : int
    """

    people: tuple[NamedPerson, ...]
    false_discovery_rate: float
    dependence: Literal["positive", "any"]
    n_tested: int
    n_reference: int
    least: float
    seed: int

    @property
    def headline(self) -> str:
        """How many are named, of how many, at what rate."""
        tested = count_of(self.n_tested, "matched person", "matched people")
        return f"{len(self.people):,} of {tested} named at a false discovery rate of {self.false_discovery_rate:g}"

    @property
    def reference(self) -> str:
        """What is known of how much equal people differ."""
        known = f"How much equal people differ is known from {count_of(self.n_reference, 'same-group pair')}."
        if self.people or self.least * self.n_tested <= self.false_discovery_rate:
            return known
        return (
            f"{known} So few allow no p-value below {self.least:.2g}, which names nobody unless many are worse off. "
            "More people, or a wider rule, give more same-group pairs."
        )


@dataclass(frozen=True, slots=True)
class CertifiedLimit:
    """How many people are certified within a limit, and of how many a comparable row beyond it was found.

    Parameters
    ----------
    limit : float
        A gap, in units of the audit's gaps.
    n_within, n_beyond : int
        The others are undecided.
    low, high : float
        Interval for the share in the population: its low end counts undecided people as beyond the limit.
    """

    limit: float
    n_within: int
    n_beyond: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """A column in which the worst comparable row differs from the person."""

    column: str
    person: Any
    comparable: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedPerson:
    """A person, and the worst comparable row that was found, whether somebody has it or not.

    Parameters
    ----------
    row : int
        Counted from 0.
    id : object
        The row identifier; the row without an identifier column.
    score, comparable_score : float
        The model's score of the person, and of the row.
    gap : float
        The certificate: no comparable row is further away. In units of the audit's gaps, as the next.
    reached : float
        The gap between the two scores.
    is_exact : bool
        Whether the two are equal, up to rounding.
    plausibility : float or None
        The share of people whose own values fit each other no better than those of the row; None where not asked for.
    changes : tuple of ChangedValue
        All in which the row differs from the person.
    """

    row: int
    id: Any
    score: float
    comparable_score: float
    gap: float
    reached: float
    is_exact: bool
    plausibility: float | None
    changes: tuple[ChangedValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlausibilityRecord:
    """How plausible worst rows are, by the conditionals of a Gibbs generator.

    Parameters
    ----------
    generator : str
        Checksum of the generator.
    least : float
        Rows less plausible than this were not chosen as worst rows; 0 where all were.
    n_without : int
        People of whom no row so plausible was found.
    n_implausible : int
        People whose worst row fits no better than the values of the 5 % of people that fit least.
    """

    generator: str
    least: float
    n_without: int
    n_implausible: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateRecord:
    """How far anybody comparable can be from each person, in the table or not.

    Parameters
    ----------
    method : {"linear", "trees", "network"}
        What was looked into.
    n_people, n_exact, n_alone : int
        How many people; of how many the bound is reached; of how many nobody comparable is possible.
    within_range : bool
        Whether numbers stay within the range of training rows and table.
    max_splits : int
        How often the neighbourhood of a person was split at most.
    confidence : float
        Of the intervals for shares in the population.
    limits : tuple of CertifiedLimit
    edges, counts : tuple
        People by the bound of their gap, in bins.
    median, q95 : float
        Of the bounds.
    people : tuple of CertifiedPerson
        Those of whom the largest gaps were reached, largest first.
    fixed_columns : tuple of str
        Columns that the model sees and the rule does not compare: they stay as they are.
    refused_categories : mapping of column name to number
        Categories that the model cannot score, which no comparable row has.
    plausibility : PlausibilityRecord, optional
    """

    method: Literal["linear", "trees", "network"]
    n_people: int
    n_exact: int
    n_alone: int
    within_range: bool
    max_splits: int
    confidence: float
    limits: tuple[CertifiedLimit, ...]
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    median: float
    q95: float
    people: tuple[CertifiedPerson, ...]
    fixed_columns: tuple[str, ...] = ()
    refused_categories: Mapping[str, int]
    plausibility: PlausibilityRecord | None = None
