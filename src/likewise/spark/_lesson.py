"""A few rows that teach a schema what a whole frame would: same values, same ends, same middle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from likewise.schema import Roles, Schema
from likewise.schema._internal import open_frame
from likewise.spark._columns import column
from likewise.spark._numbers import Numbers, as_numbers, describe_numbers, find_ordered
from likewise.spark._survey import Survey

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Edges = dict[str, tuple[float, ...]]


def teach(frame: DataFrame, roles: Roles, survey: Survey, empty: pa.Table) -> Schema:
    """Ask Spark for what is not known of the columns yet, medians and where to cut bins, and learn from it."""
    cut = {name: bins for name, bins in roles.bins.items() if isinstance(bins, int)}
    sorted_columns, edges = _ask_numbers(frame, roles, cut)
    for name, order in roles.ordinal.items():
        sorted_columns[name] = _ask_ranks(frame, name, order)
    names = [name for name in empty.column_names if roles.role_of(name) != "ignored"]
    n_most = max(
        [len(survey.of(name)) for name in names if name in survey.values]
        + [len(side) for below, _, above in sorted_columns.values() for side in (below, above)]
    )
    lesson = {name: _lay_out(name, roles, survey, sorted_columns, n_most + 1) for name in names}
    return _learn(lesson, roles, edges, empty)


Sorted = tuple[list[Any], list[Any], list[Any]]  # what lies below the middle, the two in the middle, what lies above


def _ask_numbers(frame: DataFrame, roles: Roles, cut: Mapping[str, int]) -> tuple[dict[str, Sorted], Edges]:
    roles_of = {**dict.fromkeys(roles.continuous, "continuous"), **dict.fromkeys(cut, "sensitive")}
    if not roles_of:
        return {}, {}
    numbers = as_numbers(frame, roles_of).persist()
    try:
        known = dict(zip(roles_of, describe_numbers(numbers), strict=True))
        wanted = [_places(known[name], cut.get(name)) for name in roles_of]
        found = dict(zip(roles_of, find_ordered(numbers, list(known.values()), wanted), strict=True))
    finally:
        numbers.unpersist()
    measured = {name: _part(known[name], found[name]) for name in roles.continuous}
    edges = {name: _cut(known[name], found[name]) for name in cut}
    return measured, {name: ends for name, ends in edges.items() if ends}


def _places(known: Numbers | None, bins: int | None) -> list[int]:
    """Say where the median, or the ends of the bins, stand among the numbers in order."""
    if known is None:
        return []
    if bins is None:
        return [(known.n - 1) // 2, known.n // 2]
    shares = np.arange(1, bins) / bins
    return [int(place) for place in np.ceil((known.n - 1) * shares)]  # as NumPy's quantiles by the method "higher"


def _part(known: Numbers | None, middle: list[float]) -> Sorted:
    if known is None:  # the schema refuses it
        return [], [], []
    is_below = known.neediest <= middle[0]
    below, above = [known.low], [known.high]
    (below if is_below else above).append(known.neediest)
    return below, middle, above


def _cut(known: Numbers | None, found: list[float]) -> tuple[float, ...]:
    return () if known is None else tuple(sorted({end for end in found if end > known.low}))


def _ask_ranks(frame: DataFrame, name: str, order: tuple[Any, ...]) -> Sorted:
    """Find the lower one of the two middle ranks; values without a rank stand on top, for the schema to refuse."""
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
    """Bring a column to the length of all, so that what stands in the middle stays there."""
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


def _learn(lesson: Mapping[str, Any], roles: Roles, edges: Edges, empty: pa.Table) -> Schema:
    """Learn, and put back what the lesson had to say in other words: how many bins, and types of numbers."""
    import pyarrow as pa

    learned = replace(roles, bins={**roles.bins, **edges}).learn(pa.table(dict(lesson)))
    opened = open_frame(empty)
    columns = tuple(replace(one, dtype=opened.column(one.name).dtype) for one in learned.columns)
    return replace(learned, roles=roles, columns=columns)
