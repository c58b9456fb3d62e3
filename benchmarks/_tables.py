"""The tables that mining is measured on: the five data sets, Adult scaled up, and the shapes that hurt most.

All are made from one seed. ``python benchmarks/_tables.py NAME FILE`` writes one of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from likewise import CodedTable, Comparability
from likewise.datasets import load_dataset

SEED: Final = 20_250
ALL_MODES: Final = ("list", "group", "stream", "count", "sample")

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
    modes: tuple[str, ...] = ALL_MODES  # how likewise is measured; rivals only list (or count, where nothing is listed)
    smaller: str | None = None  # the case that tells how long this one will take, when that grows with n²


def load(name: str, max_discrete_changes: int | None = None) -> Made:
    """Read the training part of a data set, with its own rule or one that allows more changes."""
    data = load_dataset(name)
    table = data.roles.learn(data.train.X).encode(data.train.X, data.train.y)
    rule = data.rule
    if max_discrete_changes is not None:
        rule = replace(rule, max_discrete_changes=max_discrete_changes)
    return table, rule


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


def make_equal(n_rows: int) -> Made:
    """Make rows that are equal in everything but the sensitive column, which has seven even values."""
    table = CodedTable(
        discrete=np.zeros((n_rows, 5), np.int32),
        continuous=np.full((n_rows, 3), 0.5),
        sensitive=(np.arange(n_rows, dtype=np.int32) % 7)[:, None],
        labels=np.zeros(n_rows, np.int32),
    )
    return table, Comparability()


def _draw_categories(random: np.random.Generator, n_categories: int, n_rows: int) -> NDArray[np.int32]:
    weights = 1.0 / np.arange(1, n_categories + 1)
    return random.choice(n_categories, n_rows, p=weights / weights.sum()).astype(np.int32)


def list_cases() -> dict[str, Case]:
    """Name every case, in the order in which they are measured."""
    streamed = ("stream", "count", "sample")
    counted = ("count", "sample")
    cases = [
        Case("compas", "COMPAS", lambda: load("compas")),
        Case("law_school", "Law School", lambda: load("law_school")),
        Case("oulad", "OULAD", lambda: load("oulad")),
        Case("adult", "Adult", lambda: load("adult")),
        Case("dutch", "Dutch", lambda: load("dutch")),
        Case("adult_2_changes", "Adult, 2 changes", lambda: load("adult", 2)),
        Case("adult_3_changes", "Adult, 3 changes", lambda: load("adult", 3)),
        Case("dutch_2_changes", "Dutch, 2 changes", lambda: load("dutch", 2)),
        Case("adult_100k", "Adult scaled to 100k", lambda: scale_adult(100_000), smaller="adult"),
        Case("adult_300k", "Adult scaled to 300k", lambda: scale_adult(300_000), smaller="adult_100k"),
        Case("adult_1m", "Adult scaled to 1M", lambda: scale_adult(1_000_000), smaller="adult_300k"),
        Case("adult_3m", "Adult scaled to 3M", lambda: scale_adult(3_000_000), streamed, "adult_1m"),
        Case("adult_10m", "Adult scaled to 10M", lambda: scale_adult(10_000_000), counted, "adult_3m"),
        Case("columns_30", "100k rows, 30 columns, 3 changes", lambda: make_many_columns(100_000)),
        Case("no_discrete", "300k, no discrete, 5 continuous", lambda: make_worst(300_000, continuous=5)),
        Case("two_binary", "300k, 2 binary, 3 continuous", lambda: make_worst(300_000, binary=2)),
        Case("all_may_change", "300k, all 3 discrete may change", lambda: make_worst(300_000, binary=3, changes=3)),
        Case("one_bucket", "300k, one bucket, sensitive 99 : 1", lambda: make_worst(300_000, share=0.01, n_labels=1)),
        Case("all_equal", "300k equal rows", lambda: make_equal(300_000), counted),
    ]
    return {case.name: case for case in cases}


def write_table(path: Path, table: CodedTable, rule: Comparability) -> None:
    """Store a table and its rule as plain arrays."""
    arrays = {kind: getattr(table, kind) for kind in ("labels", "sensitive", "discrete", "continuous")}
    np.savez(path, rule=np.array(json.dumps(rule.to_dict())), **arrays)


def read_table(path: Path) -> Made:
    """Read what :func:`write_table` stored."""
    with np.load(path, allow_pickle=False) as stored:
        arrays: dict[str, Any] = {name: stored[name] for name in stored.files}
    rule = Comparability.from_dict(json.loads(str(arrays.pop("rule"))))
    return CodedTable(**arrays), rule


if __name__ == "__main__":
    write_table(Path(sys.argv[2]), *list_cases()[sys.argv[1]].make())
