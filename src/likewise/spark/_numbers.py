"""Range, median and decimals of numeric columns in Spark, computed exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.schema._internal import open_frame
from likewise.spark._frames import column, map_batches, quiet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Floats = NDArray[np.float64]

MOST_DECIMALS: Final = 12  # beyond this, decimals are not counted
FEW: Final = 200_000  # up to this many numbers are sorted on the driver
BRACKET: Final = 0.001  # error of Spark's approximate quantiles, as a share of rows


@dataclass(frozen=True, slots=True)
class Numbers:
    """Statistics of a numeric column; ``neediest`` is a value with the most decimals."""

    n: int
    low: float
    high: float
    neediest: float


def as_numbers(frame: DataFrame, roles_of: dict[str, str]) -> DataFrame:
    """Return columns as float64 exactly as a schema reads them: times since 1970, integers if exact."""
    numbering = _Numbering(roles_of)
    chosen = frame.select(*map(column, roles_of))
    return map_batches(chosen, numbering, {f"x{place}": "double" for place in range(len(roles_of))})


class _Numbering:
    """Convert the batches of a partition to numbers; missing ones are null."""

    def __init__(self, roles_of: dict[str, str]) -> None:
        self._roles_of = roles_of

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            opened = open_frame(pa.Table.from_batches([batch]))
            arrays = [opened.column(name).numbers(role) for name, role in self._roles_of.items()]
            columns = {f"x{place}": pa.array(array, mask=np.isnan(array)) for place, array in enumerate(arrays)}
            yield pa.RecordBatch.from_pydict(columns)


def describe_numbers(numbers: DataFrame) -> list[Numbers | None]:
    """Return the statistics of each column; None for one without numbers."""
    names = numbers.columns
    found = map_batches(
        numbers,
        _describe_batches,
        {"place": "int", "n": "long", "low": "double", "high": "double", "decimals": "int", "neediest": "double"},
    ).collect()
    described: list[Numbers | None] = []
    for place in range(len(names)):
        rows = [row for row in found if row["place"] == place]
        if not rows:
            described.append(None)
            continue
        neediest = max(rows, key=lambda row: (row["decimals"], row["neediest"]))["neediest"]
        low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
        described.append(Numbers(sum(row["n"] for row in rows), low, high, neediest))
    return described


def _describe_batches(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    rows = []
    for batch in batches:
        for place, array in enumerate(batch.columns):
            values = array.drop_null().to_numpy(zero_copy_only=False)
            if len(values):
                decimals, neediest = _find_neediest(values)
                rows.append((place, len(values), values.min(), values.max(), decimals, neediest))
    names = ("place", "n", "low", "high", "decimals", "neediest")
    kinds = (pa.int32(), pa.int64(), pa.float64(), pa.float64(), pa.int32(), pa.float64())
    columns = zip(*rows, strict=True) if rows else [[]] * len(names)
    arrays = [pa.array(list(values), kind) for values, kind in zip(columns, kinds, strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, names=list(names))


def _find_neediest(values: Floats) -> tuple[int, float]:
    """Return the most decimals that a value needs, and such a value."""
    for decimals in range(MOST_DECIMALS + 1):
        is_short = np.round(values, decimals) == values
        if is_short.all():
            return decimals, float(values[0])
        values = values[~is_short]
    return MOST_DECIMALS + 1, float(values[0])


def find_ordered(
    numbers: DataFrame, known: Sequence[Numbers | None], wanted: Sequence[Sequence[int]], *, few: int = FEW
) -> list[list[float]]:
    """Return order statistics of each column at the wanted positions, bracketed by approximate quantiles."""
    from pyspark.sql import functions as F  # noqa: N812

    if all(one is None or one.n <= few for one in known):
        with quiet():
            columns = [np.sort(one.drop_null().to_numpy()) for one in numbers.toArrow().columns]
        return [column[list(indices)].tolist() for column, indices in zip(columns, wanted, strict=True)]
    asked = [
        (place, index, *bracket)
        for place, (one, indices) in enumerate(zip(known, wanted, strict=True))
        if one is not None and indices
        for index, bracket in zip(indices, _bracket(numbers, f"x{place}", one, indices), strict=True)
    ]
    brackets = sorted({(place, low, high) for place, _, low, high in asked})
    parts: list[DataFrame] = []
    for place, low, high in brackets:
        # one row counts all numbers below the bracket
        one = F.when(column(f"x{place}") >= low, column(f"x{place}"))
        inside = numbers.where(column(f"x{place}") <= high)
        parts.append(inside.select(F.lit(len(parts)).alias("bracket"), one.alias("value")))
    if not parts:
        return [[] for _ in wanted]
    counted = reduce(lambda one, other: one.union(other), parts).groupBy("bracket", "value").count().collect()
    found: list[list[float]] = [[] for _ in wanted]
    for place, index, low, high in asked:
        bracket = brackets.index((place, low, high))
        rows = [row for row in counted if row["bracket"] == bracket]
        n_below = sum(row["count"] for row in rows if row["value"] is None)
        values = sorted((row["value"], row["count"]) for row in rows if row["value"] is not None)
        ends = n_below + np.cumsum([count for _, count in values])
        if not n_below <= index < ends[-1]:  # should not happen: brackets are wider than the error
            return find_ordered(numbers, known, wanted, few=max(one.n for one in known if one is not None))
        found[place].append(values[int(np.searchsorted(ends, index, side="right"))][0])
    return found


def _bracket(numbers: DataFrame, name: str, known: Numbers, indices: Sequence[int]) -> list[tuple[float, float]]:
    shares = [(index + 0.5) / known.n for index in indices]
    ends = [min(max(share + side * 3 * BRACKET, 0.0), 1.0) for share in shares for side in (-1, 1)]
    near = numbers.approxQuantile(name, ends, BRACKET)
    return [
        (known.low if ends[place] == 0 else near[place], known.high if ends[place + 1] == 1 else near[place + 1])
        for place in range(0, len(ends), 2)
    ]
