"""Beside the pairs: a regression of decisions or scores on sensitive groups and the rule's columns.

It is what reviewers run first, and it asks the same as the adjusted gap of pairs, with other assumptions: everybody
counts, matched or not, and columns act by a formula. Decisions and scores between 0 and 1 take a (fractional) logit,
amounts a linear model; discrete columns, and the label where people have one, are one-hot coded. The effect of a group
is averaged over all people: what they would get in the group, less what they would get in the reference.

A person with residual e, leverage h and columns x moves the coefficients by H^-1 x e / (1 - h), as in HC3, and the
effect by its derivative times that; its variance is the sum of squares over people, or over clusters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from likewise.auditing.inference._intervals import FEWEST_PEOPLE, MOST_LEVERAGE, Influence
from likewise.auditing.inference._signed_gaps import MOST_VALUES, SAME, TOLD, Estimate
from likewise.auditing.question._question import Question
from likewise.auditing.question._weights import effective_size
from likewise.record._internal import GroupEffect
from likewise.schema import CodedTable
from likewise.schema._internal import MISSING_RANK, MISSING_VALUE

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]

AT_ONCE: Final = 1 << 14  # people: rows of the coefficients' covariance stay small
MOST_STEPS: Final = 60  # of Newton's method, which takes about ten
LONGEST_STEP: Final = 5.0  # in log-odds
CLOSE: Final = 1e-9  # in log-odds
RIDGE: Final = 1e-3  # people's worth, on each step only: a value that decides alone stays finite, no effect is moved
FEWEST_OF_EITHER: Final = 5.0  # people approved, and denied, in a group: of fewer, a normal error says nothing


def regress_on_groups(question: Question, confidence: float | None) -> tuple[GroupEffect, ...]:
    """Return the effect of every group of each sensitive column; nothing where people have a score per class.

    Of very many people, evenly spaced ones are looked at.
    """
    if question.scores.values.ndim > 1:
        return ()
    rows, table = question.examine()
    base = _code_columns(table, has_labels=question.scores.has_labels)
    effects: list[GroupEffect] = []
    for place, column in enumerate(table.names["sensitive"]):
        groups = _Groups.of(question, table, column, place, rows)
        if groups is not None:
            effects += _Regression(question, rows, base, groups).effects(confidence)
    return tuple(effects)


def _code_columns(table: CodedTable, *, has_labels: bool) -> Any:
    """Return a sparse matrix: 1, the numbers of everybody, and 1 in the column of each value but the most frequent."""
    from scipy.sparse import csr_array, hstack

    columns = [np.ones(len(table))]
    for kind, missing in (("continuous", MISSING_VALUE), ("ordinal", MISSING_RANK)):
        for values in getattr(table, kind).T:
            is_missing = values == missing
            numbers = np.where(is_missing, 0.0, values)
            spread = float(numbers.std())
            columns += [] if spread == 0 else [np.where(is_missing, 0.0, (numbers - numbers.mean()) / spread)]
            columns += [is_missing.astype(np.float64)] if 0 < np.count_nonzero(is_missing) < len(table) else []
    coded = [*table.discrete.T, *table.matched.T, *([table.labels] if has_labels else [])]
    return csr_array(hstack([csr_array(np.column_stack(columns)), *map(_one_hot, map(_number_frequent, coded))]))


def _number_frequent(codes: Rows) -> Rows:
    """Number values, the most frequent as 0, and all rare ones of very many by the last number."""
    _, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    ranks = np.empty(len(counts), np.int64)
    ranks[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return np.minimum(ranks, MOST_VALUES)[places]


def _one_hot(numbers: Rows) -> Any:
    """Return 1 in the column of everybody's number; 0 has none."""
    from scipy.sparse import csr_array

    rows = np.flatnonzero(numbers)
    n_columns = int(numbers.max(initial=0))
    return csr_array((np.ones(len(rows)), (rows, numbers[rows] - 1)), shape=(len(numbers), n_columns))


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """The groups of a sensitive column: the reference as 0, the others as they are frequent."""

    column: str
    numbers: Rows
    names: list[Any]
    reference: Any

    @classmethod
    def of(cls, question: Question, table: CodedTable, column: str, place: int, rows: Rows) -> _Groups | None:
        """Number the groups; None where there is only one."""
        codes = table.sensitive[:, place].astype(np.int64)
        known = question.table.categories.get(column)
        controls = question.reference.values.get(column, ())
        if controls and known is not None:
            codes = np.where(np.isin(codes, [known.index(value) for value in controls]), -1, codes)
        values, places = np.unique(codes, return_inverse=True)
        if len(values) < 2:
            return None
        sizes = question.scores.weighing.take(rows).counts(places).astype(np.float64)
        sizes[values < 0] = np.inf  # the control
        order = np.argsort(-sizes, kind="stable")
        ranks = np.empty(len(values), np.int64)
        ranks[order] = np.arange(len(values))
        names = [code if known is None else known[code] for code in values[order[1:]].tolist()][:MOST_VALUES]
        first = int(values[order[0]])
        reference = " or ".join(map(str, controls)) if first < 0 else first if known is None else known[first]
        return cls(column, np.minimum(ranks, MOST_VALUES + 1)[places], names, reference)


