"""Limits in the units of a column: how they are written, what they allow, and the test of two numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from likewise._checks import parameter
from likewise.exceptions import RuleError
from likewise.schema import CodedTable
from likewise.schema._internal import MISSING_RANK, MISSING_VALUE, Unit

SHIFT_TOLERANCE: Final = 1e-9  # 0.4 - 0.3 > 0.1 in floats; every engine adds this, or more for coarser numbers
DECIMALS: Final = 9  # of a difference in units, or more where those of the column are
FINEST: Final = 2e-15  # errors of scaling two numbers and taking their difference

Measure = Literal["units", "points", "%", "of range", "of middle range", "days", "ranks"]
Direction = Literal["higher", "lower"]
WORDS: Final[dict[str, Measure]] = {
    "": "units",
    **dict.fromkeys(("point", "points"), "points"),
    **dict.fromkeys(("%", "percent"), "%"),
    **dict.fromkeys(("of range", "of the range"), "of range"),
    **dict.fromkeys(("of middle range", "of the middle range"), "of middle range"),
    **dict.fromkeys(("day", "days"), "days"),
    **dict.fromkeys(("rank", "ranks"), "ranks"),
}
OF_RANGE: Final = ("of range", "of middle range")
SHARES: Final[dict[str, Measure]] = {f"% {word}": WORDS[word] for word in WORDS if word.endswith("range")}
WRITTEN: Final = re.compile(
    r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-z%][a-z% ]*)?", re.I
)
HOW: Final = (
    "Write '5000' for units of the column, '2 points', '10 %' of the larger value, '0.05 of range', '0.05 of middle "
    "range' (1st to 99th percentile), '30 days' for dates, or '1 rank'."
)


@dataclass(frozen=True, slots=True)
class FieldLimit:
    """How far apart a column may be, as an examiner writes it: an amount, and what it is measured in."""

    amount: float
    measure: Measure

    @classmethod
    def read(cls, column: str, given: Any) -> FieldLimit:
        """Read ``5000``, ``"5,000"``, ``"2 points"``, ``"10 %"``, ``"5 % of middle range"``, ``"30 days"``, ..."""
        plain = given.item() if isinstance(given, np.generic) else given
        if isinstance(plain, int | float) and not isinstance(plain, bool):
            plain = repr(plain)
        found = WRITTEN.fullmatch(plain.strip()) if isinstance(plain, str) else None
        word = " ".join((found[2] or "").lower().split()) if found else None
        if found is None or (word not in WORDS and word not in SHARES):
            raise RuleError(f"{parameter('limits')} gives {given!r} for column '{column}', which is no limit. {HOW}")
        amount = float(found[1].replace(",", ""))
        if not np.isfinite(amount):
            raise RuleError(f"{parameter('limits')} gives {given!r} for column '{column}'; give a finite number.")
        limit = cls(amount / 100, SHARES[str(word)]) if word in SHARES else cls(amount, WORDS[str(word)])
        if limit.measure == "%" and limit.amount >= 100:
            raise RuleError(
                f"{parameter('limits')} gives {given!r} for column '{column}': any two values of one sign are that "
                "near, as it is a share of the larger. Give less than 100 %."
            )
        if limit.measure in OF_RANGE and limit.amount > 1:
            raise RuleError(
                f"{parameter('limits')} gives {given!r} for column '{column}', which is more than its whole range: "
                f"write '0.05 {limit.measure}' for 5%."
            )
        return limit

    def __str__(self) -> str:
        amount = f"{self.amount:.15g}"
        is_one = self.amount == 1 and self.measure in ("points", "days", "ranks")
        word = self.measure[:-1] if is_one else self.measure
        return amount if self.measure == "units" else f"{amount} {word}"

    def describe(self) -> str:
        """Say how far apart two people may be."""
        words = {
            "units": "",
            "%": "% of the larger value",
            "of range": " of its range",
            "of middle range": " of its middle range (1st to 99th percentile)",
            "days": " day" if self.amount == 1 else " days",
            "points": " point" if self.amount == 1 else " points",
            "ranks": " rank" if self.amount == 1 else " ranks",
        }
        return f"{self.amount:,.15g}{words[self.measure]}"

    def ranks(self, column: str) -> float:
        """Return how many ranks apart an ordinal column may be."""
        if self.measure not in ("units", "ranks"):
            raise RuleError(
                f"{parameter('limits')} gives '{self}' for column '{column}', which is ordinal and has ranks: write "
                "'1 rank'."
            )
        return self.amount

    def shift(self, column: str, table: CodedTable) -> float:
        """Return how far apart the codes of a continuous column may be; NaN where that depends on the value."""
        if self.measure == "of range":
            return self.amount
        unit = table.units.get(column)
        if unit is None:
            raise RuleError(
                f"{parameter('limits')} gives '{self}' for column '{column}', but this table does not know the units "
                "of its columns. Encode it with a schema, or write a share, such as '0.05 of range'."
            )
        if self.measure == "of middle range":
            return self.share(column, unit)
        self._refuse_other(column, unit)
        if self.measure == "%":
            return float("nan")
        return self.amount * (unit.day or 1.0) / unit.width

    def differences(self, unit: Unit, left: NDArray[np.float64], right: NDArray[np.float64]) -> Differences:
        """Return how far apart the numbers are that two arrays of codes stand for, and may be."""
        one, other = (np.where(codes == MISSING_VALUE, np.nan, unit.numbers(codes)) for codes in (left, right))
        found = unit.as_written(np.abs(one - other)) / (unit.day or 1.0)
        allowed = np.full(len(found), self.amount)
        if self.measure == "%":
            allowed = self.amount / 100 * np.maximum(np.abs(one), np.abs(other))
        decimals = max(DECIMALS, unit.decimals or 0)
        return Differences(
            np.round(found, decimals), np.round(allowed, decimals), "units" if unit.day is None else "days"
        )

    def share(self, column: str, unit: Unit) -> float:
        """Return a share of the range, or of its middle, as one of the whole range."""
        if self.measure == "of range":
            return self.amount
        begun = f"{parameter('limits')} gives '{self}' for column '{column}', but"
        if unit.middle is None:
            raise RuleError(f"{begun} its table has no percentiles. Code it with a schema.")
        low, high = unit.middle
        if low == high and self.amount:
            raise RuleError(
                f"{begun} its 1st and its 99th percentile are both {show_number(low, unit)}. Give a limit in units."
            )
        return self.amount * (high - low) / unit.width

    def _refuse_other(self, column: str, unit: Unit) -> None:
        """Refuse a measure that a column does not have."""
        begun = f"{parameter('limits')} gives '{self}' for column '{column}', which"
        if unit.day is not None and self.measure != "days":
            raise RuleError(f"{begun} holds dates or times: write '30 days', or a share, such as '0.05 of range'.")
        if unit.day is None and self.measure == "days":
            raise RuleError(f"{begun} holds numbers and not dates. Write '{self.amount:.15g}', in its own units.")
        if self.measure == "ranks":
            raise RuleError(f"{begun} is continuous and has no ranks. Write '{self.amount:.15g}', in its own units.")
        if self.measure == "points" and max(abs(unit.low), abs(unit.low + unit.width)) <= 1:
            raise RuleError(
                f"{begun} goes from {unit.low:.4g} to {unit.low + unit.width:.4g}: points are units of a column in "
                f"percent. Write '{self.amount / 100:.15g}' if these are shares, else '{self.amount:.15g}'."
            )


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """How far apart pairs are in a column, and may be, in its units or in days; NaN where a value is missing."""

    found: NDArray[np.float64]
    allowed: NDArray[np.float64]
    unit: Literal["units", "days"]

    def at(self, place: int) -> dict[str, Any]:
        """Return the difference, the limit and the unit of one pair, by name; none where a value is missing."""
        found, allowed = float(self.found[place]), float(self.allowed[place])
        return {} if np.isnan(found) else {"difference": found, "limit": allowed, "unit": self.unit}


@dataclass(frozen=True, slots=True)
class Nearness:
    """The test of two numbers of a column: a largest difference or, relative to the value, a least ratio.

    Both tests are one rounded operation and a comparison, so that every engine decides alike, and what is near a
    number is an unbroken run of the numbers in order.
    """

    limit: float  # the largest difference, ties included; or the least share of the larger that the smaller is
    unit: Unit | None = None  # of a column whose limit is relative to its values

    @property
    def is_ratio(self) -> bool:
        """Whether numbers are compared by their ratio."""
        return self.unit is not None

    def values(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what is compared: the codes, or how large the numbers are that they stand for."""
        if self.unit is None:
            return codes
        return np.where(codes == MISSING_VALUE, 0.0, np.abs(self.unit.numbers(codes)))

    def signs(self, codes: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the sign of each number: by ratio, only numbers of one sign are near."""
        assert self.unit is not None
        return np.where(codes == MISSING_VALUE, 0.0, np.sign(self.unit.numbers(codes))).astype(np.int32)

    def holds(self, one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare two arrays of what :meth:`values` returns."""
        near: NDArray[np.bool_]
        if self.is_ratio:
            near = np.maximum(one, other) * self.limit <= np.minimum(one, other)
        else:
            with np.errstate(over="ignore"):  # an infinite difference is rightly a far one
                near = np.abs(one - other) <= self.limit
        return near


def by_difference(shift: float, name: str, table: CodedTable) -> Nearness:
    """Allow a difference of codes, and ties as far as the numbers are precise; 0 is equality."""
    return Nearness(shift + max(SHIFT_TOLERANCE, table.precision.get(name, 0.0)) if shift > 0 else 0.0)


def by_limit(limit: FieldLimit, name: str, table: CodedTable) -> Nearness:
    """Resolve a limit in units for a continuous column; however far its range, ties are finer than its decimals."""
    shift = limit.shift(name, table)
    if limit.measure == "of range":
        return by_difference(shift, name, table)
    if limit.measure == "%":
        unit = table.units[name]
        largest = max(abs(unit.low), abs(unit.low + unit.width)) or 1.0
        tie = max(SHIFT_TOLERANCE, table.precision.get(name, 0.0) * unit.width / largest)
        return Nearness((1 - limit.amount / 100) * (1 - tie) if limit.amount else 1.0, unit)
    return Nearness(shift + tie_of(name, table) if shift > 0 else 0.0)


def tie_of(name: str, table: CodedTable) -> float:
    """Return the difference of codes that is none: less than a step of the decimals, but no less than the errors."""
    step = table.units[name].step if name in table.units else 0.0
    tie = min(SHIFT_TOLERANCE, max(step / 2, FINEST)) if step else SHIFT_TOLERANCE
    return max(tie, table.precision.get(name, 0.0))


@dataclass(frozen=True, slots=True)
class NoBetter:
    """A column in which the control must not be better, and which direction is better."""

    column: str
    better: Direction

    @classmethod
    def read(cls, text: Any) -> NoBetter:
        """Read ``"income:higher"``; ``"dti"`` is ``"dti:lower"``."""
        column, colon, better = text.rpartition(":") if isinstance(text, str) else ("", "", "")
        if not colon and isinstance(text, str):
            column, better = text, "lower"
        if not column or better not in get_args(Direction):
            raise RuleError(
                f"{parameter('no_better')} has {text!r}; write 'income:higher' where higher is better, and 'dti:lower' "
                "or 'dti' where lower is."
            )
        return cls(column, "higher" if better == "higher" else "lower")

    def __str__(self) -> str:
        return f"{self.column}:{self.better}"

    def merits(self, table: CodedTable) -> NDArray[np.float64]:
        """Return how good each person is in the column, higher being better; NaN where that is missing."""
        kind = "ordinal" if self.column in table.names["ordinal"] else "continuous"
        codes = getattr(table, kind)[:, table.names[kind].index(self.column)]
        is_missing = codes == (MISSING_RANK if kind == "ordinal" else MISSING_VALUE)
        return np.where(is_missing, np.nan, codes if self.better == "higher" else -1.0 * codes)


def show_shift(shift: float, unit: Unit) -> str:
    """Write a difference of codes in units of its column: 1.83, 5,000 or 30 days."""
    amount = shift * unit.width / (unit.day or 1.0)
    shown = f"{amount:,.0f}" if amount >= 1000 else f"{amount:.3g}"
    return shown if unit.day is None else f"{shown} day" if shown == "1" else f"{shown} days"


def show_number(number: float, unit: Unit) -> str:
    """Write a number of a column; of dates and times, the date."""
    if unit.day is not None:
        return str(np.datetime64("1970-01-01") + np.timedelta64(int(number // unit.day), "D"))
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"
