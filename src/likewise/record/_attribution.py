"""Why and for whom: gaps split over columns, and people who are worse off by more than chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from likewise._format import count_of


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
    """

    column: str
    role: str
    n_pairs: int
    mean_part: float
    mean_size: float


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
