"""What a person comparable to another may have in each column, and rows of such people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from likewise._checks import parameter
from likewise.comparable import Comparability
from likewise.exceptions import RuleError, SchemaError
from likewise.schema import CodedTable, Schema
from likewise.schema._internal import MISSING_RANK, MISSING_VALUE, open_frame, overwrite_columns

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]
CodedKind = Literal["sensitive", "discrete", "ordinal", "matched"]

CODED_KINDS: Final[tuple[CodedKind, ...]] = ("sensitive", "discrete", "ordinal", "matched")
UP, DOWN = 0, 1  # the comparable person has the higher score, or the lower one
ANY_VALUE, OWN_VALUE, OTHER_VALUE = 0, 1, 2  # what a sensitive column may have in a box of comparable people
DOUBLINGS: Final = 1_100  # from a thousandth of a range beyond the largest float


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column of categories: the code of each person, and the codes that a comparable one may have.

    An ordinal column has a lowest and a highest code for each direction and person; where it is missing, it stays so,
    under a code after those of the categories. Of the others, a column that may not change keeps its code.
    """

    name: str
    kind: CodedKind
    own: Codes
    n_codes: int
    may_change: bool
    low: Codes  # (2, n people)
    high: Codes


@dataclass(frozen=True, slots=True, eq=False)
class NumberColumn:
    """A continuous column: the number of each person, NaN if missing, and between which numbers a comparable one is."""

    name: str
    own: Numbers
    low: Numbers  # (2, n people): for a higher and for a lower score
    high: Numbers
    is_whole: bool  # holds whole numbers only, and so does whoever is comparable


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """People, and for each of them everybody who would be comparable by the rule."""

    frame: Any
    schema: Schema
    rule: Comparability
    table: CodedTable
    coded: tuple[CodedColumn, ...]
    numbers: tuple[NumberColumn, ...]

    def __len__(self) -> int:
        return len(self.table)

    @classmethod
    def of(cls, frame: Any, schema: Schema, rule: Comparability, *, within_range: bool) -> Neighbourhood:
        """Find the neighbourhood of every row of a frame; refuse rules about more than the two rows."""
        _refuse_scores_and_bins(rule, schema)
        n_rows = len(open_frame(frame))
        if not n_rows:
            raise SchemaError("The frame has no rows, so there is nobody to certify. Pass a frame with rows.")
        table = schema.encode(frame, np.zeros(n_rows, np.int64))
        rule.check(table)
        coded = tuple(
            _coded_column(name, kind, position, table, rule)
            for kind in CODED_KINDS
            for position, name in enumerate(table.names[kind])
        )
        numbers = tuple(
            _number_column(name, position, frame, schema, table, rule, within_range)
            for position, name in enumerate(table.names["continuous"])
        )
        return cls(frame, schema, rule, table, coded, numbers)

    def rows(self, people: Codes, codes: Mapping[str, Codes], numbers: Mapping[str, Numbers]) -> Any:
        """Return rows of people with other codes and numbers put in place, as a frame of the user's library."""
        import pyarrow as pa

        table = self.table[people]
        arrays: dict[str, Any] = {kind: np.array(getattr(table, kind)) for kind in CODED_KINDS}
        changed: dict[str, NDArray[np.bool_]] = {}
        for column in self.coded:
            if column.name in codes and (codes[column.name] != column.own[people]).any():
                new = codes[column.name]
                position = self.table.names[column.kind].index(column.name)
                changed[column.name] = new != column.own[people]
                arrays[column.kind][:, position] = np.where(changed[column.name], new, arrays[column.kind][:, position])
        decoded: Any = self.schema.decode(replace(table, **arrays), kind="pyarrow") if changed else None
        made = {name: decoded.column(name) for name in changed}
        for one in self.numbers:
            if one.name in numbers:
                values = numbers[one.name]
                changed[one.name] = (values != one.own[people]) & ~np.isnan(values)
                kept = np.where(changed[one.name], values, 0.0)
                made[one.name] = pa.chunked_array([pa.array(kept.astype(np.int64) if one.is_whole else kept)])
        return overwrite_columns(self.frame, people, pa.table(made), changed)


def boxes_of(rule: Comparability, n_sensitive: int) -> Codes:
    """Return the boxes of sensitive values that a rule allows: for each, what every sensitive column may have.

    That any column differs is one box for each column that is the first to differ.
    """
    if rule.sensitive_differs == "any":
        first, column = np.arange(n_sensitive)[:, None], np.arange(n_sensitive)
        return np.where(column < first, OWN_VALUE, np.where(column == first, OTHER_VALUE, ANY_VALUE))
    return np.full((1, n_sensitive), OWN_VALUE if rule.sensitive_differs == "none" else OTHER_VALUE)


def _refuse_scores_and_bins(rule: Comparability, schema: Schema) -> None:
    if rule.asks_more:
        asked = " and ".join(map(parameter, rule.asks_more))
        raise RuleError(f"{asked} ask who is the control, or for scores, so there is no certificate. Leave them out.")
    for name in schema.roles.bins:
        raise RuleError(
            f"Sensitive column '{name}' is cut into bins, so it is not known which numbers in another bin are "
            "possible. Certify with a column that holds the bins themselves."
        )