class _Regression:
    """A model of the outcome by the rule's columns and the groups of one sensitive column."""

    def __init__(self, question: Question, rows: Rows, base: Any, groups: _Groups) -> None:
        from scipy.sparse import csr_array, hstack

        scores = question.scores
        self._groups, self._sign = groups, scores.sign
        self._outcomes = scores.values[rows] / scores.scale
        self._weighing = scores.weighing.take(rows)
        self._weights = self._weighing.values
        self._units = scores.units.of_some(rows)
        self._base, self._columns = base, csr_array(hstack([base, _one_hot(groups.numbers)]))
        is_decided = bool(np.isin(self._outcomes, (0.0, 1.0)).all())
        self._model: Literal["logit", "fractional logit", "linear"] = (
            "linear" if scores.task == "regression" else "logit" if is_decided else "fractional logit"
        )
        self._fit()

    def _fit(self) -> None:
        """Find the coefficients, and how far each person moves them."""
        n_columns, numbers = self._columns.shape[1], self._columns
        plain = (numbers.T @ numbers.multiply(self._weights[:, None]).tocsr()).toarray()
        scale = 1 / np.sqrt(np.where(plain.diagonal() > 0, plain.diagonal(), 1.0))
        sizes, turned = np.linalg.eigh(plain * scale[:, None] * scale)
        kept = turned[:, sizes > SAME * sizes[-1]]
        self._is_told = np.square(kept).sum(axis=1) > 1 - TOLD
        coefficients, ridge = np.zeros(n_columns), RIDGE * np.eye(n_columns)
        hessian = ridge
        for _ in range(MOST_STEPS):
            expected, slopes = self._expect(numbers @ coefficients)
            pull = numbers.T @ (self._weights * (self._outcomes - expected))
            hessian = (numbers.T @ numbers.multiply((self._weights * slopes)[:, None]).tocsr()).toarray() + ridge
            step = np.linalg.solve(hessian, pull)
            longest = float(np.abs(numbers @ step).max(initial=0.0))
            if self._model != "linear" and longest > LONGEST_STEP:
                step *= LONGEST_STEP / longest
            coefficients += step
            if longest < CLOSE:
                break
        expected, slopes = self._expect(numbers @ coefficients)
        self._coefficients, self._inverse = coefficients, np.linalg.inv(hessian)
        leverages = np.minimum(self._weights * slopes * self._spread_of_rows(), MOST_LEVERAGE)
        self._moves = self._weights * (self._outcomes - expected) / (1 - leverages)

    def _expect(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return what is expected of everybody, and how it changes with the sum of their columns."""
        from scipy.special import expit

        if self._model == "linear":
            return sums, np.ones(len(sums))
        shares = expit(sums)
        return shares, shares * (1 - shares)

    def _spread_of_rows(self) -> Floats:
        """Return x' H^-1 x of everybody."""
        found = np.empty(len(self._outcomes))
        for start in range(0, len(found), AT_ONCE):
            some = self._columns[start : start + AT_ONCE]
            found[start : start + AT_ONCE] = some.multiply(some @ self._inverse).sum(axis=1)
        return found

    def effects(self, confidence: float | None) -> Iterator[GroupEffect]:
        """Yield the effect of each group, the largest first."""
        counted = np.bincount(self._groups.numbers[self._weights > 0], minlength=1 + len(self._groups.names))
        for number, name in enumerate(self._groups.names, 1):
            estimate, why_not = self._estimate(number)
            low, high = (estimate and confidence and estimate.interval(confidence, self._most)) or (None, None)
            yield GroupEffect(
                column=self._groups.column,
                group=name,
                reference=self._groups.reference,
                model=self._model,
                effect=None if estimate is None else estimate.value,
                low=low,
                high=high,
                n_people=int(counted[number]),
                n_reference=int(counted[0]),
                why_not=why_not,
            )

    @property
    def _most(self) -> float:
        return math.inf if self._model == "linear" else 1.0

    def _estimate(self, number: int) -> tuple[Estimate | None, str | None]:
        """Return the effect of a group with its error, and why one of the two is missing."""
        place, weights = self._base.shape[1] + number - 1, self._weights
        if not self._is_told[place]:
            return None, "the rule's columns tell the groups apart"
        sums = self._base @ self._coefficients[: self._base.shape[1]]
        (before, slope_before), (after, slope_after) = (
            self._expect(sums + shift) for shift in (0.0, self._coefficients[place])
        )
        changes, total = self._sign * (after - before), self._weighing.total
        effect = self._weighing.mean(changes)
        effect = effect if abs(effect) > CLOSE else 0.0
        slopes = np.zeros(len(self._coefficients))
        slopes[: self._base.shape[1]] = self._base.T @ (weights * (slope_after - slope_before)) / total
        slopes[place] = self._weighing.mean(slope_after)
        moves = self._sign * self._moves * (self._columns @ (self._inverse @ slopes))
        moves += weights * (changes - effect) / total
        why_not = self._doubt(number)
        if why_not is not None:
            return Estimate(effect), why_not
        return Estimate(effect, self._influence(moves, number)), None

    def _influence(self, moves: Floats, number: int) -> Influence:
        """Return by how much every person, or cluster, moves an effect."""
        sides = [self._weights * (self._groups.numbers == side) for side in (number, 0)]
        n = min(effective_size(self._units.add_up(side)) for side in sides)
        n_clusters = np.inf if self._units.numbers is None else self._units.n
        return Influence(self._units.add_up(moves) / math.sqrt(max(1 - 1 / n_clusters, 0.5)), n)

    def _doubt(self, number: int) -> str | None:
        """Return why there is no interval: too few people, or too few of either decision."""
        for side in (number, 0):
            is_of_side = self._groups.numbers == side
            weighing = self._weighing.take(is_of_side)
            if weighing.effective < FEWEST_PEOPLE:
                return "too few people"
            share = weighing.mean(self._outcomes[is_of_side])
            if self._model == "logit" and min(share, 1 - share) * weighing.effective < FEWEST_OF_EITHER:
                return "nearly all are decided alike"
        return None
