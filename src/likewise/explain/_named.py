"""Who is scored lower than comparable people by more than equal people differ, with a bounded share of false names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from likewise._checks import check_choice, check_count, is_number
from likewise._format import line_up
from likewise.auditing import Audit
from likewise.auditing._internal import choose_ids, match_apart
from likewise.comparable import Comparability, mine_pairs
from likewise.exceptions import ParameterError, RuleError, ScoreError
from likewise.record._internal import NamedPerson, NamedRecord

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Dependence = Literal["positive", "any"]
TIE: Final = 1e-12  # differences this near are equal
MOST_PAIRS: Final = 5_000_000  # same-group pairs looked at
FEWEST_OWN: Final = 4  # same-group pairs of a person's own: of fewer, chance around that person is not known
SHOWN: Final = 10


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class NamedPeople:
    """People who are scored lower than comparable people by more than equal people differ.

    :func:`name_people` finds them.

    Parameters
    ----------
    audit : Audit
        The audit with these people in its record, so that reports show them.
    p_values : array of float, shape (n_people,)
        Of everybody; NaN for people without a comparable partner, or with fewer than four same-group pairs.

    Attributes
    ----------
    summary : NamedRecord
        Who is named, and at what rate.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from likewise import Comparability, Roles, audit, name_people
    >>> branch, group = np.repeat(np.arange(10), 40), np.tile(["a", "b"], 200)
    >>> is_lowered = (group == "b") & (branch < 3)
    >>> scores = 0.6 + 0.01 * np.random.default_rng(0).normal(size=400) - 0.2 * is_lowered
    >>> people = pa.table({"group": group, "branch": branch.astype(str)})
    >>> alike = Comparability(max_discrete_changes=0)  # the same branch
    >>> roles = Roles(sensitive="group", discrete=["branch"])
    >>> found = audit(scores, people, roles=roles, rule=alike, n_resamples=0)
    >>> name_people(found)
    <60 of 400 people named at a false discovery rate of 0.1>
    """

    audit: Audit
    p_values: Floats

    @property
    def summary(self) -> NamedRecord:  # described with the class
        found = self.audit.record.named
        assert found is not None
        return found

    @property
    def people(self) -> tuple[NamedPerson, ...]:
        """Those who are named, smallest p-value first."""
        return self.summary.people

    def __len__(self) -> int:
        return len(self.people)

    def __iter__(self) -> Iterator[NamedPerson]:
        return iter(self.people)

    def __repr__(self) -> str:
        return f"<{self._headline}>"

    @property
    def _headline(self) -> str:
        return self.summary.headline

    def __str__(self) -> str:
        found = self.summary
        unit = " pp" if self.audit.record.in_points else "%"
        rows = [("", "difference", "partners", "adjusted p")]
        rows += [
            (str(one.id), f"{100 * one.mean_difference:+.2f}{unit}", f"{one.n_partners:,}", f"{one.p_adjusted:.2g}")
            for one in self.people[:SHOWN]
        ]
        lines = [f"{found.headline}. {found.reference}", *([line_up(rows)] if self.people else [])]
        lines += [f"... and {len(self.people) - SHOWN:,} more"] if len(self.people) > SHOWN else []
        return "\n".join(lines)


def name_people(
    audit: Audit, *, false_discovery_rate: float = 0.1, dependence: Dependence = "positive", random_state: int = 0
) -> NamedPeople:
    """Name the people who are scored lower than comparable people by more than equal people differ.

    How much equal people differ by chance is known from same-group pairs, equal in the sensitive columns and comparable
    otherwise, with the same label. Differences are measured in units of what same-group pairs of the two people differ
    by; of the person alone, where the partner has fewer than four. Who has fewer than four is not tested, as nobody is
    named by what chance does to others. A person's p-value says how often same-group pairs differ as much as the person
    differs from comparable people with other sensitive values: twice the mean over the partners, which holds however
    the partners depend on each other (Vovk and Wang). Of all people tested, as many are named as the false discovery
    rate allows.

    Where people are weighted, partners count by their weights. What chance does, and the share of false names, are
    those of the people in the table, each counting once: a weight says for how many others a person stands, not how
    sure one can be of that person.

    Parameters
    ----------
    audit : Audit
        Made in memory, of one score per person.
    false_discovery_rate : float
        The expected share of those named who are not worse off, at most.
    dependence : {"positive", "any"}
        What people who share partners do to each other: with "positive", a partner's high score makes all that are
        compared with it look low together (Benjamini and Hochberg); "any" holds without that (Benjamini and Yekutieli),
        and names fewer.
    random_state : int
        Which same-group pairs are taken, so that nobody is in two.

    Returns
    -------
    NamedPeople

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from likewise import Comparability, Roles, audit, name_people
    >>> branch, group = np.repeat(np.arange(10), 40), np.tile(["a", "b"], 200)
    >>> is_lowered = (group == "b") & (branch < 3)
    >>> scores = 0.6 + 0.01 * np.random.default_rng(0).normal(size=400) - 0.2 * is_lowered
    >>> people = pa.table({"group": group, "branch": branch.astype(str)})
    >>> alike = Comparability(max_discrete_changes=0)  # the same branch
    >>> roles = Roles(sensitive="group", discrete=["branch"])
    >>> found = audit(scores, people, roles=roles, rule=alike, n_resamples=0)
    >>> bool(is_lowered[[one.row for one in name_people(found)]].all())
    True
    """
    if not is_number(false_discovery_rate) or not 0 < false_discovery_rate < 1:
        raise ParameterError(f"is {false_discovery_rate!r}; give a number between 0 and 1.", "false_discovery_rate")
    check_choice("dependence", dependence, ("positive", "any"))
    check_count("random_state", random_state, or_none=False)
    _refuse_others(audit)
    question = audit.question
    values = question.scores.sign * question.scores.values / question.scores.scale
    left, right = (np.asarray(rows, np.int64) for rows in (audit.pairs.left, audit.pairs.right))
    labels = question.table.labels.astype(np.int64)
    chance = _Chance.of(audit, values, labels)
    reference = chance.reference(random_state)
    own, other = np.concatenate([left, right]), np.concatenate([right, left])
    differences = values[own] - values[other]
    sizes = differences / chance.between(own, other)
    p_pairs = np.ones(len(own))
    for label, gaps in reference.items():
        here = labels[own] == label
        p_pairs[here] = _p_values(sizes[here], gaps)
    n_partners = np.bincount(own, minlength=len(values))
    people = np.flatnonzero((n_partners > 0) & chance.is_known)
    p_mean, means, largest = _average(own, (p_pairs, differences), question.scores.weighing.take(other).values)
    p_values = np.full(len(values), np.nan)
    p_values[people] = np.minimum(np.minimum(2.0, 1 / largest[people]) * p_mean[people], 1.0)
    adjusted = _adjust(p_values[people], dependence)
    named = people[(adjusted <= false_discovery_rate) & (means[people] < 0)]
    named = named[np.lexsort([named, means[named], p_values[named]])]
    adjusted_of = dict(zip(people.tolist(), adjusted.tolist(), strict=True))
    summary = NamedRecord(
        people=tuple(_describe(audit, named, n_partners, means, p_values, adjusted_of)),
        false_discovery_rate=float(false_discovery_rate),
        dependence=dependence,
        n_tested=len(people),
        n_reference=sum(map(len, reference.values())),
        least=min((1 / (1 + 2 * len(gaps)) for gaps in reference.values()), default=1.0),
        seed=random_state,
    )
    return NamedPeople(audit=replace(audit, record=replace(audit.record, named=summary)), p_values=p_values)


def _refuse_others(audit: Any) -> None:
    if not isinstance(audit, Audit):
        raise ParameterError(f"is a {type(audit).__name__}; give what likewise.audit returns.", "audit")
    question = audit.question
    if question.shown is not None:
        raise ScoreError("The people of this audit stayed in Spark. Audit a sample of them in memory.")
    if question.scores.values.ndim > 1:
        raise ScoreError("With more than two labels nobody is scored lower than another. Audit one score per person.")
    if question.rule.asks_more:
        raise RuleError(
            f"The rule leaves out comparable people ({', '.join(question.rule.asks_more)}), so they cannot show "
            "who is scored lower. Leave that out of the rule."
        )
    if question.rule.sensitive_differs == "none":
        raise RuleError("The rule compares people of one group. Name people by a rule that compares groups.")


@dataclass(frozen=True, slots=True, eq=False)
class _Chance:
    """How much equal people differ: all same-group pairs, and around each person the mean square of their gaps."""

    left: Rows
    right: Rows
    squares: Floats  # of the gaps of these pairs
    labels: Rows  # of everybody
    counts: Rows  # of pairs, by person
    sums: Floats  # of squares, by person

    @classmethod
    def of(cls, audit: Audit, values: Floats, labels: Rows) -> _Chance:
        """Find the same-group pairs of those who count."""
        table, rule, n = audit.question.table, audit.question.rule, len(values)
        equal = Comparability.from_dict(rule.to_dict() | {"sensitive_differs": "none"})
        pairs, counting = mine_pairs(table, equal, limit=MOST_PAIRS), audit.question.scores.counting
        kept = np.flatnonzero(counting[pairs.left] & counting[pairs.right])
        left, right = (np.asarray(rows, np.int64)[kept] for rows in (pairs.left, pairs.right))
        squares = np.square(values[left] - values[right])
        counts = np.bincount(left, minlength=n) + np.bincount(right, minlength=n)
        sums: Floats = np.add(np.bincount(left, squares, n), np.bincount(right, squares, n), dtype=np.float64)
        return cls(left, right, squares, labels, counts, sums)

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Around whom chance is known."""
        return np.asarray(self.counts >= FEWEST_OWN)

    def around(self, people: Rows, less: Floats | float = 0.0, n_less: int = 0) -> Floats:
        """Return the mean square around people, less that of one pair of theirs; NaN where it is not known."""
        sums, n = np.maximum(self.sums[people] - less, 0.0), np.maximum(self.counts[people] - n_less, 1)
        return np.where(self.is_known[people], sums / n, np.nan)

    def between(self, left: Rows, right: Rows, less: Floats | float = 0.0, n_less: int = 0) -> Floats:
        """Return the unit of the differences of pairs of known people: 1 where equal people do not differ at all."""
        sides = [self.around(side, less, n_less) for side in (left, right)]
        known = np.where(np.isnan(sides), sides[::-1], sides)  # a partner's is then taken to be the person's
        unit = np.sqrt(known.mean(axis=0))
        return np.where(unit > TIE, unit, 1.0)

    def reference(self, seed: int) -> dict[int, Floats]:
        """Return the gaps of pairs that share nobody, in ascending order, by label; none is in its own unit."""
        order = np.random.default_rng([seed, 2]).permutation(len(self.left))
        apart = match_apart(self.left, self.right, order, len(self.labels))
        apart = apart[self.is_known[self.left[apart]] & self.is_known[self.right[apart]]]
        left, right, squares = self.left[apart], self.right[apart], self.squares[apart]
        gaps = np.sqrt(squares) / self.between(left, right, squares, 1)
        of_pairs = self.labels[left]
        return {label: np.sort(gaps[of_pairs == label]) for label in np.unique(of_pairs).tolist()}


