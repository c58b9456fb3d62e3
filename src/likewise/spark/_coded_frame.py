"""Queries over a coded Spark frame: its columns and their ranges, and the SQL expressions that the joins need."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log, prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise._codes import number_codes
from likewise.comparable import Comparability
from likewise.comparable._internal import Nearness, SensitiveDiffers
from likewise.exceptions import SchemaError
from likewise.schema import CodedTable
from likewise.schema._internal import MISSING_RANK, MISSING_VALUE
from likewise.spark._joins import (
    COLLAPSED_BELOW,
    LARGEST_WORD,
    Conditions,
    Ints,
    JoinPlan,
    KeyPart,
    fold,
    place_codes,
    plan_joins,
)
from likewise.spark._query import (
    HOT_MEMBERS,
    LEFT_MEMBERS,
    PEOPLE,
    RIGHT_MEMBERS,
    QueryShape,
    write_number,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


KINDS = ("sensitive", "discrete", "ordinal", "matched", "continuous")
MISSING = "likewise_missing_"  # before the name of a near column: whether its value is missing
SIZE, SIGN = "likewise_size_", "likewise_sign_"  # before that of one compared by ratio
TINY: Final = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class RuleColumns:
    """Name the columns of a coded frame by what a rule asks of them."""

    equal: tuple[str, ...]
    discrete: tuple[str, ...]  # at most max_changes of these differ
    max_changes: int
    near: tuple[str, ...]
    tests: tuple[Nearness, ...]
    sensitive: tuple[str, ...]
    sensitive_differs: SensitiveDiffers

    @classmethod
    def of(cls, rule: Comparability, sample: CodedTable) -> RuleColumns:
        """Resolve a rule for the columns that a sample has."""
        rule.check(sample)
        names = {kind: tuple(f"{kind}_{i}" for i in range(getattr(sample, kind).shape[1])) for kind in KINDS}
        may_change = rule.may_change(sample).tolist()
        discrete = dict(zip(names["discrete"], may_change, strict=True))
        equal = ("label", *names["matched"], *(name for name, may in discrete.items() if not may))
        return cls(
            equal=equal + (names["sensitive"] if rule.sensitive_differs == "none" else ()),
            discrete=tuple(name for name, may in discrete.items() if may),
            max_changes=min(rule.max_discrete_changes, len(discrete)),
            near=names["continuous"] + names["ordinal"],
            tests=rule.nearness(sample) + tuple(map(Nearness, rule.ordinal_limits(sample).tolist())),
            sensitive=names["sensitive"],
            sensitive_differs=rule.sensitive_differs,
        )

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is compared or counted by, once."""
        return tuple(dict.fromkeys((*self.equal, *self.discrete, *self.near, *self.sensitive)))

    def take(self, sample: CodedTable, name: str) -> NDArray[Any]:
        """Return a column of the sample by its name in a coded frame."""
        if name == "label":
            return sample.labels
        if name.startswith(MISSING):
            return np.asarray(self.take(sample, name.removeprefix(MISSING)) == _missing_code(name), np.int64)
        if name.startswith((SIZE, SIGN)):
            of = name.removeprefix(SIZE).removeprefix(SIGN)
            test, codes = self.tests[self.near.index(f"{SIZE}{of}")], self.take(sample, of)
            return test.values(codes) if name.startswith(SIZE) else test.signs(codes)
        kind, _, number = name.rpartition("_")
        column: NDArray[Any] = getattr(sample, kind)[:, int(number)]
        return column


@dataclass(frozen=True, slots=True)
class Census:
    """Number of rows of a frame, an estimate of the distinct ones, and the range of each column."""

    n_rows: int
    n_groups: int
    spans: Mapping[str, tuple[Any, Any]]

    @property
    def varying(self) -> set[str]:
        """The columns that have more than one value."""
        return {name for name, (least, most) in self.spans.items() if least != most}


def mark_missing(coded: DataFrame, columns: RuleColumns) -> tuple[DataFrame, RuleColumns]:
    """Add whether near values are missing as columns that have to be equal: missing is near missing only."""
    flags = [f"CAST(coalesce({n} = {_missing_code(n)!r}, false) AS INT) AS {MISSING}{n}" for n in columns.near]
    names = tuple(f"{MISSING}{name}" for name in columns.near)
    return coded.selectExpr("*", *flags), replace(columns, equal=columns.equal + names)


