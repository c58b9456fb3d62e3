"""Trees: the cells of each column that they can tell apart, and the highest and lowest score of anybody comparable."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise._memory import n_cores
from likewise.certifying._forests import LEAF, Forest
from likewise.certifying._inputs import CodedInputs, NumberInputs, ReadInputs, Thresholds
from likewise.certifying._neighbourhood import (
    DOWN,
    UP,
    CodedColumn,
    Codes,
    ExtremeRows,
    Neighbourhood,
    NumberColumn,
    Numbers,
    boxes_of,
)
from likewise.certifying._search import DISCRETE, FREE, SENSITIVE, search_people
from likewise.exceptions import ScoreError

KINDS: Final = {"sensitive": SENSITIVE, "discrete": DISCRETE, "ordinal": FREE, "matched": FREE}
NO_CELL: Final = -2
PEOPLE_AT_A_TIME: Final = 128  # searched between two reports of progress


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """One column as cells: the cell of each person, and the first and last cell of a comparable one."""

    kind: int
    is_coded: bool
    own: Codes
    low: Codes  # (2, n)
    high: Codes
    is_known: NDArray[np.bool_]  # per code; empty for numbers
    zero_cell: int = NO_CELL
    nan_cell: int = NO_CELL


@dataclass(slots=True)
class _Tests:
    """Distinct tests of nodes: which cells of which column lead to the left."""

    known: dict[tuple[Any, ...], int]
    rows: list[tuple[int, int, bool, bool, int]]
    members: list[NDArray[np.bool_]]
    n_members: int = 0

    def add(self, column: int, cut: int, zero_left: bool, nan_left: bool, members: NDArray[np.bool_] | None) -> int:
        """Return the number of a test, a new one if there is none alike."""
        key = (column, cut, zero_left, nan_left, None if members is None else members.tobytes())
        if key not in self.known:
            self.known[key] = len(self.rows)
            self.rows.append((column, cut, zero_left, nan_left, self.n_members))
            if members is not None:
                self.members.append(members)
                self.n_members += len(members)
        return self.known[key]

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the tests as arrays, for the kernels."""
        kinds = (np.int64, np.int64, np.bool_, np.bool_, np.int64)
        columns = list(zip(*self.rows, strict=True)) or [()] * len(kinds)
        arrays: list[NDArray[Any]] = [np.array(one, kind) for one, kind in zip(columns, kinds, strict=True)]
        return (*arrays, np.concatenate([np.empty(0, np.bool_), *self.members]))


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """A continuous column in cells: ``cuts`` are the first numbers of all cells but the lowest."""

    column: NumberColumn
    position: int  # among the columns of the search
    cuts: Numbers

    def value(self, cells: Codes, people: Codes, direction: int) -> Numbers:
        """Return a number in each cell that is comparable to the person's: the nearest to it."""
        column = self.column
        own, low, high = column.own[people], column.low[direction][people], column.high[direction][people]
        own_cells = np.searchsorted(self.cuts, own, side="right")
        first = np.append(-np.inf, self.cuts)[np.minimum(cells, len(self.cuts))]
        after = np.append(self.cuts, np.inf)[np.minimum(cells, len(self.cuts))]
        last = after - 1.0 if column.is_whole else np.nextafter(after, -np.inf)
        moved = np.where(cells > own_cells, np.maximum(first, low), np.minimum(last, high))
        return np.where((cells == own_cells) | np.isnan(own), own, moved)


class _Effort(NamedTuple):
    """How long and with how many threads to search."""

    max_splits: int
    n_jobs: int
    report: Callable[[float], None]


def _search_in_parts(search: Callable[[slice], None], n: int, how: _Effort | None) -> None:
    """Search some people at a time, in threads: the kernels run without the interpreter's lock."""
    if how is None:
        search(slice(0, n))
        return
    parts = [slice(start, min(start + PEOPLE_AT_A_TIME, n)) for start in range(0, n, PEOPLE_AT_A_TIME)]
    search(parts[0])  # compiles the kernels, once
    how.report(1 / len(parts))
    with ThreadPoolExecutor(how.n_jobs) as pool:
        for done, _ in enumerate(pool.map(search, parts[1:]), start=2):
            how.report(done / len(parts))


