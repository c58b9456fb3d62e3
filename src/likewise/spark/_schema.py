"""Learning a schema in Spark: reduce the frame to a few rows with the same statistics, and learn from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise.exceptions import SchemaError
from likewise.schema import Roles, Schema
from likewise.schema._internal import (
    KINDS,
    middle_places,
    open_frame,
    refuse_absent,
    refuse_missing,
    refuse_missing_labels,
    refuse_row_ids,
)
from likewise.spark._frames import check_frame, column, faults, map_batches, quiet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

Floats = NDArray[np.float64]
Edges = dict[str, tuple[float, ...]]
Sorted = tuple[list[Any], list[Any], list[Any]]  # values below the middle, the middle two, values above

DESCRIBED: Final = {  # of each batch
    **{"place": "int", "n": "long", "low": "double", "high": "double", "decimals": "int", "neediest": "double"}
}
MOST_DECIMALS: Final = 12  # beyond this, decimals are not counted
FEW: Final = 200_000  # up to this many numbers are sorted on the driver
BRACKET: Final = 0.001  # error of Spark's approximate quantiles, as a share of rows


def learn(roles: Roles, frame: DataFrame) -> Schema:
    """Learn the categories and ranges of the columns of a Spark frame.

    The result equals ``roles.learn(frame.toArrow())`` exactly, but only the distinct values of categorical columns and
    a few numbers of the others are collected on the driver.

    Parameters
    ----------
    roles : Roles
        The role of every column.
    frame : Spark DataFrame
        The training rows.

    Returns
    -------
    Schema

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> import likewise.spark
    >>> from likewise import Roles
    >>> session = SparkSession.builder.getOrCreate()
    >>> people = session.createDataFrame([("f", 20), ("m", 60)], "sex string, age int")
    >>> likewise.spark.learn(Roles(sensitive="sex", continuous="age"), people).ranges
    {'age': (20.0, 60.0)}
    """
    if not isinstance(roles, Roles):
        raise SchemaError(f"roles is a {type(roles).__name__}. Pass Roles, such as Roles(sensitive=['sex'], ...).")
    empty = check_frame(frame)
    check_columns(empty, roles)
    label = roles.label if roles.label in empty.column_names else None
    with faults("learning the schema"):
        survey = survey_frame(frame, roles, label)
        if not survey.n_rows:
            raise SchemaError("The frame has no rows, so there is nothing to learn. Pass a frame with rows.")
        check_people(frame, survey, roles, label)
        return learn_schema(frame, roles, survey, empty)


def check_columns(empty: pa.Table, roles: Roles) -> None:
    """Refuse columns that are absent, have no role or cannot be compared."""
    names = empty.column_names
    refuse_absent(roles, names, (*KINDS, "row_id"))
    without_role = [name for name in names if roles.role_of(name) is None]
    if without_role:
        listed = ", ".join(map(repr, without_role[:5]))
        raise SchemaError(f"These columns have no role: {listed}. Give each a role, or put it in ignored.")
    opened = open_frame(empty)
    for name in names:
        if roles.role_of(name) != "ignored":
            opened.column(name).refuse_incomparable()


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Distinct values of categorical columns, the minimum of numeric ones, and counts of missing values."""

    n_rows: int
    values: dict[str, Any]
    n_missing: dict[str, int]

    def of(self, name: str) -> Any:
        """Return the values of a column, with a missing one if any is missing."""
        import pyarrow as pa

        values = self.values[name]
        return pa.concat_arrays([values, pa.nulls(1, values.type)]) if self.n_missing[name] else values


