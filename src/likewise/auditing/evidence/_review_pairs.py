"""The pairs to look at: everybody who is worse off at most once, beside their closest match.

The pairs with the largest gaps come first; of decisions all gaps are equal, and where there are more than asked for,
people are drawn at random. Where a control is named, pairs in which the target is worse off come before the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.evidence._cases import describe_pairs
from likewise.auditing.pairs._gaps import GAP_TOLERANCE, gap_between
from likewise.auditing.pairs._gather import Gathered
from likewise.auditing.pairs._meter import ScoredPeople
from likewise.auditing.pairs._selection import DIGITS, pair_keys
from likewise.auditing.question._question import Question
from likewise.comparable import Comparability
from likewise.record._internal import PairCase
from likewise.schema import CodedTable

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]
MOST_MATCHES: Final = 1 << 20  # pairs whose distances are looked at; drawn at random where there are more


@dataclass(frozen=True, slots=True, eq=False)
class WorsePairs:
    """Some pairs, with who is worse off first."""

    person: Rows
    comparator: Rows
    gaps: Floats
    leads: NDArray[np.bool_]  # whether they come before all others: the target is worse off

    def take(self, places: Rows) -> WorsePairs:
        """Return some of the pairs."""
        return WorsePairs(self.person[places], self.comparator[places], self.gaps[places], self.leads[places])


def find_candidates(question: Question, gathered: Gathered, n: int, seed: int) -> WorsePairs:
    """Choose up to ``n`` people who are worse off, and return the pairs with the largest gap of each."""
    pairs = _turn_pairs(question, *_pairs_of(gathered))
    pairs = pairs.take(np.flatnonzero(pairs.gaps > GAP_TOLERANCE))
    size = np.round(pairs.gaps, DIGITS)
    size += pairs.leads * (1 + size.max(initial=0.0))
    largest = np.zeros(len(question.table))
    np.maximum.at(largest, pairs.person, size)
    people = np.flatnonzero(largest)
    if len(people) > n:
        order = np.lexsort([pair_keys(people, people, seed), -largest[people]])
        people = people[order[:n]]
    is_chosen = np.zeros(len(largest), np.bool_)
    is_chosen[people] = True
    return pairs.take(np.flatnonzero(is_chosen[pairs.person] & (size == largest[pairs.person])))


def thin_out(candidates: WorsePairs, seed: int, most: int = MOST_MATCHES) -> WorsePairs:
    """Draw some of very many candidates, by turns one of each person."""
    keys = pair_keys(candidates.person, candidates.comparator, seed)
    order = np.lexsort([keys, candidates.person])
    starts = np.flatnonzero(np.diff(candidates.person[order], prepend=-1))
    turns = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return candidates.take(np.sort(order[np.argsort(turns, kind="stable")[:most]]))


def describe_worst(question: Question, candidates: WorsePairs) -> tuple[PairCase, ...]:
    """Return everybody's closest match among the candidates side by side, the largest gaps first."""
    people, sides = question.look_up(candidates.person, candidates.comparator)
    apart = measure_distance(people.table, question.rule, *sides)
    order = np.lexsort([candidates.comparator, apart, candidates.person])
    first = order[np.diff(candidates.person[order], prepend=-1) != 0]
    size = -np.round(candidates.gaps[first], DIGITS)
    chosen = first[np.lexsort([candidates.person[first], apart[first], size, ~candidates.leads[first]])]
    found = candidates.take(chosen)
    scored = ScoredPeople.of(question.table, question.scores, signed=False)
    rank_gaps = scored.measure(found.person, found.comparator).rank_gaps
    return describe_pairs(found.person, found.comparator, found.gaps, rank_gaps, question)


def measure_distance(table: CodedTable, rule: Comparability, left: Rows, right: Rows) -> Floats:
    """Return how far apart pairs are in the rule's columns.

    A discrete column that differs counts 1, and a number by its difference as a share of what the rule allows, or of
    the column's range where what it allows is relative to the value.
    """
    apart = np.zeros(len(left))
    for column in table.discrete.T:
        apart += column[left] != column[right]
    for kind, shifts in (("continuous", rule.continuous_shifts(table)), ("ordinal", rule.ordinal_shifts(table))):
        for column, allowed in zip(getattr(table, kind).T, shifts.tolist(), strict=True):
            differences = np.abs(column[left].astype(np.float64) - column[right])
            apart += differences / (allowed if allowed > 0 else 1.0)
    return np.round(apart, DIGITS)


def _pairs_of(gathered: Gathered) -> tuple[Rows, Rows]:
    """Return the pairs that were kept and, of others, everybody's with the largest gap."""
    left, right, sums = gathered.pairs.left, gathered.pairs.right, gathered.summary
    if sums is None:
        return left, right
    people = np.flatnonzero(sums.partner_of >= 0).astype(left.dtype)
    partners = sums.partner_of[people]
    both = np.minimum(people, partners), np.maximum(people, partners)
    return np.concatenate([left, both[0]]), np.concatenate([right, both[1]])


def _turn_pairs(question: Question, left: Rows, right: Rows) -> WorsePairs:
    """Put who is worse off first; of several scores each, the one in the earlier row."""
    scores, controls = question.scores, question.controls
    gaps = gap_between(scores.values[left], scores.values[right]) / scores.scale
    if scores.values.ndim > 1:
        return WorsePairs(left, right, gaps, np.zeros(len(left), np.bool_))
    is_right = scores.sign * (scores.values[right] - scores.values[left]) < 0
    person, comparator = np.where(is_right, right, left), np.where(is_right, left, right)
    leads = (controls[comparator] & ~controls[person]) != 0
    return WorsePairs(person, comparator, gaps, leads)
