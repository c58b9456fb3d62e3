"""What every engine has to solve: a rule and its tables, resolved into plain columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise._codes import number_codes, number_together
from likewise.comparable._limits import Nearness
from likewise.comparable._pairs import Rows
from likewise.comparable._rule import Comparability, SensitiveDiffers
from likewise.exceptions import TooManyPairs
from likewise.schema import CodedTable
from likewise.schema._internal import MISSING_RANK, MISSING_VALUE

MOST_ROWS: Final = 2**31 - 1  # engines keep row positions in four bytes
MOST_TALLIED: Final = 1 << 20  # kinds of pairs that are counted in a table


Part = TypeVar("Part", bound=tuple[NDArray[Any], NDArray[Any]])
Found = TypeVar("Found")


Pairs = tuple[Rows, Rows]


class Bunch(NamedTuple):
    """Pairs within one table by the places of their people: each first one with as many second ones as its count."""

    firsts: Rows
    counts: NDArray[np.int64]
    seconds: Rows  # of the first of ``firsts``, then of the next
    people: Rows  # at each place: their numbers; empty where places are numbers


Visit = Callable[[Bunch], Found]
StartVisit = Callable[[Rows | None], Visit[Found]]  # given the row of each number; None where numbers are rows


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Name the conditions a comparable pair meets, column by column.

    Pairs within one table are unordered (``left < right``). For pairs between two tables the columns hold the left
    rows first and the right rows after them, and ``n_right`` says how many there are of those.
    """

    n_left: int
    n_right: int | None
    labels: NDArray[np.int32]
    equal: tuple[NDArray[np.int32], ...]  # have to be equal, besides the label
    discrete: tuple[NDArray[np.int32], ...]  # at most max_changes of these differ
    max_changes: int
    near: tuple[NDArray[np.float64], ...]  # each near by its test, ordinal ranks included
    tests: tuple[Nearness, ...]
    combination: NDArray[np.int32]  # which row of `combinations` a row's sensitive values are
    combinations: NDArray[np.int32]  # the distinct rows of sensitive codes, in lexicographic order
    sensitive_differs: SensitiveDiffers

    @property
    def n_rows(self) -> int:
        """All rows, of both tables."""
        return len(self.labels)

    @property
    def codes(self) -> tuple[NDArray[np.int32], ...]:
        """All columns of codes: rows are equal if they agree in these and in all near columns."""
        return (self.labels, *self.equal, *self.discrete, self.combination)

    def take(self, rows: NDArray[np.int32]) -> Problem:
        """Keep some (ascending) rows."""
        places = rows.astype(np.intp)  # once, not for every column
        n_left = int(np.searchsorted(rows, self.n_left))
        return replace(
            self,
            n_left=n_left,
            n_right=None if self.n_right is None else len(rows) - n_left,
            labels=self.labels.take(places),
            equal=tuple(column.take(places) for column in self.equal),
            discrete=tuple(column.take(places) for column in self.discrete),
            near=tuple(column.take(places) for column in self.near),
            combination=self.combination.take(places),
        )


