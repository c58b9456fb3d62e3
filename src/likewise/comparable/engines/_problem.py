"""What every engine has to solve: a rule and its tables, resolved into plain columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from likewise._codes import number_together
from likewise._threads import cut_rows, share_calls
from likewise.comparable._limits import Nearness
from likewise.comparable._pairs import Rows
from likewise.comparable._rule import Comparability, SensitiveDiffers
from likewise.exceptions import TooManyPairs
from likewise.schema import CodedTable
from likewise.schema._internal import MISSING_RANK, MISSING_VALUE

MOST_ROWS: Final = 2**31 - 1  # engines keep row positions in four bytes


Part = TypeVar("Part", bound=tuple[NDArray[Any], NDArray[Any]])
Found = TypeVar("Found")


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

    def take(self, rows: NDArray[np.int32]) -> Problem:
        """Keep some rows of the only table."""
        places = rows.astype(np.intp)  # once, not for every column
        return replace(
            self,
            n_left=len(rows),
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
    def chunks(self, rows: NDArray[np.integer[Any]] | None = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield all pairs in order, a bounded number at a time and never none; of some (ascending) left rows only."""

    def visit(self, start: StartVisit[Found]) -> Iterator[tuple[float, Found]]:
        """Hand out the pairs within one table in no order, each once; yield the share done and what is made of them.

        Whatever ``start`` returns is called with a bounded number of pairs at a time, maybe on several threads.
        """
        visit = start(None)
        for left, right in self.chunks():
            starts = np.flatnonzero(np.diff(left, prepend=-1))
            bunch = Bunch(left[starts], np.diff(starts, append=len(left)), right, left[:0])
            yield (int(left[-1]) + 1) / self._problem.n_left, visit(bunch)

    def listing(self, most: int) -> tuple[Rows, Rows] | None:
        """Return all pairs in order, or None if there are more than ``most``."""
        return gather_chunks(self.chunks(), most)

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

    def degrees(self) -> NDArray[np.int64]:
        """Count, for each left row, the pairs it is the left row of."""
        degrees = np.zeros(self._problem.n_left, np.int64)
        for left, _ in self.chunks():
            degrees += np.bincount(left, minlength=len(degrees))
        return degrees

    def counts(self) -> NDArray[np.int64]:
        """Count pairs as sorted rows of (label code, combination, combination, pairs); only what occurs.

        Within one table the smaller combination stands first; between two, the left row's.
        """
        problem = self._problem
        is_within, n_combinations = problem.n_right is None, max(len(problem.combinations), 1)
        # a row's label and combination as one number, in their order; two of these always fit into a word
        by_label = problem.labels.astype(np.int64) * n_combinations + problem.combination
        kinds, kind_of = np.unique(by_label, return_inverse=True)
        right_kind = kind_of[0 if is_within else problem.n_left :]
        totals: Counter[int] = Counter()
        for left, right in self.chunks():
            one, two = kind_of[left], right_kind[right]
            if is_within:
                one, two = np.minimum(one, two), np.maximum(one, two)
            found, n = np.unique(one * len(kinds) + two, return_counts=True)
            totals.update(dict(zip(found.tolist(), n.tolist(), strict=True)))
        both = np.array(sorted(totals), np.int64)
        one, two = kinds[both // max(len(kinds), 1)], kinds[both % max(len(kinds), 1)]
        label, first = np.divmod(one, n_combinations)
        n_pairs = np.array([totals[k] for k in both.tolist()], np.int64)
        return np.column_stack([label, first, two % n_combinations, n_pairs])

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


def gather_chunks(chunks: Iterator[tuple[Rows, Rows]], most: int) -> tuple[Rows, Rows] | None:
    """Put all chunks together; give up, with None, at more than ``most`` pairs."""
    left, right = np.empty(0, np.int32), np.empty(0, np.int32)
    for some_left, some_right in chunks:
        n_before = len(left)
        if n_before + len(some_left) > most:
            return None
        for kept, some in ((left, some_left), (right, some_right)):
            kept.resize(n_before + len(some), refcheck=False)  # in place: a second copy may not fit
            kept[n_before:] = some
    return left, right


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
        if any(_find_least(array) <= missing for array in arrays):
            flags.extend(np.concatenate([array == missing for array in arrays]).T)
    return flags


def _find_least(array: NDArray[Any]) -> Any:
    """Return the least number, or 0 if none is below."""
    calls = {i: partial(np.min, array[part], initial=0) for i, part in enumerate(cut_rows(len(array), is_light=True))}
    return min(share_calls(calls).values())