def _coded_column(
    name: str,
    kind: CodedKind,
    position: int,
    table: CodedTable,
    rule: Comparability,
) -> CodedColumn:
    own = getattr(table, kind)[:, position].astype(np.int64)
    n_codes = len(table.categories[name])
    low, high = np.zeros((2, len(own)), np.int64), np.full((2, len(own)), n_codes - 1)
    if kind == "ordinal":
        missing = own == MISSING_RANK
        reach = int(np.floor(min(rule.ordinal_limits(table)[position], n_codes)))
        low, high = np.maximum(own - reach, 0) + low, np.minimum(own + reach, n_codes - 1) + 0 * high
        own = np.where(missing, n_codes, own)
        low, high = np.where(missing, n_codes, low), np.where(missing, n_codes, high)
    may_change = kind == "sensitive" or (
        kind == "discrete" and name not in rule.must_match and rule.max_discrete_changes > 0
    )
    return CodedColumn(name, kind, own, n_codes, may_change, low, high)


def _number_column(
    name: str,
    position: int,
    frame: Any,
    schema: Schema,
    table: CodedTable,
    rule: Comparability,
    within_range: bool,
) -> NumberColumn:
    own = open_frame(frame).column(name).numbers("continuous")
    codes = table.continuous[:, position]
    missing = np.isnan(own)
    if missing.any() and (codes[missing] != MISSING_VALUE).any():
        raise RuleError(
            f"Column '{name}' has missing values that are compared as the median, but a model sees that they are "
            f"missing. Fill them in, or keep them apart: {parameter('missing', 'apart')}."
        )
    unit, test = table.units[name], rule.nearness(table)[position]
    present = np.where(missing, unit.low, own)
    codes = np.where(missing, 0.0, codes)

    def is_near(values: Numbers) -> NDArray[np.bool_]:
        with np.errstate(over="ignore", invalid="ignore"):
            there = (values - unit.low) / unit.width
            near = test.holds(test.values(codes), test.values(there))
            return near & (test.signs(codes) == test.signs(there)) if test.is_ratio else near

    ends = [_farthest(present, unit.width, is_near, sign) for sign in (-1.0, 1.0)]
    low, high = (np.stack([end, end]) for end in ends)
    if within_range:  # of the training rows and of these people, so that nobody who exists is left out
        known = schema.ranges[name]
        low = np.maximum(low, min(known[0], float(present.min())))
        high = np.minimum(high, max(known[1], float(present.max())))
    is_whole = unit.decimals == 0 and unit.day is None and bool((present == np.rint(present)).all())
    if is_whole:
        low, high = np.ceil(low), np.floor(high)
    low, high = (np.where(missing, np.nan, end) for end in (low, high))
    return NumberColumn(name, own, low, high, is_whole)


def _farthest(start: Numbers, width: float, holds: Callable[[Numbers], NDArray[np.bool_]], sign: float) -> Numbers:
    """Return for each start the number farthest from it, in one direction, up to which a test holds."""
    step = np.full(len(start), width * 1e-3)
    beyond = start + sign * step
    for _ in range(DOUBLINGS):
        still = holds(beyond) & np.isfinite(beyond)
        if not still.any():
            break
        step = np.where(still, 2 * step, step)
        with np.errstate(over="ignore"):
            beyond = np.where(still, start + sign * step, beyond)
    limit = np.finfo(np.float64).max
    inside, outside = order_of(start), order_of(np.clip(beyond, -limit, limit))
    while True:
        middle = middle_of(inside, outside)
        if (middle == inside).all():
            break
        near = holds(number_at(middle))
        inside, outside = np.where(near, middle, inside), np.where(near, outside, middle)
    return number_at(inside)


def middle_of(one: Codes, other: Codes) -> Codes:
    """Return a whole number strictly between two, without overflow; the first itself if there is none."""
    middle = (one & other) + ((one ^ other) >> 1)
    return np.where(middle == other, one, middle)


def order_of(numbers: Numbers) -> Codes:
    """Return the position of each float64 among all of them, in order."""
    bits = np.asarray(numbers + 0.0, np.float64).view(np.int64)  # adding 0 makes -0 of 0
    return np.where(bits >= 0, bits, np.int64(-(2**63)) - bits)


def number_at(positions: Codes) -> Numbers:
    """Undo :func:`order_of`."""
    positions = np.asarray(positions, np.int64)
    return np.where(positions >= 0, positions, np.int64(-(2**63)) - positions).view(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ExtremeRows:
    """One row per direction and person: by column name, arrays of two rows."""

    around: Neighbourhood
    codes: dict[str, Codes]
    numbers: dict[str, Numbers]
    is_possible: Any  # (2, n): whether anybody comparable is possible at all
    bound: Numbers | None = None

    @classmethod
    def start(cls, around: Neighbourhood) -> ExtremeRows:
        """Begin with everybody as they are."""
        codes = {column.name: np.stack([column.own, column.own]) for column in around.coded}
        numbers = {column.name: np.stack([column.own, column.own]) for column in around.numbers}
        return cls(around, codes, numbers, np.ones((2, len(around)), np.bool_))

    def frame(self, direction: int, people: Codes) -> Any:
        """Return the rows of one direction as a frame of the user's library."""
        codes = {name: one[direction][people] for name, one in self.codes.items()}
        numbers = {name: one[direction][people] for name, one in self.numbers.items()}
        return self.around.rows(people, codes, numbers)

    def merged(self, directions: Codes, has_row: Any) -> Any:
        """Return one row per person: of the given direction, or the person's own without a comparable one."""
        people = np.arange(len(self.around))
        codes = {name: one[directions, people] for name, one in self.codes.items()}
        numbers = {name: one[directions, people] for name, one in self.numbers.items()}
        own_codes, own_numbers = (
            {one.name: one.own for one in part} for part in (self.around.coded, self.around.numbers)
        )
        return self.around.rows(
            people,
            {name: np.where(has_row, one, own_codes[name]) for name, one in codes.items()},
            {name: np.where(has_row, one, own_numbers[name]) for name, one in numbers.items()},
        )
