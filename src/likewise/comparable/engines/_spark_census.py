"""What has to be known of a coded frame before pairs are sought in it: its columns and how far each one goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.comparable._rule import Comparability, SensitiveDiffers
from likewise.exceptions import SchemaError
from likewise.schema import CodedTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KINDS = ("sensitive", "discrete", "ordinal", "matched", "continuous")
WHOLE_NUMBERS = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True, slots=True)
class RuleColumns:
    """Name the columns of a coded frame by what a rule asks of them."""

    equal: tuple[str, ...]
    discrete: tuple[str, ...]  # at most max_changes of these differ
    max_changes: int
    near: tuple[str, ...]
    limits: tuple[float, ...]  # tolerance included: compare with <=
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
            limits=tuple(np.concatenate([rule.continuous_limits(sample), rule.ordinal_limits(sample)]).tolist()),
            sensitive=names["sensitive"],
            sensitive_differs=rule.sensitive_differs,
        )

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is compared or counted by, once."""
        return tuple(dict.fromkeys((*self.equal, *self.discrete, *self.near, *self.sensitive)))

    def take(self, sample: CodedTable, name: str) -> NDArray[Any]:
        """Give a column of the sample by its name in a coded frame."""
        if name == "label":
            return sample.labels
        kind, _, number = name.rpartition("_")
        column: NDArray[Any] = getattr(sample, kind)[:, int(number)]
        return column


@dataclass(frozen=True, slots=True)
class Census:
    """Say how many rows a frame has, about how many different ones, and from where to where its columns go."""

    n_rows: int
    n_groups: int
    spans: Mapping[str, tuple[Any, Any]]

    @property
    def varying(self) -> set[str]:
        """The columns that have more than one value."""
        return {name for name, (least, most) in self.spans.items() if least != most}


def check_columns(coded: DataFrame, columns: RuleColumns, carry: Sequence[str]) -> None:
    """Refuse a frame that lacks columns, or has other things in them than codes and numbers."""
    types = dict(coded.dtypes)
    missing = [name for name in dict.fromkeys(("row", *columns.all, *carry)) if name not in types]
    if missing:
        raise SchemaError(f"The coded frame has no columns {missing}; its columns are {list(types)}.")
    for name in ("row", *columns.all):
        allowed = ("double",) if name.startswith("continuous_") else WHOLE_NUMBERS
        if types[name] not in allowed:
            raise SchemaError(f"Column '{name}' of the coded frame is of type {types[name]}; make it {allowed[-1]}.")


def take_census(coded: DataFrame, columns: RuleColumns) -> Census:
    """Look through a coded frame once."""
    from pyspark.sql import functions as sql

    names = columns.all
    asked = [sql.count("*").alias("n"), sql.count("row").alias("n_row"), sql.min("row").alias("first_row")]
    for i, name in enumerate(names):
        asked += [each(name).alias(f"{key}_{i}") for key, each in (("least", sql.min), ("most", sql.max))]
        asked.append(sql.count(name).alias(f"n_{i}"))
    asked.append(sql.approx_count_distinct(sql.xxhash64(*names)).alias("n_groups"))
    found = coded.agg(*asked).collect()[0]
    for i, name in enumerate(("row", *names), -1):
        n_without = found["n"] - found["n_row" if i < 0 else f"n_{i}"]
        if n_without:
            raise SchemaError(f"Column '{name}' of the coded frame is null in {n_without:,} rows. Code them first.")
    if not found["n"]:
        return Census(0, 0, {})
    if found["first_row"] < 0:
        raise SchemaError(
            f"Column 'row' of the coded frame goes down to {found['first_row']:,}; number rows from 0 on."
        )
    spans = {name: (found[f"least_{i}"], found[f"most_{i}"]) for i, name in enumerate(names)}
    for name, span in spans.items():
        if not all(map(isfinite, span)):
            raise SchemaError(f"Column '{name}' of the coded frame is NaN or infinite. Put finite numbers there first.")
    return Census(found["n"], min(found["n_groups"], found["n"]), spans)
