"""The tables that scale is measured on, each in several sizes, and what is asked of them.

``python benchmarks/_scale_cases.py CASE ROWS FOLDER`` writes one of them: the coded table with its rule, and the same
people as a Parquet file, with a column of scores, for audits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from _tables import SEED, Made, load, make_worst, scale_adult, write_table
from likewise import CodedTable, Roles

KINDS: Final = ("sensitive", "discrete", "continuous")
SIZES: Final = (300_000, 1_000_000, 3_000_000, 10_000_000)


@dataclass(frozen=True, slots=True)
class ScaleCase:
    """A table that can be made in any size."""

    name: str
    title: str
    make: Callable[[int], Made]
    most_written: int  # rows up to which all pairs are written; beyond, they would fill the disk
    most_streamed: int  # rows up to which an audit runs over all pairs
    sizes: tuple[int, ...] = SIZES


def scale_dutch(n_rows: int) -> Made:
    """Resample Dutch's training rows: twelve discrete columns, none continuous, so that nearly all rows repeat."""
    table, rule = load("dutch")
    return table[np.random.default_rng(SEED).integers(len(table), size=n_rows)], rule


def scale_adult_two_changes(n_rows: int) -> Made:
    """Scale Adult up, and let two discrete columns differ."""
    table, rule = scale_adult(n_rows)
    return table, replace(rule, max_discrete_changes=2)


CASES: Final = {
    case.name: case
    for case in (
        ScaleCase("adult", "Adult scaled up", scale_adult, 3_000_000, 10_000_000),
        ScaleCase(
            "few", "Few columns: 2 binary, 3 continuous", lambda n: make_worst(n, binary=2), 3_000_000, 3_000_000
        ),
        ScaleCase("repeated", "Many equal rows: Dutch resampled", scale_dutch, 300_000, 300_000),
        ScaleCase("two", "Adult scaled up, 2 changes", scale_adult_two_changes, 1_000_000, 1_000_000),
    )
}


def as_frame(table: CodedTable) -> pa.Table:
    """Turn codes into a table of the user's own, with a column of scores that leans on the sensitive columns, too."""
    random = np.random.default_rng(SEED)
    columns: dict[str, NDArray[Any]] = {}
    score = random.normal(0.0, 0.5, len(table)) + table.labels
    for kind in KINDS:
        for position, values in enumerate(getattr(table, kind).T):
            columns[f"{kind}_{position}"] = np.ascontiguousarray(values)
            score += 0.3 * (values - values.mean()) / (values.std() or 1.0)
    return pa.table(columns | {"label": table.labels, "score": 1 / (1 + np.exp(-score))})


def roles_of(names: Sequence[str]) -> Roles:
    """Tell the roles of such a table by the names of its columns."""
    listed = {kind: [name for name in names if name.startswith(f"{kind}_")] for kind in KINDS}
    return Roles(**listed, label="label", ignored="score")


if __name__ == "__main__":
    name, n_rows, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    made, rule = CASES[name].make(n_rows)
    write_table(folder / "table.npz", made, rule)
    pyarrow.parquet.write_table(as_frame(made), folder / "people.parquet", row_group_size=500_000)