def add_sizes(coded: DataFrame, columns: RuleColumns) -> tuple[DataFrame, RuleColumns]:
    """Add size and sign of the numbers that are compared by ratio, computed as in memory."""
    from pyspark.sql.types import DoubleType, IntegerType, StructField, StructType

    by_ratio = {name: test for name, test in zip(columns.near, columns.tests, strict=True) if test.is_ratio}
    if not by_ratio:
        return coded, columns
    added = [StructField(f"{SIZE}{name}", DoubleType()) for name in by_ratio]
    added += [StructField(f"{SIGN}{name}", IntegerType()) for name in by_ratio]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        sized = coded.mapInArrow(partial(_add_sizes, by_ratio=by_ratio), StructType([*coded.schema.fields, *added]))
    return sized, replace(
        columns,
        near=tuple(f"{SIZE}{name}" if name in by_ratio else name for name in columns.near),
        equal=columns.equal + tuple(f"{SIGN}{name}" for name in by_ratio),
    )


def _add_sizes(batches: Iterator[Any], by_ratio: Mapping[str, Nearness]) -> Iterator[Any]:
    import pyarrow as pa

    for batch in batches:
        codes = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in by_ratio}
        sizes = {f"{SIZE}{name}": pa.array(test.values(codes[name])) for name, test in by_ratio.items()}
        signs = {f"{SIGN}{name}": pa.array(test.signs(codes[name])) for name, test in by_ratio.items()}
        whole = dict(zip(batch.schema.names, batch.columns, strict=True)) | sizes | signs
        yield pa.RecordBatch.from_arrays(list(whole.values()), names=list(whole))


def _missing_code(name: str) -> float | int:
    return MISSING_RANK if "ordinal_" in name else MISSING_VALUE


def take_census(coded: DataFrame, columns: RuleColumns) -> Census:
    """Look through a coded frame once."""
    from pyspark.sql import functions as sql

    names = columns.all
    asked = [sql.count("*").alias("n"), sql.approx_count_distinct(sql.xxhash64(*names)).alias("n_groups")]
    for i, name in enumerate(names):
        asked += [each(name).alias(f"{key}_{i}") for key, each in (("least", sql.min), ("most", sql.max))]
    found = coded.agg(*asked).collect()[0]
    spans = {name: (found[f"least_{i}"], found[f"most_{i}"]) for i, name in enumerate(names)} if found["n"] else {}
    return Census(found["n"], min(found["n_groups"], found["n"]), spans)


MOST_CELLS: Final = 2**40  # on either side of zero; what lies further out shares the last one
HAIR: Final = 1e-3  # by which a cell is wider than the limit: more than a quotient below MOST_CELLS is rounded
FEW_CELLS: Final = 2**20  # of a column whose values have to be equal


@dataclass(frozen=True, slots=True)
class Grid:
    """Cut a near column into cells: values that are near lie in one cell or in neighbouring ones."""

    column: str
    test: Nearness
    width: float  # of a cell, of logarithms where numbers are compared by ratio
    first: int  # cell of the least value
    last: int

    @classmethod
    def over(cls, column: str, test: Nearness, span: tuple[float, float]) -> Grid:
        """Lay a grid over all values of a column."""
        ends = np.array(span, np.float64)
        ends = np.log(np.maximum(ends, TINY)) if test.is_ratio else ends
        limit = -log(test.limit) if test.is_ratio else test.limit
        # where values have to be equal, any width will do
        width = limit * (1 + HAIR) or max(float(ends[1] - ends[0]) / FEW_CELLS, TINY)
        first, last = _cells(ends, width).tolist()
        beyond = int(test.is_ratio)  # another machine's logarithm may be of the next cell
        return cls(column, test, width, first - beyond, last + beyond)

    def code(self) -> str:
        """Write the cell of a row, from 1 on: the codes at either end stay unused."""
        value = f"ln(greatest({self.column}, {write_number(TINY)}))" if self.test.is_ratio else self.column
        bounds = f"least(greatest({value} / {write_number(self.width)}, {-MOST_CELLS}), {MOST_CELLS})"
        return f"(CAST(floor({bounds}) AS BIGINT) - ({self.first - 1}))"

    def near_codes(self, values: NDArray[np.float64]) -> Ints:
        """Number the cells of some values; the next cell has the next number, any further one a higher."""
        values = np.log(np.maximum(values, TINY)) if self.test.is_ratio else values
        cells, places = np.unique(_cells(values, self.width), return_inverse=True)
        steps = np.minimum(np.diff(cells, prepend=cells[0]), 2)
        return np.cumsum(steps)[places]


