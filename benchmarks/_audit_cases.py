"""The people that audits are measured on, all from one seed, and a logistic regression that scored them.

``python benchmarks/_audit_cases.py NAME FOLDER`` writes one of them, as a frame with its schema and as plain arrays.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from _audit_input import Arrays, Codes, Rows, make_features, write_arrays
from _tables import SEED, scale_adult
from likewise import CodedTable, Comparability, Dataset, Schema, load_dataset, mine_pairs

DUTCH_ROWS: Final = 27_200  # of the 45,315 training rows: about a million pairs
ADULT_ROWS: Final = 141_000  # pairs grow with the square of the rows: about a million
FEW_ROWS: Final = 1_500  # for methods that call Python for every two rows of a large table

Made = tuple[Dataset, Schema, pd.DataFrame, Codes]


@dataclass(frozen=True, slots=True)
class Case:
    """People to audit."""

    name: str
    title: str
    make: Callable[[], Made]
    is_small: bool = False  # so that every method can do all of it


def load_adult_test() -> Made:
    """Take the test split, with the ranges of the training rows."""
    data = load_dataset("adult")
    return data, data.roles.learn(data.train.X), data.test.X, _as_codes(data.test.y)


def load_part_of_dutch() -> Made:
    """Take so many training rows that there are about a million pairs."""
    data = load_dataset("dutch")
    rows = np.sort(np.random.default_rng(SEED).permutation(len(data.train.X))[:DUTCH_ROWS])
    people = data.train.X.iloc[rows].reset_index(drop=True)
    return data, data.roles.learn(data.train.X), people, _as_codes(data.train.y)[rows]


def load_scaled_adult(n_rows: int = ADULT_ROWS) -> Made:
    """Resample and jitter Adult, as the benchmark of mining does; the numbers stay as fine as the jitter."""
    data = load_dataset("adult")
    schema = data.roles.learn(data.train.X)
    table, _ = scale_adult(n_rows)
    people = schema.decode(table)
    for position, name in enumerate(table.names["continuous"]):
        low, high = schema.ranges[name]
        people[name] = low + table.continuous[:, position] * (high - low)
    return data, schema, people, table.labels


CASES: Final = {
    case.name: case
    for case in (
        Case("adult", "Adult, test rows", load_adult_test, is_small=True),
        Case("dutch", "Part of Dutch", load_part_of_dutch),
        Case("adult_scaled", "Adult scaled up", load_scaled_adult),
    )
}


def write_case(name: str, folder: Path) -> None:
    """Store frame, schema and rule for likewise, and the same people as arrays for everybody else."""
    made = CASES[name].make()
    data, schema, people, _ = made
    write_arrays(folder / "arrays.npz", as_arrays(made, len(people) if CASES[name].is_small else FEW_ROWS))
    people.to_parquet(folder / "people.parquet")
    schema.save(folder / "schema.json")
    (folder / "rule.json").write_text(json.dumps(data.rule.to_dict()))


def as_arrays(made: Made, n_few: int = FEW_ROWS) -> Arrays:
    """Score the people, and code them and their rule as arrays."""
    data, schema, people, labels = made
    table = schema.encode(people, labels)
    coefficients, intercept = _fit(data, schema)
    logits = _features(table, schema) @ coefficients + intercept
    few = np.sort(np.random.default_rng(SEED).permutation(len(table))[:n_few])
    pairs = mine_pairs(table[few], data.rule)
    return Arrays(
        labels=table.labels,
        sensitive=table.sensitive,
        discrete=table.discrete,
        continuous=table.continuous,
        n_categories=_count_categories(table, schema),
        max_changes=np.array(data.rule.max_discrete_changes),
        limits=data.rule.continuous_limits(table),
        scores=1 / (1 + np.exp(-logits)),
        coefficients=coefficients,
        intercept=np.array(intercept),
        few=few,
        few_left=pairs.left.astype(np.int64),
        few_right=pairs.right.astype(np.int64),
    )


def read_people(folder: Path) -> tuple[Any, Schema, Comparability]:
    """Read what likewise wants of :func:`write_case`."""
    rule = Comparability.from_dict(json.loads((folder / "rule.json").read_text()))
    return pd.read_parquet(folder / "people.parquet"), Schema.load(folder / "schema.json"), rule


def _fit(data: Dataset, schema: Schema) -> tuple[Any, float]:
    """Fit scikit-learn's logistic regression to all training rows, sensitive columns included."""
    from sklearn.linear_model import LogisticRegression

    table = schema.encode(data.train.X, data.train.y)
    model = LogisticRegression(C=1.0, max_iter=2048).fit(_features(table, schema), table.labels)
    return model.coef_[0], float(model.intercept_[0])


def _features(table: CodedTable, schema: Schema) -> Any:
    codes = np.column_stack([table.sensitive, table.discrete])
    return make_features(codes, _count_categories(table, schema), table.continuous)


def _count_categories(table: CodedTable, schema: Schema) -> Rows:
    names = (*table.names["sensitive"], *table.names["discrete"])
    return np.array([len(schema.categories[name]) for name in names])


def _as_codes(labels: Any) -> Codes:
    return np.asarray(labels, dtype=np.int32)


if __name__ == "__main__":
    write_case(sys.argv[1], Path(sys.argv[2]))