class Engine(ABC):
    """A way to solve a problem. Whatever the engine, pairs come ordered by left row, then right row."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @abstractmethod
    def chunks(self, rows: NDArray[np.integer[Any]] | None = None) -> Iterator[Pairs]:
        """Yield all pairs in order, a bounded number at a time and never none; of some (ascending) left rows only."""

    def pieces(
        self, make: Callable[[NDArray[Any], NDArray[Any]], Found], values: NDArray[Any] | None = None
    ) -> Iterator[Found]:
        """Yield what is made of all pairs in no order, a bounded number at a time, maybe on several threads.

        It is made of their rows, or of a value of each row of the problem; which of two values of one table stands
        first is chance then.
        """
        for left, right in self.chunks():
            both = (left, right) if values is None else (values[left], values[self._first_right :][right])
            yield make(*both)

    @property
    def _first_right(self) -> int:
        """Where right rows start among all."""
        return 0 if self._problem.n_right is None else self._problem.n_left

    def visit(self, start: StartVisit[Found]) -> Iterator[tuple[float, Found]]:
        """Hand out the pairs within one table in no order, each once; yield the share done and what is made of them.

        Whatever ``start`` returns is called with a bounded number of pairs at a time, maybe on several threads.
        """
        visit = start(None)
        for left, right in self.chunks():
            starts = np.flatnonzero(np.diff(left, prepend=-1))
            bunch = Bunch(left[starts], np.diff(starts, append=len(left)), right, left[:0])
            yield (int(left[-1]) + 1) / self._problem.n_left, visit(bunch)

    def listing(self, most: int) -> Pairs | None:
        """Return all pairs in order, or None if there are more than ``most``."""
        taken, is_all = take_parts(self.chunks(), most)
        return join_chunks(taken) if is_all else None

    def pick(self, rows: NDArray[np.int64], places: NDArray[np.int64]) -> Rows:
        """Return, for each of some (ascending) left rows, the right row at a place among those paired with it."""
        picked = np.empty(len(rows), np.int32)
        last, n_before = -1, 0  # the last row so far and its pairs: they may go on in the next chunk
        for left, right in self.chunks(np.unique(rows)):
            asked = slice(np.searchsorted(rows, left[0]), np.searchsorted(rows, left[-1], side="right"))
            starts, ends = np.searchsorted(left, rows[asked]), np.searchsorted(left, rows[asked], side="right")
            at = starts + places[asked] - np.where(rows[asked] == last, n_before, 0)
            is_here = (at >= starts) & (at < ends)
            picked[asked][is_here] = right[at[is_here]]
            n_here = len(left) - int(np.searchsorted(left, left[-1]))
            last, n_before = int(left[-1]), n_here + (n_before if left[-1] == last else 0)
        return picked

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """How many pairs each left row is the left row of."""
        degrees = np.zeros(self._problem.n_left, np.int64)
        for left in self.pieces(lambda left, right: left):
            np.add.at(degrees, left, 1)
        return degrees

    def counts(self, weights: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Count pairs as sorted rows of (label code, combination, combination, pairs); only what occurs.

        Within one table the smaller combination stands first; between two, the left row's. With weights, each row
        stands for so many equal ones, and pairs count as often.
        """
        problem = self._problem
        is_within, n_combinations = problem.n_right is None, max(len(problem.combinations), 1)
        # a row's label and combination as one number, in their order; two of these always fit into a word
        kinds, kind_of = number_codes(problem.labels.astype(np.int64) * n_combinations + problem.combination)
        n_kinds = max(len(kinds), 1)

        def tally(one: NDArray[Any], two: NDArray[Any]) -> dict[int, int]:
            times, names = None, None
            if weights is not None:
                times, one, two = weights[one] * weights[two], kind_of[one], kind_of[two]
            both = one * n_kinds
            both += two
            if n_kinds**2 > MOST_TALLIED:  # too many for a table of all
                names, both = number_codes(both)
            n_pairs = np.bincount(both, times).astype(np.int64)  # exact: floats count whole numbers up to 2^53
            occurring = np.flatnonzero(n_pairs)
            named = occurring if names is None else names[occurring]
            return dict(zip(named.tolist(), n_pairs[occurring].tolist(), strict=True))

        seen, totals = Counter[int](), Counter[int]()
        for some in self.pieces(tally, kind_of if weights is None else np.arange(problem.n_rows)):
            seen.update(some)
        if weights is not None and problem.sensitive_differs == "none" and is_within:  # rows that stand for several
            own = np.bincount(kind_of, weights * (weights - 1) // 2).astype(np.int64)
            seen.update({kind * (n_kinds + 1): int(own[kind]) for kind in np.flatnonzero(own).tolist()})
        for number, n in seen.items():
            one, two = divmod(number, n_kinds)
            totals[min(one, two) * n_kinds + max(one, two) if is_within else number] += n
        both = np.array(sorted(totals), np.int64)
        label, first = np.divmod(kinds[both // n_kinds], n_combinations)
        n_pairs = np.array([totals[k] for k in both.tolist()], np.int64)
        return np.column_stack([label, first, kinds[both % n_kinds] % n_combinations, n_pairs])

    def draw(self, n: int, random: np.random.Generator) -> tuple[Rows, Rows, int, float] | None:
        """Draw pairs without counting all: the pairs, about how many there are, and its standard error; else None."""
        return None


def join_chunks(chunks: list[tuple[Rows, Rows]]) -> tuple[Rows, Rows]:
    """Put chunks of pairs together, emptying the list: the pairs may take most of the memory there is."""
    if len(chunks) == 1:
        return chunks.pop()
    lefts, rights = [left for left, _ in chunks], [right for _, right in chunks]
    chunks.clear()
    left = np.concatenate(lefts) if lefts else np.empty(0, np.int32)
    lefts.clear()
    return left, np.concatenate(rights) if rights else np.empty(0, np.int32)


def take_parts(parts: Iterator[Part], most: int) -> tuple[list[Part], bool]:
    """Take parts until their second arrays hold more than ``most``; also say whether these are all."""
    taken: list[Part] = []
    n_taken = 0
    for part in parts:
        taken.append(part)
        n_taken += len(part[1])
        if n_taken > most:
            return taken, False
    return taken, True


def state_problem(left: CodedTable, right: CodedTable | None, rule: Comparability) -> Problem:
    """Resolve a rule over one table, or between two in the same codes."""
    rule.check(left)
    tables = [left] if right is None else [left, right]
    n_rows = sum(map(len, tables))
    if n_rows > MOST_ROWS:
        raise TooManyPairs(f"{n_rows:,} rows, but at most {MOST_ROWS:,} can be searched at a time. Pass fewer rows.")

    def columns(kind: str) -> tuple[NDArray[Any], ...]:
        arrays = [getattr(table, kind) for table in tables]
        if len(arrays) == 1:
            return tuple(arrays[0].T)
        return tuple(np.concatenate([array[:, i] for array in arrays]) for i in range(arrays[0].shape[1]))

    may_change = rule.may_change(left)
    discrete, sensitive = columns("discrete"), columns("sensitive")
    equal = columns("matched") + tuple(c for c, may in zip(discrete, may_change, strict=True) if not may)
    if rule.sensitive_differs == "none":
        equal += sensitive
    continuous, ordinal = columns("continuous"), columns("ordinal")
    tests = rule.nearness(left)
    # missing is comparable with missing only, however far a shift may go
    equal += tuple(flags.astype(np.int32) for flags in _missing(tables) if flags.any())
    equal += tuple(test.signs(c) for test, c in zip(tests, continuous, strict=True) if test.is_ratio)
    combinations, combination = number_together(sensitive, n_rows)
    return Problem(
        n_left=len(left),
        n_right=None if right is None else len(right),
        labels=left.labels if right is None else np.concatenate([table.labels for table in tables]),
        equal=equal,
        discrete=tuple(c for c, may in zip(discrete, may_change, strict=True) if may),
        max_changes=min(rule.max_discrete_changes, len(discrete)),  # more make no difference, however many
        near=tuple(test.values(c) for test, c in zip(tests, continuous, strict=True))
        + tuple(c.astype(np.float64) for c in ordinal),
        tests=tests + tuple(map(Nearness, rule.ordinal_limits(left).tolist())),
        combination=combination,
        combinations=combinations.astype(np.int32),
        sensitive_differs=rule.sensitive_differs,
    )


def _missing(tables: list[CodedTable]) -> list[NDArray[np.bool_]]:
    """Flag missing values and ranks, column by column; of a kind that has none, nothing."""
    flags: list[NDArray[np.bool_]] = []
    for kind, missing in (("continuous", MISSING_VALUE), ("ordinal", MISSING_RANK)):
        arrays = [getattr(table, kind) for table in tables]
        # the least number of all tells soonest: hardly any is that far out
        if any(array.min(initial=0) <= missing for array in arrays):
            flags.extend(np.concatenate([array == missing for array in arrays]).T)
    return flags