def _cells(values: NDArray[np.float64], width: float) -> Ints:
    with np.errstate(over="ignore"):  # what is too far out comes to lie in the last cell anyway
        return np.floor(np.clip(values / width, -MOST_CELLS, MOST_CELLS)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class FramePlan:
    """What of a coded frame goes into its queries, and how its rows are joined."""

    columns: RuleColumns
    census: Census
    key: tuple[str, ...]  # has to be equal
    discrete: tuple[str, ...]
    grids: tuple[Grid, ...]  # one for each near column that is not always near
    joins: JoinPlan
    carry: tuple[str, ...]
    is_collapsed: bool

    @classmethod
    def of(cls, columns: RuleColumns, census: Census, sample: CodedTable, carry: Sequence[str]) -> FramePlan:
        """Leave out what always holds, and choose the cheapest joins for a frame that a sample stands for."""
        key = [name for name in columns.equal if name in census.varying]
        discrete = [name for name in columns.discrete if name in census.varying]
        if columns.max_changes == 0:
            key += discrete
        if len(discrete) <= columns.max_changes or columns.max_changes == 0:
            discrete = []
        grids = [
            Grid.over(name, test, census.spans[name])
            for name, test in zip(columns.near, columns.tests, strict=True)
            if not test.holds(*np.array(census.spans[name], np.float64))
        ]
        is_collapsed = census.n_groups <= COLLAPSED_BELOW * census.n_rows
        joins = _plan_on(sample, columns, census, (key, discrete, grids), is_collapsed=is_collapsed)
        return cls(
            columns, census, tuple(key), tuple(discrete), tuple(grids), joins, tuple(carry), is_collapsed=is_collapsed
        )

    @property
    def n_people(self) -> int:
        """About how many rows the table of people has."""
        return self.census.n_groups if self.is_collapsed else self.census.n_rows

    def shape(self) -> QueryShape:
        """Describe the tables that `tables` derives."""
        _, discrete_parts, cell_parts = self._parts()
        return QueryShape(
            n_words=self._n_words(),
            blocks=tuple(tuple((f"discrete_{i}", discrete_parts[i]) for i in block) for block in self.joins.blocks),
            cell_parts=tuple(cell_parts),
            max_changes=self.columns.max_changes if self.discrete else 0,
            tests=tuple(grid.test for grid in self.grids),
            n_differing={"any": 1, "all": len(self.columns.sensitive), "none": 0}[self.columns.sensitive_differs],
            is_collapsed=self.is_collapsed,
            n_candidates=self.joins.n_candidates,
            n_carried=len(self.carry),
        )

    def tables(self, *, has_salted_members: bool = False) -> dict[str, str]:
        """Derive the tables of people and of members from the frame {coded}."""
        carried = [f"carry_{i}" for i in range(len(self.carry))]
        derived = {"coded_people": f"SELECT {', '.join(self._coded())} FROM {{coded}}"}
        if not self.is_collapsed:
            ones = "CAST(1 AS BIGINT) AS n_members, CAST(0 AS BIGINT) AS n_pairs_within"
            everyone = f"SELECT place AS number, {ones}, coded_people.* FROM coded_people"
            return derived | {PEOPLE: everyone}
        same = [*self._words(), *(f"near_{i}" for i in range(len(self.grids))), "combination"]
        alike = ["label", *(f"discrete_{i}" for i in range(len(self.discrete))), *self._differing()]
        n_within = "count(*) * (count(*) - 1) DIV 2 AS n_pairs_within"
        people = ["min(place) AS number", "count(*) AS n_members", n_within, *same]
        people += [f"min({name}) AS {name}" for name in alike]
        salted = (
            f"SELECT side.*, coalesce(side.place % hot.n_salts, 0) AS salt FROM {LEFT_MEMBERS} AS side LEFT JOIN "
            f"(SELECT number, n_salts FROM {HOT_MEMBERS} WHERE salt = 0) AS hot ON hot.number = side.number"
        )
        return derived | {
            PEOPLE: f"SELECT {', '.join(people)} FROM coded_people GROUP BY {', '.join(same)}",
            LEFT_MEMBERS: f"SELECT min(place) OVER (PARTITION BY {', '.join(same)}) AS number, "
            f"{', '.join(['place', *carried])} FROM coded_people",
            RIGHT_MEMBERS: salted if has_salted_members else f"SELECT * FROM {LEFT_MEMBERS}",
        }

    def _coded(self) -> list[str]:
        """Write what a row of people has, but for its number."""
        codes = [self._code(name) for name in (*self.key, *self.discrete)]
        codes += [self.grids[cell].code() for cell in self.joins.cells]
        words = [["CAST(0 AS BIGINT)"] for _ in range(self._n_words())]
        for part, code in zip((part for parts in self._parts() for part in parts), codes, strict=True):
            words[part.word].append(f"{code} * {part.radix}")
        radices = zip(self.columns.sensitive, self._sensitive_radices(), strict=True)
        combination = " + ".join(["CAST(0 AS BIGINT)", *(f"{self._code(name)} * {radix}" for name, radix in radices)])
        differing = {
            "any": [combination],
            "all": [self._code(name) for name in self.columns.sensitive],
            "none": [],
        }[self.columns.sensitive_differs]
        return [
            "CAST(row AS BIGINT) AS place",
            "label",
            f"{combination} AS combination",
            *(f"{' + '.join(terms)} AS word_{i}" for i, terms in enumerate(words)),
            *(f"{self._code(name)} AS discrete_{i}" for i, name in enumerate(self.discrete)),
            # plus zero: -0.0 and 0.0 are one value
            *(f"CAST({grid.column} AS DOUBLE) + CAST(0 AS DOUBLE) AS near_{i}" for i, grid in enumerate(self.grids)),
            *(f"{code} AS differing_{i}" for i, code in enumerate(differing)),
            *(f"`{name}` AS carry_{i}" for i, name in enumerate(self.carry)),
        ]

    def _code(self, name: str) -> str:
        return f"(CAST({name} AS BIGINT) - ({self._least(name)}))"

    def _least(self, name: str) -> int:
        return int(self.census.spans[name][0])

    def _size(self, name: str) -> int:
        return int(self.census.spans[name][1]) - self._least(name) + 1

    def _parts(self) -> tuple[list[KeyPart], list[KeyPart], list[KeyPart]]:
        sizes = [self._size(name) for name in (*self.key, *self.discrete)]
        sizes += [self.grids[cell].last - self.grids[cell].first + 3 for cell in self.joins.cells]
        parts = place_codes(sizes)
        n_key, n_codes = len(self.key), len(self.key) + len(self.discrete)
        return parts[:n_key], parts[n_key:n_codes], parts[n_codes:]

    def _n_words(self) -> int:
        return max((part.word for parts in self._parts() for part in parts), default=0) + 1

    def _words(self) -> list[str]:
        return [f"word_{i}" for i in range(self._n_words())]

    def _differing(self) -> list[str]:
        return [f"differing_{i}" for i in range(self.shape().n_differing)]

    def _sensitive_radices(self) -> list[int]:
        sizes = [self._size(name) for name in self.columns.sensitive]
        if prod(sizes) > LARGEST_WORD:
            raise SchemaError(
                f"The sensitive columns have {prod(sizes):,} combinations of codes, too many to number. "
                "Number the categories of each column from 0 on."
            )
        return [prod(sizes[i + 1 :]) for i in range(len(sizes))]


def _plan_on(
    sample: CodedTable,
    columns: RuleColumns,
    census: Census,
    parts: tuple[Sequence[str], Sequence[str], Sequence[Grid]],
    *,
    is_collapsed: bool,
) -> JoinPlan:
    """Plan the joins of all rows on those of a sample."""
    key, discrete, grids = parts
    zeros = np.zeros(len(sample), np.int64)
    values = [columns.take(sample, grid.column).astype(np.float64) for grid in grids]
    conditions = Conditions(
        key=fold([zeros, *(columns.take(sample, name) for name in key)]),
        discrete=tuple(number_codes(columns.take(sample, name))[1] for name in discrete),
        max_changes=columns.max_changes if discrete else 0,
        cells=tuple(grid.near_codes(column) for grid, column in zip(grids, values, strict=True)),
    )
    if is_collapsed:  # then the groups meet, each one once
        ranks = [number_codes(np.unique(column, return_inverse=True)[1])[1] for column in values]
        sensitive = [columns.take(sample, name) for name in columns.sensitive]
        group_of = fold([conditions.key, *conditions.discrete, *ranks, *sensitive])
        conditions = conditions.take(np.unique(group_of, return_index=True)[1])
    return plan_joins(conditions, max(census.n_groups if is_collapsed else census.n_rows, len(conditions.key)))
