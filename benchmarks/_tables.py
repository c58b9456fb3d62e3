"""The tables that are measured on: the five data sets, Adult scaled up, and the shapes that hurt most; of one seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from likewise import CodedTable, Comparability, Roles
from likewise.datasets import load_dataset

SEED: Final = 20_250
KINDS: Final = ("sensitive", "discrete", "continuous")

# The half-width of the jitter, in shares of the column's training range: about half a year of age, a third of the
# step of the years of education, half an hour a week. Small against the rule's 0.025, so that near stays near.
JITTER: Final = {"age": 0.007, "education-num": 0.01, "hours-per-week": 0.005}
JITTER_WHERE_NONZERO: Final = {"capital-gain": 0.0005, "capital-loss": 0.0005}

Made = tuple[CodedTable, Comparability]


@dataclass(frozen=True, slots=True)
class Case:
    """A table to measure on, and what can be asked of it."""

    name: str
    title: str
    make: Callable[[], Made]
    is_data: bool = False  # one of the five data sets, small enough for every method


def load(name: str) -> Made:
    """Read the training part of a data set, with its own rule."""
    data = load_dataset(name)
    return data.roles.learn(data.train.X).encode(data.train.X, data.train.y), data.rule


def scale_adult(n_rows: int) -> Made:
    """Resample Adult's training rows and jitter the continuous columns, so that few rows are equal.

    A pair needs two people who differ in the sensitive column, and copies of one person do not, so the number of
    pairs grows with the square of the rows.
    """
    table, rule = load("adult")
    random = np.random.default_rng(SEED)
    table = table[random.integers(len(table), size=n_rows)]
    continuous = table.continuous
    for position, name in enumerate(table.names["continuous"]):
        column = continuous[:, position]
        if name in JITTER:
            column += random.uniform(-JITTER[name], JITTER[name], n_rows)
        else:
            width = JITTER_WHERE_NONZERO[name]
            column += np.where(column > 0, random.uniform(-width, width, n_rows), 0.0)
    np.clip(continuous, 0.0, 1.0, out=continuous)
    return table, rule


def make_many_columns(n_rows: int, n_columns: int = 30) -> Made:
    """Make categories of skewed frequency; half of the rows are another row with up to six columns drawn anew."""
    random = np.random.default_rng(SEED)
    n_categories = random.integers(2, 13, n_columns)
    drawn = np.column_stack([_draw_categories(random, n, n_rows) for n in n_categories])
    half = n_rows // 2
    redrawn = random.random((n_rows - half, n_columns)).argsort(axis=1) < random.integers(0, 7, (n_rows - half, 1))
    drawn[half:] = np.where(redrawn, drawn[half:], drawn[random.integers(half, size=n_rows - half)])
    people = random.integers(3, size=(n_rows, 1), dtype=np.int32)
    table = CodedTable(discrete=drawn, sensitive=people, labels=random.integers(2, size=n_rows))
    return table, Comparability(max_discrete_changes=3)


def make_worst(
    n_rows: int, *, binary: int = 0, continuous: int = 3, changes: int = 1, share: float = 0.5, n_labels: int = 2
) -> Made:
    """Make a table in which the discrete columns say little or nothing."""
    random = np.random.default_rng(SEED)
    table = CodedTable(
        discrete=random.integers(2, size=(n_rows, binary), dtype=np.int32),
        continuous=random.random((n_rows, continuous)),
        sensitive=(random.random((n_rows, 1)) < share).astype(np.int32),
        labels=random.integers(n_labels, size=n_rows),
    )
    return table, Comparability(max_discrete_changes=changes)


def _draw_categories(random: np.random.Generator, n_categories: int, n_rows: int) -> NDArray[np.int32]:
    weights = 1.0 / np.arange(1, n_categories + 1)
    return random.choice(n_categories, n_rows, p=weights / weights.sum()).astype(np.int32)


CASES: Final = {
    case.name: case
    for case in (
        Case("compas", "COMPAS", lambda: load("compas"), is_data=True),
        Case("law_school", "Law School", lambda: load("law_school"), is_data=True),
        Case("oulad", "OULAD", lambda: load("oulad"), is_data=True),
        Case("adult", "Adult", lambda: load("adult"), is_data=True),
        Case("dutch", "Dutch", lambda: load("dutch"), is_data=True),
        Case("adult_100k", "Adult scaled to 100k", lambda: scale_adult(100_000)),
        Case("adult_300k", "Adult scaled to 300k", lambda: scale_adult(300_000)),
        Case("columns_30", "100k rows, 30 columns, 3 changes", lambda: make_many_columns(100_000)),
        Case("no_discrete", "300k, no discrete, 5 continuous", lambda: make_worst(300_000, continuous=5)),
        Case("two_binary", "300k, 2 binary, 3 continuous", lambda: make_worst(300_000, binary=2)),
        Case("all_may_change", "300k, all 3 discrete may change", lambda: make_worst(300_000, binary=3, changes=3)),
        Case("one_bucket", "300k, one bucket, sensitive 99 : 1", lambda: make_worst(300_000, share=0.01, n_labels=1)),
    )
}


def scale_dutch(n_rows: int) -> Made:
    """Resample Dutch's training rows: twelve discrete columns, none continuous, so that nearly all rows repeat."""
    table, rule = load("dutch")
    return table[np.random.default_rng(SEED).integers(len(table), size=n_rows)], rule


def scale_adult_two_changes(n_rows: int) -> Made:
    """Scale Adult up, and let two discrete columns differ."""
    table, rule = scale_adult(n_rows)
    return table, replace(rule, max_discrete_changes=2)


# tables that can be made in any size: title, and how
SCALED: Final[dict[str, tuple[str, Callable[[int], Made]]]] = {
    "adult": ("Adult scaled up", scale_adult),
    "few": ("Few columns: 2 binary, 3 continuous", lambda n: make_worst(n, binary=2)),
    "repeated": ("Many equal rows: Dutch resampled", scale_dutch),
    "two": ("Adult scaled up, 2 changes", scale_adult_two_changes),
}


def scale_adult_frame(data: Any, n_rows: int) -> tuple[Any, Any]:
    """Scale Adult up as a frame of the user's own; the numbers stay as fine as the jitter."""
    schema = data.roles.learn(data.train.X)
    table, _ = scale_adult(n_rows)
    people = schema.decode(table)
    for position, name in enumerate(table.names["continuous"]):
        low, high = schema.ranges[name]
        people[name] = low + table.continuous[:, position] * (high - low)
    return people, table.labels


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