def _average(own: Rows, columns: tuple[Floats, Floats], times: Floats) -> tuple[Floats, Floats, Floats]:
    """Return two means over each person's partners, by the partners' weights, and the largest share of one partner."""
    n_people = int(own.max(initial=-1)) + 1
    totals, largest = np.bincount(own, times, n_people), np.zeros(n_people)
    np.maximum.at(largest, own, times)
    totals = np.where(totals > 0, totals, 1.0)
    first, second = (np.bincount(own, times * column, n_people) / totals for column in columns)
    return first, second, largest / totals


def _p_values(differences: Floats, gaps: Floats) -> Floats:
    """Return how often a same-group pair, taken from either side, differs as much to the disadvantage of the first."""
    n_larger = len(gaps) - np.searchsorted(gaps, -differences - TIE, side="left")  # of -gaps <= difference
    n_below = len(gaps) + np.searchsorted(gaps, differences + TIE, side="right")  # where the difference is not negative
    counted = np.where(differences < -TIE, n_larger, n_below)
    found: Floats = (1 + counted) / (1 + 2 * len(gaps))
    return np.minimum(found, 1.0)


def _adjust(p_values: Floats, dependence: Dependence) -> Floats:
    """Return the false discovery rate at which each is named."""
    n = len(p_values)
    order = np.argsort(p_values, kind="stable")
    harmonic = float((1 / np.arange(1, n + 1)).sum()) if dependence == "any" else 1.0
    raised = harmonic * n * p_values[order] / np.arange(1, n + 1)
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return adjusted


def _describe(
    audit: Audit, rows: Rows, n_partners: Rows, means: Floats, p_values: Floats, adjusted: dict[int, float]
) -> Iterator[NamedPerson]:
    question = audit.question
    labels = question.table.classes[question.table.labels[rows]].tolist()
    for row, who, label in zip(rows.tolist(), choose_ids(question, rows), labels, strict=True):
        yield NamedPerson(
            row=row,
            id=who,
            label=label if question.scores.has_labels else None,
            score=float(question.scores.values[row]),
            n_partners=int(n_partners[row]),
            mean_difference=float(means[row]),
            p_value=float(p_values[row]),
            p_adjusted=adjusted[row],
        )