def survey_frame(frame: DataFrame, roles: Roles, label: str | None) -> Survey:
    """Collect the survey of all columns in one pass of Spark."""
    from pyspark.sql import functions as F  # noqa: N812

    numbers = [*roles.continuous, *roles.bins]
    names = [name for kind in ("sensitive", "discrete", "ordinal", "matched") for name in roles.names(kind)]
    names = [*(name for name in names if name not in roles.bins), *numbers, *([] if label is None else [label])]
    asked: list[Column] = [F.count(F.lit(1)).alias("n")]
    kinds = dict(frame.dtypes)
    for place, name in enumerate(names):
        one, is_float = column(name), kinds[name] in ("float", "double")
        is_missing = one.isNull() | F.isnan(one) if is_float else one.isNull()
        present = F.when(~is_missing, one)
        found = F.array_compact(F.array(F.min(present))) if name in numbers else F.collect_set(present)
        asked += [found.alias(f"values_{place}"), F.count(F.when(is_missing, 1)).alias(f"missing_{place}")]
    with quiet():
        answer = frame.agg(*asked).toArrow()
    row = {name: answer.column(name)[0].as_py() for name in answer.column_names if not name.startswith("values_")}
    lists = [answer.column(f"values_{place}").combine_chunks().flatten() for place in range(len(names))]
    values = {name: one.cast(one.type) for name, one in zip(names, lists, strict=True)}
    return Survey(row["n"], values, {name: row[f"missing_{place}"] for place, name in enumerate(names)})


def check_people(frame: DataFrame, survey: Survey, roles: Roles, label: str | None) -> None:
    """Refuse missing numbers, missing labels and unusable row ids, with counts of the whole frame."""
    from pyspark.sql import functions as F  # noqa: N812

    for role in ("continuous", "ordinal"):
        for name in roles.names(role):
            refuse_missing(name, role.capitalize(), survey.n_missing[name], roles.missing_in(name))
    if label is not None:
        refuse_missing_labels(label, survey.n_missing[label])
    if roles.row_id is not None:
        one = column(roles.row_id)
        n, n_present, n_distinct = frame.agg(F.count(F.lit(1)), F.count(one), F.count_distinct(one)).collect()[0]
        refuse_row_ids(roles.row_id, n - n_present, n - n_distinct)


def learn_schema(frame: DataFrame, roles: Roles, survey: Survey, empty: pa.Table) -> Schema:
    """Compute medians and bin edges in Spark, and learn the schema."""
    cut = {name: bins for name, bins in roles.bins.items() if isinstance(bins, int)}
    sorted_columns, edges, middles = _ask_numbers(frame, roles, cut)
    for name, order in roles.ordinal.items():
        sorted_columns[name] = _ask_ranks(frame, name, order)
    names = [name for name in empty.column_names if roles.role_of(name) != "ignored"]
    n_most = max(
        [len(survey.of(name)) for name in names if name in survey.values]
        + [len(side) for below, _, above in sorted_columns.values() for side in (below, above)]
    )
    reduced = {name: _lay_out(name, roles, survey, sorted_columns, n_most + 1) for name in names}
    return _learn_reduced(reduced, roles, edges, middles, empty)


def _ask_numbers(frame: DataFrame, roles: Roles, cut: Mapping[str, int]) -> tuple[dict[str, Sorted], Edges, Edges]:
    """Return what is around the median of each number, bin edges, and the 1st and 99th percentiles."""
    roles_of = {**dict.fromkeys(roles.continuous, "continuous"), **dict.fromkeys(cut, "sensitive")}
    if not roles_of:
        return {}, {}, {}
    numbers = as_numbers(frame, roles_of).persist()
    try:
        known = dict(zip(roles_of, describe_numbers(numbers), strict=True))
        wanted = [_places(known[name], cut.get(name)) for name in roles_of]
        found = dict(zip(roles_of, find_ordered(numbers, list(known.values()), wanted), strict=True))
    finally:
        numbers.unpersist()
    measured = {name: _part(known[name], found[name]) for name in roles.continuous}
    edges = {name: _cut(known[name], found[name]) for name in cut}
    middles = {name: tuple(found[name][2:]) for name in roles.continuous}
    return measured, {name: ends for name, ends in edges.items() if ends}, middles


