"""One codec per kind of column: what it learned, and how it encodes values to numbers and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from likewise._checks import parameter
from likewise._format import count_of
from likewise.exceptions import SchemaError
from likewise.schema._arrow import (
    Column,
    Dtype,
    array_of_numbers,
    array_of_values,
    fields_from_json,
    fields_to_json,
    number_values,
    show_values,
    sort_values,
)
from likewise.schema._numbers import MAX_DECIMALS, count_decimals, middle_places
from likewise.schema._table import EXACT, Unit

Missing = Literal["refuse", "median", "apart"]
Unseen = Literal["keep", "error"]

MISSING_VALUE: Final = -1e9  # code of "apart": finite and far from every value
MISSING_RANK: Final = -1_000_000
MAX_SENSITIVE_NUMBERS: Final = 20  # with more distinct fractional numbers, values are not groups
MAX_SENSITIVE_VALUES: Final = 1_000  # of any other kind: pairs are counted by every two of them
MAX_EXACT_POWER: Final = 22  # higher powers of ten are not exact in float64
TRUSTED: Final = 1e15  # a scaled number is reliable to this many steps
TIME_STEPS: Final = (86_400e6, 3_600e6, 60e6, 1e6, 1e3, 1.0)  # a day to a microsecond


@dataclass(frozen=True, slots=True)
class Categories:
    """Encode a sensitive, discrete or matched column by the position of each category."""

    values: tuple[Any, ...]

    @classmethod
    def learn(cls, column: Column, role: str) -> Categories:
        """Take the distinct values in order, the missing one last."""
        values, _ = column.distinct()
        is_fractional = any(isinstance(value, float) and not value.is_integer() for value in values)
        if role == "sensitive" and is_fractional and len(values) > MAX_SENSITIVE_NUMBERS:
            raise SchemaError(
                f"Sensitive column '{column.name}' has {len(values):,} distinct fractional numbers, too many "
                f"to be groups. Cut it into intervals, such as {parameter('bins', {column.name: 4})}."
            )
        if role == "sensitive" and len(values) > MAX_SENSITIVE_VALUES:
            raise SchemaError(
                f"Sensitive column '{column.name}' has {len(values):,} distinct values, so many that they identify "
                "people rather than groups. Name another column, merge values, or cut numbers into intervals, such as "
                f"{parameter('bins', {column.name: 4})}."
            )
        return cls(sort_values(values))

    def encode(self, column: Column, unseen: Unseen, codes: NDArray[Any]) -> tuple[Any, ...]:
        """Fill in the codes; return their categories: the learned ones, then unseen ones."""
        values, rows = column.distinct()
        positions, categories = _positions(self.values, values, column.name, unseen)
        number_values([positions[value] for value in values], rows, codes)
        return categories

    def decode(self, codes: NDArray[Any], categories: Sequence[Any], dtype: Dtype, rounded: bool) -> tuple[Any, Dtype]:
        """Look the codes up."""
        return array_of_values(tuple(categories), codes, dtype), dtype


@dataclass(frozen=True, slots=True)
class Intervals:
    """Encode a numeric sensitive column by interval; each interval contains its lower end."""

    edges: tuple[float, ...]
    has_missing: bool

    @classmethod
    def learn(cls, column: Column, bins: int | Sequence[float]) -> Intervals:
        """Use the given edges, or quantiles for intervals of about equal size."""
        numbers = _binnable(column)
        present = numbers[~np.isnan(numbers)]
        if isinstance(bins, int):
            if not len(present):
                raise SchemaError(
                    f"Sensitive column '{column.name}' has no values to cut into bins. Give edges, or leave it out."
                )
            cuts = np.unique(np.quantile(present, np.arange(1, bins) / bins, method="higher"))
            edges = cuts[cuts > present.min()]
        else:
            edges = np.array(bins, np.float64)
        return cls(tuple(edges.tolist()), len(present) < len(numbers))

    @property
    def values(self) -> tuple[str | None, ...]:
        """The intervals as text, the missing one last."""
        ends = [f"{int(edge)}" if edge.is_integer() else repr(edge) for edge in self.edges]
        if not ends:
            words = ["any number"]
        else:
            between = [f"{low} to under {high}" for low, high in pairwise(ends)]
            words = [f"under {ends[0]}", *between, f"{ends[-1]} or more"]
        return (*words, None) if self.has_missing else tuple(words)

    def encode(self, column: Column, unseen: Unseen, codes: NDArray[Any]) -> tuple[Any, ...]:
        """Fill in the interval of each number."""
        numbers = _binnable(column)
        missing = np.isnan(numbers)
        codes[:] = np.searchsorted(np.array(self.edges), numbers, side="right")
        categories = self.values
        if missing.any():
            positions, categories = _positions(categories, [None], column.name, unseen)
            codes[missing] = positions[None]
        return categories

    def decode(self, codes: NDArray[Any], categories: Sequence[Any], dtype: Dtype, rounded: bool) -> tuple[Any, Dtype]:
        """Return the intervals as text; the numbers themselves are lost."""
        text = Dtype("string")
        return array_of_values(tuple(categories), codes, text), text


@dataclass(frozen=True, slots=True)
class Ranks:
    """Encode an ordinal column by the rank of each category."""

    values: tuple[Any, ...]
    missing: Missing
    median: int

    @classmethod
    def learn(cls, column: Column, values: tuple[Any, ...], missing: Missing) -> Ranks:
        """Check that every value has a rank, and find the median."""
        ranks = np.empty(len(column.array), np.int32)
        cls(values, "apart", 0).encode(column, "error", ranks)
        present = ranks[ranks != MISSING_RANK]
        refuse_missing(column.name, "Ordinal", column.array.null_count, missing)
        if not len(present):
            raise SchemaError(f"Ordinal column '{column.name}' has no values. Put it in {parameter('ignored')}.")
        return cls(values, missing, int(np.sort(present)[(len(present) - 1) // 2]))

    def encode(self, column: Column, unseen: Unseen, codes: NDArray[Any]) -> tuple[Any, ...]:
        """Fill in ranks; a value without one is refused for any ``unseen``."""
        values, rows = column.distinct()
        ranks = {value: rank for rank, value in enumerate(self.values)}
        unknown = sort_values(value for value in values if value is not None and value not in ranks)
        if unknown:
            raise SchemaError(
                f"Ordinal column '{column.name}' holds {show_values(unknown)}, which its order {list(self.values)} "
                "does not rank. Add them to the order."
            )
        refuse_missing(column.name, "Ordinal", column.array.null_count, self.missing)
        ranks[None] = self.median if self.missing == "median" else MISSING_RANK
        number_values([ranks[value] for value in values], rows, codes)
        return self.values

    def decode(self, codes: NDArray[Any], categories: Sequence[Any], dtype: Dtype, rounded: bool) -> tuple[Any, Dtype]:
        """Look the ranks up; negative ones are missing."""
        return array_of_values(tuple(categories), codes, dtype), dtype


@dataclass(frozen=True, slots=True)
class Scale:
    """Encode a continuous column as a fraction of its training range."""

    low: float
    high: float
    decimals: int | None
    missing: Missing
    median: float
    middle: tuple[float, ...]  # the 1st and the 99th percentile

    @classmethod
    def learn(cls, column: Column, missing: Missing) -> Scale:
        """Find the range, the middle of it, the median and the number of decimals."""
        numbers, (low, high) = column.numbers("continuous"), column.ends("continuous")
        present = numbers[~np.isnan(numbers)] if column.array.null_count else numbers
        if not len(present):
            raise SchemaError(f"Continuous column '{column.name}' has no values. Put it in {parameter('ignored')}.")
        refuse_missing(column.name, "Continuous", len(numbers) - len(present), missing)
        if len(present) < len(numbers):
            low, high = float(present.min()), float(present.max())
        if not math.isfinite(high - low):
            raise SchemaError(
                f"Continuous column '{column.name}' ranges from {low} to {high}, too wide for float64. Rescale it."
            )
        places = [*middle_places(len(present)), (len(present) - 1) // 2, len(present) // 2]
        low, high = low + 0.0, high + 0.0  # of zeros, which sign is found depends on the processor
        *middle, below, above = (np.partition(present, places)[places] + 0.0).tolist()
        decimals = 0 if column.dtype.is_whole else count_decimals(present, max(abs(low), abs(high)))
        return cls(low, high, decimals, missing, below / 2 + above / 2, tuple(middle))

    @property
    def is_sound(self) -> bool:
        """Whether this is a range of float64 numbers, as one that was read should be."""
        if not isinstance(self.middle, tuple) or len(self.middle) != 2:
            return False
        numbers = (self.low, self.high, self.median, *self.middle)
        return (
            all(type(number) in (int, float) for number in numbers)
            and all(-math.inf < one < math.inf for one in (*numbers, self.high - self.low))
            and self.low <= self.high
            and (self.decimals is None or (type(self.decimals) is int and 0 <= self.decimals <= MAX_DECIMALS))
        )

    @property
    def width(self) -> float:
        """The training range, which a shift of 1 spans; 1 if it is a single number."""
        return self.high - self.low or 1.0

    def precision(self, dtype: Dtype) -> float:
        """How uncertain a difference of two numbers is, as a share of the range: two steps of the largest float."""
        kind = {"float": "float32", "halffloat": "float16", "double": "float64"}.get(dtype.arrow)
        largest = np.array(max(abs(self.low), abs(self.high)), kind)
        return 0.0 if kind is None else 2.0 * float(np.spacing(largest)) / self.width

    def encode(self, column: Column, unseen: Unseen, codes: NDArray[Any]) -> tuple[Any, ...]:
        """Fill in scaled numbers; those outside the training range lie outside [0, 1]."""
        numbers, ends = column.numbers("continuous"), column.ends("continuous")
        absent = np.isnan(numbers) if column.array.null_count else None
        if absent is not None:
            refuse_missing(column.name, "Continuous", int(np.count_nonzero(absent)), self.missing)
            numbers = np.where(absent, self.median, numbers)
            ends = float(numbers.min()), float(numbers.max())
        with np.errstate(over="ignore"):
            np.subtract(numbers, self.low, out=codes)
            np.divide(codes, self.width, out=codes)
        lowest, highest = ((end - self.low) / self.width for end in ends)  # rounding keeps the order
        if len(codes) and not (math.isfinite(lowest) and math.isfinite(highest)):
            raise SchemaError(
                f"Continuous column '{column.name}' has values too far outside the training range, {self.low} to "
                f"{self.high}, for float64. Drop those rows, or learn from a frame that includes such values."
            )
        if lowest <= MISSING_VALUE:
            codes[codes == MISSING_VALUE] = np.nextafter(MISSING_VALUE, 0.0)  # a value so far out is still a value
        if absent is not None and self.missing == "apart":
            codes[absent] = MISSING_VALUE
        return ()

    def decode(self, codes: NDArray[Any], categories: Sequence[Any], dtype: Dtype, rounded: bool) -> tuple[Any, Dtype]:
        """Scale back, and round off the errors of scaling."""
        numbers = codes * self.width + self.low
        if not dtype.is_whole:
            numbers = self._round(numbers, rounded)
        if self.missing == "apart":
            numbers = np.where(codes == MISSING_VALUE, np.nan, numbers)
        return array_of_numbers(numbers, dtype), dtype

    def snap(self, codes: NDArray[np.float64], dtype: Dtype) -> NDArray[np.float64]:
        """Move codes to the nearest value the column can have: integers, or its number of decimals."""
        numbers = codes * self.width + self.low
        if dtype.family in ("times", "times with a zone"):
            step = self._time_step()
            numbers = np.rint((numbers - self.low) / step) * step + self.low
        else:
            numbers = np.rint(numbers) if dtype.is_whole else self._round(numbers, rounded=True)
        if dtype.arrow in ("float", "halffloat"):  # fewer digits than float64
            numbers = numbers.astype(np.float32 if dtype.arrow == "float" else np.float16).astype(np.float64)
        snapped: NDArray[np.float64] = (numbers - self.low) / self.width
        return np.where(codes == MISSING_VALUE, codes, snapped) if self.missing == "apart" else snapped

    def _time_step(self) -> float:
        """Guess the unit of times, day to microsecond: the coarsest that divides range and median."""
        apart = (self.high - self.low, 2 * (self.median - self.low))
        return next((step for step in TIME_STEPS if all(one % step == 0 for one in apart)), 1.0)

    def _round(self, numbers: NDArray[np.float64], rounded: bool) -> NDArray[np.float64]:
        # 1e-12 of the range is finer than any measurement and coarser than the errors of scaling
        finest = max(0, math.ceil(MAX_DECIMALS - math.log10(self.width)), self.decimals or 0)
        decimals = self.decimals if rounded and self.decimals is not None else finest
        if decimals > MAX_EXACT_POWER:
            return numbers
        inside = (numbers >= self.low) & (numbers <= self.high)
        size = np.maximum(np.abs(numbers), abs(self.low))
        fits = size * 10.0**decimals < EXACT
        numbers[fits] = np.round(numbers[fits], decimals)
        # far outside the range errors grow with the numbers, which are reliable to 15 digits
        rest = np.flatnonzero(~fits & ((numbers < self.low) | (numbers > self.high)))
        for fewer in range(decimals - 1, -1, -1):
            if not len(rest):
                break
            fits = size[rest] * 10.0**fewer < TRUSTED
            numbers[rest[fits]] = np.round(numbers[rest[fits]], fewer)
            rest = rest[~fits]
        numbers[inside] = np.clip(numbers[inside], self.low, self.high)  # low and high may have more decimals
        return numbers


Codec = Categories | Intervals | Ranks | Scale
CODECS: Final[dict[str, type[Codec]]] = {
    "categories": Categories,
    "intervals": Intervals,
    "ranks": Ranks,
    "scale": Scale,
}


@dataclass(frozen=True, slots=True)
class LearnedColumn:
    """What was learned from one column; the label and the row ids have no codec."""

    name: str
    dtype: Dtype
    codec: Codec | None

    def encode_into(self, codes: NDArray[Any], read: Callable[[str], Column], unseen: Unseen) -> tuple[Any, ...]:
        """Fill in the codes of the column of this name, as it is read; return its categories.

        Its type must be that of training.
        """
        column = read(self.name)
        then, now = self.dtype.family, column.refuse_incomparable().dtype.family
        as_numbers = {"booleans": "numbers"}  # 1 is True, here as in Python
        is_known = then != "nothing" and not column.is_empty
        if is_known and as_numbers.get(str(then), then) != as_numbers.get(str(now), now):
            raise SchemaError(f"Column '{self.name}' holds {now} here and held {then} in training. Convert it.")
        assert self.codec is not None
        return self.codec.encode(column, unseen, codes)

    def with_middle(self, middle: tuple[float, ...]) -> LearnedColumn:
        """Return a continuous column with other percentiles, as those of more rows; others as they are."""
        return replace(self, codec=replace(self.codec, middle=middle)) if isinstance(self.codec, Scale) else self

    @property
    def unit(self) -> Unit:
        """What the codes of a continuous column mean."""
        scale = self.codec
        assert isinstance(scale, Scale)
        day = {"dates": 1.0, "times": TIME_STEPS[0], "times with a zone": TIME_STEPS[0]}
        is_constant = scale.low == scale.high
        middle = (scale.low, scale.low + scale.width) if is_constant else (scale.middle[0], scale.middle[1])
        return Unit(scale.low, scale.width, scale.decimals, day.get(str(self.dtype.family)), middle)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        names = {codec: name for name, codec in CODECS.items()}
        codec = {} if self.codec is None else {names[type(self.codec)]: fields_to_json(self.codec)}
        return {"name": self.name, "dtype": fields_to_json(self.dtype)} | codec

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LearnedColumn:
        """Undo :meth:`to_dict`."""
        codecs = [fields_from_json(codec, data[name]) for name, codec in CODECS.items() if name in data]
        column = cls(data["name"], fields_from_json(Dtype, data["dtype"]), codecs[0] if codecs else None)
        if not (isinstance(column.name, str) and len(codecs) <= 1 and _is_dtype(column.dtype) and _is_sound(codecs)):
            raise ValueError(f"column {column.name!r:.60} has values of the wrong kind")
        return column

    @classmethod
    def read_all(
        cls, data: Sequence[dict[str, Any]], role_of: Mapping[str, str], binned: Collection[str]
    ) -> tuple[LearnedColumn, ...]:
        """Undo :meth:`to_dict` of all columns; refuse them if one is missing, or was learned for another role."""
        columns = tuple(map(cls.from_dict, data))
        kinds: dict[str, type[Codec] | None] = {"continuous": Scale, "ordinal": Ranks, "label": None, "row_id": None}
        wanted = {name: kinds.get(role, Intervals if name in binned else Categories) for name, role in role_of.items()}
        coded = {column.name: type(column.codec) for column in columns}
        for name in {**wanted, **coded}:
            if name not in wanted or (name in coded and coded[name] != (wanted[name] or type(None))):
                raise ValueError(f"column {name!r:.60} was learned for another role")
            if name not in coded and role_of[name] != "label":  # which may come beside the frame
                raise ValueError(f"column {name!r:.60} is missing")
        if len(coded) < len(columns):
            raise ValueError("a column is there twice")
        return columns


def _is_dtype(dtype: Dtype) -> bool:
    """Whether a type that was read is one that a column may have."""
    texts = (dtype.arrow, "" if dtype.native is None else dtype.native)
    is_plain = all(isinstance(one, str) for one in texts) and isinstance(dtype.ordered, bool)
    return is_plain and dtype.family is not None and (dtype.levels is None or _are_values(dtype.levels))


def _is_sound(codecs: Sequence[Codec]) -> bool:
    """Whether what codecs learned, as it was read, is of the kind that they learn."""
    for codec in codecs:
        if isinstance(codec, Categories | Ranks) and not _are_values(codec.values):
            return False
        if isinstance(codec, Ranks | Scale) and codec.missing not in get_args(Missing):
            return False
        if isinstance(codec, Ranks) and not (type(codec.median) is int and 0 <= codec.median < len(codec.values)):
            return False
        if isinstance(codec, Intervals) and not (_are_rising(codec.edges) and isinstance(codec.has_missing, bool)):
            return False
        if isinstance(codec, Scale) and not codec.is_sound:
            return False
    return True


def _are_values(values: Any) -> bool:
    """Whether these are distinct values of cells."""
    plain = str | bool | int | float | date | Decimal | None
    return isinstance(values, tuple) and all(isinstance(one, plain) for one in values) and len({*values}) == len(values)


def _are_rising(numbers: Any) -> bool:
    are_numbers = isinstance(numbers, tuple) and all(type(one) in (int, float) for one in numbers)
    return are_numbers and all(one < other for one, other in pairwise((-math.inf, *numbers, math.inf)))


def _positions(
    known: tuple[Any, ...], found: list[Any], name: str, unseen: Unseen
) -> tuple[dict[Any, int], tuple[Any, ...]]:
    """Number the categories: known ones first, new ones in sorted order whatever the order of rows."""
    positions = {value: code for code, value in enumerate(known)}
    new = sort_values(value for value in found if value not in positions)
    if not new:
        return positions, known
    if unseen == "error":
        raise SchemaError(
            f"Column '{name}' has categories not seen in training: {show_values(new)}. "
            "Use unseen='keep' to give them their own codes."
        )
    positions |= {value: code for code, value in enumerate(new, start=len(known))}
    return positions, (*known, *new)


def refuse_missing(name: str, role: str, n_missing: int, missing: Missing) -> None:
    """Refuse missing values where the policy says so."""
    if n_missing and missing == "refuse":
        raise SchemaError(
            f"{role} column '{name}' has {count_of(n_missing, 'missing value')}. Fill them in, or set "
            f"{parameter('missing', {name: 'median'})} (the training median) or 'apart' (comparable with missing only)."
        )


def _binnable(column: Column) -> NDArray[np.float64]:
    if column.dtype.family not in ("numbers", "nothing"):
        raise SchemaError(
            f"Sensitive column '{column.name}' holds {column.dtype.family}; only numbers can be cut into bins."
        )
    return column.numbers("sensitive")