class TreeSearch:
    """The people and the trees as the kernels take them."""

    def __init__(self, inputs: ReadInputs, forest: Forest) -> None:
        self._inputs, self._forest = inputs, forest
        self._around: Neighbourhood = inputs.around
        self._tests = _Tests({}, [], [])
        self._node_tests = np.full(len(forest.inputs), LEAF, np.int64)
        self._columns: list[_Column] = []
        self._names: dict[str, int] = {}
        self._numbers: list[_Numbers] = []
        used = np.unique(forest.inputs[forest.inputs != LEAF])
        by_column = (*(one.inputs for one in inputs.coded), *(one.inputs for one in inputs.numbers))
        owned = np.concatenate([np.empty(0, np.int64), *by_column])
        for coded in inputs.coded:
            if coded.column.kind == "sensitive" or np.isin(coded.inputs, used).any():
                self._add_coded(coded)
        self._add_numbers()
        for one in np.setdiff1d(used, owned):
            self._add_fixed(int(one))
        self._unseen = {
            one: self._add_unseen(one)
            for one in self._around.coded
            if one.kind == "sensitive" and one.name not in self._names and self._around.rule.sensitive_differs != "none"
        }

    def _nodes_of(self, one: int) -> NDArray[np.intp]:
        return np.flatnonzero(self._forest.inputs == one)

    def _add_coded(self, one: CodedInputs) -> None:
        column, at = one.column, len(self._columns)
        own = column.own[None, :] + np.zeros((2, 1), np.int64)
        low, high = own, own
        if column.kind == "ordinal":
            low, high = column.low, column.high
        elif column.may_change and not (column.kind == "sensitive" and self._around.rule.sensitive_differs == "none"):
            low, high = np.zeros_like(own), np.full_like(own, column.n_codes - 1)
        kind = KINDS[column.kind] if column.may_change else FREE
        self._columns.append(_Column(kind, True, column.own, low, high, np.append(one.is_known, True)))
        self._names[column.name] = at
        for position, number in enumerate(one.inputs):
            values = one.values[:, position]
            if one.absent is not None:
                values = np.where(one.absent[:, position], np.nan if self._forest.absent_is_missing else 0.0, values)
            values = values.astype(np.float32).astype(np.float64) if self._forest.rounded else values
            for node in self._nodes_of(int(number)):
                missing_left = bool(self._forest.missing_left[node])
                members = np.where(np.isnan(values), missing_left, values < self._forest.thresholds[node])
                self._node_tests[node] = self._tests.add(at, 0, False, False, members)

    def _add_unseen(self, one: CodedColumn) -> int:
        """Add a sensitive column that the model does not see, as its own value and another; return its position."""
        own = np.zeros_like(one.own)
        low = np.stack([own, own])
        high = low + (one.n_codes > 1)
        self._columns.append(_Column(SENSITIVE, False, own, low, high, np.empty(0, np.bool_)))
        return len(self._columns) - 1

    def _add_numbers(self) -> None:
        """Cut continuous columns where an input passes a threshold; also around 0, where that is missing."""
        forest, numbers = self._forest, self._inputs.numbers
        asked: list[NDArray[np.float64]] = []
        for at, one in enumerate(numbers):
            nodes = np.flatnonzero(np.isin(forest.inputs, one.inputs))
            pairs = np.unique(np.column_stack([forest.inputs[nodes], forest.thresholds[nodes]]), axis=0)
            asked.append(np.column_stack([np.full(len(pairs), at), pairs, np.full(len(pairs), forest.rounded)]))
            if len(nodes) and self._inputs.own.absent is not None and forest.absent_is_missing:
                asked.append(self._around_zero(at, one))
        rows = np.concatenate([np.empty((0, 4)), *asked])
        if not len(rows):
            return
        thresholds = Thresholds(rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), rows[:, 2], rows[:, 3] > 0)
        starts = self._inputs.first_at(thresholds)
        for at, one in enumerate(numbers):
            mine = rows[:, 0] == at
            if mine.any():
                self._add_number(one, rows[mine, 1:], starts[mine])

    def _around_zero(self, at: int, one: NumberInputs) -> NDArray[np.float64]:
        """Return the limits between which an input is 0, where that is missing: a sparse matrix does not hold it."""
        if len(one.inputs) > 1:
            raise ScoreError(
                f"The model has {len(one.inputs)} inputs for column '{one.column.name}' in a sparse matrix, where 0 is "
                "missing. Encode the column once, or let the encoder return a dense matrix."
            )
        return np.array([[at, one.inputs[0], 0.0, -1.0], [at, one.inputs[0], np.nextafter(0.0, 1.0), -1.0]])

    def _add_number(self, one: NumberInputs, asked: NDArray[np.float64], starts: Numbers) -> None:
        """Add a continuous column, given (input, limit, kind) of its thresholds and where each is passed."""
        column, at, forest = one.column, len(self._columns), self._forest
        cuts, zeros = np.unique(starts), starts[asked[:, 2] < 0]
        nan_cell, missing = len(cuts) + 1, np.isnan(column.own)
        own, low, high = (
            np.where(missing, nan_cell, np.searchsorted(cuts, end, side="right"))
            for end in (column.own, column.low, column.high)
        )
        has_zero = len(zeros) > 0 and zeros[0] < zeros[-1]
        zero_cell = int(np.searchsorted(cuts, zeros[0], side="right")) if has_zero else NO_CELL
        self._columns.append(_Column(FREE, False, own, low, high, np.empty(0, np.bool_), zero_cell, nan_cell))
        self._names[column.name] = at
        self._numbers.append(_Numbers(column, at, cuts))
        first_right = {  # the cell from which a test leads to the right
            (int(number), float(limit)): int(np.searchsorted(cuts, start, side="right"))
            for (number, limit, kind), start in zip(asked, starts, strict=True)
            if kind >= 0
        }
        for node in np.flatnonzero(np.isin(forest.inputs, one.inputs)):
            missing_left = bool(forest.missing_left[node])
            cut = first_right[int(forest.inputs[node]), float(forest.thresholds[node])]
            self._node_tests[node] = self._tests.add(at, cut, missing_left and has_zero, missing_left, None)

    def _add_fixed(self, one: int) -> None:
        """Add an input that no compared column determines: it stays as it is."""
        at, forest = len(self._columns), self._forest
        values = self._inputs.own.where_absent(np.nan if forest.absent_is_missing else 0.0)[:, one]
        values = values.astype(np.float32).astype(np.float64) if forest.rounded else values
        nodes = self._nodes_of(one)
        cuts = np.unique(forest.thresholds[nodes])
        cells = np.where(np.isnan(values), len(cuts) + 1, np.searchsorted(cuts, values, side="right"))
        both = np.stack([cells, cells])
        self._columns.append(_Column(FREE, False, cells, both, both, np.empty(0, np.bool_), NO_CELL, len(cuts) + 1))
        first_right = np.searchsorted(cuts, forest.thresholds[nodes], side="right")
        for node, cut in zip(nodes, first_right, strict=True):
            self._node_tests[node] = self._tests.add(at, int(cut), False, bool(forest.missing_left[node]), None)

    def run(self, max_splits: int, n_jobs: int | None, report: Callable[[str, float], None]) -> ExtremeRows:
        """Search the neighbourhood of everybody; people alike are searched once."""
        rows = ExtremeRows.start(self._around)
        bound = np.zeros((2, len(self._around)))
        for direction, sign in ((UP, 1.0), (DOWN, -1.0)):
            step = "Searching for higher scores" if direction == UP else "Searching for lower scores"
            how = _Effort(max_splits, n_jobs or n_cores(), partial(report, step))
            sums, highest, cells = self._search(self._columns, direction, sign, how)
            bound[direction] = highest + self._forest.offset
            rows.is_possible[direction] = np.isfinite(sums)
            self._write(rows, cells, direction)
        return replace(rows, bound=bound)

    def own_sums(self) -> Numbers:
        """Return the sum of leaves of everybody as they are, for comparison with the model's own score."""
        same = [
            replace(one, kind=FREE, low=np.stack([one.own] * 2), high=np.stack([one.own] * 2)) for one in self._columns
        ]
        sums, _, _ = self._search(same, UP, 1.0, None)
        return sums + self._forest.offset

    def _search(
        self, columns: list[_Column], direction: int, sign: float, how: _Effort | None
    ) -> tuple[Numbers, Numbers, Codes]:
        """Return sums, bounds and cells of everybody; without effort, of everybody's own row."""
        n, rule, forest = len(self._around), self._around.rule, self._forest
        nothing = np.zeros((n, 0), np.int64)
        cells = [
            np.column_stack([nothing, *found])
            for found in (
                [one.own for one in columns],
                [one.low[direction] for one in columns],
                [one.high[direction] for one in columns],
            )
        ]
        _, first, back = np.unique(np.column_stack(cells), axis=0, return_index=True, return_inverse=True)
        known = [np.empty(0, np.bool_), *(one.is_known for one in columns)]
        starts = np.cumsum([len(one) for one in known])[: len(columns)].astype(np.int64)
        model = (
            (forest.roots, self._node_tests, forest.left, forest.right, forest.values),
            self._tests.arrays(),
            (
                np.array([one.kind for one in columns], np.int64),
                np.array([one.is_coded for one in columns], np.bool_),
                np.array([one.zero_cell for one in columns], np.int64),
                np.array([one.nan_cell for one in columns], np.int64),
            ),
        )
        is_sensitive = np.array([one.kind == SENSITIVE for one in columns], np.bool_)
        boxes = boxes_of(rule, int(is_sensitive.sum()))
        allowed = np.zeros((1 if how is None else len(boxes), len(columns)), np.int64)
        if how is not None:
            allowed[:, is_sensitive] = boxes
        out = (
            *(np.zeros(len(first)) for _ in range(2)),
            np.zeros(len(first), np.int64),
            np.zeros_like(cells[0][first]),
        )

        def search(some: slice) -> None:
            rows = first[some]
            people = tuple(np.ascontiguousarray(one[rows]) for one in cells)
            n_splits = 1 if how is None else how.max_splits
            parts = tuple(one[some] for one in out)
            search_people(
                *model,
                people,
                (rule.max_discrete_changes, allowed),
                (starts, np.concatenate(known)),
                sign,
                n_splits,
                parts,
            )

        _search_in_parts(search, len(first), how)
        back = np.ravel(back)
        return out[0][back], out[1][back], out[3][back]

    def _write(self, rows: ExtremeRows, cells: Codes, direction: int) -> None:
        people = np.arange(len(self._around))
        for column in self._around.coded:
            if column.name in self._names:
                rows.codes[column.name][direction] = cells[:, self._names[column.name]]
        for number in self._numbers:
            rows.numbers[number.column.name][direction] = number.value(cells[:, number.position], people, direction)
        for column, at in self._unseen.items():
            rows.codes[column.name][direction] = (column.own + cells[:, at]) % max(column.n_codes, 1)