def _places(known: Numbers | None, bins: int | None) -> list[int]:
    """Return the positions of median and outer percentiles, or of the bin edges, among the sorted numbers."""
    if known is None:
        return []
    if bins is None:
        return [(known.n - 1) // 2, known.n // 2, *middle_places(known.n)]
    shares = np.arange(1, bins) / bins
    return [int(place) for place in np.ceil((known.n - 1) * shares)]  # as NumPy's quantile method "higher"


def _part(known: Numbers | None, middle: list[float]) -> Sorted:
    if known is None:  # refused by the schema
        return [], [], []
    is_below = known.neediest <= middle[0]
    below, above = [known.low], [known.high]
    (below if is_below else above).append(known.neediest)
    return below, middle[:2], above


def _cut(known: Numbers | None, found: list[float]) -> tuple[float, ...]:
    return () if known is None else tuple(sorted({end for end in found if end > known.low}))


def _ask_ranks(frame: DataFrame, name: str, order: tuple[Any, ...]) -> Sorted:
    """Return the values around the lower median rank; values without a rank come last and are refused later."""
    rows = [row for row in frame.groupBy(column(name)).count().collect() if row[0] is not None and row[0] == row[0]]
    ranks = {value: rank for rank, value in enumerate(order)}
    rows.sort(key=lambda row: ranks.get(row[0], len(ranks)))
    if not rows:
        return [], [], []
    ends = np.cumsum([row[1] for row in rows])
    middle = int(np.searchsorted(ends, (int(ends[-1]) - 1) // 2, side="right"))
    values = [row[0] for row in rows]
    return [values[middle], *values[:middle]], [values[middle]] * 2, [*values[middle + 1 :], values[middle]]


def _lay_out(name: str, roles: Roles, survey: Survey, sorted_columns: Mapping[str, Sorted], n_half: int) -> Any:
    """Extend a column to the common length, keeping its median in the middle."""
    import pyarrow as pa

    if name == roles.row_id:
        return pa.array(np.arange(2 * n_half))
    if name not in sorted_columns:
        values = survey.of(name)
        return values.take(pa.array(np.minimum(np.arange(2 * n_half), len(values) - 1)))
    below, middle, above = sorted_columns[name]
    kind = survey.values[name].type if name in roles.ordinal else pa.float64()
    if not middle:
        return pa.nulls(2 * n_half, kind)
    lower = [below[0]] * (n_half - 1 - len(below)) + below
    upper = above + [above[-1]] * (n_half - 1 - len(above))
    return pa.array([*lower, *middle, *upper], kind)


def _learn_reduced(reduced: Mapping[str, Any], roles: Roles, edges: Edges, middles: Edges, empty: pa.Table) -> Schema:
    """Learn from the reduced rows, then restore the given bins, the percentiles and the column types."""
    import pyarrow as pa

    learned = replace(roles, bins={**roles.bins, **edges}).learn(pa.table(dict(reduced)))
    opened = open_frame(empty)
    columns = tuple(
        replace(
            column.with_middle(middles[column.name]) if column.name in middles else column,
            dtype=opened.column(column.name).dtype,
        )
        for column in learned.columns
    )
    return replace(learned, roles=roles, columns=columns)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Statistics of a numeric column; ``neediest`` is a value with the most decimals."""

    n: int
    low: float
    high: float
    neediest: float


def as_numbers(frame: DataFrame, roles_of: dict[str, str]) -> DataFrame:
    """Return columns as float64 exactly as a schema reads them: times since 1970, integers if exact."""
    chosen, columns = frame.select(*map(column, roles_of)), {f"x{place}": "double" for place in range(len(roles_of))}
    return map_batches(chosen, partial(_number_batches, roles_of=roles_of), columns)


def _number_batches(batches: Iterator[Any], roles_of: dict[str, str]) -> Iterator[Any]:
    """Convert the batches of a partition to numbers; missing ones are null."""
    import pyarrow as pa

    for batch in batches:
        opened = open_frame(pa.Table.from_batches([batch]))
        arrays = [opened.column(name).numbers(role) for name, role in roles_of.items()]
        columns = {f"x{place}": pa.array(array, mask=np.isnan(array)) for place, array in enumerate(arrays)}
        yield pa.RecordBatch.from_pydict(columns)


def describe_numbers(numbers: DataFrame) -> list[Numbers | None]:
    """Return the statistics of each column; None for one without numbers."""
    names = numbers.columns
    found = map_batches(numbers, _describe_batches, DESCRIBED).collect()
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
    kinds = {"int": pa.int32(), "long": pa.int64(), "double": pa.float64()}
    columns = zip(*rows, strict=True) if rows else [[]] * len(DESCRIBED)
    arrays = [pa.array(list(one), kinds[kind]) for one, kind in zip(columns, DESCRIBED.values(), strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, names=list(DESCRIBED))


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
